"""How often an order stated with some probability is the full benchmark's, on public answers.

    python benchmarks/ordering_calibration.py ../shared/data/gpqa/responses.csv.gz -m random,anchor

Draws models that the subset was not chosen from, takes a subset, states the probability of every
pair's order, and counts how many orders are right among those stated with about the same
probability. Ties, in the estimate or the full scores, are left out. Writes one row for each method,
size, number of compared models and range of stated probability.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from lm_microbench.methods import get_method
from lm_microbench.ordering import order
from lm_microbench.pairs import pair_indices, signs
from lm_microbench.readers import read_responses
from lm_microbench.reliability import measure

EDGES = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0001]


def trial(matrix, method, size, n_models, n_sources, rng):
    """Return stated probability and whether it was right, for every pair of one draw."""
    drawn = rng.permutation(matrix.n_models)
    source = matrix.take(models=drawn[n_models : n_models + n_sources])
    subset = method.select(source, size, rng=rng)
    if not subset.estimator.knows_its_error:
        subset = subset.with_(reliability=measure(source, method, size, int(rng.integers(1 << 30))))
    targets = matrix.take(models=drawn[:n_models])
    found = order(subset, targets.take(items=subset.items).scores)
    first, second = pair_indices(n_models)
    full = targets.accuracy()
    true, said = signs(full[first] - full[second]), signs(found.difference)
    counted = (true != 0) & (said != 0) & ~np.isnan(found.probability)
    return np.column_stack([found.probability, true == said])[counted]


def _name(path):
    stem = path.name.partition(".")[0]
    return path.parent.name if stem == "responses" else stem


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("responses", nargs="+", help="response matrices")
    parser.add_argument("-m", "--methods", default="random,stratified")
    parser.add_argument("-k", "--sizes", default="10,25,100")
    parser.add_argument("--models", default="2,5,10,30", help="numbers of models compared")
    parser.add_argument("--sources", type=int, default=100)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    rows = []
    for path in chosen.responses:
        matrix = read_responses(path)
        matrix = matrix.take(models=np.flatnonzero(matrix.coverage() == 1))
        for name in chosen.methods.split(","):
            for size in map(int, chosen.sizes.split(",")):
                for n_models in map(int, chosen.models.split(",")):
                    if n_models + 5 > matrix.n_models:
                        continue
                    rng = np.random.default_rng([size, n_models])
                    # About as many pairs whatever the number of models, within reason.
                    trials = max(20, chosen.trials * 10 // n_models)
                    pairs = np.vstack(
                        [
                            trial(matrix, get_method(name), size, n_models, chosen.sources, rng)
                            for _ in range(trials)
                        ]
                    )
                    place = np.digitize(pairs[:, 0], EDGES) - 1
                    for at in np.unique(place):
                        some = pairs[place == at]
                        rows.append(
                            {
                                "answers": _name(Path(path)),
                                "method": name,
                                "size": size,
                                "models": n_models,
                                "from": EDGES[at],
                                "pairs": len(some),
                                "stated": round(some[:, 0].mean(), 3),
                                "right": round(some[:, 1].mean(), 3),
                            }
                        )
    table = pd.DataFrame(rows)
    print(table.to_string(index=False))
    if chosen.output:
        table.to_csv(chosen.output, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
