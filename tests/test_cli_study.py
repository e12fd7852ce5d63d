"""The command `study`: its output, its files, and one line for each wrong input."""

import json

import numpy as np
import pytest

from lm_microbench.cli import main
from lm_microbench.methods import select
from lm_microbench.responses import ResponseMatrix


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    scores = rng.random((30, 40)) < rng.random((30, 1))
    return ResponseMatrix(
        scores, [f"m{i}" for i in range(30)], [f"x/{i}" for i in range(40)], ["x"] * 40
    )


@pytest.fixture
def run(matrix, tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in a folder with `m.parquet`."""
    monkeypatch.chdir(tmp_path)
    matrix.save("m.parquet")

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["lm-microbench", "study", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    return call


ARGUMENTS = ["m.parquet", "-m", "random,stratified:weights=none", "-k", "5,10", "--targets", "8",
             "--trials", "4"]  # fmt: skip


def test_study_prints_a_table_and_sentences_and_writes_files(run, tmp_path):
    code, out, err = run(*ARGUMENTS, "--sources", "10,20", "-o", "out")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split("\t")[:5] == ["method", "sources", "size", "scores", "MDAD"]
    assert len(lines) == 1 + 2 * 2 * 2 * 2 + 2 + 1
    assert lines[-3].startswith("At 5 examples `random` ranks")
    assert lines[-1] == "Report: out/report.html, out/report.md"
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "estimation.csv", "mdad.csv", "pairs.csv", "study.json", "trials.parquet", "report.html",
        "report.md", "figures",
    }  # fmt: skip


def test_study_json_is_the_tables(run):
    code, out, _ = run(*ARGUMENTS, "--json")
    tables = json.loads(out)
    assert code == 0
    assert len(tables["mdad"]) == len(tables["estimation"]) == 8
    assert tables["mdad"][0]["method"] == "random"


def test_study_without_a_report_writes_none(run, tmp_path):
    code, out, _ = run(*ARGUMENTS, "--json", "-o", "out", "--no-report")
    assert code == 0
    json.loads(out)
    assert not (tmp_path / "out" / "report.html").exists()


def test_study_continued_says_so(run):
    run(*ARGUMENTS, "-o", "out", "--no-report")
    code, _, err = run(*ARGUMENTS[:-1], "6", "-o", "out", "--no-report")
    assert (code, err) == (0, "out: continued, 4 of 6 trials were there\n")


def test_study_named_targets_from_a_file(run, tmp_path):
    (tmp_path / "names.txt").write_text("m1\nm2\nm3\n", encoding="utf-8")
    code, out, _ = run("m.parquet", "-m", "random", "-k", "5", "--trials", "3", "--target-mode",
                       "list", "--target-models", "names.txt", "--json")  # fmt: skip
    assert code == 0
    assert json.loads(out)["mdad"][0]["n_pairs"] <= 9


def test_study_subset_checks_a_manifest_and_warns(run, matrix, tmp_path):
    subset = select(matrix, "random", 5)
    named = subset.provenance.model_copy(update={"sources": matrix.models})
    subset.with_(provenance=named).save(tmp_path / "s.json")
    code, out, err = run("m.parquet", "--subset", "s.json")
    assert code == 0
    assert err.startswith("warning: 30 of 30 models are sources of the subset")
    assert out.splitlines()[1].split("\t")[:3] == ["random", "5", "full"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.parquet", "-m", "random", "-k", "5"], "no.parquet: no such file"),
        (["m.parquet", "-k", "5"], "--methods: missing"),
        (["m.parquet", "-m", "random"], "--sizes: missing"),
        (["m.parquet", "-m", "random", "-k", "5,x"], "--sizes: '5,x'; give whole numbers"),
        (["m.parquet", "-m", "randon", "-k", "5"], "unknown method 'randon'; did you mean random"),
        (["m.parquet", "-m", "random", "-k", "5", "--targets", "50"], "50 targets of 30 models"),
        (["m.parquet", "-m", "random", "-k", "21", "--targets", "5"], "seen half has 20 items"),
        (["m.parquet", "--subset", "a.json", "-m", "random"], "--subset: checks one subset"),
        (["m.parquet", "--subset", "a.json"], "a.json: no such manifest"),
    ],
)
def test_study_wrong_input_is_one_line(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert any(part in err for part in message.split("|"))
    assert err.count("\n") == 1
