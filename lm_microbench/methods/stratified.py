"""`stratified`: the same number of items from every subtask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from lm_microbench.estimators import mean_estimator
from lm_microbench.methods.base import Choice, Method
from lm_microbench.responses import ResponseMatrix

Counts = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Stratified(Method):
    """Items drawn equally per subtask, the remainder from subtasks drawn at random.

    Parameters
    ----------
    weights : "subtask" or "none"
        "subtask": weights restore each subtask's share of the full benchmark. "none": the plain
        mean, as in arXiv 2510.08730; it is biased where subtasks differ in size.
    """

    name: ClassVar[str] = "stratified"
    needs_responses: ClassVar[bool] = False
    weights: Literal["subtask", "none"] = "subtask"

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        _, strata = np.unique(np.array(source.subtasks), return_inverse=True)
        population = np.bincount(strata)
        counts = allocate_equally(population, size, rng)
        chosen = np.sort(
            np.concatenate(
                [
                    rng.choice(np.flatnonzero(strata == h), n, replace=False)
                    for h, n in enumerate(counts)
                ]
            )
        )
        drawn = strata[chosen]
        weights = population[drawn] / counts[drawn] if self.weights == "subtask" else np.ones(size)
        return Choice(chosen, mean_estimator(drawn, population, weights / weights.sum()))


def allocate_equally(population: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Return how many items each stratum gives, shape (n_strata,), in all `size`.

    Every stratum gives the same number as far as it has them; what cannot be shared equally goes
    to strata drawn at random, one item each.
    """
    counts = np.zeros_like(population)
    while (left := size - counts.sum()) > 0:
        open_ = np.flatnonzero(counts < population)
        if left >= len(open_):
            counts[open_] += np.minimum(left // len(open_), population[open_] - counts[open_])
        else:
            counts[rng.choice(open_, left, replace=False)] += 1
    return counts
