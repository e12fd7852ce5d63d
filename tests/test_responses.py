"""ResponseMatrix: checks, means, joins, and the way to disk and back."""

import copy
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lm_microbench.responses import ResponseMatrix

NAN = np.nan


def matrix(scores=((1, 0, NAN), (0.5, NAN, NAN)), models=("a", "b"), items=("x", "y", "z"), **kw):
    return ResponseMatrix(scores, models, items, kw.pop("subtasks", ("s", "s", "t")), **kw)


def same(one, other):
    np.testing.assert_array_equal(one.scores, other.scores)
    assert (one.confidence is None) == (other.confidence is None)
    if one.confidence is not None:
        np.testing.assert_array_equal(one.confidence, other.confidence)
    for name in ("models", "items", "subtasks", "metadata"):
        assert getattr(one, name) == getattr(other, name)


def test_accuracy_and_coverage_leave_missing_answers_out():
    # a: (1 + 0) / 2 of 2 answers in 3; b: 0.5 of 1 answer; c: none.
    m = matrix([[1, 0, NAN], [0.5, NAN, NAN], [NAN] * 3], "abc")
    np.testing.assert_array_equal(m.accuracy(), [0.5, 0.5, NAN])
    np.testing.assert_allclose(m.coverage(), [2 / 3, 1 / 3, 0])


def test_accuracy_of_many_items_is_not_rounded_to_float32():
    # 2 ** 24 is the last whole number that float32 counts to; 0.1 is rounded once, not n times.
    m = ResponseMatrix(np.full((1, 100_000), 0.1), "a", [str(i) for i in range(100_000)],
                       ["s"] * 100_000)  # fmt: skip
    assert m.accuracy()[0] == pytest.approx(float(np.float32(0.1)), abs=1e-12)


def test_matrix_is_immutable_and_does_not_share_the_callers_array():
    given = np.zeros((2, 3), np.float32)
    m = matrix(given)
    given[0, 0] = 1
    assert m.scores[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        m.scores[0, 0] = 1
    with pytest.raises(AttributeError):
        m.models = ("c",)
    with pytest.raises(TypeError):
        m.metadata["k"] = 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [[1, 0]]}, r"scores: shape \(1, 2\), but there are 2 models and 3 items"),
        ({"scores": [[1, 0, 0], [0, 75, 0]]}, r"scores: 75.0 \(model 1, item 1\).*not points"),
        ({"scores": [[1, 0, 0], [0, -1, 0]]}, "-1.0"),
        ({"scores": [[1, 0, 0], [0, np.inf, 0]]}, "inf"),
        ({"confidence": [[2, 0, 0], [0, 0, 0]]}, "confidence: 2.0"),
        ({"confidence": [[0, 0, 0]]}, "confidence: shape"),
        ({"subtasks": ("s",)}, "subtasks: 1 for 3 items"),
        ({"models": ("a", "a")}, "models: 'a' occurs twice"),
        ({"items": ("x", "y", "x")}, "items: 'x' occurs twice"),
        ({"items": ("x", "y", "")}, "items: a name is empty"),
        ({"models": ("a", "item")}, "models: 'item' is the name of a column"),
        ({"models": ("a", "subtask")}, "models: 'subtask' is the name of a column"),
        ({"models": ("a", "confidence:a")}, "models: 'confidence:a' is the name of a column"),
    ],
)
def test_matrix_wrong_field_is_one_line(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        matrix(**change)
    assert "\n" not in str(caught.value)


def test_take_gives_the_named_ones_in_the_order_asked():
    m = matrix(confidence=[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], metadata={"k": 1}).take(
        models=["b"], items=["z", "x"]
    )
    assert (m.models, m.items, m.subtasks) == (("b",), ("z", "x"), ("t", "s"))
    np.testing.assert_array_equal(m.scores, [[NAN, 0.5]])
    np.testing.assert_array_equal(m.confidence, np.float32([[0.6, 0.4]]))
    assert m.metadata == {"k": 1}


@pytest.mark.parametrize("wanted", [["x", "z"], [0, 2], [0, -1], np.array([True, False, True])])
def test_take_names_positions_and_masks_say_the_same(wanted):
    same(matrix().take(items=wanted), matrix().take(items=["x", "z"]))


def test_by_name_sorts_models_and_items_with_their_answers():
    mixed = matrix(((1, 0, 0.5), (0.5, 1, 0)), ("b", "a"), ("z", "x", "y"))
    found = mixed.by_name()
    assert (found.models, found.items) == (("a", "b"), ("x", "y", "z"))
    assert found.scores.tolist() == [[1, 0, 0.5], [0, 0.5, 1]]
    assert found.by_name() is found


def test_fingerprint_is_of_names_and_numbers_only():
    first = matrix().fingerprint()
    assert matrix(metadata={"k": 1}).fingerprint() == first
    assert matrix(models=("a", "c")).fingerprint() != first
    assert matrix(((1, 0, NAN), (0.5, NAN, 0))).fingerprint() != first
    assert matrix(confidence=matrix().scores).fingerprint() != first


def test_take_nothing_gives_an_empty_matrix():
    m = matrix().take(models=[], items=np.zeros(3, bool))
    assert (m.n_models, m.n_items, m.accuracy().shape) == (0, 0, (0,))


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        (["x", "xx"], KeyError, "unknown item 'xx'; did you mean x"),
        (np.array([True, False]), ValueError, r"a mask of shape \(2,\) for 3 items"),
        ([0, 3], ValueError, "outside the 3 items"),
        ([-4], ValueError, "outside the 3 items"),
        (["x", "x"], ValueError, "'x' occurs twice"),
    ],
)
def test_take_wrong_items_is_one_line(wanted, error, message):
    with pytest.raises(error, match=message):
        matrix().take(items=wanted)


