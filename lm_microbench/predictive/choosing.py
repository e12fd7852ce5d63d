"""Greedy choice of the items that say most about the full score; one order for all sizes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lm_microbench.predictive.curves import Array
from lm_microbench.predictive.sources import PRIOR_SCALE, FullScore, SourceModel

SHARE_ABOVE = 0.3
"""Weight of the abilities above the best source in the choice, for a logit of reach."""
POWER = 0.5
"""A lowered variance counts over this power of the prior variance: 0 absolute, 1 relative."""
CHANCE, CHANCE_PLACE, TRUST = 20, 0.5, 10
"""Odds of an item at random to one chosen: 20 and half of its place, to 10 and the sources."""
_N_INSIDE, _N_ABOVE = 6, 3
_TIE = 1e-8  # gains that differ by less, relatively, are equal: the lower index goes first


def random_share(n_sources: int, place: int) -> float:
    """Return the probability that an item is drawn at random, by its place in the order.

    Few sources can tell little, and all the less the more items are already chosen. With 300
    sources 0.06 at first, 0.18 at place 100; with 10 sources 0.5 and 0.78.
    """
    chance = CHANCE + CHANCE_PLACE * place
    return chance / (chance + TRUST + n_sources)


def target_population(model: SourceModel) -> tuple[Array, Array]:
    """Return abilities that items are chosen for, and their weights, both of shape (9,).

    Six quantiles of the sources' abilities, and three points above the best source. These weigh the
    more, the further they reach: near the best source, items that tell sources apart still serve.
    """
    inside = np.quantile(model.ability, (np.arange(_N_INSIDE) + 0.5) / _N_INSIDE)
    above = model.ability.max() + model.reach * (np.arange(_N_ABOVE) + 0.5) / _N_ABOVE
    share = SHARE_ABOVE * model.reach
    weight = np.repeat([(1 - share) / _N_INSIDE, share / _N_ABOVE], [_N_INSIDE, _N_ABOVE])
    return np.concatenate([inside, above]), weight


def lottery(subtasks: npt.NDArray[np.intp], rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return all items in a random order of which every beginning holds each subtask in its share.

    The r-th of the n items of a subtask, in random order, stands at (r + u) / n, with one uniform u
    in [0, 1) for each subtask: a systematic sample within subtasks.

    Parameters
    ----------
    subtasks : array of int, shape (n_items,)
    rng : numpy.random.Generator
    """
    shuffled = rng.permutation(len(subtasks))
    place = np.empty(len(subtasks))
    for number in np.unique(subtasks):
        items = shuffled[subtasks[shuffled] == number]
        place[items] = (np.arange(len(items)) + rng.random()) / len(items)
    return np.argsort(place, kind="stable")


