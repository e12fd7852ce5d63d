"""Numbers as people read them: the only place where fractions become points or per cent."""

from __future__ import annotations

import math

Table = tuple[list[str], list[list[str]]]


def points(fraction: float, *, digits: int = 1, none: str = "-") -> str:
    """Return a fraction as points, such as `3.5`; `none` where it is NaN."""
    return none if math.isnan(fraction) else f"{100 * fraction:.{digits}f}"


def brief(fraction: float, digits: int = 6) -> str:
    """Return a fraction times 100 with no more digits than it needs, such as `3.5` or `80`."""
    return f"{100 * fraction:.{digits}g}"


def percent(fraction: float) -> str:
    """Return a probability as a whole percentage, never 0 or 100 %; `-` where it is NaN."""
    if math.isnan(fraction):
        return "-"
    if not 0.01 <= fraction <= 0.99:
        return "> 99 %" if fraction > 0.5 else "< 1 %"
    return f"{100 * fraction:.0f} %"
