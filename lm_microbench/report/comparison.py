"""Tables and sentences of a comparison."""

from __future__ import annotations

import json
import math

import pandas as pd

from lm_microbench.compared import Comparison
from lm_microbench.comparison_tables import WORDS
from lm_microbench.ordering import MIN_MODELS
from lm_microbench.pairs import BIN_WIDTH, Verdict
from lm_microbench.report.numbers import Table, brief, percent, points

MANY_MODELS = 6


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
        f"the estimates tie. `told apart`: it reaches {brief(result.probability)} % "
        f"({together[result.correct]}). With fewer than {MIN_MODELS} models it is not known how "
        "far apart such models usually are, and where they are closer than the error it is too "
        "high.",
        "`more examples`: how many more would tell the two apart if the difference stays as it is; "
        "`-`: not known.",
        "`groups`: two models that share a letter cannot be told apart.",
    ]


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
        f"({brief(result.probability)} % sure{together} that the full benchmark gives the same "
        f"order); {leader}."
    ]


def _listed(names: pd.Series[str]) -> str:
    more = f" and {len(names) - MANY_MODELS} more" if len(names) > MANY_MODELS else ""
    return ", ".join(names[:MANY_MODELS]) + more


def comparison_json(result: Comparison) -> str:
    """Return the tables of a comparison as one JSON object; fractions, null for NaN."""
    tables = {
        name: json.loads(getattr(result, name).to_json(orient="records"))
        for name in ("models", "pairs", "bins", "summary")
    }
    settings = {"probability": result.probability, "correct": result.correct}
    return json.dumps({**tables, **settings, "notes": list(result.notes)})
