"""A real language model on real questions: micro against ordinary runs, item for item."""

import pytest
from harness import evaluate
from test_task import assert_same, ordinary_run

from lm_microbench.benchmark import load_benchmark
from lm_microbench.build import build
from lm_microbench.methods import get_method
from lm_microbench.registry import write_task

SIZES = {"leaderboard_mmlu_pro": 8, "leaderboard_bbh": 8, "mmlu_pro": 2, "bbh": 2}


@pytest.fixture(scope="module")
def language_model(base_model):
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=str(base_model), device="cpu", dtype="float32", batch_size=2)


@pytest.mark.shared
@pytest.mark.model
@pytest.mark.parametrize("base", SIZES)
def test_real_model_answers_a_micro_task_as_it_answers_the_ordinary_task(
    base, in_hub, tmp_path, language_model, monkeypatch
):
    size = SIZES[base]
    subset = build(load_benchmark(base), get_method("stratified"), [size], seed=3)[0]
    entry = write_task(subset, tmp_path)
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path))
    options = {"num_fewshot": 1}
    if "leaderboard" not in base:
        options["gen_kwargs"] = {"max_gen_toks": 24, "until": ["Question:", "\n\n"]}
    results = evaluate([entry.name], language_model, tmp_path, **options)
    rows = results["samples"][entry.name]
    assert len(rows) == size
    assert_same(rows, ordinary_run(entry.name, language_model, **options))
