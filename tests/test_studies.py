"""The study: laws that any method obeys, the paper's numbers, resuming, and wrong input."""

import dataclasses
import json
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest

from lm_microbench.methods import get_method, select
from lm_microbench.readers import read_responses
from lm_microbench.responses import ResponseMatrix
from lm_microbench.results import StudyResult
from lm_microbench.studies import check_subset, label, study
from lm_microbench.trial_table import KEYS

SMALL = {"methods": ["random"], "sizes": [5, 20], "n_sources": 8, "n_targets": 10, "trials": 6}


def simulated(n_models=40, n_items=60, seed=0, missing=0.0):
    """Return answers of models that differ widely in ability, with three subtasks."""
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(0, 1.5, (n_models, 1)), rng.normal(0, 1, n_items)
    scores = (rng.random((n_models, n_items)) < 1 / (1 + np.exp(difficulty - ability))) * 1.0
    scores[rng.random(scores.shape) < missing] = np.nan
    models = [f"m{i:03d}" for i in rng.permutation(n_models)]
    items = [f"s{i % 3}/{i}" for i in range(n_items)]
    return ResponseMatrix(scores, models, items, [item[:2] for item in items])


@pytest.fixture(scope="module")
def matrix():
    return simulated()


def same(one, other):
    for table in ("mdad", "estimation", "pairs"):
        pd.testing.assert_frame_equal(getattr(one, table)(), getattr(other, table)())


@pytest.mark.parametrize("split", ["half", "none"])
def test_study_method_that_takes_all_items_is_perfect(matrix, split):
    n_seen = 30 if split == "half" else 60
    result = study(matrix, **{**SMALL, "sizes": [n_seen]}, split=split)
    near = result.mdad()["reference"] != "unseen"
    mdad = result.mdad()[near].iloc[0]
    # The first bin is that of differences below 0.005; 1 / 30 and 1 / 60 lie above it, so the
    # first bin with pairs in it starts at the smallest difference, rounded down: 0.03 or 0.015.
    assert mdad["mdad"] == result.pairs().query("reference != 'unseen'")["bin_low"].min()
    assert mdad["mdad"] == {"half": 0.03, "none": 0.015}[split]
    row = result.estimation()[near].iloc[0]
    assert row["error"] == pytest.approx(0, abs=1e-12)
    assert row[["kendall_tau", "spearman", "agreement"]].tolist() == [1, 1, 1]
    assert np.isnan(row["wrong_within"]) or row["wrong_within"] == 0
    assert row["covered"] == 1


def test_study_unseen_scores_are_those_of_the_other_items(matrix):
    result = study(matrix, **{**SMALL, "sizes": [30]})
    scores = result.trials().pivot_table("score", ["trial", "target"], "reference", observed=True)
    whole = pd.Series(matrix.accuracy(), matrix.models)
    targets = scores.index.get_level_values("target")
    # The two halves have 30 items each: the full score is the mean of the two.
    np.testing.assert_allclose(scores.mean(axis=1), whole[targets.astype(str)], atol=1e-6)
    assert (scores["seen"] != scores["unseen"]).any()


def test_study_order_of_models_and_items_changes_nothing(matrix):
    rng = np.random.default_rng(1)
    shuffled = matrix.take(models=rng.permutation(40), items=rng.permutation(60))
    same(study(matrix, **SMALL), study(shuffled, **SMALL))


def test_study_another_method_size_or_source_count_changes_nothing(matrix):
    alone = study(matrix, **{**SMALL, "sizes": [20]})
    more = study(
        matrix,
        **{**SMALL, "methods": ["stratified", "random"], "sizes": [20, 3], "n_sources": [30, 8]},
    )
    keys = {"method": "random", "n_sources": 8, "size": 20}
    frame = more.mdad()
    picked = frame[np.logical_and.reduce([frame[k] == v for k, v in keys.items()])]
    pd.testing.assert_frame_equal(picked.reset_index(drop=True), alone.mdad())


