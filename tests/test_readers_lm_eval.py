"""Sample logs of lm_eval: every row is joined by content, or refused with its reason."""

import json
import math

import make_runs as make
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lm_microbench.readers import ConflictError, Rules, micro_runs, read_lm_eval

A, COT, B = make.LEAVES


@pytest.fixture
def toy(tmp_path):
    return make.make_benchmark(tmp_path / "toy")


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def expected(shift=0):
    return [make.score(leaf, n, shift) for leaf in make.LEAVES for n in range(make.N)]


def files(**changes):
    return {leaf: make.rows_of(leaf) for leaf in make.LEAVES} | changes


def read(runs, toy, **rules):
    return read_lm_eval([runs], toy, rules=Rules(**rules))


def test_read_lm_eval_full_runs_give_their_scores(toy, runs):
    make.make_run(runs)
    other = {leaf: make.rows_of(leaf, shift=1) for leaf in make.LEAVES}
    make.make_run(runs, "org/n", files=other)
    matrix, report = read(runs, toy)
    assert matrix.models == ("org__m", "org__n")
    np.testing.assert_array_equal(matrix.scores, [expected(), expected(shift=1)])
    # Log-likelihoods -1 and -2 where right: e^-1 / (e^-1 + e^-2) = 1 / (1 + e^-1) = 0.731.
    right = matrix.confidence[0][matrix.scores[0] == 1]
    np.testing.assert_allclose(right, 1 / (1 + math.exp(-1)), rtol=1e-6)
    np.testing.assert_allclose(matrix.confidence.min(), 1 / (1 + math.e), rtol=1e-6)
    assert [m.kind for m in report.models] == ["full", "full"]
    assert report.models[0].total("expected") == 12


def test_read_lm_eval_rows_in_any_order_and_wrong_ids_are_joined_by_content(toy, runs):
    mixed = [make.row(A, n, doc_id=n + 7, doc_hash="same") for n in (2, 0, 3, 1)]
    make.make_run(runs, files=files(toy_a=mixed))
    np.testing.assert_array_equal(read(runs, toy)[0].scores, [expected()])


def test_read_lm_eval_task_with_a_longer_name_is_not_mistaken(toy, runs):
    # Were samples_toy_a_cot_* taken for toy_a, all its documents would be unknown.
    make.make_run(runs, files={COT: make.rows_of(COT)})
    matrix, _ = read(runs, toy, min_coverage=0)
    assert np.flatnonzero(~np.isnan(matrix.scores[0])).tolist() == [4, 5, 6, 7]


def test_read_lm_eval_prompt_of_another_document_is_rejected(toy, runs):
    rows = make.rows_of(A)
    rows[1]["arguments"] = rows[0]["arguments"]
    make.make_run(runs, files=files(toy_a=rows))
    matrix, report = read(runs, toy, min_coverage=0)
    assert np.flatnonzero(np.isnan(matrix.scores[0])).tolist() == [1]
    [(reason, count)] = report.files[0].rejected.items()
    assert "another document's" in reason and count == 1
    assert report.files[0].examples[reason].endswith(".jsonl:2")


def test_read_lm_eval_copies_of_one_content_keep_their_order(toy, runs):
    # Documents 2 and 3 of toy_b have the same content; only doc_id tells which is which.
    rows = [make.row(B, 3, 0.25), make.row(B, 2, 0.75), make.row(B, 0), make.row(B, 1)]
    make.make_run(runs, files=files(toy_b=rows))
    matrix, _ = read(runs, toy)
    assert matrix.scores[0][10:].tolist() == [0.75, 0.25]
    assert matrix.items[11] == matrix.items[10] + "#2"


@pytest.mark.parametrize("value", [None, math.nan, "N/A", "nan"])
def test_read_lm_eval_missing_metric_is_missing_not_wrong(toy, runs, value):
    rows = make.rows_of(A)
    rows[0]["acc"] = value
    make.make_run(runs, files=files(toy_a=rows))
    matrix, report = read(runs, toy, min_coverage=0)
    assert np.isnan(matrix.scores[0, 0])
    assert report.models[0].subtasks["a"].missing == 1
    with pytest.raises(ValueError, match=r"0\.9167 .*--min-coverage"):
        read(runs, toy)


