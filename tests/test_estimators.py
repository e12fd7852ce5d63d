"""Linear estimators and the standard errors of samples: by hand, and over all possible samples."""

import itertools
import math

import numpy as np
import pytest
from pydantic import ValidationError

from lm_microbench.estimators import LinearEstimator, SampleDesign, mean_estimator

NAN = np.nan


def stratified_samples(population, counts):
    """Yield all samples with `counts[h]` of the items of stratum h, as lists of items a stratum."""
    starts = np.cumsum([0, *population])
    choices = [
        itertools.combinations(range(starts[h], starts[h + 1]), n) for h, n in enumerate(counts)
    ]
    yield from itertools.product(*choices)


def sample_estimator(population, counts):
    strata = np.repeat(np.arange(len(counts)), counts)
    weights = (np.array(population) / np.maximum(counts, 1))[strata]
    return mean_estimator(strata, population, weights / weights.sum())


def over_all_samples(y, population, allocations):
    """Return every estimate and every squared standard error, over equally likely allocations."""
    estimates, squares = [], []
    for counts in allocations:
        estimator = sample_estimator(population, counts)
        for sample in stratified_samples(population, counts):
            answers = y[list(itertools.chain(*sample))]
            estimates.append(estimator.estimate(answers)[0])
            squares.append(estimator.standard_error(answers)[0] ** 2)
    return np.array(estimates), np.array(squares)


def test_estimate_is_the_intercept_and_the_weighted_sum():
    estimator = LinearEstimator(intercept=0.1, weights=(0.5, -0.25))
    # 0.1 + 0.5 - 0.125; 0.1 + 0.25
    np.testing.assert_allclose(estimator.estimate([[1, 0.5], [0.5, 0]]), [0.475, 0.35])
    assert np.isnan(estimator.standard_error([[1, 0.5], [0.5, 0]])).all()
    assert not estimator.knows_its_error


def test_estimate_of_missing_answers_raises_the_other_weights_to_the_same_total():
    estimator = LinearEstimator(intercept=0.1, weights=(0.5, 0.2, 0.1))
    # 0.1 + (0.5 * 1 + 0.1 * 0) * 0.8 / 0.6
    np.testing.assert_allclose(
        estimator.estimate([[1, NAN, 0], [NAN, NAN, NAN]]), [0.1 + 0.5 * 0.8 / 0.6, NAN]
    )


def test_estimate_of_a_model_does_not_depend_on_the_others():
    estimator = mean_estimator([0] * 10, [100], [0.1] * 10)
    rows = np.random.default_rng(0).random((7, 10))
    rows[2, 3] = NAN
    assert [estimator.estimate(row)[0] for row in rows] == estimator.estimate(rows).tolist()


def test_standard_error_of_a_simple_sample_by_hand():
    # Mean 2/3, s^2 = (1/9 + 4/9 + 1/9) / 2 = 1/3; (1 - 3/6) (1/3) / 3 = 1/18.
    estimator = mean_estimator([0, 0, 0], [6], [1 / 3] * 3)
    np.testing.assert_allclose(estimator.standard_error([1, 0, 1]), [math.sqrt(1 / 18)])


def test_standard_error_of_a_stratified_sample_by_hand():
    # W = 6/10 and 4/10; s^2 = 1/2 and 1/3 (of 1, 0 and of 0, 0, 1).
    # 0.36 (1 - 2/6) (1/2) / 2 + 0.16 (1 - 3/4) (1/3) / 3 = 0.06 + 0.004444
    estimator = sample_estimator([6, 4], [2, 3])
    np.testing.assert_allclose(
        estimator.standard_error([1, 0, 0, 0, 1]), [math.sqrt(0.06 + 0.04 / 9)]
    )


