"""The figures of a study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lm_microbench.pairs import LEVEL
from lm_microbench.plots.figure import Plot
from lm_microbench.plots.style import in_points, legend, styles_of
from lm_microbench.report import brief
from lm_microbench.results import THRESHOLD, StudyResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    share = f"{brief(level)} %"
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
        names = [str(x.settings.get("target_mode")) for x in (result, against)]
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


def _agreement_plots(result: StudyResult, level: float) -> Iterator[Plot]:
    pairs = _main(result.pairs())
    pairs["difference"] = (pairs["bin_low"] + pairs["bin_high"]) / 2
    styles = styles_of(pairs["method"].tolist())
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
            in_points(axes.xaxis, "difference of the full scores, points")
            in_points(axes.yaxis, "pairs ranked rightly, %")
            legend(axes)

        yield Plot(
            f"agreement_{size}",
            f"Pairs ranked rightly with {size} examples",
            "By how far apart the two models are. Bands: 95 % intervals over trials. Dotted: "
            f"{brief(level)} %. A tie counts as wrong. Shown: the closest 98 % of the pairs.",
            frame,
            draw,
        )


def _against_size(
    name: str, title: str, frame: pd.DataFrame, column: str, label: str, caption: str
) -> Plot:
    low, high = f"{column}_low", f"{column}_high"
    data = frame[["method", "n_sources", "size", "reference", column, low, high]]
    styles = styles_of(data["method"].tolist())

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
        in_points(axes.yaxis, label)
        legend(axes)

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
    styles = styles_of(data["method"].tolist())

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
        in_points(axes.xaxis, f"{horizontal}, {unit}")
        in_points(axes.yaxis, f"{vertical}, {unit}")
        legend(axes)

    caption = (
        "A mark for each method and number of examples (written beside it); on the dotted line "
        "both are the same."
    )
    return Plot(name, title, caption, data, draw)


def _weighted_quantile(values: pd.Series[float], weights: pd.Series[int], share: float) -> float:
    order = np.argsort(values.to_numpy(), kind="stable")
    total = np.cumsum(weights.to_numpy()[order])
    return float(values.to_numpy()[order][np.searchsorted(total, share * total[-1])])