def test_read_lm_eval_score_of_zero_is_a_value(toy, runs):
    make.make_run(
        runs, files={leaf: [make.row(leaf, n, 0.0) for n in range(4)] for leaf in make.LEAVES}
    )
    assert read(runs, toy)[0].scores.sum() == 0


def test_read_lm_eval_other_filters_are_not_averaged(toy, runs):
    other = [make.row(A, n, 1 - make.score(A, n), filter="flexible") for n in range(4)]
    make.make_run(runs, files=files(toy_a=other + make.rows_of(A)))
    matrix, report = read(runs, toy)
    np.testing.assert_array_equal(matrix.scores, [expected()])
    assert report.files[0].rejected == {"another filter than 'none'": 4}


@pytest.mark.parametrize("filters", [[{"name": "strict"}, {"name": "none"}], [{"name": "strict"}]])
def test_read_lm_eval_rows_that_do_not_name_which_filter_are_set_aside(toy, runs, filters):
    rows = {leaf: [make.row(leaf, n) for n in range(4)] for leaf in make.LEAVES}
    for row in (row for some in rows.values() for row in some):
        del row["filter"]
    make.make_run(runs, "org/n", files=rows)
    assert read(runs, toy)[0].models == ("org__n",)
    content = make.results()
    content["configs"][A] |= {"output_type": "generate_until", "filter_list": filters}
    make.make_run(runs, "org/m", files=rows, content=content)
    matrix, report = read(runs, toy)
    assert matrix.models == ("org__n",)
    assert "rows do not name their filter, and toy_a has strict" in report.notes[0]


def test_read_lm_eval_same_question_with_other_choices_in_the_prompt_is_rejected(toy, runs):
    rows = [make.row(A, n) for n in range(4)]
    for n, row in enumerate(rows):
        row["arguments"]["gen_args_0"]["arg_0"] += f" one {n} two {n}"
        row["arguments"] = {"gen_args_0": row["arguments"]["gen_args_0"]}
    prompt = rows[1]["arguments"]["gen_args_0"]
    prompt["arg_0"] = prompt["arg_0"].replace("two 1", "two 3")
    make.make_run(runs, files=files(toy_a=rows))
    matrix, report = read(runs, toy, min_coverage=0)
    assert np.flatnonzero(np.isnan(matrix.scores[0])).tolist() == [1]
    assert any("its choices are not in it" in reason for reason in report.files[0].rejected)


@pytest.mark.parametrize("key", ["filter", "arguments"])
def test_read_lm_eval_row_that_lacks_what_the_others_have_is_rejected(toy, runs, key):
    rows = make.rows_of(A)
    del rows[2][key]
    make.make_run(runs, files=files(toy_a=rows))
    matrix, report = read(runs, toy, min_coverage=0)
    assert np.flatnonzero(np.isnan(matrix.scores[0])).tolist() == [2]
    assert "as others do" in next(iter(report.files[0].rejected))


def test_read_lm_eval_no_prompts_at_all_are_read_and_counted(toy, runs):
    rows = make.rows_of(A)
    for row in rows:
        del row["arguments"]
    make.make_run(runs, files=files(toy_a=rows))
    matrix, report = read(runs, toy)
    np.testing.assert_array_equal(matrix.scores, [expected()])
    assert report.files[0].counts == {"row without a prompt, not checked": 4}


def test_read_lm_eval_fractional_scores_of_repeats_are_kept(toy, runs):
    make.make_run(runs, files=files(toy_a=[make.row(A, n, 0.25) for n in range(4)]))
    assert read(runs, toy)[0].scores[0, :4].tolist() == [0.25] * 4


