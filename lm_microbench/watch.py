"""`lm-microbench watch`: each new checkpoint in a folder is evaluated once, in order."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from lm_microbench import files
from lm_microbench.checkpoints import incomplete, is_candidate, snapshot
from lm_microbench.history import Point, history, in_order, save_history
from lm_microbench.readers import micro_runs
from lm_microbench.registry import find_subset
from lm_microbench.subset import Subset

OUTPUT = "microbench_watch"
SETTINGS_FILE = "watch.json"
SETTLE = 2.0
WRITING = "still being written"
_PR_SET_PDEATHSIG = 1

log = logging.getLogger(__name__)

# Runs whatever the start-up hook of the environment is (see `registry.register`).
_LM_EVAL = (
    "from lm_microbench import _autoload; _autoload.install(); "
    "from lm_eval.__main__ import cli_evaluate; cli_evaluate()"
)


class EvaluationError(RuntimeError):
    """A run of lm_eval that failed; its text names the log."""


@dataclass(frozen=True)
class Job:
    """How checkpoints are evaluated.

    Parameters
    ----------
    tasks : tuple of str
        Names of micro-tasks.
    model : str
        lm_eval's kind of model.
    model_args : str
        More of them, such as `dtype=bfloat16`; the checkpoint itself is added.
    batch_size : str
    arguments : tuple of str
        More arguments of `lm_eval`, such as `--apply_chat_template`.
    """

    tasks: tuple[str, ...]
    model: str = "hf"
    model_args: str = ""
    batch_size: str = "1"
    arguments: tuple[str, ...] = ()

    def settings(self) -> dict[str, object]:
        """Return what decides a run's numbers."""
        return {
            "tasks": sorted(self.tasks),
            "model": self.model,
            "model_args": self.model_args,
            "arguments": list(self.arguments),
        }


def run_lm_eval(checkpoint: Path, job: Job, output: Path, logfile: Path) -> None:
    """Run `lm_eval` on one checkpoint; results and samples go below `output`.

    Raises
    ------
    EvaluationError
        If it fails.
    """
    arguments = ",".join(x for x in (f"pretrained={checkpoint}", job.model_args) if x)
    command = [
        *(sys.executable, "-c", _LM_EVAL, "--model", job.model, "--model_args", arguments),
        *("--tasks", ",".join(job.tasks), "--batch_size", job.batch_size, "--log_samples"),
        *("--output_path", str(output), *job.arguments),
    ]
    logfile.parent.mkdir(parents=True, exist_ok=True)
    with logfile.open("wb") as log_:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log_,
            stderr=subprocess.STDOUT,
            check=False,
            preexec_fn=_with_parent if sys.platform == "linux" else None,
        )
    if done.returncode:
        lines = logfile.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = lines[-1].strip() if lines else "nothing"
        raise EvaluationError(
            f"lm_eval ended with status {done.returncode}; its last line: {said} (all: {logfile})"
        )


