"""Plans: the normal approximation by hand, a study's curve by hand, and impossible requests."""

import math

import pandas as pd
import pytest
from make_subsets import measured as subset

from lm_microbench.plan import plan_study, plan_tasks, smallest


def test_plan_tasks_gives_the_normal_probabilities():
    table = plan_tasks([subset("irt", 10, 0.02, 0.04)], 0.02, 0.8)
    # Phi(1) and Phi(1/2); detectable: rms times the 80 % quantile, 0.8416.
    assert table["probability"].tolist() == pytest.approx([0.841345, 0.691462], abs=1e-6)
    assert table["detectable"].tolist() == pytest.approx([0.016832, 0.033665], abs=1e-6)
    assert table["enough"].tolist() == [True, False]
    assert table["share"].tolist() == [0.01, 0.01]


def test_plan_tasks_lists_random_first_and_finds_the_smallest_size():
    subsets = [subset("irt", 10, 0.02), subset("random", 100, 0.01), subset("random", 10, 0.05)]
    table = plan_tasks(subsets, 0.02)
    assert table["method"].tolist() == ["random", "random", "irt"]
    assert smallest(table)["size"].tolist() == [100, 10]
    assert math.isnan(smallest(plan_tasks(subsets, 0.001))["size"][0])


def test_plan_tasks_pools_sizes_whose_error_rises():
    # Mean squares 4e-4 and 9e-4 pool to 6.5e-4; the third stands alone.
    table = plan_tasks([subset("irt", k, x) for k, x in [(10, 0.02), (25, 0.03), (50, 0.01)]], 0.02)
    rms = table["detectable"] / 0.8416212
    assert rms.tolist() == pytest.approx([0.0254951, 0.0254951, 0.01], abs=1e-6)


def test_smallest_passes_over_a_size_that_is_enough_while_a_larger_is_not():
    lucky = [subset("irt", 10, 0.02), subset("irt", 25, 0.03), subset("irt", 50, 0.01)]
    assert smallest(plan_tasks(lucky, 0.02))["size"].tolist() == [50]
    assert math.isnan(smallest(plan_tasks(lucky[:2], 0.02))["size"][0])


def test_plan_tasks_of_a_subset_without_measured_reliability_says_nothing():
    bare = subset("random", 10, 0.02).with_(reliability=None)
    assert plan_tasks([bare], 0.02).empty


class Study:
    """A study whose curve is known: its pooled agreement falls once, from 0.9 to 0.7."""

    settings = {"target_mode": "top", "n_items": 200}  # noqa: RUF012

    def pairs(self):
        curve = pd.DataFrame(
            {
                "bin_low": [0.0, 0.005, 0.01, 0.015],
                "bin_high": [0.005, 0.01, 0.015, 0.02],
                "pairs": [10, 10, 30, 10],
                "agreement": [0.5, 0.9, 0.7, 1.0],
            }
        )
        return curve.assign(method="random", n_sources=5, size=10, reference="seen")


def test_plan_study_pools_bins_that_fall():
    # Bins 2 and 3 pool to (10 * 0.9 + 30 * 0.7) / 40 = 0.75 at their middles, 0.0075 and 0.0125.
    table = plan_study(Study(), 0.01, 0.75)
    assert table["probability"][0] == pytest.approx(0.75)
    assert table["detectable"][0] == pytest.approx(0.005)
    assert table["target"][0] == "above"


def test_plan_study_of_one_subsets_check_is_refused():
    check = Study()
    check.settings = {"subset": {"method": "random"}, "seed": 0}
    with pytest.raises(ValueError, match="a check of one subset; give a study of methods"):
        plan_study(check, 0.01)


@pytest.mark.parametrize(
    ("difference", "probability"), [(0, 0.8), (2, 0.8), (0.02, 0.5), (0.02, 1)]
)
def test_plan_tasks_of_an_impossible_request_is_refused(difference, probability):
    with pytest.raises(ValueError, match="give a fraction"):
        plan_tasks([], difference, probability)
