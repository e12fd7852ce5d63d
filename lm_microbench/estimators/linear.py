"""Linear estimators, and the standard errors of probability samples."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, field_validator

Array = npt.NDArray[np.float64]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class SampleDesign(BaseModel):
    """How a probability sample was drawn: uniformly without replacement within strata.

    Parameters
    ----------
    strata : tuple of int, length n_chosen
        The stratum of each chosen item, an index into `population`.
    population : tuple of int, length n_strata
        Number of items of each stratum in the full benchmark.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    strata: tuple[int, ...]
    population: tuple[int, ...]

    def standard_error(self, scores: npt.ArrayLike, weights: npt.ArrayLike) -> Array:
        """Return the design-based standard error of a weighted mean, shape (n_models,).

        A stratum with n_h >= 2 answers adds W_h^2 (1 - n_h / N_h) s_h^2 / n_h, where W_h is the sum
        of its weights (Cochran, Sampling Techniques, 3rd ed., eq. 5.13). Strata with one answer
        have no variance of their own: they are collapsed into one group, whose spread also holds
        the differences between them, which errs on the safe side. Where the sample misses whole
        strata, the drawn ones are a sample too: the variance between them is taken as if drawn
        with replacement, which errs on the safe side again.

        NaN where fewer than two answers are known.
        """
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        return np.array([self._one(row, np.asarray(weights, dtype=np.float64)) for row in answers])

    def _one(self, scores: Array, weights: Array) -> float:
        known = ~np.isnan(scores)
        if known.sum() < 2:
            return math.nan if known.sum() < sum(self.population) else 0.0
        y, strata = scores[known], np.asarray(self.strata)[known]
        w = weights[known] * (weights.sum() / weights[known].sum())
        population = np.asarray(self.population, dtype=np.float64)
        n = np.bincount(strata, minlength=len(population))
        if ((n == 0) & (population > 0)).any():
            return _ultimate_cluster(y, w, strata, len(population))
        total, mean = np.bincount(strata, w, len(population)), np.zeros(len(population))
        np.divide(np.bincount(strata, y, len(population)), n, out=mean, where=n > 0)
        squares = np.bincount(strata, (y - mean[strata]) ** 2, len(population))
        many, single = n >= 2, n == 1
        parts = np.zeros(len(population))
        parts[many] = squares[many] / (n[many] - 1) / n[many]
        if single.any():
            alone = y[single[strata]] if single.sum() >= 2 else y
            parts[single] = np.var(alone, ddof=1)
        unseen = 1 - n[n > 0] / population[n > 0]
        return float(np.sqrt((total[n > 0] ** 2 * unseen * parts[n > 0]).sum()))


class LinearEstimator(BaseModel):
    """`intercept + sum_i weight_i * score_i`: means, stratum weights, Horvitz-Thompson, regression.

    Missing answers (NaN) are left out and the other weights raised to the same total.

    Parameters
    ----------
    weights : tuple of float, length n_chosen
    intercept : float
    design : SampleDesign or None
        Known where the items are a probability sample; None: no design-based standard error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["linear"] = "linear"
    intercept: Finite = 0.0
    weights: tuple[Finite, ...]
    design: SampleDesign | None = None

    @field_validator("weights")
    @classmethod
    def _some(cls, weights: tuple[float, ...]) -> tuple[float, ...]:
        if not weights:
            raise ValueError("no weight is given")
        return weights

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return len(self.weights)

    @property
    def knows_its_error(self) -> bool:
        """Whether the standard error holds by design, without trust in a model."""
        return self.design is not None

    def item_weights(self) -> Array:
        """Return the weight of each chosen item, shape (n_chosen,)."""
        return np.asarray(self.weights, dtype=np.float64)

    def estimate(self, scores: npt.ArrayLike) -> Array:
        """Return the estimated full score of each model, shape (n_models,); not clipped.

        The sum is exact (`math.fsum`): two models whose weighted scores are equal get the same
        estimate whatever the order of the terms, so a tie is a tie.
        """
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        return np.array([self._one(row) for row in answers])

    def standard_error(self, scores: npt.ArrayLike) -> Array:
        """Return the design-based standard error of each estimate, shape (n_models,), or NaN."""
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        if self.design is None:
            return np.full(len(answers), np.nan)
        return self.design.standard_error(answers, self.item_weights())

    def _one(self, scores: Array) -> float:
        weights = self.item_weights()
        known = ~np.isnan(scores)
        if not known.any():
            return math.nan
        value = math.fsum(weights[known] * scores[known])
        if known.all():
            return self.intercept + value
        total = math.fsum(weights[known])
        return self.intercept + (value * math.fsum(weights) / total if total else math.nan)


def mean_estimator(
    strata: npt.ArrayLike, population: npt.ArrayLike, weights: npt.ArrayLike
) -> LinearEstimator:
    """Return the linear estimator of a probability sample with the given design and weights."""
    design = SampleDesign(
        strata=tuple(int(h) for h in np.asarray(strata)),
        population=tuple(int(n) for n in np.asarray(population)),
    )
    return LinearEstimator(weights=tuple(float(w) for w in np.asarray(weights)), design=design)


def _ultimate_cluster(y: Array, w: Array, strata: npt.NDArray[Any], n_strata: int) -> float:
    """Return the standard error of a ratio mean whose strata were drawn too.

    The drawn strata's weighted deviations from the mean are treated as drawn with replacement
    (Särndal, Swensson & Wretman, Model Assisted Survey Sampling, section 4.5).
    """
    deviation = w * (y - (w * y).sum() / w.sum())
    drawn = np.unique(strata)
    totals = np.bincount(strata, deviation, n_strata)[drawn]
    if len(drawn) < 2:
        return float(np.sqrt(len(y) / (len(y) - 1) * (deviation**2).sum()))
    return float(np.sqrt(len(drawn) / (len(drawn) - 1) * (totals**2).sum()))
