"""The command line: every wrong input is one line on stderr and exit status 1, nothing written."""

import json
import re
import subprocess
import sys

import make_runs as make
import numpy as np
import pandas as pd
import pytest

from lm_microbench import cli
from lm_microbench.build import build
from lm_microbench.cli.parsing import one_value_each
from lm_microbench.methods import get_method
from lm_microbench.registry import write_task
from lm_microbench.responses import ResponseMatrix

TASK = "toy_micro4_random"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a benchmark, a micro-task, a matrix, and files that are none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path / "tasks"))
    toy = make.make_benchmark(tmp_path / "tasks")
    subset = build(toy, get_method("random"), [4])[0]
    write_task(subset, tmp_path / "tasks")
    table = toy.items()
    scores = np.random.default_rng(0).integers(0, 2, (6, 12))
    matrix = ResponseMatrix(scores, [f"org__m{i}" for i in range(6)], table.items, table.subtasks)
    matrix.save("m.parquet")
    whole = (tmp_path / "m.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-20])
    pd.DataFrame({"x": [1]}).to_parquet("other.parquet")
    matrix.take(items=range(11)).save("few.parquet")
    strange = [f"x/{i}" for i in range(12)]
    ResponseMatrix(scores, matrix.models, strange, table.subtasks).save("strange.parquet")
    raw = json.loads(subset.to_json())
    for name, change in MANIFESTS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(raw | change(raw)))
    (tmp_path / "empty").mkdir()
    _runs(toy, subset)
    return tmp_path


MANIFESTS = {
    "unknown-id": lambda raw: {"items": [*raw["items"][:-1], "toy/zzz"]},
    "twice": lambda raw: {"items": [raw["items"][0], *raw["items"][:-1]]},
    "nan": lambda raw: {"estimator": raw["estimator"] | {"weights": [float("nan")] * 4}},
    "newer": lambda raw: {"schema_version": 99},
}


