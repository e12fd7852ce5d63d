"""What each method of the paper chooses and weighs, on cases worked out by hand."""

import itertools

import kmedoids
import numpy as np
import pytest

from lm_microbench.estimators import MixtureCurve, PIrtEstimator, TabulatedCurve, curve_of
from lm_microbench.irt import ItemParameters
from lm_microbench.methods import get_method, select
from lm_microbench.methods.anchor import as_integers, correlations
from lm_microbench.methods.base import filled, reads
from lm_microbench.methods.diversity import (
    orthonormal_polynomials,
    principal_components,
    sample_projection_dpp,
)
from lm_microbench.responses import ResponseMatrix


def matrix(scores, confidence=None):
    n_models, n_items = np.shape(scores)
    return ResponseMatrix(
        scores,
        [f"m{i:03}" for i in range(n_models)],
        [f"i{i:03}" for i in range(n_items)],
        ["s"] * n_items,
        confidence,
    )


def test_filled_missing_answer_is_the_items_mean():
    values = np.array([[1, np.nan, np.nan], [0, 1, np.nan]], dtype=np.float32)
    # The last item has no answer: the mean of all, 2 / 3.
    np.testing.assert_allclose(filled(values), [[1, 1, 2 / 3], [0, 1, 2 / 3]])


def test_confidence_every_item_is_drawn_equally_often():
    # Strata of 1, 2 and 3 items, none of which has a whole number of the two to be drawn.
    source = matrix([[1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    count, n_draws = dict.fromkeys(source.items, 0), 1000
    for seed in range(n_draws):
        for item in select(source, "confidence", 2, seed=seed).items:
            count[item] += 1
    # Probability 1 / 3 each; standard deviation of a share sqrt(2 / 9 / 1000) = 0.0149.
    assert np.abs(np.array(list(count.values())) / n_draws - 1 / 3).max() < 4 * 0.0149


def test_confidence_strata_give_their_share_rounded_down_or_up():
    # Two levels, 20 easy and 10 hard items: 9 items are 6 + 3 exactly.
    source = matrix(np.repeat([[1.0] * 20 + [0.0] * 10], 3, axis=0))
    for seed in range(20):
        chosen = select(source, "confidence", 9, seed=seed).items
        assert sum(item < "i020" for item in chosen) == 6


def test_reads_confidences_where_nine_tenths_of_the_answers_have_one():
    scores, sure = np.ones((2, 10)), np.full((2, 10), 0.5)
    scores[0, 9] = sure[0, 9] = sure[0, 0] = np.nan  # 18 of 19 answers
    assert reads("auto", matrix(scores, sure)) == "confidence"
    sure[1, :2] = np.nan
    assert reads("auto", matrix(scores, sure)) == "score"
    assert reads("confidence", matrix(scores, sure)) == "confidence"
    assert reads("score", matrix(scores, np.full((2, 10), 0.5))) == "score"
    with pytest.raises(ValueError, match="no confidences; take estimate=score"):
        reads("confidence", matrix(scores))
    with pytest.raises(ValueError, match="no confidences; take estimate=score"):
        reads("confidence", matrix(scores, np.full((2, 10), np.nan)))


def test_confidence_uses_confidences_where_they_are_known():
    # By score all alike; by confidence the first half is sure, the second is not.
    sure = np.repeat([[0.9] * 10 + [0.1] * 10], 4, axis=0)
    for seed in range(20):
        chosen = select(matrix(np.ones((4, 20)), sure), "confidence", 4, seed=seed).items
        assert sum(item < "i010" for item in chosen) == 2


def test_correlations_agree_with_numpy_in_blocks():
    values = np.random.default_rng(0).integers(0, 2, (12, 1500)).astype(float)
    values[:2] = [[0], [1]]
    np.testing.assert_allclose(correlations(as_integers(values)), np.corrcoef(values.T), atol=1e-6)


def test_correlations_items_answered_alike_are_exactly_one():
    values = np.random.default_rng(0).random((9, 40))
    twice = as_integers(np.hstack([values, values]))
    found = correlations(twice)
    assert (found[np.arange(40), np.arange(40) + 40] == 1).all()
    np.testing.assert_array_equal(found[:40], found[40:])


def test_anchor_groups_answered_alike_get_their_sizes():
    # Three patterns, 5, 3 and 2 times: one medoid each, weights 0.5, 0.3, 0.2.
    patterns = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1]])
    source = matrix(np.repeat(patterns, [5, 3, 2], axis=0).T)
    for seed in range(10):
        subset = select(source, "anchor", 3, seed=seed)
        assert subset.weights().tolist() == [0.5, 0.3, 0.2]


