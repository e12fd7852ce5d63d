"""Kill commands at random moments, start them again, compare what they leave with a quiet run.

Each command runs once undisturbed. Then it is started in a fresh folder, killed (SIGKILL) at a
random moment, started again and killed again, up to four times, and let run to its end; so on until
so many kills have landed while it was running. All files must be the same, byte for byte. What may
differ is named in `CASES`: dates in manifests, and lm_eval's own results files and logs, which hold
times.

`study`, `collect` and `build` are forked from a process that has imported what they need, so that
the kills come while they work and not while Python starts; `watch` starts as a user starts it.

    python benchmarks/kill.py --kills 20
    python benchmarks/kill.py --cases watch --kills 5 --checkpoints out --model hf

`watch` runs lm_eval's model "dummy" on two folders that look like checkpoints, unless
`--checkpoints` names a folder of real ones and `--model` the kind of model.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_microbench import build as building

# Imported for the processes that are forked from this one.
from lm_microbench import cli, irt, readers, registry, studies
from lm_microbench.folders import own_tasks

IMPORTED = (building, irt, readers, registry, studies)

COMMAND = "from lm_microbench.cli import main; main()"
RESPONSES = str(own_tasks() / "microdemo" / "responses.parquet")
KILLS_A_ROUND = 4

Files = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """A command, and which of its files must be the same.

    Parameters
    ----------
    name : str
    arguments : sequence of str
        `{out}` stands for a fresh folder.
    same : function of (path, content), optional
        What of a file must be the same: a name and a content, or None.
    forked : bool
        Whether it runs in a copy of this process.
    """

    name: str
    arguments: Sequence[str]
    same: Callable[[str, bytes], tuple[str, bytes] | None] = lambda path, content: (path, content)
    forked: bool = True

    def command(self, out: Path, names: dict[str, str]) -> list[str]:
        """Return the command line that writes to a folder."""
        return [x.format(out=out, **names) for x in self.arguments]


def without_date(path: str, content: bytes) -> tuple[str, bytes]:
    """Return a manifest without the date on which it was made."""
    return path, re.sub(rb'"date": "[-0-9]+"', b"", content)


def without_times(path: str, content: bytes) -> tuple[str, bytes] | None:
    """Return history, plot, settings and samples of `watch`, without lm_eval's times."""
    if path.startswith("logs/") or Path(path).name.startswith("results_"):
        return None
    return re.sub(r"_\d{4}-\d\d-\d\dT[-.\d]+", "", path), content


STUDY = ("study", RESPONSES, "-m", "random,anchor", "-k", "10,25", "--targets", "10")
COLLECT = ("collect", RESPONSES, "-b", "microdemo", "-o", "{out}/responses.parquet")
BUILD = ("build", RESPONSES, "-b", "microdemo", "-m", "irt", "-k", "10", "-k", "25", "-k", "50")
MANY = tuple(x for size in range(5, 301, 5) for x in ("-k", str(size)))
SAMPLES = ("build", "-b", "microdemo", "-m", "random", *MANY)
WATCH = ("watch", "{checkpoints}", "-t", "microdemo_micro10_random", "--model", "{model}")

CASES = (
    Case("study", (*STUDY, "--trials", "12", "--no-report", "-o", "{out}")),
    Case("collect", (*COLLECT, "--report", "{out}/report.json")),
    Case("build", (*BUILD, "-o", "{out}"), without_date),
    Case("build_many", (*SAMPLES, "-o", "{out}"), without_date),
    Case("watch", (*WATCH, "--once", "--interval", "0.1", "-o", "{out}"), without_times, False),
)


def make_checkpoints(folder: Path, steps: Sequence[int] = (1, 2)) -> None:
    """Write folders that look like checkpoints, for a model that reads none."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    for step in steps:
        checkpoint = folder / f"checkpoint-{step}"
        checkpoint.mkdir(parents=True)
        for name in ("config.json", "tokenizer.json"):
            (checkpoint / name).write_text("{}")
        weights = struct.pack("<Q", len(header)) + header + b"\0" * 4
        (checkpoint / "model.safetensors").write_bytes(weights)


def snapshot(case: Case, folder: Path) -> Files:
    """Return what must be the same of a folder's files."""
    found = {}
    for path in sorted(x for x in folder.rglob("*") if x.is_file()):
        kept = case.same(path.relative_to(folder).as_posix(), path.read_bytes())
        if kept is not None:
            found[kept[0]] = kept[1]
    return found


