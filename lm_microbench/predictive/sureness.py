"""How sure of itself a model is, and its confidences as if it were as sure as others.

A temperature changes every confidence of a model and no answer, so confidences of two models are
not alike. What they mean is told by the model's own right and wrong answers: with x the logit of a
confidence above that of chance, a score is 1 with probability ``expit(a + b x exp(-s))``; a and b
are common to all models, the sureness s is a model's own (temperature scaling; Guo et al., 2017).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from lm_microbench.predictive.curves import Array

CHANCE = 0.25
"""Confidence of a model that is not sure at all, as of four choices."""
OTHERNESS = 0.15
"""Standard deviation of sureness that targets have beside that of the sources."""
_LEAST = 1e-6  # confidences are at least so far from 0 and 1
_STEEPEST = 30.0
_N_STEPS, _LONGEST_STEP, _TOLERANCE = 50, 0.5, 1e-7


class Reference(NamedTuple):
    """How models are sure of themselves.

    Parameters
    ----------
    intercept, slope : float
        The probability of a right answer by confidence is ``expit(intercept + slope x)``.
    spread : float
        Standard deviation of models' sureness.
    """

    intercept: float
    slope: float
    spread: float = OTHERNESS


class Sureness(NamedTuple):
    """Posterior mode of each model's sureness, and its standard error; each (n_models,)."""

    mode: Array
    error: Array


def above_chance(confidences: Array) -> Array:
    """Return the logit of confidences less that of chance."""
    return np.asarray(logit(np.clip(confidences, _LEAST, 1 - _LEAST)) - logit(CHANCE))


def fit_reference(scores: Array, confidences: Array) -> Reference:
    """Return the reference of models, by a logistic regression of scores on confidences.

    Targets are expected to spread as these models do, and a little more (`OTHERNESS`).

    Parameters
    ----------
    scores, confidences : array, shape (n_models, n_items)
        NaN where not known.
    """
    known = ~np.isnan(scores + confidences)
    y, x = scores[known], above_chance(confidences[known])
    design = np.stack([np.ones_like(x), x])
    found = np.array([0.0, 1.0])
    for _ in range(_N_STEPS):
        p = expit(found @ design)
        # With priors N(0, 1) and N(1, 1), which decide only where there is hardly an answer.
        gradient = design @ (y - p) - (found - [0, 1])
        step = np.linalg.solve((design * (p * (1 - p))) @ design.T + np.eye(2), gradient)
        found = found + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(step).max() < _TOLERANCE:
            break
    common = Reference(float(found[0]), float(np.clip(found[1], 0, _STEEPEST)))
    # Over all items the prior hardly matters.
    mode = sureness(scores, confidences, common._replace(spread=1.0)).mode
    return common._replace(spread=float(np.sqrt((mode**2).mean() + OTHERNESS**2)))


def sureness(scores: Array, confidences: Array, reference: Reference) -> Sureness:
    """Return how sure of itself each model is.

    0 is as sure as the models of the reference, and what is returned where nothing is known.

    Parameters
    ----------
    scores, confidences : array, shape (n_models, n_items)
        NaN where not known.
    reference : Reference
    """
    known = ~np.isnan(scores + confidences)
    y, x = np.where(known, scores, 0), np.where(known, above_chance(confidences), 0)
    found = np.zeros(len(scores))
    for _ in range(_N_STEPS):
        part = reference.slope * x * np.exp(-found)[:, None]
        p = expit(reference.intercept + part)
        gradient = -((y - p) * part).sum(axis=1) - found / reference.spread**2
        information = (p * (1 - p) * part**2).sum(axis=1) + reference.spread**-2
        step = np.clip(gradient / information, -_LONGEST_STEP, _LONGEST_STEP)
        found = found + step
        if np.abs(step).max(initial=0) < _TOLERANCE:
            break
    return Sureness(found, information**-0.5)


def levelled(confidences: Array, sureness: Array) -> Array:
    """Return the confidences of models as if all were as sure as the reference."""
    x = above_chance(confidences) * np.exp(-sureness)[:, None]
    return np.asarray(expit(x + logit(CHANCE)))