def _runs(toy, subset):
    """Write micro runs: `runs` of a known model, `twice` that disagree, `unknown` of no task."""
    from pathlib import Path

    places = toy.items().find(subset.items)

    def rows(shift=0):
        return [
            make.micro_row(x.task, x.position, x.item, acc=make.score(x.task, x.position, shift))
            for x in places
        ]

    def run(root, shift=0, day=1, task=TASK, model="org/m1"):
        content = make.results(model, (task,), n=4)
        make.make_run(Path(root), model, day, files={task: rows(shift)}, content=content)

    run("runs")
    run("two")
    run("two", shift=1, day=2)
    run("unknown", task="toy_micro5_random")
    run("stranger", model="org/stranger")


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Return a function that runs a command: its exit status, output and errors."""

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["lm-microbench", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    return call


def tree(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


BUILD = ["build", "-b", "toy", "-o", "out"]
COMPARE = ["compare", "-o", "out", "--micro"]
WRONG = [
    # an unknown task, benchmark, method, option
    (["study", "m.parquet", "--subset", "toy_micro5_random"],
     "unknown micro-task 'toy_micro5_random'; did you mean toy_micro4_random"),
    ([*COMPARE, "unknown", "--full", "m.parquet"], "unknown micro-task 'toy_micro5_random'"),
    (["build", "-b", "tay", "-m", "random", "-k", 3], "unknown benchmark 'tay'; did you mean toy"),
    (["build", "-b", "no/benchmark.yaml", "-m", "random", "-k", 3], "no/benchmark.yaml: no such"),
    (["list", "-b", "tay"], "unknown benchmark 'tay'"),
    (["items", "tay"], "unknown benchmark 'tay'"),
    (["collect", "runs", "-b", "tay"], "unknown benchmark 'tay'"),
    ([*BUILD, "-m", "rondom", "-k", 3], "unknown method 'rondom'; did you mean random"),
    ([*BUILD, "-m", "stratified", "-k", 3, "--option", "weight=none"], "did you mean weights"),
    ([*BUILD, "-m", "stratified", "-k", 3, "--option", "weights"], "write NAME=VALUE"),
    ([*BUILD, "-m", "stratified", "-k", 3, "--option", "weights=[1]"], "weights: [1]; "),
    ([*BUILD, "m.parquet", "-m", "irt", "-k", 3, "--option", "dimensions=x"], "dimensions: 'x'"),
    # a size larger than the benchmark
    ([*BUILD, "-m", "random", "-k", 3, "-k", 13], "size: 13 of 12 items"),
    ([*BUILD, "-m", "random", "-k", 0], "size: 0 of 12 items"),
    ([*BUILD, "-m", "random", "-k", 3, "--seed", -1], "seed: -1; give a whole number"),
    # a manifest with an unknown id, duplicate ids, NaN weights, a newer schema
    (["study", "m.parquet", "--subset", "unknown-id.json"], "'toy/zzz'"),
    (["study", "m.parquet", "--subset", "twice.json"], "twice.json: content: item 'a"),
    (["study", "m.parquet", "--subset", "nan.json"], "nan.json: estimator"),
    (["study", "m.parquet", "--subset", "newer.json"], "newer.json: schema_version 99 is newer"),
    (["study", "m.parquet", "--subset", "no.json"], "no.json: no such manifest"),
    # a run folder with no samples
    (["collect", "empty", "-b", "toy", "-o", "out/r.parquet"], "empty: no answers to toy found"),
    (["collect", "absent", "-b", "toy", "-o", "out/r.parquet"], "absent: no such file"),
    ([*COMPARE, "empty", "--full", "m.parquet"], "empty"),
    ([*COMPARE, "runs", "--full", "empty"], "empty: no answers to toy found"),
    # micro and full runs that share no model, or whose items do not match; runs that disagree
    ([*COMPARE, "stranger", "--full", "m.parquet"], "no model has both a micro and a full run"),
    ([*COMPARE, "runs", "--full", "strange.parquet"], "not in the full runs"),
    ([*COMPARE, "runs", "--full", "few.parquet"], "full runs"),
    ([*COMPARE, "two", "--full", "m.parquet"], "disagree"),
    # a Parquet file that is not ours, that is cut short, that is not there, of other items
    (["build", "other.parquet", "-b", "toy", "-m", "irt", "-k", 3],
     "other.parquet: a Parquet file, but not a response matrix"),
    (["build", "cut.parquet", "-b", "toy", "-m", "irt", "-k", 3], "cut.parquet: cannot be read as"),
    (["build", "no.parquet", "-b", "toy", "-m", "irt", "-k", 3], "no.parquet: no such file"),
    (["build", "strange.parquet", "-b", "toy", "-m", "irt", "-k", 3], "collect it again"),
    (["study", "other.parquet", "-m", "random", "-k", 3], "other.parquet: "),
    (["study", "cut.parquet", "-m", "random", "-k", 3], "cut.parquet: "),
    ([*COMPARE, "runs", "--full", "other.parquet"], "other.parquet: a Parquet file, but not"),
    ([*COMPARE, "runs", "--full", "cut.parquet"], "cut.parquet: cannot be read as"),
    (["study", "empty", "-m", "random", "-k", 3], "empty: is a folder; give a file"),
    (["build", "empty", "-b", "toy", "-m", "irt", "-k", 3], "empty: is a folder; give the file"),
    # numbers that cannot be, and words of which there are few
    ([*BUILD, "-m", "random", "-k", 3, "-k", 3], "--size: 3 is given twice"),
    (["study", "m.parquet", "-m", "random", "-k", 3, "--level", 2], "level: 2.0; give a fraction"),
    (["study", "m.parquet", "-m", "random", "-k", 3, "--threshold", "nan"], "threshold: nan; give"),
    (["study", "m.parquet", "-m", "random", "-k", 3, "-j", 0], "--jobs: 0; give 1 or more"),
    (["collect", "m.parquet", "-b", "toy", "--jobs", 0, "-o", "out/r.pq"], "--jobs: 0; give"),
    (["compare", "--jobs", 0, "--micro", "runs"], "--jobs: 0; give 1 or more"),
    (["study", "m.parquet", "-m", "random", "-k", 3, "--targets", 2, "--target-mode", "best"],
     "unknown target_mode 'best'; did you mean list? (known: list, random, top)"),
    (["plan", "microdemo", "--size", 33], "--size: 33 was not measured; give one of 10, 25, 50"),
    (["watch", "empty", "-t", TASK, "--interval", "nan"], "--interval: nan; give a positive"),
    # folders of no results, or of other results than asked for
    (["report", "absent"], "absent: no such folder; give that of a finished study or comparison"),
    (["report", "empty"], "empty/trials.parquet: no such file"),
    (["plan", "microdemo", "--study", "absent"], "absent: no such folder"),
    # nothing where something is needed, and what the command does not know
    (["build"], "--benchmark: missing; see `lm-microbench build --help`"),
    (["build", "-b", "toy", "-m", "irt", "-k", 3], "method irt: needs the answers of source"),
    (["build", "-k", "ten"], "see `lm-microbench build --help`"),
    (["build", "--sizes", "10"], "No such option"),
    (["compare"], "Missing"),
    (["bild"], "No such command 'bild'"),
    # where nothing can be written
    (["build", "-b", "toy", "-m", "random", "-k", 3, "-o", "m.parquet/x"],
     "m.parquet/x/task.yaml: cannot be written"),
    (["collect", "m.parquet", "-b", "toy", "-o", "out/r.parquet", "--report", "m.parquet/x.json"],
     "m.parquet/x.json: cannot be written"),
    ([*COMPARE[:1], "-o", "m.parquet", "--micro", "runs"], "m.parquet/models.csv: cannot be"),
    (["watch", "empty", "-t", TASK, "--once", "-o", "m.parquet"],
     "m.parquet/watch.json: cannot be written"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda x: str(x)[:60])
def test_wrong_input_is_one_line_and_writes_nothing(run, folder, arguments, message):
    before = tree(folder)
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert re.fullmatch(r"lm-microbench: [^\n]+\n", err)
    assert tree(folder) == before


def test_right_input_writes_what_it_says(run, folder):
    code, out, err = run(*BUILD, "-m", "random", "-k", 3, "-k", 12)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        *(f"toy_micro{k}_random: {k} of 12 items in out" for k in (3, 12)),
        "lm_eval finds out with LM_MICROBENCH_PATH=out",
    ]
    assert len(list((folder / "out").iterdir())) == 4
    code, out, err = run(*COMPARE, "runs", "--full", "m.parquet")
    assert (code, err) == (0, "")


def test_list_and_path_name_the_tasks(run, folder):
    code, out, _ = run("list", "-b", "toy", "--json")
    assert code == 0
    assert [row["task"] for row in json.loads(out)] == [TASK]
    assert run("path")[1].strip().endswith("tasks")


def test_no_arguments_shows_the_help(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "build" in out


def test_failure_of_our_own_is_one_line_that_says_so(run, monkeypatch):
    def fail(*_, **__):
        raise KeyError("lost")

    monkeypatch.setattr("lm_microbench.benchmark.load_benchmark", fail)
    code, _, err = run("build", "-b", "toy", "-m", "random", "-k", 3)
    assert (code, err) == (
        1, "lm-microbench: internal error, KeyError: 'lost'; see it whole with --debug\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments", [["--debug", "list", "-b", "x"], ["list", "-b", "x", "--debug"]]
)
def test_debug_anywhere_shows_the_traceback(arguments):
    program = [sys.executable, "-c", "from lm_microbench.cli import main; main()"]
    run = subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("Traceback")
    assert "unknown benchmark 'x'" in run.stderr.splitlines()[-1]


def test_one_value_each_gives_every_value_of_a_list_its_option():
    written = "compare --micro a b --full c d -o out --json --micro e"
    expected = "compare --micro a --micro b --full c --full d -o out --json --micro e"
    assert one_value_each(written.split()) == expected.split()
    assert one_value_each(["collect", "--micro", "a", "b"]) == ["collect", "--micro", "a", "b"]
    assert one_value_each([]) == []