def test_read_lm_eval_arguments_as_pairs_and_old_list_file_are_read(toy, runs):
    folder = runs / "old"
    folder.mkdir(parents=True)
    for leaf in make.LEAVES:
        rows = make.rows_of(leaf)
        for row in rows:
            row["arguments"] = [list(x.values()) for x in row["arguments"].values()]
            row["filtered_resps"] = [[float(a), b == "True"] for a, b in row["filtered_resps"]]
            del row["filter"], row["metrics"]
        (folder / f"pretrained__org__m_{leaf}.jsonl").write_text(json.dumps(rows, indent=2))
    old = make.results()
    del old["model_name"], old["chat_template"]
    old["config"]["model_args"] = "pretrained=org/m,dtype=float32"
    (folder / "results.json").write_text(json.dumps(old))
    matrix, report = read(runs, toy)
    assert matrix.models == ("org__m",)
    np.testing.assert_array_equal(matrix.scores, [expected()])
    assert not np.isnan(matrix.confidence).any()
    assert report.models[0].settings["chat_template"] == "unknown"


def test_read_lm_eval_changed_content_sets_the_run_aside(toy, runs):
    rows = make.rows_of(A)
    rows[2]["doc"] = rows[2]["doc"] | {"answer": 1}
    make.make_run(runs, files=files(toy_a=rows))
    make.make_run(runs, "org/n")
    matrix, report = read(runs, toy)
    assert matrix.models == ("org__n",)
    assert "content of the document differs (1 rows" in report.notes[0]


def test_read_lm_eval_other_number_of_documents_sets_the_run_aside(toy, runs):
    make.make_run(runs, content=make.results(n=5))
    with pytest.raises(ValueError, match="toy_a has 5 documents, the benchmark 4"):
        read(runs, toy)


# ---- several runs of one model ------------------------------------------------------------------


def test_read_lm_eval_union_of_agreeing_parts_is_one_column(toy, runs):
    make.make_run(runs, day=1, files={A: make.rows_of(A), B: make.rows_of(B)})
    make.make_run(runs, day=2, files={COT: make.rows_of(COT), B: make.rows_of(B)})
    matrix, _ = read(runs, toy)
    np.testing.assert_array_equal(matrix.scores, [expected()])


def test_read_lm_eval_differing_runs_are_refused_until_a_rule_is_given(toy, runs):
    make.make_run(runs, day=1)
    make.make_run(
        runs, day=2, files=files(toy_a=[make.row(A, 0, 1 - make.score(A, 0)), *make.rows_of(A)[1:]])
    )
    with pytest.raises(ConflictError, match="differ in 1 of 12 shared items") as error:
        read(runs, toy)
    assert error.value.report.models[0].subtasks["a"].conflicting == 1
    newest, _ = read(runs, toy, conflict="newest")
    assert newest.scores[0, 0] == 1 - make.score(A, 0)
    assert newest.metadata["rules"]["conflict"] == "newest"
    dropped, _ = read(runs, toy, conflict="drop", min_coverage=0)
    assert np.isnan(dropped.scores[0, 0]) and dropped.coverage()[0] == 11 / 12


def test_read_lm_eval_two_scores_in_one_file_are_a_conflict(toy, runs):
    make.make_run(runs, files=files(toy_a=[*make.rows_of(A), make.row(A, 0, 1 - make.score(A, 0))]))
    with pytest.raises(ConflictError, match="two scores for 1 items"):
        read(runs, toy)


def test_read_lm_eval_same_row_twice_is_a_duplicate(toy, runs):
    make.make_run(runs, files=files(toy_a=[*make.rows_of(A), make.row(A, 0)]))
    matrix, report = read(runs, toy)
    np.testing.assert_array_equal(matrix.scores, [expected()])
    assert report.models[0].subtasks["a"].duplicate == 1


@pytest.mark.parametrize(
    "change",
    [
        {"chat_template": "{{x}}"},
        {"system_instruction": "Be brief."},
        {"n-shot": dict.fromkeys(make.LEAVES, 0)},
        {"versions": dict.fromkeys(make.LEAVES, 2.0)},
    ],
)
def test_read_lm_eval_other_settings_are_another_column(toy, runs, change):
    make.make_run(runs, day=1)
    other = {leaf: make.rows_of(leaf, shift=1) for leaf in make.LEAVES}
    make.make_run(runs, day=2, files=other, content=make.results() | change)
    matrix, _ = read(runs, toy)
    assert sorted(matrix.scores.tolist()) == sorted([expected(), expected(shift=1)])
    assert all(name.startswith("org__m [") for name in matrix.models)