def test_join_puts_items_together_by_name_and_leaves_gaps_unanswered():
    one = matrix(metadata={"k": 1, "o": 1})
    other = ResponseMatrix([[1, 0]], ("c",), ("w", "x"), ("t", "s"), [[0.5, 0.25]], {"k": 2})
    m = one.join(other)
    assert (m.models, m.items) == (("a", "b", "c"), ("x", "y", "z", "w"))
    assert m.subtasks == ("s", "s", "t", "t")
    np.testing.assert_array_equal(
        m.scores, [[1, 0, NAN, NAN], [0.5, NAN, NAN, NAN], [0, NAN, NAN, 1]]
    )
    np.testing.assert_array_equal(m.confidence, [[NAN] * 4, [NAN] * 4, [0.25, NAN, NAN, 0.5]])
    assert m.metadata == {"k": 1, "o": 1}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"models": ("b", "c")}, "model 'b' is in both"),
        ({"models": ("c", "d"), "items": ("p", "q", "r")}, "share no item"),
        ({"models": ("c", "d"), "subtasks": ("s", "t", "t")}, "item 'y' is in 's' and in 't'"),
    ],
)
def test_join_what_does_not_fit_is_refused(other, message):
    with pytest.raises(ValueError, match=message):
        matrix().join(matrix(**other))


UNUSUAL = ("größer/Modell-7B", "a,b=c", "model#2", "模型", "item2", "a.b\"'\\")


@pytest.mark.parametrize("known", [False, True])
def test_save_and_load_give_the_same_back(tmp_path, known):
    rng = np.random.default_rng(0)
    scores = rng.random((6, 4), dtype=np.float32)
    scores[rng.random(scores.shape) < 0.3] = NAN
    scores[3] = NAN
    confidence = rng.random((6, 4), dtype=np.float32) if known else None
    m = ResponseMatrix(scores, UNUSUAL, ("s/1", "s/1#2", "t/ü/x", "t/ "), ("s", "s", "t", "t"),
                       confidence, {"runs": [{"path": "ü"}]})  # fmt: skip
    m.save(tmp_path / "m.parquet")
    same(ResponseMatrix.load(tmp_path / "m.parquet"), m)


def test_save_and_load_of_no_models_and_of_no_items(tmp_path):
    for m in (matrix().take(models=[]), matrix().take(items=[])):
        m.save(tmp_path / "m.parquet")
        same(ResponseMatrix.load(tmp_path / "m.parquet"), m)


def test_save_gives_a_table_that_any_reader_opens(tmp_path):
    matrix().save(tmp_path / "m.parquet")
    rows = pq.read_table(tmp_path / "m.parquet").to_pylist()
    assert rows[0] == {"item": "x", "subtask": "s", "a": 1, "b": 0.5}
    assert rows[1] == {"item": "y", "subtask": "s", "a": 0, "b": None}


def test_pickle_and_copy_give_the_same_back():
    m = matrix(confidence=np.zeros((2, 3)), metadata={"k": 1})
    for other in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m)):  # noqa: S301
        same(other, m)
        assert not other.scores.flags.writeable


def note(**changes):
    return {"schema": 1, "models": ["a"], "confidence": False, "metadata": {}} | changes


def without(key):
    return {k: v for k, v in note().items() if k != key}


COLUMNS = {"item": ["x"], "subtask": ["s"], "a": [1.0]}


@pytest.mark.parametrize(
    ("columns", "described", "message"),
    [
        (COLUMNS, None, "but not a response matrix of lm-microbench"),
        (COLUMNS, b"{", "not a response matrix"),
        (COLUMNS, [1], "not a response matrix"),
        (COLUMNS, without("schema"), "not a response matrix"),
        (COLUMNS, without("confidence"), "not a response matrix"),
        (COLUMNS, note(schema="1"), "not a response matrix"),
        (COLUMNS, note(models="a"), "not a response matrix"),
        (COLUMNS, note(schema=2), "schema 2 is newer than this version reads"),
        (COLUMNS, note(models=["a", "b"]), "'b|\"b"),
        (COLUMNS, note(confidence=True), "confidence:a"),
        (COLUMNS | {"a": [75.0]}, note(), "75.0"),
        (COLUMNS | {"a": ["right"]}, note(), "right"),
        (COLUMNS | {"a": [[1.0]]}, note(), "collect it again"),
        (COLUMNS | {"item": [None]}, note(), "column 'item', row 0: None is not a name"),
        (COLUMNS | {"item": [7]}, note(), "column 'item', row 0: 7 is not a name"),
        ({"item": ["x"] * 2, "subtask": ["s"] * 2, "a": [1.0] * 2}, note(), "'x' occurs twice"),
    ],
)
def test_load_a_file_that_is_not_ours_is_one_line_with_the_path(
    tmp_path, columns, described, message
):
    path = tmp_path / "m.parquet"
    table = pa.table(columns)
    if described is not None:
        text = described if isinstance(described, bytes) else json.dumps(described).encode()
        table = table.replace_schema_metadata({b"lm_microbench": text})
    pq.write_table(table, path)
    with pytest.raises(ValueError, match=message) as caught:
        ResponseMatrix.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_load_cut_short_or_missing_is_one_line_with_the_path(tmp_path):
    path = tmp_path / "m.parquet"
    with pytest.raises(FileNotFoundError, match=r"m\.parquet: no such file"):
        ResponseMatrix.load(path)
    matrix().save(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"m\.parquet: cannot be read as Parquet"):
        ResponseMatrix.load(path)
