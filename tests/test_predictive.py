"""`predictive`: formulas against dense algebra, honest errors on a seeded benchmark, the peers."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import Ridge

from lm_microbench.estimators import PredictiveEstimator
from lm_microbench.methods import get_method, select
from lm_microbench.methods.aipw import aipw_weights
from lm_microbench.methods.lasso import least_angle_order
from lm_microbench.predictive import choosing, fit
from lm_microbench.predictive.calibration import HeldOut, _order_inflation
from lm_microbench.predictive.choosing import Order, lottery, random_share, target_population
from lm_microbench.predictive.curves import INTERCEPT_SD, fit_curves
from lm_microbench.predictive.evidence import Evidence, Prediction
from lm_microbench.predictive.sources import (
    MARGIN,
    PRIOR_SCALE,
    RESIDUAL_SHARE,
    RESIDUAL_SOURCES,
    fit_sources,
)
from lm_microbench.predictive.sureness import fit_reference, levelled, sureness
from lm_microbench.responses import ResponseMatrix
from lm_microbench.ridge import PENALTIES, ridge
from lm_microbench.subset import Subset


def benchmark(n_models=100, n_items=300, seed=0):
    """Return answers by a 2PL model: abilities N(0, 1), discriminations around 1."""
    rng = np.random.default_rng(seed)
    ability, slope = rng.normal(size=n_models), rng.lognormal(0, 0.4, n_items)
    p = 1 / (1 + np.exp(-slope * (ability[:, None] - rng.normal(0, 1.2, n_items))))
    return (rng.random(p.shape) < p).astype(np.float64)


def matrix(scores):
    n_models, n_items = scores.shape
    models, items = (
        [f"{k}-{i:04}" for i in range(n)] for k, n in (("m", n_models), ("i", n_items))
    )
    return ResponseMatrix(scores, models, items, ["all"] * n_items)


def order_of(model, seed=0):
    """Return the order of items of a benchmark of one subtask."""
    return Order(model, np.zeros(model.n_items, dtype=int), np.random.default_rng(seed))


@pytest.fixture(scope="module")
def split():
    """Return 60 sources and 240 targets of one benchmark."""
    scores = benchmark(300)
    return scores[:60], scores[60:]


@pytest.fixture(scope="module")
def subset(split):
    return select(matrix(split[0]), "predictive", 25, seed=1)


def positions(subset):
    return [int(item[2:]) for item in subset.items]


# ---- curves and choice


def test_fit_curves_at_the_mode_the_gradient_is_zero():
    scores, ability = benchmark(12, 7), np.linspace(-1, 1, 12)
    scores[3, 2] = np.nan
    found = fit_curves(scores, ability, 0.5)
    residual = np.nan_to_num(scores - found.at(ability).probability.T)
    share = (np.nansum(scores, axis=0) + 0.5) / ((~np.isnan(scores)).sum(axis=0) + 1)
    centre = np.log(share / (1 - share)).mean()
    np.testing.assert_allclose(
        residual.sum(axis=0), (found.intercept - centre) / INTERCEPT_SD**2, atol=1e-5
    )
    np.testing.assert_allclose(ability @ residual, (found.slope - 1) / 0.5**2, atol=1e-5)


def test_order_without_random_items_is_the_dense_greedy_choice(monkeypatch):
    monkeypatch.setattr(choosing, "random_share", lambda n_sources, place: 0.0)
    model = fit_sources(benchmark(15, 40))
    ability, weight = target_population(model)
    _, v, slope = model.items.curves.at(ability)
    dense, left = [], np.ones(40, dtype=bool)
    covariances = []
    for g in range(len(ability)):
        root, s = np.sqrt(v[:, g]), slope[:, g] * PRIOR_SCALE * model.spread
        correlation = model.items.loadings @ model.items.loadings.T + np.diag(
            model.items.uniqueness
        )
        covariances.append(np.outer(root, root) * correlation + np.outer(s, s))
    prior = [c.mean() for c in covariances]
    for _ in range(8):
        gain = sum(
            w * c.mean(axis=1) ** 2 / np.maximum(c.diagonal(), 1e-9) / p**choosing.POWER
            for w, c, p in zip(weight, covariances, prior, strict=True)
        )
        item = int(np.argmax(np.where(left, gain, -1)))
        dense.append(item)
        left[item] = False
        covariances = [c - np.outer(c[item], c[item]) / c[item, item] for c in covariances]
    chosen, drawn = order_of(model).first(8)
    assert chosen.tolist() == sorted(dense)
    assert not drawn.any()


def test_order_of_a_smaller_size_is_part_of_a_larger_one(split):
    sizes = get_method("predictive").select_sizes(
        matrix(split[0]), [100, 25, 10], rng=np.random.default_rng(0)
    )
    large, middle, small = (set(subset.items) for subset in sizes)
    assert small < middle < large


def test_order_share_of_random_items_is_as_stated():
    order = order_of(fit_sources(benchmark(10, 120)))
    _, drawn = order.first(60)
    expected = sum(random_share(10, place) for place in range(60))
    assert abs(drawn.sum() - expected) <= 0.5


def test_random_share_by_hand():
    # (20 + 0) / (10 + 30 + 0) with ten sources at first; never above 1.
    assert random_share(10, 0) == 0.5
    assert random_share(2, 10**6) < 1


def test_target_population_weighs_above_by_its_reach():
    model = fit_sources(benchmark(30, 60))
    ability, weight = target_population(model)
    above = ability > model.ability.max()
    assert above.sum() == 3
    assert weight[above].sum() == pytest.approx(choosing.SHARE_ABOVE * model.reach)
    assert weight.sum() == pytest.approx(1)


def test_lottery_has_every_subtask_in_its_share_from_the_first_item_on():
    subtasks = np.repeat([0, 1, 2], [60, 30, 10])[np.random.default_rng(0).permutation(100)]
    first = []
    for seed in range(200):
        drawn = lottery(subtasks, np.random.default_rng(seed))
        assert sorted(drawn) == list(range(100))
        first.append(drawn[0])
        for n in (1, 10, 25, 70):
            held = np.bincount(subtasks[drawn[:n]], minlength=3)
            # Three starts, each in [0, 1): off by less than 2 items of a subtask.
            assert (np.abs(held - n * np.array([0.6, 0.3, 0.1])) < 2).all()
    # Not the same items first: 200 draws of one of 100 items have about 87 different ones.
    assert len(set(first)) > 60


# ---- residual correlation


def test_residual_loadings_are_the_leading_part_of_the_shrunk_correlation():
    rng = np.random.default_rng(3)
    talent = 1.5 * rng.normal(size=(6, 3))[:, np.repeat(np.arange(3), 10)]
    scores = (rng.random((6, 30)) < 1 / (1 + np.exp(-talent))).astype(float)
    model = fit_sources(scores)
    p, v, _ = model.items.curves.at(model.ability)
    z = (scores - p.T) / np.sqrt(v.T)
    z /= np.maximum(np.sqrt((z**2).mean(axis=0)), 1)
    values, vectors = np.linalg.eigh(RESIDUAL_SHARE * 6 / (6 + RESIDUAL_SOURCES) * z.T @ z / 6)
    # Six rows have at most six components; all but the smallest are kept.
    leading = (vectors[:, -5:] * values[-5:]) @ vectors[:, -5:].T
    np.testing.assert_allclose(model.items.loadings @ model.items.loadings.T, leading, atol=1e-10)


# ---- evidence


def test_full_score_goes_on_above_what_is_expected():
    model = fit_sources(benchmark(15, 40))
    assert model.full.ability[-1] >= model.ability.max() + model.reach + MARGIN


def test_evidence_of_all_items_is_their_mean_without_error():
    model, answers = fit_sources(benchmark(15, 40)), benchmark(15, 40, seed=5)
    everything = np.arange(40), np.zeros(40, dtype=bool)
    found = Evidence.of(model, *everything).predict(answers)
    np.testing.assert_allclose(found.score, answers.mean(axis=1), atol=1e-12)
    assert found.own_variance.max() < 1e-6


def test_full_score_noise_and_loadings_are_those_of_the_dense_covariance():
    model = fit_sources(benchmark(15, 40))
    full = model.full
    v = model.items.curves.at(full.ability[7:8]).variance[:, 0]
    correlation = model.items.loadings @ model.items.loadings.T + np.diag(model.items.uniqueness)
    dense = (np.sqrt(np.outer(v, v)) * correlation).mean()
    assert (full.loadings[7] ** 2).sum() + full.noise[7] == pytest.approx(dense)


def test_predict_given_the_ability_is_the_dense_conditional_mean():
    model = fit_sources(benchmark(15, 40))
    chosen = np.array([3, 8, 20, 31])
    evidence = Evidence.of(model, chosen, np.zeros(4, dtype=bool))
    tables = evidence._tables_of(np.ones(4, dtype=bool))
    _, v, _ = model.items.curves.at(evidence.full.ability)
    correlation = model.items.loadings @ model.items.loadings.T + np.diag(model.items.uniqueness)
    covariance = np.sqrt(np.outer(v[:, 9], v[:, 9])) * correlation
    inner, outer = covariance[np.ix_(chosen, chosen)], covariance.mean(axis=0)[chosen]
    weights = np.linalg.solve(inner, outer)
    np.testing.assert_allclose(tables.weight[:, 9], weights)
    assert tables.variance[9] == pytest.approx(covariance.mean() - weights @ outer)


def test_estimate_missing_answer_is_an_item_not_chosen():
    fitted = fit(benchmark(30, 60), ["all"] * 60, np.random.default_rng(0))
    found = fitted.calibrated(6)
    answers = np.array([[1.0, 0, np.nan, 1, 1, 0]])
    rest = np.array([0, 1, 3, 4, 5])
    e = found.evidence
    without = Evidence(
        e.n_items, e.full, e.items.take(rest), e.drawn[rest], e.prior_scale, e.above,
        e.design_share, e.shift,
    )  # fmt: skip
    # Not exactly: the tie break goes by an item's place.
    np.testing.assert_allclose(
        e.predict(answers).score, without.predict(answers[:, rest]).score, atol=1e-5
    )


def test_estimate_different_answers_never_tie_at_ten_examples():
    source = benchmark(40, 60)
    source[:, 10:20] = source[:, :10]  # items that the sources answer alike
    found = select(matrix(source), "predictive", 10)
    answers = np.array(list(itertools.product([0.0, 1.0], repeat=10)))
    estimates = np.sort(found.raw_estimate(answers))
    assert np.diff(estimates).min() > 1e-9


# ---- confidences


def both(n_models=60, n_items=120, seed=0):
    """Return scores by a 2PL model, and confidences around the same probabilities."""
    rng = np.random.default_rng(seed)
    ability, slope = rng.normal(size=n_models), rng.lognormal(0, 0.4, n_items)
    logit = slope * (ability[:, None] - rng.normal(0, 1.2, n_items))
    opinion = logit + 0.6 * rng.logistic(size=logit.shape)
    return (opinion > 0).astype(np.float64), 1 / (1 + np.exp(-opinion))


def with_confidence(scores, confidence):
    return dataclasses.replace(matrix(scores), confidence=confidence)


def dense_covariance(model, ability):
    """Return the covariance of all scores and confidences at one ability, and with the score."""
    items, n = model.items, model.n_items
    rho, at = items.confidence.coupling, items.at(np.array([ability]))
    load = items.all_loadings
    correlation = load @ load.T + np.diag(1 - (load**2).sum(axis=1))
    root, other = np.diag(at.root[:, 0]), np.diag(at.confidence_root[:, 0])
    to_answers = np.block([[root, np.zeros((n, n))], [rho * other, np.sqrt(1 - rho**2) * other]])
    covariance = to_answers @ correlation @ to_answers.T
    return covariance, covariance[:, :n].mean(axis=1), at.slope[:, 0]


def opinions(n_models=60, n_items=150, seed=0, temperature=1.0):
    """Return answers to four choices, and the softmax shares of the right one."""
    rng = np.random.default_rng(seed)
    opinion = rng.normal(size=(n_models, n_items, 4))
    ability, difficulty = rng.normal(size=(n_models, 1)), rng.normal(size=n_items)
    opinion[:, :, 0] += 1 + ability - difficulty
    share = np.exp(1.5 * opinion / temperature)
    return (opinion.argmax(axis=2) == 0).astype(float), share[:, :, 0] / share.sum(axis=2)


def test_fit_sources_confidences_by_hand():
    scores, confidences = both(20, 30)
    model = fit_sources(scores, confidences)
    found, curves = model.items.confidence, model.items.confidence.curves
    how_sure = sureness(scores, confidences, found.reference)
    confidences = levelled(confidences, how_sure.mode)
    p = curves.at(model.ability).probability
    squared = ((confidences - p.T) ** 2 / (p * (1 - p)).T).sum(axis=0)
    expected = (squared + 4 * squared.sum() / 600) / (20 + 4)
    np.testing.assert_allclose(curves.dispersion, expected)
    z, score = (
        (x - c.at(model.ability).probability.T) / np.sqrt(c.at(model.ability).variance.T)
        for x, c in ((confidences, curves), (scores, model.items.curves))
    )
    z, score = (x / np.maximum(np.sqrt((x**2).mean(axis=0)), 1) for x in (z, score))
    assert found.coupling == pytest.approx((z * score).mean())
    assert 0.4 < found.coupling < 0.9


def test_sureness_at_the_mode_the_gradient_is_zero_and_the_error_is_its_slope():
    scores, confidences = opinions(5, 40)
    confidences[1, 3] = np.nan
    reference = fit_reference(scores, confidences)
    found = sureness(scores, confidences, reference)
    a, b, spread = reference

    def gradient(s):
        x = np.exp(-s)[:, None] * b * (logit(confidences) - logit(0.25))
        return -np.nansum((scores - expit(a + x)) * x, axis=1) - s / spread**2

    np.testing.assert_allclose(gradient(found.mode), 0, atol=1e-5)
    # The error is that of the expected information, here within a third of the observed one.
    observed = (gradient(found.mode - 1e-4) - gradient(found.mode + 1e-4)) / 2e-4
    np.testing.assert_allclose(found.error, observed**-0.5, rtol=0.34)


def test_sureness_of_models_with_halved_logits_is_less_by_the_logarithm_of_two():
    scores, confidences = opinions(8, 4000)
    reference = fit_reference(scores, confidences)._replace(spread=10.0)
    halved = expit(logit(0.25) + (logit(confidences) - logit(0.25)) / 2)
    one, other = (sureness(scores, x, reference).mode for x in (confidences, halved))
    np.testing.assert_allclose(one - other, np.log(2), atol=1e-3)
    np.testing.assert_allclose(levelled(halved, other), levelled(confidences, one), atol=1e-3)


def test_sureness_of_models_whose_confidences_are_not_known_is_zero():
    reference = fit_reference(*opinions(5, 40))
    found = sureness(np.ones((2, 3)), np.full((2, 3), np.nan), reference)
    assert found.mode.tolist() == [0, 0]
    np.testing.assert_allclose(found.error, reference.spread)


@pytest.mark.parametrize("temperature", [0.5, 2.0, 4.0])
def test_targets_surer_or_less_sure_than_all_sources_are_estimated_honestly(temperature):
    scores, confidences = opinions(160, 200)
    _, tempered = opinions(160, 200, temperature=temperature)
    source = with_confidence(scores[:60], confidences[:60])
    subset = select(source, "predictive", 50, seed=1)
    truth = scores[60:].mean(axis=1)
    answers = {
        name: subset.answers(with_confidence(scores[60:], read[60:]))
        for name, read in (("alike", confidences), ("other", tempered))
    }
    error = {name: np.abs(subset.estimate(x) - truth) for name, x in answers.items()}
    assert (error["other"] < 1.96 * subset.standard_error(answers["other"])).mean() >= 0.85
    assert error["other"].mean() < 1.5 * error["alike"].mean()


def test_order_by_scores_and_confidences_is_the_dense_greedy_choice(monkeypatch):
    monkeypatch.setattr(choosing, "random_share", lambda n_sources, place: 0.0)
    model = fit_sources(*both(15, 30))
    ability, weight = target_population(model)
    dense, left, covariances, outer = [], np.ones(30, dtype=bool), [], []
    for t in ability:
        covariance, with_full, slope = dense_covariance(model, t)
        scale = (PRIOR_SCALE * model.spread) ** 2
        covariances.append(covariance + scale * np.outer(slope, slope))
        outer.append(with_full + scale * slope * slope[:30].mean())
    prior = [c[:30, :30].mean() for c in covariances]
    for _ in range(6):
        gain = np.zeros(30)
        for w, c, q, p in zip(weight, covariances, outer, prior, strict=True):
            for i in np.flatnonzero(left):
                pair = [i, 30 + i]
                explained = q[pair] @ np.linalg.solve(c[np.ix_(pair, pair)], q[pair])
                gain[i] += w * explained / p**choosing.POWER
        item = int(np.argmax(np.where(left, gain, -1)))
        dense.append(item)
        left[item] = False
        pair = [item, 30 + item]
        for g, (c, q) in enumerate(zip(covariances, outer, strict=True)):
            solved = np.linalg.solve(c[np.ix_(pair, pair)], np.column_stack([c[pair], q[pair]]))
            outer[g] = q - c[:, pair] @ solved[:, -1]
            # The pair's own rows would be 0; they are never asked for again.
            covariances[g] = c - c[:, pair] @ solved[:, :-1] + 1e-9 * np.eye(60)
    chosen, _ = order_of(model).first(6)
    assert chosen.tolist() == sorted(dense)


def test_predict_by_scores_and_confidences_is_the_dense_conditional_mean():
    model = fit_sources(*both(15, 40))
    chosen = np.array([3, 8, 20, 31])
    evidence = Evidence.of(model, chosen, np.zeros(4, dtype=bool))
    covariance, with_full, slope = dense_covariance(model, evidence.full.ability[9])
    known = np.concatenate([chosen, [43, 60]])  # of items 8 and 31 no confidence
    inner = covariance[np.ix_(known, known)]
    tables = evidence._tables_of(np.array([1, 1, 1, 1, 1, 0, 1, 0], dtype=bool))
    weights = np.linalg.solve(inner, with_full[known])
    np.testing.assert_allclose(tables.weight[:, 9], weights)
    assert tables.variance[9] == pytest.approx(
        covariance[:40, :40].mean() - weights @ with_full[known]
    )
    np.testing.assert_allclose(
        tables.likelihood_weight[:, 9], np.linalg.solve(inner, slope[known]), rtol=2e-5
    )


def test_predict_without_trust_in_confidences_is_by_the_scores():
    model, (scores, confidences) = fit_sources(*both(15, 40)), both(8, 40, seed=5)
    chosen, drawn = np.array([3, 8, 20, 31]), np.array([True, False, False, True])
    evidence = dataclasses.replace(Evidence.of(model, chosen, drawn), design_share=(0.2, 0.4))
    answers = np.hstack([scores[:, chosen], confidences[:, chosen]])
    untrusted = dataclasses.replace(evidence, trust=(0.0, 0.0)).predict(answers)
    answers[:, 4:] = np.nan
    for one, other in zip(untrusted, evidence.predict(answers), strict=True):
        np.testing.assert_allclose(one, other)


def test_trust_in_confidences_is_lost_above_where_those_of_the_best_mislead():
    scores, confidences = both(80, 200)
    best = np.argsort(scores.mean(axis=1))[-20:]
    rng = np.random.default_rng(1)
    for_best = rng.permutation(best)
    misled = confidences.copy()
    misled[best] = 0.5 + (confidences[for_best] - 0.5) * rng.uniform(-1, 1, (20, 1))
    trusts = []
    for read in (confidences, misled):
        fitted = fit(scores, ["all"] * 200, np.random.default_rng(0), read)
        trusts.append(fitted.calibrated(40).evidence.trust)
    assert min(trusts[0]) >= 0.5
    assert trusts[1][1] <= 0.25


def test_confidences_make_estimates_better_and_scores_can_be_asked_for(tmp_path):
    scores, confidences = both(160, 200)
    source = with_confidence(scores[:60], confidences[:60])
    target = with_confidence(scores[60:], confidences[60:])
    truth, errors = target.accuracy(), {}
    for estimate in ("auto", "score", "confidence"):
        subset = select(source, get_method("predictive", estimate=estimate), 20, seed=1)
        subset.save(tmp_path / "s.json")
        again = Subset.load(tmp_path / "s.json")
        assert again.estimator.reads == ("score" if estimate == "score" else "both")
        found = again.estimate(again.answers(target))
        np.testing.assert_array_equal(found, subset.estimate(subset.answers(target)))
        errors[estimate] = np.abs(found - truth).mean()
        # Without confidences it is worse, but still an estimate.
        unknown = again.estimate(again.answers(matrix(scores[60:])))
        assert np.abs(unknown - truth).mean() >= errors[estimate]
        z = np.abs(found - truth) / again.standard_error(again.answers(target))
        assert (z < 1.96).mean() >= 0.88
    assert errors["auto"] == errors["confidence"] < 0.85 * errors["score"]


def test_confidences_of_one_source_alone_say_nothing_and_harm_nothing():
    # Where that source is left out, none is known at all.
    scores, confidences = both(12, 40)
    confidences[1:] = np.nan
    source = with_confidence(scores, confidences)
    subset = select(source, get_method("predictive", estimate="confidence"), 10, seed=0)
    answers = subset.answers(with_confidence(*both(20, 40, seed=1)))
    assert np.isfinite(subset.estimate(answers)).all()
    assert (subset.standard_error(answers) > 0).all()


def test_confidences_of_fewer_than_four_sources_are_not_read():
    # Nobody can be left out, so nothing says how far they can be trusted.
    source = with_confidence(*both(3, 40))
    assert select(source, "predictive", 10, seed=0).estimator.reads == "score"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": (1.0,)}, "confidence.slope: 1 for 5 items"),
        ({"loadings": ((0.1,),) * 5}, "confidence.loadings: give every item 19"),
        ({"dispersion": (0.0,) * 5}, "greater than 0"),
        ({"coupling": 0.96}, "less than or equal to 0.95"),
    ],
)
def test_estimator_of_inconsistent_confidence_numbers_is_an_error(change, message):
    estimator = select(with_confidence(*both(20, 40)), "predictive", 5, seed=0).estimator
    with pytest.raises(ValueError, match=message):
        PredictiveEstimator(
            **{**dict(estimator), "confidence": {**dict(estimator.confidence), **change}}
        )


def test_estimate_of_scores_where_columns_for_confidences_are_missing_is_an_error():
    subset = select(with_confidence(*both(20, 40)), "predictive", 5, seed=0)
    with pytest.raises(ValueError, match=r"\(1, 5\); give 5 scores, in the order of `items`, then"):
        subset.estimate(np.ones(5))


# ---- errors


def test_standard_error_intervals_cover_held_out_models(split, subset):
    answers, truth = split[1][:, positions(subset)], split[1].mean(axis=1)
    z = np.abs(subset.estimate(answers) - truth) / subset.standard_error(answers)
    assert 0.90 <= (z < 1.96).mean() <= 0.995
    assert 0.70 <= (z < 1.2816).mean() <= 0.92


def test_order_probability_of_pairs_is_how_often_they_are_ordered_so(split, subset):
    answers, truth = split[1][:, positions(subset)], split[1].mean(axis=1)
    said = subset.estimator.order_probability(answers)
    np.testing.assert_allclose(said + said.T, 1)
    some = (said > 0.8) & (said < 0.9) & (truth[:, None] != truth)
    right = (truth[:, None] > truth)[some].mean()
    assert 0.75 <= right <= 0.95


def test_order_inflation_is_that_with_which_orders_are_as_sure_as_right():
    # 75 of 100 pairs with a difference of one standard error are right: Phi(1 / f) = 0.75 at
    # f = 1.48. Two errors of sqrt(1/2) make a difference's 1.
    found = []
    for i in range(100):
        truth = np.array([0.0, 1.0]) if i < 75 else np.array([1.0, 0.0])
        held = HeldOut(None, None, np.zeros((2, 0)), truth, above=False)
        half = np.full(2, 0.5)
        found.append((held, Prediction(np.array([0.0, 1.0]), half, half, half)))
    inside, above = _order_inflation(found)
    assert inside == pytest.approx(1 / 0.6745, rel=0.03)
    assert above == pytest.approx(2, rel=0.03)  # nothing known: what is taken before


def test_difference_error_is_symmetric_and_below_independent_errors(split, subset):
    answers = split[1][:20, positions(subset)]
    error = subset.estimator.difference_error(answers)
    np.testing.assert_array_equal(error, error.T)
    assert (error > 0).all()


def test_estimate_beats_the_mean_of_random_samples(split):
    truth, errors = split[1].mean(axis=1), {}
    for method in ("predictive", "random"):
        chosen = [select(matrix(split[0]), method, 25, seed=seed) for seed in range(4)]
        estimates = [s.estimate(split[1][:, positions(s)]) for s in chosen]
        errors[method] = np.abs(estimates - truth).mean()
    assert errors["predictive"] < 0.85 * errors["random"]


def test_manifest_round_trip_gives_the_same_errors(tmp_path, split, subset):
    subset.save(tmp_path / "s.json")
    again = Subset.load(tmp_path / "s.json")
    answers = split[1][:9, positions(subset)]
    assert isinstance(again.estimator, PredictiveEstimator)
    for name in ("estimate", "standard_error", "difference_error", "order_probability"):
        first, second = (getattr(s.estimator, name)(answers) for s in (subset, again))
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slope": (1.0,)}, "slope: 1 for 25 items"),
        ({"full_score": (0.5,)}, "full_score: 1 for 31 abilities"),
        ({"n_items": 25}, "n_items: 25 with 25 chosen"),
        ({"ability": (0.0,) * 31}, "ability: not an even, ascending grid"),
        ({"above": (0.5, 0.1)}, "above: 0.5 is not below 0.1"),
        ({"trust": (1.0, 7.0)}, "less than or equal to 1"),
        ({"inflation": (-1.0, 1.0)}, "greater than 0"),
        ({"loadings": ((1.0,) * 40,) * 25}, "loadings: the squares of an item's add up to 1"),
    ],
)
def test_estimator_of_inconsistent_numbers_is_an_error(subset, change, message):
    with pytest.raises(ValueError, match=message):
        PredictiveEstimator(**{**dict(subset.estimator), **change})


# ---- peers


def test_ridge_is_scikit_learns_at_the_penalty_with_the_least_error_left_out():
    scores = benchmark(25, 40)
    x, y = scores[:, :9], scores.mean(axis=1)
    losses = []
    for penalty in PENALTIES:
        left_out = [
            Ridge(alpha=penalty).fit(np.delete(x, i, 0), np.delete(y, i)).predict(x[i : i + 1])[0]
            for i in range(25)
        ]
        losses.append(((left_out - y) ** 2).sum())
    expected = Ridge(alpha=PENALTIES[int(np.argmin(losses))]).fit(x, y)
    weights, intercept = ridge(x, y)
    np.testing.assert_allclose(weights, expected.coef_)
    assert intercept == pytest.approx(expected.intercept_)


def test_aipw_weights_of_sources_that_agree_is_the_difference_estimator():
    # No deviations: the prediction is mu. Estimate: mean(mu) + (1 - 2/4) * mean(y_S - mu_S), so
    # each weight is 0.5 / 2 and the intercept 0.5 - 0.25 * (1 + 0) = 0.25.
    scores = np.tile([1.0, 0.0, 1.0, 0.0], (3, 1))
    weights, intercept = aipw_weights(scores, np.array([0, 1]))
    np.testing.assert_allclose(weights, [0.25, 0.25])
    assert intercept == pytest.approx(0.25)


def test_least_angle_order_starts_with_the_greatest_covariance():
    # Mean scores 3/4, 1/2, 1/4, 1/4, deviations from their mean 5, 1, -3, -3 sixteenths. Their sum
    # over the models that are right: item 0 (models 0): 5; 1 (0, 1): 6; 2 (0): as 0; 3 (1, 2, 3):
    # -5, contrariwise to 0. Item 1 enters first; 2 and 3 are represented by 0.
    scores = np.array([[1, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1]], dtype=float)
    assert least_angle_order(scores)[0] == 1
    assert set(least_angle_order(scores)) <= {0, 1}


def test_disagreement_takes_the_items_on_which_half_are_right():
    scores = np.zeros((4, 6))
    scores[:2, 2], scores[2:, 5], scores[0, 0] = 1, 1, 1
    assert select(matrix(scores), "disagreement", 2).items == ("i-0002", "i-0005")


def test_regression_chooses_as_random_does():
    scores = matrix(benchmark(20, 50))
    assert (
        select(scores, "regression", 9, seed=2).items == select(scores, "random", 9, seed=2).items
    )
