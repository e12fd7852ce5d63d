"""watch: which checkpoints are run, in which order, once; what a kill leaves; wrong input."""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from make_runs import make_benchmark, micro_row, results, write_lines

from lm_microbench.build import build
from lm_microbench.checkpoints import incomplete
from lm_microbench.methods import get_method
from lm_microbench.registry import find_subset, write_task
from lm_microbench.watch import EvaluationError, Job, Watcher, watch

TASK = "toy_micro4_random"
JOB = Job((TASK,))


def write_checkpoint(folder, cut=0):
    """Write what a loadable checkpoint consists of; `cut` bytes of the weights are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    whole = struct.pack("<Q", len(header)) + header + bytes(8)
    (folder / "model.safetensors").write_bytes(whole[: len(whole) - cut])
    return folder


def fake_evaluate(checkpoint, job, output, logfile, pause=0.0):
    """Write a run as lm_eval does, results first; scores depend on the checkpoint's name only."""
    draw = random.Random(checkpoint.name)
    for task in job.tasks:
        subset = find_subset(task)
        places = zip(subset.items, subset.documents.tasks, subset.documents.positions, strict=True)
        rows = [
            micro_row(leaf, n, item, acc=float(draw.random() < 0.5)) for item, leaf, n in places
        ]
        folder = output / checkpoint.name
        folder.mkdir(parents=True, exist_ok=True)
        date = "2026-01-01T10-00-00.000000"
        content = results(str(checkpoint), (task,), n=len(rows))
        (folder / f"results_{date}.json").write_text(json.dumps(content))
        time.sleep(pause)
        write_lines(folder / f"samples_{task}_{date}.jsonl", rows)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a folder for checkpoints, with a micro-task of the toy benchmark to be found."""
    benchmark = make_benchmark(tmp_path / "tasks" / "toy")
    for subset in build(benchmark, get_method("random"), [4]):
        write_task(subset, tmp_path / "tasks")
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path / "tasks"))
    (tmp_path / "train").mkdir()
    return tmp_path / "train"


class Recorder:
    def __init__(self):
        self.names = []

    def __call__(self, checkpoint, job, output, logfile):
        self.names.append(checkpoint.name)
        fake_evaluate(checkpoint, job, output, logfile)


def watcher(folder, evaluate=fake_evaluate, job=JOB):
    return Watcher(folder, job, folder / "microbench_watch", evaluate)


def test_watch_evaluates_what_is_there_once_in_the_order_of_steps(toy):
    for step in (100, 20, 3):
        write_checkpoint(toy / f"checkpoint-{step}")
    (toy / "runs").mkdir()  # a logger's folder
    recorder, seen = Recorder(), []
    table = watch(
        watcher(toy, recorder), once=True, interval=0.01, changed=lambda t, name: seen.append(name)
    )
    assert recorder.names == seen == ["checkpoint-3", "checkpoint-20", "checkpoint-100"]
    assert list(table["step"]) == [3, 20, 100]
    write_checkpoint(toy / "checkpoint-50")
    again = Recorder()
    table = watch(watcher(toy, again), once=True, interval=0.01)
    assert again.names == ["checkpoint-50"]
    assert list(table["step"]) == [3, 20, 50, 100]
    assert (toy / "microbench_watch" / "history.csv").read_text().count("\n") == 5


def test_watch_waits_for_a_checkpoint_that_is_being_written(toy):
    write_checkpoint(toy / "checkpoint-1", cut=4)
    recorder = Recorder()
    one = watcher(toy, recorder)
    assert list(one.look()) == list(one.look()) == []
    assert one.waiting == {"checkpoint-1": "model.safetensors is not whole"}
    write_checkpoint(toy / "checkpoint-1")
    assert list(one.look()) == []
    assert one.waiting == {"checkpoint-1": "still being written"}
    (toy / "checkpoint-1" / "optimizer.pt").write_bytes(b"0")
    assert list(one.look()) == []
    assert list(one.look()) == ["checkpoint-1"]
    assert one.waiting == {}


def test_watch_stops_with_what_is_there_and_says_what_is_not_whole(toy):
    write_checkpoint(toy / "checkpoint-1")
    write_checkpoint(toy / "checkpoint-2", cut=1)
    one = watcher(toy)
    assert list(watch(one, once=True, interval=0.01)["step"]) == [1]
    assert one.waiting == {"checkpoint-2": "model.safetensors is not whole"}


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        (lambda x: (x / "config.json").write_text("[]"), "no whole config.json"),
        (
            lambda x: (x / "model.safetensors.index.json").write_text("[]"),
            "model.safetensors.index.json is not whole",
        ),
        (lambda x: (x / "config.json").write_text('{"a":'), "no whole config.json"),
        (lambda x: (x / "tokenizer.json").unlink(), "no tokenizer"),
        (lambda x: (x / "model.safetensors").unlink(), "no weights"),
        (lambda x: (x / "model.safetensors").write_bytes(b"123"), "model.safetensors is not whole"),
        (
            lambda x: (x / "model.safetensors.index.json").write_text(
                '{"weight_map": {"w": "model-1-of-2.safetensors"}}'
            ),
            "model-1-of-2.safetensors is not whole",
        ),
        (lambda x: None, ""),
    ],
)
def test_incomplete_checkpoints_are_told_from_whole_ones(change, lacks, tmp_path):
    change(write_checkpoint(tmp_path / "checkpoint-1"))
    assert incomplete(tmp_path / "checkpoint-1") == lacks


def test_watch_goes_on_after_a_checkpoint_that_fails(toy):
    def evaluate(checkpoint, job, output, logfile):
        fake_evaluate(checkpoint, job, output, logfile)
        if checkpoint.name == "checkpoint-1":
            raise EvaluationError("out of memory")

    for step in (1, 2):
        write_checkpoint(toy / f"checkpoint-{step}")
    one = watcher(toy, evaluate)
    assert list(watch(one, once=True, interval=0.01)["step"]) == [2]
    assert one.failed == {"checkpoint-1": "out of memory"}
    assert list(watch(watcher(toy), once=True, interval=0.01)["step"]) == [1, 2], "tried again"


def test_watch_leaves_a_checkpoint_out_that_is_deleted_meanwhile(toy, caplog):
    def evaluate(checkpoint, job, output, logfile):
        for path in checkpoint.iterdir():
            path.unlink()
        checkpoint.rmdir()
        raise EvaluationError("no such file")

    write_checkpoint(toy / "checkpoint-1")
    one = watcher(toy, evaluate)
    assert watch(one, once=True, interval=0.01).empty
    assert one.failed == {}
    assert "checkpoint-1: gone before it was evaluated" in caplog.text


def test_watch_goes_on_when_a_checkpoint_is_deleted_while_it_is_looked_at(toy, monkeypatch):
    for n in (1, 2):
        write_checkpoint(toy / f"checkpoint-{n}")
    watched = watcher(toy)

    def delete(folder):
        if folder.name != "checkpoint-1":
            return incomplete(folder)
        shutil.rmtree(folder, ignore_errors=True)
        return (folder / "model.safetensors").stat()

    monkeypatch.setattr("lm_microbench.watch.incomplete", delete)
    assert list(watch(watched, once=True)["checkpoint"]) == ["checkpoint-2"]


def test_watch_with_other_settings_into_the_same_output_is_refused(toy):
    watcher(toy)
    with pytest.raises(ValueError, match=r"watch\.json: the runs here were made with model_args"):
        watcher(toy, job=Job((TASK,), model_args="dtype=bfloat16"))


@pytest.mark.parametrize("text", ["[]", "{"])
def test_watch_with_damaged_settings_in_the_output_is_one_line(toy, text):
    (watcher(toy).output / "watch.json").write_text(text)
    with pytest.raises(ValueError, match=r"watch\.json: not .*; delete it"):
        watcher(toy)


def test_watch_of_wrong_input_says_what_is_wrong(toy):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        watcher(toy / "nowhere")
    with pytest.raises(KeyError, match="unknown micro-task"):
        watcher(toy, job=Job(("toy_micro5_random",)))
    with pytest.raises(ValueError, match="--interval: 0"):
        watch(watcher(toy), once=True, interval=0)


def command(folder, *arguments):
    from typer.testing import CliRunner

    from lm_microbench.cli import app

    return CliRunner().invoke(
        app, ["watch", str(folder), "-t", TASK, "--once", "--interval", "0.01", *arguments]
    )


def test_watch_command_runs_lm_eval_with_its_arguments_and_names_the_log_of_a_failure(
    toy, monkeypatch
):
    monkeypatch.setattr(
        "lm_microbench.watch._LM_EVAL", "import sys; print(*sys.argv[1:], flush=True); sys.exit(3)"
    )
    write_checkpoint(toy / "checkpoint-7")
    write_checkpoint(toy / "checkpoint-8", cut=1)
    done = command(toy, "--model-args", "dtype=float32", "--", "--num_fewshot", "0")
    assert done.exit_code == 1
    log = toy / "microbench_watch" / "logs" / "checkpoint-7.log"
    told = str(done.exception)
    assert told.startswith(
        "1 checkpoints failed, such as checkpoint-7: lm_eval ended with status 3"
    )
    assert str(log) in told
    said = log.read_text().split()
    assert said[:4] == ["--model", "hf", "--model_args",
                        f"pretrained={toy / 'checkpoint-7'},dtype=float32"]  # fmt: skip
    assert said[-2:] == ["--num_fewshot", "0"]
    assert "checkpoint-8: left out, model.safetensors is not whole" in done.output
    assert list((toy / "microbench_watch" / "runs").iterdir()) == [], "nothing half done is left"


def test_watch_command_without_tasks_is_one_line(toy):
    from typer.testing import CliRunner

    from lm_microbench.cli import app

    done = CliRunner().invoke(app, ["watch", str(toy)])
    assert str(done.exception).startswith("--tasks: missing")


def test_watch_folder_of_a_run_without_a_run_says_what_to_delete(toy):
    write_checkpoint(toy / "checkpoint-1")
    (toy / "microbench_watch" / "runs" / "checkpoint-1").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"no run of a micro-task.*; delete .*runs/checkpoint-1"):
        watch(watcher(toy), once=True, interval=0.005)


def test_watch_command_draws_what_a_killed_run_did_not(toy):
    pytest.importorskip("matplotlib")
    from typer.testing import CliRunner

    from lm_microbench.cli import app

    write_checkpoint(toy / "checkpoint-1")
    watch(watcher(toy), once=True, interval=0.005)
    plot = toy / "microbench_watch" / "history.png"
    assert not plot.exists()
    done = CliRunner().invoke(app, ["watch", str(toy), "-t", TASK, "--once", "--interval", "0.01"])
    assert done.exit_code == 0
    assert plot.is_file()


# A process that imports once and forks the watchers that are killed.
KILLED = """
import functools, os, random, signal, sys, time
from pathlib import Path
from test_watch import N_CHECKPOINTS, fake_evaluate, watcher, write_checkpoint
from lm_microbench.watch import watch

