"""What people read: tables and sentences in points (x 100); nothing else prints points."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from lm_microbench.comparison import WORDS, Comparison
from lm_microbench.ordering import MIN_MODELS
from lm_microbench.pairs import BIN_WIDTH, LEVEL, Verdict
from lm_microbench.plan import smallest
from lm_microbench.results import KEYS, THRESHOLD, StudyResult

Table = tuple[list[str], list[list[str]]]

MANY_MODELS = 6


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


def study_made(result: StudyResult) -> str:
    """Return how a study was made, in one paragraph."""
    x = result.settings
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
        f"subset to rank {100 * level:g} % of such pairs rightly; `never`: at no difference. The "
        "first difference that reaches it may be luck in a thin bin; `sustained`: from there on, "
        "every larger difference with enough pairs reaches it too (`-`: too few pairs to tell).",
        "`error`: mean distance of estimate and score. `tau`: Kendall's rank correlation x 100. "
        "`agreement`: share of all pairs ranked rightly; a tie counts as wrong. "
        f"`wrong<{100 * threshold:g}`: share ranked wrongly among pairs closer than "
        f"{100 * threshold:g} points.",
        "`seen`: against the scores on the items that the subset was chosen from; `unseen`: on the "
        "others; `full`: on all.",
    ]


def comparison_made(result: Comparison) -> str:
    """Return what was compared, in one paragraph."""
    models = result.models["model"].nunique()
    tasks = ", ".join(
        f"{x['task']} ({x['size']} items)"
        for x in result.models.drop_duplicates("task").to_dict("records")
    )
    known = result.models.dropna(subset="full_score")["model"].nunique()
    full = f"the full runs of {known} of them are known" if known else "no full runs are given"
    return f"{models} models on {tasks}; {full}."


def comparison_words(result: Comparison) -> list[str]:
    """Return what the words in a comparison's report mean."""
    together = {
        "none": "each pair by itself: of many pairs, some will be wrong",
        "holm": "corrected by Holm's procedure: all stated orders together are right with it",
    }
    return [
        "Scores and differences are in points: 100 x the share of items answered rightly; `+-` is "
        "one standard error. That of a difference takes into account that both models answered the "
        "same items.",
        "`probability`: that the full benchmark puts the two models in the same order. 50 % where "
        f"the estimates tie. `told apart`: it reaches {100 * result.probability:g} % "
        f"({together[result.correct]}). With fewer than {MIN_MODELS} models it is not known how "
        "far apart such models usually are, and where they are closer than the error it is too "
        "high.",
        "`more examples`: how many more would tell the two apart if the difference stays as it is; "
        "`-`: not known.",
        "`groups`: two models that share a letter cannot be told apart.",
    ]


def _joined(result: StudyResult, level: float, threshold: float) -> pd.DataFrame:
    error = result.estimation(threshold).drop(columns="n_trials")
    frame: pd.DataFrame = result.mdad(level).merge(error, on=list(KEYS), validate="1:1")
    return frame


def comparison_tables(result: Comparison) -> list[Table]:
    """Return the tables of a comparison, in points: models, pairs and, with full runs, agreement.

    Of more than `MANY_MODELS` models on a task, only the pairs of neighbours in rank.
    """
    tables = [models_table(result), pairs_table(result)]
    if len(result.bins):
        tables += [bins_table(result), summary_table(result)]
    return tables


def models_table(result: Comparison) -> Table:
    """Return head and rows of the models: estimate, error, full score where known, groups."""
    known = bool(result.models["full_score"].notna().any())
    head = ["task", "model", "estimate", "+-", *(["full score", "error"] if known else [])]
    rows = []
    for x in result.models.to_dict("records"):
        cells = [x["task"], x["model"], points(x["estimate"]), points(x["standard_error"])]
        cells += [points(x["full_score"]), points(x["error"])] if known else []
        rows.append([*cells, x["groups"]])
    return [*head, "groups"], rows


def rank_models(models: pd.DataFrame) -> pd.DataFrame:
    """Return one task's models, the best estimate first."""
    ranked: pd.DataFrame = models.sort_values(
        ["estimate", "model"], ascending=[False, True], ignore_index=True
    )
    return ranked


def pairs_table(result: Comparison, *, every: bool = False) -> Table:
    """Return head and rows of the pairs, better estimate first: how sure their order is."""
    head = ["task", "better", "than", "by", "+-", "probability", "told apart", "more examples"]
    rows = []
    for x in _ranked_pairs(result, every).to_dict("records"):
        flipped = x["estimated_difference"] < 0
        names = [x["model_b"], x["model_a"]] if flipped else [x["model_a"], x["model_b"]]
        cells = [points(abs(x["estimated_difference"])), points(x["standard_error"])]
        cells += [percent(x["probability"]), "yes" if x["told_apart"] else "no"]
        more = x["more_examples"]
        rows.append([x["task"], *names, *cells, "-" if math.isnan(more) else f"{more:.0f}"])
    return head, rows


