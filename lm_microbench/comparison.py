"""Micro runs of real models: what they say of every pair, and whether full runs agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lm_microbench.benchmark import Benchmark
from lm_microbench.compared import TABLES, Comparison
from lm_microbench.comparison_tables import task_tables
from lm_microbench.names import unknown
from lm_microbench.ordering import PROBABILITY, Correction
from lm_microbench.readers import MicroRun, read_lm_eval
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Subset


def compare(
    runs: Iterable[MicroRun],
    subsets: Mapping[str, Subset],
    full: ResponseMatrix | None = None,
    *,
    probability: float = PROBABILITY,
    correct: Correction = "none",
) -> Comparison:
    """Return what micro runs say of every pair of models, and whether full runs agree.

    Models are joined by name. A full score is the mean over all items of the benchmark; a model
    that has no full run, or whose full run lacks answers, has none (NaN).

    Parameters
    ----------
    runs : iterable of MicroRun
    subsets : mapping of str to Subset
        The subset of every task that was run.
    full : ResponseMatrix, optional
        Answers of models to all items.
    probability : float
        That makes two models told apart, between 0.5 and 1.
    correct : {"none", "holm"}
        Correction for many comparisons, within each micro-task.

    Raises
    ------
    ValueError
        If full runs are given and no model has both runs, the items are of another benchmark, or
        two runs of one model on one task disagree.
    """
    notes: list[str] = []
    answers = _latest(runs, subsets, notes)
    known = _known_scores(answers, full)
    tables = []
    for task, models in sorted(answers.items()):
        subset = _subset_of(task, subsets)
        if full is not None:
            _check_items(task, subset, full)
            notes += _missing(task, models, known)
        notes += [
            f"{run.path}: some confidences of {task} are not known; where they are not, it is "
            "estimated from scores alone"
            for run in models.values()
            if subset.lacks_confidences(run.answers)
        ]
        tables.append(task_tables(task, subset, models, known, (probability, correct)))
    frames = {
        name: pd.concat([table[name] for table in tables], ignore_index=True) for name in TABLES
    }
    return Comparison(**frames, notes=tuple(notes), probability=probability, correct=correct)


def read_full(sources: Iterable[Path], benchmark: Benchmark, *, jobs: int = 1) -> ResponseMatrix:
    """Return the full runs that response matrices (`.parquet`) and folders of runs hold.

    Raises
    ------
    ValueError
        If a file is not a response matrix, or a model occurs in two of the sources.
    """
    paths = [Path(source) for source in sources]
    found = [(str(x), ResponseMatrix.load(x)) for x in paths if x.suffix == ".parquet"]
    folders = [path for path in paths if path.suffix != ".parquet"]
    if folders:
        name = ", ".join(map(str, folders))
        found.append((name, read_lm_eval(folders, benchmark, jobs=jobs)[0]))
    if not found:
        raise ValueError("full runs: none is given; give a response matrix or folders of runs")
    whole = found[0][1]
    for name, matrix in found[1:]:
        try:
            whole = whole.join(matrix)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return whole


def _latest(
    runs: Iterable[MicroRun], subsets: Mapping[str, Subset], notes: list[str]
) -> dict[str, dict[str, MicroRun]]:
    """Return for each task the newest run of every model; runs of a part are left out."""
    found: dict[str, dict[str, MicroRun]] = {}
    for run in sorted(runs, key=lambda x: x.date):
        if run.limited:
            notes.append(f"{run.path}: {run.task} ran with --limit or --samples and is left out")
            continue
        items, wanted = set(run.answers.items), set(_subset_of(run.task, subsets).items)
        if items < wanted:
            notes.append(
                f"{run.path}: the samples file of {run.task} holds {len(items)} of {len(wanted)} "
                "items and is left out; run it again"
            )
            continue
        models = found.setdefault(run.task, {})
        if run.model in models and not _agree(models[run.model], run):
            raise ValueError(
                f"{run.path}: two runs of {run.model} on {run.task} disagree (the other is "
                f"{models[run.model].path}); give the one that counts"
            )
        models[run.model] = run
    if not found:
        raise ValueError(f"every micro run is of a part of its items: {notes[0]}")
    return found


def _agree(one: MicroRun, other: MicroRun) -> bool:
    a, b = one.answers, other.answers
    return a.items == b.items and np.array_equal(a.scores, b.scores, equal_nan=True)


def _subset_of(task: str, subsets: Mapping[str, Subset]) -> Subset:
    if task not in subsets:
        raise unknown(
            "micro-task", task, subsets, hint="(own ones: add their folder to LM_MICROBENCH_PATH)"
        )
    return subsets[task]


def _known_scores(
    answers: Mapping[str, Mapping[str, MicroRun]], full: ResponseMatrix | None
) -> dict[str, float]:
    """Return the full score of every model that has a full run; NaN where answers are missing."""
    if full is None:
        return {}
    scores = np.where(full.coverage() == 1, full.accuracy(), np.nan)
    known = {model: float(x) for model, x in zip(full.models, scores, strict=True)}
    micro = {model for models in answers.values() for model in models}
    if not micro & set(known):
        raise ValueError(
            f"no model has both a micro and a full run: micro runs of {_some(micro)}, "
            f"full runs of {_some(full.models)}"
        )
    return known


def _missing(task: str, models: Iterable[str], known: Mapping[str, float]) -> list[str]:
    listed = sorted(models)
    return [f"{task}: {model} has no full run" for model in listed if model not in known] + [
        f"{task}: the full run of {model} lacks answers, so it makes no pair"
        for model in listed
        if model in known and np.isnan(known[model])
    ]


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
