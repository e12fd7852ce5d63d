"""Time the reliability study: seconds (median and fastest of several runs) and peak memory.

Run: `python benchmarks/study_speed.py [GPQA_CSV] [--jobs 2] [--only pairs,gpqa,large]`

- `pairs`: agreement, MDAD and its interval of 50 trials x 50 targets, 61,250 pairs.
- `gpqa`: `random` and `stratified`, 5 sizes, 50 trials, 300 sources, 50 targets. Without the
  public GPQA matrix, a matrix of the same shape drawn from a two-parameter logistic model.
- `large`: the same at the size of MMLU-Pro, 400 x 12,032 answers of a seeded two-parameter
  logistic model, 14 subtasks, sizes up to 1,000.

Peak memory is the largest sum, seen every 100 ms, of this process and its workers (proportional
set size, which counts shared pages once); it needs Linux.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lm_microbench.methods import method_names
from lm_microbench.pairs import count_pairs
from lm_microbench.readers import read_responses
from lm_microbench.resampling import interval, trial_weights
from lm_microbench.responses import ResponseMatrix
from lm_microbench.studies import study


def simulated(n_models: int, n_items: int, n_subtasks: int, seed: int = 0) -> ResponseMatrix:
    """Return answers drawn from a two-parameter logistic model."""
    rng = np.random.default_rng(seed)
    ability = rng.normal(0, 1, (n_models, 1))
    discrimination, difficulty = rng.lognormal(0, 0.5, n_items), rng.normal(0, 1.5, n_items)
    probability = 1 / (1 + np.exp(-discrimination * (ability - difficulty)))
    subtasks = [f"subtask-{i % n_subtasks:02d}" for i in range(n_items)]
    return ResponseMatrix(
        scores=rng.random((n_models, n_items)) < probability,
        models=[f"model-{i:03d}" for i in range(n_models)],
        items=[f"{subtask}/{i}" for i, subtask in enumerate(subtasks)],
        subtasks=subtasks,
    )


def time_pairs() -> None:
    """Time the figures of one method at one size."""
    rng = np.random.default_rng(0)
    reference = rng.normal(0.3, 0.05, (50, 50)).clip(0, 1)
    estimate = (reference + rng.normal(0, 0.05, (50, 50))).clip(0, 1)

    def figures() -> None:
        counts = count_pairs(reference, estimate)
        counts.pool().agreement()
        counts.pool().mdad()
        draws = counts.weigh(trial_weights(50, rng))
        interval(draws.mdad(), never=True)
        interval(draws.agreement())

    measure("agreement + MDAD + interval, 50 trials x 1,225 pairs", figures, 30)


def time_study(name: str, matrix: ResponseMatrix, repeats: int, **options: Any) -> None:
    """Time a whole study with its figures."""

    def run() -> None:
        result = study(matrix, n_sources=300, n_targets=50, **options)
        result.mdad()
        result.estimation()
        result.pairs()

    what = f"{matrix.n_models} x {matrix.n_items}, {options['trials']} trials"
    measure(f"{name}, {what}, {options['n_jobs']} jobs", run, repeats)


def measure(name: str, work: Callable[[], None], repeats: int) -> None:
    """Print the median and fastest time of some runs, and the peak memory of all."""
    with Peak() as peak:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    print(
        f"{name}: median {statistics.median(times):.3f} s, fastest {min(times):.3f} s "
        f"of {repeats}; peak {peak.bytes / 2**20:,.0f} MiB"
    )


class Peak:
    """The largest memory of this process and its children while the block runs."""

    def __enter__(self) -> Peak:
        """Start watching."""
        self.bytes = _memory()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.bytes = max(self.bytes, _memory())


def _memory() -> int:
    return sum(_proportional(pid) for pid in _family(os.getpid()))


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in children:
            found += _family(int(child))
    return found


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # the process has ended
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gpqa", nargs="?", help="the public GPQA matrix")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="pairs,gpqa,large")
    parser.add_argument("--methods", default="random,stratified", help="or `all`")
    parser.add_argument("--trials", type=int, default=50)
    options = parser.parse_args()
    wanted = options.only.split(",")
    methods = method_names() if options.methods == "all" else options.methods.split(",")
    how = {"methods": methods, "trials": options.trials, "n_jobs": options.jobs}
    if "pairs" in wanted:
        time_pairs()
    if "gpqa" in wanted:
        matrix = read_responses(options.gpqa) if options.gpqa else simulated(420, 448, 1)
        time_study("GPQA study", matrix, 3, sizes=[10, 25, 50, 100, 200], **how)
    if "large" in wanted:
        sizes = [10, 25, 50, 100, 250, 500, 1000]
        time_study("MMLU-Pro-sized study", simulated(400, 12_032, 14), 1, sizes=sizes, **how)


if __name__ == "__main__":
    main()
