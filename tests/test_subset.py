"""Subset: its manifest on disk, what is refused, and what it estimates."""

import dataclasses
import json

import make_subsets as make
import numpy as np
import pytest

from lm_microbench.estimators import LinearEstimator, mean_estimator
from lm_microbench.folders import own_tasks
from lm_microbench.items import Location
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Documents, Provenance, Subset

ITEMS = ("s/ü 1", "s/ü 1#2", "t/a/b")


def subset(items=ITEMS, **changes):
    fields = {
        "items": items,
        "estimator": mean_estimator([0, 0, 1], [5, 4], [0.25, 0.25, 0.5]),
        "provenance": Provenance(method="random", size=3, n_items=9, package_version="0"),
        "documents": Documents.of(tuple(Location(i, "s", "leaf", n, "00") for n, i in
                                        enumerate(items))),
    }  # fmt: skip
    return Subset(**fields | changes)


def manifest(tmp_path, change):
    """Return the path of a good manifest after `change` was made to its content."""
    raw = json.loads(subset().to_json())
    change(raw)
    path = tmp_path / "s.json"
    path.write_text(json.dumps(raw))
    return path


def test_estimate_and_standard_error_are_the_estimators():
    # 1/4 + 1/2; a single row is one model.
    assert subset().estimate([1, 0, 1]).tolist() == [0.75]
    assert subset().estimate([[1, 0, 1], [0, 0, 0]]).tolist() == [0.75, 0]
    expected = subset().estimator.standard_error([[1, 0, 1]])
    assert subset().standard_error([1, 0, 1]).tolist() == expected.tolist()
    assert subset().weights().tolist() == [0.25, 0.25, 0.5]


