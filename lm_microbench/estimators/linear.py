"""Linear estimators, and the standard errors of probability samples."""

from __future__ import annotations

import math
from collections import Counter
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

Array = npt.NDArray[np.float64]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Reads = Literal["score", "confidence", "both"]
"""What of a model an estimator reads; both: the scores of its items, then their confidences."""

_DECIMALS = 12


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

    @model_validator(mode="after")
    def _possible(self) -> SampleDesign:
        chosen = Counter(self.strata)
        wrong = next((h for h in chosen if not 0 <= h < len(self.population)), None)
        if wrong is not None:
            raise ValueError(f"stratum {wrong} of {len(self.population)}")
        for h, n_items in enumerate(self.population):
            if chosen[h] > n_items or n_items < 0:
                raise ValueError(f"{chosen[h]} items of stratum {h}, which has {n_items}")
        return self

    def standard_error(self, scores: npt.ArrayLike, weights: npt.ArrayLike) -> Array:
        """Return the design-based standard error of a weighted mean, shape (n_models,).

        With answers from every stratum: the root of sum_h W_h^2 (1 - n_h / N_h) s_h^2 / n_h, where
        W_h is the sum of the stratum's weights (Cochran, Sampling Techniques, 3rd ed., eq. 5.13).
        A stratum with one answer of more items has no variance of its own and adds W_h^2 s^2, with
        the variance of all answers, which also holds the differences between strata. (s^2 is that
        of single draws, so no correction for the finite stratum is due.)

        Where whole strata have no answer no such estimate exists. Strata are then taken as
        exchangeable: the variance s^2 of an answer splits in some way into that within strata and
        that of their means, the second counts with the square of W_h less the stratum's share S_h
        of the benchmark, and the least favourable split of each stratum gives
        s^2 sum_h max(W_h^2 (N_h - n_h) / (N_h - 1) / n_h, (W_h - S_h)^2), with S_h^2 for one
        without answers. Where strata are of one size this errs on the safe side, by up to a fifth.

        NaN where fewer than two answers are known.
        """
        y = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        w = np.asarray(weights, dtype=np.float64)
        known = ~np.isnan(y)
        n_known = known.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(self._variance(np.where(known, y, 0.0), known, w))
        error[n_known < 2] = math.nan
        error[(n_known < 2) & (n_known == sum(self.population))] = 0.0
        return error

    def _variance(self, y: Array, known: npt.NDArray[np.bool_], w: Array) -> Array:
        """Return the variance of the weighted mean of each row of `y`, 0 where not `known`."""
        population = np.asarray(self.population, dtype=np.float64)
        groups = np.asarray(self.strata)[:, None] == np.arange(len(population))
        n = (known @ groups.astype(np.float64)).astype(np.float64)
        total = (known * w) @ groups * (w.sum() / (known @ w))[:, None]
        unseen = (population - n) / np.maximum(population - 1, 1)
        sampling = np.where(n > 0, total**2 * unseen / n, 0.0)
        spread = _sample_variance(y.sum(axis=1), (y**2).sum(axis=1), known.sum(axis=1))
        within = _sample_variance(y @ groups, y**2 @ groups, n)
        own = total**2 * (1 - n / population) / n * within
        stratified = np.where(n > 1, own, sampling * spread[:, None]).sum(axis=1)
        share = population / population.sum() * w.sum()
        safe = spread * np.maximum(sampling, (total - share) ** 2).sum(axis=1)
        missed = ((n == 0) & (population > 0)).any(axis=1)
        variance: Array = np.where(missed, safe, stratified)
        return variance


def _sample_variance(total: Array, squares: Array, n: Array) -> Array:
    """Return the unbiased variance of n values with the given sum and sum of squares."""
    return np.maximum(squares - total**2 / n, 0.0) / (n - 1)


class LinearEstimator(BaseModel):
    """`intercept + sum_i weight_i * score_i`: means, stratum weights, Horvitz-Thompson, regression.

    Missing answers (NaN) are left out and the other weights raised to the same total.

    Parameters
    ----------
    kind : {"linear", "confidence"}
        What the answers are: scores, or confidences, the probabilities put on the right choices.
    weights : tuple of float, length n_chosen
    intercept : float
    design : SampleDesign or None
        Known where the items are a probability sample; None: no design-based standard error.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["linear", "confidence"] = "linear"
    intercept: Finite = 0.0
    weights: tuple[Finite, ...]
    design: SampleDesign | None = None

    @model_validator(mode="after")
    def _consistent(self) -> LinearEstimator:
        if not self.weights:
            raise ValueError("no weight is given")
        if self.design is None:
            return self
        if len(self.design.strata) != len(self.weights):
            raise ValueError(f"{len(self.design.strata)} strata for {len(self.weights)} weights")
        if min(self.weights) <= 0:
            raise ValueError(f"weight {min(self.weights)}: those of a sample are positive")
        return self

    @classmethod
    def fitted(cls, weights: Array, intercept: float) -> LinearEstimator:
        """Return the estimator of a regression, its numbers rounded to 1e-12.

        So that the last bits of a machine's linear algebra do not make another manifest.
        """
        rounded = np.round(weights, _DECIMALS).tolist()
        return cls(weights=tuple(rounded), intercept=round(intercept, _DECIMALS))

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return len(self.weights)

    @property
    def reads(self) -> Reads:
        """What the answers are."""
        return "confidence" if self.kind == "confidence" else "score"

    @property
    def knows_its_error(self) -> bool:
        """Whether the standard error holds by design, without trust in a model."""
        return self.design is not None

    def item_weights(self) -> Array:
        """Return the weight of each chosen item, shape (n_chosen,)."""
        return np.asarray(self.weights, dtype=np.float64)

    def estimate(self, scores: npt.ArrayLike) -> Array:
        """Return the estimated full score of each model, shape (n_models,); not clipped.

        A row's sum does not depend on the other rows; sums that are equal on paper may differ by
        rounding, which `pairs.TOLERANCE` takes for the tie that it is.
        """
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        weights = self.item_weights()
        known = ~np.isnan(answers)
        value = np.einsum("ij,j->i", np.where(known, answers, 0.0), weights)
        part = np.einsum("ij,j->i", known.astype(np.float64), weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(known.all(axis=1), value, value * (weights.sum() / part))
        return np.where(np.isfinite(value), self.intercept + value, np.nan)

    def standard_error(self, scores: npt.ArrayLike) -> Array:
        """Return the design-based standard error of each estimate, shape (n_models,), or NaN."""
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        if self.design is None:
            return np.full(len(answers), np.nan)
        return self.design.standard_error(answers, self.item_weights())


def mean_estimator(
    strata: npt.ArrayLike, population: npt.ArrayLike, weights: npt.ArrayLike
) -> LinearEstimator:
    """Return the linear estimator of a probability sample with the given design and weights."""
    design = SampleDesign(
        strata=tuple(int(h) for h in np.asarray(strata)),
        population=tuple(int(n) for n in np.asarray(population)),
    )
    return LinearEstimator(weights=tuple(float(w) for w in np.asarray(weights)), design=design)
