"""Item response theory: two-parameter logistic models of any number of dimensions.

The probability that model m answers item i rightly is ``1 / (1 + exp(-(a_i . theta_m - b_i)))``:
`discrimination` a_i, `difficulty` b_i, `ability` theta_m (Reckase, Multidimensional Item Response
Theory, 2009, eq. 4.5; one dimension: Birnbaum's two-parameter logistic model).

Priors: theta ~ N(0, I); each dimension of a, and b, normal with a mean and a variance that are
learnt. Learning the variances by maximising the joint density does not work, for it has no maximum
(all a = 0 with variance 0 makes it infinite) and in ten dimensions its local ones overfit. The fit
is therefore variational expectation-maximisation: the logistic likelihood is bounded by a Gaussian
(Jaakkola & Jordan, Statistics and Computing 10, 2000; the same as Pólya-Gamma augmentation), which
makes every update one linear solve per item or per model, done for all of them at once. Means are
also the modes of the Gaussian factors. Dimensions that the answers do not need shrink to nothing.
"""

from __future__ import annotations

from lm_microbench.irt.abilities import Ability, ability
from lm_microbench.irt.fitting import N_ITERATIONS, LogisticModel, fit
from lm_microbench.irt.items import GRID, Array, ItemParameters, logistic

__all__ = [
    "GRID",
    "N_ITERATIONS",
    "Ability",
    "Array",
    "ItemParameters",
    "LogisticModel",
    "ability",
    "fit",
    "logistic",
]
