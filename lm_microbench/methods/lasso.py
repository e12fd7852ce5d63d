"""`lasso`: the items that enter the lasso path of the full score first."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from lm_microbench.clusters import fill
from lm_microbench.methods.base import Choice, Method, filled
from lm_microbench.methods.regression import regress
from lm_microbench.responses import ResponseMatrix

_STEPS = 4096  # scores are taken in steps of 1 / 4096


@dataclass(frozen=True)
class Lasso(Method):
    """Items in the order in which the path of least angle regression takes them up.

    The full score of the sources is regressed on their answers (Efron et al., "Least Angle
    Regression", Ann. Statist. 2004); the path is followed in its plain form, in which no item
    leaves again, so that smaller choices are part of larger ones. Weights are a ridge regression
    on the chosen items, which is less biased than the lasso's own. The path has at most as many
    steps as there are sources, less two; further items are drawn at random.
    """

    name: ClassVar[str] = "lasso"

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> Any:
        return least_angle_order(filled(source.scores))

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        return regress(source, fill(prepared[:size], size, source.n_items, rng))


def least_angle_order(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Return the items that enter the path of the mean score, in order, shape (n_entered,).

    Items that sources answered alike, or exactly contrariwise, are represented by the first.
    """
    whole = np.rint(scores * _STEPS)
    deviation = whole * len(whole) - whole.sum(axis=0)
    first = np.argmax(deviation != 0, axis=0)
    sign = np.sign(deviation[first, np.arange(deviation.shape[1])])
    _, distinct = np.unique(deviation * sign, axis=1, return_index=True)
    distinct = np.sort(distinct[sign[distinct] != 0])
    n_steps = min(len(distinct), len(scores) - 2)
    if n_steps < 1:
        return distinct[:1]
    x, target = scores[:, distinct], scores.mean(axis=1)
    with warnings.catch_warnings():
        # Items that add nothing to those taken up are dropped from the path, and said so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, active, _ = lars_path(
            x - x.mean(axis=0), target - target.mean(), method="lar", max_iter=n_steps
        )
    return np.asarray(distinct[list(dict.fromkeys(active))], dtype=np.intp)