def test_estimate_is_clipped_and_the_raw_one_is_not():
    made = subset(estimator=LinearEstimator(intercept=0.5, weights=(1, 0, -1)))
    answers = [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert made.raw_estimate(answers).tolist() == [1.5, -0.5, 0.5]
    assert made.estimate(answers).tolist() == [1, 0, 0.5]


def test_answers_are_scores_or_confidences_in_the_order_of_the_items():
    # Columns of the matrix are in another order than the subset's items.
    matrix = ResponseMatrix(
        scores=[[1, 0, 0, 1]],
        confidence=[[0.5, 0.25, 0.125, 0.75]],
        models=["m"],
        items=["x", *ITEMS[::-1]],
        subtasks=["s"] * 4,
    )
    assert subset().answers(matrix).tolist() == [[1, 0, 0]]
    made = subset(estimator=LinearEstimator(kind="confidence", weights=(1, 0, 1)))
    assert made.answers(matrix).tolist() == [[0.75, 0.125, 0.25]]
    assert Subset.model_validate_json(made.to_json()).estimator.reads == "confidence"
    with pytest.raises(ValueError, match="no confidences, of which the subset's estimate is made"):
        made.answers(dataclasses.replace(matrix, confidence=None))


@pytest.mark.parametrize("scores", [[1, 0], [[1, 0]], np.zeros((3, 1)), np.zeros((1, 1, 3))])
def test_estimate_of_answers_to_another_number_of_items_is_refused(scores):
    with pytest.raises(ValueError, match="give 3 scores, in the order of `items`"):
        subset().estimate(scores)


def test_save_and_load_give_the_same_back_in_plain_text(tmp_path):
    made = subset(reliability=make.reliability(inside={"error_rms": 0.1}))
    made.save(tmp_path / "s.json")
    assert Subset.load(tmp_path / "s.json") == made
    text = (tmp_path / "s.json").read_text(encoding="utf-8")
    assert "s/ü 1#2" in text
    assert json.loads(text)["schema_version"] == 1
    assert len(text.splitlines()) == 2 + len(json.loads(text))


def measured(**changes):
    """Return a reliability as a manifest holds it, with some parts changed."""
    return make.reliability().model_dump(mode="json") | changes


def put(path, value):
    """Return a change that puts a value at a path of keys."""

    def change(raw):
        *keys, last = path
        for key in keys:
            raw = raw[key]
        raw[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(["items", 1], ITEMS[0]), "item 's/ü 1' occurs twice"),
        (put(["items"], ITEMS[::-1]), "items are not sorted"),
        (put(["items"], []), "items: "),
        (put(["items", 0], 5), "items.0: "),
        (put(["items"], ITEMS[:2]), "3 weights for 2 items"),
        (put(["estimator", "weights", 1], float("nan")), "weights.1: .*finite"),
        (put(["estimator", "intercept"], float("inf")), "intercept: .*finite"),
        (put(["estimator", "weights", 1], None), "weights.1: "),
        (put(["estimator", "weights"], [0.5, 0.5]), "3 strata for 2 weights"),
        (put(["estimator", "kind"], "magic"), "magic"),
        (put(["estimator", "design", "strata", 2], 2), "stratum 2 of 2"),
        (put(["estimator", "design", "population", 0], 1), "2 items of stratum 0, which has 1"),
        (put(["documents", "positions", 0], -1), "documents.positions.0: "),
        (put(["documents", "positions"], [1]), "documents.positions: 1 for 3 items"),
        (put(["documents", "tasks"], ["a"] * 4), "documents.tasks: 4 for 3 items"),
        (put(["provenance", "size"], 4), "3 items, but provenance says 4 of 9"),
        (put(["provenance", "n_items"], 2), "provenance says 3 of 2"),
        (put(["provenance", "questions"], []), "provenance.questions: "),
        (put(["extra"], 1), "extra: "),
        (put(["reliability"], {"n_models": 9}), "reliability.source_range: "),
        (put(["reliability"], measured(n_models=0)), "reliability.n_models: "),
        (put(["reliability"], measured(source_range=[0.7, 0.2])), "0.7 to 0.2 is upside down"),
        (put(["reliability"], measured(inside={"error_rms": -1})), "reliability.inside.n_targets"),
        (put(["reliability"], measured(above=None)), "reliability.above: "),
        (put(["schema_version"], 2), "schema_version 2 is newer.*upgrade lm-microbench"),
        (put(["schema_version"], 0), "schema_version 0 is not a whole number from 1 up"),
        (put(["schema_version"], True), "schema_version True is not a whole number"),
        (put(["schema_version"], "1"), "schema_version '1' is not a whole number"),
        (lambda raw: raw.pop("schema_version"), "not a manifest of lm-microbench"),
        (lambda raw: raw.pop("estimator"), "estimator: "),
    ],
)
def test_load_a_wrong_manifest_is_one_line_with_the_path(tmp_path, change, message):
    path = manifest(tmp_path, change)
    with pytest.raises(ValueError, match=message) as caught:
        Subset.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"null"])
def test_load_what_is_no_manifest_is_one_line_with_the_path(tmp_path, content):
    path = tmp_path / "s.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"s\.json: not a ") as caught:
        Subset.load(path)
    assert "\n" not in str(caught.value)


def test_load_a_missing_manifest_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"s\.json: no such manifest"):
        Subset.load(tmp_path / "s.json")


@pytest.mark.parametrize("benchmark", [x.name for x in own_tasks().iterdir() if x.is_dir()])
def test_shipped_manifests_are_written_as_they_were_read(benchmark):
    paths = list((own_tasks() / benchmark).glob("*_micro*.json"))
    assert paths
    for path in paths:
        found = Subset.load(path)
        assert found.reliability.n_models > 1, path.name
        assert found.to_json() == path.read_text(encoding="utf-8"), path.name


def test_manifest_without_measured_reliability_holds_an_empty_one():
    assert json.loads(subset().to_json())["reliability"] == {}
    assert Subset.model_validate_json(subset().to_json()) == subset()


def test_subset_is_immutable_and_a_changed_copy_is_checked_again():
    made = subset()
    with pytest.raises(ValueError, match="frozen"):
        made.items = ()
    measured = make.reliability()
    assert made.with_(reliability=measured).reliability == measured
    assert made.reliability is None
    with pytest.raises(ValueError, match="not sorted"):
        made.with_(items=ITEMS[::-1])