def test_standard_error_of_a_stratum_with_one_answer_takes_the_variance_of_all():
    # Answers 1 | 0, 1: all together s^2 = 1/3. W = 1/2 and 1/2 of 8 items.
    # 0.25 (1/3) + 0.25 (1 - 2/4) (1/2) / 2
    estimator = sample_estimator([4, 4], [1, 2])
    np.testing.assert_allclose(
        estimator.standard_error([1, 0, 1]), [math.sqrt(0.25 / 3 + 0.25 * 0.5 / 4)]
    )


def test_standard_error_of_a_sample_that_misses_a_stratum_by_hand():
    # Strata of 2, 2 and 4 items, one answer each of the first two: 1 and 0, s^2 = 1/2.
    # W = 1/2, 1/2, 0; shares 1/4, 1/4, 1/2. W^2 (2 - 1) / (2 - 1) = 1/4 is more than
    # (1/2 - 1/4)^2; the missed stratum adds (1/2)^2. Together 1/2 (1/4 + 1/4 + 1/4) = 3/8.
    estimator = mean_estimator([0, 1], [2, 2, 4], [0.5, 0.5])
    np.testing.assert_allclose(estimator.standard_error([1, 0]), [math.sqrt(3 / 8)])


def test_standard_error_of_a_large_missed_stratum_grows_with_its_share():
    # Nine answers to strata of one item each: nothing is known of the 90 other items.
    answers = [1, 0] * 4 + [1]
    errors = [
        mean_estimator(range(9), [*[1] * 9, n], [1 / 9] * 9).standard_error(answers)[0]
        for n in (0, 1, 9, 90)
    ]
    assert errors[0] == 0
    assert errors == sorted(errors)
    assert errors[3] > 0.9 * np.std(answers, ddof=1)


@pytest.mark.parametrize("y", [[0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1], [0.1, 0.4, 0.5, 0.9, 1, 0]])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_standard_error_of_simple_samples_is_exact_over_all_samples(y, n):
    estimates, squares = over_all_samples(np.array(y, float), [6], [[n]])
    assert estimates.mean() == pytest.approx(np.mean(y))
    assert squares.mean() == pytest.approx(estimates.var())


@pytest.mark.parametrize("counts", [[2, 2], [2, 3], [3, 4]])
def test_standard_error_of_stratified_samples_is_exact_over_all_samples(counts):
    y = np.array([0, 1, 1, 0, 0, 1, 0.5])
    estimates, squares = over_all_samples(y, [3, 4], [counts])
    assert estimates.mean() == pytest.approx(y.mean())
    assert squares.mean() == pytest.approx(estimates.var())


