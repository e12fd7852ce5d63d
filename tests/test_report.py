"""Tables and sentences in points."""

import dataclasses

import numpy as np
import pytest
from make_subsets import measured, reliability

from lm_microbench import report
from lm_microbench.comparison import compare
from lm_microbench.estimators import mean_estimator
from lm_microbench.methods import select
from lm_microbench.plan import plan_tasks
from lm_microbench.readers import MicroRun
from lm_microbench.responses import ResponseMatrix
from lm_microbench.studies import check_subset
from lm_microbench.subset import Provenance, Subset


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


def compared(rows, **options):
    """Return the comparison of models 0, 1, ... that gave these answers to 10 of 1000 items."""
    items = tuple(f"s/{i}" for i in range(10))
    subset = Subset(
        items=items,
        estimator=mean_estimator([0] * 10, [1000], [0.1] * 10),
        provenance=Provenance(method="random", size=10, n_items=1000, package_version="0"),
    )
    runs = [
        MicroRun(f"m{i}", "t", {}, ResponseMatrix([row], (f"m{i}",), items, ("s",) * 10), False)
        for i, row in enumerate(rows)
    ]
    return compare(runs, {"t": subset}, **options)


ONE = [[1] * 10, [1] * 9 + [0], [0] * 10]


def test_comparison_tables_of_micro_runs_alone_say_how_sure_each_order_is():
    (head, rows), (pair_head, pairs) = report.comparison_tables(compared(ONE))
    assert head == ["task", "model", "estimate", "+-", "groups"]
    assert rows[2] == ["t", "m2", "0.0", "0.0", "b"]
    assert pair_head[1:6] == ["better", "than", "by", "+-", "probability"]
    # m0 and m1: v = 0.99 * 0.1 / 10, not seen 0.99 * (1 + 0.2 / 12) / 100: z = 0.7078
    # At 90 %: 0.01 / 1.2816^2 = 0.0060888, 0.30497 of v; 1 / (0.001 + 0.30497 * 0.099) = 32.06.
    assert pairs[0] == ["t", "m0", "m1", "10.0", "9.9", "76 %", "no", "23"]
    assert pairs[1][5:] == ["> 99 %", "yes", "0"]


def test_comparison_sentences_name_the_models_that_may_be_the_best():
    assert report.comparison_sentences(compared(ONE)) == [
        "t tells 2 of 3 pairs of models apart (90 % sure that the full benchmark gives the same "
        "order); the best may be any of 2: m0, m1."
    ]
    (sentence,) = report.comparison_sentences(compared(ONE[::2], correct="holm"))
    assert "(90 % sure all together that" in sentence
    assert sentence.endswith("m0 is the best.")


def test_comparison_sentences_of_an_unknown_error_say_so():
    result = compared(ONE)
    unknown = result.pairs.assign(probability=np.nan)
    (sentence,) = report.comparison_sentences(dataclasses.replace(result, pairs=unknown))
    assert sentence == "t has no known standard error, so no two models are told apart by it."


def test_pairs_table_of_many_models_shows_neighbours_only():
    rows = [[1] * k + [0] * (10 - k) for k in range(8)]
    result = compared(rows)
    assert [x[1:3] for x in report.pairs_table(result)[1]][:2] == [["m7", "m6"], ["m6", "m5"]]
    assert len(report.pairs_table(result)[1]) == 7
    assert len(report.pairs_table(result, every=True)[1]) == 28


def planned(difference=0.05):
    """Return the plan of two methods at three sizes; `irt` at 10 is enough above only."""
    rms = {("random", 10): 0.1, ("random", 25): 0.05, ("random", 50): 0.04,
           ("irt", 10): 0.08, ("irt", 25): 0.04, ("irt", 50): 0.03}  # fmt: skip
    subsets = []
    for (method, size), error in rms.items():
        provenance = Provenance(method=method, size=size, n_items=1000, package_version="0")
        kinds = {"inside": {"difference_rms": error}, "above": {"difference_rms": error / 2}}
        subset = Subset(
            items=tuple(f"s/{i:02}" for i in range(size)),
            estimator=mean_estimator([0] * size, [1000], [1 / size] * size),
            provenance=provenance,
            reliability=reliability(n_models=9, **kinds),
        )
        subsets.append(subset)
    return plan_tasks(subsets, difference)


def test_plan_table_names_the_difference_and_is_in_points():
    head, rows = report.plan_table(planned(), 0.05)
    # Phi(0.05 / 0.1) = 0.6915; the quantile of 0.8 is 0.8416: 8.416 points.
    assert head[4] == "5 points right"
    assert rows[0] == ["random", "10", "1.00 %", "inside", "69 %", "8.4", "9"]


def test_plan_sentences_say_which_sizes_do_and_that_none_below_does():
    # Inside, 80 % at 5 points asks for an error of 0.05 / 0.8416 = 0.0594: both from 25 on.
    # Above errors are half as large: irt's 0.04 at 10 is enough, and random's 0.05 too.
    assert report.plan_sentences(planned(), 0.05, 0.8) == [
        "To order models within the range of the sources 5 points apart rightly with 80 % "
        "probability: 25 examples are enough by random and irt; no size below 25 does.",
        "To order models above the sources 5 points apart rightly with 80 % probability: "
        "10 examples are enough by random and irt.",
    ]
    # At 3.5 points: 0.0416. Inside irt from 25 (0.04), random at 50 (0.04).
    first, _ = report.plan_sentences(planned(0.035), 0.035, 0.8)
    assert "25 examples are enough by irt; 50 examples are enough by random; no size" in first


def test_plan_sentences_where_nothing_is_enough_say_so():
    assert report.plan_sentences(planned(0.001), 0.001, 0.8)[0].endswith(
        "0.1 points apart rightly with 80 % probability: no size up to 50 is enough."
    )


def test_size_sentences_list_random_first_then_the_smallest_difference():
    table = planned()
    inside, above = report.size_sentences(table[table["size"] == 25], 25, 0.8)
    # 0.8416 x 0.05 and x 0.04.
    assert inside == (
        "With 25 examples models within the range of the sources are ordered rightly with 80 % "
        "probability from this many points apart on: 4.2 (random), 3.4 (irt)."
    )
    assert "above the sources" in above and "2.1 (random), 1.7 (irt)" in above


def test_plan_matrices_have_a_method_a_row_and_a_size_a_column():
    subsets = [measured("irt", 10, 0.02), measured("random", 10, 0.04), measured("irt", 25, 0.01)]
    [(caption, (head, rows))] = report.plan_matrices(plan_tasks(subsets, 0.02), 0.02)
    assert caption == "models within the range of the sources, 2 points apart: % ordered rightly"
    assert head == ["examples", "10", "25"]
    # Shares of 1,000 items; Phi(1/2) = 0.69, Phi(1) = 0.84, Phi(2) = 0.98; random has no 25.
    assert rows == [["share, %", "1", "2.5"], ["random", "69", "-"], ["irt", "84", "98"]]


def test_tasks_table_has_random_first_and_sizes_in_order():
    def row(method, size, **figures):
        return {"benchmark": "b", "task": f"{method}{size}", "size": size, "n_items": 1000,
                "method": method, "n_sources": 9, **figures}  # fmt: skip

    figures = {"error_inside": 0.05, "error_above": None, "agreement_inside": 0.9}
    _, rows = report.tasks_table([row("irt", 100), row("random", 25), row("irt", 25, **figures)])
    assert [x[0] for x in rows] == ["random25", "irt25", "irt100"]
    assert rows[1][5:] == ["5.0", "-", "90.0", "-"]
    assert rows[2][5:] == ["-"] * 4
