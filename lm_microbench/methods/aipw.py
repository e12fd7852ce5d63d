"""`aipw`: a uniform sample, other answers predicted, and the prediction corrected by design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from lm_microbench.estimators import LinearEstimator, mean_estimator
from lm_microbench.methods.base import Choice, Method, filled
from lm_microbench.responses import ResponseMatrix

PENALTY = 0.1  # of the ridge regression, times the mean squared length of an item's deviations


@dataclass(frozen=True)
class Aipw(Method):
    """Augmented inverse-probability weighting (Robins, Rotnitzky & Zhao, JASA 1994).

    A target's answers are predicted, item by item, as the sources' mean plus a combination of the
    sources' deviations from it, fitted by ridge regression on the sampled items. The estimate is
    the mean prediction, plus the mean residual of the sample times 1 / (1 + n / (N - n)), for n
    sampled items of N. All of this is linear in the answers, so a run needs weights only.
    """

    name: ClassVar[str] = "aipw"

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        chosen = np.sort(rng.choice(source.n_items, size, replace=False))
        if size == source.n_items:
            strata = np.zeros(size, dtype=np.intp)
            return Choice(chosen, mean_estimator(strata, [size], np.full(size, 1 / size)))
        weights, intercept = aipw_weights(filled(source.scores), chosen)
        return Choice(chosen, LinearEstimator.fitted(weights, intercept))


def aipw_weights(
    scores: npt.NDArray[np.float64], chosen: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.float64], float]:
    """Return the weights of the sampled answers, shape (n_chosen,), and the intercept.

    With mu the items' means, F (N x n_sources) the deviations from them, S the sample and
    ``K = F_S' (F_S F_S' + penalty I)^-1``, the prediction is ``mu + F K (y_S - mu_S)``; the
    estimate is its mean, plus ``(N - n) / N`` times its mean residual in the sample.
    """
    mean = scores.mean(axis=0)
    deviation = (scores - mean).T
    sampled, n = deviation[chosen], len(chosen)
    penalty = PENALTY * (deviation**2).sum(axis=1).mean() + 1e-9
    left = 1 - n / len(mean)
    # Of an answer's residual: the mean prediction's part, less what the sample's residual loses.
    direction = deviation.mean(axis=0) - left * sampled.mean(axis=0)
    weights = np.linalg.solve(sampled @ sampled.T + penalty * np.eye(n), sampled @ direction)
    weights += left / n
    return weights, float(mean.mean() - weights @ mean[chosen])