def test_study_number_of_jobs_changes_nothing(matrix):
    assert study(matrix, **SMALL, n_jobs=1).table.equals(study(matrix, **SMALL, n_jobs=2).table)


def test_study_more_trials_begin_with_the_same(matrix):
    few, many = study(matrix, **SMALL), study(matrix, **{**SMALL, "trials": 9})
    begun = many.trials().query("trial < 6")
    pd.testing.assert_frame_equal(begun, few.trials(), check_categorical=False)


def test_study_doubling_trials_narrows_the_interval(matrix):
    # By 1 / sqrt(4) when there are four times as many; half of that is asked for.
    widths = []
    for trials in (10, 40):
        row = study(matrix, **{**SMALL, "sizes": [10], "trials": trials}).estimation().iloc[0]
        widths.append([row[f"{x}_high"] - row[f"{x}_low"] for x in ("error", "kendall_tau")])
    assert (np.array(widths[1]) < 0.75 * np.array(widths[0])).all()


def test_study_stratified_equals_random_with_one_subtask(matrix):
    one = ResponseMatrix(matrix.scores, matrix.models, matrix.items, ["all"] * 60)
    frame = study(one, **{**SMALL, "methods": ["random", "stratified"]}).estimation()
    parts = [part.drop(columns="method").reset_index(drop=True)
             for _, part in frame.groupby("method")]  # fmt: skip
    pd.testing.assert_frame_equal(*parts)


def test_study_missing_answers_and_constant_items_and_models_are_ordinary():
    m = simulated(missing=0.1)
    scores = m.scores.copy()
    scores[:, 0], scores[:, 1], scores[2], scores[3] = 1, 0, 1, 0
    result = study(ResponseMatrix(scores, m.models, m.items, m.subtasks), **SMALL)
    assert result.estimation()["error"].between(0, 0.3).all()


def test_study_target_without_any_answer_in_the_subset_makes_no_pair():
    m = simulated(20, 12)
    scores = m.scores.copy()
    scores[:, 1:] = np.where(np.arange(20)[:, None] < 10, np.nan, scores[:, 1:])
    result = study(ResponseMatrix(scores, m.models, m.items, m.subtasks), methods=["random"],
                   sizes=[1], n_sources=4, n_targets=15, trials=5)  # fmt: skip
    assert result.trials()["estimate"].isna().any()
    assert result.mdad()["n_pairs"].max() < 5 * 15 * 14 / 2


def test_study_top_mode_holds_only_the_best_as_targets(matrix):
    result = study(matrix, **SMALL, target_mode="top")
    best = np.argsort(-matrix.accuracy(), kind="stable")[:10]
    worst = matrix.accuracy()[best].min()
    chosen = matrix.take(models=sorted(set(result.trials()["target"]))).accuracy()
    assert chosen.min() == worst


def test_study_list_mode_uses_the_named_models(matrix):
    names = ("m003", "m001", "m017")
    result = study(matrix, methods=["random"], sizes=[5], n_sources=8, trials=3,
                   target_mode="list", targets=names)  # fmt: skip
    assert set(result.trials()["target"]) == set(names)
    assert result.mdad()["n_pairs"].max() <= 9


def test_study_sources_default_to_all_that_are_left(matrix):
    result = study(matrix, methods=["random"], sizes=[5], n_targets=10, trials=2)
    assert result.mdad()["n_sources"].unique().tolist() == [30]


def test_study_targets_default_to_a_third_of_few_models(matrix):
    result = study(matrix, methods=["random"], sizes=[5], trials=1)
    # 13 of 40 models; the other 27 are sources.
    assert result.settings["n_targets"] == 13
    assert result.mdad()["n_sources"].unique().tolist() == [27]


def test_study_works_through_joblib_backends(matrix):
    expected = study(matrix, **SMALL)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert study(matrix, **SMALL).table.equals(expected.table)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):  # no results on the way
        assert study(matrix, **SMALL).table.equals(expected.table)


