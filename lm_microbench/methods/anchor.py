"""`anchor`: medoids of items that the sources answer alike (anchor points)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import kmedoids
import numpy as np
import numpy.typing as npt

from lm_microbench.clusters import fill
from lm_microbench.estimators import LinearEstimator
from lm_microbench.methods.base import Choice, EstimateFrom, Method, filled, reads
from lm_microbench.responses import ResponseMatrix

Positions = npt.NDArray[np.intp]
Correlations = npt.NDArray[np.float32]

_STEPS = 4096  # confidences are taken in steps of 1 / 4096
_BLOCK = 1024


@dataclass(frozen=True)
class Anchor(Method):
    """k-medoids on 1 - Pearson correlation between items; weights are the medoids' shares.

    An item belongs to the medoid that it correlates with best (Vivek et al., "Anchor Points", EACL
    2024, as used in arXiv 2510.08730); FasterPAM from a random start (Schubert & Rousseeuw, 2021).
    Correlations are those of confidences where they are known, else of scores.

    Differences: an item on which all sources agree correlates with nothing; it is no medoid as long
    as others are left, and belongs to all medoids alike. Medoids that are equally well correlated
    divide an item between them.

    Memory: one float32 matrix of items x items (0.6 GB for 12,032 items), which exists only while
    the method runs.

    Parameters
    ----------
    estimate : {"auto", "score", "confidence"}
        What of a target is weighted: its scores, or the probabilities that it puts on the right
        choices. `auto`, as the paper does: confidences where those of the sources are known.
    """

    name: ClassVar[str] = "anchor"
    estimate: EstimateFrom = "auto"

    def _prepare(
        self, source: ResponseMatrix, rng: np.random.Generator
    ) -> tuple[Positions, Correlations]:
        values = source.scores if source.confidence is None else source.confidence
        whole = as_integers(filled(values))
        varied = np.flatnonzero((whole != whole[0]).any(axis=0))
        distance = correlations(whole[:, varied])
        np.subtract(1, distance, out=distance)
        return varied, distance

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        varied, distance = prepared
        n_medoids = min(size, len(varied))
        medoids = _medoids(distance, n_medoids, rng)
        chosen = fill(varied[medoids], size, source.n_items, rng)
        weights = np.zeros(source.n_items)
        weights[varied] = _shares(distance, medoids)
        constant = np.setdiff1d(np.arange(source.n_items), varied)
        weights[np.intersect1d(constant, chosen)] = 1.0
        weights = weights[chosen] / weights.sum()
        kind = "confidence" if reads(self.estimate, source) == "confidence" else "linear"
        return Choice(chosen, LinearEstimator(kind=kind, weights=tuple(map(float, weights))))


def as_integers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return values as whole numbers: right and wrong as 1 and 0, others in steps of 1 / 4096.

    Sums of whole numbers are exact in any order, so that items alike to the sources are exactly
    alike here, on any machine.
    """
    steps = 1 if (values == np.rint(values)).all() else _STEPS
    return np.asarray(np.rint(values * steps))


def correlations(whole: npt.NDArray[np.float64]) -> Correlations:
    """Return the Pearson correlations between items, shape (n_items, n_items), made in blocks.

    Parameters
    ----------
    whole : array, shape (n_models, n_items)
        Whole numbers; no item may be constant.
    """
    n_models, n_items = whole.shape
    exact = n_models * whole.max(initial=0) ** 2 < 2**24
    factor = whole.astype(np.float32 if exact else np.float64)
    total = whole.sum(axis=0)
    scale = np.sqrt(n_models * (whole**2).sum(axis=0) - total**2)
    result = np.empty((n_items, n_items), dtype=np.float32)
    for start in range(0, n_items, _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = (factor[:, rows].T @ factor).astype(np.float64)
        block *= n_models
        block -= np.outer(total[rows], total)
        block /= np.outer(scale[rows], scale)
        result[rows] = block
    return result


def _medoids(distance: Correlations, n: int, rng: np.random.Generator) -> Positions:
    """Return positions of the medoids, ascending."""
    start = rng.choice(len(distance), n, replace=False)
    if n in (0, len(distance)):
        return np.sort(start)
    found = kmedoids.fasterpam(distance, start.astype(np.uint64), init="build", n_cpu=1)
    return np.sort(np.asarray(found.medoids, dtype=np.intp))


def _shares(distance: Correlations, medoids: Positions) -> npt.NDArray[np.float64]:
    """Return how many items belong to each medoid, 0 for all others, shape (n_items,)."""
    count = np.zeros(len(distance))
    if not len(medoids):
        return count
    to_medoids = distance[:, medoids]
    nearest = to_medoids == to_medoids.min(axis=1, keepdims=True)
    nearest[medoids] = np.eye(len(medoids), dtype=bool)
    count[medoids] = (nearest / nearest.sum(axis=1, keepdims=True)).sum(axis=0)
    return count
