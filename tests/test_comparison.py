"""Micro runs against full runs: numbers worked out by hand, and wrong input."""

import dataclasses
import math

import numpy as np
import pytest

from lm_microbench.comparison import compare, read_full
from lm_microbench.estimators import mean_estimator
from lm_microbench.folders import own_tasks
from lm_microbench.readers import MicroRun
from lm_microbench.registry import find_subset
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Provenance, Subset

ITEMS = tuple(f"s/{i}" for i in range(8))
# Full scores: a 6/8, b 4/8, c 4/8, d 1/8.
FULL = ResponseMatrix(
    [
        [1, 1, 1, 1, 1, 1, 0, 0],
        [1, 1, 0, 0, 1, 1, 0, 0],
        [0, 1, 1, 0, 1, 0, 1, 0],
        [0, 0, 1, 0, 0, 0, 0, 0],
    ],
    ("a", "b", "c", "d"),
    ITEMS,
    ("s",) * 8,
)
TASK = "toy_micro2_random"


def subset(items=ITEMS[:2], n_items=8):
    return Subset(
        items=items,
        estimator=mean_estimator([0] * len(items), [n_items], [1 / len(items)] * len(items)),
        provenance=Provenance(
            method="random", size=len(items), n_items=n_items, package_version="0"
        ),
    )


def run(model, scores=None, items=ITEMS[:2], date="1", **options):
    source = FULL.take(models=[model], items=items)
    answers = ResponseMatrix([scores], (model,), items, ("s",) * len(items)) if scores else source
    return MicroRun(
        model, TASK, {}, answers, limited=False, date=date, path=f"runs/{model}", **options
    )


def test_compare_of_four_models_gives_the_verdicts_worked_out_by_hand():
    # Estimates on the first two items: a 1, b 1, c 1/2, d 0.
    # a-b: estimates tie; a-c, a-d, b-d, c-d: same order; b-c: full scores tie, no pair.
    result = compare([run(m) for m in "abcd"], {TASK: subset()}, FULL)
    verdicts = {(x.model_a, x.model_b): x.verdict for x in result.pairs.itertuples()}
    assert verdicts == {
        ("a", "b"): "tied in the estimate",
        ("a", "c"): "same order",
        ("a", "d"): "same order",
        ("b", "c"): "tied in the full run",
        ("b", "d"): "same order",
        ("c", "d"): "same order",
    }
    summary = result.summary.iloc[0]
    assert (summary["n_models"], summary["n_pairs"]) == (4, 5)
    assert summary["agreement"] == pytest.approx(4 / 5)
    # |1 - .75| + |1 - .5| + |.5 - .5| + |0 - .125| over 4
    assert summary["error"] == pytest.approx((0.25 + 0.5 + 0 + 0.125) / 4)
    # Ties in one of each: (4 - 0) / sqrt(5 * 5)
    assert summary["kendall_tau"] == pytest.approx(4 / 5)
    assert math.isnan(summary["mdad"]), "five pairs are too few"
    bins = {x.difference: (x.pairs, x.agreement) for x in result.bins.itertuples()}
    assert bins == {0.25: (2, 0.5), 0.375: (2, 1.0), 0.625: (1, 1.0)}


def test_compare_gives_the_standard_error_of_the_design():
    result = compare([run("c")], {TASK: subset()}, FULL)
    # s^2 = 1/2 of the answers 0 and 1; sqrt((1 - 2/8) * (1/2) / 2)
    assert result.models["standard_error"][0] == pytest.approx(math.sqrt(0.75 * 0.5 / 2))


def test_compare_takes_a_repeated_equal_run_once_and_leaves_a_limited_one_out():
    limited = MicroRun("d", TASK, {}, FULL.take(models=["d"], items=ITEMS[:2]), limited=True)
    result = compare([run("a"), run("a", date="2"), run("b"), limited], {TASK: subset()}, FULL)
    assert sorted(result.models["model"]) == ["a", "b"]
    assert "left out" in result.notes[0]


def test_compare_leaves_a_run_out_whose_file_is_cut_off_and_says_so():
    cut = run("c", items=ITEMS[:1])
    result = compare([run("a"), run("b"), cut], {TASK: subset()}, FULL)
    assert sorted(result.models["model"]) == ["a", "b"]
    assert "runs/c: the samples file of toy_micro2_random holds 1 of 2 items" in result.notes[0]
    with pytest.raises(ValueError, match="of a part of its items: runs/c"):
        compare([cut], {TASK: subset()}, FULL)


def test_compare_of_a_model_with_an_incomplete_full_run_makes_no_pair():
    scores = FULL.scores.copy()
    scores[0, 7] = np.nan
    full = ResponseMatrix(scores, FULL.models, ITEMS, FULL.subtasks)
    result = compare([run("a"), run("b"), run("d")], {TASK: subset()}, full)
    assert result.summary["n_pairs"][0] == 1
    assert any("the full run of a lacks answers" in note for note in result.notes)


def test_compare_of_two_runs_that_disagree_is_refused():
    with pytest.raises(ValueError, match="two runs of a on toy_micro2_random disagree"):
        compare([run("a"), run("a", scores=[0, 0], date="2")], {TASK: subset()}, FULL)


