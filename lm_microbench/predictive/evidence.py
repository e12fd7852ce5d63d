"""From answers to chosen items to the full score: all that a run needs, and the formulas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lm_microbench.predictive.curves import Array, ItemCurves
from lm_microbench.predictive.sources import SourceModel

PRIOR_DF = 4.0
"""Degrees of freedom of the Student t that is the prior of a target's ability."""
TIE_BREAK = 1e-5
"""Relative change of answers' weights by which items that sources answered alike differ."""
MARGIN = 0.5
"""The grid of abilities goes on for so many logits above what is expected of targets."""
_N_GRID, _N_FINE = 31, 241
_GOLDEN = 0.6180339887

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class FullScore:
    """What the full score is at each ability of an even grid.

    Parameters
    ----------
    ability, score, slope : array, shape (n_abilities,)
        Mean item curve and its derivative.
    loadings : array, shape (n_abilities, rank)
        Loadings of the full score on the residual components.
    noise : array, shape (n_abilities,)
        Variance of the full score from what no component shares.
    """

    ability: Array
    score: Array
    slope: Array
    loadings: Array
    noise: Array

    @classmethod
    def of(cls, model: SourceModel) -> FullScore:
        """Return the mean of all items of a model."""
        low = model.ability.min() - model.spread
        high = model.ability.max() + model.reach + 0.5 * model.spread + MARGIN
        ability = np.linspace(low, high, _N_GRID)
        p, v, slope = model.curves.at(ability)
        n = model.n_items
        return cls(
            ability,
            p.mean(axis=0),
            slope.mean(axis=0),
            np.sqrt(v).T @ model.loadings / n,
            v.T @ model.uniqueness / n**2,
        )


class Prediction(NamedTuple):
    """What answers say of models' full scores, each of shape (n_models,).

    `own_variance` is independent between two models; `shared_variance` comes from the errors of
    the items' curves, which do much the same to all models.
    """

    score: Array
    own_variance: Array
    shared_variance: Array
    ability: Array


class _Tables(NamedTuple):
    """Weights of answers (n_chosen, n_abilities), constants and variances (n_abilities,)."""

    likelihood_weight: Array
    likelihood_constant: Array
    weight: Array
    constant: Array
    variance: Array
    curve_variance: Array


