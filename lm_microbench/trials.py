"""One trial of a study: who is drawn, which items are seen, and what each method then says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from lm_microbench.matrix_file import FloatArray
from lm_microbench.methods import Method
from lm_microbench.names import unknown
from lm_microbench.responses import ResponseMatrix

Positions = npt.NDArray[np.intp]
Array = npt.NDArray[np.float64]
TargetMode = Literal["random", "top", "list"]
Split = Literal["half", "none"]

# Sets the methods' streams of random numbers apart from that of the draws.
_METHODS = 1


@dataclass(frozen=True)
class TrialDesign:
    """How every trial draws target models, source models and seen items.

    Parameters
    ----------
    n_sources : tuple of int
        Numbers of source models; within a trial, a smaller set is part of a larger one.
    n_targets : int
    target_mode : "random", "top" or "list"
        "random": targets are any models (arXiv 2510.08730). "top": the best models, with sources
        from strictly weaker ones only, as for a new checkpoint that is better than all known.
        "list": the named models.
    targets : tuple of str
        The named models, for "list".
    split : "half" or "none"
        "half": items are chosen from a half drawn within every subtask. "none": from all.
    seed : int
        A trial's draws follow from the seed and the trial's number, and from nothing else.
    """

    n_sources: tuple[int, ...]
    n_targets: int
    target_mode: TargetMode = "random"
    targets: tuple[str, ...] = ()
    split: Split = "half"
    seed: int = 0

    @property
    def references(self) -> tuple[str, ...]:
        """Which scores the estimates are held against."""
        return ("seen", "unseen") if self.split == "half" else ("full",)

    def n_seen(self, n_items: int) -> int:
        """Return the number of items that a method may choose from."""
        return (n_items + 1) // 2 if self.split == "half" else n_items

    def candidates(self, matrix: ResponseMatrix) -> tuple[Positions, Positions]:
        """Return the models that can be targets, and those that can be sources in any trial."""
        everyone = np.arange(matrix.n_models)
        if self.target_mode == "random":
            return everyone, everyone
        if self.target_mode == "list":
            index = {name: i for i, name in enumerate(matrix.models)}
            missing = next((name for name in self.targets if name not in index), None)
            if missing is not None:
                raise unknown("target model", missing, matrix.models)
            named = np.array(sorted({index[name] for name in self.targets}), dtype=np.intp)
            return named, np.setdiff1d(everyone, named)
        accuracy = matrix.accuracy()
        best = np.sort(np.argsort(-accuracy, kind="stable")[: self.n_targets])
        return best, np.flatnonzero(accuracy < accuracy[best].min())

    def check(self, matrix: ResponseMatrix) -> None:
        """Raise `ValueError` if the matrix cannot give these draws, or `KeyError` for a name."""
        for name, value, known in (
            ("target_mode", self.target_mode, get_args(TargetMode)),
            ("split", self.split, get_args(Split)),
        ):
            if value not in known:
                raise unknown(name, str(value), known)
        if self.target_mode == "list" and len(self.targets) < 2:
            raise ValueError(f"targets: {len(self.targets)} named; name at least 2 models")
        if self.n_targets < 2:
            raise ValueError(f"n_targets: {self.n_targets}; a pair needs at least 2")
        if not self.n_sources or min(self.n_sources) < 1:
            raise ValueError(f"n_sources: {list(self.n_sources)}; give one or more, each above 0")
        targets, sources = self.candidates(matrix)
        left = len(sources) - (self.n_targets if self.target_mode == "random" else 0)
        if len(targets) < self.n_targets or max(self.n_sources) > left:
            weaker = " that are weaker" if self.target_mode == "top" else ""
            raise ValueError(
                f"sources and targets: {max(self.n_sources)} sources and {self.n_targets} targets "
                f"of {matrix.n_models} models; {max(left, 0)} models{weaker} are left for sources, "
                "ask for fewer"
            )

    def draw(self, matrix: ResponseMatrix, trial: int) -> Draw:
        """Return the draws of one trial, as positions in a matrix sorted by name."""
        rng = np.random.default_rng([self.seed, trial])
        targets, sources = self.candidates(matrix)
        if self.target_mode == "random":
            order = rng.permutation(targets)
            targets, sources = np.sort(order[: self.n_targets]), order[self.n_targets :]
        else:
            sources = rng.permutation(sources)
        seen = np.ones(matrix.n_items, dtype=bool)
        if self.split == "half":
            seen = _half(matrix.subtasks, rng)
        return Draw(targets, sources[: max(self.n_sources)], seen)

    def method_rng(self, trial: int) -> np.random.Generator:
        """Return a fresh generator for one method in one trial, the same for every method.

        No method's numbers depend on which others run, and two that choose alike choose the same.
        """
        return np.random.default_rng([self.seed, trial, _METHODS])


@dataclass(frozen=True, eq=False)
class Draw:
    """Positions of target and source models (sources in drawn order), and a mask of seen items."""

    targets: Positions
    sources: Positions
    seen: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a trial found; all a study ever computes from.

    Parameters
    ----------
    trial : int
    targets : tuple of str, length n_targets
    scores : array, shape (n_references, n_targets)
        Accuracy of each target on the seen and the unseen items, or on all.
    estimates, standard_errors : array, shape (n_methods, n_source_counts, n_sizes, n_targets)
    """

    trial: int
    targets: tuple[str, ...]
    scores: Array
    estimates: Array
    standard_errors: Array