def test_anchor_constant_items_are_no_medoids_and_share_nothing():
    scores = np.random.default_rng(0).integers(0, 2, (20, 40)).astype(float)
    scores[:, :15] = 1
    subset = select(matrix(scores), "anchor", 10)
    assert all(item >= "i015" for item in subset.items)
    assert subset.weights().sum() == pytest.approx(1)


def test_anchor_one_medoid_is_the_best_of_all():
    scores = np.random.default_rng(1).integers(0, 2, (20, 30)).astype(float)
    distance = 1 - np.corrcoef(scores.T)
    best = f"i{distance.sum(axis=0).argmin():03}"
    assert select(matrix(scores), "anchor", 1).items == (best,)


def test_anchor_medoids_are_no_worse_than_a_fresh_search():
    scores = np.random.default_rng(1).integers(0, 2, (30, 120)).astype(float)
    distance = 1 - np.corrcoef(scores.T)
    chosen = [int(item[1:]) for item in select(matrix(scores), "anchor", 10).items]
    fresh = kmedoids.fasterpam(distance, 10, random_state=0)
    assert distance[:, chosen].min(axis=1).sum() < 1.02 * fresh.loss


def test_principal_components_without_variance_are_left_out():
    # Two models: at most two components; both alike: one.
    scores = np.random.default_rng(0).integers(0, 2, (2, 50)).astype(float)
    assert principal_components(scores, 4).shape == (50, 2)
    assert principal_components(scores[[0, 0]], 4).shape == (50, 1)
    assert principal_components(np.ones((3, 50)), 4).shape == (50, 0)


def test_orthonormal_polynomials_span_what_monomials_span():
    x = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    # 1, x, y, x^2, xy, y^2, then x^3 and x^2 y of the eight first.
    powers = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1)]
    monomials = np.column_stack([x[:, 0] ** a * x[:, 1] ** b for a, b in powers])
    basis = orthonormal_polynomials(x, 8)
    np.testing.assert_allclose(basis.T @ basis, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(basis @ (basis.T @ monomials), monomials, atol=1e-12)


def test_orthonormal_polynomials_fewer_places_than_functions_keeps_their_number():
    places = np.repeat(np.linspace(-1, 1, 5), 6)[:, None]
    assert orthonormal_polynomials(places, 20).shape == (30, 5)
    assert orthonormal_polynomials(np.zeros((30, 0)), 20).shape == (30, 1)


def test_sample_projection_dpp_sets_have_their_probabilities():
    # A projection of rank 2 draws pairs, the pair S with probability det(K_S).
    q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))
    rng, n_draws = np.random.default_rng(1), 6000
    count = dict.fromkeys(itertools.combinations(range(5), 2), 0)
    for _ in range(n_draws):
        count[tuple(sample_projection_dpp(q, rng).tolist())] += 1
    kernel = q @ q.T
    for pair, n in count.items():
        expected = np.linalg.det(kernel[np.ix_(pair, pair)])
        assert abs(n / n_draws - expected) < 4 * np.sqrt(0.25 / n_draws)


def test_sample_projection_dpp_full_rank_takes_everything():
    found = sample_projection_dpp(np.eye(6), np.random.default_rng(0))
    assert found.tolist() == list(range(6))


