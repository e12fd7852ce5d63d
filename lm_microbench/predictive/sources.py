"""What the source models say: their abilities, item curves, and correlated residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from lm_microbench.predictive.curves import Array, ItemCurves, fit_curves

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


@dataclass(frozen=True, eq=False)
class SourceModel:
    """The fitted model of all items (see the package).

    Parameters
    ----------
    curves : ItemCurves
    loadings : array, shape (n_items, rank)
    ability : array, shape (n_sources,)
        Logit of each source's score, less `centre`.
    centre : float
    spread : float
        Standard deviation of the abilities.
    """

    curves: ItemCurves
    loadings: Array
    ability: Array
    centre: float
    spread: float

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.loadings)

    @property
    def n_sources(self) -> int:
        """Number of source models."""
        return len(self.ability)

    @property
    def uniqueness(self) -> Array:
        """The part of each item's residual variance that no component shares, (n_items,)."""
        return np.asarray(1 - (self.loadings**2).sum(axis=1))

    @property
    def reach(self) -> float:
        """How far above the best source targets are expected, in logits."""
        return min(REACH * self.spread, REACH_LOGITS)

    @property
    def prior_scale(self) -> float:
        """Scale of the prior of a target's ability, wider with few sources."""
        return float(PRIOR_SCALE * self.spread * np.sqrt(1 + 20 / self.n_sources))


def fit_sources(scores: Array) -> SourceModel:
    """Return the model fitted to source answers, shape (n_sources, n_items), NaN: not answered."""
    level = logit(smoothed_scores(scores))
    centre = float(level.mean())
    ability = level - centre
    # Two models at 0.3 logits from the mean stand for what is known before any source is.
    spread = float(np.sqrt(((ability**2).sum() + 2 * 0.3**2) / (len(ability) + 1)))
    curves = fit_curves(scores, ability, SLOPE_SD / spread)
    return SourceModel(curves, residual_loadings(scores, curves, ability), ability, centre, spread)


def smoothed_scores(scores: Array) -> Array:
    """Return each model's mean over what it answered, with half an item right and half wrong."""
    n_answered = (~np.isnan(scores)).sum(axis=1)
    return np.asarray((np.nansum(scores, axis=1) + 0.5) / (n_answered + 1))


def residual_loadings(scores: Array, curves: ItemCurves, ability: Array) -> Array:
    """Return loadings of items on components of the residuals, shape (n_items, rank).

    With Z the Bernoulli-standardised residuals (n_sources x n_items), ``L L'`` is the leading part
    of ``share Z'Z / n_sources``, from the eigenvectors of the small matrix Z Z'. An item has at
    most 0.9 of its variance in common with others.
    """
    n = len(scores)
    p, v, _ = curves.at(ability)
    residual = np.nan_to_num((scores - p.T) / np.sqrt(v.T))
    residual /= np.maximum(np.sqrt((residual**2).mean(axis=0)), 1.0)
    share = RESIDUAL_SHARE * n / (n + RESIDUAL_SOURCES)
    _, vectors = np.linalg.eigh(residual @ residual.T)
    leading: npt.NDArray[np.float64] = vectors[:, ::-1][:, : min(RANK, n - 1)]
    loadings = np.sqrt(share / n) * (residual.T @ leading)
    common = (loadings**2).sum(axis=1)
    shrink = np.sqrt(np.minimum(1, 0.9 / np.maximum(common, 1e-9)))
    return np.asarray(loadings * shrink[:, None])
