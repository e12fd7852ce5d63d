"""Commands killed at random moments and started again leave what a quiet run leaves."""

import multiprocessing
import os
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes are not forked here"
)
@pytest.mark.parametrize("case", ["study", "collect", "build_many"])
def test_killed_command_started_again_leaves_the_same_files(case):
    command = [sys.executable, str(ROOT / "benchmarks" / "kill.py"), "--cases", case]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [*command, "--kills", "4", "--seed", os.environ.get("LM_MICROBENCH_SEED", "0")],
        env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    row = done.stdout.splitlines()[-1]
    assert done.returncode == 0, f"{row}\n{done.stderr[-2000:]}"
    assert row.startswith(f"| {case} | ")
    assert row.split("|")[4].strip() == "4", "so many kills came while it was running"
