"""Make every shipped micro-task again: `make tasks`.

    python benchmarks/make_tasks.py [--data FOLDER] [--methods M,...] [--check] [BENCHMARK ...]

Reads the item tables in tasks/<benchmark>/ and writes manifest and YAML of every size and method
beside them; a manifest that has not changed keeps its date. The source models' answers are read
from FOLDER (default: ../shared/data), which holds the published dumps of the MMLU-Pro project in
`mmlu_pro/eval_results` and a table of BIG-bench Hard answers in `bbh/responses.csv.gz`; microdemo
comes with its own. With --check nothing is written: exit status 1 if a file on disk is not what the
code makes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from lm_microbench import ResponseMatrix, read_responses
from lm_microbench.benchmark import Benchmark, load_benchmark
from lm_microbench.build import build
from lm_microbench.methods import get_method
from lm_microbench.readers import Rules, collect
from lm_microbench.registry import same, task_name, write_task
from lm_microbench.subset import Documents, Subset

BENCHMARKS = ("microdemo", "bbh", "leaderboard_bbh", "mmlu_pro")
# The same items and source models under another prompt: the choice is made once.
TWINS = {"leaderboard_mmlu_pro": "mmlu_pro"}
METHODS = "random,stratified,confidence,diversity,anchor,irt,predictive"
SIZES = (10, 25, 50, 100, 250, 500, 1000)
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def sources(benchmark: Benchmark, data: Path) -> ResponseMatrix:
    """Return the answers of the source models of a benchmark, every item of it."""
    if benchmark.name == "microdemo":
        return ResponseMatrix.load(benchmark.home / "responses.parquet")
    if "mmlu_pro" in benchmark.name:
        dumps = sorted((data / "mmlu_pro" / "eval_results").glob("*.json.gz"))
        # One dump holds 86 % of the questions and one 99.8 %; every method copes with that.
        return collect(dumps, benchmark, rules=Rules(min_coverage=0.8))[0]
    return big_bench_hard(benchmark, data / "bbh" / "responses.csv.gz")


def big_bench_hard(benchmark: Benchmark, path: Path) -> ResponseMatrix:
    """Return the answers of a table whose items are named by their row within the subtask."""
    table = read_responses(path)
    rows = {f"{x.subtask}/{x.position}": x.item for x in benchmark.items().locations}
    chosen = table.take(items=list(rows))
    return ResponseMatrix(chosen.scores, chosen.models, tuple(rows.values()), chosen.subtasks)


def shipped(benchmark: Benchmark, methods: Sequence[str], data: Path) -> Iterator[Subset]:
    """Yield the shipped subsets of a benchmark, as the code makes them now."""
    source = sources(benchmark, data)
    sizes = [size for size in SIZES if size < source.n_items]
    for name in methods:
        yield from build(benchmark, get_method(name), sizes, source=source)


def moved(subset: Subset, benchmark: Benchmark) -> Subset:
    """Return a subset for another benchmark of the same items."""
    provenance = subset.provenance.model_copy(update={"benchmark": benchmark.name})
    documents = Documents.of(benchmark.items().find(subset.items))
    return subset.with_(provenance=provenance, documents=documents)


def differing(benchmark: Benchmark, methods: Sequence[str], data: Path) -> Iterator[str]:
    """Yield the shipped tasks of some methods that are not what the code makes."""
    for subset in shipped(benchmark, methods, data):
        name = task_name(benchmark.name, subset.size, subset.provenance.method)
        manifest = benchmark.home / f"{name}.json"
        found = manifest.is_file() and manifest.with_suffix(".yaml").is_file()
        if not found or not same(Subset.load(manifest), subset):
            yield name


def main() -> None:
    """Write or check the tasks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("benchmarks", nargs="*", default=BENCHMARKS)
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    for name in arguments.benchmarks:
        benchmark = load_benchmark(name)
        if arguments.check:
            wrong = sorted(differing(benchmark, methods, arguments.data))
            if wrong:
                sys.exit(f"{name}: {len(wrong)} tasks differ from the code: {', '.join(wrong)}")
            print(f"{name}: in step with the code")
            continue
        twins = [load_benchmark(twin) for twin, other in TWINS.items() if other == name]
        for subset in shipped(benchmark, methods, arguments.data):
            for twin in (benchmark, *twins):
                print(write_task(moved(subset, twin), twin.home, replace=True).name, flush=True)


if __name__ == "__main__":
    main()