def test_read_lm_eval_unknown_setting_is_not_off(toy, runs):
    make.make_run(runs, day=1)
    unknown = make.results()
    del unknown["chat_template"]
    make.make_run(runs, day=2, content=unknown)
    assert read(runs, toy)[0].models == (
        "org__m [chat_template=off]",
        "org__m [chat_template=unknown]",
    )


def test_read_lm_eval_limit_run_is_never_mixed(toy, runs):
    limited = {leaf: [make.row(leaf, 0, 1 - make.score(leaf, 0))] for leaf in make.LEAVES}
    make.make_run(runs, day=1)
    make.make_run(runs, day=2, files=limited, content=make.results(limit=1))
    matrix, report = read(runs, toy)
    np.testing.assert_array_equal(matrix.scores, [expected()])
    assert "a limit run set aside" in report.notes[0]


@pytest.mark.parametrize("ids", [(0, 1), (1, 3)])
def test_read_lm_eval_limit_is_seen_without_a_results_file(toy, runs, ids):
    # First documents, or equally many of each task.
    part = {leaf: [make.row(leaf, i) for i in ids] for leaf in make.LEAVES}
    make.make_run(runs, files=part, content={})
    matrix, report = read(runs, toy, min_coverage=0)
    assert report.models[0].kind == "limit"
    assert matrix.coverage()[0] == 0.5


def test_read_lm_eval_interrupted_run_leaves_and_says_why(toy, runs):
    folder = make.make_run(runs)
    file = next(folder.glob("samples_toy_b_*"))
    file.write_bytes(file.read_bytes()[:-40])
    make.make_run(runs, "org/n")
    matrix, report = read(runs, toy)
    assert matrix.models == ("org__n",)
    assert "11 of 12 items (partial run)" in report.models[0].left
    assert "breaks off" in report.files[2].faults[0]
    assert "org__m: 11 of 12" in report.summary()


def test_read_lm_eval_two_models_of_one_name_are_a_conflict(toy, runs):
    make.make_run(runs / "x", "org/m")
    make.make_run(runs / "y", "org__m")
    with pytest.raises(ConflictError, match="two models map to this name"):
        read(runs, toy)


def test_read_lm_eval_folder_names_the_model_only_without_a_results_file(toy, runs):
    make.make_run(runs, "org/m", name="folder")
    make.make_run(runs, "org/n", name="org__n", content={})
    assert read(runs, toy)[0].models == ("org__m", "org__n")
    renamed, _ = read(runs, toy, rename={"org/m": "m"})
    assert renamed.models == ("m", "org__n")


def test_read_lm_eval_broken_results_file_is_told(toy, runs):
    folder = make.make_run(runs, "org/m", name="folder")
    [path] = folder.glob("results_*.json")
    path.write_text(path.read_text()[:-9])
    matrix, report = read(runs, toy)
    assert matrix.models == ("folder",)
    assert str(path) in report.notes[0] and "not a JSON file" in report.notes[0]


# ---- micro-tasks --------------------------------------------------------------------------------


@pytest.fixture
def micro(toy, runs):
    """A run of a micro-task with two items."""
    names = toy.items().items
    rows = [make.micro_row(A, 1, names[1]), make.micro_row(B, 3, names[11])]
    content = make.results("org/m", ("toy_micro2_random",), n=2)
    content["results"]["toy_micro2_random"] |= {
        "full_estimate,none": 0.5,
        "full_estimate_stderr,none": 0.1,
    }
    make.make_run(runs, files={"toy_micro2_random": rows}, content=content)
    return rows


def test_read_lm_eval_micro_run_has_only_its_items(toy, runs, micro):
    matrix, report = read(runs, toy)
    assert np.flatnonzero(~np.isnan(matrix.scores[0])).tolist() == [1, 11]
    assert report.models[0].kind == "micro" and report.models[0].coverage == 1


def test_read_lm_eval_micro_run_beside_a_full_run_is_set_aside(toy, runs, micro):
    make.make_run(runs, day=2)
    matrix, report = read(runs, toy)
    np.testing.assert_array_equal(matrix.scores, [expected()])
    assert "a micro run set aside" in report.notes[0]


