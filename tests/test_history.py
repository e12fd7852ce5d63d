"""Histories of checkpoints: rows worked out by hand, order, and what is on disk."""

import math

import pandas as pd
import pytest

from lm_microbench import plots, report
from lm_microbench.estimators import LinearEstimator, mean_estimator
from lm_microbench.history import (
    Point,
    history,
    in_order,
    load_points,
    numbers,
    save_history,
    save_points,
)
from lm_microbench.subset import Provenance, Subset

TASK = "toy_micro4_random"
POINTS = [
    Point("checkpoint-5", TASK, (0, 1, 0, 0)),
    Point("checkpoint-20", TASK, (1, 1, 0, 0)),
    Point("checkpoint-10", TASK, (1, 1, 1, 0)),
]


def subset(estimator=None):
    return Subset(
        items=("s/0", "s/1", "s/2", "s/3"),
        estimator=estimator or mean_estimator([0] * 4, [16], [0.25] * 4),
        provenance=Provenance(method="random", size=4, n_items=16, package_version="0"),
    )


def table(points=POINTS):
    return history(points, {TASK: subset()})


def test_history_compares_with_the_last_and_the_best_checkpoint():
    rows = table().to_dict("records")
    assert [row["step"] for row in rows] == [5, 10, 20]
    assert [row["estimate"] for row in rows] == [0.25, 0.75, 0.5]
    assert pd.isna(rows[0]["last"]) and pd.isna(rows[0]["probability_better_than_best"])
    # 10 against 5: differences 1, 0, 1, 0: s^2 = 1/3; variance (1 - 4/16) * (1/3) / 4 = 1/16.
    # Unseen answers: (3/4) * (1/16) * (1 + 2 * 4 * (1/4) / 6) = 1/16. z = (1/2) / sqrt(1/8) = 1.414
    assert rows[1]["difference_last"] == 0.5
    assert rows[1]["standard_error_last"] == pytest.approx(1 / 4)
    assert rows[1]["probability_better_than_last"] == pytest.approx(0.921350, abs=1e-6)
    # 20 against 10: differences 0, 0, -1, 0: s^2 = 1/4; variance (3/4) * (1/4) / 4 = 3/64.
    # Unseen: (3/4) * (1/16) * (1 + 2 * 4 * (1/16) / 6) = 13/256. z = -(1/4) / sqrt(25/256) = -0.8
    assert rows[2]["last"] == rows[2]["best"] == "checkpoint-10"
    assert rows[2]["standard_error_best"] == pytest.approx(math.sqrt(3 / 64))
    assert rows[2]["probability_better_than_best"] == pytest.approx(0.211855, abs=1e-6)


def test_history_of_an_estimator_without_a_known_error_has_no_probability():
    found = history(POINTS, {TASK: subset(LinearEstimator(weights=(0.25,) * 4))})
    assert found["probability_better_than_last"].isna().all()
    assert found["difference_last"].notna().sum() == 2


def test_history_takes_the_earliest_of_equally_good_checkpoints_as_the_best():
    points = [Point(f"step_{n}", TASK, (1, 0, 0, 0)) for n in (1, 2, 3)]
    assert list(table(points)["best"])[1:] == ["step_1", "step_1"]


def test_history_without_an_estimate_is_never_the_best():
    silent = Point("step_0", TASK, (math.nan,) * 4)
    points = [silent, *(Point(f"step_{n}", TASK, (1, 0, 0, 0)) for n in (1, 2, 3))]
    assert list(table(points)["best"])[2:] == ["step_1", "step_1"]


def test_history_does_not_depend_on_the_order_of_points():
    pd.testing.assert_frame_equal(table(), table(POINTS[::-1]))


def test_checkpoints_are_in_the_order_of_steps_and_those_without_one_last():
    names = ["final", "checkpoint-100", "checkpoint-9", "epoch1-step20"]
    assert sorted(names, key=in_order) == ["checkpoint-9", "epoch1-step20", "checkpoint-100",
                                           "final"]  # fmt: skip


def test_numbers_of_a_first_row_are_the_estimate_and_its_error_alone():
    assert set(numbers(table().to_dict("records")[0])) == {"estimate", "standard_error"}
    assert set(numbers(table().to_dict("records")[1])) == {
        "estimate", "standard_error", "better_than_last", "better_than_best"
    }  # fmt: skip


def test_history_on_disk_reads_back(tmp_path):
    path = save_history(table(), tmp_path)
    back = pd.read_csv(path).astype({"step": "Int64"})
    pd.testing.assert_frame_equal(back, table(), check_dtype=False)


def test_points_on_disk_read_back_and_damaged_ones_are_named(tmp_path):
    path = tmp_path / "points.json"
    assert load_points(path) == []
    save_points(POINTS, path)
    assert load_points(path) == POINTS
    path.write_text(path.read_text()[:-9])
    with pytest.raises(ValueError, match=r"points\.json: not a history"):
        load_points(path)


def test_lines_of_a_checkpoint_are_in_points_and_name_what_it_is_better_than():
    assert report.history_lines(table(), "checkpoint-10") == [
        "checkpoint-10: toy_micro4_random 75.0 ± 21.7; better than checkpoint-5 with probability "
        "92 %"
    ]


def test_plot_of_a_history_holds_its_numbers_and_is_a_png():
    pytest.importorskip("matplotlib")
    plot = plots.history_plot(table())
    assert plot.data["estimate"].tolist() == table()["estimate"].tolist()
    assert plot.png().startswith(b"\x89PNG")
    assert ">step</text>" in plot.svg()


def test_plot_of_checkpoints_without_numbers_shows_them_in_order():
    pytest.importorskip("matplotlib")
    named = table().assign(step=pd.array([None] * len(table()), dtype="Int64"))
    assert ">checkpoint, in order</text>" in plots.history_plot(named).svg()
