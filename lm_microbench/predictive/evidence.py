"""From answers to chosen items to the full score: all that a run needs, and the formulas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lm_microbench.predictive.answers import AnswerModel
from lm_microbench.predictive.curves import Array
from lm_microbench.predictive.sources import FullScore, SourceModel

PRIOR_DF = 4.0
"""Degrees of freedom of the Student t that is the prior of a target's ability."""
TIE_BREAK = 1e-5
"""Relative change of answers' weights by which items that sources answered alike differ."""
_N_FINE = 241
_GOLDEN = 0.6180339887

Ends = tuple[float, float]


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
    """Weights of answers (n_answers, n_abilities), constants and variances (n_abilities,)."""

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
    items : AnswerModel
        Of the chosen items.
    drawn : array of bool, shape (n_chosen,)
        Which items were drawn at random.
    prior_scale : float
    above : (float, float)
        Abilities between which what is inside the sources' range passes into what is above it.
    design_share : (float, float)
        Weight of the random items' correction, inside and above.
    shift : (float, float)
        What is added to the score of the items not answered, inside and above.
    trust : (float, float)
        Weight of what is made of scores and confidences against what is made of scores alone.
    """

    n_items: int
    full: FullScore
    items: AnswerModel
    drawn: npt.NDArray[np.bool_]
    prior_scale: float
    above: Ends
    design_share: Ends = (0.0, 0.0)
    shift: Ends = (0.0, 0.0)
    trust: Ends = (1.0, 1.0)

    @classmethod
    def of(
        cls, model: SourceModel, chosen: npt.NDArray[np.intp], drawn: npt.NDArray[np.bool_]
    ) -> Evidence:
        """Return the evidence of chosen items, not yet corrected by those drawn at random."""
        high = float(np.quantile(model.ability, 0.8)), float(model.ability.max() + 1e-6)
        items, scale = model.items.take(chosen), model.prior_scale
        return cls(model.n_items, model.full, items, drawn, scale, high)

    def predict(self, answers: Array) -> Prediction:
        """Return what each row of answers says; NaN where a model answered nothing.

        Scores of the chosen items, followed by their confidences where these are read. An item
        without a score is an item not chosen, one without a confidence is read by its score. Equal
        rows get equal predictions.
        """
        rows, back = np.unique(answers, axis=0, return_inverse=True)
        rows = self.items.levelled(rows)
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
        """What each item's answers add to the estimate of the average source, (n_chosen,)."""
        n_answers = len(self.items.all_loadings)
        weight = self._tables_of(np.ones(n_answers, dtype=bool)).weight
        each = np.array([np.interp(0.0, self.full.ability, row) for row in weight])
        return np.asarray(each.reshape(-1, len(self.drawn)).sum(axis=0))

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
        """Return the tables of the answers that are known.

        With S the known answers, the quasi-score is ``p_S' Sigma^-1 (y - p_S)`` and the linear
        prediction ``mean + cov(full, y) Sigma^-1 (y - p_S)``, where ``Sigma = D R_S D'`` with D
        from standard units to answers; R_S is inverted by Woodbury's identity.
        """
        full, load = self.full, self.items.all_loadings
        at = self.items.at(full.ability)
        covariance = load @ full.loadings.T
        covariance[: len(self.drawn)] += self.items.uniqueness[:, None] * at.root / self.n_items
        solved, likelihood = self._solved(known, at.sureness, covariance, at.signal)
        prior = (full.loadings**2).sum(axis=1) + full.noise
        of_answers = _variance(load, solved) + (at.sureness * solved).sum(axis=0) ** 2
        explained = 2 * (covariance * solved).sum(axis=0) - of_answers
        variance = np.maximum(prior - explained, 0)
        weight, likelihood = at.weights(solved), at.weights(likelihood)
        likelihood *= 1 + TIE_BREAK * ((np.arange(len(known))[:, None] + 1) * _GOLDEN % 1)
        curve = self._curve_variance(at.slope, weight, likelihood)
        answered = known[: len(self.drawn)]
        weight, variance = self._corrected(weight, variance, at.root, answered)
        return _Tables(
            likelihood[known],
            -(likelihood * at.mean).sum(axis=0),
            weight[known],
            full.score + self._shift(answered) - (weight * at.mean).sum(axis=0),
            variance,
            curve,
        )

    def _solved(self, known: npt.NDArray[np.bool_], sureness: Array, *sides: Array) -> list[Array]:
        """Return ``R_S^-1 x`` for x of shape (n_answers, n_abilities), 0 where not known.

        ``R = L L' + diag(u) + h h'`` with h the sureness, by the Sherman-Morrison formula. Where
        confidences are not trusted wholly, a mean of that and of what scores alone give.
        """
        load, is_score = self.items.all_loadings, np.arange(len(known)) < len(self.drawn)
        found = [_times_inverse(load, x, known) for x in sides]
        if self.items.confidence is not None:
            one = _times_inverse(load, sureness, known)
            whole = 1 + (sureness * one).sum(axis=0)
            found = [x - one * ((sureness * x).sum(axis=0) / whole) for x in found]
        if self.items.confidence is None or self.trust == (1.0, 1.0):
            return found
        alone = [_times_inverse(load, x, known & is_score) for x in sides]
        trust = self.between(self.full.ability, self.trust)
        return [trust * x + (1 - trust) * y for x, y in zip(found, alone, strict=True)]

    def _curve_variance(self, slope: Array, weight: Array, likelihood: Array) -> Array:
        """Return the variance of the full score from the errors of the chosen items' curves.

        An error of p_i moves the ability by ``likelihood_i / information`` and the prediction by
        ``weight_i``.
        """
        information = np.maximum((likelihood * slope).sum(axis=0), 0) + self.prior_scale**-2
        rise = self.full.slope - (weight * slope).sum(axis=0)
        moved = (rise * likelihood / information + weight) ** 2
        return np.asarray((moved * self.items.error_variance(self.full.ability)).sum(axis=0))

    def _shift(self, answered: npt.NDArray[np.bool_]) -> Array:
        """Return what is added to the prediction at each ability, for the items not answered."""
        left = 1 - answered.sum() / self.n_items
        return self.between(self.full.ability, self.shift) * float(left)

    def _corrected(
        self, weight: Array, variance: Array, root: Array, answered: npt.NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """Return weights and variance with the correction by the items drawn at random.

        Augmented inverse-probability weighting, shrunk: a share of their mean residual ``y - p``
        is added for the items that were not answered (Robins, Rotnitzky & Zhao, 1994).
        """
        drawn = np.flatnonzero(self.drawn & answered)
        if not len(drawn):
            return weight, variance
        left = 1 - answered.sum() / self.n_items
        share = self.between(self.full.ability, self.design_share)
        corrected = weight.copy()
        corrected[drawn] += share * left / len(drawn)
        by_design = (root[drawn] ** 2).mean(axis=0) * left / len(drawn)
        return corrected, variance * (1 - share) ** 2 + share**2 * by_design


def _times_inverse(loadings: Array, x: Array, known: npt.NDArray[np.bool_]) -> Array:
    """Return ``(L L' + diag(u))^-1 x`` of the known rows, others 0, by Woodbury's identity."""
    found, loadings, x = np.zeros_like(x), loadings[known], x[known]
    unique = 1 - (loadings**2).sum(axis=1, keepdims=True)
    scaled = loadings / unique
    small = np.eye(loadings.shape[1]) + loadings.T @ scaled
    found[known] = x / unique - scaled @ np.linalg.solve(small, scaled.T @ x)
    return found


def _variance(loadings: Array, weight: Array) -> Array:
    """Return ``w' (L L' + diag(u)) w`` for each column of weights, shape (n_abilities,)."""
    unique = 1 - (loadings**2).sum(axis=1, keepdims=True)
    return np.asarray(((loadings.T @ weight) ** 2).sum(axis=0) + (unique * weight**2).sum(axis=0))


def _interpolation(grid: Array, fine: Array) -> Array:
    """Return the matrix (n_grid, n_fine) that interpolates linearly from an even grid."""
    place = (fine - grid[0]) / (grid[1] - grid[0])
    left = np.minimum(place.astype(np.intp), len(grid) - 2)
    matrix, column = np.zeros((len(grid), len(fine))), np.arange(len(fine))
    matrix[left, column] = 1 - (place - left)
    matrix[left + 1, column] += place - left
    return matrix
