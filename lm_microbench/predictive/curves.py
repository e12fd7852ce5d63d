"""Logistic curves of items on a known ability: penalised fit, values, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Array = npt.NDArray[np.float64]

INTERCEPT_SD = 1.5
"""Prior standard deviation of an item's intercept, in logits."""
LOWEST_PROBABILITY = 2e-3
"""No curve says more than this: an item that no source failed can still be failed."""
DISPERSION_MODELS, LOWEST_DISPERSION = 4, 0.01
"""The dispersion of all items counts as so many models for each; none is less than the latter."""

_N_STEPS = 25
_TOLERANCE = 1e-7
_BLOCK = 1024
_VARIANCES = ("var_intercept", "covariance", "var_slope")


class CurveValues(NamedTuple):
    """Values of item curves, each of shape (n_items, n_abilities).

    `probability` is the expected answer, `variance` that of an answer around it, `slope` the
    derivative of the curve.
    """

    probability: Array
    variance: Array
    slope: Array


@dataclass(frozen=True, eq=False)
class ItemCurves:
    """Logistic curve of every item: ``p_i(t) = expit(intercept_i + slope_i t)``.

    An answer has the variance ``dispersion_i p_i (1 - p_i)``: a score the dispersion 1, a
    confidence less (quasi-likelihood; Wedderburn, 1974).

    Parameters
    ----------
    intercept, slope : array, shape (n_items,)
    var_intercept, covariance, var_slope : array, shape (n_items,)
        Posterior variance of the intercept, of both, and of the slope.
    dispersion : array, shape (n_items,)
    """

    intercept: Array
    slope: Array
    var_intercept: Array
    covariance: Array
    var_slope: Array
    dispersion: Array

    def at(self, ability: Array) -> CurveValues:
        """Return the expected answer, its variance, and the derivative at each ability."""
        p, v = self._bernoulli(ability)
        return CurveValues(p, v * self.dispersion[:, None], v * self.slope[:, None])

    def error_variance(self, ability: Array) -> Array:
        """Return the variance of the fitted probability, shape (n_items, n_abilities).

        By the delta method: ``v^2 (var a + 2 t cov(a, b) + t^2 var b)``.
        """
        spread = (
            self.var_intercept[:, None]
            + 2 * ability * self.covariance[:, None]
            + ability**2 * self.var_slope[:, None]
        )
        return np.asarray(self._bernoulli(ability)[1] ** 2 * spread)

    def dispersed(self, answers: Array, ability: Array) -> ItemCurves:
        """Return the curves with the dispersion of these answers, (n_models, n_items).

        The mean squared standardised residual, shrunk towards the mean of all items as if it had
        been seen in `DISPERSION_MODELS` more models; parameters vary in proportion.
        """
        p, v = self._bernoulli(ability)
        squared = (answers - p.T) ** 2 / v.T
        count = (~np.isnan(squared)).sum(axis=0)
        total = np.nansum(squared, axis=0)
        overall = total.sum() / count.sum() if count.any() else 1.0
        found = (total + DISPERSION_MODELS * overall) / (count + DISPERSION_MODELS)
        found = np.clip(found, LOWEST_DISPERSION, 1.0)
        vary = {name: getattr(self, name) * found for name in _VARIANCES}
        return replace(self, dispersion=found, **vary)

    def _bernoulli(self, ability: Array) -> tuple[Array, Array]:
        """Return p and p (1 - p), each of shape (n_items, n_abilities)."""
        p = expit(self.intercept[:, None] + self.slope[:, None] * ability)
        np.clip(p, LOWEST_PROBABILITY, 1 - LOWEST_PROBABILITY, out=p)
        return p, p * (1 - p)

    def take(self, items: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> ItemCurves:
        """Return the curves of some items."""
        return ItemCurves(*(getattr(self, name)[items] for name in self.__dataclass_fields__))

    @classmethod
    def joined(cls, parts: list[ItemCurves]) -> ItemCurves:
        """Return the curves of all parts, one after another."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def fit_curves(
    scores: Array, ability: Array, slope_sd: float, slope_mean: float = 1.0
) -> ItemCurves:
    """Return the posterior modes of all items' curves, with their covariance (Laplace).

    Priors: intercept N(mean over items of the logit of the share right, `INTERCEPT_SD`^2); slope
    N(`slope_mean`, `slope_sd`^2). The dispersion is 1.

    Parameters
    ----------
    scores : array, shape (n_models, n_items)
        In [0, 1]; NaN where not answered.
    ability : array, shape (n_models,)
    slope_sd : float
    slope_mean : float
        How the mean answer moves with the ability: 1 for scores, whose logit the ability is.
    """
    known = ~np.isnan(scores)
    count, total = known.sum(axis=0), np.nansum(scores, axis=0)
    start = logit((total + 0.5) / (count + 1))
    centre = float(start.mean())
    parts = []
    for first in range(0, scores.shape[1], _BLOCK):
        block = slice(first, first + _BLOCK)
        here = known[:, block]
        answered = None if here.all() else here.astype(np.float64)
        right = np.nan_to_num(scores[:, block])
        prior = centre, slope_mean, slope_sd
        parts.append(_newton(right, answered, ability, start[block], prior))
    return ItemCurves.joined(parts)


def _newton(
    right: Array,
    answered: Array | None,
    ability: Array,
    start: Array,
    prior: tuple[float, float, float],
) -> ItemCurves:
    """Return the curves of a block of items; `answered` is None where all are answered."""
    centre, mean, sd = prior
    powers = np.stack([np.ones_like(ability), ability, ability**2])
    sufficient = powers[:2] @ right
    a, b = start.copy(), np.full_like(start, mean)
    for _ in range(_N_STEPS):
        p = expit(a + ability[:, None] * b)
        w = p * (1 - p)
        if answered is not None:
            p, w = p * answered, w * answered
        gradient = sufficient - powers[:2] @ p
        h_aa, h_ab, h_bb = powers @ w + np.array([INTERCEPT_SD**-2, 0, sd**-2])[:, None]
        g_a = gradient[0] - (a - centre) / INTERCEPT_SD**2
        g_b = gradient[1] - (b - mean) / sd**2
        determinant = h_aa * h_bb - h_ab**2
        step_a = np.clip((h_bb * g_a - h_ab * g_b) / determinant, -1, 1)
        step_b = np.clip((h_aa * g_b - h_ab * g_a) / determinant, -1, 1)
        a, b = a + step_a, b + step_b
        if max(np.abs(step_a).max(), np.abs(step_b).max()) < _TOLERANCE:
            break
    return ItemCurves(
        a, b, h_bb / determinant, -h_ab / determinant, h_aa / determinant, np.ones_like(a)
    )
