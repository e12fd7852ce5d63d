"""How sure the order of models is: from their answers to one subset to what it can tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from lm_microbench.estimators import LinearEstimator, PredictiveEstimator
from lm_microbench.names import unknown
from lm_microbench.pairs import pair_indices, signs
from lm_microbench.subset import Subset

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Correction = Literal["none", "holm"]

PROBABILITY = 0.9
CORRECTIONS = ("none", "holm")
MIN_MODELS = 5


@dataclass(frozen=True, eq=False)
class Ordering:
    """What one subset says of the order of every pair of models, in the order of `pair_indices`.

    Parameters
    ----------
    difference : array, shape (n_pairs,)
        Estimate of the first model less that of the second, a fraction.
    standard_error : array, shape (n_pairs,)
        Of `difference`; both models answered the same items. NaN where none is known.
    probability : array, shape (n_pairs,)
        That the full benchmark orders the two as the estimates do; 0.5 where the estimates tie.
    more_examples : array, shape (n_pairs,)
        Examples beyond those of the subset that would tell the two apart if the difference stays
        as it is; 0 where they are, NaN where it is not known.
    told_apart : array of bool, shape (n_pairs,)
    """

    difference: Array
    standard_error: Array
    probability: Array
    more_examples: Array
    told_apart: Flags


def order(
    subset: Subset,
    scores: npt.ArrayLike,
    *,
    probability: float = PROBABILITY,
    correct: Correction = "none",
) -> Ordering:
    """Return how sure the order of every pair of models is.

    The error of a difference is taken as normal. Its standard error is that of the sample's design
    for the differences of the two models' answers, or, for an estimator that is no probability
    sample, one measured on held-out source models (see `difference_errors`).

    Three things keep the probability from promising too much. (1) To the variance of a sample are
    added four answers that were not seen: half of one for each model over the other and one without
    a difference (Agresti and Min 2005 for paired proportions, here for any weights), so that a
    sample whose answers all agree is not taken as certain. (2) Where at least 5 models are compared
    by weighted means of their answers, they are taken as drawn from a population whose spread is
    estimated from them: tau^2 is the mean over pairs of d^2 - v, and
    z = d / sqrt(v) * sqrt(tau^2 / (tau^2 + v)), the empirical Bayes posterior; of models that are
    all close, the largest difference is mostly luck. With fewer models the spread is not known and
    z = d / sqrt(v), too sure where models are closer than their errors. Estimates of other kinds
    (regression, IRT) are predictions that lean towards the middle already, and are taken as they
    are. (3) A tie is 0.5. How far that succeeds: `benchmarks/ordering_calibration.py`.

    Two models are told apart where `probability` is reached; with `correct="holm"`, where Holm's
    step-down procedure on 1 - probability says so: then all stated orders together are right with
    that probability. `more_examples` lets the variance fall as 1/n - 1/N and asks for the level of
    the first step of the procedure (Bonferroni), which is on the safe side.

    Parameters
    ----------
    subset : Subset
    scores : array, shape (n_models, n_answers)
        Answers to the subset's items (see `Subset.answers`).
    probability : float
        That makes two models told apart, between 0.5 and 1.
    correct : {"none", "holm"}
        Correction for many comparisons.

    Raises
    ------
    ValueError
        If the probability is not possible.
    UnknownNameError
        If the correction is not known.
    """
    if not 0.5 < probability < 1:
        raise ValueError(f"probability: {probability}; give a fraction between 0.5 and 1")
    if correct not in CORRECTIONS:
        raise unknown("correction", correct, CORRECTIONS)
    answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    estimates = subset.estimate(answers)
    first, second = pair_indices(len(estimates))
    difference = estimates[first] - estimates[second]
    error = difference_errors(subset, answers)
    variance = error**2 + _unseen(subset, difference)
    spread = _spread(difference, variance, len(estimates), subset)
    sure = _probability(difference, variance, spread)
    alpha = 1 - probability
    told = holm(1 - sure, alpha) if correct == "holm" else 1 - sure <= alpha
    steps = max(int((~np.isnan(sure)).sum()), 1) if correct == "holm" else 1
    more = _more_examples(subset, difference, variance, spread, 1 - alpha / steps)
    return Ordering(difference, error, sure, np.where(told, 0.0, more), told)


def difference_errors(subset: Subset, answers: Array) -> Array:
    """Return the standard error of the difference of every two models' estimates, (n_pairs,).

    By design of the differences of their answers; else the estimator's own, where it has been
    calibrated; else `difference_rms` of the manifest's reliability, of models inside the range of
    the sources, or, where the better estimate lies above it, the larger of that and of the best
    sources held out. NaN where none is known.
    """
    if _is_sample(subset):
        rows = [
            subset.estimator.standard_error(answers[i] - answers[i + 1 :])
            for i in range(len(answers) - 1)
        ]
        return np.concatenate([np.zeros(0), *rows])
    first, second = pair_indices(len(answers))
    if isinstance(subset.estimator, PredictiveEstimator):
        return subset.estimator.difference_error(answers)[first, second]
    if subset.reliability is None:
        return np.full(len(first), np.nan)
    estimates = subset.raw_estimate(answers)
    # Not fmax: a difference from an unknown estimate is unknown.
    better = np.maximum(estimates[first], estimates[second])
    return subset.reliability.error(better, "difference_rms")


def holm(wrong: npt.ArrayLike, alpha: float) -> Flags:
    """Return which of some statements may be made together, shape as `wrong`.

    Parameters
    ----------
    wrong : array, shape (n,)
        Probability that each statement is wrong; NaN where it cannot be made.
    alpha : float
        Probability that any of those made is wrong.

    Notes
    -----
    Holm, "A simple sequentially rejective multiple test procedure" (1979): in rising order, the
    k-th of n is made while it is at most alpha / (n - k + 1).
    """
    values = np.asarray(wrong, dtype=np.float64)
    made = np.zeros(values.shape, dtype=np.bool_)
    known = int((~np.isnan(values)).sum())
    by_size = np.argsort(values, kind="stable")[:known]  # NaN is sorted last
    passes = values[by_size] <= alpha / (known - np.arange(known))
    made[by_size[: known if passes.all() else int(np.argmin(passes))]] = True
    return made


def groups(told_apart: npt.ArrayLike, n_models: int) -> list[tuple[int, ...]]:
    """Return, for each model, the numbers of its groups, from 0 up.

    Two models share a group exactly where they are not told apart (a compact letter display). Each
    group is a largest possible set in which no two are told apart: for every pair that no group
    holds yet, in order, one is started and every model that fits is added, in order. A model told
    apart from all others is a group alone.

    Parameters
    ----------
    told_apart : array of bool, shape (n_pairs,)
        In the order of `pair_indices`, best model first, so that the first group is that of the
        best.
    n_models : int
    """
    alike = np.eye(n_models, dtype=np.bool_)
    first, second = pair_indices(n_models)
    alike[first, second] = alike[second, first] = ~np.asarray(told_apart, dtype=np.bool_)
    numbers: list[list[int]] = [[] for _ in range(n_models)]
    for number, group in enumerate(_cover(alike)):
        for model in group:
            numbers[model].append(number)
    return [tuple(x) for x in numbers]


def letters(number: int) -> str:
    """Return a group's name: a, b, ..., z, aa, ab, ..."""
    more, last = divmod(number, 26)
    return (letters(more - 1) if more else "") + chr(ord("a") + last)


