"""Tables and sentences in points."""

import numpy as np
import pytest

from lm_microbench import report
from lm_microbench.methods import select
from lm_microbench.responses import ResponseMatrix
from lm_microbench.studies import check_subset


def checked(scores, items=("p", "q")):
    scores = np.array(scores, float)
    m = ResponseMatrix(scores, [f"m{i}" for i in range(len(scores))], list("pqrs"), ["s"] * 4)
    return check_subset(m, select(m, "random", len(items)).with_(items=items))


# Full scores 1/4 ... 4/4, estimates 0, 1/2, 1/2, 1: the pairs 1/4 apart agree 2 times of 3, those
# further apart always.
GOOD = [[0, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1]]


def test_points_of_a_fraction_and_of_nothing():
    assert report.points(0.035) == "3.5"
    assert report.points(float("nan"), none="never") == "never"


def test_study_table_is_in_points():
    head, rows = report.study_table(checked(GOOD))
    row = dict(zip(head, rows[0], strict=True))
    assert (row["method"], row["size"], row["scores"]) == ("random", "2", "full")
    assert (row["MDAD"], row["error"], row["tau"], row["agreement"]) == ("50.0", "12.5", "91", "83")
    assert (row["sustained"], row["wrong<2"]) == ("-", "-")  # too few pairs; none that close


def test_study_sentences_of_too_few_pairs_says_so():
    (sentence,) = report.study_sentences(checked(GOOD), threshold=0.5)
    assert sentence == (
        "At 2 examples `random` ranks 80 % of the pairs near 50 points apart rightly; 50 % of the "
        "pairs of these models are closer; with 6 pairs in all, whether it holds further apart is "
        "not known; 33.3 % of pairs within 50 points would be ranked wrongly."
    )


def test_study_sentences_of_a_level_that_does_not_hold():
    # Full scores 0, 1/4, 3/4 and estimates 1/2, 1, 0: right 25 points apart, wrong 50 and 75.
    scores = np.repeat([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 1]], 6, axis=0)
    (sentence,) = report.study_sentences(checked(scores, items=("p",)))
    assert sentence == (
        "At 1 example `random` ranks no pairs of these models consistently: 80 % rightly is first "
        "reached 25 points apart, but does not hold further apart; 0 % of the pairs of these "
        "models are closer."
    )


def test_study_sentences_of_a_level_never_reached():
    (sentence,) = report.study_sentences(checked([[0, 0, 1, 1], [0, 0, 0, 0]]))
    assert sentence == (
        "At 2 examples `random` ranks no pairs of these models consistently (80 % rightly), "
        "however different."
    )


def test_study_sentences_of_a_level_that_holds():
    # Ten copies of every model: 100 pairs of each two kinds, 40 of the same kind (no pairs).
    (sentence,) = report.study_sentences(checked(np.repeat(GOOD, 10, axis=0)))
    assert sentence == (
        "At 2 examples `random` ranks pairs 50 points apart consistently (80 % rightly); "
        "50 % of the pairs of these models are closer."
    )


@pytest.mark.parametrize("level", [0.6, 0.5])
def test_study_table_lower_level_gives_smaller_mdad(level):
    head, rows = report.study_table(checked(GOOD), level=level)
    assert dict(zip(head, rows[0], strict=True))["MDAD"] == "25.0"
