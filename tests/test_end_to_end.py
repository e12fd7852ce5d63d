"""The main job with the tools' own commands: lm_eval on a micro-task, then collect and compare."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lm_microbench import ResponseMatrix
from lm_microbench.folders import own_tasks
from lm_microbench.registry import find_subset

BIN = Path(sys.executable).parent
TASKS = ("microdemo_micro10_random", "microdemo_micro25_stratified")
FULL = own_tasks() / "microdemo" / "responses.parquet"


def command(name, *arguments, cwd=None):
    environment = {**os.environ, "LM_MICROBENCH_PATH": ""}
    result = subprocess.run(
        [str(BIN / name), *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env=environment, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


@pytest.fixture(scope="module")
def runs(base_model, tmp_path_factory):
    """Return the folder of one real model's run of two micro-tasks by lm_eval's own command."""
    home = tmp_path_factory.mktemp("home")
    (home / "base").symlink_to(base_model)
    command(
        "lm_eval", "--model", "hf", "--model_args", "pretrained=base,dtype=float32", "--device",
        "cpu", "--batch_size", "8", "--tasks", ",".join(TASKS), "--log_samples",
        "--output_path", home / "runs", cwd=home,
    )  # fmt: skip
    return home / "runs"


@pytest.mark.model
def test_run_of_lm_eval_writes_the_estimate_of_the_answers_in_its_samples(runs):
    results = json.loads(next(runs.glob("*/results_*.json")).read_text())["results"]
    for task in TASKS:
        lines = next(runs.glob(f"*/samples_{task}_*.jsonl")).read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        total = sum(row["doc"]["lm_microbench"]["weight"] * row["acc"] for row in rows)
        assert results[task]["full_estimate,none"] == pytest.approx(total)
        assert 0 < results[task]["full_estimate_stderr,none"] < 0.2


@pytest.mark.model
def test_answers_of_the_real_model_are_those_that_were_recorded(runs, tmp_path):
    command("lm-microbench", "collect", runs, "-b", "microdemo", "-o", tmp_path / "micro.parquet")
    micro = ResponseMatrix.load(tmp_path / "micro.parquet")
    full = ResponseMatrix.load(FULL).take(models=["base"], items=micro.items)
    answered = ~np.isnan(micro.scores[0])
    chosen = {item for task in TASKS for item in find_subset(task).items}
    assert {item for item, known in zip(micro.items, answered, strict=True) if known} == chosen
    # Another processor may round another way and flip an answer now and then.
    assert (micro.scores[0] == full.scores[0])[answered].mean() > 0.9


@pytest.mark.model
def test_compare_prints_and_writes_the_recorded_full_score(runs, tmp_path):
    text = command("lm-microbench", "compare", "--micro", runs, "--full", FULL, "-o", tmp_path)
    assert "microdemo_micro10_random" in text
    models = pd.read_csv(tmp_path / "models.csv")
    full = ResponseMatrix.load(FULL)
    score = full.accuracy()[full.models.index("base")]
    assert models["full_score"].tolist() == pytest.approx([score, score])
    assert (models["error"] == models["estimate"] - models["full_score"]).all()
