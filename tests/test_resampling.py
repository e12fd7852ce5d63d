"""Resamples of trials and of models."""

import numpy as np
import pytest

from lm_microbench import resampling
from lm_microbench.pairs import count_pairs, rank_correlations


@pytest.fixture
def scores():
    rng = np.random.default_rng(5)
    s, e = rng.integers(0, 15, (2, 20)) / 14
    e[3] = np.nan
    return s, e


def test_weigh_models_each_once_equals_count_pairs(scores):
    once = resampling.weigh_models(*scores, np.ones((1, 20), dtype=np.int64))
    assert (once.pairs == count_pairs(*scores).pairs).all()
    assert (once.agree == count_pairs(*scores).agree).all()


def test_weighted_models_equal_models_written_out(scores):
    # Drawing model 4 twice and model 7 never is the same as a list of models that says so; a
    # model and its copy tie in the reference, so they make no pair.
    s, e = scores
    weights = np.ones((1, 20), dtype=np.int64)
    weights[0, 4], weights[0, 7] = 2, 0
    listed = np.repeat(np.arange(20), weights[0])
    counts = resampling.weigh_models(s, e, weights)
    assert (counts.pairs == count_pairs(s[listed], e[listed]).pairs).all()
    assert (counts.agree == count_pairs(s[listed], e[listed]).agree).all()
    figures = resampling._of_models(s, e, weights)
    tau, rho = rank_correlations(s[listed], e[listed])
    assert figures["kendall_tau"] == pytest.approx(tau)
    assert figures["spearman"] == pytest.approx(rho)
    assert figures["error"] == pytest.approx(np.nanmean(np.abs(s - e)[listed]))


def test_resample_one_trial_resamples_models(scores):
    s, e = (x[None] for x in scores)
    result = resampling.resample(s, e, seed=0, n_resamples=200)
    low, high = resampling.interval(result.mean_draws["kendall_tau"])
    assert low < result.means["kendall_tau"] < high


def test_resample_trials_mean_is_the_mean_of_trials():
    rng = np.random.default_rng(6)
    s, e = rng.random((2, 30, 10))
    result = resampling.resample(s, e, seed=0)
    assert result.means["error"] == pytest.approx(np.abs(s - e).mean())
    assert result.means["kendall_tau"] == pytest.approx(rank_correlations(s, e)[0].mean())
    assert (result.counts.pairs == count_pairs(s, e).pairs.sum(axis=0)).all()


def test_resample_a_trial_without_tau_is_left_out():
    s = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])
    e = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]])  # the second is tied: no tau
    result = resampling.resample(s, e, seed=0)
    assert result.means["kendall_tau"] == 1
    assert result.counts.total_agreement()[0] == 0.5


def test_resample_interval_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(7)
    covered = 0
    for run in range(200):
        s = rng.random((40, 3))
        e = s + rng.normal(0, 0.1, s.shape)
        draws = resampling.resample(s, e, seed=run, n_resamples=300).mean_draws["error"]
        low, high = resampling.interval(draws)
        covered += low <= 0.1 * np.sqrt(2 / np.pi) <= high  # mean of |N(0, 0.1)|
    # 95 % of 200 is 190; 40 trials make the bootstrap a little narrow.
    assert 176 <= covered <= 199
