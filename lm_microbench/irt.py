"""Item response theory: two-parameter logistic models of any number of dimensions.

The probability that model m answers item i rightly is ``1 / (1 + exp(-(a_i . theta_m - b_i)))``:
`discrimination` a_i, `difficulty` b_i, `ability` theta_m (Reckase, Multidimensional Item Response
Theory, 2009, eq. 4.5; one dimension: Birnbaum's two-parameter logistic model).

Priors: theta ~ N(0, I); each dimension of a, and b, normal with a mean and a variance that are
learnt. Learning the variances by maximising the joint density does not work, for it has no maximum
(all a = 0 with variance 0 makes it infinite) and in ten dimensions its local ones overfit. The fit
is therefore variational expectation-maximisation: the logistic likelihood is bounded by a Gaussian
(Jaakkola & Jordan, Statistics and Computing 10, 2000; the same as Pólya-Gamma augmentation), which
makes every update one linear solve per item or per model, done for all of them at once. Means are
also the modes of the Gaussian factors. Dimensions that the answers do not need shrink to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

N_ITERATIONS = 30
GRID = np.linspace(-6.0, 6.0, 241)

_VARIANCE_FLOOR = 1e-4
_NEWTON_STEPS = 50
_TOLERANCE = 1e-10
_STEEPEST = 35.0  # exp(-35) is below the rounding error of 1


@dataclass(frozen=True, eq=False)
class ItemParameters:
    """What a two-parameter logistic model knows of a set of items.

    Parameters
    ----------
    discrimination : array, shape (n_items, n_dimensions)
    difficulty : array, shape (n_items,)
    """

    discrimination: Array
    difficulty: Array

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions of ability."""
        return int(self.discrimination.shape[1])

    def take(self, items: npt.NDArray[np.intp]) -> ItemParameters:
        """Return the parameters of some of the items, given by position."""
        return ItemParameters(self.discrimination[items], self.difficulty[items])

    def probability(self, ability: Array) -> Array:
        """Return the probability of a right answer, shape (n_models, n_items).

        Parameters
        ----------
        ability : array, shape (n_models, n_dimensions)
        """
        return logistic(ability @ self.discrimination.T - self.difficulty)

    def mean_curve(self, ability: Array, weights: Array | None = None) -> Array:
        """Return the mean probability over the items, shape (n_models,); equal weights if None."""
        n_items = len(self.difficulty)
        share = np.full(n_items, 1 / n_items) if weights is None else weights / weights.sum()
        return np.asarray(self.probability(ability) @ share)

    def tabulate(self, grid: Array = GRID) -> Array:
        """Return the mean item curve at the abilities of a grid, for one dimension.

        Linear interpolation between the default grid's points (0.05 apart) is wrong by less than
        0.0003 for items with a discrimination of 3.
        """
        if self.n_dimensions != 1:
            raise ValueError(f"tabulate: {self.n_dimensions} dimensions; a grid needs 1")
        return self.mean_curve(grid[:, None])


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


def logistic(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -_STEEPEST, _STEEPEST))))


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
    value = _log_posterior(items, answers, known, theta)
    for _ in range(_NEWTON_STEPS):
        gradient, curvature = _slope(items, answers, known, theta)
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        moved = np.zeros(len(theta), dtype=bool)
        for _ in range(_NEWTON_STEPS):
            trial = theta + step
            trial_value = _log_posterior(items, answers, known, trial)
            better = (trial_value >= value - _TOLERANCE * (1 + np.abs(value))) & ~moved
            theta[better], value[better] = trial[better], trial_value[better]
            moved |= better
            if moved.all() or np.abs(step[~moved]).max() < _TOLERANCE:
                break
            step = np.where(moved[:, None], step, step / 2)
        if np.abs(step).max() < _TOLERANCE:
            break
    _, curvature = _slope(items, answers, known, theta)
    return Ability(theta, _inverse(curvature))


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


def _inverse(matrices: Array) -> Array:
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)


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
    covariance = _inverse(precision)
    mean = (covariance @ linear[:, :, None])[:, :, 0]
    centre = mean.mean(axis=0)
    spread = ((mean - centre) ** 2 + np.einsum("ipp->ip", covariance)).mean(axis=0)
    return _Items(mean, covariance, centre, spread + _VARIANCE_FLOOR)


def _update_models(weight: Array, half: Array, items: _Items) -> _Models:
    p = items.mean.shape[1]
    d = p - 1
    moments = _square(weight @ items.moments(), p)
    linear = half @ items.mean[:, :d] - moments[:, :d, d]
    covariance = _inverse(moments[:, :d, :d] + np.eye(d))
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
