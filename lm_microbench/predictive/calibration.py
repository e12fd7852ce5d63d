"""Errors made honest: sources are left out, and the model's errors on them are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, logit

from lm_microbench.predictive.choosing import Order
from lm_microbench.predictive.curves import Array
from lm_microbench.predictive.evidence import Ends, Evidence, Prediction
from lm_microbench.predictive.sources import (
    SourceModel,
    fit_sources,
    smoothed_scores,
)
from lm_microbench.predictive.sureness import sureness

N_FOLDS = 3
"""Folds of sources left out to see errors inside their range."""
BEST_SHARE = 0.25
"""Share of the sources, the best, left out to see errors above the range."""
MIN_SOURCES = 4
"""With fewer sources none is left out, and no confidences are read."""
LARGEST = 250
"""Larger sizes take the inflation of this one, to save time."""
SHIFT_MODELS = 10
"""The mean error above the range is shrunk as if so many models without error were added."""
PRIOR_INFLATION, PRIOR_MODELS = (1.0, 2.0), 4
"""Inflation before any source is left out, inside and above; it counts as so many models."""
TRUSTS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Weights of confidences that are tried."""
_FACTORS = np.geomspace(0.5, 8, 65)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Chosen items with their evidence, and how far its standard errors are inflated.

    Parameters
    ----------
    chosen : array of int, shape (n_chosen,)
        Ascending.
    evidence : Evidence
    inflation, difference_inflation : (float, float)
        Factors of the standard error of an estimate, and of the difference of two, inside and
        above the sources' range. The latter makes the stated probability of an order right.
    """

    chosen: npt.NDArray[np.intp]
    evidence: Evidence
    inflation: Ends
    difference_inflation: Ends


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Sources that were left out, the model of the others, and its order of items.

    Each has its own choice of items, so that the errors hold what choosing by few sources costs.

    Parameters
    ----------
    answers : array, shape (n_held_out, n_answers)
        Scores, followed by the confidences where these are read; a score that is not given is
        replaced by its expectation, and a confidence is then not known.
    truth : array, shape (n_held_out,)
        Full scores.
    above : bool
        Whether they are the best of all.
    """

    model: SourceModel
    order: Order
    answers: Array
    truth: Array
    above: bool

    def evidence(self, size: int) -> Evidence:
        """Return the evidence of the first `size` items of this model's order."""
        return Evidence.of(self.model, *self.order.first(size))

    def predict(self, evidence: Evidence) -> Prediction:
        """Return what the held-out models' answers to these items say."""
        return evidence.predict(self._answers_to(evidence))

    def sureness_error(self, evidence: Evidence) -> Array:
        """Return the error with which these items say how sure of itself each model is."""
        if self.model.items.confidence is None:
            return np.zeros(0)
        scores, confidences = np.hsplit(self._answers_to(evidence), 2)
        return sureness(scores, confidences, self.model.items.confidence.reference).error

    def _answers_to(self, evidence: Evidence) -> Array:
        chosen, _ = self.order.first(len(evidence.drawn))
        n_models, n_items = len(self.answers), self.model.n_items
        kinds = self.answers.reshape(n_models, -1, n_items)  # scores, and confidences
        return kinds[:, :, chosen].reshape(n_models, -1)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model of all sources and its order of items, and those with some left out."""

    model: SourceModel
    order: Order
    held_out: tuple[HeldOut, ...]

    def calibrated(self, size: int) -> Calibrated:
        """Return the choice of `size` items, with correction and inflation."""
        chosen, drawn = self.order.first(size)
        parts = [(held, held.evidence(min(size, LARGEST))) for held in self.held_out]
        error = _sureness_error(parts)
        parts = [(held, replace(e, items=e.items.unsure(error))) for held, e in parts]
        trust = _trust(parts) if self.model.items.confidence is not None else (1.0, 1.0)
        parts = [(held, replace(evidence, trust=trust)) for held, evidence in parts]
        share = _design_share(parts)
        parts = [(held, replace(evidence, design_share=share)) for held, evidence in parts]
        left = 1 - min(size, LARGEST) / self.model.n_items
        shift = _shift([(h.above, h.predict(e).score - h.truth) for h, e in parts], left)
        parts = [(held, replace(evidence, shift=shift)) for held, evidence in parts]
        found = [(held, held.predict(evidence)) for held, evidence in parts]
        whole = Evidence.of(self.model, chosen, drawn)
        return Calibrated(
            chosen,
            replace(
                whole,
                items=whole.items.unsure(error),
                design_share=share,
                shift=shift,
                trust=trust,
            ),
            _inflation([(held.above, _standardised(held, p)) for held, p in found]),
            _order_inflation(found),
        )


def fit(
    scores: Array,
    subtasks: Sequence[str],
    rng: np.random.Generator,
    confidences: Array | None = None,
) -> Fitted:
    """Return the model fitted to source answers.

    Parameters
    ----------
    scores : array, shape (n_sources, n_items)
        In [0, 1]; NaN where not answered. Models without any answer are left out.
    subtasks : sequence of str, length n_items
        The items chosen at random hold each subtask in its share.
    rng : numpy.random.Generator
        Draws the items that are chosen at random.
    confidences : array, shape (n_sources, n_items), optional
        Probabilities on the right choices, if those of targets will be read too; NaN: not known.
    """
    answered = (~np.isnan(scores)).any(axis=1)
    answered = answered if answered.sum() > 1 else np.ones_like(answered)
    scores = scores[answered]
    if confidences is not None:  # trusted only where sources can be left out
        confidences = confidences[answered] if len(scores) >= MIN_SOURCES else None
    _, numbers = np.unique(np.array(subtasks), return_inverse=True)
    model, seeds = fit_sources(scores, confidences), rng.integers(2**63, size=N_FOLDS + 2)
    held_out = tuple(
        _hold_out(scores, confidences, numbers, out, above, np.random.default_rng(seed))
        for (out, above), seed in zip(_held_out_sets(model.ability), seeds[1:], strict=False)
    )
    return Fitted(model, Order(model, numbers, np.random.default_rng(seeds[0])), held_out)


def _held_out_sets(ability: Array) -> Iterator[tuple[npt.NDArray[np.intp], bool]]:
    """Yield positions of sources to leave out, and whether they are the best of all."""
    n = len(ability)
    if n < MIN_SOURCES:
        return
    order = np.argsort(ability, kind="stable")
    for fold in range(N_FOLDS):
        yield order[fold::N_FOLDS], False
    yield order[-max(2, int(n * BEST_SHARE)) :], True


def _hold_out(
    scores: Array,
    confidences: Array | None,
    subtasks: npt.NDArray[np.intp],
    out: npt.NDArray[np.intp],
    above: bool,
    rng: np.random.Generator,
) -> HeldOut:
    others = None if confidences is None else np.delete(confidences, out, axis=0)
    model = fit_sources(np.delete(scores, out, axis=0), others)
    held, truth = scores[out], smoothed_scores(scores[out])
    expected = model.items.curves.at(logit(truth) - model.centre).probability.T
    answers = np.where(np.isnan(held), expected, held)
    if confidences is not None:
        answers = np.hstack([answers, confidences[out]])
    return HeldOut(model, Order(model, subtasks, rng), answers, truth, above)


def _sureness_error(parts: list[tuple[HeldOut, Evidence]]) -> float:
    """Return the error with which the chosen items say how sure of itself a model is."""
    errors = [held.sureness_error(evidence) for held, evidence in parts]
    return float(np.sqrt(np.mean(np.concatenate([np.zeros(1), *errors]) ** 2)))


def _trust(parts: list[tuple[HeldOut, Evidence]]) -> Ends:
    """Return how far confidences are trusted, inside and above.

    That with which the errors of those left out together vary least: the likelihood of normal
    errors around their mean, with a prior density of exp(trust).
    """
    ends = []
    for where in (False, True):
        sets = [(held, evidence) for held, evidence in parts if held.above is where]
        n_models = sum(len(held.truth) - 1 for held, _ in sets)
        squares = [sum(_spread(*part, trust) for part in sets) for trust in TRUSTS]
        log = np.array(TRUSTS) - n_models / 2 * np.log(np.maximum(squares, 1e-12))
        ends.append(TRUSTS[int(np.argmax(log))])
    return ends[0], ends[1]


def _spread(held: HeldOut, evidence: Evidence, trust: float) -> float:
    """Return the sum of squares of the errors around their mean, with this trust."""
    error = held.predict(replace(evidence, trust=(trust, trust))).score - held.truth
    return float(((error - error.mean()) ** 2).sum())


def _design_share(parts: list[tuple[HeldOut, Evidence]]) -> Ends:
    """Return the weight of the correction by design, inside and above.

    The model's mean squared error on the sources left out, over the sum of that and of the
    variance of the mean of the items drawn at random, 1 / 4 an item.
    """
    errors: dict[bool, list[Array]] = {False: [np.zeros(0)], True: [np.zeros(0)]}
    for held, evidence in parts:
        errors[held.above].append(held.predict(evidence).score - held.truth)
    n_drawn = int(parts[0][1].drawn.sum()) if parts else 0
    inside, above = (_share(np.concatenate(errors[where]), n_drawn) for where in (False, True))
    return inside, max(inside, above)


def _share(errors: Array, n_drawn: int) -> float:
    if not n_drawn or not len(errors):
        return 0.0
    by_model = float((errors**2).mean())
    return by_model / (by_model + 0.25 / n_drawn)


def _shift(errors: list[tuple[bool, Array]], left: float) -> Ends:
    """Return what is to be added inside and above: minus the mean error, shrunk towards 0."""
    e = np.concatenate([np.zeros(0), *(e for above, e in errors if above)])
    above = -e.sum() / (len(e) + SHIFT_MODELS) / left
    return 0.0, float(above)


def _standardised(held: HeldOut, found: Prediction) -> Array:
    """Return errors over standard errors."""
    error = np.sqrt(found.own_variance + found.shared_variance)
    return np.asarray((found.score - held.truth) / error)


def _signed_differences(held: HeldOut, found: Prediction) -> Array:
    """Return differences of two estimates over their errors, negative where the order is wrong."""
    first, second = np.triu_indices(len(held.truth), 1)
    true = np.sign(held.truth[first] - held.truth[second])
    error = np.sqrt(found.own_variance[first] + found.own_variance[second])
    z = true * (found.score[first] - found.score[second]) / error
    return np.asarray(z[true != 0])


def _order_inflation(found: list[tuple[HeldOut, Prediction]]) -> Ends:
    """Return factors of difference errors with which orders are as sure as they are right.

    The probit likelihood of the orders of the sources left out. The pairs of n models count as n
    observations; `PRIOR_INFLATION` has a log-normal prior. Never less above.
    """
    ends = []
    for where, prior in zip((False, True), PRIOR_INFLATION, strict=True):
        log = -(np.log(_FACTORS / prior) ** 2)
        for held, prediction in found:
            if held.above is where:
                z = _signed_differences(held, prediction)
                weight = 2 / max(len(held.truth) - 1, 1)
                log += weight * log_ndtr(z[:, None] / _FACTORS).sum(axis=0)
        ends.append(float(_FACTORS[np.argmax(log)]))
    return ends[0], max(ends)


def _inflation(standardised: list[tuple[bool, Array]]) -> Ends:
    """Return the root mean square of standardised errors, inside and above; never less above."""
    ends = []
    for where, prior in zip((False, True), PRIOR_INFLATION, strict=True):
        z = np.concatenate([np.zeros(0), *(z for above, z in standardised if above is where)])
        total = PRIOR_MODELS * prior**2 + (z**2).sum()
        ends.append(float(np.sqrt(total / (PRIOR_MODELS + len(z)))))
    return ends[0], max(ends)
