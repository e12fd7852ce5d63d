"""Pair agreement, MDAD and rank correlation: arrays in, numbers out.

Scores have shape (n_trials, n_models), or (n_models,) for one trial. A model whose reference or
estimate is NaN makes no pair. Definitions: "How Reliable is Language Model Micro-Benchmarking?"
(arXiv 2510.08730), section 3; differences from its code are named where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BIN_WIDTH = 0.005
LEVEL = 0.8
MIN_PAIRS = 30

# Scores of n items are whole numbers of 1/n, so two that differ do so by far more than this, and
# two that are equal on paper differ by far less in floating point: 0.35 - 0.28 is 0.06999..., yet
# belongs to the bin that starts at 0.07. This is the only place where "equal" is decided.
TOLERANCE = 1e-9

_CHUNK = 1 << 21


class Verdict(IntEnum):
    """What the estimates say of a pair of models, against their reference scores."""

    NO_PAIR = -1
    TIED = 0
    SAME = 1
    REVERSED = 2


def signs(difference: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return -1, 0 or 1 for each difference; 0 where it is within `TOLERANCE`, or NaN."""
    d = np.asarray(difference, dtype=np.float64)
    return (d > TOLERANCE).astype(np.int8) - (d < -TOLERANCE).astype(np.int8)


def bins_of(difference: npt.ArrayLike, width: float = BIN_WIDTH) -> Integers:
    """Return the bin of each absolute difference: floor(|d| / width), 0.07 / 0.005 being 14."""
    d = np.abs(np.asarray(difference, dtype=np.float64))
    return np.floor((d + TOLERANCE) / width).astype(np.int64)


