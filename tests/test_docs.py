"""The documentation: blocks marked `<!-- run -->` are run as they stand, in order, page by page."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from lm_eval.tasks import TaskManager
from tiny import make_trainer

BLOCK = re.compile(r"<!-- run -->\n```(bash|python)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^lm-microbench ([a-z]+)", re.MULTILINE)


def blocks(page):
    """Return language and text of every marked block of a page."""
    return BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))


def run_bash(text, folder, **variables):
    """Run a block as a user would and return what it printed."""
    paths = [Path(sys.executable).parent, os.environ["PATH"]]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(map(str, paths)),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        **variables,
    }
    command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(
        command, cwd=folder, env=environment, timeout=900, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def run_page(page, folder, monkeypatch, capsys):
    """Run every marked block of a page in a folder and return what each printed."""
    monkeypatch.chdir(folder)
    said = []
    for language, text in blocks(page):
        if language == "bash":
            said.append(run_bash(text, folder))
            continue
        capsys.readouterr()
        exec(text, {})
        said.append(capsys.readouterr().out)
    return said


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the folder of a tiny model."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    trainer = make_trainer(folder.parent / "train", steps=1)
    trainer.save_model(folder)
    return str(folder)


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


@needs_bash
def test_own_benchmarks_page_leads_from_logs_to_a_task_that_runs(tmp_path, model):
    from own import TASK, make_runs, make_task

    make_task(tmp_path / "mytasks")
    make_runs(tmp_path / "mytasks", tmp_path / "runs")
    said = [run_bash(text, tmp_path, MODEL=model) for _, text in blocks("own_benchmarks")]
    described, collected, built, checked, used = said
    assert "60 items, 2 subtasks\nmetric acc (of acc, acc_norm)" in described
    assert "subtask: {field: topic}" in described
    assert "responses.parquet: 8 models, 60 items" in collected
    assert f"{TASK}_micro25_irt: 25 of 60 items in my" in built
    assert "irt\t25\t41.67 %\tinside" in checked
    assert "full_estimate" in used
    assert f"{TASK}_micro25_irt" in used
    # Without the variable, as lm_eval's --include_path finds it.
    manager = TaskManager(include_defaults=False, include_path=str(tmp_path / "my"))
    [task] = manager.load([f"{TASK}_micro25_irt"])["tasks"].values()
    assert len(task.eval_docs) == 25


@needs_bash
def test_checkpoints_page_evaluates_a_training_run(tmp_path, monkeypatch):
    from transformers import Trainer

    # Spares what lm_eval spends on the list of installed packages, seconds each time.
    monkeypatch.setattr("lm_eval.evaluator.add_env_info", lambda results: None)
    (language, code), (_, watch) = blocks("checkpoints")
    assert language == "python"
    made = make_trainer(tmp_path / "out", save_strategy="steps", save_steps=2, steps=2)
    names = {"Trainer": Trainer, "model": made.model, "arguments": made.args,
             "dataset": made.train_dataset, "tokenizer": made.processing_class}  # fmt: skip
    exec(code, names)
    logged = [x for x in names["trainer"].state.log_history if any("_estimate" in k for k in x)]
    assert [x["step"] for x in logged] == [2]
    said = run_bash(watch, tmp_path)
    assert "checkpoint-2: microdemo_micro10_stratified" in said
    history = (tmp_path / "out" / "microbench_callback" / "history.csv").read_text()
    assert said.endswith(history), "watch and the callback agree"
    assert (tmp_path / "out" / "microbench_watch" / "history.png").is_file()


@needs_bash
def test_collecting_page_reads_a_table_and_its_report(tmp_path):
    (_, collect), (language, code) = blocks("collecting")
    assert "responses.parquet: 33 models, 600 items" in run_bash(collect, tmp_path)
    assert language == "python"
    said = run_bash(f"python - <<'END'\n{code}\nEND", tmp_path)
    assert re.search(r"base\s+full\s+1\.0\s+0\.635", said)


@needs_bash
def test_choosing_a_size_page_gives_both_directions(tmp_path, monkeypatch, capsys):
    sizes, difference, own = run_page("choosing_a_size", tmp_path, monkeypatch, capsys)
    assert "3 points right" in sizes
    assert "To order models within the range of the sources 3 points apart rightly" in sizes
    page = (ROOT / "docs" / "choosing_a_size.md").read_text(encoding="utf-8")
    [quoted] = re.findall(r"no size below \d+ does", page)
    assert quoted in sizes
    assert "With 25 examples models above the sources are ordered rightly" in difference
    assert "predictive\t25\t4.17 %\tabove" in own


@needs_bash
def test_reliability_page_checks_methods_and_single_subsets(tmp_path, monkeypatch, capsys):
    _, studied, fixed, own, built = run_page("is_my_subset_reliable", tmp_path, monkeypatch, capsys)
    for word in ("MDAD", "sustained", "wrong<2", "seen", "unseen"):
        assert word in studied, word
    assert (tmp_path / "study_top" / "report.html").is_file()
    assert "At 25 examples `random` ranks" in fixed
    assert "kendall_tau" in own
    for key in ("inside", "above", "error_rms", "difference_rms", "agreement", "mdad"):
        assert f'"{key}"' in built, key


def test_methods_page_describes_every_method(tmp_path, monkeypatch, capsys):
    from lm_microbench.methods import REGISTRY

    [said] = run_page("methods", tmp_path, monkeypatch, capsys)
    assert len(said.splitlines()) == len(REGISTRY)
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in REGISTRY)


def test_links_of_pages_lead_to_files():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_pages_name_only_commands_that_exist():
    from lm_microbench.cli import app

    known = {x.name or x.callback.__name__ for x in app.registered_commands}
    for page in (ROOT / "docs").glob("*.md"):
        assert set(COMMAND.findall(page.read_text(encoding="utf-8"))) <= known, page
