"""Estimator of the method `predictive`: the model of the chosen items, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator
from scipy.special import ndtr

from lm_microbench.estimators.linear import Array, Finite, Reads
from lm_microbench.predictive import (
    AnswerModel,
    Calibrated,
    ConfidenceModel,
    Evidence,
    FullScore,
    ItemCurves,
)
from lm_microbench.predictive.evidence import Prediction
from lm_microbench.predictive.sources import LARGEST_COUPLING
from lm_microbench.predictive.sureness import Reference

Numbers = tuple[Finite, ...]
Ends = tuple[Finite, Finite]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_DIGITS = 7
_CURVES = ("intercept", "slope", "var_intercept", "covariance", "var_slope")


class ConfidenceNumbers(BaseModel):
    """What the confidences of the chosen items say (see `ConfidenceModel` and `ItemCurves`).

    Parameters
    ----------
    intercept, slope, var_intercept, covariance, var_slope, dispersion : tuple, length n_chosen
    loadings : tuple, shape (n_chosen, rank)
    coupling, sureness_error : float
    reference : (float, float, float)
        See `Reference`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    intercept: Numbers
    slope: Numbers
    var_intercept: Numbers
    covariance: Numbers
    var_slope: Numbers
    dispersion: tuple[Annotated[float, Field(gt=0, le=1)], ...]
    loadings: tuple[Numbers, ...]
    coupling: Finite = Field(ge=0, le=LARGEST_COUPLING)
    reference: tuple[Finite, Finite, Finite]
    sureness_error: Finite = Field(ge=0)

    @classmethod
    def of(cls, found: ConfidenceModel) -> ConfidenceNumbers:
        """Return the numbers of a model, rounded to seven digits."""
        numbers = {name: _rounded(getattr(found.curves, name)) for name in _CURVES}
        return cls(
            dispersion=_rounded(found.curves.dispersion),
            loadings=_rounded(found.loadings),
            coupling=_rounded(found.coupling),
            reference=_rounded(found.reference),
            sureness_error=_rounded(found.sureness_error),
            **numbers,
        )

    def model(self) -> ConfidenceModel:
        """Return the model that these are the numbers of."""
        curves = _curves(self, np.array(self.dispersion))
        return ConfidenceModel(
            curves,
            np.array(self.loadings),
            self.coupling,
            Reference(*self.reference),
            self.sureness_error,
        )