def test_read_lm_eval_micro_row_that_names_another_item_is_rejected(toy, runs, micro):
    micro[0]["doc"]["lm_microbench"]["item"] = toy.items().items[0]
    make.make_run(runs, files={"toy_micro2_random": micro})
    _, report = read(runs, toy, min_coverage=0)
    assert report.files[0].rejected == {"the row names another item than its document is": 1}


def test_micro_runs_full_and_micro_gives_the_micro_run_with_its_numbers(toy, runs, micro):
    make.make_run(runs, day=2)
    [run], _ = micro_runs([runs], toy)
    assert (run.model, run.task, run.limited) == ("org__m", "toy_micro2_random", False)
    assert run.numbers == {"acc": 0.5, "full_estimate": 0.5, "full_estimate_stderr": 0.1}
    assert run.answers.scores.tolist() == [[make.score(A, 1), make.score(B, 3)]]


def test_micro_runs_none_is_one_clear_line(toy, runs):
    make.make_run(runs)
    with pytest.raises(ValueError, match="no run of a micro-task"):
        micro_runs([runs], toy)


def test_micro_runs_with_two_scores_for_an_item_say_so(toy, runs):
    name = toy.items().items[1]
    rows = [make.micro_row(A, 1, name, acc=acc) for acc in (1.0, 0.0)]
    make.make_run(runs, files={"toy_micro1_random": rows})
    [run], report = micro_runs([runs], toy)
    assert run.answers.scores.tolist() == [[0]]
    assert report.notes[0].endswith("two scores for 1 items; the later ones count")


def test_micro_runs_of_changed_data_say_why_none_can_be_used(toy, runs):
    rows = [make.micro_row(A, 1, toy.items().items[1])]
    rows[0]["doc"]["options"] = ["another"]
    make.make_run(runs, files={"toy_micro1_random": rows})
    with pytest.raises(ValueError, match=r"that can be used .*another version of the data"):
        micro_runs([runs], toy)


def test_read_lm_eval_truncated_micro_run_leaves(toy, runs, micro):
    file = next((runs / "org__m").glob("samples_toy_micro2*"))
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"0\.5000 \(micro run\)"):
        read(runs, toy)
    [run], _ = micro_runs([runs], toy)
    assert (run.lacking, run.answers.n_items) == (1, 1)


def to_parquet(runs):
    """Turn every samples file of some runs into Parquet, as a data set library does."""
    for path in runs.rglob("samples_*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))
        path.unlink()


def test_read_lm_eval_parquet_log_is_read_as_its_json(toy, runs):
    # One document has three choices: the others' rows hold null for the third request.
    rows = make.rows_of(B)
    prompt = rows[0]["arguments"]["gen_args_0"]["arg_0"]
    rows[0]["arguments"]["gen_args_2"] = {"arg_0": prompt, "arg_1": " three"}
    rows[0]["filtered_resps"].append(["-9.0", "False"])
    make.make_run(runs, files=files(toy_b=rows))
    json_matrix, json_report = read(runs, toy)
    to_parquet(runs)
    matrix, report = read(runs, toy)
    np.testing.assert_array_equal(matrix.scores, json_matrix.scores)
    np.testing.assert_array_equal(matrix.confidence, json_matrix.confidence)
    assert not np.isnan(matrix.confidence).any()
    assert [f.rows for f in report.files] == [f.rows for f in json_report.files]


def test_read_lm_eval_damaged_parquet_log_is_named_and_the_rest_kept(toy, runs):
    make.make_run(runs)
    to_parquet(runs)
    broken = next(runs.rglob("samples_toy_b_*.parquet"))
    broken.write_bytes(broken.read_bytes()[:-20])
    matrix, report = read(runs, toy, min_coverage=0)
    # Items 0 to 7 are those of the other two tasks.
    assert np.flatnonzero(np.isnan(matrix.scores[0])).tolist() == [8, 9, 10, 11]
    [fault] = [x for file in report.files for x in file.faults]
    assert str(broken) in str(fault) and "damaged" in str(fault)
