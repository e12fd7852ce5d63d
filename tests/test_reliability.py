import json

import make_subsets as make
import numpy as np
import pytest

from lm_microbench.estimators import LinearEstimator
from lm_microbench.held_out import Reliability
from lm_microbench.methods import get_method
from lm_microbench.reliability import difference_rms, measure, measure_sizes
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Provenance, Subset


def matrix(n_models=30, n_items=200, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n_models, 1)) - rng.normal(size=n_items)
    scores = rng.random((n_models, n_items)) < 1 / (1 + np.exp(-z))
    return ResponseMatrix(
        scores,
        [f"m{i:02}" for i in range(n_models)],
        [f"i{i:03}" for i in range(n_items)],
        ["s"] * n_items,
    )


def test_measure_all_items_makes_no_error():
    source = matrix()
    found = measure(source, get_method("random"), source.n_items)
    for kind in (found.inside, found.above):
        assert kind.error_rms == kind.error_mean_absolute == 0
        assert kind.agreement == 1


def test_measure_random_is_near_the_error_of_sampling():
    # Mean of 50 of 200 answers: sqrt(p (1 - p) / 50 * (1 - 50 / 200)), about 0.057 at p = 0.4.
    source = matrix(n_models=60)
    p = source.accuracy()
    expected = np.sqrt((p * (1 - p)).mean() / 50 * 150 / 199)
    found = measure(source, get_method("random"), 50, seed=2)
    assert found.inside.error_rms == pytest.approx(expected, rel=0.3)


def test_measure_counts_are_worked_out_by_hand():
    # 30 models: the best and the worst are never inside, whatever the folds. A fold that holds the
    # second best with the best has one target fewer. The best fifth: 6 models, 15 pairs, 3 times.
    found = measure(matrix(), get_method("random"), 20)
    assert found.n_models == 30
    assert 26 <= found.inside.n_targets <= 28
    assert found.inside.n_estimates <= 2 * 28
    assert (found.above.n_targets, found.above.n_estimates) == (6, 18)
    assert found.above.n_pairs <= 3 * 15
    assert found.source_range == (matrix().accuracy().min(), matrix().accuracy().max())


def test_measure_is_the_same_again_and_in_another_order():
    source = matrix()
    other = source.take(models=np.random.default_rng(0).permutation(30))
    method = get_method("irt", dimensions=1)
    first = measure_sizes(source, method, [10, 40], seed=5)
    assert measure_sizes(other, method, [10, 40], seed=5) == first
    text = json.dumps(first[0].model_dump(mode="json"), allow_nan=False)
    assert Reliability.model_validate_json(text) == first[0]


def test_measure_few_models_has_nothing_to_say():
    assert measure(matrix(n_models=4), get_method("random"), 10) is None


def test_measure_model_without_answers_is_left_out():
    scores = matrix().scores.copy()
    scores[3] = np.nan
    source = ResponseMatrix(scores, matrix().models, matrix().items, matrix().subtasks)
    assert measure(source, get_method("random"), 10).n_models == 29


def subset(reliability):
    return Subset(
        items=("a", "b"),
        estimator=LinearEstimator(weights=(0.5, 0.5)),
        provenance=Provenance(method="anchor", size=2, n_items=9, package_version="0"),
        reliability=reliability,
    )


def test_standard_error_above_the_sources_is_the_larger_one():
    inside, above = {"error_rms": 0.05}, {"error_rms": 0.09}
    measured = subset(make.reliability((0.2, 0.6), inside=inside, above=above))
    found = measured.standard_error([[1, 1], [0, 1], [0, 0], [np.nan, np.nan]])
    np.testing.assert_array_equal(found, [0.09, 0.05, 0.05, np.nan])


def test_standard_error_above_the_sources_is_never_the_smaller_one():
    inside, above = {"error_rms": 0.05}, {"error_rms": 0.01}
    measured = subset(make.reliability((0.2, 0.6), inside=inside, above=above))
    assert measured.standard_error([1, 1]).tolist() == [0.05]


def test_standard_error_never_measured_is_nan():
    assert np.isnan(subset(None).standard_error([1, 1])).all()
    assert np.isnan(subset(make.reliability()).standard_error([1, 1])).all()


def test_standard_error_measured_as_nothing_is_zero():
    # Every estimate was right: that is known, and is not "not known".
    found = subset(make.reliability(inside={"error_rms": 0.0}))
    assert found.standard_error([1, 1]).tolist() == [0]


def test_standard_error_p_irt_is_the_larger_of_the_model_and_the_measured_one():
    source = matrix()
    found = get_method("irt", estimate="p-irt", dimensions=1).select(
        source, 20, rng=np.random.default_rng(0)
    )
    answers = source.take(items=found.items).scores[:5]
    own = found.standard_error(answers)
    assert ((own > 0.01) & (own < 0.2)).all()
    large, small = (make.reliability(inside={"error_rms": x}) for x in (0.5, 1e-6))
    assert found.with_(reliability=large).standard_error(answers).tolist() == [0.5] * 5
    np.testing.assert_array_equal(found.with_(reliability=small).standard_error(answers), own)


def test_difference_rms_of_two_splits_is_worked_out_by_hand():
    # Split 1: errors 0, 1, 3, differences 1, 3, 2: squares 1 + 9 + 4. Split 2: one pair, no error.
    errors = np.array([[0, 1, 3, np.nan], [2, np.nan, np.nan, 2]])
    assert difference_rms(errors) == pytest.approx(np.sqrt(14 / 4))
    assert np.isnan(difference_rms(np.array([[1.0, np.nan]])))
