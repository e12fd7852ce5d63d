"""Tables and sentences of a study."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from lm_microbench.pairs import LEVEL
from lm_microbench.report.numbers import Table, brief, points
from lm_microbench.results import KEYS, THRESHOLD, StudyResult


def study_table(
    result: StudyResult, *, level: float = LEVEL, threshold: float = THRESHOLD
) -> Table:
    """Return head and rows of the table of a study; MDAD, error, tau and shares in points.

    "never": the level is not reached; "-": there are too few pairs to tell.
    """
    frame = _joined(result, level, threshold)
    several = frame["n_sources"].nunique() > 1
    head = ["method", *(["sources"] if several else []), "size", "scores", "MDAD", "95 %"]
    head += ["sustained", "error", "tau", "agreement", f"wrong<{brief(threshold)}"]
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
    share = f"{brief(level)} %"
    closer = f"{brief(row['share_below_mdad'], 3)} % of the pairs of these models are"
    if math.isnan(first):
        ranks = f"ranks no pairs of these models consistently ({share} rightly), however different"
    elif not row["n_thick_bins"]:
        ranks = (
            f"ranks {share} of the pairs near {brief(first)} points apart rightly; {closer} "
            f"closer; with {row['n_pairs']} pairs in all, whether it holds further apart is not "
            "known"
        )
    elif math.isnan(held):
        ranks = (
            f"ranks no pairs of these models consistently: {share} rightly is first reached "
            f"{brief(first)} points apart, but does not hold further apart; {closer} closer"
        )
    else:
        ranks = (
            f"ranks pairs {brief(first)} points apart consistently ({share} rightly); "
            f"{closer} closer"
        )
    wrong = ""
    if not math.isnan(row["wrong_within"]):
        wrong = (
            f"; {brief(row['wrong_within'], 3)} % of pairs within {brief(threshold)} points "
            "would be ranked wrongly"
        )
    examples = "1 example" if row["size"] == 1 else f"{row['size']} examples"
    return f"At {examples} `{row['method']}` {ranks}{wrong}."


def study_made(result: StudyResult) -> str:
    """Return how a study was made, in one paragraph."""
    x = result.settings
    if "subset" in x:
        return (
            f"One subset of {x['subset']['size']} items, chosen by `{x['subset']['method']}`, on "
            f"{x.get('n_targets')} of {x.get('n_models')} models and {x.get('n_items')} items. "
            "Intervals are over models."
        )
    frame = result.mdad()
    sources = " or ".join(str(n) for n in sorted(frame["n_sources"].unique()))
    kinds = {
        "random": "targets drawn at random",
        "top": "the best models as targets, all sources weaker",
        "list": "chosen targets",
    }
    kind = kinds.get(str(x.get("target_mode")), f"targets: {x.get('target_mode')}")
    half = " The items were divided in two: subsets are chosen from the seen half."
    return (
        f"{x.get('n_models')} models, {x.get('n_items')} items. {_times(result.n_trials)}, "
        f"subsets were chosen by the answers of {sources} source models and used to estimate the "
        f"scores of {x.get('n_targets')} others ({kind}).{half if x.get('split') == 'half' else ''}"
    )


def _times(number: int) -> str:
    return "Once" if number == 1 else f"{number} times"


def study_words(*, level: float = LEVEL, threshold: float = THRESHOLD) -> list[str]:
    """Return what the words in a study's report mean."""
    return [
        "Scores and differences are in points: 100 x the share of items answered rightly.",
        f"MDAD, minimum detectable ability difference: how far apart two models must be for the "
        f"subset to rank {brief(level)} % of such pairs rightly; `never`: at no difference. The "
        "first difference that reaches it may be luck in a thin bin; `sustained`: from there on, "
        "every larger difference with enough pairs reaches it too (`-`: too few pairs to tell).",
        "`error`: mean distance of estimate and score. `tau`: Kendall's rank correlation x 100. "
        "`agreement`: share of all pairs ranked rightly; a tie counts as wrong. "
        f"`wrong<{brief(threshold)}`: share ranked wrongly among pairs closer than "
        f"{brief(threshold)} points.",
        "`seen`: against the scores on the items that the subset was chosen from; `unseen`: on the "
        "others; `full`: on all.",
    ]


def _joined(result: StudyResult, level: float, threshold: float) -> pd.DataFrame:
    error = result.estimation(threshold).drop(columns="n_trials")
    frame: pd.DataFrame = result.mdad(level).merge(error, on=list(KEYS), validate="1:1")
    return frame