def test_diversity_same_places_are_not_drawn_twice_before_all_others():
    # Four patterns, ten items each, and four items: one of each pattern.
    patterns = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]])
    source = matrix(np.repeat(patterns, 10, axis=0).T)
    for seed in range(10):
        chosen = select(source, "diversity", 4, seed=seed).items
        assert sorted(int(item[1:]) // 10 for item in chosen) == [0, 1, 2, 3]


def test_irt_weights_are_the_clusters_shares():
    patterns = np.array([[1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1]])
    source = matrix(np.repeat(patterns, [7, 3], axis=0).T)
    subset = select(source, "irt", 2, dimensions=1)
    assert subset.weights().tolist() == [0.7, 0.3]


@pytest.mark.parametrize("n_items", [1, 300])
def test_curve_of_any_items_is_their_mean_curve(n_items):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(50, 4))
    for dimensions, kind, tolerance in ((1, TabulatedCurve, 1e-3), (4, MixtureCurve, 2e-3)):
        items = ItemParameters(
            rng.normal(0.5, 0.5, (n_items, dimensions)), rng.normal(size=n_items)
        )
        curve = curve_of(items, rng)
        assert isinstance(curve, kind)
        ability = theta[:, :dimensions]
        np.testing.assert_allclose(curve.at(ability), items.mean_curve(ability), atol=tolerance)


def test_p_irt_estimate_is_worked_out_by_hand():
    # One answered item of four, a = 1, b = 0: ability 0.4010581 if right (see test_irt). The other
    # three are like it: p = 0.5989419. (1 + 3 * 0.5989419) / 4 = 0.6992064; wrong: 1 minus that.
    rest = MixtureCurve(weights=(1.0,), discrimination=((1.0,),), difficulty=(0.0,))
    estimator = PIrtEstimator(n_items=4, discrimination=((1.0,),), difficulty=(0.0,), rest=rest)
    np.testing.assert_allclose(estimator.estimate([[1], [0]]), [0.6992064, 0.3007936], atol=1e-6)


def test_p_irt_standard_error_is_worked_out_by_hand():
    # Slope p (1 - p) = 0.2402105, ability variance 1 / 1.2402105 (see test_irt): 0.0465253; plus
    # 0.2402105 / 3 = 0.0800702: root 0.3557942, times 3 / 4: 0.2668457. (Central differences.)
    rest = MixtureCurve(weights=(1.0,), discrimination=((1.0,),), difficulty=(0.0,))
    estimator = PIrtEstimator(n_items=4, discrimination=((1.0,),), difficulty=(0.0,), rest=rest)
    assert estimator.standard_error([1])[0] == pytest.approx(0.2668457, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discrimination": ((1.0,), (1.0, 2.0))}, "discrimination: give one row an item"),
        ({"discrimination": ((1.0,),)}, "discrimination: give one row an item"),
        ({"n_items": 2}, "n_items: 2"),
        ({"n_items": 1}, "n_items: 1"),
        ({"rest": None}, "n_items: 9"),
    ],
)
def test_p_irt_inconsistent_numbers_are_an_error(change, message):
    rest = MixtureCurve(weights=(1.0,), discrimination=((1.0,),), difficulty=(0.0,))
    fields = {"n_items": 9, "discrimination": ((1.0,), (1.0,)), "difficulty": (0.0, 1.0)}
    PIrtEstimator(**fields, rest=rest)
    with pytest.raises(ValueError, match=message):
        PIrtEstimator(**({**fields, "rest": rest} | change))


def test_gp_irt_is_the_stated_mixture():
    rng = np.random.default_rng(0)
    source = matrix(rng.random((30, 80)) < rng.random(80))
    estimator = (
        get_method("irt", estimate="gp-irt", dimensions=2).select(source, 10, rng=rng).estimator
    )
    answers = rng.integers(0, 2, (6, 10))
    parts = estimator.weighted.estimate(answers), estimator.predicted.estimate(answers)
    mixed = estimator.share * parts[0] + (1 - estimator.share) * parts[1]
    assert 0 < estimator.share < 1
    np.testing.assert_allclose(estimator.estimate(answers), mixed, atol=1e-9)
