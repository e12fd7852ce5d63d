"""Study every method on one matrix of answers, with `random` and with `top` targets.

Run: `python benchmarks/methods_table.py MATRIX -o benchmarks/results/NAME.csv
[--trials 50] [--sources 300] [--targets 50] [--sizes 10,25,50,100,200] [--jobs 2]
[--methods all | irt,irt=p-irt,...]`

MATRIX is anything that `read_responses` reads. The CSV has one row for each target mode, method,
size and reference: MDAD (first crossing, and sustained in bins of at least 30 pairs), estimation
error and rank correlation, in points (x 100). The seen half is printed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

from lm_microbench.methods import Method, get_method, method_names
from lm_microbench.readers import read_responses
from lm_microbench.studies import study

KEYS = ["method", "n_sources", "size", "reference"]
FIGURES = ["mdad", "mdad_sustained", "error", "kendall_tau", "agreement", "standard_error"]


def methods(names: str) -> list[str | Method]:
    """Return the named methods: `all`, or names; `irt=p-irt` is `irt` with that estimate."""
    chosen: list[str | Method] = []
    for name in method_names() if names == "all" else names.split(","):
        method, _, estimate = name.partition("=")
        chosen.append(get_method(method, estimate=estimate) if estimate else method)
    return chosen


def main() -> None:
    """Run the studies and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("matrix", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--methods", default="all")
    parser.add_argument("--sizes", default="10,25,50,100,200")
    parser.add_argument("--sources", type=int)
    parser.add_argument("--targets", type=int, default=50)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    matrix, tables = read_responses(options.matrix), []
    for mode in ("random", "top"):
        start = time.perf_counter()
        result = study(
            matrix,
            methods=methods(options.methods),
            sizes=[int(size) for size in options.sizes.split(",")],
            n_sources=options.sources,
            n_targets=options.targets,
            trials=options.trials,
            target_mode=mode,
            n_jobs=options.jobs,
        )
        table = result.mdad().merge(result.estimation(), on=[*KEYS, "n_trials"])
        table.insert(0, "targets", mode)
        tables.append(table)
        print(f"{options.matrix.name}, {mode} targets: {time.perf_counter() - start:.0f} s")
    table = pd.concat(tables)[["targets", *KEYS, "n_trials", *FIGURES, "covered"]]
    table[FIGURES] = (100 * table[FIGURES]).round(2)
    table["covered"] = table["covered"].round(3)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.output, index=False)
    seen = table[table["reference"] != "unseen"]
    for figure in ("error", "kendall_tau", "mdad", "agreement"):
        print(f"\n{figure}, points")
        print(seen.pivot(index=["targets", "method"], columns="size", values=figure).round(1))


if __name__ == "__main__":
    main()
