"""Logistic curves of items on a known ability: penalised fit, values, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Array = npt.NDArray[np.float64]

INTERCEPT_SD = 1.5
"""Prior standard deviation of an item's intercept, in logits."""
LOWEST_PROBABILITY = 2e-3
"""No curve says more than this: an item that no source failed can still be failed."""

_N_STEPS = 25
_TOLERANCE = 1e-7
_BLOCK = 1024


class CurveValues(NamedTuple):
    """Values of item curves, each of shape (n_items, n_abilities)."""

    probability: Array
    variance: Array
    slope: Array


@dataclass(frozen=True, eq=False)
class ItemCurves:
    """Logistic curve of every item: ``p_i(t) = expit(intercept_i + slope_i t)``.

    Parameters
    ----------
    intercept, slope : array, shape (n_items,)
    var_intercept, covariance, var_slope : array, shape (n_items,)
        Posterior variance of the intercept, of both, and of the slope.
    """

    intercept: Array
    slope: Array
    var_intercept: Array
    covariance: Array
    var_slope: Array

    def at(self, ability: Array) -> CurveValues:
        """Return probability, Bernoulli variance p (1 - p), and derivative at each ability."""
        p = expit(self.intercept[:, None] + self.slope[:, None] * ability)
        np.clip(p, LOWEST_PROBABILITY, 1 - LOWEST_PROBABILITY, out=p)
        v = p * (1 - p)
        return CurveValues(p, v, v * self.slope[:, None])

    def error_variance(self, ability: Array) -> Array:
        """Return the variance of the fitted probability, shape (n_items, n_abilities).

        By the delta method: ``v^2 (var a + 2 t cov(a, b) + t^2 var b)``.
        """
        spread = (
            self.var_intercept[:, None]
            + 2 * ability * self.covariance[:, None]
            + ability**2 * self.var_slope[:, None]
        )
        return np.asarray(self.at(ability).variance ** 2 * spread)

    def take(self, items: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> ItemCurves:
        """Return the curves of some items."""
        return ItemCurves(*(getattr(self, name)[items] for name in self.__dataclass_fields__))

    @classmethod
    def joined(cls, parts: list[ItemCurves]) -> ItemCurves:
        """Return the curves of all parts, one after another."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def fit_curves(scores: Array, ability: Array, slope_sd: float) -> ItemCurves:
    """Return the posterior modes of all items' curves, with their covariance (Laplace).

    Priors: intercept N(mean over items of the logit of the share right, `INTERCEPT_SD`^2); slope
    N(1, `slope_sd`^2), since on average an item moves as the full score does.

    Parameters
    ----------
    scores : array, shape (n_models, n_items)
        In [0, 1]; NaN where not answered.
    ability : array, shape (n_models,)
    slope_sd : float
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
        parts.append(_newton(right, answered, ability, start[block], centre, slope_sd))
    return ItemCurves.joined(parts)


def _newton(
    right: Array, answered: Array | None, ability: Array, start: Array, centre: float, sd: float
) -> ItemCurves:
    """Return the curves of a block of items; `answered` is None where all are answered."""
    powers = np.stack([np.ones_like(ability), ability, ability**2])
    sufficient = powers[:2] @ right
    a, b = start.copy(), np.ones_like(start)
    for _ in range(_N_STEPS):
        p = expit(a + ability[:, None] * b)
        w = p * (1 - p)
        if answered is not None:
            p, w = p * answered, w * answered
        gradient = sufficient - powers[:2] @ p
        h_aa, h_ab, h_bb = powers @ w + np.array([INTERCEPT_SD**-2, 0, sd**-2])[:, None]
        g_a = gradient[0] - (a - centre) / INTERCEPT_SD**2
        g_b = gradient[1] - (b - 1) / sd**2
        determinant = h_aa * h_bb - h_ab**2
        step_a = np.clip((h_bb * g_a - h_ab * g_b) / determinant, -1, 1)
        step_b = np.clip((h_aa * g_b - h_ab * g_a) / determinant, -1, 1)
        a, b = a + step_a, b + step_b
        if max(np.abs(step_a).max(), np.abs(step_b).max()) < _TOLERANCE:
            break
    return ItemCurves(a, b, h_bb / determinant, -h_ab / determinant, h_aa / determinant)
