"""MicroTask over bases with random shots, repeats, several filters and mixed leaves."""

import pytest
from harness import evaluate, evaluate_on_ranks
from test_task import assert_same

from lm_microbench.benchmark import ITEMS_FILE, Benchmark
from lm_microbench.build import build
from lm_microbench.leaves import item_table
from lm_microbench.methods import get_method
from lm_microbench.registry import write_task

UTILS = """
from datasets import Dataset


def load(n=40, word="add", **_):
    pairs = [(i, i * i % 7) for i in range(n)]
    rows = [{"question": f"{word} {i} and {j}", "answer": str(i + j)} for i, j in pairs]
    return {"test": Dataset.from_list(rows), "train": Dataset.from_list(rows[:9])}
"""
LEAF = """
task: {name}
custom_dataset: !function utils.load
dataset_kwargs: {{n: {n}, word: {word}}}
test_split: test
fewshot_split: {shots_from}
num_fewshot: {shots}
output_type: generate_until
doc_to_text: "Q: {{{{question}}}}\\nA:"
doc_to_target: answer
repeats: 2
generation_kwargs: {{until: ["Q"], do_sample: false}}
filter_list:
  - name: first
    filter: [{{function: take_first}}]
  - name: digits
    filter: [{{function: regex, regex_pattern: "([0-9]+)"}}, {{function: take_first}}]
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1.0}}
"""
BENCHMARK = """
base: toysum
subtask: {task_prefix: toysum_}
item: {hash: [question]}
content: [question, answer]
metric: exact_match
filter: first
folder: .
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Return a function that makes a group of two leaf tasks and a micro-task of it."""

    def make(size=9, shots=3, shots_from="train", **other):
        leaves = {"add": 40, "plus": 23}
        (tmp_path / "utils.py").write_text(UTILS)
        for word, n in leaves.items():
            text = LEAF.format(
                name=f"toysum_{word}", n=n, word=word, shots=shots, shots_from=shots_from
            )
            for old, new in other.get(word, {}).items():
                text = text.replace(old, new)
            (tmp_path / f"toysum_{word}.yaml").write_text(text)
        names = "".join(f"\n  - toysum_{word}" for word in leaves)
        (tmp_path / "toysum.yaml").write_text(f"group: toysum\ntask:{names}\n")
        (tmp_path / "benchmark.yaml").write_text(BENCHMARK)
        monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path))
        benchmark = Benchmark.read(tmp_path / "benchmark.yaml")
        item_table(benchmark).save(tmp_path / ITEMS_FILE)
        subset = build(benchmark, get_method("random"), [size], seed=1)[0]
        return tmp_path, write_task(subset, tmp_path).name

    return make


def full_rows(folder, **options):
    samples = evaluate(["toysum"], include=folder, **options)["samples"]
    return {
        (task, row["doc_id"], row["filter"]): row for task, rows in samples.items() for row in rows
    }


def assert_same_in_every_filter(rows, full):
    for name in ("first", "digits"):
        some = [row for row in rows if row["filter"] == name]
        assert_same(some, {key[:2]: row for key, row in full.items() if key[2] == name})


@pytest.mark.parametrize("shots_from", ["train", "test"])
def test_random_shots_are_those_of_the_full_run(toy, shots_from):
    folder, task = toy(shots_from=shots_from)
    rows = evaluate([task], include=folder)["samples"][task]
    assert_same_in_every_filter(rows, full_rows(folder))
    prompts = {row["arguments"][0][0].split("Q: ")[1] for row in rows}
    assert len(prompts) > 3, "the shots differ between documents"


def test_another_seed_of_the_shots_reaches_the_leaves(toy):
    folder, task = toy()
    rows = evaluate([task], include=folder, fewshot_random_seed=7)["samples"][task]
    assert_same_in_every_filter(rows, full_rows(folder, fewshot_random_seed=7))
    other = evaluate([task], include=folder)["samples"][task]
    assert [r["arguments"] for r in rows] != [r["arguments"] for r in other]


def test_random_shots_on_two_ranks_are_those_of_one(toy):
    folder, task = toy()
    ranked = evaluate_on_ranks([task], 2, include=folder)["samples"][task]
    alone = evaluate([task], include=folder)["samples"][task]
    prompts = {row["prompt_hash"] for row in alone}
    assert {row["prompt_hash"] for row in ranked} == prompts


def test_every_filter_has_an_estimate_and_every_request_its_repeats(toy):
    folder, task = toy()
    results = evaluate([task], include=folder)
    assert {"full_estimate,first", "full_estimate,digits"} <= set(results["results"][task])
    assert all(len(row["resps"][0]) == 2 for row in results["samples"][task])


def test_a_leaf_that_fixes_no_shots_keeps_them(toy):
    folder, task = toy(size=30, plus={"num_fewshot: 3": "num_fewshot: 0"})
    for options in ({}, {"num_fewshot": 2}):
        rows = evaluate([task], include=folder, **options)["samples"][task]
        assert_same_in_every_filter(rows, full_rows(folder, **options))


def test_leaves_that_differ_in_output_type_are_refused(toy):
    other = {"output_type: generate_until": "output_type: loglikelihood", "repeats: 2\n": ""}
    folder, task = toy(size=30, plus=other)
    with pytest.raises(ValueError, match="differ in output type or filters"):
        evaluate([task], include=folder)


def test_a_metric_that_a_leaf_lacks_is_refused(toy):
    folder, task = toy()
    text = (folder / "benchmark.yaml").read_text()
    (folder / "benchmark.yaml").write_text(text.replace("metric: exact_match", "metric: acc"))
    with pytest.raises(ValueError, match="toysum_add has no metric 'acc'"):
        evaluate([task], include=folder)
