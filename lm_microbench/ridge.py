"""Ridge regression of full scores on answers, its penalty chosen by leaving one model out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)


def ridge(answers: Array, target: Array) -> tuple[Array, float]:
    """Return weights and intercept of the ridge regression of `target` on `answers`.

    The intercept is not penalised. The penalty is the one of `PENALTIES` with the least squared
    error on models left out, in closed form: residual over 1 - leverage.

    Parameters
    ----------
    answers : array, shape (n_models, n_items)
    target : array, shape (n_models,)

    Returns
    -------
    weights : array, shape (n_items,)
    intercept : float
    """
    centre, level = answers.mean(axis=0), float(target.mean())
    x, y = answers - centre, target - level
    values, vectors = np.linalg.eigh(x @ x.T)
    values, rotated = np.maximum(values, 0), vectors.T @ y
    errors = [_left_out(values, vectors, rotated, y, penalty) for penalty in PENALTIES]
    penalty = PENALTIES[int(np.argmin(errors))]
    weights = x.T @ (vectors @ (rotated / (values + penalty)))
    return weights, level - float(weights @ centre)


def _left_out(values: Array, vectors: Array, rotated: Array, y: Array, penalty: float) -> float:
    """Return the sum of squared errors on models left out."""
    kept = values / (values + penalty)
    leverage = vectors**2 @ kept + 1 / len(y)
    residual = y - vectors @ (kept * rotated)
    return float(((residual / np.maximum(1 - leverage, 1e-3)) ** 2).sum())
