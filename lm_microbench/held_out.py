"""What held-out source models say of a subset: its reliability, kept in its manifest."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

Array = npt.NDArray[np.float64]
Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class HeldOut(BaseModel):
    """Errors of estimates of models that were no sources; fractions, None where too few to tell.

    Parameters
    ----------
    n_targets : int
        Distinct models that were estimated.
    n_estimates : int
        All estimates: a model is estimated by more than one subset.
    n_pairs : int
        Pairs of models estimated by the same subset.
    error_rms, error_mean_absolute : float or None
        Root mean square, and mean size, of estimate less full score.
    difference_rms : float or None
        Root mean square error of the difference of two models estimated by the same subset.
    agreement : float or None
        Share of the pairs that are ordered rightly.
    mdad : float or None
        Sustained minimum detectable ability difference (`pairs.PairCounts.mdad_sustained`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    n_targets: NonNegativeInt
    n_estimates: NonNegativeInt
    n_pairs: NonNegativeInt
    error_rms: Size | None
    error_mean_absolute: Size | None
    difference_rms: Size | None
    agreement: Share | None
    mdad: Share | None


class Reliability(BaseModel):
    """How far a subset can be trusted, as measured on its own source models when it was built.

    Parameters
    ----------
    n_models : int
        Source models that were divided into sources and targets.
    source_range : tuple of two floats
        The least and the greatest of their full scores.
    inside : HeldOut
        Of models inside the range of the others.
    above : HeldOut
        Of the best models, chosen for and estimated by weaker ones: what a new model may be.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    n_models: PositiveInt
    source_range: tuple[Share, Share]
    inside: HeldOut
    above: HeldOut

    @model_validator(mode="after")
    def _rising(self) -> Reliability:
        low, high = self.source_range
        if low > high:
            raise ValueError(f"source_range: {low} to {high} is upside down")
        return self

    def error(self, estimates: Array, figure: Literal["error_rms", "difference_rms"]) -> Array:
        """Return the measured error that holds at each estimate, shape as `estimates`.

        That of models inside the range of the sources or, where the estimate lies above the best
        source, the larger of that and the error of the best sources held out. NaN where it was not
        measured, and where the estimate is.
        """
        inside, above = (
            np.nan if (found := getattr(kind, figure)) is None else found
            for kind in (self.inside, self.above)
        )
        error = np.where(estimates > self.source_range[1], np.fmax(inside, above), inside)
        return np.where(np.isnan(estimates), np.nan, error)
