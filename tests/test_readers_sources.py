"""All kinds of sources together, and the command line."""

import json
import pickle

import make_runs as make
import numpy as np
import pytest
from typer.testing import CliRunner

from lm_microbench.cli import app
from lm_microbench.readers import Rules, collect
from lm_microbench.responses import ResponseMatrix


@pytest.fixture
def toy(tmp_path):
    return make.make_benchmark(tmp_path / "toy")


def table(toy, model="t", n=12):
    items = toy.items()
    return ResponseMatrix(
        scores=np.ones((1, n)), models=(model,), items=items.items[:n], subtasks=items.subtasks[:n]
    )


def test_collect_runs_and_table_together_give_one_matrix(toy, tmp_path):
    make.make_run(tmp_path / "runs")
    table(toy).save(tmp_path / "t.parquet")
    matrix, report = collect([tmp_path / "runs", tmp_path / "t.parquet"], toy)
    assert matrix.models == ("org__m", "t")
    assert matrix.scores[1].tolist() == [1] * 12
    assert [m.kind for m in report.models] == ["full", "table"]


def test_collect_table_with_an_unknown_item_is_refused(toy, tmp_path):
    (tmp_path / "t.csv").write_text("item,subtask,m\na/none,a,1\n")
    with pytest.raises(KeyError, match="unknown item of toy 'a/none'"):
        collect([tmp_path / "t.csv"], toy)


def test_collect_one_model_from_run_and_table_is_refused(toy, tmp_path):
    make.make_run(tmp_path / "runs")
    table(toy, "org__m").save(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="leave one out"):
        collect([tmp_path / "runs", tmp_path / "t.parquet"], toy)


def test_collect_renaming_of_a_model_that_is_not_there_is_refused(toy, tmp_path):
    table(toy).save(tmp_path / "t.parquet")
    with pytest.raises(KeyError, match=r"unknown model to rename 'org/t'; .*t"):
        collect([tmp_path / "t.parquet"], toy, rules=Rules(rename={"org/t": "mine"}))
    renamed, _ = collect([tmp_path / "t.parquet"], toy, rules=Rules(rename={"t": "mine"}))
    assert renamed.models == ("mine",)


def test_collect_incomplete_table_leaves_by_default(toy, tmp_path):
    table(toy, n=6).save(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"0\.5000 \(table run\)"):
        collect([tmp_path / "t.parquet"], toy)
    assert collect([tmp_path / "t.parquet"], toy, rules=Rules(min_coverage=0.5))[0].n_models == 1


class Trap:
    """Shows whether a pickle was loaded: loading it calls `fail`."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


@pytest.mark.parametrize("suffix", [".pkl", ".jbl", ".pickle", ".joblib"])
def test_collect_pickle_is_never_loaded_and_told(toy, tmp_path, suffix):
    folder = make.make_run(tmp_path / "runs")
    (folder / f"answers{suffix}").write_bytes(pickle.dumps(Trap()))
    matrix, report = collect([tmp_path / "runs"], toy)
    assert matrix.n_models == 1
    [skipped] = [file.skipped for file in report.files if file.skipped]
    assert "never loaded" in skipped
    with pytest.raises(ValueError, match="never loaded"):
        collect([folder / f"answers{suffix}"], toy)


def test_collect_file_with_a_strange_name_is_refused(toy, tmp_path):
    make.write_lines(tmp_path / "log.jsonl", make.rows_of("toy_a"))
    with pytest.raises(ValueError, match="not named as lm_eval"):
        collect([tmp_path / "log.jsonl"], toy)


def test_collect_single_samples_file_is_read(toy, tmp_path):
    folder = make.make_run(tmp_path / "runs")
    file = next(folder.glob("samples_toy_a_2026*"))
    matrix, _ = collect([file], toy, rules=Rules(min_coverage=0))
    assert matrix.coverage()[0] == 4 / 12


def test_collect_files_read_by_several_processes_give_the_same(toy, tmp_path, monkeypatch):
    for i in range(3):
        shifted = {leaf: make.rows_of(leaf, shift=i) for leaf in make.LEAVES}
        make.make_run(tmp_path / "runs", f"org/m{i}", files=shifted)
    alone, _ = collect([tmp_path / "runs"], toy, jobs=1)
    monkeypatch.setattr("lm_microbench.readers.parallel.SMALL", 0)
    told = []
    both, _ = collect([tmp_path / "runs"], toy, jobs=2, progress=lambda *x: told.append(x))
    assert both.models == alone.models
    np.testing.assert_array_equal(both.scores, alone.scores)
    assert told[-1][0] == told[-1][1] > 0


def test_rules_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="give one of refuse, newest, drop"):
        Rules(conflict="average")
    with pytest.raises(ValueError, match="min_coverage"):
        Rules(min_coverage=95)


# ---- the command --------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, ["collect", *map(str, arguments)])


@pytest.fixture
def command(toy, tmp_path):
    yaml = toy.home / "benchmark.yaml"
    return ["-b", yaml, "-o", tmp_path / "o.parquet", "--report", tmp_path / "report.json"]


def test_collect_command_writes_matrix_and_report(toy, tmp_path, command):
    make.make_run(tmp_path / "runs")
    result = run(tmp_path / "runs", *command, "--rename", "org/m=mine")
    assert result.exit_code == 0, result.output
    assert "3 files with 12 rows read" in result.output
    matrix = ResponseMatrix.load(tmp_path / "o.parquet")
    assert matrix.models == ("mine",)
    assert matrix.metadata["rules"]["conflict"] == "refuse"
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["models"][0]["subtasks"]["a"] == {
        "expected": 4, "found": 4, "missing": 0, "duplicate": 0, "conflicting": 0
    }  # fmt: skip


def test_collect_command_conflict_writes_the_report_and_no_matrix(toy, tmp_path, command):
    rows = [*make.rows_of("toy_a"), make.row("toy_a", 0, 0.5)]
    make.make_run(tmp_path / "runs", files={"toy_a": rows})
    result = run(tmp_path / "runs", *command, "--min-coverage", 0)
    assert result.exit_code == 1
    assert "two scores for 1 items" in str(result.exception)
    assert not (tmp_path / "o.parquet").exists()
    assert json.loads((tmp_path / "report.json").read_text())["conflicts"]
    told = run(tmp_path / "runs", *command, "--min-coverage", 0, "--conflict", "newest", "--json")
    assert told.exit_code == 0
    assert json.loads(told.stdout)["rules"]["conflict"] == "newest"
    assert ResponseMatrix.load(tmp_path / "o.parquet").scores[0, 0] == 0.5
