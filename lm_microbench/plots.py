"""The figures of a study and of a comparison: what each shows, its data, and how it is drawn.

Data are fractions; axes show points. Every curve has a colour, a marker and a line style of its
own, so that it is told from the others in grey and by colour-blind readers.
"""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lm_microbench.comparison import Comparison
from lm_microbench.pairs import LEVEL
from lm_microbench.report import percent, points, rank_models
from lm_microbench.results import NORMAL_95, THRESHOLD, StudyResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, "Color Universal Design" (2008); its yellow, too pale on white, comes last.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 2)))
HINT = 'no figures without matplotlib; `pip install "lm-microbench[plot]"`, then run it again'
ANNOTATED = 12
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
            figure.savefig(file, format=kind, metadata=metadata, **options)
        return file.getvalue()


def available() -> bool:
    """Return whether figures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


# ---- a study ------------------------------------------------------------------------------------


def study_plots(
    result: StudyResult,
    against: StudyResult | None = None,
    *,
    level: float = LEVEL,
    threshold: float = THRESHOLD,
) -> list[Plot]:
    """Return the figures of a study; for its largest number of sources.

    Parameters
    ----------
    result : StudyResult
    against : StudyResult, optional
        Of other targets, to be shown beside it.
    level : float
        Agreement that counts as consistent.
    threshold : float
        See `StudyResult.estimation`.
    """
    mdad, error = result.mdad(level), result.estimation(threshold)
    near = _main(error)
    share = f"{100 * level:g} %"
    curves = [
        _against_size(
            "mdad", f"Smallest difference ranked rightly in {share} of pairs (MDAD)", _main(mdad),
            "mdad", "points", "Lower is better. On top: never reached. Bands: 95 % intervals over "
            "trials.",
        ),
        _against_size(
            "mdad_sustained", f"Smallest difference from which {share} holds", _main(mdad),
            "mdad_sustained", "points", "From there on, all larger differences with "
            "enough pairs reach it too. On top: never, or too few pairs to tell.",
        ),
        _against_size(
            "error", "Error of the estimated scores", near, "error", "points",
            "Mean distance of estimate and score; lower is better.",
        ),
        _against_size(
            "rank_correlation", "Rank correlation (Kendall's tau x 100)", near, "kendall_tau",
            "tau x 100", "Higher is better; 100 is the same order.",
        ),
    ]  # fmt: skip
    unseen = _pairs_of(error, "unseen", error, "seen")
    if len(unseen):
        curves += _each_other(
            "seen_unseen",
            "seen and unseen items",
            "on items chosen from",
            "on unseen items",
            unseen,
        )
    if against is not None:
        names = [str(x.settings["target_mode"]) for x in (result, against)]
        other = _with_mdad(against, level, threshold)
        both = _pairs_of(other, "", _with_mdad(result, level, threshold), "")
        axes = (f"{names[0]} targets", f"{names[1]} targets")
        curves += _each_other("targets", f"{names[0]} and {names[1]} targets", *axes, both)
    return [*_agreement_plots(result, level), *curves]


def _main(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are not of unseen items, of the largest number of sources."""
    kept = frame[(frame["reference"] != "unseen")]
    found: pd.DataFrame = kept[kept["n_sources"] == kept["n_sources"].max()].reset_index(drop=True)
    return found


def _with_mdad(result: StudyResult, level: float, threshold: float) -> pd.DataFrame:
    keys = ["method", "n_sources", "size", "reference"]
    frame: pd.DataFrame = result.estimation(threshold).merge(result.mdad(level)[[*keys, "mdad"]])
    return frame


