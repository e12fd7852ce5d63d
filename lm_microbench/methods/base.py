"""The contract of every selection method."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final, get_type_hints

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from lm_microbench import __version__
from lm_microbench.estimators import Estimator, Reads
from lm_microbench.names import unknown
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Provenance, Subset

REGISTRY: dict[str, type[Method]] = {}

EstimateFrom = Literal["auto", "score", "confidence"]
"""What of a target an estimate is made of; auto: confidences where the sources' are known."""
KNOWN_SHARE = 0.9
"""Of answers that need a confidence; a harness writes none where a probability underflows."""


@dataclass(frozen=True)
class Choice:
    """What a method decides: positions of the chosen items, ascending, and their estimator."""

    chosen: npt.NDArray[np.intp]
    estimator: Estimator


@dataclass(frozen=True)
class Method(ABC):
    """A way to choose items, and to estimate the full score from answers to them.

    A subclass is a frozen dataclass in a file of its own; its fields are its options, its
    class-level `name` registers it. It implements `_choose`, and `_prepare` where several sizes
    can share work. The public `select` checks what goes in and what comes out.

    A method sees its sources in a canonical order (models and items sorted by name), so the order
    of rows and columns never matters. It is given random numbers and takes none from elsewhere.
    """

    name: ClassVar[str]
    needs_responses: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the method by its name."""
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            REGISTRY[cls.name] = cls

    def __post_init__(self) -> None:
        """Check that every option has the type it is declared with.

        Raises
        ------
        ValueError
            For a value of another type, or one that is none of the choices.
        """
        types = get_type_hints(type(self))
        for option, value in self.options().items():
            try:
                checked = TypeAdapter(types[option]).validate_python(value)
            except ValidationError as error:
                fault = error.errors()[0]["msg"]
                raise ValueError(f"method {self.name}: {option}: {value!r}; {fault}") from None
            object.__setattr__(self, option, checked)

    @final
    def select(self, source: ResponseMatrix, size: int, *, rng: np.random.Generator) -> Subset:
        """Return the subset of `size` items chosen from the answers of the source models.

        Parameters
        ----------
        source : ResponseMatrix
            Answers of the source models to all items of the benchmark.
        size : int
            Number of items to choose, 1 ... n_items.
        rng : numpy.random.Generator
            The only source of randomness.

        Raises
        ------
        ValueError
            If the size is not possible, or the method needs more source models.
        """
        return self.select_sizes(source, [size], rng=rng)[0]

    @final
    def select_sizes(
        self, source: ResponseMatrix, sizes: Sequence[int], *, rng: np.random.Generator
    ) -> list[Subset]:
        """Return one subset for each size; each is what `select` alone would give."""
        sizes = [self._checked(source, size) for size in sizes]
        canonical = source.by_name()
        seed = int(rng.integers(2**63))
        prepared = self._prepare(canonical, np.random.default_rng([seed, 0]))
        return [
            self._subset(
                canonical,
                size,
                self._choose(prepared, canonical, size, np.random.default_rng([seed, size])),
            )
            for size in sizes
        ]

    def options(self) -> dict[str, Any]:
        """Return every option with its value."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> Any:
        """Return work that all sizes share; nothing by default."""
        return None

    @abstractmethod
    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        """Return the choice of `size` items."""

    def _checked(self, source: ResponseMatrix, size: int) -> int:
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not (whole and 1 <= size <= source.n_items):
            raise ValueError(
                f"size: {size} of {source.n_items} items; give a number from 1 to {source.n_items}"
            )
        if self.needs_responses and source.n_models < 2:
            raise ValueError(
                f"method {self.name}: needs the answers of at least 2 source models, "
                f"got {source.n_models}"
            )
        if self.needs_responses and np.isnan(source.scores).all():
            raise ValueError(f"method {self.name}: no source model answered any item")
        return int(size)

    def _subset(self, source: ResponseMatrix, size: int, choice: Choice) -> Subset:
        chosen = np.asarray(choice.chosen)
        ascending = len(chosen) == size and (np.diff(chosen) > 0).all()
        if not ascending or chosen[0] < 0 or chosen[-1] >= source.n_items:
            raise RuntimeError(
                f"method {self.name}: chose {chosen.tolist()} where {size} ascending were asked"
            )
        return Subset(
            items=tuple(source.items[i] for i in chosen),
            estimator=choice.estimator,
            provenance=Provenance(
                method=self.name,
                options=self.options(),
                size=size,
                n_items=source.n_items,
                sources=source.models if self.needs_responses else (),
                package_version=__version__,
            ),
        )


def get_method(name: str, **options: Any) -> Method:
    """Return the method of that name with the given options.

    Raises
    ------
    KeyError
        For an unknown method, or an option that it does not have, with the nearest names.
    ValueError
        For an option's value of a wrong type or outside its range.
    """
    if name not in REGISTRY:
        raise unknown("method", name, REGISTRY)
    method = REGISTRY[name]
    known = [f.name for f in dataclasses.fields(method)]
    wrong = next((option for option in options if option not in known), None)
    if wrong is not None:
        raise unknown(f"option of method {name}", wrong, known)
    return method(**options)


def generator(seed: int) -> np.random.Generator:
    """Return the random numbers of a seed.

    Raises
    ------
    ValueError
        If it is not a whole number from 0 up.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed: {seed!r}; give a whole number from 0 up")
    return np.random.default_rng(seed)


def reads(estimate: EstimateFrom, source: ResponseMatrix) -> Reads:
    """Return what of a target is read; `auto` is confidence where nearly all sources' are known.

    Raises
    ------
    ValueError
        If confidences are wanted and the sources have none.
    """
    if estimate != "auto":
        none = source.confidence is None or np.isnan(source.confidence).all()
        if estimate == "confidence" and none:
            raise ValueError("source: no confidences; take estimate=score")
        return estimate
    if source.confidence is None:
        return "score"
    known = ~np.isnan(source.confidence[~np.isnan(source.scores)])
    return "confidence" if known.mean() >= KNOWN_SHARE else "score"


def filled(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the values with each missing one (NaN) replaced by its item's mean.

    An item that nobody answered gets the mean of all answers, or 0.5 where there are none.
    """
    wide = values.astype(np.float64)
    known = ~np.isnan(wide)
    if known.all():
        return wide
    wide[~known] = 0.0
    overall = wide.sum() / known.sum() if known.any() else 0.5
    count = known.sum(axis=0)
    mean = np.where(count > 0, wide.sum(axis=0) / np.maximum(count, 1), overall)
    return np.where(known, wide, mean)