@dataclass(frozen=True, eq=False)
class Evidence:
    """The chosen items, and how answers to them are read.

    Parameters
    ----------
    n_items : int
    full : FullScore
    curves : ItemCurves
        Of the chosen items.
    loadings : array, shape (n_chosen, rank)
    drawn : array of bool, shape (n_chosen,)
        Which items were drawn at random.
    prior_scale : float
    above : (float, float)
        Abilities between which what is inside the sources' range passes into what is above it.
    design_share : (float, float)
        Weight of the random items' correction, inside and above.
    shift : (float, float)
        What is added to the score of the items not answered, inside and above.
    """

    n_items: int
    full: FullScore
    curves: ItemCurves
    loadings: Array
    drawn: npt.NDArray[np.bool_]
    prior_scale: float
    above: Ends
    design_share: Ends = (0.0, 0.0)
    shift: Ends = (0.0, 0.0)

    @classmethod
    def of(
        cls, model: SourceModel, chosen: npt.NDArray[np.intp], drawn: npt.NDArray[np.bool_]
    ) -> Evidence:
        """Return the evidence of chosen items, not yet corrected by those drawn at random."""
        high = float(np.quantile(model.ability, 0.8)), float(model.ability.max() + 1e-6)
        full, scale = FullScore.of(model), model.prior_scale
        curves, loadings = model.curves.take(chosen), model.loadings[chosen]
        return cls(model.n_items, full, curves, loadings, drawn, scale, high)

    def predict(self, answers: Array) -> Prediction:
        """Return what each row of answers says; NaN where a model answered nothing.

        An item without an answer is an item not chosen. Equal rows get equal predictions.
        """
        rows, back = np.unique(answers, axis=0, return_inverse=True)
        found = np.full((4, len(rows)), np.nan)
        patterns, group = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
        for i, known in enumerate(patterns):
            here = group.ravel() == i
            if known.any():
                found[:, here] = self._posterior(rows[here][:, known], self._tables_of(known))
        return Prediction(*found[:, back.ravel()])

    def between(self, ability: Array, ends: Ends) -> Array:
        """Return a quantity that goes from `ends[0]` inside to `ends[1]` above the sources."""
        return np.asarray(np.interp(ability, self.above, ends))

    @cached_property
    def item_weights(self) -> Array:
        """What each answer adds to the estimate of the average source, shape (n_chosen,)."""
        weight = self._tables_of(np.ones(len(self.drawn), dtype=bool)).weight
        return np.array([np.interp(0.0, self.full.ability, row) for row in weight])

    def _posterior(self, answers: Array, tables: _Tables) -> Array:
        """Return the four parts of a prediction, shape (4, n_models).

        The log quasi-likelihood is the integral over ability of the quasi-score (trapezoids on a
        fine grid). Given the ability the full score has the linear prediction and its variance;
        the law of total variance adds the variance of the predictions.
        """
        grid = self.full.ability
        fine = np.linspace(grid[0], grid[-1], _N_FINE)
        onto = _interpolation(grid, fine)
        score = (answers @ tables.likelihood_weight + tables.likelihood_constant) @ onto
        area = (score[:, 1:] + score[:, :-1]) / 2 * (fine[1] - fine[0])
        log = np.column_stack([np.zeros(len(answers)), np.cumsum(area, axis=1)])
        log -= (PRIOR_DF + 1) / 2 * np.log1p((fine / self.prior_scale) ** 2 / PRIOR_DF)
        weight = np.exp(log - log.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        value = (answers @ tables.weight + tables.constant) @ onto
        mean = (weight * value).sum(axis=1)
        spread = tables.variance @ onto + (value - mean[:, None]) ** 2
        own = np.maximum((weight * spread).sum(axis=1), 1e-12)
        return np.stack([mean, own, weight @ (tables.curve_variance @ onto), weight @ fine])

    def _tables_of(self, known: npt.NDArray[np.bool_]) -> _Tables:
        """Return the tables of the items that were answered.

        With S the answered items, the quasi-score is ``p_S' Sigma^-1 (y - p_S)`` and the linear
        prediction ``mean + cov(full, y) Sigma^-1 (y - p_S)``, where ``Sigma = D R_S D`` with D the
        roots of the Bernoulli variances; R_S is inverted by Woodbury's identity.
        """
        curves, full = self.curves.take(known), self.full
        p, v, slope = curves.at(full.ability)
        root, load = np.sqrt(v), self.loadings[known]
        unique = 1 - (load**2).sum(axis=1)
        covariance = load @ full.loadings.T + unique[:, None] * root / self.n_items
        solved = _times_inverse(load, covariance)
        weight = solved / root
        prior = (full.loadings**2).sum(axis=1) + full.noise
        variance = np.maximum(prior - (covariance * solved).sum(axis=0), 0)
        likelihood = _times_inverse(load, slope / root) / root
        likelihood *= 1 + TIE_BREAK * ((np.flatnonzero(known)[:, None] + 1) * _GOLDEN % 1)
        curve = self._curve_variance(curves, slope, weight, likelihood)
        weight, variance = self._corrected(weight, variance, v, known)
        return _Tables(
            likelihood,
            -(likelihood * p).sum(axis=0),
            weight,
            full.score + self._shift(known) - (weight * p).sum(axis=0),
            variance,
            curve,
        )

    def _curve_variance(
        self, curves: ItemCurves, slope: Array, weight: Array, likelihood: Array
    ) -> Array:
        """Return the variance of the full score from the errors of the chosen items' curves.

        An error of p_i moves the ability by ``likelihood_i / information`` and the prediction by
        ``weight_i``.
        """
        information = np.maximum((likelihood * slope).sum(axis=0), 0) + self.prior_scale**-2
        rise = self.full.slope - (weight * slope).sum(axis=0)
        moved = (rise * likelihood / information + weight) ** 2
        return np.asarray((moved * curves.error_variance(self.full.ability)).sum(axis=0))

    def _shift(self, known: npt.NDArray[np.bool_]) -> Array:
        """Return what is added to the prediction at each ability, for the items not answered."""
        return self.between(self.full.ability, self.shift) * float(1 - known.sum() / self.n_items)

    def _corrected(
        self, weight: Array, variance: Array, v: Array, known: npt.NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """Return weights and variance with the correction by the items drawn at random.

        Augmented inverse-probability weighting, shrunk: a share of their mean residual ``y - p``
        is added for the items that were not answered (Robins, Rotnitzky & Zhao, 1994).
        """
        drawn = self.drawn[known]
        if not drawn.any():
            return weight, variance
        left = 1 - known.sum() / self.n_items
        share = self.between(self.full.ability, self.design_share)
        corrected = weight + np.where(drawn[:, None], share * left / drawn.sum(), 0)
        by_design = v[drawn].mean(axis=0) * left / drawn.sum()
        return corrected, variance * (1 - share) ** 2 + share**2 * by_design


def _times_inverse(loadings: Array, x: Array) -> Array:
    """Return ``(L L' + diag(u))^-1 x`` for x of shape (n_chosen, n), by Woodbury's identity."""
    unique = 1 - (loadings**2).sum(axis=1, keepdims=True)
    scaled = loadings / unique
    small = np.eye(loadings.shape[1]) + loadings.T @ scaled
    return np.asarray(x / unique - scaled @ np.linalg.solve(small, scaled.T @ x))


def _interpolation(grid: Array, fine: Array) -> Array:
    """Return the matrix (n_grid, n_fine) that interpolates linearly from an even grid."""
    place = (fine - grid[0]) / (grid[1] - grid[0])
    left = np.minimum(place.astype(np.intp), len(grid) - 2)
    matrix, column = np.zeros((len(grid), len(fine))), np.arange(len(fine))
    matrix[left, column] = 1 - (place - left)
    matrix[left + 1, column] += place - left
    return matrix
