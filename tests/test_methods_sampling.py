"""`random` and `stratified`: the exact laws of their samples."""

import itertools
from collections import Counter

import numpy as np
import pytest

from lm_microbench.methods import get_method, select
from lm_microbench.methods.stratified import allocate_equally
from lm_microbench.responses import ResponseMatrix


def population(sizes):
    """Return a matrix of no models whose subtasks have the given numbers of items."""
    subtasks = [f"s{h}" for h, n in enumerate(sizes) for _ in range(n)]
    items = [f"{subtask}/{i:03}" for i, subtask in enumerate(subtasks)]
    return ResponseMatrix(np.empty((0, len(items))), (), items, subtasks)


def draws(source, name, size, n, **options):
    method = get_method(name, **options)
    return [method.select(source, size, rng=np.random.default_rng(k)) for k in range(n)]


def chi_square(counts, n_cells):
    counts = np.array([*counts, *[0] * (n_cells - len(counts))])
    expected = counts.sum() / n_cells
    return ((counts - expected) ** 2 / expected).sum()


def test_random_every_sample_is_equally_likely():
    # 10 samples of 2 of 5 items; 27.9 is the 99.9 % point of chi-square with 9 degrees of freedom.
    found = Counter(s.items for s in draws(population([5]), "random", 2, 1000))
    assert set(found) == set(itertools.combinations(population([5]).items, 2))
    assert chi_square(found.values(), 10) < 27.9


def test_stratified_every_sample_is_equally_likely():
    # One of two and one of three items, and one of four: 24 samples; 99.9 % point of 23 d.f.: 49.7.
    found = Counter(s.items for s in draws(population([2, 3, 4]), "stratified", 3, 1500))
    assert len(found) == 24
    assert chi_square(found.values(), 24) < 49.7


def test_random_estimate_is_unbiased_over_all_samples():
    source = population([2, 3])
    y = dict(zip(source.items, [1, 0, 0.5, 0, 1], strict=True))
    seen = {s.items: s.estimate([y[i] for i in s.items])[0]
            for s in draws(source, "random", 3, 200)}  # fmt: skip
    assert len(seen) == 10
    assert np.mean(list(seen.values())) == pytest.approx(0.5)


def test_stratified_estimate_is_unbiased_over_all_samples_and_the_plain_mean_is_not():
    # Subtask scores 1 of 2 items and 1/4 of 4: full score (2 + 1) / 6.
    source = population([2, 4])
    y = dict(zip(source.items, [1, 1, 0, 0, 0, 1], strict=True))
    for weights, expected in [("subtask", 3 / 6), ("none", (1 + 1 / 4) / 2)]:
        subsets = draws(source, "stratified", 2, 150, weights=weights)
        seen = {s.items: s.estimate([y[i] for i in s.items])[0] for s in subsets}
        assert len(seen) == 8
        assert np.mean(list(seen.values())) == pytest.approx(expected)


def test_stratified_weights_are_shares_by_hand():
    # Five items of subtasks of 2, 3 and 5: counts 2, 2, 1 or 2, 1, 2 or 1, 2, 2.
    for subset in draws(population([2, 3, 5]), "stratified", 5, 20):
        count = Counter(item[:2] for item in subset.items)
        sizes = {"s0": 2, "s1": 3, "s2": 5}
        expected = [sizes[item[:2]] / count[item[:2]] / 10 for item in subset.items]
        np.testing.assert_allclose(subset.weights(), expected)


def test_stratified_without_weights_is_the_plain_mean():
    [subset] = draws(population([2, 3, 5]), "stratified", 5, 1, weights="none")
    np.testing.assert_allclose(subset.weights(), [0.2] * 5)
    assert subset.provenance.options == {"weights": "none"}


@pytest.mark.parametrize(
    ("sizes", "size", "expected"),
    [
        ([5, 5, 5], 6, [2, 2, 2]),
        ([1, 100], 10, [1, 9]),  # a small one gives all it has
        ([1, 2, 100], 9, [1, 2, 6]),
        ([2, 2, 9, 9], 12, [2, 2, 4, 4]),
        ([3, 1], 4, [3, 1]),
        ([4], 3, [3]),
    ],
)
def test_allocate_equally_by_hand(sizes, size, expected):
    counts = allocate_equally(np.array(sizes), size, np.random.default_rng(0))
    assert counts.tolist() == expected


