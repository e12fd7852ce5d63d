"""Run all of microdemo on every checkpoint, with lm_eval's own logs.

``python benchmarks/microdemo/record.py BASE_FOLDER OUT_FOLDER [NAME ...]``

Leaves ``OUT_FOLDER/<name>/results_*.json`` and ``samples_*.jsonl``, as ``lm_eval --log_samples``
does, and a table of all models' scores with ``--scores FILE.csv.gz``. Models that have all their
logs are skipped, so the command may be stopped and started again. Each checkpoint is made in a
temporary folder and removed after its run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from checkpoints import RECIPES, make
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

TASKS = Path(__file__).resolve().parents[2] / "tasks" / "microdemo"
N_SUBTASKS = len(set(TASKS.glob("microdemo_*.yaml")) - set(TASKS.glob("microdemo_micro*.yaml")))
BATCH_SIZE = 16


def is_done(folder: Path) -> bool:
    """Return whether a model's folder holds the results and every subtask's samples."""
    n_samples = len(list(folder.glob("samples_microdemo_*.jsonl")))
    return n_samples == N_SUBTASKS and any(folder.glob("results_*.json"))


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Make a folder the working directory for a while (contextlib.chdir needs Python 3.11)."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def evaluate(name: str, tracker: EvaluationTracker) -> float:
    """Return the accuracy of the model in the folder `name` of the working directory.

    The name alone, without a path, is then what the logs call the model.
    """
    results = simple_evaluate(
        model="hf",
        model_args={"pretrained": name, "dtype": "float32"},
        tasks=["microdemo"],
        batch_size=BATCH_SIZE,
        device="cpu",
        log_samples=True,
        evaluation_tracker=tracker,
        task_manager=TaskManager(include_path=str(TASKS), include_defaults=False),
        **RECIPES[name].run,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for task in results["configs"]:
        tracker.save_results_samples(task_name=task, samples=samples[task])
    return float(results["groups"]["microdemo"]["acc,none"])


def record(base: Path, name: str, out: Path) -> None:
    """Make one checkpoint, run it and leave its logs in `out`."""
    shutil.rmtree(out / name, ignore_errors=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        make(base, name, Path(folder) / name)
        made = time.perf_counter()
        with working_in(folder):
            accuracy = evaluate(name, EvaluationTracker(output_path=str(out)))
    end = time.perf_counter()
    print(f"{name}: {accuracy:.3f}, {made - start:.0f} s + {end - made:.0f} s", flush=True)


def answers(folder: Path) -> dict[str, float]:
    """Return the score of every item, named `<subtask>/<question_id>`, in a model's logs."""
    found = {}
    for path in sorted(folder.glob("samples_microdemo_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            sample = json.loads(line)
            doc = sample["doc"]
            found[f"{doc['subtask']}/{doc['question_id']}"] = float(sample["acc"])
    return found


def scores(out: Path) -> pd.DataFrame:
    """Return a table with one row per item and one column per model that is done."""
    models = sorted(path.name for path in out.iterdir() if is_done(path))
    table = pd.DataFrame({model: answers(out / model) for model in models}).astype(int)
    table.insert(0, "subtask", [item.split("/")[0] for item in table.index])
    number = table.index.str.split("/").str[1].astype(int)
    return table.iloc[number.argsort()].rename_axis("item")


def main() -> None:
    """Run the command line; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="checkpoints; all if none")
    parser.add_argument("--scores", type=Path, help="also write the table of scores here")
    options = parser.parse_args()
    base, out = options.base.resolve(), options.out.resolve()
    for name in options.names or RECIPES:
        if not is_done(out / name):
            record(base, name, out)
    if options.scores:
        scores(out).to_csv(options.scores)


if __name__ == "__main__":
    main()
