"""One figure: what it shows, its data, and how it becomes a file."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HINT = 'no figures without matplotlib; `pip install "lm-microbench[plot]"`, then run it again'
WIDTH, HEIGHT = 5.4, 3.9

_RC = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a model's name may hold a dollar sign
}


@dataclass(frozen=True, eq=False)
class Plot:
    """One figure.

    Parameters
    ----------
    name : str
        Of its files.
    title, caption : str
        What it shows, and how it is read.
    data : DataFrame
        What is drawn, as fractions.
    draw : callable
        Draws it on axes.
    size : (float, float)
        Width and height in inches.
    """

    name: str
    title: str
    caption: str
    data: pd.DataFrame
    draw: Callable[[Axes], None]
    size: tuple[float, float] = (WIDTH, HEIGHT)

    def png(self) -> bytes:
        """Return the figure as PNG."""
        return self._render("png", {"Software": None}, dpi=150)

    def svg(self) -> str:
        """Return the figure as SVG, the same text for the same data.

        Its identifiers begin with the figure's name, so that several can stand in one page.
        """
        return self._svg

    @cached_property
    def _svg(self) -> str:
        text = self._render("svg", {"Date": None, "Creator": None}).decode("utf-8")
        text = text[text.index("<svg") :]
        return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", text)

    def _repr_svg_(self) -> str:
        """Return the figure as notebooks show it."""
        return self._svg

    def csv(self) -> str:
        """Return the data as CSV."""
        return self.data.to_csv(index=False, lineterminator="\n")

    def _render(self, kind: str, metadata: dict[str, Any], **options: Any) -> bytes:
        import matplotlib
        from matplotlib.figure import Figure

        with matplotlib.rc_context({**_RC, "svg.hashsalt": self.name}):
            figure: Figure = Figure(figsize=self.size, layout="constrained")
            self.draw(figure.add_subplot())
            file = io.BytesIO()
            # Cut to what is drawn: labels beside an image of fixed proportions can stick out.
            figure.savefig(
                file,
                format=kind,
                metadata=metadata,
                bbox_inches="tight",
                pad_inches=0.06,
                **options,
            )
        return file.getvalue()


def available() -> bool:
    """Return whether figures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None
