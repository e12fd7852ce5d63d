"""Bootstrap: how far a figure would move had other trials, or other models, been drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lm_microbench.pairs import (
    BIN_WIDTH,
    TOLERANCE,
    Array,
    Integers,
    PairCounts,
    Verdict,
    bins_of,
    count_pairs,
    mean_absolute_error,
    pair_indices,
    rank_correlations,
    ratio,
    signs,
    verdicts,
)

N_RESAMPLES = 1000
COVERAGE = 0.95

# A resample of models goes through all pairs; this bounds its work at some seconds.
_MAX_CELLS = 400_000_000


@dataclass(frozen=True, eq=False)
class Resampled:
    """The figures of one method at one size, and the same figures of every resample.

    Parameters
    ----------
    counts : PairCounts
        Counts of all pairs, one row.
    count_draws : PairCounts
        Counts of each resample, n_resamples rows.
    means : dict of str to float
        `error`, `kendall_tau`, `spearman`.
    mean_draws : dict of str to array, shape (n_resamples,)
    """

    counts: PairCounts
    count_draws: PairCounts
    means: dict[str, float]
    mean_draws: dict[str, Array]


def resample(
    reference: Array, estimate: Array, seed: int, n_resamples: int = N_RESAMPLES
) -> Resampled:
    """Return the figures of trials, resampled: over trials, or over the models of a single one.

    Pairs of one trial share models and items and are not independent, so they are never resampled
    themselves. A single trial (the check of one fixed subset) says nothing of other trials; its
    models are resampled, which tells how far other models of the same kind would move the figures.

    Parameters
    ----------
    reference, estimate : array, shape (n_trials, n_models)
    seed : int
        The same seed draws the same resamples for every method, so that methods can be compared.
    """
    rng = np.random.default_rng([seed, len(reference)])
    if len(reference) == 1:
        return _over_models(reference[0], estimate[0], rng, n_resamples)
    return _over_trials(reference, estimate, rng, n_resamples)


def trial_weights(
    n_trials: int, rng: np.random.Generator, n_resamples: int = N_RESAMPLES
) -> Integers:
    """Return how often each trial is drawn in each resample, shape (n_resamples, n_trials).

    A bootstrap over trials, not over pairs: pairs of one trial share models and items, and are
    not independent.
    """
    shares = np.full(n_trials, 1 / n_trials)
    return rng.multinomial(n_trials, shares, size=n_resamples).astype(np.int64)


def interval(
    resampled: npt.ArrayLike, *, coverage: float = COVERAGE, never: bool = False
) -> tuple[Array, Array]:
    """Return the lower and upper percentile of resampled figures, over their first axis.

    Parameters
    ----------
    resampled : array, shape (n_resamples, ...)
    coverage : float
        Share of the resamples inside the interval.
    never : bool
        What NaN means. True, for a MDAD: a level that is never reached, more than any number, so
        that a bound can be NaN. False: the figure is not known in that resample, which is left out.
    """
    values = np.sort(np.asarray(resampled, dtype=np.float64), axis=0)  # NaN come last
    known = np.full(values.shape[1:], len(values)) if never else (~np.isnan(values)).sum(axis=0)
    tail = (1 - coverage) / 2
    bounds = []
    for share in (tail, 1 - tail):
        # The smallest value with at least that share of values at or below it: MDADs are edges
        # of bins, and so is this.
        at = np.clip(np.ceil(share * known - TOLERANCE).astype(np.int64) - 1, 0, None)
        bounds.append(np.take_along_axis(values, at[None], axis=0)[0])
    return bounds[0], bounds[1]


def _over_trials(
    reference: Array, estimate: Array, rng: np.random.Generator, n_resamples: int
) -> Resampled:
    weights = trial_weights(len(reference), rng, n_resamples)
    counts = count_pairs(reference, estimate)
    tau, rho = rank_correlations(reference, estimate)
    each = {"error": mean_absolute_error(reference, estimate), "kendall_tau": tau, "spearman": rho}
    all_ = np.ones((1, len(reference)))
    return Resampled(
        counts=counts.pool(),
        count_draws=counts.weigh(weights),
        means={name: float(_mean(all_, v)[0]) for name, v in each.items()},
        mean_draws={name: _mean(weights, v) for name, v in each.items()},
    )


def _over_models(
    reference: Array, estimate: Array, rng: np.random.Generator, n_resamples: int
) -> Resampled:
    n_pairs = len(reference) * (len(reference) - 1) // 2
    n_resamples = min(n_resamples, max(100, _MAX_CELLS // max(n_pairs, 1)))
    weights = trial_weights(len(reference), rng, n_resamples)
    all_ = np.ones((1, len(reference)), dtype=np.int64)
    means, draws = (_of_models(reference, estimate, w) for w in (all_, weights))
    return Resampled(
        counts=count_pairs(reference, estimate).pool(),
        count_draws=weigh_models(reference, estimate, weights),
        means={name: float(values[0]) for name, values in means.items()},
        mean_draws=draws,
    )


def weigh_models(reference: Array, estimate: Array, weights: Integers) -> PairCounts:
    """Return one row of counts for each row of model weights, shape (n_resamples, n_models).

    A model drawn twice makes each of its pairs twice; with itself it makes none.
    """
    first, second = pair_indices(len(reference))
    verdict = verdicts(reference, estimate)
    first, second = (i[verdict != Verdict.NO_PAIR] for i in (first, second))
    same = verdict[verdict != Verdict.NO_PAIR] == Verdict.SAME
    n_bins = int(bins_of(1.0)) + 1
    cell = np.minimum(bins_of(reference[first] - reference[second]), n_bins - 1)
    pairs, agree = (np.zeros((len(weights), n_bins), dtype=np.int64) for _ in range(2))
    for row, w in enumerate(weights):
        product = w[first] * w[second]
        pairs[row] = np.rint(np.bincount(cell, product, n_bins))
        agree[row] = np.rint(np.bincount(cell[same], product[same], n_bins))
    return PairCounts(pairs, agree, BIN_WIDTH)


def _of_models(reference: Array, estimate: Array, weights: Integers) -> dict[str, Array]:
    """Return error, tau-b and rho with weighted models, each of shape (n_resamples,).

    The formulas of `pairs.rank_correlations` with weights: a pair counts w_i w_j times.
    """
    known = ~np.isnan(reference + estimate)
    w = (weights * known).astype(np.float64)
    s, e = (np.where(known, values, 0) for values in (reference, estimate))
    x, y = (signs(v[:, None] - v[None, :]).astype(np.float64) for v in (s, e))
    n_same, n_x, n_y = (((w @ m) * w).sum(axis=1) for m in (x * y, x * x, y * y))
    rank_x, rank_y = w @ x.T, w @ y.T
    c_xy, c_xx, c_yy = ((w * a * b).sum(axis=1) for a, b in
                        ((rank_x, rank_y), (rank_x, rank_x), (rank_y, rank_y)))  # fmt: skip
    return {
        "error": _mean(weights, np.abs(estimate - reference)),
        "kendall_tau": ratio(n_same, np.sqrt(n_x * n_y)),
        "spearman": ratio(c_xy, np.sqrt(c_xx * c_yy)),
    }


def _mean(weights: npt.ArrayLike, values: Array) -> Array:
    """Return the weighted mean of the known values for each row of weights."""
    known = ~np.isnan(values)
    w = np.asarray(weights, dtype=np.float64)
    return ratio(w @ np.where(known, values, 0), w @ known.astype(np.float64))