def test_study_on_a_dask_cluster_gives_identical_numbers(matrix):
    distributed = pytest.importorskip("distributed")
    expected = study(matrix, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of another library's start and end
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
            joblib.parallel_config(backend="dask"),
        ):
            result = study(matrix, **SMALL)
    assert result.table.equals(expected.table)


def test_label_names_options_that_are_not_the_default():
    assert label(get_method("stratified")) == "stratified"
    assert label(get_method("stratified", weights="none")) == "stratified(weights=none)"


def test_study_two_variants_of_a_method_stand_side_by_side(matrix):
    variants = ["stratified", get_method("stratified", weights="none")]
    result = study(matrix, **{**SMALL, "methods": variants})
    assert result.mdad()["method"].unique().tolist() == ["stratified", "stratified(weights=none)"]


# ---- results on disk -----------------------------------------------------------------------------


class KilledError(Exception):
    """Stands for a killed process."""


def interrupted(matrix, folder, after):
    def stop(done, total):
        if done == after:
            raise KilledError

    with pytest.raises(KilledError):
        study(matrix, **SMALL, folder=folder, progress=stop)


def test_study_killed_continues_where_it_stopped(matrix, tmp_path):
    interrupted(matrix, tmp_path, 4)
    calls = []
    result = study(
        matrix, **SMALL, folder=tmp_path, progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(4, 6), (5, 6), (6, 6)]
    assert result.n_kept == 4
    assert result.table.equals(study(matrix, **SMALL).table)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "estimation.csv", "mdad.csv", "pairs.csv", "study.json", "trials.parquet",
    ]  # fmt: skip


def test_study_finished_is_extended_by_more_trials(matrix, tmp_path):
    study(matrix, **SMALL, folder=tmp_path)
    more = study(matrix, **{**SMALL, "trials": 8}, folder=tmp_path)
    assert (more.n_kept, more.n_trials) == (6, 8)
    assert more.table.equals(study(matrix, **{**SMALL, "trials": 8}).table)
    with pytest.raises(ValueError, match="holds 8 trials of this study, asked for 6"):
        study(matrix, **SMALL, folder=tmp_path)


def test_study_folder_of_another_study_is_refused(matrix, tmp_path):
    interrupted(matrix, tmp_path, 2)
    with pytest.raises(ValueError, match=r"holds another study \(sizes: \[5, 20\], asked for"):
        study(matrix, **{**SMALL, "sizes": [5]}, folder=tmp_path)
    with pytest.raises(ValueError, match=r"holds another study .*matrix_sha256"):
        study(simulated(seed=1), **SMALL, folder=tmp_path)


def test_study_broken_settings_file_is_named(matrix, tmp_path):
    (tmp_path / "study.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"study\.json: not a JSON file"):
        study(matrix, **SMALL, folder=tmp_path)


def test_study_broken_kept_trial_is_named(matrix, tmp_path):
    interrupted(matrix, tmp_path, 2)
    broken = next((tmp_path / "unfinished").glob("*.parquet"))
    broken.write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=rf"{broken.name}: cannot be read .*; delete it"):
        study(matrix, **SMALL, folder=tmp_path)


def test_load_gives_everything_again_from_the_trials(matrix, tmp_path):
    result = study(matrix, **{**SMALL, "methods": ["stratified", "random"]}, folder=tmp_path)
    same(result, StudyResult.load(tmp_path))
    written = pd.read_csv(tmp_path / "mdad.csv")
    pd.testing.assert_frame_equal(written, result.mdad(), check_dtype=False)
    assert json.loads((tmp_path / "study.json").read_text())["seed"] == 0


def test_result_order_of_rows_in_the_trials_does_not_matter(matrix):
    result = study(matrix, **SMALL)
    mixed = result.table.take(np.random.default_rng(0).permutation(result.table.num_rows))
    same(result, StudyResult(mixed, result.settings))


