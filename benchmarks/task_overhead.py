"""What a micro-task costs beside the ordinary task on the same documents.

    cd HUB && python benchmarks/task_overhead.py [--model FOLDER] [--task T] [--runs 5]

HUB is a folder (or machine) from which lm_eval can load the data set. Runs lm_eval's command on
the micro-task and on the ordinary leaf tasks with `--samples` of the same documents, in turn, and
prints the wall and CPU seconds of every pair and the medians of their ratios. On a machine that
does other work too, only the CPU seconds mean something.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from lm_microbench.registry import find_subset

BIN = Path(sys.executable).parent


def seconds(tasks: str, model: list[str], *options: str) -> tuple[float, float]:
    """Return the wall and the CPU seconds of one lm_eval command."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(BIN / "lm_eval"), *model, "--tasks", tasks, "--output_path", out,
                   "--log_samples", *options]  # fmt: skip
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env={**os.environ})
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Time the two commands in turn and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--task", default="leaderboard_mmlu_pro_micro25_random")
    parser.add_argument("--model", help="folder of a model; without it, lm_eval's dummy model")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    model = ["--model", "dummy"]
    if arguments.model:
        named = f"pretrained={Path(arguments.model).resolve()},dtype=float32"
        model = ["--model", "hf", "--model_args", named, "--device", "cpu", "--batch_size", "4"]
    documents = find_subset(arguments.task).documents
    samples: dict[str, list[int]] = defaultdict(list)
    for leaf, position in zip(documents.tasks, documents.positions, strict=True):
        samples[leaf].append(position)
    same = json.dumps({leaf: sorted(positions) for leaf, positions in samples.items()})
    ratios = []
    for number in range(arguments.runs + 1):
        micro = seconds(arguments.task, model)
        ordinary = seconds(",".join(samples), model, "--samples", same)
        if number:  # the first pair warms the caches
            ratios.append([a / b for a, b in zip(micro, ordinary, strict=True)])
            print(
                f"wall {micro[0]:6.2f} / {ordinary[0]:6.2f} s = {ratios[-1][0]:.3f}   "
                f"CPU {micro[1]:6.2f} / {ordinary[1]:6.2f} s = {ratios[-1][1]:.3f}",
                flush=True,
            )
    wall, cpu = (statistics.median(column) for column in zip(*ratios, strict=True))
    print(f"{arguments.task}: median of {len(ratios)} ratios: wall {wall:.3f}, CPU {cpu:.3f}")


if __name__ == "__main__":
    main()
