"""How far a method's subsets can be trusted, measured on its own source models when one is built.

Some of the models are left out, the method chooses from the others, and its estimates of the
left-out models are compared with their full scores: once for models inside the range of the others,
and once for the best of all, which is what a new model may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lm_microbench.held_out import HeldOut, Reliability
from lm_microbench.methods import Method
from lm_microbench.pairs import count_pairs
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Subset

Array = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

MIN_MODELS = 5
N_FOLDS = 5
N_ROUNDS = 2
BEST_SHARE = 0.2
N_REPEATS = 3


def measure(source: ResponseMatrix, method: Method, size: int, seed: int = 0) -> Reliability | None:
    """Return the measured reliability of a method at one size (see `measure_sizes`)."""
    return measure_sizes(source, method, [size], seed)[0]


def measure_sizes(
    source: ResponseMatrix, method: Method, sizes: Sequence[int], seed: int = 0
) -> list[Reliability | None]:
    """Return the measured reliability of a method at each size, ready for a manifest.

    Two times, the models are divided at random into five folds; each fold's models that lie inside
    the range of the others are targets ("inside"). Three times, the best fifth of the models are
    targets and all others sources ("above"). Every time the method chooses anew.

    The subsets that are measured rest on fewer sources than the one that will be used, so the
    errors lean to the safe side; from a handful of models they are rough.

    Parameters
    ----------
    source : ResponseMatrix
        Models that answered nothing are left out.
    method : Method
    sizes : sequence of int
    seed : int

    Returns
    -------
    list of Reliability
        None where there are fewer than 5 models.
    """
    known = np.flatnonzero(source.coverage() > 0)
    order = sorted(known.tolist(), key=lambda i: source.models[i])
    source = source.take(models=order)
    if source.n_models < MIN_MODELS:
        return [None for _ in sizes]
    truth = source.accuracy()
    inside = [_Kind.empty(truth) for _ in sizes]
    above = [_Kind.empty(truth) for _ in sizes]
    rng = np.random.default_rng([seed, 1])
    for targets in _folds(source.n_models, rng):
        _try(source, method, sizes, targets, rng, inside, within=True)
    for targets in _best(truth):
        _try(source, method, sizes, targets, rng, above, within=False)
    least, greatest = float(truth.min()), float(truth.max())
    return [
        Reliability(
            n_models=source.n_models,
            source_range=(least, greatest),
            inside=i.summary(),
            above=a.summary(),
        )
        for i, a in zip(inside, above, strict=True)
    ]


def _folds(n_models: int, rng: np.random.Generator) -> Iterator[Positions]:
    for _ in range(N_ROUNDS):
        yield from np.array_split(rng.permutation(n_models), N_FOLDS)


def _best(truth: Array) -> Iterator[Positions]:
    n = max(1, round(BEST_SHARE * len(truth)))
    for _ in range(N_REPEATS):
        yield np.argsort(-truth, kind="stable")[:n]


def _try(
    source: ResponseMatrix,
    method: Method,
    sizes: Sequence[int],
    targets: Positions,
    rng: np.random.Generator,
    kinds: Sequence[_Kind],
    *,
    within: bool,
) -> None:
    """Choose without the targets, estimate them, and add the outcome to each size's record."""
    rest = source.take(models=np.setdiff1d(np.arange(source.n_models), targets))
    truth = kinds[0].truth
    if within:
        low, high = rest.accuracy().min(), rest.accuracy().max()
        targets = targets[(truth[targets] >= low) & (truth[targets] <= high)]
    held_out = source.take(models=targets)
    for kind, subset in zip(kinds, method.select_sizes(rest, sizes, rng=rng), strict=True):
        kind.add(targets, _estimate(subset, held_out))


def _estimate(subset: Subset, matrix: ResponseMatrix) -> Array:
    if not matrix.n_models:
        return np.zeros(0)
    return subset.estimate(subset.answers(matrix))


@dataclass(frozen=True, eq=False)
class _Kind:
    """Estimates of one kind of targets: a row a split, a column a model, NaN where no target."""

    truth: Array
    rows: list[Array]

    @classmethod
    def empty(cls, truth: Array) -> _Kind:
        return cls(truth, [])

    def add(self, targets: Positions, estimates: Array) -> None:
        row = np.full(len(self.truth), np.nan)
        row[targets] = estimates
        self.rows.append(row)

    def summary(self) -> HeldOut:
        estimates = np.array(self.rows)
        errors = (estimates - self.truth)[~np.isnan(estimates)]
        counts = count_pairs(np.tile(self.truth, (len(estimates), 1)), estimates).pool()
        return HeldOut(
            n_targets=int((~np.isnan(estimates)).any(axis=0).sum()),
            n_estimates=len(errors),
            n_pairs=int(counts.pairs.sum()),
            error_rms=_number(np.sqrt((errors**2).mean())) if len(errors) else None,
            error_mean_absolute=_number(np.abs(errors).mean()) if len(errors) else None,
            difference_rms=_number(difference_rms(estimates - self.truth)),
            agreement=_number(counts.total_agreement()[0]),
            mdad=_number(counts.mdad_sustained()[0]),
        )


def difference_rms(errors: Array) -> float:
    """Return the root mean square of e_i - e_j over all pairs of estimates of one subset.

    Parameters
    ----------
    errors : array, shape (n_splits, n_models)
        Estimate less full score; NaN where a model was no target. NaN if there is no pair.
    """
    known = ~np.isnan(errors)
    n, values = known.sum(axis=1), np.where(known, errors, 0.0)
    # The sum over pairs of (e_i - e_j)^2 is n * sum e^2 - (sum e)^2.
    squares = n * (values**2).sum(axis=1) - values.sum(axis=1) ** 2
    n_pairs = (n * (n - 1) // 2).sum()
    return float(np.sqrt(max(squares.sum(), 0.0) / n_pairs)) if n_pairs else math.nan


def _number(value: Any) -> float | None:
    """Return a plain number for a manifest, rounded to six digits; None for NaN."""
    return None if math.isnan(value) else round(float(value), 6)
