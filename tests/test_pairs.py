"""Pair agreement, MDAD and rank correlation against values worked out by hand, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lm_microbench import pairs, resampling
from lm_microbench.pairs import PairCounts, Verdict, count_pairs

NAN = np.nan


def counts(n_pairs, n_agree):
    return PairCounts(np.atleast_2d(n_pairs), np.atleast_2d(n_agree))


def test_bins_of_whole_numbers_of_bins_are_not_rounded_down():
    # 0.35 - 0.28 is 0.06999999999999995 in floating point; as a number it is bin 14's edge.
    assert (0.35 - 0.28) / 0.005 < 14
    assert pairs.bins_of(0.35 - 0.28) == 14
    assert pairs.bins_of([0.07, -0.07, 0.0699, 0.145, 0.29, 0.0, 1.0]).tolist() == [
        14, 14, 13, 29, 58, 0, 200,
    ]  # fmt: skip


@given(n=st.integers(1, 20_000), k=st.integers(0, 20_000))
@settings(max_examples=300, deadline=None)
def test_bins_of_counts_agree_with_integer_arithmetic(n, k):
    k = min(k, n)
    # floor((k / n) / (1 / 200)) = floor(200 k / n), in integers.
    assert pairs.bins_of(k / n) == 200 * k // n
    assert pairs.bins_of((n - k) / n - 1.0) == 200 * k // n


def test_count_pairs_three_models_worked_out_by_hand():
    # |s_0 - s_1| = 0.07 (bin 14, order kept), |s_0 - s_2| = 0.10 (bin 20, reversed),
    # |s_1 - s_2| = 0.03 (bin 6, reversed).
    result = count_pairs([0.28, 0.35, 0.38], [0.5, 0.6, 0.4])
    assert np.flatnonzero(result.pairs[0]).tolist() == [6, 14, 20]
    assert np.flatnonzero(result.agree[0]).tolist() == [14]
    assert result.pairs.sum() == 3
    assert result.edges[14] == 0.07
    assert result.mdad().tolist() == [0.07]
    assert result.total_agreement() == pytest.approx(1 / 3)


def test_count_pairs_tie_in_estimate_is_disagreement():
    result = count_pairs([0.1, 0.2], [0.5, 0.5])
    assert (result.pairs.sum(), result.agree.sum()) == (1, 0)
    assert np.isnan(result.mdad()).all()


def test_count_pairs_tie_in_reference_is_no_pair():
    # 0.1 + 0.2 differs from 0.3 in floating point only.
    assert count_pairs([0.3, 0.1 + 0.2], [0.4, 0.5]).pairs.sum() == 0


def test_count_pairs_nan_model_makes_no_pair():
    result = count_pairs([[0.1, 0.2, NAN, 0.4]], [[0.1, 0.2, 0.3, NAN]])
    assert result.pairs.sum() == 1
    assert result.agree.sum() == 1


@pytest.mark.parametrize("n_models", [0, 1])
def test_count_pairs_fewer_than_two_models_has_no_pair(n_models):
    result = count_pairs(np.full((2, n_models), 0.5), np.full((2, n_models), 0.5))
    assert result.pairs.sum() == 0
    assert np.isnan(result.pool().mdad()).all()
    assert np.isnan(result.agreement()).all()


def test_count_pairs_batch_equals_trials_one_by_one():
    rng = np.random.default_rng(0)
    s, e = rng.integers(0, 41, (2, 30, 60)) / 40
    s[3, 5] = NAN
    e[4, :] = NAN
    batch = count_pairs(s, e)
    assert batch.pairs[4].sum() == 0
    for t in range(30):
        one = count_pairs(s[t], e[t])
        assert (one.pairs[0] == batch.pairs[t]).all()
        assert (one.agree[0] == batch.agree[t]).all()


def test_count_pairs_many_models_in_chunks_equals_loop(monkeypatch):
    rng = np.random.default_rng(1)
    s, e = rng.random((2, 7, 9))
    whole = count_pairs(s, e)
    monkeypatch.setattr(pairs, "_CHUNK", 40)
    assert (count_pairs(s, e).agree == whole.agree).all()
    assert whole.pairs.sum() == 7 * 36


def test_count_pairs_shapes_differ_says_so():
    with pytest.raises(ValueError, match=r"shapes \(3,\) and \(2,\)"):
        count_pairs([0.1, 0.2, 0.3], [0.1, 0.2])


def test_count_pairs_impossible_width_says_so():
    with pytest.raises(ValueError, match=r"width: 0 is not in \(0, 1\]"):
        count_pairs([0.1, 0.2], [0.1, 0.2], width=0)


def test_verdicts_every_kind_of_pair():
    # Pairs in order (0,1) (0,2) (0,3) (1,2) (1,3) (2,3); models 2 and 3 tie in the reference.
    s = [0.1, 0.2, 0.3, 0.3]
    e = [0.4, 0.5, 0.4, NAN]
    assert [Verdict(v).name for v in pairs.verdicts(s, e)] == [
        "SAME", "TIED", "NO_PAIR", "REVERSED", "NO_PAIR", "NO_PAIR",
    ]  # fmt: skip


def test_mdad_first_bin_at_level_counts_even_after_a_gap():
    # Shares 0.5, 4/5 = 0.8 exactly, 0.7, none, 0.9: the first at 0.8 is bin 1.
    result = counts([10, 5, 10, 0, 10], [5, 4, 7, 0, 9])
    assert result.mdad().tolist() == [0.005]
    # From bin 4 on all stay at 0.8; bin 2 does not.
    assert result.mdad_sustained(min_pairs=5).tolist() == [0.02]


def test_mdad_no_bin_reaches_the_level_is_nan():
    result = counts([10, 10], [7, 7])
    assert np.isnan(result.mdad()).all()
    assert np.isnan(result.mdad_sustained(min_pairs=1)).all()
    assert result.mdad(level=0.7).tolist() == [0.0]


def test_mdad_sustained_thin_bins_are_not_looked_at():
    # The one pair of bin 0 agrees by luck, the one of bin 3 disagrees by bad luck.
    result = counts([1, 50, 50, 1], [1, 30, 45, 0])
    assert result.mdad().tolist() == [0.0]
    assert result.mdad_sustained(min_pairs=30).tolist() == [0.01]
    assert np.isnan(result.mdad_sustained(min_pairs=51)).all()


def test_mdad_one_pair_that_agrees_is_its_bin():
    assert count_pairs([0.1, 0.151], [0.3, 0.4]).mdad().tolist() == [0.05]


def test_wrong_within_counts_only_closer_pairs():
    # Below 0.01: bins 0 and 1, 15 pairs of which 9 agree.
    result = counts([10, 5, 10], [5, 4, 10])
    assert result.wrong_within(0.01)[0] == pytest.approx(6 / 15)
    assert result.share_within(0.01)[0] == pytest.approx(15 / 25)
    assert np.isnan(result.share_within(NAN)).all()


def test_pool_adds_the_trials():
    result = PairCounts(np.array([[1, 2], [3, 4]]), np.array([[0, 2], [3, 1]])).pool()
    assert result.pairs.tolist() == [[4, 6]]
    assert result.agree.tolist() == [[3, 3]]


def test_weigh_repeats_trials():
    result = PairCounts(np.array([[1, 2], [3, 4]]), np.array([[0, 2], [3, 1]]))
    weighed = result.weigh(np.array([[2, 0], [1, 1]]))
    assert weighed.pairs.tolist() == [[2, 4], [4, 6]]
    assert weighed.agree.tolist() == [[0, 4], [3, 3]]
    empty = PairCounts(np.zeros((2, 3), int), np.zeros((2, 3), int)).weigh(np.array([[1, 1]]))
    assert np.isnan(empty.mdad()).all()


def test_trial_weights_every_resample_has_as_many_trials():
    weights = resampling.trial_weights(50, np.random.default_rng(0), 200)
    assert weights.shape == (200, 50)
    assert (weights.sum(axis=1) == 50).all()


def test_interval_of_known_values_is_their_percentiles():
    # 100 values 1 ... 100: 2.5 % lie at or below 3 (2 would be 2 %), 97.5 % at or below 98.
    low, high = resampling.interval(np.arange(1, 101))
    assert (low, high) == (3, 98)


def test_interval_never_reached_is_more_than_any_number():
    values = np.r_[np.full(95, 0.02), np.full(5, NAN)]
    low, high = resampling.interval(values, never=True)
    assert low == 0.02
    assert np.isnan(high)
    assert resampling.interval(values)[1] == 0.02
    assert np.isnan(resampling.interval(np.full(10, NAN))[0])


@pytest.mark.parametrize("share_missing", [0.0, 0.1])
def test_rank_correlations_equal_scipy(share_missing):
    rng = np.random.default_rng(2)
    s, e = rng.integers(0, 12, (2, 8, 25)) / 12
    s[rng.random(s.shape) < share_missing] = NAN
    tau, rho = pairs.rank_correlations(s, e)
    for t in range(8):
        known = ~np.isnan(s[t])
        assert tau[t] == pytest.approx(stats.kendalltau(s[t][known], e[t][known]).statistic)
        assert rho[t] == pytest.approx(stats.spearmanr(s[t][known], e[t][known]).statistic)


def test_rank_correlations_by_hand():
    # Pairs: (0,1) and (1,2) kept, (0,2) kept: tau 1. Second: of three pairs one is reversed:
    # (2 - 1) / 3; ranks 1 2 3 against 1 3 2: 1 - 6 * 2 / (3 * 8) = 0.5.
    tau, rho = pairs.rank_correlations([[0.1, 0.2, 0.3]] * 2, [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2]])
    assert tau == pytest.approx([1, 1 / 3])
    assert rho == pytest.approx([1, 0.5])


def test_rank_correlations_constant_input_is_nan():
    for value in pairs.rank_correlations([0.1, 0.2, 0.3], [0.5, 0.5, 0.5]):
        assert np.isnan(value).all()


def test_mean_absolute_error_leaves_unknown_out():
    error = pairs.mean_absolute_error([[0.5, 0.6, NAN], [NAN] * 3], [[0.4, 0.8, 0.1], [0.1] * 3])
    assert error[0] == pytest.approx(0.15)
    assert np.isnan(error[1])


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_count_pairs_order_of_models_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    s, e = rng.integers(0, 21, (2, 3, 15)) / 20
    order = rng.permutation(15)
    one, other = count_pairs(s, e), count_pairs(s[:, order], e[:, order])
    assert (one.pairs == other.pairs).all()
    assert (one.agree == other.agree).all()