class PredictiveEstimator(BaseModel):
    """Full score from item response curves with correlated residuals (`lm_microbench.predictive`).

    A missing answer is as if the item had not been chosen; the estimate is NaN where all are
    missing. Estimates are rounded to 1e-10, so that rounding error decides no comparison.

    Parameters
    ----------
    n_items : int
        Number of items of the full benchmark.
    intercept, slope, var_intercept, covariance, var_slope : tuple of float, length n_chosen
        See `ItemCurves`.
    loadings : tuple, shape (n_chosen, rank)
    drawn : tuple of bool, length n_chosen
        Which items were drawn at random.
    ability, full_score, full_slope, full_noise : tuple of float, length n_abilities
    full_loadings : tuple, shape (n_abilities, rank)
        See `FullScore`.
    prior_scale, above, design_share, shift, trust
        See `Evidence`.
    inflation, difference_inflation : (float, float)
        See `Calibrated`.
    confidence : ConfidenceNumbers, optional
        Where confidences are read beside the scores.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["predictive"] = "predictive"
    n_items: int
    intercept: Numbers = Field(min_length=1)
    slope: Numbers
    var_intercept: Numbers
    covariance: Numbers
    var_slope: Numbers
    loadings: tuple[Numbers, ...]
    drawn: tuple[bool, ...]
    ability: Numbers = Field(min_length=2)
    full_score: Numbers
    full_slope: Numbers
    full_loadings: tuple[Numbers, ...]
    full_noise: Numbers
    prior_scale: Finite = Field(gt=0)
    above: Ends
    design_share: tuple[Share, Share]
    shift: Ends
    trust: tuple[Share, Share]
    inflation: tuple[Positive, Positive]
    difference_inflation: tuple[Positive, Positive]
    confidence: ConfidenceNumbers | None = None

    @classmethod
    def of(cls, found: Calibrated) -> PredictiveEstimator:
        """Return the estimator of a calibrated choice, rounded to seven digits."""
        e, full = found.evidence, found.evidence.full
        arrays = {name: getattr(e.items.curves, name) for name in _CURVES} | {
            "loadings": e.items.loadings,
            "ability": full.ability,
            "full_score": full.score,
            "full_slope": full.slope,
            "full_loadings": full.loadings,
            "full_noise": full.noise,
            "prior_scale": e.prior_scale,
            "above": e.above,
            "design_share": e.design_share,
            "shift": e.shift,
            "trust": e.trust,
            "inflation": found.inflation,
            "difference_inflation": found.difference_inflation,
        }
        numbers = {name: _rounded(value) for name, value in arrays.items()}
        two = e.items.confidence
        return cls(
            n_items=e.n_items,
            drawn=tuple(e.drawn.tolist()),
            confidence=None if two is None else ConfidenceNumbers.of(two),
            **numbers,
        )

    @property
    def reads(self) -> Reads:
        """The scores of the items, or both those and the confidences."""
        return "score" if self.confidence is None else "both"

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return len(self.intercept)

    @property
    def knows_its_error(self) -> bool:
        """True: its standard error was calibrated on sources left out."""
        return True

    def item_weights(self) -> Array:
        """Return what each answer adds to the estimate of an average source, (n_chosen,)."""
        return self._evidence.item_weights

    def estimate(self, scores: npt.ArrayLike) -> Array:
        """Return the estimated full score of each model, shape (n_models,)."""
        return np.asarray(np.round(self._predict(scores).score, 10))

    def standard_error(self, scores: npt.ArrayLike) -> Array:
        """Return the standard error of each estimate, shape (n_models,)."""
        found = self._predict(scores)
        factor = self._evidence.between(found.ability, self.inflation)
        return np.asarray(factor * np.sqrt(found.own_variance + found.shared_variance))

    def difference_error(self, scores: npt.ArrayLike) -> Array:
        """Return the standard error of the difference of every two estimates, (n_models, n_models).

        What errors of the items' curves do to all models alike is not in a difference.
        """
        return self._difference_error(self._predict(scores))

    def order_probability(self, scores: npt.ArrayLike) -> Array:
        """Return the probability that each model's full score is above each other's.

        Shape (n_models, n_models): ``Phi((e_i - e_j) / difference_error_ij)``; 0.5 on the diagonal.
        """
        found = self._predict(scores)
        difference = found.score[:, None] - found.score
        return np.asarray(ndtr(difference / self._difference_error(found)))

    def _difference_error(self, found: Prediction) -> Array:
        factor = self._evidence.between(found.ability, self.difference_inflation)
        variance = factor**2 * found.own_variance
        return np.asarray(np.sqrt(variance[:, None] + variance))

    def _predict(self, scores: npt.ArrayLike) -> Prediction:
        return self._evidence.predict(np.atleast_2d(np.asarray(scores, dtype=np.float64)))

    @cached_property
    def _evidence(self) -> Evidence:
        full = FullScore(
            np.array(self.ability),
            np.array(self.full_score),
            np.array(self.full_slope),
            np.array(self.full_loadings),
            np.array(self.full_noise),
        )
        return Evidence(
            self.n_items,
            full,
            AnswerModel(
                _curves(self, np.ones(self.size)),
                np.array(self.loadings),
                None if self.confidence is None else self.confidence.model(),
            ),
            np.array(self.drawn),
            self.prior_scale,
            self.above,
            self.design_share,
            self.shift,
            self.trust,
        )

    @model_validator(mode="after")
    def _consistent(self) -> PredictiveEstimator:
        for name in (*_CURVES, "loadings", "drawn"):
            _check_length(name, getattr(self, name), self.size, "items")
        for name in ("full_score", "full_slope", "full_loadings", "full_noise"):
            _check_length(name, getattr(self, name), len(self.ability), "abilities")
        rank = len(self.full_loadings[0])
        _check_loadings("loadings", self.loadings, rank)
        if self.confidence is not None:
            for name in (*_CURVES, "dispersion", "loadings"):
                found = getattr(self.confidence, name)
                _check_length(f"confidence.{name}", found, self.size, "items")
            _check_loadings("confidence.loadings", self.confidence.loadings, rank)
        steps = np.diff(self.ability)
        if steps.min() <= 0 or np.ptp(steps) > 1e-4 * steps.mean():
            raise ValueError("ability: not an even, ascending grid")
        if self.above[0] >= self.above[1]:
            raise ValueError(f"above: {self.above[0]} is not below {self.above[1]}")
        if self.size >= self.n_items:
            raise ValueError(f"n_items: {self.n_items} with {self.size} chosen")
        return self


def _check_length(name: str, values: Sequence[object], length: int, of: str) -> None:
    if len(values) != length:
        raise ValueError(f"{name}: {len(values)} for {length} {of}")


def _check_loadings(name: str, loadings: Sequence[Numbers], rank: int) -> None:
    """Refuse loadings that explain all of an item's variance, or more."""
    if any(len(row) != rank for row in loadings):
        raise ValueError(f"{name}: give every item {rank}, as `full_loadings` has")
    if max(sum(x * x for x in row) for row in loadings) >= 1:
        raise ValueError(f"{name}: the squares of an item's add up to 1 or more")


def _curves(numbers: BaseModel, dispersion: Array) -> ItemCurves:
    values = {name: np.array(getattr(numbers, name)) for name in _CURVES}
    return ItemCurves(**values, dispersion=dispersion)


def _rounded(value: npt.ArrayLike) -> float | tuple[object, ...]:
    """Return numbers as nested tuples, each rounded to seven significant digits."""
    array = np.asarray(value, dtype=np.float64)
    if not array.ndim:
        return float(f"{array:.{_DIGITS}g}")
    return tuple(_rounded(row) for row in array)
