"""Items of a logistic model: their parameters, and the curves that these draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

GRID = np.linspace(-6.0, 6.0, 241)

_STEEPEST = 35.0  # exp(-35) is below the rounding error of 1


@dataclass(frozen=True, eq=False)
class ItemParameters:
    """What a two-parameter logistic model knows of a set of items.

    Parameters
    ----------
    discrimination : array, shape (n_items, n_dimensions)
    difficulty : array, shape (n_items,)
    """

    discrimination: Array
    difficulty: Array

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions of ability."""
        return int(self.discrimination.shape[1])

    def take(self, items: npt.NDArray[np.intp]) -> ItemParameters:
        """Return the parameters of some of the items, given by position."""
        return ItemParameters(self.discrimination[items], self.difficulty[items])

    def probability(self, ability: Array) -> Array:
        """Return the probability of a right answer, shape (n_models, n_items).

        Parameters
        ----------
        ability : array, shape (n_models, n_dimensions)
        """
        return logistic(ability @ self.discrimination.T - self.difficulty)

    def mean_curve(self, ability: Array, weights: Array | None = None) -> Array:
        """Return the mean probability over the items, shape (n_models,); equal weights if None."""
        n_items = len(self.difficulty)
        share = np.full(n_items, 1 / n_items) if weights is None else weights / weights.sum()
        return np.asarray(self.probability(ability) @ share)

    def tabulate(self, grid: Array = GRID) -> Array:
        """Return the mean item curve at the abilities of a grid, for one dimension.

        Linear interpolation between the default grid's points (0.05 apart) is wrong by less than
        0.0003 for items with a discrimination of 3.
        """
        if self.n_dimensions != 1:
            raise ValueError(f"tabulate: {self.n_dimensions} dimensions; a grid needs 1")
        return self.mean_curve(grid[:, None])


def logistic(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -_STEEPEST, _STEEPEST))))
