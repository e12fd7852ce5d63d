"""The model of items' answers: their curves on the ability, and what residuals have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lm_microbench.predictive.curves import Array, ItemCurves
from lm_microbench.predictive.sureness import Reference, above_chance, levelled, sureness

Items = npt.NDArray[np.intp] | npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ConfidenceModel:
    """What the confidences of items say beyond the scores.

    Parameters
    ----------
    curves : ItemCurves
        Of the confidences, those of all models levelled (see `sureness`).
    loadings : array, shape (n_items, rank)
    coupling : float
        Correlation of an item's confidence with its score, given the ability.
    reference : Reference
        By which confidences are levelled.
    sureness_error : float
        Standard error with which the chosen items say how sure of itself a model is.
    """

    curves: ItemCurves
    loadings: Array
    coupling: float
    reference: Reference
    sureness_error: float = 0.0


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """Curves and residual components of the answers to some items.

    Where confidences are read, an item has two answers: the scores of all items come first, then
    their confidences. Residuals are taken in standard units; that of a confidence is what its
    score's residual does not say, so that all are independent but for the components.

    Parameters
    ----------
    curves : ItemCurves
        Of the scores.
    loadings : array, shape (n_items, rank)
        Of the scores' residuals on the components.
    confidence : ConfidenceModel, optional
    """

    curves: ItemCurves
    loadings: Array
    confidence: ConfidenceModel | None = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.loadings)

    @property
    def uniqueness(self) -> Array:
        """The part of each score's residual variance that no component shares, (n_items,)."""
        return np.asarray(1 - (self.loadings**2).sum(axis=1))

    @property
    def all_loadings(self) -> Array:
        """Loadings of all answers, shape (n_answers, rank)."""
        if self.confidence is None:
            return self.loadings
        return np.vstack([self.loadings, self.confidence.loadings])

    def levelled(self, answers: Array) -> Array:
        """Return answers with the confidences as if all models were as sure of themselves.

        Scores come first, then confidences; one without its score is left out.
        """
        if self.confidence is None:
            return answers
        scores, confidences = np.hsplit(answers, 2)
        found = levelled(confidences, sureness(scores, confidences, self.confidence.reference).mode)
        return np.hstack([scores, np.where(np.isnan(scores), np.nan, found)])

    def unsure(self, error: float) -> AnswerModel:
        """Return the model where a target's sureness is known with this error."""
        if self.confidence is None:
            return self
        return replace(self, confidence=replace(self.confidence, sureness_error=error))

    def take(self, items: Items) -> AnswerModel:
        """Return the model of some items."""
        two = self.confidence
        if two is not None:
            two = replace(two, curves=two.curves.take(items), loadings=two.loadings[items])
        return AnswerModel(self.curves.take(items), self.loadings[items], two)

    def error_variance(self, ability: Array) -> Array:
        """Return the variance of the expected answers, shape (n_answers, n_abilities)."""
        score = self.curves.error_variance(ability)
        if self.confidence is None:
            return score
        return np.vstack([score, self.confidence.curves.error_variance(ability)])

    def at(self, ability: Array) -> AnswerValues:
        """Return the answers' values at each ability."""
        p, v, slope = self.curves.at(ability)
        root = np.sqrt(v)
        if self.confidence is None:
            return AnswerValues(p, slope, slope / root, root, np.zeros_like(p))
        g, w, rise = self.confidence.curves.at(ability)
        rho, spread = self.confidence.coupling, np.sqrt(w)
        signal = innovation(rise / spread, slope / root, rho)
        # The derivative of a levelled confidence to the sureness by which it was levelled.
        surer = innovation(g * (1 - g) * above_chance(g) / spread, 0, rho)
        return AnswerValues(
            np.vstack([p, g]),
            np.vstack([slope, rise]),
            np.vstack([slope / root, signal]),
            root,
            np.vstack([np.zeros_like(p), self.confidence.sureness_error * surer]),
            spread,
            rho,
        )


@dataclass(frozen=True, eq=False)
class AnswerValues:
    """Answers at some abilities.

    Parameters
    ----------
    mean, slope : array, shape (n_answers, n_abilities)
        Expected answer and its derivative.
    signal : array, shape (n_answers, n_abilities)
        Derivative of the expected residual in standard units.
    root : array, shape (n_items, n_abilities)
        Standard deviation of the scores.
    sureness : array, shape (n_answers, n_abilities)
        Loadings of residuals in standard units on the error of a model's sureness; 0 for scores.
    confidence_root : array, shape (n_items, n_abilities), optional
        Standard deviation of the confidences.
    coupling : float
    """

    mean: Array
    slope: Array
    signal: Array
    root: Array
    sureness: Array
    confidence_root: Array | None = None
    coupling: float = 0.0

    def weights(self, standard: Array) -> Array:
        """Return weights of answers that are these weights of residuals in standard units."""
        if self.confidence_root is None:
            return standard / self.root
        score, confidence = np.vsplit(standard, 2)
        confidence = confidence / np.sqrt(1 - self.coupling**2)
        score = (score - self.coupling * confidence) / self.root
        return np.vstack([score, confidence / self.confidence_root])


def innovation(confidence: Array, score: Array | float, coupling: float) -> Array:
    """Return what residuals of confidences say beyond those of scores, in standard units."""
    return np.asarray((confidence - coupling * score) / np.sqrt(1 - coupling**2))
