"""Names given by people: an unknown one is answered with the nearest known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

FEW = 4  # so many are all named, however near one is


class UnknownNameError(KeyError):
    """A name that is not known; its text is one plain line (`KeyError` alone would quote it)."""

    def __str__(self) -> str:
        """Return the message as it was given."""
        return str(self.args[0])


def unknown(kind: str, name: str, known: Iterable[str], *, hint: str = "") -> UnknownNameError:
    """Return the error for an unknown `name`, with up to three of the nearest `known` names."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        advice = f"did you mean {', '.join(near)}?"
        if len(near) < len(names) <= FEW:
            advice += f" (known: {', '.join(names)})"
    elif len(names) <= 12:
        advice = f"known: {', '.join(names) or 'none'}"
    else:
        advice = f"{len(names)} are known, such as {', '.join(names[:3])}"
    return UnknownNameError(f"unknown {kind} {name!r}; {advice}{' ' + hint if hint else ''}")
