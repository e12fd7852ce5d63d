"""`disagreement`: the items on which the sources differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lm_microbench.methods.base import Choice, Method, filled
from lm_microbench.methods.regression import regress
from lm_microbench.responses import ResponseMatrix


@dataclass(frozen=True)
class Disagreement(Method):
    """Items with the greatest variance of scores over sources; weights by ridge regression.

    After DISCO (Rubinstein et al., "DISCO: Diversifying Sample Condensation for Efficient Model
    Evaluation", arXiv 2510.07959), which measures disagreement by the models' predicted
    distributions and regresses on them; only scores are used here. Equal variances are ordered at
    random.
    """

    name: ClassVar[str] = "disagreement"

    def _prepare(self, source: ResponseMatrix, rng: np.random.Generator) -> Any:
        variance = np.round(filled(source.scores).var(axis=0), 9)
        return np.lexsort((rng.random(source.n_items), -variance))

    def _choose(
        self, prepared: Any, source: ResponseMatrix, size: int, rng: np.random.Generator
    ) -> Choice:
        return regress(source, np.sort(prepared[:size]))
