"""From answers on a subset to an estimate of the full score.

An estimator is a small set of numbers, kept in a subset's manifest, so that a run needs no source
data. Every estimator has `estimate(scores)` and `standard_error(scores)`, of answers in the order
of the subset's items. `reads` says what these are: scores or, in their place, confidences, shape
(n_models, n_chosen); or both, (n_models, 2 n_chosen), the scores first. `knows_its_error` says
whether the standard error holds without trust in a model: by design, or by models left out.
"""

from typing import Annotated

from pydantic import Field

from lm_microbench.estimators.irt import (
    GpIrtEstimator,
    MixtureCurve,
    PIrtEstimator,
    TabulatedCurve,
    curve_of,
)
from lm_microbench.estimators.linear import (
    Array,
    Finite,
    LinearEstimator,
    Reads,
    SampleDesign,
    mean_estimator,
)
from lm_microbench.estimators.predictive import PredictiveEstimator

Estimator = Annotated[
    LinearEstimator | PIrtEstimator | GpIrtEstimator | PredictiveEstimator,
    Field(discriminator="kind"),
]

__all__ = [
    "Array",
    "Estimator",
    "Finite",
    "GpIrtEstimator",
    "LinearEstimator",
    "MixtureCurve",
    "PIrtEstimator",
    "PredictiveEstimator",
    "Reads",
    "SampleDesign",
    "TabulatedCurve",
    "curve_of",
    "mean_estimator",
]
