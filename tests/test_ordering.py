"""How sure an order is: numbers worked out by hand, laws, and calibration on public answers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_subsets import reliability

from lm_microbench.estimators import LinearEstimator, mean_estimator
from lm_microbench.methods import select
from lm_microbench.names import UnknownNameError
from lm_microbench.ordering import difference_errors, groups, holm, letters, order
from lm_microbench.pairs import pair_indices, signs
from lm_microbench.readers import read_responses
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Provenance, Subset


def make(estimator, n_items=1000, measured=None):
    size = estimator.size
    return Subset(
        items=tuple(f"i{i:03}" for i in range(size)),
        estimator=estimator,
        provenance=Provenance(method="random", size=size, n_items=n_items, package_version="0"),
        reliability=measured,
    )


def sample(size, n_items=1000):
    return make(mean_estimator([0] * size, [n_items], [1 / size] * size), n_items)


def test_order_of_two_models_gives_the_values_worked_out_by_hand():
    # n = 4 of 8 items; differences 1, 1, 0, 0: mean 1/2, s^2 = 4 * 1/4 / 3 = 1/3.
    # v = (1 - 1/2) * (1/3) / 4 = 1/24; not seen: (1/2) * (1/16) * (1 + 2 * 4 * (1/4) / 6) = 1/24.
    # z = (1/2) / sqrt(1/12) = sqrt(3); Phi(1.7321) = 0.95837.
    found = order(sample(4, 8), [[1, 1, 1, 0], [0, 0, 1, 0]])
    assert found.difference == pytest.approx([0.5])
    assert found.standard_error == pytest.approx([math.sqrt(1 / 24)])
    assert found.probability == pytest.approx([0.958368], abs=1e-6)
    assert found.told_apart.tolist() == [True]
    assert found.more_examples.tolist() == [0]


def test_order_of_a_pair_not_told_apart_says_how_many_more_examples():
    # At 99 %: z = 2.32635, so v must fall to (1/2)^2 / 5.41189 = 0.0461946, 0.554335 of 1/12.
    # 1/n' = 1/8 + 0.554335 * (1/4 - 1/8) = 0.194292: n' = 5.15, so 6 examples, 2 more.
    found = order(sample(4, 8), [[1, 1, 1, 0], [0, 0, 1, 0]], probability=0.99)
    assert found.told_apart.tolist() == [False]
    assert found.more_examples.tolist() == [2]


def test_order_of_answers_that_all_differ_is_not_certain():
    # Differences 1, 1: v = 0; not seen: 0.998 * (1/4) * (1 + 2 * 2 / 4) = 0.499; Phi(0.499 ^ -0.5).
    found = order(sample(2), [[1, 1], [0, 0]])
    assert found.standard_error.tolist() == [0]
    assert found.probability == pytest.approx([0.921558], abs=1e-6)


def test_order_of_a_tie_is_even_and_no_number_of_examples_is_known():
    for rows in ([[1, 0, 1], [0, 1, 1]], [[1, 0, 1], [1, 0, 1]]):
        found = order(sample(3), rows)
        assert found.probability.tolist() == [0.5]
        assert found.told_apart.tolist() == [False]
        assert math.isnan(found.more_examples[0])


def test_order_of_the_whole_benchmark_is_certain():
    found = order(sample(4, 4), [[1, 1, 0, 1], [1, 1, 0, 0]])
    assert found.probability.tolist() == [1]
    assert found.told_apart.tolist() == [True]
    tied = order(sample(4, 4), [[1, 1, 0, 1], [0, 1, 1, 1]])
    assert (tied.probability.tolist(), tied.told_apart.tolist()) == ([0.5], [False])


def test_order_of_five_models_takes_their_spread_into_account():
    # Four models answer alike, one has 9 of 10 more: six pairs with d = 0, four with d = 0.9.
    rows = np.array([[1] * 9 + [0]] + [[0] * 10] * 4)
    four, five = (order(sample(10, 1000), rows[:n]) for n in (4, 5))
    # n = 10, f = 0.99: v(0.9) = 0.99 * (0.1 / 10 + (1 + 20 * 0.81 / 12) / 100) = 0.033165 (with
    # s^2 = 10 * 0.09 / 9 = 0.1), v(0) = 0.99 / 100 = 0.0099.
    # tau^2 = (4 * (0.81 - 0.033165) - 6 * 0.0099) / 10 = 0.304794
    # z = 0.9 / sqrt(0.033165) = 4.94200, times sqrt(0.304794 / (0.304794 + 0.033165)) = 4.69323
    assert four.probability[0] == pytest.approx(1 - 3.866e-7, abs=1e-9)
    assert 1 - five.probability[0] == pytest.approx(1.3446e-6, rel=1e-3)


def test_order_of_models_no_further_apart_than_chance_tells_nothing_apart():
    # One has 10 of 10, four miss one each: of ten pairs four have d^2 = 0.01, all have v > 0.009.
    rows = np.ones((5, 10)) - np.eye(5, 10)
    rows[0, 0] = 1
    found = order(sample(10), rows)
    assert np.all(found.probability == 0.5)
    assert np.isnan(found.more_examples).all()


def test_order_of_an_estimator_without_a_design_uses_the_measured_error():
    inside, above = {"difference_rms": 0.1}, {"difference_rms": 0.2}
    measured = reliability((0.2, 0.6), inside=inside, above=above)
    subset = make(LinearEstimator(weights=(0.5, 0.3)), measured=measured)
    # Estimates 0.8 (above the sources), 0.5, 0.3.
    found = order(subset, [[1, 1], [1, 0], [0, 1]])
    assert found.standard_error.tolist() == [0.2, 0.2, 0.1]
    # z = 1.5, 2.5, 2
    assert found.probability == pytest.approx([0.933193, 0.993790, 0.977250], abs=1e-6)
    bare = order(make(LinearEstimator(weights=(0.5, 0.3))), [[1, 1], [1, 0]])
    assert math.isnan(bare.standard_error[0]) and math.isnan(bare.probability[0])
    assert not bare.told_apart[0]


def test_order_of_five_weighted_means_takes_their_spread_into_account():
    # Estimates 1, 1/2, 1/2, 1/2, 0: six pairs with d^2 = 1/4, one with 1, three with 0; v = 0.16.
    # tau^2 = (2.5 - 1.6) / 10 = 0.09; for d = 1/2: z = (0.5 / 0.4) * sqrt(0.09 / 0.25) = 0.75.
    rows = [[1, 1], [1, 0], [1, 0], [0, 1], [0, 0]]
    known = reliability(inside={"difference_rms": 0.4})
    mean = order(make(LinearEstimator(weights=(0.5, 0.5)), measured=known), rows)
    assert mean.probability[0] == pytest.approx(0.773373, abs=1e-6)
    # A regression leans towards the middle by itself: z = 1.25.
    lean = order(make(LinearEstimator(weights=(0.5, 0.5), intercept=1e-9), measured=known), rows)
    assert lean.probability[0] == pytest.approx(0.894350, abs=1e-6)


def test_order_of_the_predictive_estimator_uses_its_own_probability():
    rng = np.random.default_rng(3)
    scores = rng.random((40, 60)) < rng.random((40, 1)) * 0.5 + rng.random(60) * 0.5
    names = [f"m{i}" for i in range(40)], [f"x/{i}" for i in range(60)], ["x"] * 60
    matrix = ResponseMatrix(scores.astype(float), *names)
    subset = select(matrix.take(models=range(30)), "predictive", 10, seed=0)
    answers = matrix.take(models=range(30, 40), items=subset.items).scores
    found, pairs = order(subset, answers), pair_indices(10)
    stated = subset.estimator.order_probability(answers)[pairs]
    assert found.probability == pytest.approx(np.maximum(stated, 1 - stated))
    assert np.isnan(found.more_examples[~found.told_apart]).all()


def test_order_leaves_out_a_model_without_answers():
    found = order(sample(3), [[1, 1, 0], [np.nan] * 3, [0, 0, 0]])
    assert np.isnan(found.probability).tolist() == [True, False, True]
    assert found.told_apart.tolist()[::2] == [False, False]


def test_order_probability_rises_with_size_and_falls_with_correction():
    rng = np.random.default_rng(0)
    rows = rng.random((4, 200)) < [[0.6], [0.5], [0.45], [0.3]]
    plain, held = (order(sample(200), rows, correct=x) for x in ("none", "holm"))
    assert np.all(held.told_apart <= plain.told_apart)
    assert np.all(held.more_examples >= plain.more_examples)
    flipped = order(sample(200), rows[::-1])
    assert sorted(flipped.probability) == pytest.approx(sorted(plain.probability))


@pytest.mark.parametrize("probability", [0.5, 1, math.nan])
def test_order_of_an_impossible_probability_is_refused(probability):
    with pytest.raises(ValueError, match="give a fraction between"):
        order(sample(2), [[1, 0]], probability=probability)


def test_order_of_an_unknown_correction_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean holm"):
        order(sample(2), [[1, 0]], correct="hol")


def test_difference_errors_of_a_stratified_sample_are_those_of_the_differences():
    estimator = mean_estimator([0, 0, 1, 1], [6, 4], [0.3, 0.3, 0.2, 0.2])
    subset = make(estimator, 10)
    # Differences 1, 0 | -1, -1: stratum 0 has s^2 = 1/2, stratum 1 has 0.
    # 0.6^2 * (1 - 2/6) * (1/2) / 2 = 0.06
    error = difference_errors(subset, np.array([[1.0, 1, 0, 0], [0, 1, 1, 1]]))
    assert error == pytest.approx([math.sqrt(0.06)])


def test_holm_gives_the_steps_worked_out_by_hand():
    # Of three at 0.1: 0.03 <= 0.0333, 0.04 <= 0.05, 0.11 > 0.1; NaN is none of them.
    assert holm([0.04, math.nan, 0.11, 0.03], 0.1).tolist() == [True, False, False, True]
    # The first step fails, so none, though 0.045 <= 0.05.
    assert holm([0.04, 0.045, 0.9], 0.1).tolist() == [False] * 3
    assert holm([], 0.1).tolist() == []


def test_groups_of_a_chain_overlap():
    # 0-1 and 1-2 are alike, 0-2 are not; 3 is alone.
    told = [False, True, True, False, True, True]
    assert groups(told, 4) == [(0,), (0, 1), (1,), (2,)]
    assert groups([], 1) == [(0,)]


@given(st.integers(1, 8), st.data())
def test_groups_are_shared_exactly_where_not_told_apart(n, data):
    n_pairs = n * (n - 1) // 2
    told = data.draw(st.lists(st.booleans(), min_size=n_pairs, max_size=n_pairs))
    found = groups(told, n)
    for i, j, apart in zip(*pair_indices(n), told, strict=True):
        assert bool(set(found[i]) & set(found[j])) != apart
    sets = [{i for i in range(n) if g in found[i]} for g in set(itertools.chain(*found))]
    assert not any(a < b for a, b in itertools.permutations(sets, 2)), "none within another"


def test_letters_go_on_after_z():
    assert [letters(i) for i in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


@pytest.mark.shared
@pytest.mark.parametrize("size", [25, 100])
def test_order_of_public_models_is_as_sure_as_it_says(shared, size):
    # 420 models within a few points of each other: the hardest case. 100 draws of 10 models.
    matrix = read_responses(shared / "data" / "gpqa" / "responses.csv.gz")
    rng = np.random.default_rng(size)
    stated, right = [], []
    for _ in range(100):
        models = rng.choice(matrix.n_models, 10, replace=False)
        subset = select(matrix, "random", size, seed=int(rng.integers(1 << 30)))
        scores = matrix.take(models=models, items=subset.items).scores
        found, full = order(subset, scores), matrix.accuracy()[models]
        first, second = pair_indices(10)
        true = full[first] - full[second]
        counted = (signs(true) != 0) & (signs(found.difference) != 0)
        stated.append(found.probability[counted])
        right.append((signs(true) == signs(found.difference))[counted])
    stated, right = np.concatenate(stated), np.concatenate(right)
    # Seen: at 25, 0.80 right where 0.9 or more is stated on average 0.94; at 100, 0.95 of 0.96.
    sure = stated >= 0.9
    assert right[sure].mean() > stated[sure].mean() - (0.15 if size == 25 else 0.03)
    assert right.mean() > stated.mean() - 0.02
