"""What people read: tables and sentences in points (x 100); nothing else prints points."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from lm_microbench.comparison import WORDS, Comparison
from lm_microbench.pairs import BIN_WIDTH, LEVEL, Verdict
from lm_microbench.plan import smallest
from lm_microbench.results import KEYS, THRESHOLD, StudyResult

Table = tuple[list[str], list[list[str]]]


def points(fraction: float, *, digits: int = 1, none: str = "-") -> str:
    """Return a fraction as points, such as `3.5`; `none` where it is NaN."""
    return none if math.isnan(fraction) else f"{100 * fraction:.{digits}f}"


def study_table(
    result: StudyResult, *, level: float = LEVEL, threshold: float = THRESHOLD
) -> Table:
    """Return head and rows of the table of a study; MDAD, error, tau and shares in points.

    "never": the level is not reached; "-": there are too few pairs to tell.
    """
    frame = _joined(result, level, threshold)
    several = frame["n_sources"].nunique() > 1
    head = ["method", *(["sources"] if several else []), "size", "scores", "MDAD", "95 %"]
    head += ["sustained", "error", "tau", "agreement", f"wrong<{100 * threshold:g}"]
    rows = []
    for row in frame.to_dict("records"):
        low, high = (points(row[f"mdad_{end}"], none="never") for end in ("low", "high"))
        cells = [row["method"], *([str(row["n_sources"])] if several else []), str(row["size"])]
        cells += [row["reference"], points(row["mdad"], none="never"), f"{low} to {high}"]
        held = points(row["mdad_sustained"], none="never" if row["n_thick_bins"] else "-")
        cells += [held, points(row["error"])]
        cells += [points(row[x], digits=0) for x in ("kendall_tau", "agreement", "wrong_within")]
        rows.append(cells)
    return head, rows


def study_sentences(
    result: StudyResult, *, level: float = LEVEL, threshold: float = THRESHOLD
) -> list[str]:
    """Return one plain sentence for each method: what its smallest subset can be trusted with.

    Against the items that the subset was chosen from; for the largest number of sources.
    """
    frame = _joined(result, level, threshold)
    frame = frame[frame["reference"] != "unseen"]
    frame = frame[frame["n_sources"] == frame["n_sources"].max()]
    return [
        _sentence(rows.loc[rows["size"].idxmin()].to_dict(), level, threshold)
        for _, rows in frame.groupby("method", sort=False, observed=True)
    ]


def _sentence(row: dict[str, Any], level: float, threshold: float) -> str:
    first, held = row["mdad"], row["mdad_sustained"]
    share = f"{100 * level:g} %"
    closer = f"{100 * row['share_below_mdad']:.3g} % of the pairs of these models are"
    if math.isnan(first):
        ranks = f"ranks no pairs of these models consistently ({share} rightly), however different"
    elif not row["n_thick_bins"]:
        ranks = (
            f"ranks {share} of the pairs near {100 * first:g} points apart rightly; {closer} "
            f"closer; with {row['n_pairs']} pairs in all, whether it holds further apart is not "
            "known"
        )
    elif math.isnan(held):
        ranks = (
            f"ranks no pairs of these models consistently: {share} rightly is first reached "
            f"{100 * first:g} points apart, but does not hold further apart; {closer} closer"
        )
    else:
        ranks = (
            f"ranks pairs {100 * first:g} points apart consistently ({share} rightly); "
            f"{closer} closer"
        )
    wrong = ""
    if not math.isnan(row["wrong_within"]):
        wrong = (
            f"; {100 * row['wrong_within']:.3g} % of pairs within {100 * threshold:g} points "
            "would be ranked wrongly"
        )
    examples = "1 example" if row["size"] == 1 else f"{row['size']} examples"
    return f"At {examples} `{row['method']}` {ranks}{wrong}."


def _joined(result: StudyResult, level: float, threshold: float) -> pd.DataFrame:
    error = result.estimation(threshold).drop(columns="n_trials")
    frame: pd.DataFrame = result.mdad(level).merge(error, on=list(KEYS), validate="1:1")
    return frame


def comparison_tables(result: Comparison) -> list[Table]:
    """Return the tables of a comparison: models, differences and the summary; in points."""
    models = result.models.to_dict("records")
    pairs = result.bins.to_dict("records")
    return [
        (
            ["task", "model", "estimate", "+-", "full score", "error"],
            [
                [x["task"], x["model"], points(x["estimate"]), points(x["standard_error"]),
                 points(x["full_score"]), points(x["error"])]
                for x in models
            ],
        ),
        (
            ["task", "points apart", "pairs", "ranked alike"],
            [
                [x["task"], f"{points(x['difference'])} to {points(x['difference'] + BIN_WIDTH)}",
                 str(x["pairs"]), f"{points(x['agreement'], digits=0)} %"]
                for x in pairs
            ],
        ),
        (
            ["task", "models", "pairs", "ranked alike", "MDAD", "tau", "Spearman", "error"],
            [
                [x["task"], str(x["n_models"]), str(x["n_pairs"]),
                 f"{points(x['agreement'], digits=0)} %", points(x["mdad"]),
                 points(x["kendall_tau"], digits=0), points(x["spearman"], digits=0),
                 points(x["error"])]
                for x in result.summary.to_dict("records")
            ],
        ),
    ]  # fmt: skip


def comparison_sentences(result: Comparison) -> list[str]:
    """Return one plain sentence for each micro-task: how many pairs it ranks as the full runs."""
    sentences = []
    for x in result.summary.to_dict("records"):
        pairs = result.pairs[result.pairs["task"] == x["task"]]
        alike = int((pairs["verdict"] == WORDS[Verdict.SAME]).sum())
        tied = int((pairs["verdict"] == WORDS[Verdict.TIED]).sum())
        sentences.append(
            f"{x['task']} ranks {alike} of {x['n_pairs']} pairs of models as their full runs do"
            f"{f' ({tied} tied)' if tied else ''}; its estimates are off by "
            f"{points(x['error'])} points on average."
        )
    return sentences


def plan_table(table: pd.DataFrame) -> Table:
    """Return head and rows of a plan; the detectable difference in points."""
    head = ["method", "examples", "of the full run", "targets", "order right", "tells apart"]
    head += ["source models"]
    rows = [
        [
            x["method"], str(x["size"]), f"{points(x['share'], digits=2)} %", x["target"],
            f"{points(x['probability'], digits=0)} %",
            points(x["detectable"], none="never"), str(x["n_models"]),
        ]
        for x in table.to_dict("records")
    ]  # fmt: skip
    return head, rows


def plan_sentences(table: pd.DataFrame, difference: float, probability: float) -> list[str]:
    """Return for each kind of target which methods are enough at which size."""
    what = f"{100 * difference:g} points apart rightly with {100 * probability:g} % probability"
    who = {"inside": "models within the range of the sources", "above": "models above the sources"}
    sentences = []
    for target, rows in smallest(table).groupby("target", sort=False):
        some = rows.dropna()
        listed = ", ".join(f"{x.method} with {x.size:.0f}" for x in some.itertuples())
        largest = table["size"].max()
        answer = f"enough are {listed} examples" if listed else f"no size up to {largest} is enough"
        sentences.append(f"To order {who[str(target)]} {what}, {answer}.")
    return sentences


def comparison_json(result: Comparison) -> str:
    """Return the tables of a comparison as one JSON object; fractions, null for NaN."""
    tables = {
        name: json.loads(getattr(result, name).to_json(orient="records"))
        for name in ("models", "pairs", "bins", "summary")
    }
    return json.dumps({**tables, "notes": list(result.notes)})
