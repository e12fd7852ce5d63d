"""The main job on the embedded default: `make demo`.

Makes a small real model and three weakened versions of it, runs plain `lm_eval` on two
micro-benchmarks with each, and compares the result with the models' recorded full runs.
Everything is left in `demo/` of the working directory; what is there is not made again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from checkpoints import make, make_base

MODELS = ("base", "noise-0.07", "prune-0.2", "drop-12-20")
TASKS = ("microdemo_micro25_random", "microdemo_micro100_stratified")
BIN = Path(sys.executable).parent


def say(text: str) -> None:
    """Print a line of our own among those of the tools."""
    print(f"\n== {text}", flush=True)


def make_models(folder: Path) -> None:
    """Make the models that are not there yet."""
    for name in MODELS:
        if not (folder / name / "tokenizer.json").exists():
            say(f"making {name}")
            if name == "base":
                make_base(folder / name)
            else:
                make(folder / "base", name, folder / name)


def run(name: str, models: Path, runs: Path) -> None:
    """Run lm_eval's own command on one model; the logs call it by the name of its folder."""
    command = [str(BIN / "lm_eval"), "--model", "hf", "--model_args",
               f"pretrained={name},dtype=float32", "--device", "cpu", "--batch_size", "16",
               "--tasks", ",".join(TASKS), "--log_samples", "--output_path", str(runs)]  # fmt: skip
    say(" ".join(["lm_eval", *command[1:]]))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    subprocess.run(command, cwd=models, env=environment, check=True)


def tool(*arguments: str) -> None:
    """Run a command of lm-microbench."""
    say(" ".join(["lm-microbench", *arguments]))
    subprocess.run([str(BIN / "lm-microbench"), *arguments], check=True)


def main() -> None:
    """Run the demo and say where its results lie."""
    start = time.perf_counter()
    home = Path("demo").resolve()
    models, runs = home / "models", home / "runs"
    models.mkdir(parents=True, exist_ok=True)
    make_models(models)
    for name in MODELS:
        if not list((runs / name).glob("results_*.json")):
            run(name, models, runs)
    from lm_microbench.folders import own_tasks

    full = own_tasks() / "microdemo" / "responses.parquet"
    answers = home / "responses.parquet"
    tool("collect", str(runs), "--benchmark", "microdemo", "-o", str(answers))
    tool("compare", "--micro", str(runs), "--full", str(full), "-o", str(home / "comparison"))
    minutes = (time.perf_counter() - start) / 60
    say(f"done in {minutes:.1f} minutes; the runs lie in {runs}, the tables in {home}/comparison")


if __name__ == "__main__":
    main()
