"""The demo benchmark: its questions are what its generator writes, and they are well formed."""

import importlib
from collections import Counter

import pyarrow.parquet as pq
import pytest
from conftest import ROOT

DATA = ROOT / "tasks" / "microdemo" / "data"


@pytest.fixture(scope="module")
def questions():
    """Return the generator's module, which lies outside the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks" / "microdemo"))
        yield importlib.import_module("questions")


@pytest.fixture(scope="module")
def rows():
    """Return the questions of the test split that the package ships."""
    return pq.read_table(DATA / "test.parquet").to_pylist()


@pytest.mark.parametrize("split", ["test", "fewshot"])
def test_generate_same_seed_gives_the_shipped_questions(questions, split):
    assert questions.generate()[split] == pq.read_table(DATA / f"{split}.parquet").to_pylist()


def test_write_onto_the_same_questions_changes_nothing(questions, tmp_path):
    assert len(questions.write(tmp_path)) == 2
    assert questions.write(tmp_path) == []


def test_draw_more_than_a_template_can_make_is_an_error(questions):
    # Two places times fewer than 130 words: no 300 different questions.
    with pytest.raises(ValueError, match=r"letter: only \d+ questions of 300"):
        questions.draw("letter", 300, seed=0)


def test_questions_no_text_or_number_comes_twice(rows):
    rows = rows + pq.read_table(DATA / "fewshot.parquet").to_pylist()
    assert len({row["question"] for row in rows}) == len(rows) == 624
    assert len({row["question_id"] for row in rows}) == len(rows)


def test_questions_right_answers_are_spread_evenly_over_positions(rows):
    # 100 questions a subtask over 4 positions.
    counts = Counter((row["subtask"], row["answer"]) for row in rows)
    assert set(counts.values()) == {25}
    assert len(counts) == 24


def test_questions_choices_differ(rows):
    assert all(len(set(row["choices"])) == 4 for row in rows)
