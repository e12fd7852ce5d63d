"""The draws of a trial, and one line for each impossible request."""

import numpy as np
import pytest

from lm_microbench.responses import ResponseMatrix
from lm_microbench.trials import TrialDesign


def matrix(n_models=12, subtasks=(5, 4, 1), seed=0):
    names = [f"s{i}" for i, n in enumerate(subtasks) for _ in range(n)]
    scores = np.random.default_rng(seed).integers(0, 2, (n_models, len(names)))
    models = [f"m{i:02d}" for i in range(n_models)]
    return ResponseMatrix(scores, models, [f"i{i:02d}" for i in range(len(names))], names)


def test_draw_random_mode_targets_and_sources_are_distinct_models():
    draw = TrialDesign((3, 7), 5).draw(matrix(), trial=0)
    assert (len(draw.targets), len(draw.sources)) == (5, 7)
    assert not set(draw.targets) & set(draw.sources)


def test_draw_a_trial_does_not_depend_on_the_number_of_sources():
    one, other = (TrialDesign(n, 5).draw(matrix(), trial=3) for n in ((3,), (3, 7)))
    assert one.targets.tolist() == other.targets.tolist()
    assert one.sources.tolist() == other.sources[:3].tolist()
    assert (one.seen == other.seen).all()


def test_draw_half_is_half_of_every_subtask():
    # Subtasks of 5, 4 and 1 items: 2 or 3, 2, and 0 or 1; with odd ones in turns, 5 of 10 in all.
    singles = set()
    for trial in range(40):
        seen = TrialDesign((2,), 2).draw(matrix(), trial).seen
        assert seen.sum() == TrialDesign((2,), 2).n_seen(10) == 5
        assert seen[5:9].sum() == 2
        assert seen[:5].sum() + seen[9] == 3
        singles.add(bool(seen[9]))
    assert singles == {True, False}


def test_draw_half_every_item_is_seen_about_half_the_time():
    design = TrialDesign((2,), 2)
    m = matrix()
    share = np.mean([design.draw(m, t).seen for t in range(400)], axis=0)
    # 400 fair draws stay within 4.5 standard deviations of 0.025; the odd item of an odd subtask
    # is drawn with 2/5 or 3/5.
    assert np.abs(share - 0.5).max() < 0.115


def test_draw_split_none_sees_all_items():
    assert TrialDesign((2,), 2, split="none").draw(matrix(), 0).seen.all()


def test_draw_top_targets_are_the_best_and_sources_strictly_weaker():
    m = matrix(40, (30,))
    for trial in range(5):
        draw = TrialDesign((8,), 6, "top").draw(m, trial)
        accuracy = m.accuracy()
        assert sorted(accuracy[draw.targets]) == sorted(np.sort(accuracy)[-6:])
        assert accuracy[draw.sources].max() < accuracy[draw.targets].min()


def test_draw_list_targets_are_the_named_models():
    draw = TrialDesign((4,), 2, "list", ("m07", "m01")).draw(matrix(), 0)
    assert draw.targets.tolist() == [1, 7]
    assert not {1, 7} & set(draw.sources)


def test_draw_seed_and_trial_change_the_draws():
    m = matrix(40)
    first = TrialDesign((8,), 6).draw(m, 0).targets.tolist()
    assert TrialDesign((8,), 6).draw(m, 1).targets.tolist() != first
    assert TrialDesign((8,), 6, seed=1).draw(m, 0).targets.tolist() != first
    assert TrialDesign((8,), 6).draw(m, 0).targets.tolist() == first


@pytest.mark.parametrize(
    ("design", "error", "message"),
    [
        (TrialDesign((8,), 5), ValueError, "8 sources and 5 targets of 12 models; 7 models are"),
        (TrialDesign((8,), 20), ValueError, "8 sources and 20 targets of 12 models; 0 models are"),
        (TrialDesign((0,), 5), ValueError, r"n_sources: \[0\]"),
        (TrialDesign((), 5), ValueError, r"n_sources: \[\]"),
        (TrialDesign((3,), 1), ValueError, "n_targets: 1; a pair needs at least 2"),
        (TrialDesign((3,), 5, "best"), KeyError, "unknown target_mode 'best'; did you mean"),
        (TrialDesign((3,), 5, split="third"), KeyError, "unknown split 'third'"),
        (TrialDesign((3,), 2, "list", ("m01",)), ValueError, "targets: 1 named"),
        (TrialDesign((3,), 2, "list", ("m01", "m7")), KeyError, "'m7'; did you mean .*m07"),
    ],
)
def test_check_impossible_design_says_what_to_do(design, error, message):
    with pytest.raises(error, match=message):
        design.check(matrix())


def test_check_top_counts_only_weaker_models():
    scores = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 0, 0], [0, 0, 0]])
    m = ResponseMatrix(scores, list("abcde"), list("xyz"), ["s"] * 3)
    # The two best are tied with a third, which is not weaker.
    with pytest.raises(ValueError, match="2 models that are weaker are left"):
        TrialDesign((3,), 2, "top").check(m)
    TrialDesign((2,), 2, "top").check(m)
