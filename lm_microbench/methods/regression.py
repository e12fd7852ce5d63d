"""`regression`: a uniform sample, and ridge regression of the full score on its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lm_microbench.estimators import LinearEstimator, mean_estimator
from lm_microbench.methods.base import Choice, Method, filled
from lm_microbench.responses import ResponseMatrix
from lm_microbench.ridge import ridge


@dataclass(frozen=True)
class Regression(Method):
    """Items drawn uniformly; weights by ridge regression fitted on the sources (`ridge`)."""

    name: ClassVar[str] = "regression"

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        return regress(source, np.sort(rng.choice(source.n_items, size, replace=False)))


def regress(source: ResponseMatrix, chosen: npt.NDArray[np.intp]) -> Choice:
    """Return the chosen items with the ridge regression of the sources' full scores on them.

    A missing answer counts as its item's mean. All items give the plain mean.
    """
    size = len(chosen)
    if size == source.n_items:
        strata = np.zeros(size, dtype=np.intp)
        return Choice(chosen, mean_estimator(strata, [size], np.full(size, 1 / size)))
    scores = filled(source.scores)
    weights, intercept = ridge(scores[:, chosen], scores.mean(axis=1))
    return Choice(chosen, LinearEstimator.fitted(weights, intercept))
