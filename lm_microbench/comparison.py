"""Micro runs of real models against their full runs: does the small result rank them alike?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lm_microbench import files
from lm_microbench.benchmark import Benchmark
from lm_microbench.names import unknown
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
from lm_microbench.readers import MicroRun, read_lm_eval
from lm_microbench.responses import ResponseMatrix, concatenate
from lm_microbench.subset import Subset

WORDS = {
    Verdict.SAME: "same order",
    Verdict.REVERSED: "reversed",
    Verdict.TIED: "tied in the estimate",
    Verdict.NO_PAIR: "tied in the full run",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What the micro runs say, next to what the full runs say; fractions throughout.

    Parameters
    ----------
    models : DataFrame
        task, model, size, estimate, standard_error, full_score, error; a row a model and task.
    pairs : DataFrame
        task, model_a, model_b, estimated_difference, full_difference, verdict; a row a pair.
    bins : DataFrame
        task, difference (lower edge of the bin), pairs, agreement.
    summary : DataFrame
        task, n_models, n_pairs, agreement, mdad, mdad_sustained, kendall_tau, spearman, error.
        MDAD is NaN where there are fewer than `pairs.MIN_PAIRS` pairs.
    notes : tuple of str
        What was left out, and why.
    """

    models: pd.DataFrame
    pairs: pd.DataFrame
    bins: pd.DataFrame
    summary: pd.DataFrame
    notes: tuple[str, ...] = ()

    def save(self, folder: Path) -> list[Path]:
        """Write the four tables as CSV and return their paths."""
        paths = []
        for name in ("models", "pairs", "bins", "summary"):
            path = Path(folder) / f"{name}.csv"
            files.write_text(path, getattr(self, name).to_csv(index=False, lineterminator="\n"))
            paths.append(path)
        return paths


def compare(
    runs: Iterable[MicroRun], subsets: Mapping[str, Subset], full: ResponseMatrix
) -> Comparison:
    """Return the comparison of micro runs with full runs of the same models.

    Models are joined by name. A full score is the mean over all items of the benchmark; a model
    whose full run lacks answers has none (NaN) and makes no pair.

    Parameters
    ----------
    runs : iterable of MicroRun
    subsets : mapping of str to Subset
        The subset of every task that was run.
    full : ResponseMatrix
        Answers of the models to all items.

    Raises
    ------
    ValueError
        If no model has both runs, the items are of another benchmark, or two runs of one model
        on one task disagree.
    """
    notes: list[str] = []
    answers = _latest(runs, notes)
    tables = [
        _task_tables(task, _subset_of(task, subsets), models, full, notes)
        for task, models in sorted(answers.items())
    ]
    if not any(len(table["models"]) for table in tables):
        micro = sorted({model for models in answers.values() for model in models})
        raise ValueError(
            f"no model has both a micro and a full run: micro runs of {_some(micro)}, "
            f"full runs of {_some(full.models)}"
        )
    frames = {
        name: pd.concat([table[name] for table in tables], ignore_index=True)
        for name in ("models", "pairs", "bins", "summary")
    }
    return Comparison(**frames, notes=tuple(notes))


def read_full(sources: Iterable[Path], benchmark: Benchmark, *, jobs: int = 1) -> ResponseMatrix:
    """Return the full runs that response matrices (`.parquet`) and folders of runs hold.

    Raises
    ------
    ValueError
        If a file is not a response matrix, or a model occurs in two of the sources.
    """
    paths = [Path(source) for source in sources]
    matrices = [ResponseMatrix.load(path) for path in paths if path.suffix == ".parquet"]
    folders = [path for path in paths if path.suffix != ".parquet"]
    if folders:
        matrices.append(read_lm_eval(folders, benchmark, jobs=jobs)[0])
    return concatenate(matrices)


