"""Tables of responses: layouts, names that are missing, and one line for each wrong input."""

import gzip

import numpy as np
import pandas as pd
import pytest

from lm_microbench.readers import read_responses
from lm_microbench.responses import ResponseMatrix

CSV = "item,subtask,a,b\nx/1,x,1,0\ny/2,y,,0.5\n"
EXPECTED = np.array([[1, np.nan], [0, 0.5]], np.float32)  # models x items


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def check(matrix):
    assert (matrix.models, matrix.items, matrix.subtasks) == (
        ("a", "b"),
        ("x/1", "y/2"),
        ("x", "y"),
    )
    np.testing.assert_array_equal(matrix.scores, EXPECTED)
    assert matrix.confidence is None


def test_read_responses_csv_items_in_rows(tmp_path):
    check(read_responses(write(tmp_path / "m.csv", CSV)))


def test_read_responses_csv_gz(tmp_path):
    path = tmp_path / "M.CSV.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    check(read_responses(path))


def test_read_responses_csv_models_in_rows_takes_subtasks_from_items(tmp_path):
    check(read_responses(write(tmp_path / "m.csv", "model,x/1,y/2\na,1,NA\nb,0,0.5\n")))


def test_read_responses_parquet_any_table(tmp_path):
    frame = pd.DataFrame({"item": ["x/1", "y/2"], "a": [1, None], "b": [0, 0.5]})
    frame.to_parquet(tmp_path / "m.parquet")
    check(read_responses(tmp_path / "m.parquet"))


def test_read_responses_parquet_of_ours_keeps_all(tmp_path):
    matrix = ResponseMatrix(
        EXPECTED, ["a", "b"], ["1", "2"], ["s", "s"], np.full((2, 2), 0.25), {"benchmark": "b"}
    )
    matrix.save(tmp_path / "m.parquet")
    again = read_responses(tmp_path / "m.parquet")
    assert again.metadata == {"benchmark": "b"}
    np.testing.assert_array_equal(again.confidence, matrix.confidence)


def test_read_responses_npz_without_names_makes_them(tmp_path):
    np.savez(tmp_path / "m.npz", y=np.zeros((2, 3), np.int8))
    matrix = read_responses(tmp_path / "m.npz")
    assert matrix.models == ("model-000", "model-001")
    assert matrix.items == ("item-00000", "item-00001", "item-00002")
    assert matrix.subtasks == ("all",) * 3


def test_read_responses_npz_with_names_and_confidence(tmp_path):
    np.savez(
        tmp_path / "m.npz", scores=EXPECTED, models=["a", "b"], items=["x/1", "y/2"],
        subtasks=["p", "q"], confidence=np.full((2, 2), 0.5),
    )  # fmt: skip
    matrix = read_responses(tmp_path / "m.npz")
    assert (matrix.models, matrix.subtasks) == (("a", "b"), ("p", "q"))
    assert matrix.confidence.tolist() == [[0.5, 0.5]] * 2


def test_read_responses_csv_confidence_columns(tmp_path):
    text = "item,subtask,a,confidence:a,b\nx,s,1,0.75,0\n"
    matrix = read_responses(write(tmp_path / "m.csv", text))
    np.testing.assert_array_equal(matrix.confidence, [[0.75], [np.nan]])


def test_read_responses_numbers_as_names_stay_text(tmp_path):
    matrix = read_responses(write(tmp_path / "m.csv", "item,subtask,a\n007,NA,1\n08,NA,0\n"))
    assert (matrix.items, matrix.subtasks) == (("007", "08"), ("NA", "NA"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a CSV file that can be read"),
        ("item,subtask,a\n", "1 models and 0 items; the matrix is empty"),
        ("item,subtask\nx,s\n", "0 models and 1 items; the matrix is empty"),
        ("a,b\n1,0\n", "column `item` or `model` is missing"),
        ("item,subtask,a,a\nx,s,1,0\n", "column 'a' occurs twice"),
        ("item,subtask,a\nx,s,1\nx,s,0\n", "items: 'x' occurs twice"),
        ("item,subtask,a\nx,s,1\ny,s,71.5\n", "line 3, column 'a': 71.5 is outside \\[0, 1\\]"),
        ("item,subtask,a\nx,s,1\ny,s,yes\n", "line 3, column 'a': 'yes' is no number"),
        ("item,subtask,a\nx,s,1\n,s,1\n", "line 3: the item has no name"),
        ("item,subtask,a\nx,s\n", "Expected 3 columns, got 2"),
        ("model,subtask,x\na,s,1\n", "column `subtask` stands beside `model`"),
        ("item,confidence:b,a\nx,1,1\n", "column 'confidence:b' stands without 'b'"),
    ],
)
def test_read_responses_wrong_csv_names_file_and_fault(tmp_path, text, message):
    path = write(tmp_path / "wrong.csv", text)
    with pytest.raises(ValueError, match=rf"wrong\.csv: .*{message}") as error:
        read_responses(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros(3)}, r"holds x \(3,\); give `scores` or `y`"),
        ({"y": np.zeros(3)}, r"holds y \(3,\)"),
        ({"y": np.zeros((2, 2)), "models": ["a", "a"]}, "'a' occurs twice"),
        ({"y": np.zeros((2, 2)), "items": ["a"]}, "2 models and 1 items"),
        ({"y": np.zeros((0, 2))}, "the matrix is empty"),
        ({"y": np.array([["a", "b"]], object)}, "not an NPZ file of plain arrays"),
        ({"y": np.array([["a", "b"]])}, "could not convert"),
    ],
)
def test_read_responses_wrong_npz_names_file_and_fault(tmp_path, arrays, message):
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ValueError, match=rf"m\.npz: .*{message}"):
        read_responses(tmp_path / "m.npz")


@pytest.mark.parametrize("name", ["m.npz", "m.parquet", "m.csv.gz"])
def test_read_responses_broken_file_says_so(tmp_path, name):
    with pytest.raises(ValueError, match=name):
        read_responses(write(tmp_path / name, "not what the name says"))


def test_read_responses_unknown_ending_lists_the_known(tmp_path):
    with pytest.raises(ValueError, match=r"\.csv\.gz, \.csv, \.parquet, \.npz"):
        read_responses(write(tmp_path / "m.xlsx", ""))


def test_read_responses_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"m\.csv: no such file"):
        read_responses(tmp_path / "m.csv")


@pytest.mark.shared
def test_read_responses_gpqa_is_the_papers_matrix(shared):
    matrix = read_responses(shared / "data/gpqa/responses.csv.gz")
    assert (matrix.n_models, matrix.n_items) == (420, 448)
    assert matrix.accuracy().min() > 0.2