@dataclass
class Watcher:
    """The checkpoints of one folder and what is known of them.

    Parameters
    ----------
    folder : Path
        Its subfolders are checkpoints.
    job : Job
    output : Path
        `runs/<checkpoint>` holds the finished runs, `history.csv` what they say.
    evaluate : function of (checkpoint, job, output, logfile)

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    KeyError
        For an unknown task.
    ValueError
        If the output folder holds runs made with other settings.
    """

    folder: Path
    job: Job
    output: Path
    evaluate: Callable[[Path, Job, Path, Path], None] = run_lm_eval
    failed: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, object] = field(default_factory=dict)
    _points: dict[str, list[Point]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the settings and take away what a killed run left."""
        if not self.folder.is_dir():
            raise FileNotFoundError(f"{self.folder}: no such folder; give the trainer's output")
        if not self.job.tasks:
            raise ValueError("--tasks: none is given")
        for text in (str(self.folder), *self.job.tasks):
            if "," in text:
                raise ValueError(f"{text!r}: lm_eval reads a comma as the end of it; rename it")
        self.subsets: Mapping[str, Subset] = {t: find_subset(t) for t in self.job.tasks}
        self._check_settings()
        for left in self._runs.glob(".*.part"):
            shutil.rmtree(left, ignore_errors=True)

    def look(self) -> Iterator[str]:
        """Yield each checkpoint after it was evaluated: those that are complete and new, in order.

        A checkpoint counts as complete when its files are whole and did not change since the
        look before. What waits, and why, is in `waiting` afterwards; what failed, in `failed`.
        """
        self.waiting = {}
        for checkpoint in sorted(self._candidates(), key=lambda x: in_order(x.name)):
            name = checkpoint.name
            if (self._runs / name).is_dir() or name in self.failed:
                continue
            try:
                now, problem = snapshot(checkpoint), incomplete(checkpoint)
            except FileNotFoundError:  # the trainer keeps its last few and deletes the others
                continue
            before, self._seen[name] = self._seen.get(name), now
            if problem or now != before:
                self.waiting[name] = problem or WRITING
                continue
            if self._run(checkpoint):
                yield name

    def history(self) -> pd.DataFrame:
        """Return the history of all finished runs, and write it to `history.csv`."""
        names = self.finished
        for name in names:
            if name not in self._points:
                self._points[name] = self._read(name)
        table = history((p for name in names for p in self._points[name]), self.subsets)
        save_history(table, self.output)
        return table

    @property
    def finished(self) -> list[str]:
        """The checkpoints that were evaluated, in order."""
        names = (x.name for x in self._runs.iterdir() if x.is_dir())
        return sorted((name for name in names if not name.startswith(".")), key=in_order)

    @property
    def _runs(self) -> Path:
        return self.output / "runs"

    def _candidates(self) -> Iterator[Path]:
        for path in self.folder.iterdir():
            if path.resolve() != self.output.resolve() and is_candidate(path):
                yield path

    def _run(self, checkpoint: Path) -> bool:
        """Evaluate a checkpoint; its run gets its name when it is whole, by a single rename."""
        name = checkpoint.name
        part = self._runs / f".{name}.{os.getpid()}-{time.time_ns()}.part"
        try:
            self.evaluate(checkpoint, self.job, part, self.output / "logs" / f"{name}.log")
            part.rename(self._runs / name)
        except (EvaluationError, OSError) as error:
            shutil.rmtree(part, ignore_errors=True)
            if not checkpoint.is_dir():
                log.warning("%s: gone before it was evaluated", name)
            else:
                self.failed[name] = str(error)
                log.warning("%s: %s", name, error)
            return False
        return True

    def _read(self, name: str) -> list[Point]:
        try:
            runs, _ = micro_runs([self._runs / name])
        except (OSError, ValueError) as error:
            raise ValueError(f"{error}; delete {self._runs / name}") from None
        found = {run.task: run for run in runs}
        points = []
        for task, subset in self.subsets.items():
            if task not in found or found[task].limited or found[task].lacking:
                raise ValueError(f"{self._runs / name}: no whole run of {task}; delete this folder")
            scores = subset.answers(found[task].answers)[0]
            points.append(Point(name, task, tuple(float(x) for x in scores)))
        return points

    def _check_settings(self) -> None:
        path, settings = self.output / SETTINGS_FILE, self.job.settings()
        files.check_writable(path)
        files.check_kind(self.output, SETTINGS_FILE)
        if path.is_file():
            try:
                before = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                raise ValueError(f"{path}: not a JSON file; delete it") from None
            if not isinstance(before, dict):
                raise ValueError(f"{path}: not the settings of a watch; delete it")
            changed = next((k for k, v in settings.items() if before.get(k) != v), None)
            if changed is not None:
                raise ValueError(
                    f"{path}: the runs here were made with {changed} {before.get(changed)!r}, not "
                    f"{settings[changed]!r}; give another --output"
                )
        self._runs.mkdir(parents=True, exist_ok=True)
        files.write_text(path, json.dumps(settings, indent=1) + "\n")


def check_interval(interval: float) -> None:
    """Raise `ValueError` if the seconds between two looks are not a positive number."""
    if not 0 < interval < math.inf:
        raise ValueError(f"--interval: {interval}; give a positive number of seconds")


def watch(
    watcher: Watcher,
    *,
    once: bool = False,
    interval: float = 30.0,
    changed: Callable[[pd.DataFrame, str], None] | None = None,
) -> pd.DataFrame:
    """Return the history once all checkpoints that are there were evaluated; or watch on.

    Parameters
    ----------
    watcher : Watcher
    once : bool
        Stop when nothing is left to evaluate; otherwise go on until interrupted.
    interval : float
        Seconds between two looks at the folder.
    changed : function of (history, checkpoint), optional
        Called after every evaluation.

    Raises
    ------
    ValueError
        If the interval is not positive.
    """
    check_interval(interval)
    watcher.history()
    while True:
        for name in watcher.look():
            table = watcher.history()
            if changed is not None:
                changed(table, name)
        settling = WRITING in watcher.waiting.values()
        if once and not settling:
            return watcher.history()
        time.sleep(min(interval, SETTLE) if settling else interval)


def _with_parent() -> None:
    """Let the process that is being started die with ours, however ours dies (Linux)."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
