"""The callback in a training run of a tiny model: what it logs, and that it disturbs nothing."""

import logging
import random

import lm_eval
import numpy as np
import pandas as pd
import pytest
import torch
from lm_eval.models.huggingface import HFLM
from tiny import Logger, make_model, make_tokenizer, make_trainer

from lm_microbench.benchmark import load_benchmark
from lm_microbench.callback import MicrobenchCallback, scores_of, unchanged
from lm_microbench.history import Point, load_points
from lm_microbench.readers.samples import ROW_KEY
from lm_microbench.registry import find_subset
from lm_microbench.task import ESTIMATE

TASK = "microdemo_micro10_stratified"
NAMES = ("estimate", "standard_error", "better_than_last", "better_than_best")
KEYS = [f"eval_{TASK}_{name}" for name in NAMES]


@pytest.fixture(scope="module", autouse=True)
def _no_list_of_packages():
    """Spare what lm_eval spends on the list of installed packages, seconds each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lm_eval.evaluator.add_env_info", lambda results: None)
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return trainer, logger and callback after a training with an evaluation every two steps."""
    logger, callback = Logger(), MicrobenchCallback([TASK], every=2)
    trainer = make_trainer(tmp_path_factory.mktemp("train"), [logger, callback])
    trainer.train()
    return trainer, logger, callback


def test_callback_logs_to_the_trainers_loggers_and_keeps_the_loss_there(trained):
    trainer, logger, _ = trained
    steps = [step for step, logs in logger.logs if KEYS[0] in logs]
    assert steps == [2, 4, 6]
    assert [step for step, logs in logger.logs if "loss" in logs] == [2, 4, 6]
    ours = [logs for _, logs in logger.logs if KEYS[0] in logs]
    assert sorted(ours[0]) == sorted(KEYS[:2]), "nothing to be better than"
    assert sorted(ours[1]) == sorted(ours[2]) == sorted(KEYS)
    assert all(0 <= value <= 1 for logs in ours for value in logs.values())
    logged = [x for x in trainer.state.log_history if KEYS[0] in x]
    assert [x["step"] for x in logged] == [2, 4, 6]
    assert logged[1] == {**ours[1], "step": 4, "epoch": logged[1]["epoch"]}


def test_callback_reports_what_lm_eval_reports_of_the_model(trained):
    trainer, logger, callback = trained
    model = HFLM(pretrained=trainer.model, tokenizer=make_tokenizer(), batch_size=4)
    results = lm_eval.simple_evaluate(
        model, tasks=[TASK], task_manager=callback._manager, bootstrap_iters=0, log_samples=True
    )
    found = results["results"][TASK]
    logs = [logs for _, logs in logger.logs if KEYS[0] in logs][-1]
    assert logs[KEYS[0]] == pytest.approx(found["full_estimate,none"])
    assert logs[KEYS[1]] == pytest.approx(found["full_estimate_stderr,none"])
    rows = results["samples"][TASK]
    scores = scores_of(rows, callback._subsets[TASK], callback._benchmarks[TASK])
    assert scores == callback._points[-1].scores
    with pytest.raises(ValueError, match="was not answered"):
        scores_of(rows[1:], callback._subsets[TASK], callback._benchmarks[TASK])


def test_scores_of_a_task_that_reads_both_are_scores_then_confidences():
    subset, benchmark = find_subset("microdemo_micro10_predictive"), load_benchmark("microdemo")
    rows = [
        {"doc": {ROW_KEY: {"item": item}}, "filter": "none", ESTIMATE: [i, i % 2, i / 10]}
        for i, item in enumerate(subset.items)
    ]
    expected = (*(i % 2 for i in range(10)), *(i / 10 for i in range(10)))
    assert scores_of(rows[::-1], subset, benchmark) == expected


def test_points_of_another_subset_of_that_name_are_left_out_of_the_history():
    callback = MicrobenchCallback([TASK])
    assert callback._fits(Point("checkpoint-2", TASK, (1.0,) * 10))
    assert not callback._fits(Point("checkpoint-2", TASK, (1.0,) * 20))
    assert not callback._fits(Point("checkpoint-2", "another_task", (1.0,) * 10))


