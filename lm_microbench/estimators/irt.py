"""Estimators from item response theory: p-IRT and gp-IRT of tinyBenchmarks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lm_microbench import irt
from lm_microbench.clusters import kmeans
from lm_microbench.estimators.linear import Array, Finite, LinearEstimator, Reads

_N_REPRESENTATIVES = 256
_STEP = 0.05  # of an ability, as the grid's


class TabulatedCurve(BaseModel):
    """Mean item curve of one ability: values on the grid `irt.GRID`, linear between."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["grid"] = "grid"
    values: tuple[Finite, ...] = Field(min_length=len(irt.GRID), max_length=len(irt.GRID))

    def at(self, ability: Array) -> Array:
        """Return the mean probability at each ability, shape (n_models,)."""
        return np.asarray(np.interp(ability[:, 0], irt.GRID, self.values))


class MixtureCurve(BaseModel):
    """Mean item curve of several abilities: that of weighted representative items."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["mixture"] = "mixture"
    weights: tuple[Finite, ...]
    discrimination: tuple[tuple[Finite, ...], ...]
    difficulty: tuple[Finite, ...]

    def at(self, ability: Array) -> Array:
        """Return the mean probability at each ability, shape (n_models,)."""
        items = irt.ItemParameters(np.array(self.discrimination), np.array(self.difficulty))
        return items.mean_curve(ability, np.array(self.weights))


class PIrtEstimator(BaseModel):
    """p-IRT: ability from the answers, then the expected score of all items given both.

    ``(sum of answers + (n_items - n_chosen) * mean curve of the rest at the ability) / n_items``
    (Polo et al., tinyBenchmarks, ICML 2024, eq. 4.1). A missing answer is replaced by its expected
    value; the estimate is NaN where all are missing. Estimates are rounded to 1e-10, so that
    rounding error decides no comparison.

    Parameters
    ----------
    n_items : int
        Number of items of the full benchmark.
    discrimination : tuple, shape (n_chosen, n_dimensions)
    difficulty : tuple, length n_chosen
    rest : TabulatedCurve, MixtureCurve or None
        Mean curve of the items that were not chosen; None where all were.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["p-irt"] = "p-irt"
    reads: ClassVar[Reads] = "score"
    n_items: int
    discrimination: tuple[tuple[Finite, ...], ...] = Field(min_length=1)
    difficulty: tuple[Finite, ...]
    rest: Annotated[TabulatedCurve | MixtureCurve, Field(discriminator="kind")] | None

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return len(self.difficulty)

    @property
    def knows_its_error(self) -> bool:
        """False: its standard error believes the model."""
        return False

    def item_weights(self) -> Array:
        """Return what each answer adds by itself, 1 / n_items, shape (n_chosen,)."""
        return np.full(self.size, 1 / self.n_items)

    def estimate(self, scores: npt.ArrayLike) -> Array:
        """Return the estimated full score of each model, shape (n_models,)."""
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        found = irt.ability(self._items(), answers).mean
        missing = np.isnan(answers)
        total = np.where(missing, self._items().probability(found), answers).sum(axis=1)
        if self.rest is not None:
            total += (self.n_items - self.size) * self.rest.at(found)
        total[missing.all(axis=1)] = np.nan
        return np.asarray(np.round(total / self.n_items, 10))

    def standard_error(self, scores: npt.ArrayLike) -> Array:
        """Return the standard error if the model holds, shape (n_models,).

        The ability's covariance through the slope of the mean curve, and the answers' own variance,
        at most m (1 - m) an item where the mean curve is m.
        """
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        if self.rest is None:
            return np.where(np.isnan(answers).any(axis=1), np.nan, 0.0)
        found = irt.ability(self._items(), answers)
        slope = _slope(self.rest, found.mean)
        mean, n_rest = self.rest.at(found.mean), self.n_items - self.size
        spread = np.einsum("md,mde,me->m", slope, found.covariance, slope)
        variance = spread + mean * (1 - mean) / n_rest
        return np.asarray(np.sqrt(variance) * n_rest / self.n_items)

    def _items(self) -> irt.ItemParameters:
        return irt.ItemParameters(np.array(self.discrimination), np.array(self.difficulty))

    @model_validator(mode="after")
    def _consistent(self) -> PIrtEstimator:
        n_dimensions = {len(row) for row in self.discrimination}
        if len(self.discrimination) != self.size or len(n_dimensions) != 1:
            raise ValueError("discrimination: give one row an item, all of the same length")
        if not self.size <= self.n_items or (self.rest is None) != (self.size == self.n_items):
            raise ValueError(
                f"n_items: {self.n_items} with {self.size} chosen; give `rest` where items are "
                "left, and only there"
            )
        return self


def _slope(curve: TabulatedCurve | MixtureCurve, ability: Array) -> Array:
    """Return the slope of a mean curve in each dimension, by central differences."""
    steps = _STEP * np.eye(ability.shape[1])
    differences = [curve.at(ability + s) - curve.at(ability - s) for s in steps]
    return np.column_stack(differences) / (2 * _STEP)


class GpIrtEstimator(BaseModel):
    """gp-IRT: ``share * weighted + (1 - share) * p-IRT`` (tinyBenchmarks, eq. 4.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["gp-irt"] = "gp-irt"
    reads: ClassVar[Reads] = "score"
    weighted: LinearEstimator
    predicted: PIrtEstimator
    share: Annotated[float, Field(ge=0, le=1)]

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return self.weighted.size

    @property
    def knows_its_error(self) -> bool:
        """False: its standard error believes the model."""
        return False

    def item_weights(self) -> Array:
        """Return what each answer adds by itself, ability aside, shape (n_chosen,)."""
        parts = self.weighted.item_weights(), self.predicted.item_weights()
        return np.asarray(self.share * parts[0] + (1 - self.share) * parts[1])

    def estimate(self, scores: npt.ArrayLike) -> Array:
        """Return the estimated full score of each model, shape (n_models,)."""
        parts = self.weighted.estimate(scores), self.predicted.estimate(scores)
        return np.round(self.share * parts[0] + (1 - self.share) * parts[1], 10)

    def standard_error(self, scores: npt.ArrayLike) -> Array:
        """Return p-IRT's standard error, shape (n_models,); the other part has none of its own."""
        return self.predicted.standard_error(scores)


def curve_of(items: irt.ItemParameters, rng: np.random.Generator) -> TabulatedCurve | MixtureCurve:
    """Return the mean item curve as few numbers, rounded to six digits."""
    if items.n_dimensions == 1:
        return TabulatedCurve(values=tuple(np.round(items.tabulate(), 6).tolist()))
    points = np.column_stack([items.discrimination, items.difficulty])
    labels, centres = kmeans(points, _N_REPRESENTATIVES, rng)
    centres = np.round(centres, 6)
    return MixtureCurve(
        weights=tuple((np.bincount(labels) / len(labels)).tolist()),
        discrimination=tuple(map(tuple, centres[:, :-1].tolist())),
        difficulty=tuple(centres[:, -1].tolist()),
    )
