"""The variational fit of a two-parameter logistic model to a matrix of answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lm_microbench.irt.abilities import Ability, inverse
from lm_microbench.irt.items import Array, ItemParameters

N_ITERATIONS = 30

_VARIANCE_FLOOR = 1e-4


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """A fitted model.

    Identified so: over the source models ability has mean 0 and second moment 1 in each dimension
    (the posterior's, so the spread of the means is below 1 where answers are few); dimensions are
    in falling order of their mean square discrimination; the mean discrimination of each is not
    negative.
    """

    items: ItemParameters
    ability: Ability


def fit(
    scores: npt.ArrayLike, dimensions: int = 1, *, n_iterations: int = N_ITERATIONS
) -> LogisticModel:
    """Return the two-parameter logistic model of a matrix of answers.

    Parameters
    ----------
    scores : array, shape (n_models, n_items)
        Fractions in [0, 1]; NaN where there is no answer. A model or an item without any answer
        gets the prior's mean; constant items and models are held finite by the priors.
    dimensions : int
        Number of dimensions of ability.
    n_iterations : int
        Rounds of updates; their number is fixed, so that no rounding error decides when to stop.

    Raises
    ------
    ValueError
        If there are fewer than two models or no items, or the number of dimensions is below 1.
    """
    answers = np.asarray(scores, dtype=np.float64)
    if answers.ndim != 2 or len(answers) < 2 or answers.shape[1] < 1:
        raise ValueError(f"scores: shape {answers.shape}; a fit needs 2 models and 1 item or more")
    if dimensions < 1:
        raise ValueError(f"dimensions: {dimensions}; give 1 or more")
    known = None if not np.isnan(answers).any() else ~np.isnan(answers)
    half = answers - 0.5 if known is None else np.where(known, answers - 0.5, 0.0)
    models, items = _start(answers, dimensions)
    for _ in range(n_iterations):
        weight = _curvature(models, items, known)
        items = _update_items(weight, half, models, items)
        models = _update_models(weight, half, items)
        models, items = _standardised(models, items)
    return _identified(models, items)


@dataclass(frozen=True, eq=False)
class _Models:
    """Gaussian factors of the abilities, and their second moments with a constant 1 appended."""

    mean: Array
    covariance: Array

    def extended(self) -> Array:
        return np.hstack([self.mean, np.ones((len(self.mean), 1))])

    def moments(self) -> Array:
        covariance = np.pad(self.covariance, ((0, 0), (0, 1), (0, 1)))
        return _second_moments(self.extended(), covariance)


@dataclass(frozen=True, eq=False)
class _Items:
    """Gaussian factors of (discrimination, -difficulty), and the prior they share."""

    mean: Array
    covariance: Array
    prior_mean: Array
    prior_variance: Array

    def moments(self) -> Array:
        return _second_moments(self.mean, self.covariance)


def _second_moments(mean: Array, covariance: Array) -> Array:
    """Return E[x x'] of each Gaussian, upper triangle, shape (n, p (p + 1) / 2)."""
    row, column = np.triu_indices(mean.shape[1])
    return np.asarray(mean[:, row] * mean[:, column] + covariance[:, row, column])


def _square(packed: Array, p: int) -> Array:
    """Return symmetric matrices from their upper triangles, shape (n, p, p)."""
    row, column = np.triu_indices(p)
    full = np.empty((len(packed), p, p))
    full[:, row, column] = packed
    full[:, column, row] = packed
    return full


def _start(answers: Array, dimensions: int) -> tuple[_Models, _Items]:
    """Return where the fit starts: smoothed logits, and the leading principal axes."""
    known = ~np.isnan(answers)
    rate = (np.where(known, answers, 0.0).sum(axis=0) + 1) / (known.sum(axis=0) + 2)
    residual = np.where(known, answers - rate, 0.0) / np.sqrt(rate * (1 - rate))
    n_models = len(answers)
    _, vectors = np.linalg.eigh(residual @ residual.T)
    axes = vectors[:, ::-1][:, :dimensions] * np.sqrt(n_models)
    axes = np.pad(axes, ((0, 0), (0, dimensions - axes.shape[1])))
    slopes = residual.T @ axes / n_models
    sign = np.where(slopes.sum(axis=0) < 0, -1.0, 1.0)
    mean = np.hstack([slopes * sign, np.log(rate / (1 - rate))[:, None]])
    p = dimensions + 1
    items = _Items(
        mean, np.zeros((len(mean), p, p)), mean.mean(axis=0), mean.var(axis=0) + 10 / n_models
    )
    return _Models(axes * sign, np.tile(0.1 * np.eye(dimensions), (n_models, 1, 1))), items


def _curvature(models: _Models, items: _Items, known: npt.NDArray[np.bool_] | None) -> Array:
    """Return the curvature of the bound, tanh(c / 2) / (2 c) at c^2 = E[z^2], each answer's."""
    row, column = np.triu_indices(items.mean.shape[1])
    twice = np.where(row == column, 1.0, 2.0)
    c = (models.moments() * twice) @ items.moments().T
    np.sqrt(np.maximum(c, 1e-12, out=c), out=c)
    weight = np.tanh(c / 2)
    weight /= c
    weight /= 2
    if known is not None:
        weight *= known
    return np.asarray(weight)


def _update_items(weight: Array, half: Array, models: _Models, items: _Items) -> _Items:
    p = items.mean.shape[1]
    precision = _square(weight.T @ models.moments(), p)
    precision[:, range(p), range(p)] += 1 / items.prior_variance
    linear = half.T @ models.extended() + items.prior_mean / items.prior_variance
    covariance = inverse(precision)
    mean = (covariance @ linear[:, :, None])[:, :, 0]
    centre = mean.mean(axis=0)
    spread = ((mean - centre) ** 2 + np.einsum("ipp->ip", covariance)).mean(axis=0)
    return _Items(mean, covariance, centre, spread + _VARIANCE_FLOOR)


def _update_models(weight: Array, half: Array, items: _Items) -> _Models:
    p = items.mean.shape[1]
    d = p - 1
    moments = _square(weight @ items.moments(), p)
    linear = half @ items.mean[:, :d] - moments[:, :d, d]
    covariance = inverse(moments[:, :d, :d] + np.eye(d))
    return _Models((covariance @ linear[:, :, None])[:, :, 0], covariance)


def _standardised(models: _Models, items: _Items) -> tuple[_Models, _Items]:
    """Return the same model with ability of mean 0 and second moment 1; speeds convergence."""
    shift = models.mean.mean(axis=0)
    square = (models.mean - shift) ** 2 + np.einsum("mdd->md", models.covariance)
    scale = np.sqrt(square.mean(axis=0))
    d = len(scale)
    change = np.eye(d + 1)
    change[range(d), range(d)] = scale
    change[d, :d] = shift
    variance = items.prior_variance * np.append(scale**2, 1.0)
    variance[d] += (shift**2 * items.prior_variance[:d]).sum()
    return (
        _Models((models.mean - shift) / scale, models.covariance / np.outer(scale, scale)),
        _Items(
            items.mean @ change.T,
            change @ items.covariance @ change.T,
            change @ items.prior_mean,
            variance,
        ),
    )


def _identified(models: _Models, items: _Items) -> LogisticModel:
    slopes = items.mean[:, :-1]
    order = np.argsort(-(slopes**2).mean(axis=0), kind="stable")
    sign = np.where(slopes.sum(axis=0) < 0, -1.0, 1.0)[order]
    covariance = models.covariance[:, order][:, :, order] * np.outer(sign, sign)
    return LogisticModel(
        ItemParameters(slopes[:, order] * sign, -items.mean[:, -1]),
        Ability(models.mean[:, order] * sign, covariance),
    )
