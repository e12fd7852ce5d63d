"""Abilities of models, from their answers to items whose parameters are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lm_microbench.irt.items import Array, ItemParameters

_NEWTON_STEPS = 50
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Ability:
    """Abilities with their uncertainty.

    Parameters
    ----------
    mean : array, shape (n_models, n_dimensions)
    covariance : array, shape (n_models, n_dimensions, n_dimensions)
    """

    mean: Array
    covariance: Array

    def standard_error(self) -> Array:
        """Return the standard error of each ability, shape (n_models, n_dimensions)."""
        return np.asarray(np.sqrt(np.einsum("mdd->md", self.covariance)))


def ability(items: ItemParameters, scores: npt.ArrayLike) -> Ability:
    """Return the most probable ability of models from their answers to any set of items.

    The mode under the prior N(0, I), by damped Newton steps for all models at once; the covariance
    is the inverse of the curvature there (Laplace).

    Parameters
    ----------
    items : ItemParameters
        Of the answered items.
    scores : array, shape (n_models, n_items)
        NaN where there is no answer.
    """
    answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    known = ~np.isnan(answers)
    answers = np.where(known, answers, 0.0)
    theta = np.zeros((len(answers), items.n_dimensions))
    for _ in range(_NEWTON_STEPS):
        gradient, curvature = _slope(items, answers, known, theta)
        newton = np.asarray(np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0])
        theta, step = _damped(items, answers, known, theta, newton)
        if np.abs(step).max() < _TOLERANCE:
            break
    _, curvature = _slope(items, answers, known, theta)
    return Ability(theta, inverse(curvature))


def _damped(
    items: ItemParameters, answers: Array, known: Array, theta: Array, step: Array
) -> tuple[Array, Array]:
    """Return abilities after a step, and the step: halved until it makes no model less probable."""
    theta = theta.copy()
    value = _log_posterior(items, answers, known, theta)
    moved = np.zeros(len(theta), dtype=bool)
    for _ in range(_NEWTON_STEPS):
        trial = theta + step
        trial_value = _log_posterior(items, answers, known, trial)
        better = (trial_value >= value - _TOLERANCE * (1 + np.abs(value))) & ~moved
        theta[better] = trial[better]
        moved |= better
        if moved.all() or np.abs(step[~moved]).max() < _TOLERANCE:
            break
        step = np.where(moved[:, None], step, step / 2)
    return theta, step


def _log_posterior(items: ItemParameters, answers: Array, known: Array, theta: Array) -> Array:
    z = theta @ items.discrimination.T - items.difficulty
    terms = np.where(known, answers * z - np.logaddexp(0.0, z), 0.0)
    return np.asarray(terms.sum(axis=1) - 0.5 * (theta**2).sum(axis=1))


def _slope(
    items: ItemParameters, answers: Array, known: Array, theta: Array
) -> tuple[Array, Array]:
    """Return gradient and negative Hessian of the log posterior of each model."""
    a = items.discrimination
    p = items.probability(theta)
    gradient = np.where(known, answers - p, 0.0) @ a - theta
    weight = np.where(known, p * (1 - p), 0.0)
    return gradient, np.eye(a.shape[1]) + np.einsum("mi,id,ie->mde", weight, a, a, optimize=True)


def inverse(matrices: Array) -> Array:
    """Return the inverse of each matrix, shape (n, p, p)."""
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)
