"""`irt`: items that stand for groups of alike item parameters (tinyBenchmarks)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from lm_microbench import irt
from lm_microbench.clusters import Array, Labels, fill, kmeans, representatives, shares
from lm_microbench.estimators import (
    Estimator,
    GpIrtEstimator,
    LinearEstimator,
    PIrtEstimator,
    curve_of,
)
from lm_microbench.methods.base import Choice, Method
from lm_microbench.responses import ResponseMatrix

_DIGITS = 4


@dataclass(frozen=True)
class Irt(Method):
    """Cluster centres in the space of item parameters (Polo et al., tinyBenchmarks, ICML 2024).

    A two-parameter logistic model is fitted to the sources; k-means on (discrimination, difficulty)
    makes `size` clusters; the member nearest to each centre is chosen.

    Differences from the published code: the model is fitted as `lm_microbench.irt` says; the item
    that stands for a cluster is one of its members, so no item is chosen twice; where there are
    fewer distinct items than asked, the rest is drawn at random and shares its cluster's weight;
    p-IRT weighs answered and predicted items by their numbers.

    Parameters
    ----------
    estimate : "weighted", "p-irt" or "gp-irt"
        "weighted": each answer weighs its cluster's share. "p-irt": ability from the answers, then
        the predicted score of the items left. "gp-irt": both, mixed by their errors on the sources.
    dimensions : int
    """

    name: ClassVar[str] = "irt"
    estimate: Literal["weighted", "p-irt", "gp-irt"] = "weighted"
    dimensions: int = 10

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if self.dimensions < 1:
            raise ValueError(f"dimensions: {self.dimensions}; give 1 or more")

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> irt.ItemParameters:
        # n models lie in n - 1 dimensions; more would only be slower.
        dimensions = min(self.dimensions, source.n_models - 1)
        found = irt.fit(source.scores, dimensions).items
        # Coarser than rounding errors, so that items alike to the sources are exactly alike.
        return irt.ItemParameters(
            np.round(found.discrimination, _DIGITS) + 0.0, np.round(found.difficulty, _DIGITS) + 0.0
        )

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        items: irt.ItemParameters = prepared
        points = np.column_stack([items.discrimination, items.difficulty])
        labels, centres = kmeans(points, size, rng)
        chosen = fill(representatives(points, labels, centres), size, source.n_items, rng)
        weights = shares(labels, chosen)
        return Choice(chosen, self._estimator(items, source, chosen, weights, rng))

    def _estimator(
        self,
        items: irt.ItemParameters,
        source: ResponseMatrix,
        chosen: Labels,
        weights: Array,
        rng: np.random.Generator,
    ) -> Estimator:
        weighted = LinearEstimator(weights=tuple(map(float, weights)))
        if self.estimate == "weighted":
            return weighted
        rest = np.setdiff1d(np.arange(source.n_items), chosen)
        predicted = PIrtEstimator(
            n_items=source.n_items,
            discrimination=tuple(map(tuple, items.discrimination[chosen].tolist())),
            difficulty=tuple(items.difficulty[chosen].tolist()),
            rest=curve_of(items.take(rest), rng) if len(rest) else None,
        )
        if self.estimate == "p-irt":
            return predicted
        share = _share_of_weighted(weighted, predicted, source, chosen)
        return GpIrtEstimator(weighted=weighted, predicted=predicted, share=share)


def _share_of_weighted(
    weighted: LinearEstimator, predicted: PIrtEstimator, source: ResponseMatrix, chosen: Labels
) -> float:
    """Return the weight of the weighted estimate, b^2 / (b^2 + v).

    b^2 and v are the mean squared errors of p-IRT and of the weighted estimate on the sources. The
    published code takes both from models left out of a second fit, and v from the variance of
    answers.
    """
    answers, truth = source.scores[:, chosen], source.accuracy()
    errors = np.array([e.estimate(answers) - truth for e in (weighted, predicted)])
    known = ~np.isnan(errors).any(axis=0)
    v, b = (errors[:, known] ** 2).sum(axis=1).tolist()
    return b / (b + v) if b + v > 0 else 0.5