class Order:
    """Items in the order in which they are chosen; it grows as more are asked for.

    At each ability of the target population answers are taken as Gaussian: factors (residual
    components and ability) with posterior covariance P, and independent noise. An item's gain is
    the variance of the full score that its answers explain, given those of the items chosen before;
    the criterion is its weighted mean over abilities. A share of places (`random_share`), evenly
    spread, goes to items drawn at random from those left, each subtask in its share (`lottery`).

    Parameters
    ----------
    model : SourceModel
    subtasks : array of int, shape (n_items,)
        Number of each item's subtask.
    rng : numpy.random.Generator
    """

    def __init__(
        self, model: SourceModel, subtasks: npt.NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        """Start with no item chosen."""
        ability, weight = target_population(model)
        items, full = model.items, FullScore.at(model.items, ability)
        scale, at = PRIOR_SCALE * model.spread, items.at(ability)
        mean = np.column_stack([full.loadings, full.slope * scale])
        parts = len(at.signal) // items.n_items
        self._answers = [
            _Answers(loadings.T, signal.T * scale, mean)
            for loadings, signal in zip(
                np.vsplit(items.all_loadings, parts), np.vsplit(at.signal, parts), strict=True
            )
        ]
        scores = self._answers[0]
        scores.with_full += at.root.T * scores.noise / items.n_items
        self._cross = _cross_covariance(*self._answers) if parts == 2 else None
        self._factors = np.repeat(np.eye(mean.shape[1])[None], len(ability), axis=0)
        self._weight = weight / ((mean**2).sum(axis=1) + full.noise) ** POWER
        self._n_sources, self._due = model.n_sources, 0.0
        self._lottery = lottery(subtasks, rng)
        self._free = np.ones(items.n_items, dtype=bool)
        self._chosen: list[int] = []
        self._drawn: list[bool] = []

    def first(self, size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return the first `size` items, ascending, and which of them were drawn at random."""
        while len(self._chosen) < size:
            self._choose_one()
        order = np.argsort(self._chosen[:size], kind="stable")
        return np.array(self._chosen, dtype=np.intp)[order], np.array(self._drawn)[order]

    def _choose_one(self) -> None:
        place = len(self._chosen)
        self._due += random_share(self._n_sources, place)
        at_random = self._due >= 0.5
        self._due -= at_random
        item = self._next_drawn() if at_random else self._best()
        self._chosen.append(item)
        self._drawn.append(bool(at_random))
        self._free[item] = False
        self._condition_on(item)

    def _next_drawn(self) -> int:
        self._lottery = self._lottery[self._free[self._lottery]]
        return int(self._lottery[0])

    def _best(self) -> int:
        gain = self._weight @ self._explained()
        gain[~self._free] = -1.0
        return int(np.argmax(gain >= gain.max() * (1 - _TIE)))

    def _explained(self) -> Array:
        """Return the variance of the full score that each item explains, (n_abilities, n_items)."""
        one = self._answers[0]
        if self._cross is None:
            return np.asarray(one.with_full**2 / one.variance)
        two = self._answers[1]
        crossed = two.with_full**2 * one.variance + one.with_full**2 * two.variance
        crossed -= 2 * one.with_full * two.with_full * self._cross
        return np.asarray(crossed / (one.variance * two.variance - self._cross**2))

    def _condition_on(self, item: int) -> None:
        """Take an item's answers as known, one after another, at every ability."""
        # Each answer, beyond those before it: a combination of factors of variance 1, and its
        # covariance with the full score.
        known, with_full = list[Array](), list[Array]()
        for answers in self._answers:
            factor = answers.factor(item)
            each = np.einsum("gij,gj->gi", self._factors, factor)
            spread = np.sqrt(answers.noise[item] + (factor * each).sum(axis=1, keepdims=True))
            left = answers.with_full[:, [item]]
            for before, explained in zip(known, with_full, strict=True):
                left = left - (factor * before).sum(axis=1, keepdims=True) * explained
            known.append(each / spread)
            with_full.append(left / spread)
            self._factors -= known[-1][:, :, None] * known[-1][:, None, :]
        shared = [answers.covariance(np.stack(known)) for answers in self._answers]
        if self._cross is not None:
            for one, two in zip(*shared, strict=True):
                self._cross -= one * two
        for answers, covariance in zip(self._answers, shared, strict=True):
            answers.condition(covariance, with_full)


class _Answers:
    """All items' scores, or confidences, given the items chosen before; in standard units.

    Parameters
    ----------
    loadings : array, shape (rank, n_items)
    signal : array, shape (n_abilities, n_items)
        Of a standard deviation of the ability.
    full : array, shape (n_abilities, rank + 1)
        What the full score is made of: components and ability.
    """

    def __init__(self, loadings: Array, signal: Array, full: Array) -> None:
        """Start with no item chosen."""
        self.loadings, self.signal = np.ascontiguousarray(loadings), signal
        common = (loadings**2).sum(axis=0)
        self.noise = 1 - common
        self.variance = common + signal**2 + self.noise
        self.with_full = self.covariance(full)

    def factor(self, item: int) -> Array:
        """Return what an item's answer is made of, shape (n_abilities, rank + 1)."""
        components = np.broadcast_to(self.loadings[:, item], (len(self.signal), len(self.loadings)))
        return np.column_stack([components, self.signal[:, item]])

    def covariance(self, combination: Array) -> Array:
        """Return the covariance of every answer with combinations of factors at each ability.

        Parameters
        ----------
        combination : array, shape (..., n_abilities, rank + 1)
        """
        components = combination[..., :-1].reshape(-1, len(self.loadings))
        covariance = (components @ self.loadings).reshape(*combination.shape[:-1], -1)
        covariance += self.signal * combination[..., -1:]
        return np.asarray(covariance)

    def condition(self, covariance: Array, with_full: list[Array]) -> None:
        """Take answers of variance 1 as known; their covariance with all answers is overwritten."""
        for shared, explained in zip(covariance, with_full, strict=True):
            self.with_full -= shared * explained
            shared **= 2
            self.variance -= shared
        np.maximum(self.variance, 1e-9, out=self.variance)


def _cross_covariance(one: _Answers, two: _Answers) -> Array:
    """Return the covariance of both answers to each item, shape (n_abilities, n_items)."""
    return np.asarray((one.loadings * two.loadings).sum(axis=0) + one.signal * two.signal)
