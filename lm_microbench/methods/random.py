"""`random`: a uniform sample, the baseline that every other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lm_microbench.estimators import mean_estimator
from lm_microbench.methods.base import Choice, Method
from lm_microbench.responses import ResponseMatrix


@dataclass(frozen=True)
class Random(Method):
    """Items drawn uniformly without replacement; the estimate is their mean."""

    name: ClassVar[str] = "random"
    needs_responses: ClassVar[bool] = False

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        chosen = np.sort(rng.choice(source.n_items, size, replace=False))
        return Choice(
            chosen,
            mean_estimator(np.zeros(size, int), [source.n_items], np.full(size, 1 / size)),
        )
