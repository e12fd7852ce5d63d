"""Study: repeated trials of methods on models and items that they have not seen.

The protocol is that of "How Reliable is Language Model Micro-Benchmarking?" (arXiv 2510.08730),
with targets better than every source (`top`) added. This module has the only loop over trials.
"""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from lm_microbench import __version__
from lm_microbench.methods import Method, get_method
from lm_microbench.names import unknown
from lm_microbench.responses import ResponseMatrix
from lm_microbench.results import StudyResult
from lm_microbench.study_folder import KeptTrials
from lm_microbench.subset import Subset
from lm_microbench.trial_table import tabulate
from lm_microbench.trials import Outcome, SharedMatrix, Split, TargetMode, TrialDesign, run_trial

N_SOURCES, N_TARGETS, N_TRIALS = 300, 50, 50

Progress = Callable[[int, int], None]

log = logging.getLogger(__name__)


def study(
    matrix: ResponseMatrix,
    *,
    methods: Sequence[str | Method],
    sizes: Sequence[int],
    n_sources: int | Sequence[int] | None = None,
    n_targets: int | None = None,
    trials: int = N_TRIALS,
    target_mode: TargetMode = "random",
    targets: Sequence[str] = (),
    split: Split = "half",
    seed: int = 0,
    n_jobs: int | None = None,
    folder: Path | str | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Return how reliably methods rank and score models that they were not built from.

    Every trial draws target models, source models from the others, and half the items of every
    subtask; each method chooses items from the seen half by the sources' answers; its estimates
    of the targets are held against their scores on the seen and on the unseen half. All methods,
    sizes and source counts see the same draws; adding one, another `n_jobs`, or another order of
    models and items changes no number.

    Parameters
    ----------
    matrix : ResponseMatrix
    methods : sequence of str or Method
        Names, or methods with their options.
    sizes : sequence of int
        Numbers of items to choose.
    n_sources : int or sequence of int, optional
        Number of source models; several are studied side by side. None: 300, or all that are left
        where there are fewer.
    n_targets : int, optional
        Number of target models. None: 50, or a third of the models where there are fewer than
        150. For `target_mode="list"` all the named ones are used.
    trials : int
    target_mode, split, seed
        See `TrialDesign`.
    targets : sequence of str
        The target models, for `target_mode="list"`.
    n_jobs : int, optional
        Number of trials side by side, as joblib counts; None: what `joblib.parallel_config` says,
        or 1. Any joblib backend will do, Dask and Ray among them.
    folder : path, optional
        Where finished trials are kept, and the result saved; an interrupted study continues there.
    progress : callable, optional
        Called with the numbers of finished and of all trials, first with those kept.

    Raises
    ------
    ValueError
        If the matrix cannot give these draws, a size is above the seen half, a model answered
        nothing, or the folder holds another study.
    KeyError
        For an unknown method, mode or target model, with the nearest names.
    """
    chosen = [m if isinstance(m, Method) else get_method(m) for m in methods]
    labels = [label(method) for method in chosen]
    _check_matrix(matrix)
    design = _design(matrix, n_sources, n_targets, target_mode, targets, split, seed)
    matrix = matrix.by_name()
    design.check(matrix)
    _check_request(labels, sizes, trials, design, matrix.n_items)
    settings = _settings(matrix, design, chosen, sizes)
    store = KeptTrials(None if folder is None else Path(folder), settings)
    done = store.read(trials)
    missing = [t for t in range(trials) if t not in done]
    n_kept = len(done)
    if n_kept:
        log.info("%s: continuing a study, %d of %d trials are kept", folder, n_kept, trials)
    report = progress or (lambda finished, total: None)
    report(n_kept, trials)
    for outcome in _run(matrix, design, chosen, sizes, missing, n_jobs):
        done[outcome.trial] = store.keep(
            outcome.trial, tabulate(outcome, labels, design.n_sources, sizes, design.references)
        )
        report(len(done), trials)
    table = pa.concat_tables([done[t] for t in sorted(done)]).unify_dictionaries()
    result = StudyResult(table, settings, n_kept=n_kept)
    if folder is not None:
        result.save(folder)
        store.clear()
    return result


def check_subset(matrix: ResponseMatrix, subset: Subset, *, seed: int = 0) -> StudyResult:
    """Return how reliably one fixed subset ranks and scores models it was not built from.

    The figures are those of `study`, with one trial: all models that are not among the subset's
    sources, held against their full scores. Where every model is a source (or all but one), all
    are used, with a warning. The intervals are over models.

    Raises
    ------
    KeyError
        If the matrix lacks an item of the subset.
    ValueError
        If it has fewer than two models, or one that answered nothing.
    """
    _check_matrix(matrix)
    matrix = matrix.by_name()
    names, notes = _targets_of(subset, matrix)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    targets = matrix.take(models=names)
    answers = subset.answers(targets)
    outcome = Outcome(
        0,
        targets.models,
        targets.accuracy()[None],
        subset.estimate(answers)[None, None, None],
        subset.standard_error(answers)[None, None, None],
    )
    table = tabulate(
        outcome, [subset.provenance.method], [len(set(subset.provenance.sources))],
        [subset.size], ["full"],
    )  # fmt: skip
    settings = {
        "subset": subset.provenance.model_dump(mode="json"),
        "n_models": matrix.n_models,
        "n_items": matrix.n_items,
        "n_targets": targets.n_models,
        "matrix_sha256": matrix.fingerprint(),
        "seed": seed,
        "package_version": __version__,
    }
    return StudyResult(table, settings, tuple(notes))


def label(method: Method) -> str:
    """Return what a result calls a method: its name, with the options that are not the default."""
    changed = {
        f.name: getattr(method, f.name)
        for f in dataclasses.fields(method)
        if f.default is dataclasses.MISSING or getattr(method, f.name) != f.default
    }
    inner = ", ".join(f"{name}={value}" for name, value in changed.items())
    return f"{method.name}({inner})" if inner else method.name


def _run(
    matrix: ResponseMatrix, design: TrialDesign, methods: Sequence[Method], sizes: Sequence[int],
    trials: Sequence[int], n_jobs: int | None,
) -> Any:  # fmt: skip
    """Return an iterable of the outcomes of trials, as they finish where the backend can."""
    # Ray's backend, for one, can only give all at the end; then nothing is kept on the way.
    backend, _ = get_active_backend()
    as_they_finish = getattr(backend, "supports_return_generator", False)
    how = "generator_unordered" if as_they_finish else "list"
    shared, sizes = SharedMatrix.of(matrix), tuple(sizes)
    work = delayed(run_trial)
    return Parallel(n_jobs=n_jobs, return_as=how)(
        work(shared, design.draw(matrix, t), design, methods, sizes, t) for t in trials
    )


def _targets_of(subset: Subset, matrix: ResponseMatrix) -> tuple[list[str], list[str]]:
    """Return the models that a subset can be checked on, and what a reader must know of that."""
    known = set(matrix.items)
    absent = next((item for item in subset.items if item not in known), None)
    if absent is not None:
        raise unknown("item of the subset", absent, known, hint="(the matrix lacks it)")
    sources = set(subset.provenance.sources)
    names = [name for name in matrix.models if name not in sources]
    notes = []
    if len(names) < 2:
        notes.append(
            f"{matrix.n_models - len(names)} of {matrix.n_models} models are sources of the subset;"
            " all are used, and the figures are too good"
        )
        names = list(matrix.models)
    if len(names) < 2:
        raise ValueError(f"matrix: {len(names)} model; a pair needs at least 2")
    if subset.provenance.n_items != matrix.n_items:
        notes.append(
            f"the subset was chosen from {subset.provenance.n_items} items, the matrix has "
            f"{matrix.n_items}; the figures are for the latter"
        )
    if subset.lacks_confidences(matrix.take(models=names)):
        notes.append("some confidences are not known; those models are estimated from scores alone")
    return names, notes


def _design(
    matrix: ResponseMatrix, n_sources: int | Sequence[int] | None, n_targets: int | None,
    target_mode: TargetMode, targets: Sequence[str], split: Split, seed: int,
) -> TrialDesign:  # fmt: skip
    named = tuple(targets)
    if bool(named) != (target_mode == "list"):
        raise ValueError(
            f"targets: {len(named)} named with target_mode {target_mode!r}; "
            "name models with 'list', and only with it"
        )
    if named:
        n_targets = len(set(named))
    elif n_targets is None:
        n_targets = max(2, min(N_TARGETS, matrix.n_models // 3))
    if seed < 0:
        raise ValueError(f"seed: {seed} is negative; give 0 or more")
    counts: tuple[int, ...] = (1,)
    if n_sources is not None:
        counts = tuple(map(int, np.atleast_1d(n_sources)))
    design = TrialDesign(counts, n_targets, target_mode, named, split, seed)
    if n_sources is None:
        design.check(matrix)
        left = len(design.candidates(matrix)[1]) - (n_targets if target_mode == "random" else 0)
        design = dataclasses.replace(design, n_sources=(min(N_SOURCES, left),))
    return design


def _check_matrix(matrix: ResponseMatrix) -> None:
    if not matrix.n_models or not matrix.n_items:
        raise ValueError(
            f"matrix: {matrix.n_models} models and {matrix.n_items} items; it is empty"
        )
    silent = np.flatnonzero(matrix.coverage() == 0)
    if len(silent):
        raise ValueError(f"matrix: model {matrix.models[silent[0]]!r} answered nothing; drop it")


def _check_request(
    labels: Sequence[str], sizes: Sequence[int], trials: int, design: TrialDesign, n_items: int
) -> None:
    for name, values in (("methods", labels), ("sizes", sizes), ("n_sources", design.n_sources)):
        twice = next((v for v, n in Counter(values).items() if n > 1), None)
        if not values or twice is not None:
            fault = "none is given" if not values else f"{twice} is given twice"
            raise ValueError(f"{name}: {fault}; give one or more, each once")
    if trials < 1:
        raise ValueError(f"trials: {trials}; give 1 or more")
    seen = design.n_seen(n_items)
    wrong = next((size for size in sizes if not 1 <= size <= seen), None)
    if wrong is not None:
        where = "the seen half has" if design.split == "half" else "there are"
        raise ValueError(f"sizes: {wrong}, but {where} {seen} items; give 1 to {seen}")


def _settings(
    matrix: ResponseMatrix, design: TrialDesign, methods: Sequence[Method], sizes: Sequence[int]
) -> dict[str, Any]:
    """Return what two studies must have in common to share trials, as JSON holds it."""
    return {
        "methods": [{"name": m.name, **m.options()} for m in methods],
        "sizes": list(map(int, sizes)),
        "n_sources": list(map(int, design.n_sources)),
        "n_targets": design.n_targets,
        "target_mode": design.target_mode,
        "targets": sorted(set(design.targets)),
        "split": design.split,
        "seed": design.seed,
        "n_models": matrix.n_models,
        "n_items": matrix.n_items,
        "matrix_sha256": matrix.fingerprint(),
        "package_version": __version__,
    }