def _cover(alike: Flags) -> Iterator[list[int]]:
    covered = np.zeros_like(alike)
    for i, j in np.argwhere(np.triu(alike)):
        if covered[i, j] or (i == j and alike[i].sum() > 1):
            continue
        group = [int(i)] if i == j else [int(i), int(j)]
        fits: Flags = np.all(alike[group], axis=0)
        fits[group] = False
        while fits.any():
            model = int(np.argmax(fits))  # the first; those passed over never fit again
            group.append(model)
            fits &= alike[model]
            fits[model] = False
        covered[np.ix_(group, group)] = True
        yield sorted(group)


def _is_sample(subset: Subset) -> bool:
    return isinstance(subset.estimator, LinearEstimator) and subset.estimator.design is not None


def _is_mean(subset: Subset) -> bool:
    return isinstance(subset.estimator, LinearEstimator) and subset.estimator.intercept == 0


def _unseen(subset: Subset, difference: Array) -> Array:
    """Return what the answers that were not seen add to the variance of a difference.

    For n equal weights, a mean difference d and a variance v, Agresti and Min's
    z = d' / sqrt(v'), with their four answers added to the n, is d / sqrt(v + extra) with
    extra = (1 + 2 n d^2 / (n + 2)) / n^2; the mean of squared weights stands for 1 / n^2 where
    weights differ, and the finite population's 1 - n/N scales it like the variance.
    """
    if not _is_sample(subset):
        return np.zeros_like(difference)
    n, n_items = subset.size, subset.provenance.n_items
    square = float(np.mean(subset.weights() ** 2))
    extra: Array = (1 - n / n_items) * square * (1 + 2 * n * difference**2 / (n + 2))
    return extra


def _spread(difference: Array, variance: Array, n_models: int, subset: Subset) -> float:
    """Return the variance of true differences; infinite where it is not known, or not wanted."""
    known = ~np.isnan(variance)
    if n_models < MIN_MODELS or not known.any() or not _is_mean(subset):
        return math.inf
    return max(float((difference[known] ** 2 - variance[known]).mean()), 0.0)


def _probability(difference: Array, variance: Array, spread: float) -> Array:
    tied = signs(difference) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(difference) / np.sqrt(variance)
        if math.isfinite(spread):
            z = z * np.sqrt(np.where(variance > 0, spread / (spread + variance), 1.0))
    sure = np.where(tied, 0.5, norm.cdf(z))
    return np.where(np.isnan(difference + variance), np.nan, sure)


def _more_examples(
    subset: Subset, difference: Array, variance: Array, spread: float, level: float
) -> Array:
    """Return how many more examples bring each pair to `level`; NaN where it is not known."""
    n, n_items = subset.size, subset.provenance.n_items
    if not _is_sample(subset) or n == n_items or spread == 0:
        return np.full(difference.shape, np.nan)
    tied = signs(difference) == 0
    wanted = np.where(tied, np.nan, (difference / norm.ppf(level)) ** 2)
    if math.isfinite(spread):  # solves d^2 spread / (v (spread + v)) = z^2 for v
        wanted = (np.sqrt(spread**2 + 4 * wanted * spread) - spread) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / n_items + wanted / variance * (1 / n - 1 / n_items)
    more: Array = np.clip(np.ceil(1 / inverse - 1e-9) - n, 0, n_items - n)
    return more