def pair_indices(n_models: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first and the second model of every pair, each of shape (n_pairs,)."""
    first, second = np.triu_indices(n_models, 1)
    return first, second


def verdicts(reference: npt.ArrayLike, estimate: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the `Verdict` on every pair, shape (..., n_pairs), in the order of `pair_indices`.

    A tie in the reference, or a NaN in either, is no pair; a tie in the estimate is TIED, which
    counts as a disagreement.
    """
    s, e = _both(reference, estimate)
    first, second = pair_indices(s.shape[-1])
    true = signs(s[..., first] - s[..., second])
    found = signs(e[..., first] - e[..., second])
    unknown = np.isnan(e[..., first] + e[..., second])
    verdict = np.where(true == found, Verdict.SAME, Verdict.REVERSED).astype(np.int8)
    verdict[found == 0] = Verdict.TIED
    verdict[(true == 0) | unknown] = Verdict.NO_PAIR
    return verdict


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Number of pairs, and of agreeing pairs, in each bin of reference difference.

    Parameters
    ----------
    pairs, agree : array of int, shape (n_rows, n_bins)
        A row is a trial, all trials together (`pool`), or one resample of trials (`weigh`).
    width : float
        Width of a bin; bin b holds differences from b * width up to, not including, (b+1) * width.
    """

    pairs: Integers
    agree: Integers
    width: float = BIN_WIDTH

    @property
    def edges(self) -> Array:
        """Lower edge of each bin, shape (n_bins,)."""
        # Rounded, so that 14 * 0.005 is the number that 0.07 is.
        return np.round(np.arange(self.pairs.shape[1]) * self.width, 12)

    def pool(self) -> PairCounts:
        """Return the counts of all rows together, as one row."""
        return PairCounts(self.pairs.sum(0, keepdims=True), self.agree.sum(0, keepdims=True),
                          self.width)  # fmt: skip

    def weigh(self, weights: Integers) -> PairCounts:
        """Return one row of counts for each row of weights, shape (n_resamples, n_trials).

        Bins above the last one with a pair are left out.
        """
        n = int(np.flatnonzero(self.pairs.sum(axis=0) > 0).max(initial=0)) + 1
        factors = weights.astype(np.float64)
        # Through floats, which BLAS multiplies; the counts are far below 2**53, so exact.
        pairs, agree = (
            np.rint(factors @ counts[:, :n].astype(np.float64)).astype(np.int64)
            for counts in (self.pairs, self.agree)
        )
        return PairCounts(pairs, agree, self.width)

    def agreement(self) -> Array:
        """Return the share of agreeing pairs, shape (n_rows, n_bins); NaN in an empty bin."""
        return ratio(self.agree, self.pairs)

    def total_agreement(self) -> Array:
        """Return the share of agreeing pairs over all bins, shape (n_rows,)."""
        return ratio(self.agree.sum(axis=1), self.pairs.sum(axis=1))

    def mdad(self, level: float = LEVEL) -> Array:
        """Return the minimum detectable ability difference, shape (n_rows,).

        The lower edge of the first bin whose agreement is at least `level`; NaN where none is.
        The published code floors twice, so that it never looks at some bins, and counts "never"
        as 50 points; neither is so here.
        """
        reached = self._reaches(level) & (self.pairs > 0)
        return np.where(reached.any(axis=1), self.edges[reached.argmax(axis=1)], np.nan)

    def mdad_sustained(self, level: float = LEVEL, min_pairs: int = MIN_PAIRS) -> Array:
        """Return the smallest edge from which agreement stays at `level`, shape (n_rows,).

        Only bins with at least `min_pairs` pairs are looked at: the first crossing alone can be
        luck in a thin bin. NaN where the last such bin is below the level, or there is none.
        """
        thick = self.pairs >= min_pairs
        below = thick & ~self._reaches(level)
        after = np.cumsum(below[:, ::-1], axis=1)[:, ::-1] == 0
        good = thick & after
        return np.where(good.any(axis=1), self.edges[good.argmax(axis=1)], np.nan)

    def share_within(self, threshold: float) -> Array:
        """Return the share of pairs that differ by less than `threshold`, shape (n_rows,).

        The threshold is rounded to the nearest edge of a bin; NaN gives NaN.
        """
        if np.isnan(threshold):
            return np.full(len(self.pairs), np.nan)
        n = self._bins_below(threshold)
        return ratio(self.pairs[:, :n].sum(axis=1), self.pairs.sum(axis=1))

    def wrong_within(self, threshold: float) -> Array:
        """Return the share, among pairs closer than `threshold`, ranked wrongly, shape (n_rows,).

        The threshold is rounded to the nearest edge of a bin. A tie in the estimate is wrong.
        """
        n = self._bins_below(threshold)
        near = self.pairs[:, :n].sum(axis=1)
        return ratio(near - self.agree[:, :n].sum(axis=1), near)

    def _bins_below(self, threshold: float) -> int:
        return round(threshold / self.width)

    def _reaches(self, level: float) -> npt.NDArray[np.bool_]:
        # In counts, not shares: 4 of 5 pairs is 0.8 whatever the rounding.
        reached: npt.NDArray[np.bool_] = self.agree + TOLERANCE >= level * self.pairs
        return reached


def count_pairs(
    reference: npt.ArrayLike, estimate: npt.ArrayLike, *, width: float = BIN_WIDTH
) -> PairCounts:
    """Return the pairs and agreeing pairs of each trial in bins of reference difference.

    Parameters
    ----------
    reference, estimate : array, shape (n_trials, n_models) or (n_models,)
        Scores as fractions; NaN where unknown.
    width : float
        Width of a bin, a fraction.

    Raises
    ------
    ValueError
        If the shapes differ, or the width is not in (0, 1].
    """
    if not 0 < width <= 1:
        raise ValueError(f"width: {width} is not in (0, 1]; the default is {BIN_WIDTH}")
    s, e = map(np.atleast_2d, _both(reference, estimate))
    n_bins = int(bins_of(1.0, width)) + 1
    first, second = pair_indices(s.shape[1])
    pairs, agree = (np.zeros((len(s), n_bins), dtype=np.int64) for _ in range(2))
    for rows in _chunks(len(s), len(first)):
        verdict = verdicts(s[rows], e[rows])
        valid = verdict != Verdict.NO_PAIR
        difference = s[rows][:, first] - s[rows][:, second]
        cell = np.minimum(bins_of(np.where(valid, difference, 0), width), n_bins - 1)
        cell += np.arange(len(cell))[:, None] * n_bins
        shape, n_cells = (len(cell), n_bins), len(cell) * n_bins
        pairs[rows] = np.bincount(cell[valid], minlength=n_cells).reshape(shape)
        same = verdict == Verdict.SAME
        agree[rows] = np.bincount(cell[same], minlength=n_cells).reshape(shape)
    return PairCounts(pairs, agree, width)


def rank_correlations(reference: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[Array, Array]:
    """Return Kendall's tau-b and Spearman's rho of each trial, each of shape (n_trials,).

    NaN where all values of one side are tied, or fewer than two models are known. Both follow
    from the matrix of signs of differences: tau-b is the sum of products of signs over the square
    root of the product of the numbers of untied pairs (Kendall 1945), and a model's rank, less the
    mean rank, is half the sum of its row.
    """
    s, e = map(np.atleast_2d, _both(reference, estimate))
    known = ~np.isnan(s + e)
    tau, rho = np.full(len(s), np.nan), np.full(len(s), np.nan)
    for rows in _chunks(len(s), s.shape[1] ** 2):
        x, y = (_sign_matrix(v[rows], known[rows]) for v in (s, e))
        tau[rows] = _cosine(x.reshape(len(x), -1), y.reshape(len(y), -1))
        rho[rows] = _cosine(x.sum(axis=2), y.sum(axis=2))
    return tau, rho


def mean_absolute_error(reference: npt.ArrayLike, estimate: npt.ArrayLike) -> Array:
    """Return the mean of |estimate - reference| of each trial, shape (n_trials,).

    Models with a NaN are left out; NaN where none is left.
    """
    s, e = map(np.atleast_2d, _both(reference, estimate))
    error = np.abs(e - s)
    known = ~np.isnan(error)
    return ratio(np.where(known, error, 0).sum(axis=1), known.sum(axis=1))


def _both(reference: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[Array, Array]:
    s = np.asarray(reference, dtype=np.float64)
    e = np.asarray(estimate, dtype=np.float64)
    if s.shape != e.shape or s.ndim not in (1, 2):
        raise ValueError(
            f"reference and estimate: shapes {s.shape} and {e.shape}; "
            "give both as (n_trials, n_models) or (n_models,)"
        )
    return s, e


def _chunks(n_trials: int, cells: int) -> Iterator[slice]:
    """Yield slices of trials whose pairs fit into a bounded amount of memory."""
    step = max(1, _CHUNK // max(cells, 1))
    for start in range(0, n_trials, step):
        yield slice(start, start + step)


def _sign_matrix(values: Array, known: npt.NDArray[np.bool_]) -> Array:
    clean = np.where(known, values, np.nan)
    return signs(clean[:, :, None] - clean[:, None, :]).astype(np.float64)


def _cosine(x: Array, y: Array) -> Array:
    product = np.einsum("ij,ij->i", x, y)
    lengths = np.einsum("ij,ij->i", x, x) * np.einsum("ij,ij->i", y, y)
    return ratio(product, np.sqrt(lengths))


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> Array:
    """Return part / whole as fractions, NaN where the whole is 0."""
    whole = np.asarray(whole, dtype=np.float64)
    result: Array = np.full(whole.shape, np.nan)
    np.divide(np.asarray(part, dtype=np.float64), whole, out=result, where=whole > 0)
    return result