def test_compare_of_runs_that_share_no_model_is_refused():
    with pytest.raises(ValueError, match="no model has both a micro and a full run"):
        compare([run("a")], {TASK: subset()}, FULL.take(models=["b", "c"]))


def test_compare_of_another_benchmark_is_refused():
    with pytest.raises(ValueError, match=r"1 of its 2 items are not in the full runs.*s/x"):
        compare([run("a")], {TASK: subset(("s/0", "s/x"))}, FULL)


def test_compare_with_a_part_of_the_benchmark_is_refused():
    with pytest.raises(ValueError, match="built from 8 items, but the full runs have 4"):
        compare([run("a")], {TASK: subset()}, FULL.take(items=ITEMS[:4]))


def test_compare_saves_tables_that_read_back(tmp_path):
    import pandas as pd

    result = compare([run(m) for m in "abcd"], {TASK: subset()}, FULL)
    for path in result.save(tmp_path):
        table = getattr(result, path.stem)
        pd.testing.assert_frame_equal(pd.read_csv(path), table, check_dtype=False)


def test_compare_of_micro_runs_alone_gives_probabilities_and_groups():
    result = compare([run(m) for m in "abcd"], {TASK: subset()})
    # Ordered by the estimates 1, 1, 1/2, 0. a-d: differences 1, 1; a-b: tied.
    assert result.models["model"].tolist() == ["a", "b", "c", "d"]
    assert result.models["full_score"].isna().all()
    pairs = {(x.model_a, x.model_b): x for x in result.pairs.itertuples()}
    assert pairs["a", "b"].probability == 0.5
    # v = 0; not seen: (1 - 2/8) * (1/4) * (1 + 2 * 2 / 4) = 3/8; Phi(1 / sqrt(3/8)) = 0.94876
    assert pairs["a", "d"].probability == pytest.approx(0.948764, abs=1e-6)
    assert pairs["a", "d"].verdict == "full score unknown"
    told = [key for key, x in pairs.items() if x.told_apart]
    assert told == [("a", "d"), ("b", "d")]
    assert result.models["groups"].tolist() == ["a", "a", "a b", "b"]
    assert (result.summary["n_pairs"][0], len(result.bins)) == (0, 0)


def test_compare_with_holm_tells_fewer_apart():
    # Six pairs: the first step asks for 1 - 0.1 / 6 = 0.983, more than 0.949.
    result = compare([run(m) for m in "abcd"], {TASK: subset()}, correct="holm")
    assert not result.pairs["told_apart"].any()
    assert result.models["groups"].tolist() == ["a"] * 4
    assert (result.correct, result.probability) == ("holm", 0.9)


def test_compare_keeps_a_model_without_a_full_run():
    result = compare([run("a"), run("d")], {TASK: subset()}, FULL.take(models=["b", "d"]))
    assert result.models["model"].tolist() == ["d", "a"]
    assert result.pairs["probability"][0] == pytest.approx(0.948764, abs=1e-6)
    assert result.notes == (f"{TASK}: a has no full run",)


def test_compare_groups_name_the_best_estimate_first_whatever_the_full_scores():
    # On items 5 and 6 c (full score 4/8) has 1 and a (6/8) has 1/2, d nothing.
    items = ITEMS[4:5] + ITEMS[6:7]
    result = compare(
        [run(m, items=items) for m in "acd"], {TASK: subset(items)}, FULL, probability=0.6
    )
    assert result.models["model"].tolist() == ["a", "c", "d"]
    assert result.models["groups"].tolist() == ["b", "a", "c"]


def test_read_full_joins_matrices_and_names_the_one_that_does_not_fit(tmp_path):
    first = ResponseMatrix([[1, 0]], ["a"], ["x", "y"], ["s"] * 2)
    for name, model in (("a", "a"), ("b", "b"), ("again", "a")):
        matrix = ResponseMatrix(first.scores, [model], first.items, first.subtasks)
        matrix.save(tmp_path / f"{name}.parquet")
    a, b, again = (tmp_path / f"{name}.parquet" for name in ("a", "b", "again"))
    assert read_full([a, b], None).models == ("a", "b")
    with pytest.raises(ValueError, match=r"again\.parquet: join: model 'a' is in both"):
        read_full([a, b, again], None)
    with pytest.raises(ValueError, match="full runs: none is given"):
        read_full([], None)


def test_compare_says_where_confidences_were_to_be_read_and_are_not_known():
    task = "microdemo_micro10_predictive"
    subset = find_subset(task)
    matrix = ResponseMatrix.load(own_tasks() / "microdemo" / "responses.parquet")
    whole = matrix.take(models=matrix.models[:2], items=subset.items)
    half = dataclasses.replace(whole, confidence=None)
    one, two = (x.take(models=[i]) for i, x in enumerate((whole, half)))
    runs = [MicroRun(x.models[0], task, {}, x, False, path=x.models[0]) for x in (one, two)]
    notes = compare(runs, {task: subset}).notes
    assert len(notes) == 1
    assert notes[0].startswith(f"{two.models[0]}: some confidences of {task} are not known")