POPULATIONS = {
    "strata alike": ([3] * 4, [0, 1, 1] * 4),
    "strata that differ": ([3] * 4, [0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1]),
    "one large stratum": ([2, 2, 2, 6], [1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0]),
    "one large stratum, unlike": ([2, 2, 2, 6], [1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0]),
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("size", [3, 4])
def test_standard_error_of_one_item_a_stratum_errs_on_the_safe_side(name, size):
    population, y = POPULATIONS[name]
    allocations = [
        np.bincount(drawn, minlength=4) for drawn in itertools.combinations(range(4), size)
    ]
    y = np.array(y, float)
    estimates, squares = over_all_samples(y, population, allocations)
    mean_square_error = ((estimates - y.mean()) ** 2).mean()
    assert mean_square_error <= squares.mean() * (1 + 1e-9)


@pytest.mark.parametrize(("population", "levels"), [
    ([30] * 10, np.linspace(0.2, 0.9, 10)),
    ([10, 20, 30, 40, 50, 60, 70, 80, 90, 150], np.linspace(0.2, 0.9, 10)),
])  # fmt: skip
@pytest.mark.parametrize("size", [8, 10, 15, 40])
def test_standard_error_covers_the_full_score_about_as_often_as_it_says(population, levels, size):
    rng = np.random.default_rng(size)
    y = [np.arange(n) < round(p * n) for n, p in zip(population, levels, strict=True)]
    truth = np.concatenate(y).mean()
    errors, claimed = [], []
    for _ in range(400):
        counts = np.full(10, size // 10)
        counts[rng.choice(10, size % 10, replace=False)] += 1
        answers = [
            rng.choice(values, n, replace=False) for values, n in zip(y, counts, strict=True)
        ]
        estimator, answers = sample_estimator(population, counts), np.concatenate(answers)
        errors.append(estimator.estimate(answers)[0] - truth)
        claimed.append(estimator.standard_error(answers)[0])
    errors, claimed = np.array(errors), np.array(claimed)
    ratio = np.sqrt((claimed**2).mean() / (errors**2).mean())
    assert 0.93 < ratio < 1.4
    assert (np.abs(errors) <= 1.96 * claimed).mean() > 0.87


def test_standard_error_of_all_items_is_zero():
    assert sample_estimator([3, 1], [3, 1]).standard_error([1, 0, 1, 0])[0] == 0
    assert mean_estimator([0], [1], [1.0]).standard_error([1])[0] == 0


def test_standard_error_of_one_answer_is_not_known():
    assert np.isnan(mean_estimator([0], [9], [1.0]).standard_error([1])[0])
    assert np.isnan(mean_estimator([0, 0], [9], [0.5] * 2).standard_error([1, NAN])[0])
    assert np.isnan(mean_estimator([0, 0], [9], [0.5] * 2).standard_error([NAN, NAN])[0])


def test_standard_error_of_missing_answers_is_that_of_the_smaller_sample():
    whole, part = (
        mean_estimator([0] * 4, [9], [0.25] * 4),
        mean_estimator([0] * 3, [9], [1 / 3] * 3),
    )
    np.testing.assert_allclose(whole.standard_error([1, NAN, 0, 1]), part.standard_error([1, 0, 1]))


def test_standard_error_is_that_of_each_model_alone():
    estimator = sample_estimator([6, 4, 5], [2, 3, 1])
    answers = np.random.default_rng(0).integers(0, 2, (5, 6)).astype(float)
    answers[1, 5] = NAN
    together = estimator.standard_error(answers)
    alone = [estimator.standard_error(row)[0] for row in answers]
    np.testing.assert_allclose(alone, together, rtol=1e-12)


@pytest.mark.parametrize(
    ("strata", "population", "weights", "message"),
    [
        ([0, 2], [5, 5], [0.5, 0.5], "stratum 2 of 2"),
        ([0, -1], [5, 5], [0.5, 0.5], "stratum -1 of 2"),
        ([0, 0], [1, 5], [0.5, 0.5], "2 items of stratum 0, which has 1"),
        ([0], [5], [0.5, 0.5], "1 strata for 2 weights"),
        ([0, 0], [5], [1.0, 0.0], "weight 0.0: those of a sample are positive"),
    ],
)
def test_design_that_cannot_be_is_refused(strata, population, weights, message):
    with pytest.raises(ValidationError, match=message):
        mean_estimator(strata, population, weights)


@pytest.mark.parametrize("weights", [(), (NAN,), (np.inf,)])
def test_weights_none_or_not_finite_are_refused(weights):
    with pytest.raises(ValidationError):
        LinearEstimator(weights=weights)


def test_design_stratum_without_items_is_no_missed_stratum():
    alone = SampleDesign(strata=(0, 0), population=(5,)).standard_error([1, 0], [0.5, 0.5])
    other = SampleDesign(strata=(0, 0), population=(5, 0)).standard_error([1, 0], [0.5, 0.5])
    assert alone == other


def test_fitted_drops_the_last_bits_of_the_algebra():
    made = LinearEstimator.fitted(np.array([0.1 + 0.2, 1 / 3]), 0.1 + 0.7)
    # 0.1 + 0.2 is 0.30000000000000004, 0.1 + 0.7 is 0.7999999999999999.
    assert made.weights == (0.3, 0.333333333333)
    assert made.intercept == 0.8
