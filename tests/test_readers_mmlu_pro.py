"""Dumps of the MMLU-Pro project: every oddity has a small file made for it."""

import gzip
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import yaml

from lm_microbench.benchmark import BENCHMARK_FILE, ITEMS_FILE, Benchmark
from lm_microbench.items import ItemTable
from lm_microbench.readers import ConflictError, Rules, collect, read_mmlu_pro

OPTIONS = ["one", "two", "three", "four"]
# (question_id, category, question, answer): 14 is a copy of 12.
QUESTIONS = [
    (10, "math", "What is ten?", "A"),
    (12, "math", "What is twelve?", "B"),
    (14, "math", "What is twelve?", "B"),
    (20, "law", "What is law?", "C"),
]


@pytest.fixture
def toy(tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    described = {
        "base": "toy_pro",
        "subtask": {"field": "category"},
        "item": {"field": "question_id"},
        "content": ["question", "options", "answer"],
        "metric": "exact_match",
    }
    (folder / BENCHMARK_FILE).write_text(yaml.safe_dump(described))
    benchmark = Benchmark.read(folder / BENCHMARK_FILE)
    docs = [
        {"question_id": i, "category": c, "question": q, "options": OPTIONS, "answer": a}
        for i, c, q, a in QUESTIONS
    ]
    ItemTable.of(benchmark.locate("toy_pro", docs)).save(folder / ITEMS_FILE)
    return benchmark


def record(i, pred, answer=None, **more):
    question_id, category, _, key = QUESTIONS[i]
    return {
        "question_id": question_id, "answer": answer or key, "category": category, "pred": pred
    } | more  # fmt: skip


def write(folder, model, entries, shots=5):
    path = folder / f"model_outputs_{model}_{shots}shots.json.gz"
    path.write_bytes(gzip.compress(json.dumps(entries).encode()))
    return path


RIGHT = [record(i, QUESTIONS[i][3]) for i in range(4)]


def read(paths, toy, **rules):
    return read_mmlu_pro(paths, toy, rules=Rules(**{"min_coverage": 0, **rules}))


def test_read_mmlu_pro_scores_are_pred_equals_key_in_any_order(toy, tmp_path):
    entries = [record(3, "C"), record(0, "B"), record(2, "B"), record(1, "A")]
    matrix, report = read([write(tmp_path, "m", entries)], toy)
    assert matrix.models == ("m",)
    assert matrix.items == ("math/10", "math/12", "math/14", "law/20")
    assert matrix.scores.tolist() == [[0, 0, 1, 1]]
    assert report.models[0].settings["num_fewshot"] == "5"


def test_read_mmlu_pro_bare_strings_between_records_are_skipped_and_counted(toy, tmp_path):
    path = write(tmp_path, "m", [RIGHT[0], "junk", *RIGHT[1:], "more"])
    matrix, report = read([path], toy)
    assert matrix.scores.tolist() == [[1, 1, 1, 1]]
    assert report.files[0].rejected == {"no record (a str without question_id)": 2}


def test_read_mmlu_pro_missing_questions_are_missing_and_both_accuracies_told(toy, tmp_path):
    entries = [record(0, "A"), record(1, "A"), RIGHT[2]]
    matrix, report = read([write(tmp_path, "m", entries)], toy)
    assert np.isnan(matrix.scores[0, 3])
    # 2 of the 3 that exist; 2 of 4 if a missing answer is wrong.
    assert report.models[0].accuracy == pytest.approx(2 / 3)
    assert report.models[0].accuracy_of_all == 0.5
    assert "nothing of law" in report.summary()
    with pytest.raises(ValueError, match=r"0\.7500"):
        read([write(tmp_path, "m", entries)], toy, min_coverage=1)


@pytest.mark.parametrize(("rule", "score"), [("wrong", 0), ("drop", np.nan), ("guess", 0.25)])
def test_read_mmlu_pro_null_pred_follows_the_rule(toy, tmp_path, rule, score):
    entries = [record(i, None if i == 1 else "A", options=OPTIONS) for i in range(4)]
    matrix, report = read([write(tmp_path, "m", entries)], toy, null=rule)
    np.testing.assert_array_equal(matrix.scores, np.array([[1, score, 0, 0]], dtype=np.float32))
    assert matrix.metadata["rules"]["null"] == rule
    assert report.files[0].counts["pred is null"] == 1


def test_read_mmlu_pro_guess_without_options_asks_for_the_questions(toy, tmp_path):
    path = write(tmp_path, "m", [record(0, None), *RIGHT[1:]])
    with pytest.raises(ValueError, match="--questions"):
        read([path], toy, null="guess")
    rows = {"question_id": [10], "category": ["math"], "options": [OPTIONS]}
    pd.DataFrame(rows).to_parquet(tmp_path / "q.parquet")
    matrix, _ = read_mmlu_pro(
        [path], toy, rules=Rules(null="guess"), questions=tmp_path / "q.parquet"
    )
    assert matrix.scores[0, 0] == 0.25


def test_read_mmlu_pro_wrong_questions_are_named(toy, tmp_path):
    path, questions = write(tmp_path, "m", RIGHT), tmp_path / "q.parquet"
    questions.write_text("no Parquet")
    with pytest.raises(ValueError, match=r"q\.parquet: cannot be read as Parquet"):
        read_mmlu_pro([path], toy, questions=questions)
    pd.DataFrame({"question_id": [10], "category": ["math"]}).to_parquet(questions)
    with pytest.raises(ValueError, match=r"q\.parquet: no column 'options'"):
        read_mmlu_pro([path], toy, questions=questions)


@pytest.mark.parametrize(
    ("pred", "told"),
    [("J", "pred is none of the item's options (wrong)"), ("AB", "pred is no letter (wrong)")],
)
def test_read_mmlu_pro_pred_outside_the_options_is_wrong_and_counted(toy, tmp_path, pred, told):
    entries = [record(0, pred, options=OPTIONS), *RIGHT[1:]]
    matrix, report = read([write(tmp_path, "m", entries)], toy)
    assert matrix.scores[0, 0] == 0
    assert report.files[0].counts == {told: 1}


def test_read_mmlu_pro_majority_of_the_answer_keys_wins_and_is_told(toy, tmp_path):
    other = [record(0, "D", answer="D"), *RIGHT[1:]]
    paths = [write(tmp_path, f"m{i}", entries) for i, entries in enumerate([RIGHT, RIGHT, other])]
    matrix, report = read(paths, toy)
    assert matrix.scores[:, 0].tolist() == [1, 1, 0]
    assert report.notes == [
        "math/10: the answer keys differ (A in 2 files, D in 1 files); the first counts"
    ]


def test_read_mmlu_pro_answer_keys_without_a_majority_are_a_conflict(toy, tmp_path):
    paths = [write(tmp_path, "m", RIGHT), write(tmp_path, "n", [record(0, "D", "D"), *RIGHT[1:]])]
    with pytest.raises(ConflictError, match="none leads"):
        read(paths, toy)
    assert np.isnan(read(paths, toy, conflict="drop")[0].scores[:, 0]).all()


def test_read_mmlu_pro_same_question_twice_is_a_duplicate_or_a_conflict(toy, tmp_path):
    _, report = read([write(tmp_path, "m", [*RIGHT, RIGHT[0]])], toy)
    assert report.models[0].subtasks["math"].duplicate == 1
    with pytest.raises(ConflictError, match="two scores"):
        read([write(tmp_path, "m", [*RIGHT, record(0, "C")])], toy)


def test_read_mmlu_pro_copies_of_a_question_are_two_items_unless_merged(toy, tmp_path):
    path = write(tmp_path, "m", [RIGHT[0], record(1, "A"), RIGHT[2], RIGHT[3]])
    assert read([path], toy)[0].n_items == 4
    merged, report = read([path], toy, merge_duplicates=True)
    assert merged.items == ("math/10", "math/12", "law/20")
    assert merged.scores.tolist() == [[1, 0.5, 1]]  # one of two copies right
    assert report.notes == ["1 items merged with one of the same content"]


def test_read_mmlu_pro_other_question_under_a_known_id_sets_the_dump_aside(toy, tmp_path):
    changed = record(0, "A", question="Another?", options=OPTIONS)
    paths = [write(tmp_path, "m", [changed, *RIGHT[1:]]), write(tmp_path, "n", RIGHT)]
    matrix, report = read(paths, toy)
    assert matrix.models == ("n",)
    assert "content of the document differs" in report.notes[0]
    assert read(paths, toy, changed="drop")[0].models == ("m", "n")


def test_read_mmlu_pro_own_question_with_another_key_is_joined(toy, tmp_path):
    own = record(0, "D", answer="D", question="What is ten?", options=OPTIONS)
    matrix, _ = read([write(tmp_path, "m", [own, *RIGHT[1:]])], toy)
    assert matrix.scores[0, 0] == 1


def test_read_mmlu_pro_zip_and_json_are_read(toy, tmp_path):
    with zipfile.ZipFile(tmp_path / "model_outputs_z_5shots.zip", "w") as archive:
        archive.writestr("model_outputs_z_5shots.json", json.dumps(RIGHT, indent=4))
    (tmp_path / "model_outputs_j_0shots.json").write_text(json.dumps(RIGHT))
    matrix, _ = collect([tmp_path], toy)
    assert matrix.models == ("j", "z")
    assert matrix.scores.min() == 1


def test_read_mmlu_pro_other_benchmark_is_one_clear_line(tmp_path):
    import make_runs

    with pytest.raises(ValueError, match="--benchmark mmlu_pro"):
        read([write(tmp_path, "m", RIGHT)], make_runs.make_benchmark(tmp_path / "other"))


@pytest.mark.shared
def test_read_mmlu_pro_published_dump_has_its_published_accuracy(shared):
    from lm_microbench.benchmark import load_benchmark

    names = ("DeepSeek-Coder-V2", "Meta-Llama-3_1-8B-Instruct")
    folder = shared / "data" / "mmlu_pro" / "eval_results"
    paths = [folder / f"model_outputs_{name}_5shots.json.gz" for name in names]
    matrix, report = read_mmlu_pro(
        paths, load_benchmark("mmlu_pro"), rules=Rules(min_coverage=0, conflict="newest")
    )
    assert (matrix.n_models, matrix.n_items) == (2, 12032)
    assert report.models[0].total("found") + report.models[0].total("missing") == 12032
    assert round(report.models[0].accuracy, 3) == 0.636
    assert round(report.models[0].accuracy_of_all, 3) == 0.547
    assert report.files[0].rejected == {"no record (a str without question_id)": 43}