def test_training_with_the_callback_is_that_without_it_to_the_last_bit(trained, tmp_path):
    trainer, logger, _ = trained
    plain_logger = Logger()
    plain = make_trainer(tmp_path, [plain_logger])
    plain.train()
    ours, theirs = trainer.model.state_dict(), plain.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert [x["loss"] for _, x in logger.logs if "loss" in x] == [
        x["loss"] for _, x in plain_logger.logs if "loss" in x
    ]
    settings = trainer.processing_class.backend_tokenizer
    assert settings.to_str() == plain.processing_class.backend_tokenizer.to_str()


def test_callback_writes_the_history(trained):
    trainer, _, callback = trained
    folder = callback._folder(trainer.args)
    assert list(pd.read_csv(folder / "history.csv")["step"]) == [2, 4, 6]
    assert [x.step for x in load_points(folder / "points.json")] == [2, 4, 6]


def test_callback_at_each_save_continues_its_history_when_training_is_resumed(tmp_path):
    options = {"save_strategy": "steps", "save_steps": 2}
    make_trainer(tmp_path, [MicrobenchCallback([TASK])], steps=6, **options).train()
    callback = MicrobenchCallback([TASK])
    trainer = make_trainer(tmp_path, [callback], steps=8, **options)
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    table = pd.read_csv(tmp_path / "microbench_callback" / "history.csv")
    assert list(table["step"]) == [2, 4, 6, 8]
    assert table["last"][2] == "checkpoint-4"


def test_failure_of_an_evaluation_is_a_warning_and_training_goes_on(tmp_path, monkeypatch, caplog):
    class Broken(MicrobenchCallback):
        def _run(self, model, tokenizer):
            model.eval()
            random.random()
            raise RuntimeError("out of memory")

    logger = Logger()
    trainer = make_trainer(tmp_path, [logger, Broken([TASK], every=2, at_start=True)], steps=2)
    with caplog.at_level(logging.WARNING, "lm_microbench.callback"):
        trainer.train()
    assert trainer.state.global_step == 2
    assert "step 0: the evaluation failed and is skipped: RuntimeError('out of" in caplog.text
    assert "step 2: the evaluation failed" in caplog.text
    assert not any(KEYS[0] in logs for _, logs in logger.logs)


def test_unchanged_gives_back_modes_flags_and_random_states():
    model = make_model()
    model.train()
    model.model.layers[0].eval()  # a frozen layer
    model.lm_head.weight.requires_grad_(False)
    model.config.use_cache = False

    def state():
        modes = [module.training for module in model.modules()]
        flags = [parameter.requires_grad for parameter in model.parameters()]
        return (
            modes,
            flags,
            model.config.use_cache,
            random.getstate(),
            torch.get_rng_state().tolist(),
        )

    before, numpy_before = state(), np.random.get_state()[1].tolist()
    with pytest.raises(RuntimeError), unchanged(model):
        model.eval()
        model.requires_grad_(True)
        model.config.use_cache = True
        random.random(), np.random.random(), torch.rand(1)
        raise RuntimeError
    assert state() == before
    assert np.random.get_state()[1].tolist() == numpy_before


def test_callback_with_wrong_input_fails_before_the_training():
    with pytest.raises(KeyError, match="did you mean microdemo_micro10_stratified"):
        MicrobenchCallback(["microdemo_micro10_stratifed"])
    with pytest.raises(ValueError, match="give a list"):
        MicrobenchCallback(TASK)
    with pytest.raises(ValueError, match="every: 0"):
        MicrobenchCallback([TASK], every=0)


def test_callback_that_has_nothing_to_wait_for_says_so(tmp_path, caplog):
    make_trainer(tmp_path, [MicrobenchCallback([TASK])], steps=1).train()
    assert "no checkpoint is saved, so none is evaluated" in caplog.text
