"""Micro-tasks against a server, through lm_eval's API models: the same answers as of the model."""

import pytest
from harness import evaluate
from server import Completer, serve

from lm_microbench.benchmark import load_benchmark
from lm_microbench.build import build
from lm_microbench.methods import get_method
from lm_microbench.registry import write_task

pytest.importorskip("tenacity")

CHOICES = "microdemo_micro10_stratified"
SHORT = {"num_fewshot": 1, "gen_kwargs": {"max_gen_toks": 12, "until": ["Q:", "\n\n"]}}
SAME = ["filtered_resps", "target", "doc_hash", "target_hash"]


@pytest.fixture(scope="module")
def completer(base_model):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(base_model, dtype="float32")
    return Completer(model, AutoTokenizer.from_pretrained(base_model))


@pytest.fixture(scope="module")
def local(completer):
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=completer.model, tokenizer=completer.tokenizer, batch_size=1)


@pytest.fixture
def address(completer):
    with serve(completer) as address:
        yield address


@pytest.fixture
def generative(in_hub, tmp_path, monkeypatch):
    """Return the name of a generative micro-task of two questions."""
    subset = build(load_benchmark("bbh"), get_method("stratified"), [2], seed=3)[0]
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path))
    return write_task(subset, tmp_path).name


def client(kind, address, base_model):
    """Return lm_eval's API model, as `--model KIND --model_args base_url=...` makes it."""
    from lm_eval.api.registry import get_model

    path = {"local-completions": "completions", "local-chat-completions": "chat/completions"}[kind]
    arguments = f"model={base_model},base_url={address}/v1/{path},max_length=8192"
    if kind == "local-completions":
        arguments += ",tokenizer_backend=huggingface"
    return get_model(kind).create_from_arg_string(arguments, {"batch_size": 1})


def answers(results, task, keys=SAME):
    rows = results["samples"][task]
    return [(row["doc"]["lm_microbench"]["item"], *(row[key] for key in keys)) for row in rows]


@pytest.mark.model
def test_choices_by_log_likelihood_of_a_server_are_those_of_the_model(
    completer, local, address, base_model
):
    remote = evaluate([CHOICES], client("local-completions", address, base_model))
    here = evaluate([CHOICES], local)
    assert answers(remote, CHOICES, ["acc", "doc_hash", "prompt_hash"]) == answers(
        here, CHOICES, ["acc", "doc_hash", "prompt_hash"]
    )
    numbers, expected = remote["results"][CHOICES], here["results"][CHOICES]
    assert {k: v for k, v in numbers.items() if k != "alias"} == {
        k: v for k, v in expected.items() if k != "alias"
    }
    for row, other in zip(remote["samples"][CHOICES], here["samples"][CHOICES], strict=True):
        for (one, greedy), (two, also) in zip(
            row["filtered_resps"], other["filtered_resps"], strict=True
        ):
            assert float(one) == pytest.approx(float(two), abs=1e-3)
            assert greedy == also


@pytest.mark.shared
@pytest.mark.model
@pytest.mark.parametrize("kind", ["local-completions", "local-chat-completions"])
def test_generation_of_a_server_is_that_of_the_model(
    kind, generative, completer, local, address, base_model, tmp_path
):
    chat = {"apply_chat_template": kind == "local-chat-completions", "fewshot_as_multiturn": False}
    completer.requests.clear()
    remote = evaluate([generative], client(kind, address, base_model), tmp_path, **SHORT, **chat)
    here = evaluate([generative], local, tmp_path, **SHORT, **chat)
    assert answers(remote, generative) == answers(here, generative)
    assert len(completer.requests) == 2
    assert {body["max_tokens"] for _, body in completer.requests} == {12}
    assert all(row["resps"][0][0] for row in remote["samples"][generative]), "something was said"
