import numpy as np
import pytest

from lm_microbench import irt


def drawn(n_models=200, n_items=150, dimensions=1, seed=0):
    rng = np.random.default_rng(seed)
    items = irt.ItemParameters(
        rng.lognormal(0, 0.4, (n_items, dimensions)), rng.normal(0, 1.5, n_items)
    )
    ability = rng.normal(size=(n_models, dimensions))
    answers = rng.random((n_models, n_items)) < items.probability(ability)
    return answers.astype(float), items, ability


def log_likelihood(model, answers):
    p = model.items.probability(model.ability.mean)
    known = ~np.isnan(answers)
    return np.log(np.where(answers > 0.5, p, 1 - p)[known]).mean()


def test_probability_of_a_known_item_is_worked_out_by_hand():
    # a = 2, b = 1, theta = 1: z = 2 * 1 - 1 = 1; 1 / (1 + e^-1) = 0.7310586.
    items = irt.ItemParameters(np.array([[2.0]]), np.array([1.0]))
    assert items.probability(np.array([[1.0]]))[0, 0] == pytest.approx(0.7310586, abs=1e-7)


def test_fit_of_drawn_answers_recovers_the_parameters():
    answers, items, ability = drawn()
    model = irt.fit(answers, 1)
    for true, found in [
        (ability[:, 0], model.ability.mean[:, 0]),
        (items.difficulty, model.items.difficulty),
        (items.discrimination[:, 0], model.items.discrimination[:, 0]),
    ]:
        assert np.corrcoef(true, found)[0, 1] > 0.85


def test_fit_covers_the_true_abilities_as_often_as_it_says():
    answers, _, ability = drawn()
    model = irt.fit(answers, 1)
    # The draw's abilities are standardised as the fit's are.
    z = (ability - ability.mean()) / ability.std() - model.ability.mean
    assert 0.88 < (np.abs(z) < 1.96 * model.ability.standard_error()).mean() < 0.99


def test_fit_in_more_dimensions_than_needed_shrinks_the_others_to_nothing():
    answers, _, _ = drawn(dimensions=1)
    size = np.sqrt((irt.fit(answers, 5).items.discrimination ** 2).mean(axis=0))
    assert size[0] > 0.8
    assert (size[1:] < 0.1 * size[0]).all()


def test_fit_learns_the_spread_of_discrimination():
    # The modes spread less than the true values, 0.41 here; a variance that is learnt from modes
    # alone, without their uncertainty, falls to nothing.
    answers, items, _ = drawn()
    assert irt.fit(answers, 1).items.discrimination.std() > 0.5 * items.discrimination.std()


def test_fit_is_identified():
    answers, _, _ = drawn(dimensions=3)
    model = irt.fit(answers, 3)
    second = model.ability.mean**2 + model.ability.standard_error() ** 2
    np.testing.assert_allclose(model.ability.mean.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(second.mean(axis=0), 1)
    squares = (model.items.discrimination**2).mean(axis=0)
    assert (np.diff(squares) <= 0).all()
    assert (model.items.discrimination.mean(axis=0) >= 0).all()


def test_fit_right_and_wrong_swapped_gives_the_opposite_difficulty():
    answers, _, _ = drawn(n_models=60, n_items=80)
    model, other = irt.fit(answers, 1), irt.fit(1 - answers, 1)
    np.testing.assert_allclose(other.items.difficulty, -model.items.difficulty, atol=1e-5)
    np.testing.assert_allclose(other.ability.mean, -model.ability.mean, atol=1e-5)


def test_fit_with_hidden_answers_predicts_them_nearly_as_well_as_the_truth():
    answers, items, ability = drawn()
    hidden = np.random.default_rng(1).random(answers.shape) < 0.1
    model = irt.fit(np.where(hidden, np.nan, answers), 1)
    truth = irt.LogisticModel(items, irt.Ability(ability, np.zeros((200, 1, 1))))
    held_out = np.where(hidden, answers, np.nan)
    assert log_likelihood(model, held_out) > log_likelihood(truth, held_out) - 0.02


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_fit_of_constant_answers_stays_finite(value):
    model = irt.fit(np.full((4, 6), value), 2)
    assert np.isfinite(model.items.difficulty).all()
    assert (np.sign(model.items.difficulty) == (1 if value == 0 else -1)).all()


def test_fit_model_and_item_without_answers_get_the_mean():
    answers, _, _ = drawn(n_models=30, n_items=40)
    answers[4], answers[:, 7] = np.nan, np.nan
    model = irt.fit(answers, 1)
    assert np.abs(model.ability.mean[4]) < 0.2
    assert abs(model.items.difficulty[7] - model.items.difficulty.mean()) < 0.2


@pytest.mark.parametrize(
    ("shape", "dimensions", "message"),
    [((1, 5), 1, "scores: shape"), ((3, 0), 1, "scores: shape"), ((3, 4), 0, "dimensions: 0")],
)
def test_fit_wrong_input_is_one_line(shape, dimensions, message):
    with pytest.raises(ValueError, match=message):
        irt.fit(np.zeros(shape), dimensions)


def test_ability_one_item_solves_its_equation():
    # One item, a = 1, b = 0, answered rightly: the mode solves 1 - p(t) = t, so t = 0.4010581.
    items = irt.ItemParameters(np.array([[1.0]]), np.array([0.0]))
    found = irt.ability(items, [[1.0]])
    assert found.mean[0, 0] == pytest.approx(0.4010581, abs=1e-6)
    # Curvature 1 + p (1 - p) with p = 1 - t: 1 + 0.5989419 * 0.4010581 = 1.2402105.
    assert found.standard_error()[0, 0] == pytest.approx(1.2402105**-0.5, abs=1e-6)


def test_ability_no_answer_is_the_prior():
    items = irt.ItemParameters(np.ones((3, 2)), np.zeros(3))
    found = irt.ability(items, np.full((2, 3), np.nan))
    np.testing.assert_array_equal(found.mean, 0)
    np.testing.assert_allclose(found.covariance, [np.eye(2)] * 2)


def test_ability_steep_item_still_reaches_the_mode():
    # Plain Newton steps go 0, 20, 0, 20, ... here; the mode solves t = 20 (1 - p(t)).
    items = irt.ItemParameters(np.array([[20.0]]), np.array([10.0]))
    theta = irt.ability(items, [[1.0]]).mean
    np.testing.assert_allclose(theta, 20 * (1 - items.probability(theta)), atol=1e-8)


def test_ability_of_a_model_does_not_hang_on_the_others():
    answers, items, _ = drawn(n_models=20, n_items=30)
    together = irt.ability(items, answers).mean
    alone = np.vstack([irt.ability(items, row).mean for row in answers])
    np.testing.assert_allclose(alone, together, atol=1e-12)


def test_tabulate_between_grid_points_is_near_the_curve():
    items = irt.ItemParameters(np.full((4, 1), 3.0), np.array([-3.0, 0.0, 1.0, 4.0]))
    theta = np.linspace(-3, 3, 1001)
    exact = items.mean_curve(theta[:, None])
    np.testing.assert_allclose(np.interp(theta, irt.GRID, items.tabulate()), exact, atol=3e-4)


def test_tabulate_several_dimensions_is_an_error():
    with pytest.raises(ValueError, match="tabulate: 2 dimensions"):
        irt.ItemParameters(np.ones((3, 2)), np.zeros(3)).tabulate()
