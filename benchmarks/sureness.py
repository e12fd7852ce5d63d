"""Estimate models that are surer of themselves, or less sure, than all their sources.

Run: `python benchmarks/sureness.py [--trials 50]`

On `microdemo`, with the draws of `methods_table.py`: `predictive` is built from the sources as they
are; the logits of the targets' confidences above that of chance are divided by a temperature, which
changes no answer and no full score. Prints a row for each temperature: the mean error in points and
the share of full scores inside the 95 % intervals at 10, 25, 50 and 100 examples; at last, by
scores alone.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np
from methods_table import SETTINGS, method, read
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from lm_microbench.predictive.sureness import CHANCE, above_chance
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Subset
from lm_microbench.trials import TrialDesign

SIZES = (10, 25, 50, 100)
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0)


def at_temperature(matrix: ResponseMatrix, temperature: float) -> ResponseMatrix:
    """Return the matrix with confidences at another temperature."""
    if matrix.confidence is None:
        raise ValueError("matrix: no confidences")
    x = above_chance(matrix.confidence.astype(np.float64)) / temperature
    return dataclasses.replace(matrix, confidence=expit(x + logit(CHANCE)).astype(np.float32))


def figures(subset: Subset, targets: ResponseMatrix) -> tuple[float, float]:
    """Return mean error and coverage of 95 % intervals, in points."""
    answers, truth = subset.answers(targets), targets.accuracy()
    error = np.abs(subset.estimate(answers) - truth)
    return 100 * error.mean(), 100 * (error < 1.96 * subset.standard_error(answers)).mean()


def main() -> None:
    """Print one row for each temperature."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=50)
    options = parser.parse_args()
    matrix, n_targets = read(Path(), "microdemo"), SETTINGS["microdemo"].targets
    design = TrialDesign((matrix.n_models - n_targets,), n_targets, "random")
    rows: dict[str, list[list[tuple[float, float]]]] = {}
    with threadpool_limits(limits=1):
        for t in range(options.trials):
            draw = design.draw(matrix, t)
            seen = matrix.take(items=draw.seen)
            source, targets = seen.take(models=draw.sources), seen.take(models=draw.targets)
            read_as = {f"temperature {x:g}": at_temperature(targets, x) for x in TEMPERATURES}
            for name in ("predictive", "predictive=score"):
                subsets = method(name).select_sizes(source, SIZES, rng=design.method_rng(t))
                cases = read_as if name == "predictive" else {"scores alone": targets}
                for case, answered in cases.items():
                    rows.setdefault(case, []).append([figures(x, answered) for x in subsets])
    for case, found in rows.items():
        error, covered = np.mean(found, axis=0).T
        print(f"{case}: error {np.round(error, 1)}, covered {np.round(covered)}")


if __name__ == "__main__":
    main()