def _styles(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour, marker and line of each method; `random`'s is black with larger, hollow marks.

    So it is seen under another that is the same, as `stratified` is where there are no subtasks.
    """
    ordered = sorted(dict.fromkeys(methods), key=lambda x: x != "random")
    start = 0 if "random" in ordered else 1
    return {
        method: {
            "color": COLOURS[i % len(COLOURS)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": LINES[i % len(LINES)],
            "markersize": 5 if i else 8,
            "markerfacecolor": COLOURS[i % len(COLOURS)] if i else "none",
        }
        for i, method in enumerate(ordered, start)
    }


def _agreement_plots(result: StudyResult, level: float) -> Iterator[Plot]:
    pairs = _main(result.pairs())
    pairs["difference"] = (pairs["bin_low"] + pairs["bin_high"]) / 2
    styles = _styles(pairs["method"].tolist())
    for size, frame in pairs.groupby("size", sort=True):

        def draw(axes: Axes, frame: pd.DataFrame = frame) -> None:
            for method, rows in frame.groupby("method", sort=False, observed=True):
                style = styles[str(method)]
                x = rows["difference"]
                low, high = rows["agreement_low"], rows["agreement_high"]
                axes.fill_between(x, low, high, color=style["color"], alpha=0.12, linewidth=0)
                axes.plot(
                    x, rows["agreement"], **style, label=method,
                    markevery=max(1, len(rows) // 12), linewidth=1.4,
                )  # fmt: skip
            axes.axhline(level, color="#666666", linewidth=0.8, linestyle=":")
            # Beyond most pairs the shares jump about; the CSV has them.
            axes.set_xlim(0, _weighted_quantile(frame["difference"], frame["pairs"], 0.98))
            axes.set_ylim(min(0.45, float(frame["agreement"].quantile(0.1))), 1.01)
            _in_points(axes.xaxis, "difference of the full scores, points")
            _in_points(axes.yaxis, "pairs ranked rightly, %")
            axes.legend()

        yield Plot(
            f"agreement_{size}",
            f"Pairs ranked rightly with {size} examples",
            "By how far apart the two models are. Bands: 95 % intervals over trials. Dotted: "
            f"{100 * level:g} %. A tie counts as wrong. Shown: the closest 98 % of the pairs.",
            frame,
            draw,
        )


def _against_size(
    name: str, title: str, frame: pd.DataFrame, column: str, label: str, caption: str
) -> Plot:
    low, high = f"{column}_low", f"{column}_high"
    data = frame[["method", "n_sources", "size", "reference", column, low, high]]
    styles = _styles(data["method"].tolist())

    def draw(axes: Axes) -> None:
        reach = data[[column, high]].to_numpy(dtype=float)
        top = 1.12 * float(np.nanmax(reach)) if np.isfinite(reach).any() else 1.0
        for method, rows in data.groupby("method", sort=False, observed=True):
            rows = rows.sort_values("size")
            style = styles[str(method)]
            ends = rows[high].fillna(top) if "mdad" in column else rows[high]
            known = rows[low].notna() & ends.notna()
            axes.fill_between(
                rows["size"], rows[low], ends, where=known, color=style["color"], alpha=0.12,
                linewidth=0,
            )  # fmt: skip
            axes.plot(rows["size"], rows[column], **style, label=method)
            never = rows[rows[column].isna()]["size"]
            axes.plot(
                never, [top] * len(never), linestyle="", marker=style["marker"], clip_on=False,
                markerfacecolor="white", color=style["color"], markersize=6,
            )  # fmt: skip
            if len(never):
                axes.annotate(
                    "never", (1, top), (0, 2), xycoords=("axes fraction", "data"),
                    textcoords="offset points", ha="right", va="bottom", fontsize=8,
                )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(sorted(data["size"].unique()), minor=False)
        axes.set_xticks([], minor=True)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.set_ylim(min(0.0, float(np.nanmin([0.0, data[column].min()]))), top)
        axes.set_xlabel("examples (log scale)")
        _in_points(axes.yaxis, label)
        axes.legend()

    return Plot(name, title, caption, data, draw)


def _pairs_of(one: pd.DataFrame, kind: str, other: pd.DataFrame, base: str) -> pd.DataFrame:
    """Return method, size and the figures of both: `_x` of `other`, `_y` of `one`."""
    frames = []
    for frame, reference in ((other, base), (one, kind)):
        kept = frame[frame["reference"] == reference] if reference else _main(frame)
        frames.append(kept[kept["n_sources"] == kept["n_sources"].max()])
    columns = [x for x in ("error", "kendall_tau", "agreement", "mdad") if x in one]
    both: pd.DataFrame = frames[0][["method", "size", *columns]].merge(
        frames[1][["method", "size", *columns]], on=["method", "size"]
    )
    return both


def _each_other(
    name: str, what: str, horizontal: str, vertical: str, both: pd.DataFrame
) -> list[Plot]:
    """Return a figure for each quantity: one way of measuring against another."""
    shown = {"error": ("Estimation error", "points"), "agreement": ("Pairs ranked rightly", "%"),
             "mdad": ("MDAD", "points")}  # fmt: skip
    return [
        _scatter(f"{name}_{column}", f"{title}: {what}", column, unit, horizontal, vertical, both)
        for column, (title, unit) in shown.items()
        if f"{column}_x" in both
    ]


def _scatter(
    name: str, title: str, column: str, unit: str, horizontal: str, vertical: str,
    both: pd.DataFrame,
) -> Plot:  # fmt: skip
    data = both[["method", "size", f"{column}_x", f"{column}_y"]]
    styles = _styles(data["method"].tolist())

    def draw(axes: Axes) -> None:
        known = data.dropna()
        for method, rows in known.groupby("method", sort=False, observed=True):
            style = {k: v for k, v in styles[str(method)].items() if k != "linestyle"}
            x, y = rows[f"{column}_x"], rows[f"{column}_y"]
            axes.plot(x, y, **style, linestyle="", label=method, alpha=0.8)
            for at in zip(x, y, rows["size"], strict=True):
                axes.annotate(
                    str(at[2]), at[:2], xytext=(4, 3), textcoords="offset points", fontsize=7,
                    color="#444444",
                )  # fmt: skip
        ends = axes.get_xlim() + axes.get_ylim()
        line = (min(ends), max(ends))
        axes.plot(line, line, color="#666666", linewidth=0.8, linestyle=":")
        _in_points(axes.xaxis, f"{horizontal}, {unit}")
        _in_points(axes.yaxis, f"{vertical}, {unit}")
        if len(known):
            axes.legend()

    caption = (
        "A mark for each method and number of examples (written beside it); on the dotted line "
        "both are the same."
    )
    return Plot(name, title, caption, data, draw)


# ---- a comparison -------------------------------------------------------------------------------


def comparison_plots(result: Comparison) -> list[Plot]:
    """Return two figures for each micro-task: the ladders of models, then the maps of pairs."""
    ladders, maps = [], []
    for task, models in result.models.groupby("task", sort=False):
        ranked = rank_models(models)
        pairs = result.pairs[result.pairs["task"] == task]
        ladders.append(_ladder(str(task), ranked))
        if len(pairs):
            maps.append(_heat_map(str(task), ranked["model"].tolist(), pairs, result.probability))
    return ladders + maps


def _ladder(task: str, ranked: pd.DataFrame) -> Plot:
    def draw(axes: Axes) -> None:
        rows = np.arange(len(ranked))[::-1]
        estimate, error = ranked["estimate"], NORMAL_95 * ranked["standard_error"].fillna(0)
        low, high = (estimate - error).clip(0, 1), (estimate + error).clip(0, 1)
        axes.hlines(rows, low, high, color=COLOURS[1], linewidth=2)
        axes.plot(estimate, rows, "o", color=COLOURS[1], label="estimate, 95 % interval")
        if ranked["full_score"].notna().any():
            axes.plot(
                ranked["full_score"], rows, "D", color=COLOURS[2], markerfacecolor="none",
                markersize=8, markeredgewidth=1.5, label="full score",
            )  # fmt: skip
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        axes.set_yticks(rows, ranked["model"].map(_short))
        axes.set_ylim(-0.7, len(ranked) - 0.3)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        _in_points(axes.xaxis, "score, points")

    columns = ["model", "estimate", "standard_error", "full_score", "groups"]
    caption = (
        "Best estimate on top. Intervals that overlap do not mean that two models cannot be told "
        "apart: they answered the same items, and the map of pairs takes that into account."
    )
    height = max(2.2, 1.2 + 0.27 * len(ranked))
    return Plot(
        f"ladder_{task}", f"{task}: models", caption, ranked[columns], draw, (WIDTH, height)
    )


def _heat_map(task: str, names: list[str], pairs: pd.DataFrame, probability: float) -> Plot:
    place = {name: i for i, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    told = np.zeros_like(values, dtype=bool)
    for x in pairs.itertuples():
        a, b = sorted((place[str(x.model_a)], place[str(x.model_b)]))
        values[b, a], told[b, a] = x.probability, x.told_apart

    def draw(axes: Axes) -> None:
        import matplotlib

        colours = matplotlib.colormaps["cividis"].with_extremes(bad="#ffffff")
        shown = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0.5, vmax=1)
        n = len(names)
        labels = [f"{i + 1}. {_short(name)}" for i, name in enumerate(names)]
        axes.set_yticks(np.arange(n), labels)
        axes.set_xticks(np.arange(n), [str(i + 1) for i in range(n)], fontsize=8)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        for b, a in np.argwhere(~np.isnan(values)):
            dark = "white" if values[b, a] < 0.8 else "black"
            if n <= ANNOTATED:
                text = percent(values[b, a]).removesuffix(" %").replace("> ", ">")
                weight = "bold" if told[b, a] else "normal"
                axes.text(a, b, text, ha="center", va="center", color=dark, fontsize=8,
                          fontweight=weight)  # fmt: skip
            elif told[b, a]:
                axes.plot(a, b, ".", color=dark, markersize=4)
        bar = axes.figure.colorbar(shown, ax=axes, shrink=0.6, pad=0.02)
        _in_points(bar.ax.yaxis, "sure of the order, %")

    marked = "bold" if len(names) <= ANNOTATED else "with a dot"
    caption = (
        "How sure it is that the full benchmark puts the model of the column above that of the "
        f"row. Told apart ({100 * probability:g} %, with the chosen correction): {marked}."
    )
    side = 1.6 + 0.27 * max(len(names), 6)
    return Plot(
        f"pairs_{task}", f"{task}: how sure each order is", caption, pairs, draw,
        (max(WIDTH, side + 1.6), side),
    )  # fmt: skip


def _short(name: str) -> str:
    """Return a model's name, cut in the middle where it is long."""
    return name if len(name) <= 28 else f"{name[:13]}…{name[-14:]}"


def _weighted_quantile(values: pd.Series[float], weights: pd.Series[int], share: float) -> float:
    order = np.argsort(values.to_numpy(), kind="stable")
    total = np.cumsum(weights.to_numpy()[order])
    return float(values.to_numpy()[order][np.searchsorted(total, share * total[-1])])


def _in_points(axis: Any, label: str) -> None:
    """Label an axis of fractions in points."""
    axis.set_major_formatter(lambda x, _: points(x).removesuffix(".0"))
    axis.set_label_text(label)
