"""The tables of one micro-task's runs: models, pairs of models, bins of differences, a summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lm_microbench.ordering import Correction, groups, letters, order
from lm_microbench.pairs import (
    MIN_PAIRS,
    PairCounts,
    Verdict,
    count_pairs,
    mean_absolute_error,
    pair_indices,
    rank_correlations,
    verdicts,
)
from lm_microbench.readers import MicroRun
from lm_microbench.subset import Subset

WORDS = {
    Verdict.SAME: "same order",
    Verdict.REVERSED: "reversed",
    Verdict.TIED: "tied in the estimate",
    Verdict.NO_PAIR: "tied in the full run",
}


def task_tables(
    task: str,
    subset: Subset,
    runs: Mapping[str, MicroRun],
    known: Mapping[str, float],
    told: tuple[float, Correction],
) -> dict[str, pd.DataFrame]:
    """Return the tables of one micro-task by name: models, pairs, bins and summary.

    Parameters
    ----------
    task : str
    subset : Subset
    runs : mapping of str to MicroRun
        The run of every model.
    known : mapping of str to float
        The full scores that are known; NaN where a full run lacks answers.
    told : tuple of (probability, correction)
        As in `ordering.order`.
    """
    scores = np.vstack([subset.answers(run.answers) for run in runs.values()])
    models = _models_table(task, subset, list(runs), scores, known)
    # Best full score first, then best estimate: the tables' order.
    by = models.sort_values(["full_score", "estimate", "model"], ascending=[False, False, True])
    rows = by.index.to_numpy()
    models, scores = models.loc[rows].reset_index(drop=True), scores[rows]
    pairs = _pairs_table(task, subset, models, scores, told)
    models["groups"] = _letters(models, pairs)
    reference, estimate = models["full_score"].to_numpy(), models["estimate"].to_numpy()
    counts = count_pairs(reference, estimate)
    return {
        "models": models,
        "pairs": pairs,
        "bins": _bins_table(task, counts),
        "summary": _summary_table(task, reference, estimate, counts),
    }


def _models_table(
    task: str, subset: Subset, names: list[str], scores: Any, known: Mapping[str, float]
) -> pd.DataFrame:
    """Return one row a model."""
    columns = {
        "task": task,
        "model": names,
        "size": subset.size,
        "estimate": subset.estimate(scores),
        "standard_error": subset.standard_error(scores),
        "full_score": [known.get(name, np.nan) for name in names],
    }
    table: pd.DataFrame = pd.DataFrame(columns)
    table["error"] = table["estimate"] - table["full_score"]
    return table


def _pairs_table(
    task: str, subset: Subset, models: pd.DataFrame, scores: Any, told: tuple[float, Correction]
) -> pd.DataFrame:
    """Return one row a pair, in the order of `pair_indices`."""
    full, names = models["full_score"].to_numpy(), models["model"].to_numpy(dtype=object)
    found = order(subset, scores, probability=told[0], correct=told[1])
    first, second = pair_indices(len(names))
    difference = full[first] - full[second]
    judged = zip(verdicts(full, models["estimate"].to_numpy()), difference, strict=True)
    columns = {
        "task": task,
        "model_a": names[first],
        "model_b": names[second],
        "estimated_difference": found.difference,
        "full_difference": difference,
        "verdict": ["full score unknown" if np.isnan(d) else WORDS[Verdict(v)] for v, d in judged],
        "standard_error": found.standard_error,
        "probability": found.probability,
        "more_examples": found.more_examples,
        "told_apart": found.told_apart,
    }
    table: pd.DataFrame = pd.DataFrame(columns)
    return table


def _letters(models: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Return the letters of each model's groups, `a` for that of the best estimate."""
    rank = (-models["estimate"]).argsort(kind="stable").to_numpy()
    n = len(rank)
    told = np.zeros((n, n), dtype=bool)
    told[pair_indices(n)] = pairs["told_apart"].to_numpy()
    told = (told | told.T)[np.ix_(rank, rank)]
    found = [""] * n
    for model, numbers in zip(rank, groups(told[pair_indices(n)], n), strict=True):
        found[model] = " ".join(letters(number) for number in numbers)
    return found


def _bins_table(task: str, counts: PairCounts) -> pd.DataFrame:
    some = counts.pairs[0] > 0
    columns = {
        "task": task,
        "difference": counts.edges[some],
        "pairs": counts.pairs[0, some],
        "agreement": counts.agreement()[0, some],
    }
    table: pd.DataFrame = pd.DataFrame(columns)
    return table


def _summary_table(task: str, reference: Any, estimate: Any, counts: PairCounts) -> pd.DataFrame:
    tau, rho = rank_correlations(reference, estimate)
    n_pairs = int(counts.pairs.sum())
    enough = n_pairs >= MIN_PAIRS
    row = {
        "task": task,
        "n_models": len(reference),
        "n_pairs": n_pairs,
        "agreement": counts.total_agreement()[0],
        "mdad": counts.mdad()[0] if enough else np.nan,
        "mdad_sustained": counts.mdad_sustained()[0] if enough else np.nan,
        "kendall_tau": tau[0],
        "spearman": rho[0],
        "error": mean_absolute_error(reference, estimate)[0],
    }
    table: pd.DataFrame = pd.DataFrame([row])
    return table
