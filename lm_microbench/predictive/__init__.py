"""The model behind the method `predictive`: item curves on the full score, correlated residuals.

The model. The ability ``t`` of a model is the logit of its full score, less that of the average
source. Every item has a logistic curve ``p_i(t) = expit(a_i + b_i t)``. Given ``t``, answers have
the Bernoulli variances ``v_i = p_i (1 - p_i)`` and the correlation ``R = L L' + diag(u)``, where
``L`` (n_items x rank) are shrunk principal components of the sources' standardised residuals and
``u`` makes the diagonal 1. No matrix of items x items is ever built.

Confidences, where they are read too (`answers`): an item's second answer, with a curve of its own,
after all models were made equally sure of themselves (`sureness`).

Choosing (`choosing`): greedily the item that lowers most the posterior variance of the full score,
over abilities from those of the sources to well above the best; and a share of items at random.

Estimating (`evidence`): a quasi-likelihood of the ability on a grid; at each ability the best
linear prediction of the full score from the answers; the mean of these over the posterior.

Errors (`calibration`): by the law of total variance, and then made as large as the errors that
sources had when they were left out, the best of them among others.
"""

from lm_microbench.predictive.answers import AnswerModel, ConfidenceModel
from lm_microbench.predictive.calibration import Calibrated, Fitted, fit
from lm_microbench.predictive.curves import ItemCurves
from lm_microbench.predictive.evidence import Evidence
from lm_microbench.predictive.sources import FullScore

__all__ = [
    "AnswerModel",
    "Calibrated",
    "ConfidenceModel",
    "Evidence",
    "Fitted",
    "FullScore",
    "ItemCurves",
    "fit",
]
