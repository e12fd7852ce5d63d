"""Make every shipped micro-task again: `make tasks`.

    python benchmarks/make_tasks.py [--check]

Reads the item tables in tasks/<benchmark>/ and writes manifest and YAML of every size and method
beside them; a manifest that has not changed keeps its date. With --check nothing is written: exit
status 1 if a file on disk is not what the code makes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from lm_microbench.benchmark import Benchmark, load_benchmark
from lm_microbench.build import build
from lm_microbench.methods import get_method
from lm_microbench.registry import same, task_name, write_task
from lm_microbench.subset import Subset

BENCHMARKS = ("microdemo", "mmlu_pro", "leaderboard_mmlu_pro", "bbh", "leaderboard_bbh")
SIZES = (10, 25, 50, 100, 250, 500, 1000)
METHODS = ("random", "stratified")


def shipped(benchmark: Benchmark) -> Iterator[Subset]:
    """Yield every shipped subset of a benchmark, as the code makes it now."""
    n_items = len(benchmark.items().items)
    for name in METHODS:
        yield from build(benchmark, get_method(name), [k for k in SIZES if k < n_items])


def differing(benchmark: Benchmark) -> Iterator[str]:
    """Yield the shipped tasks of a benchmark that are not what the code makes."""
    expected = {
        task_name(benchmark.name, s.size, s.provenance.method): s for s in shipped(benchmark)
    }
    for name, subset in expected.items():
        manifest = benchmark.home / f"{name}.json"
        if not manifest.is_file() or not same(Subset.load(manifest), subset):
            yield name
    yield from (p.stem for p in benchmark.home.glob("*_micro*.json") if p.stem not in expected)


def main() -> None:
    """Write or check the tasks of all benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("benchmarks", nargs="*", default=BENCHMARKS)
    arguments = parser.parse_args()
    for name in arguments.benchmarks:
        benchmark = load_benchmark(name)
        if arguments.check:
            wrong = sorted(differing(benchmark))
            if wrong:
                sys.exit(f"{name}: {len(wrong)} tasks differ from the code: {', '.join(wrong)}")
        else:
            names = [write_task(subset, benchmark.home).name for subset in shipped(benchmark)]
            print(f"{name}: {len(names)} tasks")


if __name__ == "__main__":
    main()