def run(folder, pause=0.01):
    evaluate = functools.partial(fake_evaluate, pause=pause)
    return watch(watcher(folder, evaluate), once=True, interval=0.005)

def prepared(name):
    folder = Path(sys.argv[1]) / name
    for step in range(N_CHECKPOINTS):
        write_checkpoint(folder / f"checkpoint-{step}")
    return folder

draw, done = random.Random(int(sys.argv[2])), 0
start = time.perf_counter()
run(prepared("whole"))
seconds = time.perf_counter() - start
for round in range(5):
    folder = prepared(f"round{round}")
    for _ in range(4):
        child = os.fork()
        if not child:
            run(folder)
            os._exit(0)
        time.sleep(draw.random() * seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        done += sum(1 for x in (folder / "microbench_watch").glob("runs/checkpoint-*"))
    run(folder)
print(done)
"""
N_CHECKPOINTS = 6


def final(folder):
    """Return what the output folder holds at the end, without what a kill may leave."""
    found = {}
    for path in sorted((folder / "microbench_watch").rglob("*")):
        if path.is_file() and ".part" not in str(path) and path.suffix != ".tmp":
            found[path.relative_to(folder).as_posix()] = path.read_text().replace(str(folder), "")
    return found


def test_watch_killed_at_any_moment_and_started_again_ends_the_same(toy, tmp_path):
    for step in range(N_CHECKPOINTS):
        write_checkpoint(toy / f"checkpoint-{step}")
    assert len(watch(watcher(toy), once=True, interval=0.005)) == N_CHECKPOINTS
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    seed = os.environ.get("LM_MICROBENCH_SEED", "0")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed"), seed],
        env={**os.environ, "PYTHONPATH": path}, check=True, timeout=300, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    assert 0 < int(done) < 20 * N_CHECKPOINTS, "the kills came while something was done"
    for round_ in range(5):
        assert final(tmp_path / "killed" / f"round{round_}") == final(toy)
