"""The command `lm-microbench`: arguments only; every answer is computed elsewhere."""

from lm_microbench.cli import building, collecting, comparing, reporting, studying, tasks, watching
from lm_microbench.cli.app import app, main

__all__ = [
    "app", "building", "collecting", "comparing", "main", "reporting", "studying", "tasks",
    "watching",
]  # fmt: skip
