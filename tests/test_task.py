"""MicroTask against the ordinary full run: prompts, responses and scores of every chosen item."""

import json
import logging

import numpy as np
import pytest
from harness import evaluate, evaluate_on_ranks

from lm_microbench.benchmark import load_benchmark
from lm_microbench.build import build
from lm_microbench.methods import get_method
from lm_microbench.registry import find_subset, write_task
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Subset

BASES = ["mmlu_pro", "leaderboard_mmlu_pro", "bbh", "leaderboard_bbh"]
SAME = ["arguments", "resps", "filtered_resps", "target", "doc_hash", "prompt_hash", "target_hash"]


@pytest.fixture(scope="module")
def full_run(hub):
    """Return the rows of the full run of a base, run once."""
    runs = {}

    def run(base):
        if base not in runs:
            runs[base] = _rows(evaluate([base]))
        return runs[base]

    return run


def ordinary_run(task, model=None, **options):
    """Return the rows of the ordinary leaf tasks, run on the documents of a micro-task alone."""
    documents = find_subset(task).documents
    wanted = {}
    for leaf, position in zip(documents.tasks, documents.positions, strict=True):
        wanted.setdefault(leaf, []).append(position)
    wanted = {leaf: sorted(positions) for leaf, positions in wanted.items()}
    return _rows(evaluate(wanted, model, samples=wanted, **options))


def _rows(results):
    samples = results["samples"].items()
    return {(task, row["doc_id"]): row for task, rows in samples for row in rows}


def assert_same(micro_rows, full, ranked=False):
    assert micro_rows
    for row in micro_rows:
        note = row["doc"]["lm_microbench"]
        other = full[note["task"], note["position"]]
        if ranked:  # lm_eval repeats a rank's last request so that all have the same number
            row = {**row, "resps": [some[:1] for some in row["resps"]]}
        for key in SAME:
            assert row[key] == other[key], (note["item"], key)
        for metric in other["metrics"]:
            assert row[metric] == other[metric]
        assert {k: v for k, v in row["doc"].items() if k != "lm_microbench"} == other["doc"]


@pytest.mark.shared
@pytest.mark.parametrize("base", BASES)
def test_run_of_every_base_is_identical_to_the_full_run(base, in_hub, full_run):
    results = evaluate([f"{base}_micro50_stratified"])
    rows = results["samples"][f"{base}_micro50_stratified"]
    assert len(rows) == 50
    assert_same(rows, full_run(base))


@pytest.mark.shared
@pytest.mark.parametrize(
    "options",
    [
        {"apply_chat_template": True, "fewshot_as_multiturn": True},
        {"apply_chat_template": True, "fewshot_as_multiturn": False, "system_instruction": "Hi."},
        {"num_fewshot": 1},
        {"num_fewshot": 0},
    ],
    ids=["chat", "chat-single-turn-system", "one-shot", "zero-shot"],
)
@pytest.mark.parametrize("base", ["bbh", "leaderboard_mmlu_pro"])
def test_run_under_other_settings_is_identical_to_the_ordinary_run(base, options, in_hub):
    task = f"{base}_micro25_random"
    assert_same(evaluate([task], **options)["samples"][task], ordinary_run(task, **options))


@pytest.mark.shared
def test_run_with_generation_settings_is_identical_to_the_ordinary_run(in_hub):
    options = {"gen_kwargs": {"max_gen_toks": 7, "until": ["."]}}
    rows = evaluate(["bbh_micro10_random"], **options)["samples"]["bbh_micro10_random"]
    assert rows[0]["arguments"][0][1]["max_gen_toks"] == 7
    assert_same(rows, ordinary_run("bbh_micro10_random", **options))


@pytest.mark.shared
@pytest.mark.parametrize("base", ["leaderboard_bbh", "mmlu_pro"])
def test_run_on_two_ranks_gives_the_same_rows_and_numbers(base, in_hub, full_run):
    task = f"{base}_micro25_stratified"
    alone, ranked = evaluate([task]), evaluate_on_ranks([task], 2)
    assert_same(ranked["samples"][task], full_run(base), ranked=True)
    assert len(ranked["samples"][task]) == 25
    assert ranked["results"][task] == alone["results"][task]


@pytest.mark.shared
def test_run_reports_the_estimate_and_the_standard_error_of_the_design(in_hub):
    task = "leaderboard_mmlu_pro_micro50_stratified"
    results = evaluate([task])
    rows = {r["doc"]["lm_microbench"]["item"]: r["acc"] for r in results["samples"][task]}
    subset = find_subset(task)
    scores = np.array([rows[item] for item in subset.items])
    weights = {r["doc"]["lm_microbench"]["item"]: r["doc"]["lm_microbench"]["weight"]
               for r in results["samples"][task]}  # fmt: skip
    assert [weights[item] for item in subset.items] == list(subset.weights())
    found = results["results"][task]
    assert found["acc,none"] == pytest.approx(scores.mean())
    assert found["full_estimate,none"] == pytest.approx(float(scores @ subset.weights()))
    assert found["full_estimate_stderr,none"] == pytest.approx(subset.standard_error(scores)[0])
    assert 0 < found["full_estimate_stderr,none"] < 0.1


@pytest.mark.shared
@pytest.mark.parametrize("options", [{"limit": 5}, {"samples": {"bbh_micro10_random": [0, 3]}}])
def test_run_of_a_part_warns_and_reports_no_estimate(options, in_hub, caplog):
    with caplog.at_level(logging.WARNING, "lm_microbench.task"):
        results = evaluate(["bbh_micro10_random"], **options)
    assert "no full_estimate is reported" in caplog.text
    found = results["results"]["bbh_micro10_random"]
    assert "exact_match,get-answer" in found
    assert not any(key.startswith("full_estimate") for key in found)


