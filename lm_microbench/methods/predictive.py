"""`predictive`: items that say most about the full score, read by item response curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lm_microbench.estimators import PredictiveEstimator, mean_estimator
from lm_microbench.methods.base import Choice, Method
from lm_microbench.predictive import Fitted, fit
from lm_microbench.responses import ResponseMatrix


@dataclass(frozen=True)
class Predictive(Method):
    """Item curves on the full score with correlated residuals (see `lm_microbench.predictive`).

    Items are chosen for targets inside the range of the sources and above it. The choice of a
    smaller size is part of every larger one. The standard error is calibrated on sources that are
    left out. All items give the plain mean.
    """

    name: ClassVar[str] = "predictive"

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> Fitted:
        return fit(source.scores.astype(np.float64), source.subtasks, rng)

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        fitted: Fitted = prepared
        if size == source.n_items:
            strata = np.zeros(size, dtype=np.intp)
            return Choice(np.arange(size), mean_estimator(strata, [size], np.full(size, 1 / size)))
        found = fitted.calibrated(size)
        return Choice(found.chosen, PredictiveEstimator.of(found))