def test_allocate_equally_draws_the_remainder_with_equal_chances():
    # One each, and one of two more for three subtasks: 99.9 % point of 2 d.f.: 13.8.
    found = Counter(
        tuple(allocate_equally(np.array([9, 5, 9]), 5, np.random.default_rng(k)).tolist())
        for k in range(600)
    )
    assert set(found) == {(2, 2, 1), (2, 1, 2), (1, 2, 2)}
    assert chi_square(found.values(), 3) < 13.8


@pytest.mark.parametrize("seed", range(5))
def test_allocate_equally_any_population_is_as_equal_as_can_be(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, 8)
    for size in range(1, sizes.sum() + 1):
        counts = allocate_equally(sizes, size, rng)
        assert counts.sum() == size
        assert (counts <= sizes).all()
        # None gives two items more than another that has some left.
        assert counts.max() - counts[counts < sizes].min(initial=counts.max()) <= 1


@pytest.mark.parametrize(
    ("name", "options"), [("random", {}), ("stratified", {}), ("stratified", {"weights": "none"})]
)
def test_select_models_and_their_answers_and_the_order_of_items_change_nothing(name, options):
    source = population([7, 3, 9])
    rng = np.random.default_rng(1)
    answered = ResponseMatrix(rng.random((4, 19)), "dacb", source.items, source.subtasks).take(
        items=rng.permutation(19)
    )
    expected = select(source, name, 6, seed=5, **options)
    assert select(answered, name, 6, seed=5, **options).to_json() == expected.to_json()


@pytest.mark.parametrize("name", ["random", "stratified"])
def test_select_sizes_another_size_in_the_call_changes_nothing(name):
    source, method = population([7, 3, 9]), get_method(name)

    def call(sizes):
        found = method.select_sizes(source, sizes, rng=np.random.default_rng(3))
        return [subset.to_json() for subset in found]

    assert call([4, 9]) == call([4]) + call([9]) == call([9, 4])[::-1]
    assert call([4, 4]) == call([4]) * 2


@pytest.mark.parametrize("name", ["random", "stratified"])
def test_select_of_all_items_and_of_the_only_item(name):
    assert select(population([2, 3]), name, 5).items == population([2, 3]).items
    subset = select(population([1]), name, 1)
    assert (subset.estimate([0.5])[0], subset.standard_error([0.5])[0]) == (0.5, 0)


def test_select_another_seed_gives_another_sample():
    found = {select(population([50, 50]), "random", 10, seed=k).items for k in range(20)}
    assert len(found) == 20


@pytest.mark.parametrize("size", [0, 6, -1, 2.0, True, "3"])
def test_select_size_that_is_not_a_number_of_items_is_one_line(size):
    with pytest.raises(ValueError, match=f"size: {size} of 5 items; give a number from 1 to 5"):
        select(population([5]), "random", size)


@pytest.mark.parametrize("seed", [-1, 0.5, "1"])
def test_select_seed_that_is_none_is_one_line(seed):
    with pytest.raises(ValueError, match=r"seed: .*; give a whole number from 0 up"):
        select(population([5]), "random", 2, seed=seed)


def test_select_size_of_numpy_is_a_number():
    assert select(population([5]), "random", np.int64(2)) == select(population([5]), "random", 2)


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("stratified", {"weights": 3}, ValueError, "method stratified: weights: 3; "),
        ("stratified", {"weight": "none"}, KeyError, "'weight'; did you mean weights"),
        ("random", {"weights": "none"}, KeyError, "unknown option of method random 'weights'"),
        ("irt", {"dimensions": "many"}, ValueError, "method irt: dimensions: 'many'; "),
    ],
)
def test_get_method_option_unknown_or_of_another_type_is_one_line(name, options, error, message):
    with pytest.raises(error, match=message) as caught:
        get_method(name, **options)
    assert "\n" not in str(caught.value)
