"""Greedy choice of the items that say most about the full score; one order for all sizes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lm_microbench.predictive.curves import Array
from lm_microbench.predictive.sources import PRIOR_SCALE, SourceModel

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
    the squared covariance of its answer with the full score over its answer's variance, both given
    the items chosen before; the criterion is its weighted mean over abilities. A share of places
    (`random_share`), evenly spread, goes to items drawn at random from those left, each subtask in
    its share (`lottery`).

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
        _, variance, slope = model.curves.at(ability)
        self._root = np.sqrt(variance.T)  # (n_abilities, n_items), as all below
        self._slope = slope.T * (PRIOR_SCALE * model.spread)
        self._noise = variance.T * model.uniqueness
        self._loadings = np.ascontiguousarray(model.loadings.T)  # (rank, n_items)
        n, rank = model.loadings.shape
        self._factors = np.repeat(np.eye(rank + 1)[None], len(ability), axis=0)
        mean = np.column_stack([self._root @ model.loadings / n, self._slope.mean(axis=1)])
        self._variance = (
            self._root**2 * (model.loadings**2).sum(axis=1) + self._slope**2 + self._noise
        )
        self._with_score = self._covariance(mean) + self._noise / n
        prior = (mean**2).sum(axis=1) + self._noise.sum(axis=1) / n**2
        self._weight = weight / prior**POWER
        self._n_sources, self._due = model.n_sources, 0.0
        self._lottery = lottery(subtasks, rng)
        self._free = np.ones(n, dtype=bool)
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
        gain = self._weight @ (self._with_score**2 / self._variance)
        gain[~self._free] = -1.0
        return int(np.argmax(gain >= gain.max() * (1 - _TIE)))

    def _condition_on(self, item: int) -> None:
        """Take an item's answer as known, at every ability."""
        factor = np.column_stack(
            [self._root[:, item, None] * self._loadings[:, item], self._slope[:, item]]
        )
        known = np.einsum("gij,gj->gi", self._factors, factor)
        total = self._noise[:, item] + (factor * known).sum(axis=1)
        shared = self._covariance(known)
        self._with_score -= shared * (self._with_score[:, item] / total)[:, None]
        shared **= 2
        shared /= total[:, None]
        self._variance -= shared
        np.maximum(self._variance, 1e-9, out=self._variance)
        self._factors -= known[:, :, None] * known[:, None, :] / total[:, None, None]

    def _covariance(self, combination: Array) -> Array:
        """Return the covariance of every item with a combination of factors at each ability."""
        covariance = combination[:, :-1] @ self._loadings
        covariance *= self._root
        covariance += self._slope * combination[:, -1:]
        return np.asarray(covariance)
