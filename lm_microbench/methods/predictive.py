"""`predictive`: items that say most about the full score, read by item response curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lm_microbench.estimators import PredictiveEstimator, mean_estimator
from lm_microbench.methods.base import Choice, EstimateFrom, Method, reads
from lm_microbench.predictive import Fitted, fit
from lm_microbench.responses import ResponseMatrix


@dataclass(frozen=True)
class Predictive(Method):
    """Item curves on the full score with correlated residuals (see `lm_microbench.predictive`).

    Items are chosen for targets inside the range of the sources and above it. The choice of a
    smaller size is part of every larger one. The standard error is calibrated on sources that are
    left out. All items give the plain mean.

    Parameters
    ----------
    estimate : {"auto", "score", "confidence"}
        What of a target is read: its scores alone or, for `confidence`, also the probabilities
        that it puts on the right choices. `auto`: these too where those of the sources are known.
    """

    name: ClassVar[str] = "predictive"
    estimate: EstimateFrom = "auto"

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> Fitted:
        read = reads(self.estimate, source) == "confidence"
        confidences = source.confidence if read else None
        wide = None if confidences is None else confidences.astype(np.float64)
        return fit(source.scores.astype(np.float64), source.subtasks, rng, wide)

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        fitted: Fitted = prepared
        if size == source.n_items:
            strata = np.zeros(size, dtype=np.intp)
            return Choice(np.arange(size), mean_estimator(strata, [size], np.full(size, 1 / size)))
        found = fitted.calibrated(size)
        return Choice(found.chosen, PredictiveEstimator.of(found))