def _latest(runs: Iterable[MicroRun], notes: list[str]) -> dict[str, dict[str, MicroRun]]:
    """Return for each task the newest run of every model; runs of a part are left out."""
    found: dict[str, dict[str, MicroRun]] = {}
    for run in sorted(runs, key=lambda x: x.date):
        if run.limited:
            notes.append(f"{run.path}: {run.task} ran with --limit or --samples and is left out")
            continue
        models = found.setdefault(run.task, {})
        if run.model in models and not _agree(models[run.model], run):
            raise ValueError(
                f"{run.path}: two runs of {run.model} on {run.task} disagree (the other is "
                f"{models[run.model].path}); give the one that counts"
            )
        models[run.model] = run
    if not found:
        raise ValueError("every micro run is of a part of its items; run without --limit")
    return found


def _agree(one: MicroRun, other: MicroRun) -> bool:
    a, b = one.answers, other.answers
    return a.items == b.items and np.array_equal(a.scores, b.scores, equal_nan=True)


def _subset_of(task: str, subsets: Mapping[str, Subset]) -> Subset:
    if task not in subsets:
        raise unknown("micro-task", task, subsets, hint="add its folder to LM_MICROBENCH_PATH")
    return subsets[task]


def _task_tables(
    task: str,
    subset: Subset,
    runs: Mapping[str, MicroRun],
    full: ResponseMatrix,
    notes: list[str],
) -> dict[str, pd.DataFrame]:
    _check_items(task, subset, full)
    known = dict(zip(full.models, _full_scores(full), strict=True))
    notes += [f"{task}: {model} has no full run" for model in runs if model not in known]
    models = _models_table(task, subset, [run for m, run in runs.items() if m in known], known)
    notes += [
        f"{task}: the full run of {model} lacks answers, so it makes no pair"
        for model in models["model"][models["full_score"].isna()]
    ]
    reference, estimate = models["full_score"].to_numpy(), models["estimate"].to_numpy()
    counts = count_pairs(reference, estimate)
    return {
        "models": models,
        "pairs": pd.DataFrame(_pair_rows(models), columns=_PAIR_COLUMNS).assign(task=task)[
            ["task", *_PAIR_COLUMNS]
        ],
        "bins": _bins_table(task, counts),
        "summary": _summary_table(task, reference, estimate, counts),
    }


def _models_table(
    task: str, subset: Subset, runs: Sequence[MicroRun], full: Mapping[str, float]
) -> pd.DataFrame:
    """Return one row a model, the best full score first."""
    rows = []
    for run in runs:
        scores = run.answers.take(items=subset.items).scores
        rows.append(
            {
                "task": task,
                "model": run.model,
                "size": subset.size,
                "estimate": float(subset.estimate(scores)[0]),
                "standard_error": float(subset.standard_error(scores)[0]),
                "full_score": full[run.model],
            }
        )
    columns = ["task", "model", "size", "estimate", "standard_error", "full_score"]
    table = pd.DataFrame(rows, columns=columns)
    table["error"] = table["estimate"] - table["full_score"]
    order = {"by": ["full_score", "model"], "ascending": [False, True], "ignore_index": True}
    ordered: pd.DataFrame = table.sort_values(**order)
    return ordered


_PAIR_COLUMNS = ["model_a", "model_b", "estimated_difference", "full_difference", "verdict"]


def _pair_rows(models: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    names = models["model"].tolist()
    estimate, full = models["estimate"].to_numpy(), models["full_score"].to_numpy()
    found = verdicts(full, estimate)
    for first, second, verdict in zip(*pair_indices(len(names)), found, strict=True):
        difference = full[first] - full[second]
        word = "full score unknown" if np.isnan(difference) else WORDS[Verdict(verdict)]
        yield names[first], names[second], estimate[first] - estimate[second], difference, word


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


def _full_scores(full: ResponseMatrix) -> Any:
    return np.where(full.coverage() == 1, full.accuracy(), np.nan)


def _check_items(task: str, subset: Subset, full: ResponseMatrix) -> None:
    missing = set(subset.items) - set(full.items)
    if missing:
        raise ValueError(
            f"{task}: {len(missing)} of its {subset.size} items are not in the full runs (such as "
            f"{min(missing)!r}); are they of the same benchmark?"
        )
    if len(full.items) != subset.provenance.n_items:
        raise ValueError(
            f"{task}: built from {subset.provenance.n_items} items, but the full runs have "
            f"{len(full.items)}; collect the full runs of the whole benchmark"
        )


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return (", ".join(listed[:3]) or "none") + more