def percent(fraction: float) -> str:
    """Return a probability as a whole percentage, never 100 %; `-` where it is NaN."""
    if math.isnan(fraction):
        return "-"
    return "> 99 %" if fraction > 0.99 else f"{100 * fraction:.0f} %"


def _ranked_pairs(result: Comparison, every: bool) -> pd.DataFrame:
    """Return the pairs by the ranks of their models; of many models only those of neighbours."""
    frames = []
    for task, models in result.models.groupby("task", sort=False):
        rank = models["estimate"].rank(method="first", ascending=False)
        place = dict(zip(models["model"], rank, strict=True))
        pairs = result.pairs[result.pairs["task"] == task]
        a, b = (pairs[name].map(place) for name in ("model_a", "model_b"))
        low, high = a.where(a < b, b), a.where(a > b, b)
        pairs = pairs.assign(low=low, high=high).sort_values(["low", "high"])
        if not every and len(models) > MANY_MODELS:
            pairs = pairs[pairs["high"] == pairs["low"] + 1]
        frames.append(pairs)
    ranked: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return ranked


def bins_table(result: Comparison) -> Table:
    """Return head and rows of the share of pairs ranked as the full runs do, by difference."""
    rows = [
        [
            x["task"], f"{points(x['difference'])} to {points(x['difference'] + BIN_WIDTH)}",
            str(x["pairs"]), f"{points(x['agreement'], digits=0)} %",
        ]
        for x in result.bins.to_dict("records")
    ]  # fmt: skip
    return ["task", "points apart", "pairs", "ranked alike"], rows


def summary_table(result: Comparison) -> Table:
    """Return head and rows of each micro-task's agreement with the full runs."""
    head = ["task", "models", "pairs", "ranked alike", "MDAD", "tau", "Spearman", "error"]
    rows = [
        [
            x["task"], str(x["n_models"]), str(x["n_pairs"]),
            f"{points(x['agreement'], digits=0)} %", points(x["mdad"]),
            points(x["kendall_tau"], digits=0), points(x["spearman"], digits=0),
            points(x["error"]),
        ]
        for x in result.summary.to_dict("records")
    ]  # fmt: skip
    return head, rows


def comparison_sentences(result: Comparison) -> list[str]:
    """Return plain sentences for each micro-task: what it tells apart, and if full runs agree."""
    sentences = []
    for x in result.summary.to_dict("records"):
        pairs = result.pairs[result.pairs["task"] == x["task"]]
        models = result.models[result.models["task"] == x["task"]]
        sentences += _told_apart(x["task"], models, pairs, result)
        if not x["n_pairs"]:
            continue
        alike = int((pairs["verdict"] == WORDS[Verdict.SAME]).sum())
        tied = int((pairs["verdict"] == WORDS[Verdict.TIED]).sum())
        sentences.append(
            f"{x['task']} ranks {alike} of {x['n_pairs']} pairs of models as their full runs do"
            f"{f' ({tied} tied)' if tied else ''}; its estimates are off by "
            f"{points(x['error'])} points on average."
        )
    return sentences


def _told_apart(
    task: str, models: pd.DataFrame, pairs: pd.DataFrame, result: Comparison
) -> list[str]:
    if pairs.empty:
        return []
    if pairs["probability"].isna().all():
        return [f"{task} has no known standard error, so no two models are told apart by it."]
    together = " all together" if result.correct == "holm" else ""
    best = rank_models(models)
    top = set(best["groups"].iloc[0].split())
    first = best[[not top.isdisjoint(x.split()) for x in best["groups"]]]["model"]
    leader = (
        f"{first.iloc[0]} is the best"
        if len(first) == 1
        else f"the best may be any of {len(first)}: {_listed(first)}"
    )
    return [
        f"{task} tells {int(pairs['told_apart'].sum())} of {len(pairs)} pairs of models apart "
        f"({100 * result.probability:g} % sure{together} that the full benchmark gives the same "
        f"order); {leader}."
    ]


def _listed(names: pd.Series[str]) -> str:
    more = f" and {len(names) - MANY_MODELS} more" if len(names) > MANY_MODELS else ""
    return ", ".join(names[:MANY_MODELS]) + more


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
    settings = {"probability": result.probability, "correct": result.correct}
    return json.dumps({**tables, **settings, "notes": list(result.notes)})