@dataclass(frozen=True, eq=False)
class SharedMatrix:
    """A response matrix as plain arrays, which joblib maps into every worker without a copy."""

    scores: FloatArray
    models: tuple[str, ...]
    items: tuple[str, ...]
    subtasks: tuple[str, ...]
    confidence: FloatArray | None

    @classmethod
    def of(cls, matrix: ResponseMatrix) -> SharedMatrix:
        """Return the arrays of a matrix."""
        return cls(matrix.scores, matrix.models, matrix.items, matrix.subtasks, matrix.confidence)

    def take(self, models: Positions, items: npt.NDArray[np.bool_]) -> ResponseMatrix:
        """Return the matrix of some models and items."""
        where = np.ix_(models, items)
        columns = np.flatnonzero(items)
        return ResponseMatrix(
            self.scores[where],
            tuple(self.models[i] for i in models),
            tuple(self.items[i] for i in columns),
            tuple(self.subtasks[i] for i in columns),
            None if self.confidence is None else self.confidence[where],
        )


def run_trial(
    matrix: SharedMatrix, draw: Draw, design: TrialDesign, methods: Sequence[Method],
    sizes: Sequence[int], trial: int,
) -> Outcome:  # fmt: skip
    """Return what every method says of the targets of one trial.

    Runs with one thread of linear algebra: trials run side by side.
    """
    with threadpool_limits(limits=1):
        targets = matrix.take(draw.targets, draw.seen)
        scores = [targets.accuracy()]
        if design.split == "half":
            scores.append(matrix.take(draw.targets, ~draw.seen).accuracy())
        shape = (len(methods), len(design.n_sources), len(sizes), len(draw.targets))
        estimates, errors = np.full(shape, np.nan), np.full(shape, np.nan)
        for j, n in enumerate(design.n_sources):
            source = matrix.take(draw.sources[:n], draw.seen).by_name()  # once for all methods
            for i, method in enumerate(methods):
                rng = design.method_rng(trial)
                for k, subset in enumerate(method.select_sizes(source, sizes, rng=rng)):
                    answers = subset.answers(targets)
                    estimates[i, j, k] = subset.estimate(answers)
                    errors[i, j, k] = subset.standard_error(answers)
        return Outcome(trial, targets.models, np.array(scores), estimates, errors)


def _half(subtasks: Sequence[str], rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return a mask of half the items of every subtask.

    The odd items of subtasks of odd size go to the seen and the unseen half in turns, so that the
    seen half always has half of all items, rounded up.
    """
    _, group = np.unique(np.array(subtasks), return_inverse=True)
    sizes = np.bincount(group)
    n_seen = sizes // 2
    odd = rng.permutation(np.flatnonzero(sizes % 2))
    n_seen[odd[::2]] += 1
    order = np.lexsort((rng.random(len(group)), group))
    rank = np.empty(len(group), dtype=np.intp)
    rank[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(rank < n_seen[group])
