"""init: what is guessed of small tasks, and what is refused."""

import json

import pytest
import yaml
from own import TASK, make_task
from typer.testing import CliRunner

from lm_microbench.benchmark import Benchmark
from lm_microbench.cli import app
from lm_microbench.drafts import draft
from lm_microbench.items import ItemTable

SHUFFLED = """
import random

def shuffled(dataset):
    def change(document):
        choices = list(document["choices"])
        random.shuffle(choices)
        return {"choices": choices}
    return dataset.map(change, load_from_cache_file=False)
"""


@pytest.fixture
def tasks(tmp_path):
    make_task(tmp_path / "tasks")
    return tmp_path / "tasks"


def add(tasks, name, code="", **changes):
    """Write another task on the same data; None takes a key away, `code` is a line of YAML."""
    config = yaml.safe_load((tasks / "mytask.yaml").read_text()) | {"task": name} | changes
    config = {key: value for key, value in config.items() if value is not None}
    (tasks / f"{name}.yaml").write_text(yaml.safe_dump(config) + code)
    return name


def group(tasks, name, leaves):
    (tasks / f"{name}.yaml").write_text(yaml.safe_dump({"group": name, "task": leaves}))
    return name


def test_draft_of_a_task_guesses_subject_text_metric_and_folder(tasks, tmp_path):
    found = draft(TASK, tmp_path / "my", include=tasks)
    assert (found.n_items, found.subtasks) == (60, ("apples", "pears"))
    assert found.metrics == ("acc", "acc_norm")
    benchmark = found.benchmark
    assert benchmark.subtask.field == "topic"
    assert benchmark.item.hash == ("question", "choices", "topic")
    assert benchmark.content == ("question", "choices", "answer", "topic", "number")
    assert (benchmark.metric, benchmark.filter) == ("acc", "none")
    assert benchmark.folder == "../tasks"


def test_draft_of_a_group_takes_its_tasks_as_subtasks(tasks, tmp_path):
    leaves = [add(tasks, "quiz_easy"), add(tasks, "quiz_hard")]
    found = draft(group(tasks, "quiz", leaves), tmp_path, include=tasks)
    assert found.benchmark.subtask.task_prefix == "quiz_"
    assert found.subtasks == ("easy", "hard")
    assert found.n_items == 120


def test_draft_written_and_read_is_the_same_and_takes_the_wanted_metric(tasks, tmp_path):
    found = draft(TASK, tmp_path, include=tasks, metric="acc_norm")
    (tmp_path / "benchmark.yaml").write_text(found.to_yaml())
    assert Benchmark.read(tmp_path / "benchmark.yaml") == found.benchmark
    assert found.benchmark.metric == "acc_norm"
    assert found.benchmark.folder == "./tasks"


def test_draft_of_choices_shuffled_at_each_loading_is_refused(tasks, tmp_path):
    (tasks / "shuffle.py").write_text(SHUFFLED)
    name = add(tasks, "lottery", "process_docs: !function shuffle.shuffled\n")
    with pytest.raises(ValueError, match=r"lottery: document \d+ of lottery is another each time"):
        draft(name, tmp_path, include=tasks)


def test_draft_of_a_group_whose_tasks_cannot_run_as_one_is_refused(tasks, tmp_path):
    generated = {"output_type": "generate_until", "doc_to_choice": None}
    scored = {"doc_to_target": "{{choices[0]}}", "metric_list": [{"metric": "exact_match"}]}
    other = add(tasks, "essay", **generated, **scored)
    with pytest.raises(ValueError, match="both: its tasks differ in output types"):
        draft(group(tasks, "both", [TASK, other]), tmp_path, include=tasks)


def test_draft_without_a_metric_that_is_a_mean_is_refused(tasks, tmp_path):
    name = add(tasks, "rolling", metric_list=[{"metric": "f1", "aggregation": "f1"}])
    with pytest.raises(ValueError, match="no metric is a mean over items"):
        draft(name, tmp_path, include=tasks)


def test_draft_with_an_unknown_metric_or_filter_names_those_there_are(tasks, tmp_path):
    with pytest.raises(KeyError, match="unknown metric 'acc_nrm'; did you mean acc_norm"):
        draft(TASK, tmp_path, include=tasks, metric="acc_nrm")
    with pytest.raises(KeyError, match="unknown filter 'strict'; known: none"):
        draft(TASK, tmp_path, include=tasks, filter_name="strict")


def test_draft_from_a_folder_that_is_missing_is_one_line(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere: no such folder"):
        draft(TASK, tmp_path, include=tmp_path / "nowhere")


def test_init_writes_both_files_once_and_refuses_known_names(tasks, tmp_path):
    def init(*arguments):
        return CliRunner().invoke(app, ["init", *map(str, arguments)])

    my = tmp_path / "my"
    assert init(TASK, "--include-path", tasks, "-o", my).exit_code == 0
    assert len(ItemTable.load(my / "items.parquet").items) == 60
    again = init(TASK, "--include-path", tasks, "-o", my)
    assert "benchmark.yaml: exists" in str(again.exception)
    known = init("microdemo", "-o", tmp_path / "other")
    assert "microdemo: is known already" in str(known.exception)
    assert not (tmp_path / "other").exists()


def test_items_of_a_field_that_is_absent_in_one_document_leave_it_out(tasks, tmp_path):
    path = tasks / "mytask.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    del lines[0]["topic"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = draft(TASK, tmp_path, include=tasks)
    # The data set fills the gap with null, so the field is there but is no text in every document.
    assert found.benchmark.item.hash == ("question", "choices")
    assert found.benchmark.subtask.task_prefix == ""
    assert found.subtasks == (TASK,)
