"""ResponseMatrix: what every model answered to every item."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from lm_microbench import matrix_file
from lm_microbench.matrix_file import CONFIDENCE, ITEM, SUBTASK, FloatArray
from lm_microbench.names import unknown

Selector = Sequence[str] | npt.NDArray[Any] | Sequence[int]


@dataclass(frozen=True, eq=False)
class ResponseMatrix:
    """Scores of models on items; immutable.

    Parameters
    ----------
    scores : array, shape (n_models, n_items)
        Score of each model on each item, a fraction in [0, 1]; NaN where the model did not answer.
    models : sequence of str, length n_models
    items : sequence of str, length n_items
    subtasks : sequence of str, length n_items
        The subtask of each item.
    confidence : array, shape (n_models, n_items), optional
        Probability that the model gave to the right choice; NaN where it is not known.
    metadata : mapping of str to JSON values, optional
        Where the answers come from; kept in the file.

    Raises
    ------
    ValueError
        If shapes disagree, a name occurs twice or is empty, or a value lies outside [0, 1].
    """

    scores: FloatArray
    models: tuple[str, ...]
    items: tuple[str, ...]
    subtasks: tuple[str, ...]
    confidence: FloatArray | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every field and freeze the arrays."""
        set_ = object.__setattr__
        for name in ("models", "items", "subtasks"):
            set_(self, name, tuple(map(str, getattr(self, name))))
        shape = (len(self.models), len(self.items))
        set_(self, "scores", _fractions("scores", self.scores, shape))
        if self.confidence is not None:
            set_(self, "confidence", _fractions("confidence", self.confidence, shape))
        if len(self.subtasks) != shape[1]:
            raise ValueError(
                f"subtasks: {len(self.subtasks)} for {shape[1]} items; give one an item"
            )
        _check_names("models", self.models)
        _check_names("items", self.items)
        set_(self, "metadata", MappingProxyType(dict(self.metadata)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copying to worker processes (a mapping proxy alone cannot be sent)."""
        return type(self), (
            *(getattr(self, name) for name in ("scores", "models", "items", "subtasks")),
            self.confidence,
            dict(self.metadata),
        )

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @cached_property
    def _item_index(self) -> dict[str, int]:
        # Kept: a study asks for the items of many subsets of one matrix.
        return _index(self.items)

    def take(
        self, *, models: Selector | None = None, items: Selector | None = None
    ) -> ResponseMatrix:
        """Return the matrix of the given models and items, in the given order.

        Parameters
        ----------
        models, items : names, positions or a boolean mask, optional
            All of them where None.

        Raises
        ------
        KeyError
            For a name that the matrix does not hold.
        ValueError
            For a mask of another length, a position outside, or a name given twice.
        """
        rows = _positions("model", models, self.models, lambda: _index(self.models))
        columns = _positions("item", items, self.items, lambda: self._item_index)
        where = np.ix_(rows, columns)
        return ResponseMatrix(
            scores=self.scores[where],
            models=tuple(self.models[i] for i in rows),
            items=tuple(self.items[i] for i in columns),
            subtasks=tuple(self.subtasks[i] for i in columns),
            confidence=None if self.confidence is None else self.confidence[where],
            metadata=self.metadata,
        )

    def join(self, other: ResponseMatrix) -> ResponseMatrix:
        """Return this matrix with the models of `other` added; the items are joined by name.

        Items that only one of the two knows are kept, unanswered (NaN) by the other's models.

        Raises
        ------
        ValueError
            If a model is in both, no item is in both, or an item has two different subtasks.
        """
        both = set(self.models) & set(other.models)
        if both:
            raise ValueError(f"join: model {min(both)!r} is in both matrices; rename or drop one")
        subtasks = dict(zip(self.items, self.subtasks, strict=True))
        if not subtasks.keys() & set(other.items):
            raise ValueError("join: the matrices share no item; are they of the same benchmark?")
        for item, subtask in zip(other.items, other.subtasks, strict=True):
            if subtasks.setdefault(item, subtask) != subtask:
                raise ValueError(f"join: item {item!r} is in {subtasks[item]!r} and in {subtask!r}")
        items = tuple(subtasks)
        known = (self.confidence is not None) or (other.confidence is not None)
        return ResponseMatrix(
            scores=np.vstack([_spread(m.scores, m.items, items) for m in (self, other)]),
            models=self.models + other.models,
            items=items,
            subtasks=tuple(subtasks.values()),
            confidence=np.vstack(
                [_spread(m.confidence, m.items, items, m.n_models) for m in (self, other)]
            )
            if known
            else None,
            metadata={**other.metadata, **self.metadata},
        )

    def by_name(self) -> ResponseMatrix:
        """Return the matrix with models and items sorted by name; itself where they are."""
        models = sorted(range(self.n_models), key=self.models.__getitem__)
        items = sorted(range(self.n_items), key=self.items.__getitem__)
        if models == list(range(self.n_models)) and items == list(range(self.n_items)):
            return self
        return self.take(models=models, items=items)

    def fingerprint(self) -> str:
        """Return the SHA-256 of names and numbers in hexadecimal; metadata do not count."""
        digest = hashlib.sha256()
        for names in (self.models, self.items, self.subtasks):
            digest.update("\0".join(names).encode("utf-8", "surrogatepass") + b"\0\0")
        for array in (self.scores, self.confidence):
            if array is not None:
                # One bit pattern for NaN, so that equal matrices have equal fingerprints.
                digest.update(np.where(np.isnan(array), np.float32(-1), array).tobytes())
        return digest.hexdigest()

    def coverage(self) -> npt.NDArray[np.float64]:
        """Return the share of items that each model answered, shape (n_models,)."""
        answered = ~np.isnan(self.scores)
        return np.asarray(answered.sum(axis=1) / max(self.n_items, 1), dtype=np.float64)

    def accuracy(self) -> npt.NDArray[np.float64]:
        """Return each model's mean score over the items it answered, shape (n_models,).

        NaN for a model that answered nothing.
        """
        answered = ~np.isnan(self.scores)
        total = np.where(answered, self.scores, 0).sum(axis=1, dtype=np.float64)
        count = answered.sum(axis=1)
        mean = np.full(self.n_models, np.nan)
        np.divide(total, count, out=mean, where=count > 0)
        return mean

    def save(self, path: Path | str) -> None:
        """Write one Parquet file: a row an item, a column a model; atomically.

        Columns: `item`, `subtask`, one of each model's scores (null where not answered) and, where
        confidences are known, `confidence:<model>`. Any Parquet reader opens it.
        """
        matrix_file.write(
            Path(path),
            scores=self.scores,
            models=self.models,
            items=self.items,
            subtasks=self.subtasks,
            confidence=self.confidence,
            metadata=self.metadata,
        )

    @classmethod
    def load(cls, path: Path | str) -> ResponseMatrix:
        """Return the matrix that `save` wrote.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is not a Parquet file of ours, its schema is newer, or its content is invalid.
        """
        fields = matrix_file.read(Path(path))
        try:
            return cls(**fields)
        except ValueError as error:
            raise ValueError(f"{path}: {error}; collect it again") from None


def _fractions(name: str, values: npt.ArrayLike, shape: tuple[int, int]) -> FloatArray:
    array = np.array(values, dtype=np.float32, order="C")
    if array.shape != shape:
        raise ValueError(
            f"{name}: shape {array.shape}, but there are {shape[0]} models and {shape[1]} items"
        )
    outside = (array < 0) | (array > 1)
    if outside.any():
        model, item = np.argwhere(outside)[0]
        raise ValueError(
            f"{name}: {array[model, item]} (model {model}, item {item}) is outside [0, 1]; "
            "give fractions, not points"
        )
    array.setflags(write=False)
    return array


def _check_names(kind: str, names: Sequence[str]) -> None:
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise ValueError(f"{kind}: {twice!r} occurs twice; names must be distinct")
    if "" in names:
        raise ValueError(f"{kind}: a name is empty")
    if kind != "models":
        return
    bad = next((m for m in names if m in (ITEM, SUBTASK) or m.startswith(CONFIDENCE)), None)
    if bad is not None:
        raise ValueError(f"models: {bad!r} is the name of a column of the file; rename the model")


def _index(names: Sequence[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


def _positions(
    kind: str,
    wanted: Selector | None,
    names: Sequence[str],
    index_of: Callable[[], Mapping[str, int]],
) -> npt.NDArray[np.intp]:
    """Return the positions of what is wanted; the index of names is asked for only by names."""
    if wanted is None:
        return np.arange(len(names))
    chosen = np.asarray(wanted)
    if chosen.size == 0:
        return np.zeros(0, dtype=np.intp)
    if chosen.dtype == bool:
        if chosen.shape != (len(names),):
            raise ValueError(f"{kind}s: a mask of shape {chosen.shape} for {len(names)} {kind}s")
        return np.flatnonzero(chosen)
    if chosen.dtype.kind in "iu":
        if chosen.min() < -len(names) or chosen.max() >= len(names):
            raise ValueError(f"{kind}s: a position is outside the {len(names)} {kind}s")
        return chosen.astype(np.intp)
    index = index_of()
    missing = next((name for name in wanted if name not in index), None)
    if missing is not None:
        raise unknown(kind, str(missing), names)
    return np.array([index[str(name)] for name in wanted], dtype=np.intp)


def _spread(
    values: FloatArray | None, items: Sequence[str], onto: Sequence[str], n_models: int = 0
) -> FloatArray:
    """Return `values` with its columns put where `onto` names them, NaN elsewhere."""
    wide = np.full((n_models if values is None else len(values), len(onto)), np.nan, np.float32)
    if values is not None:
        wide[:, _positions("item", list(items), onto, lambda: _index(onto))] = values
    return wide