def started(case: Case, arguments: list[str]) -> Any:
    """Return a process that runs a command."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=forked if case.forked else spawned, args=(arguments,))
    process.start()
    return process


def forked(arguments: list[str]) -> None:
    """Run a command in this process, silently."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    sys.argv = ["lm-microbench", *arguments]
    cli.main()


def spawned(arguments: list[str]) -> None:
    """Become the command."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.execv(sys.executable, [sys.executable, "-c", COMMAND, *arguments])


def run(case: Case, arguments: list[str]) -> float:
    """Run a command to its end and return the seconds it took."""
    start = time.monotonic()
    process = started(case, arguments)
    process.join()
    if process.exitcode:
        sys.exit(f"{' '.join(arguments)}: status {process.exitcode}")
    return time.monotonic() - start


def run_and_kill(case: Case, arguments: list[str], seconds: float) -> float | None:
    """Start a command and kill it after so many seconds; return how long it took if it ended."""
    start = time.monotonic()
    process = started(case, arguments)
    # Not `join(seconds)`: of a process that became another command it waits for the end.
    while process.is_alive() and time.monotonic() - start < seconds:
        time.sleep(0.005)
    taken = None if process.is_alive() else time.monotonic() - start
    process.kill()
    process.join()
    return taken


def try_case(case: Case, names: dict[str, str], kills: int, seconds: float, seed: int) -> list[str]:
    """Return a row of the table: command, seconds, rounds, kills, with files there, equal."""
    rng = random.Random(f"{seed} {case.name}")
    with tempfile.TemporaryDirectory() as folder:
        out, begun = Path(folder) / "out", time.monotonic()
        startup = 0.0 if case.forked else run(case, ["--version"])
        quiet = whole = run(case, case.command(out, names))
        wanted = snapshot(case, out)
        rounds = landed = with_files = equal = 0
        while landed < kills and time.monotonic() - begun < seconds:
            shutil.rmtree(out)
            for _ in range(min(KILLS_A_ROUND, kills - landed)):
                # Every second one, by chance, near the end, where files are written; not of what
                # is spawned, which takes more or less long, so that few kills would land there.
                late = case.forked and rng.random() < 0.5
                since = startup + 0.9 * (whole - startup) if late else startup
                until = whole if case.forked else 0.8 * whole
                taken = run_and_kill(case, case.command(out, names), rng.uniform(since, until))
                if taken is not None:
                    whole = min(whole, taken)
                    break
                landed += 1
                with_files += out.is_dir() and any(x.is_file() for x in out.rglob("*"))
            run(case, case.command(out, names))
            rounds += 1
            found = snapshot(case, out)
            equal += found == wanted
            for name in sorted(found.keys() | wanted.keys()):
                if found.get(name) != wanted.get(name):
                    print(f"{case.name}, round {rounds}: {name} differs", file=sys.stderr)
    cells = (case.name, f"{quiet:.2f}", rounds, landed, with_files, f"{equal} of {rounds}")
    return list(map(str, cells))


def main() -> None:
    """Print the table; exit status 1 if a file differed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600, help="no new round after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoints", type=Path)
    parser.add_argument("--model", default="dummy")
    arguments = parser.parse_args()
    failed = False
    print(
        "| command | quiet run, s | rounds | kills | of them with files there | equal at the end |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = arguments.checkpoints or Path(folder)
        if arguments.checkpoints is None:
            make_checkpoints(checkpoints)
        names = {"checkpoints": str(checkpoints), "model": arguments.model}
        for case in CASES:
            if case.name not in arguments.cases.split(","):
                continue
            row = try_case(case, names, arguments.kills, arguments.seconds, arguments.seed)
            print(f"| {' | '.join(row)} |", flush=True)
            failed |= row[-1] != f"{row[2]} of {row[2]}"
    sys.exit(failed)


if __name__ == "__main__":
    main()