def test_result_tables_keep_the_order_of_the_request(matrix):
    result = study(matrix, **{**SMALL, "methods": ["stratified", "random"]})
    assert result.mdad()["method"].unique().tolist() == ["stratified", "random"]


def test_load_of_a_folder_without_a_study_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"trials\.parquet: no such file"):
        StudyResult.load(tmp_path)


def test_estimation_and_mdad_have_the_agreed_columns(matrix):
    result = study(matrix, **SMALL)
    assert {*KEYS, "mdad", "mdad_low", "mdad_high", "mdad_sustained"} <= set(result.mdad())
    assert {*KEYS, "error", "kendall_tau", "spearman", "agreement"} <= set(result.estimation())
    assert result.mdad().groupby(["size", "reference"]).size().eq(1).all()


# ---- one fixed subset ----------------------------------------------------------------------------


def test_check_subset_by_hand():
    # Four models, four items, all of weight 1/2 on items p and q. Full scores 1/4, 2/4, 3/4, 4/4;
    # estimates 0, 1/2, 1/2, 1: six pairs, of which (b, c) is a tie in the estimate.
    scores = [[0, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1]]
    m = ResponseMatrix(np.array(scores, float), list("abcd"), list("pqrs"), ["s"] * 4)
    subset = select(m, "random", 2).with_(items=("p", "q"))
    result = check_subset(m, subset)
    curve = result.pairs().set_index("bin_low")
    assert curve["pairs"].to_dict() == {0.25: 3, 0.5: 2, 0.75: 1}
    assert curve["agreement"].to_dict() == {0.25: pytest.approx(2 / 3), 0.5: 1, 0.75: 1}
    assert result.mdad()["mdad"].tolist() == [0.5]
    row = result.estimation(threshold=0.5).iloc[0]
    assert row["error"] == pytest.approx((0.25 + 0 + 0.25 + 0) / 4)
    # tau-b: 5 of 6 pairs kept, one tied on one side: 5 / sqrt(6 * 5).
    assert row["kendall_tau"] == pytest.approx(5 / 30**0.5)
    assert row["agreement"] == pytest.approx(5 / 6)
    assert row["wrong_within"] == pytest.approx(1 / 3)
    assert row["bias"] == pytest.approx((-0.25 - 0.25) / 4)


def test_check_subset_says_that_confidences_are_not_known():
    source = simulated()
    surer = dataclasses.replace(source, confidence=0.2 + 0.6 * source.scores)
    subset = select(surer.take(models=source.models[:20]), "predictive", 5)
    with pytest.warns(UserWarning, match="some confidences are not known"):
        check_subset(source, subset)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_subset(surer, subset)


def test_check_subset_leaves_its_sources_out(matrix):
    subset = select(matrix, "random", 5)
    named = subset.provenance.model_copy(update={"sources": matrix.models[:15]})
    result = check_subset(matrix, subset.with_(provenance=named))
    assert set(result.trials()["target"]) == set(matrix.models[15:])
    assert result.notes == ()


def test_check_subset_of_only_sources_uses_all_with_a_warning(matrix):
    subset = select(matrix, "random", 5)
    named = subset.provenance.model_copy(update={"sources": matrix.models})
    with pytest.warns(UserWarning, match="40 of 40 models are sources of the subset"):
        result = check_subset(matrix, subset.with_(provenance=named))
    assert len(result.trials()) == 40
    assert len(result.notes) == 1


def test_check_subset_of_other_items_warns_or_says_which(matrix):
    subset = select(matrix, "random", 5)
    half = [*subset.items, *(i for i in matrix.items if i not in subset.items)][:30]
    with pytest.warns(UserWarning, match="chosen from 60 items, the matrix has 30"):
        check_subset(matrix.take(items=half), subset)
    with pytest.raises(KeyError, match="unknown item of the subset"):
        check_subset(matrix.take(items=[i for i in matrix.items if i != subset.items[0]]), subset)


