"""`confidence`: strata of items on which the sources are alike sure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lm_microbench.clusters import Labels, kmeans
from lm_microbench.estimators import mean_estimator
from lm_microbench.methods.base import Choice, Method, filled
from lm_microbench.responses import ResponseMatrix


@dataclass(frozen=True)
class Confidence(Method):
    """Strata by k-means on the mean confidence of the sources; Horvitz-Thompson estimate.

    Every item is drawn with the same probability, size / n_items, so the Horvitz-Thompson estimate
    is the plain mean (Fogliato et al., "A Framework for Efficient Model Evaluation through
    Stratification, Sampling, and Estimation", ECCV 2024, as used in arXiv 2510.08730). Scores are
    used where no confidences are known.

    Each stratum gives its proportional share, rounded down or up at random by systematic sampling
    over the strata in random order (Särndal, Swensson & Wretman, Model Assisted Survey Sampling,
    section 3.4). Rounding down and drawing the remainder from all items left, as the paper words
    it, would give items of small strata several times the weight of others.

    Parameters
    ----------
    n_strata : int
        Fewer are made where there are fewer distinct means.
    """

    name: ClassVar[str] = "confidence"
    n_strata: int = 10

    def __post_init__(self) -> None:
        """Check the option."""
        super().__post_init__()
        if self.n_strata < 1:
            raise ValueError(f"n_strata: {self.n_strata}; give 1 or more")

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> Labels:
        values = source.scores if source.confidence is None else source.confidence
        level = filled(values).mean(axis=0)
        labels, _ = kmeans(level[:, None], self.n_strata, rng)
        return labels

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        strata: Labels = prepared
        line = np.concatenate(
            [
                rng.permutation(np.flatnonzero(strata == h))
                for h in rng.permutation(strata.max() + 1)
            ]
        )
        # The j-th item covers [j, j + 1); whole-number steps keep the marks exact.
        marks = (np.arange(size) * source.n_items + rng.integers(source.n_items)) // size
        chosen = np.sort(line[marks])
        design = strata[chosen], np.bincount(strata)
        return Choice(chosen, mean_estimator(*design, np.full(size, 1 / size)))