@pytest.mark.shared
def test_run_with_a_limit_that_cuts_nothing_reports_the_estimate(in_hub):
    results = evaluate(["bbh_micro10_random"], limit=10)
    assert "full_estimate,get-answer" in results["results"]["bbh_micro10_random"]


@pytest.mark.shared
def test_run_with_cached_requests_never_serves_another_subset(in_hub, tmp_path, caplog):
    manifests = [_build_one("bbh", tmp_path / str(seed), 10, seed) for seed in (1, 2)]
    for folder, entry in manifests:
        results = evaluate([entry.name], include=folder, cache_requests=True)
        rows = results["samples"][entry.name]
        for row in rows:
            assert row["doc"]["input"] in row["arguments"][0][0]
    assert "--cache_requests is ignored" in caplog.text


@pytest.mark.shared
def test_run_to_predict_only_gives_responses_and_no_estimate(in_hub):
    results = evaluate(["leaderboard_bbh_micro10_random"], predict_only=True)
    found = results["results"]["leaderboard_bbh_micro10_random"]
    assert not any("estimate" in key or "acc" in key for key in found)
    rows = results["samples"]["leaderboard_bbh_micro10_random"]
    assert len(rows) == 10
    assert all(row["resps"] for row in rows)


@pytest.mark.shared
def test_run_on_more_ranks_than_items_is_refused(in_hub):
    with pytest.raises(ValueError, match="10 items for 11 ranks; use at most 10"):
        evaluate_on_ranks(["bbh_micro10_random"], 11)


@pytest.mark.shared
def test_changed_document_is_an_error_that_names_the_item(in_hub, tmp_path):
    folder, entry = _build_one("bbh", tmp_path, 10, 0)
    subset = Subset.load(entry.manifest)
    contents = ("0" * 16, *subset.documents.contents[1:])
    documents = subset.documents.model_copy(update={"contents": contents})
    subset.with_(documents=documents).save(entry.manifest)
    with pytest.raises(ValueError, match=f"item '{subset.items[0]}'.*build the subset again"):
        evaluate([entry.name], include=folder)


@pytest.mark.shared
def test_moved_document_is_found_by_its_content(in_hub, tmp_path, full_run):
    folder, entry = _build_one("bbh", tmp_path, 10, 0)
    subset = Subset.load(entry.manifest)
    positions = tuple((p + 1) % 100 for p in subset.documents.positions)
    documents = subset.documents.model_copy(update={"positions": positions})
    subset.with_(documents=documents).save(entry.manifest)
    rows = evaluate([entry.name], include=folder)["samples"][entry.name]
    assert_same(rows, full_run("bbh"))


def right_shares(rows):
    """Return the probability on the right choice by item, from lm_eval's rows."""
    shares = {}
    for row in rows:
        likelihoods = np.array([float(x[0]) for x in row["filtered_resps"]])
        weights = np.exp(likelihoods - likelihoods.max())
        shares[row["doc"]["lm_microbench"]["item"]] = weights[row["doc"]["answer"]] / weights.sum()
    return shares


def test_run_of_an_estimate_from_confidences_weighs_the_right_choices_shares(tmp_path):
    source = ResponseMatrix.load(load_benchmark("microdemo").home / "responses.parquet")
    method = get_method("anchor")
    [subset] = build(load_benchmark("microdemo"), method, [10], source=source)
    entry = write_task(subset, tmp_path)
    results = evaluate([entry.name], include=tmp_path)
    shares = right_shares(results["samples"][entry.name])
    expected = subset.weights() @ [shares[item] for item in subset.items]
    assert results["results"][entry.name]["full_estimate,none"] == pytest.approx(expected)
    # The measured error is that of such estimates, not of the scores'.
    assert subset.reliability != build(
        load_benchmark("microdemo"), get_method("anchor", estimate="score"), [10], source=source
    )[0].reliability  # fmt: skip


@pytest.mark.parametrize("ranks", [1, 2])
def test_run_of_an_estimate_from_both_reads_scores_and_confidences(ranks):
    task = "microdemo_micro10_predictive"
    results = evaluate([task]) if ranks == 1 else evaluate_on_ranks([task], ranks)
    rows, subset = results["samples"][task], find_subset(task)
    shares, scores = right_shares(rows), {r["doc"]["lm_microbench"]["item"]: r["acc"] for r in rows}
    answers = [read[item] for read in (scores, shares) for item in subset.items]
    found = results["results"][task]
    assert found["full_estimate,none"] == pytest.approx(subset.estimate(answers)[0])
    assert found["full_estimate_stderr,none"] == pytest.approx(subset.standard_error(answers)[0])


@pytest.mark.shared
def test_estimate_from_confidences_of_a_generative_base_is_refused(in_hub, tmp_path):
    folder, entry = _build_one("bbh", tmp_path, 10, 0)
    raw = json.loads(entry.manifest.read_text())
    raw["estimator"] = {"kind": "confidence", "weights": [0.1] * 10}
    entry.manifest.write_text(json.dumps(raw))
    with pytest.raises(ValueError, match=r"made of confidences, which bbh .* has none of"):
        evaluate([entry.name], include=folder)


def _build_one(base, folder, size, seed):
    subset = build(load_benchmark(base), get_method("random"), [size], seed=seed)[0]
    return folder, write_task(subset, folder)