# ---- wrong input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_sources": []}, ValueError, r"n_sources: \[\]; give one or more"),
        ({"n_sources": 35}, ValueError, "35 sources and 10 targets of 40 models"),
        ({"sizes": [5, 31]}, ValueError, "sizes: 31, but the seen half has 30 items; give 1 to 30"),
        ({"sizes": [0]}, ValueError, "sizes: 0"),
        ({"sizes": []}, ValueError, "sizes: none is given"),
        ({"sizes": [5, 5]}, ValueError, "sizes: 5 is given twice"),
        ({"methods": []}, ValueError, "methods: none is given"),
        ({"methods": ["random", "random"]}, ValueError, "methods: random is given twice"),
        ({"methods": ["randm"]}, KeyError, "unknown method 'randm'; did you mean random"),
        ({"trials": 0}, ValueError, "trials: 0; give 1 or more"),
        ({"seed": -1}, ValueError, "seed: -1 is negative"),
        ({"target_mode": "best"}, KeyError, "unknown target_mode 'best'"),
        ({"target_mode": "list"}, ValueError, "0 named with target_mode 'list'"),
        ({"targets": ["m001"]}, ValueError, "1 named with target_mode 'random'"),
        ({"target_mode": "list", "targets": ["m001", "m01x"]}, KeyError, "did you mean .*m01"),
    ],
)  # fmt: skip
def test_study_impossible_request_is_one_line(matrix, change, error, message):
    with pytest.raises(error, match=message) as raised:
        study(matrix, **{**SMALL, **change})
    assert "\n" not in str(raised.value)


def test_study_empty_matrix_says_so():
    empty = ResponseMatrix(np.zeros((0, 3)), (), list("abc"), list("sss"))
    with pytest.raises(ValueError, match="0 models and 3 items; it is empty"):
        study(empty, **SMALL)


def test_study_model_that_answered_nothing_is_named(matrix):
    scores = matrix.scores.copy()
    scores[4] = np.nan
    with pytest.raises(ValueError, match=f"model '{matrix.models[4]}' answered nothing; drop it"):
        study(ResponseMatrix(scores, matrix.models, matrix.items, matrix.subtasks), **SMALL)


# ---- the paper's numbers -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpqa(shared):
    matrix = read_responses(shared / "data/gpqa/responses.csv.gz")
    return study(matrix, methods=["random"], sizes=[10, 25, 50, 100, 200], n_sources=300,
                 n_targets=50, trials=50)  # fmt: skip


@pytest.mark.shared
def test_study_gpqa_lands_on_the_papers_numbers(gpqa):
    # arXiv 2510.08730, published results for GPQA, in points.
    error = gpqa.estimation().query("reference == 'seen'").set_index("size")
    for size, expected in {10: 11.2, 25: 6.8, 50: 4.7, 100: 2.6, 200: 0.8}.items():
        assert 100 * error.loc[size, "error"] == pytest.approx(expected, abs=0.5)
    for size, expected in {25: 35, 50: 46, 100: 64, 200: 88}.items():
        assert 100 * error.loc[size, "kendall_tau"] == pytest.approx(expected, abs=4)
    mdad = gpqa.mdad().query("reference == 'seen'").set_index("size")
    for size, expected in {25: 12, 50: 7.5, 100: 4, 200: 1.5}.items():
        assert 100 * mdad.loc[size, "mdad"] == pytest.approx(expected, abs=1.5 + 1e-9)


@pytest.mark.shared
def test_study_gpqa_unseen_half_needs_larger_differences(gpqa):
    mdad = gpqa.mdad().pivot(index="size", columns="reference", values="mdad").loc[[50, 100, 200]]
    assert (mdad["unseen"] > mdad["seen"]).all()
    # The paper: 12-17 points at 50 examples, 8-8.5 at 200.
    assert 0.12 <= mdad.loc[50, "unseen"] <= 0.17
    assert 0.075 <= mdad.loc[200, "unseen"] <= 0.09
