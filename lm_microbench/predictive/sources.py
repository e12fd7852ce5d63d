"""What the source models say: their abilities, and the items' curves and correlated residuals.

A source's score is known, so its ability is; curves and residuals follow item by item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from lm_microbench.predictive.answers import AnswerModel, ConfidenceModel, innovation
from lm_microbench.predictive.curves import Array, ItemCurves, fit_curves
from lm_microbench.predictive.sureness import fit_reference, levelled, sureness

RANK = 40
"""Most components of the residual correlation that are kept."""
SLOPE_SD = 0.3
"""Prior standard deviation of an item's slope, times the spread of the sources' abilities."""
RESIDUAL_SHARE, RESIDUAL_SOURCES = 0.5, 60
"""Share of the sample's residual correlation that is believed with many sources; half with 60."""
PRIOR_SCALE = 1.5
"""Scale of the prior of a target's ability, in standard deviations of the sources'."""
REACH, REACH_LOGITS = 2.0, 1.5
"""How far above the best source targets are expected: standard deviations, at most logits."""
MARGIN = 0.5
"""The grid of abilities goes on for so many logits above what is expected of targets."""
SURENESS_ITEMS = 1000
"""About so many items, or all, tell how sure of itself a source is."""
LARGEST_COUPLING = 0.95
"""A confidence always says a little that the score does not."""
_N_GRID = 31
# What is known before any source is, as if from two models at 0.3 logits from the mean.
_PRIOR_SQUARES, _PRIOR_MODELS = 2 * 0.3**2, 2


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
    def at(cls, items: AnswerModel, ability: Array) -> FullScore:
        """Return the mean of all items' scores at the given abilities."""
        p, v, slope = items.curves.at(ability)
        n = items.n_items
        loadings, noise = np.sqrt(v).T @ items.loadings / n, v.T @ items.uniqueness / n**2
        return cls(ability, p.mean(axis=0), slope.mean(axis=0), loadings, noise)


@dataclass(frozen=True, eq=False)
class SourceModel:
    """The fitted model of all items (see the package).

    Parameters
    ----------
    items : AnswerModel
        Of all items.
    ability : array, shape (n_sources,)
        Logit of each source's score, less `centre`.
    centre : float
    spread : float
        Standard deviation of the abilities.
    """

    items: AnswerModel
    ability: Array
    centre: float
    spread: float

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.items.n_items

    @property
    def n_sources(self) -> int:
        """Number of source models."""
        return len(self.ability)

    @property
    def reach(self) -> float:
        """How far above the best source targets are expected, in logits."""
        return min(REACH * self.spread, REACH_LOGITS)

    @property
    def prior_scale(self) -> float:
        """Scale of the prior of a target's ability, wider with few sources."""
        return float(PRIOR_SCALE * self.spread * np.sqrt(1 + 20 / self.n_sources))

    @property
    def full(self) -> FullScore:
        """The full score on a grid from below the weakest source to well above the best."""
        low = self.ability.min() - self.spread
        high = self.ability.max() + self.reach + 0.5 * self.spread + MARGIN
        return FullScore.at(self.items, np.linspace(low, high, _N_GRID))


def fit_sources(scores: Array, confidences: Array | None = None) -> SourceModel:
    """Return the model fitted to source answers.

    Parameters
    ----------
    scores : array, shape (n_sources, n_items)
        In [0, 1]; NaN where not answered.
    confidences : array, shape (n_sources, n_items), optional
        Probabilities on the right choices, if those of targets will be read too; NaN: not known.
    """
    level = logit(smoothed_scores(scores))
    centre = float(level.mean())
    ability = level - centre
    spread = float(
        np.sqrt(((ability**2).sum() + _PRIOR_SQUARES) / (len(ability) + _PRIOR_MODELS - 1))
    )
    curves = fit_curves(scores, ability, SLOPE_SD / spread)
    residual = _residuals(scores, curves, ability)
    if confidences is None:
        items = AnswerModel(curves, _loadings(residual, _components(residual)))
        return SourceModel(items, ability, centre, spread)
    # So many items, evenly taken, say all of how sure of itself a model is.
    some = slice(None, None, max(1, scores.shape[1] // SURENESS_ITEMS))
    reference = fit_reference(scores[:, some], confidences[:, some])
    how_sure = sureness(scores[:, some], confidences[:, some], reference)
    confidences = levelled(confidences, how_sure.mode)
    prior = SLOPE_SD / spread, _mean_slope(confidences, ability)
    found = fit_curves(confidences, ability, *prior).dispersed(confidences, ability)
    second = _residuals(confidences, found, ability)
    known = ~np.isnan(scores + confidences)
    together = (residual * second)[known].sum() / max(known.sum(), 1)
    coupling = float(np.clip(together, 0, LARGEST_COUPLING))
    second = np.where(known, innovation(second, residual, coupling), 0)
    components = _components(np.hstack([residual, second]))
    confidence = ConfidenceModel(found, _loadings(second, components), coupling, reference)
    items = AnswerModel(curves, _loadings(residual, components), confidence)
    return SourceModel(items, ability, centre, spread)


def smoothed_scores(scores: Array) -> Array:
    """Return each model's mean over what it answered, with half an item right and half wrong."""
    n_answered = (~np.isnan(scores)).sum(axis=1)
    return np.asarray((np.nansum(scores, axis=1) + 0.5) / (n_answered + 1))


def _mean_slope(confidences: Array, ability: Array) -> float:
    """Return how the logit of a model's mean confidence moves with its ability, shrunk to 1."""
    known = (~np.isnan(confidences)).any(axis=1)
    level = logit(smoothed_scores(confidences))
    t = known * (ability - known @ ability / max(known.sum(), 1))
    return float((t @ level + _PRIOR_SQUARES) / (t @ t + _PRIOR_SQUARES))


def _residuals(answers: Array, curves: ItemCurves, ability: Array) -> Array:
    """Return standardised residuals (n_sources, n_items); their mean square is at most 1."""
    p, v, _ = curves.at(ability)
    residual = np.nan_to_num((answers - p.T) / np.sqrt(v.T))
    residual /= np.maximum(np.sqrt((residual**2).mean(axis=0)), 1.0)
    return np.asarray(residual)


def _components(residual: Array) -> Array:
    """Return the sources' scores on the leading components of residuals, (n_sources, rank)."""
    _, vectors = np.linalg.eigh(residual @ residual.T)
    return np.asarray(vectors[:, ::-1][:, : min(RANK, len(residual) - 1)])


def _loadings(residual: Array, components: Array) -> Array:
    """Return loadings of items on components of the sources, shape (n_items, rank).

    With Z the residuals (n_sources x n_items) and their own components, ``L L'`` is the leading
    part of ``share Z'Z / n_sources``. An item shares at most 0.9 of its variance with others.
    """
    n = len(residual)
    share = RESIDUAL_SHARE * n / (n + RESIDUAL_SOURCES)
    loadings = np.sqrt(share / n) * (residual.T @ components)
    common = (loadings**2).sum(axis=1)
    shrink = np.sqrt(np.minimum(1, 0.9 / np.maximum(common, 1e-9)))
    return np.asarray(loadings * shrink[:, None])
