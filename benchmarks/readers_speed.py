"""Time the reading of sample logs: one log of 2 GB, and a folder of 400 runs x 12,032 rows.

Run: `python benchmarks/readers_speed.py MMLU_PRO_TEST.parquet [--runs 400] [--gigabytes 2]
[--jobs 2] [--folder DIR]`

MMLU_PRO_TEST.parquet holds the test questions of MMLU-Pro. The logs are made from them, as lm_eval
writes those of `leaderboard_mmlu_pro`: long prompts in the large log, where every row has one
request a choice; short ones in the 400 (25 MB a run, 10 GB in all). Printed: seconds, processor
seconds, and the largest memory of this process and of any worker. Made files are deleted.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib.externals.loky import get_reusable_executor

from lm_microbench.benchmark import load_benchmark
from lm_microbench.readers import collect

TASK = "leaderboard_mmlu_pro"
LETTERS = "ABCDEFGHIJ"
DATE = "2026-01-01T00-00-00.000000"
EXAMPLE = 'Question with "quotes", \\ and é:\nA. 1\nB. 2\nAnswer: A\n\n'


def read_documents(path: Path) -> list[dict[str, Any]]:
    """Return the documents as the task has them."""
    documents = pd.read_parquet(path).to_dict("records")
    return [document | {"options": list(document["options"])} for document in documents]


def row(number: int, document: dict[str, Any], examples: str) -> bytes:
    """Return a line of a log up to its score; with examples, one request a choice."""
    options = document["options"]
    listed = "".join(f"{LETTERS[i]}. {option}\n" for i, option in enumerate(options))
    prompt = f"{examples}{document['question']}\n{listed}Answer:"
    requests = len(options) if examples else 1
    likelihoods = [[f"-{i}.5", "False"] for i in range(len(options))]
    line = {
        "doc_id": number,
        "doc": document,
        "target": document["answer"],
        "arguments": {
            f"gen_args_{i}": {"arg_0": prompt, "arg_1": f" {LETTERS[i]}"} for i in range(requests)
        },
        "resps": [[pair] for pair in likelihoods],
        "filtered_resps": likelihoods,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "0" * 64,
        "prompt_hash": "0" * 64,
        "target_hash": "0" * 64,
    }
    return json.dumps(line, ensure_ascii=False, default=int)[:-1].encode()


def write_run(folder: Path, model: str, rows: Iterable[bytes], right: Sequence[bool]) -> None:
    """Write a run as lm_eval leaves it."""
    where = folder / model
    where.mkdir(parents=True)
    with (where / f"samples_{TASK}_{DATE}.jsonl").open("wb") as log:
        for line, answer in zip(rows, right, strict=True):
            log.write(line + (b', "acc": 1.0}\n' if answer else b', "acc": 0.0}\n'))
    n = len(right)
    results = {
        "results": {TASK: {"acc,none": float(np.mean(right))}},
        "configs": {TASK: {"task": TASK}},
        "versions": {TASK: 0.1},
        "n-shot": {TASK: 5},
        "n-samples": {TASK: {"original": n, "effective": n}},
        "config": {"model": "hf", "model_args": {"pretrained": model}, "limit": None},
        "model_name": model,
    }
    (where / f"results_{DATE}.json").write_text(json.dumps(results))


def time_collect(name: str, folder: Path, jobs: int) -> None:
    """Read a folder and print what it took."""
    size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    start, before = time.perf_counter(), processor_seconds()
    matrix, _ = collect([folder], load_benchmark(TASK), jobs=jobs)
    seconds = time.perf_counter() - start
    get_reusable_executor().shutdown()  # only ended workers are counted
    used = processor_seconds() - before
    own, child = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(
        f"{name}: {matrix.n_models} x {matrix.n_items}, {size / 1e9:.2f} GB, {jobs} jobs: "
        f"{seconds:.0f} s, {used:.0f} s of processors; peak {own:.0f} MiB, "
        f"largest worker {child:.0f} MiB",
        flush=True,
    )


def processor_seconds() -> float:
    """Return processor time of this process and its ended workers."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(who)[:2]) for who in whose)


def long_rows(documents: Sequence[dict[str, Any]], gigabytes: float) -> Iterator[bytes]:
    """Yield the lines of a log of about so many GB."""
    requests = sum(len(document["options"]) for document in documents)
    repeats = int(gigabytes * 1e9 / requests / len(EXAMPLE.encode()))
    for number, document in enumerate(documents):
        yield row(number, document, EXAMPLE * max(repeats, 1))


def main() -> None:
    """Make the logs and time their reading."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where there is room; else the system's")
    options = parser.parse_args()
    documents, rng = read_documents(options.questions), np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        right = rng.random(len(documents)) < 0.4
        write_run(folder / "one", "long", long_rows(documents, options.gigabytes), list(right))
        time_collect("one log", folder / "one", 1)
        rows = [row(i, document, "") for i, document in enumerate(documents)]
        for run in range(options.runs):
            right = rng.random(len(rows)) < 0.2 + 0.6 * run / options.runs
            write_run(folder / "many", f"model-{run:03d}", rows, list(right))
        time_collect("many runs", folder / "many", options.jobs)


if __name__ == "__main__":
    main()
