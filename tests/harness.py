"""lm_eval for tests: stub models whose answers depend on nothing but the request, and runs."""

import hashlib
import threading

import lm_eval
import torch
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

LETTERS = "ABCDEFGHIJ"


def _digest(*parts):
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:6], "big")


class StubLM(LM):
    """Answers by a hash of the prompt: the same to the same prompt, in any order or rank."""

    tokenizer_name = "stub"

    def loglikelihood(self, requests, disable_tqdm=False):
        values = [_digest(*r.args) for r in requests]
        return [(-(v % 10_000) / 100, bool(v % 2)) for v in values]

    def generate_until(self, requests, disable_tqdm=False):
        values = [_digest(r.args[0], sorted(map(str, r.args[1].items()))) for r in requests]
        words = ["True", "False", "Yes", "No", "(A)", "(B)", "(C)", "valid", "5"]
        return [
            f"so the answer is {words[v % 9]}."
            if "Options:" not in r.args[0]
            else f"the answer is ({LETTERS[v % 4]})."
            for v, r in zip(values, requests, strict=True)
        ]

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError

    def apply_chat_template(self, history, add_generation_prompt=True):
        turns = "".join(f"<{m['role']}>{m['content']}</{m['role']}>" for m in history)
        return turns + ("<assistant>" if add_generation_prompt else "")

    def chat_template(self, chat_template=False):
        return "stub"


class Ranks:
    """What several ranks share: a place to gather, and a barrier."""

    def __init__(self, size):
        self.size = size
        self.barrier = threading.Barrier(size, timeout=120)
        self.parts = [None] * size


class RankedStubLM(StubLM):
    """One of several ranks, each of which runs in a thread of its own."""

    def __init__(self, ranks, rank):
        super().__init__()
        self.ranks, self._rank, self._world_size = ranks, rank, ranks.size

    @property
    def device(self):
        return "cpu"

    def _gather(self, value):
        self.ranks.parts[self._rank] = value
        self.ranks.barrier.wait()
        parts = list(self.ranks.parts)
        self.ranks.barrier.wait()
        return parts

    def all_gather(self, tensor):
        return torch.stack(self._gather(tensor))

    def gather_object(self, obj, dst=0):
        parts = self._gather(obj)
        return parts if self._rank == dst else None

    def barrier(self):
        self._gather(None)


def evaluate(tasks, model=None, include=None, **options):
    """Return lm_eval's results of the tasks, with samples, as its own command makes them."""
    return lm_eval.simple_evaluate(
        model=model or StubLM(),
        tasks=list(tasks),
        task_manager=manager(include),
        bootstrap_iters=0,
        log_samples=True,
        **options,
    )


def evaluate_on_ranks(tasks, n_ranks, include=None, **options):
    """Return the results of rank 0 of several simulated ranks."""
    ranks = Ranks(n_ranks)
    found = [None] * n_ranks
    failed = []

    def run(rank):
        try:
            found[rank] = evaluate(tasks, RankedStubLM(ranks, rank), include, **options)
        except BaseException as error:
            failed.append(error)
            ranks.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(n_ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    real = [e for e in failed if not isinstance(e, threading.BrokenBarrierError)]
    if real:
        raise real[0]
    return found[0]


_MANAGERS = {}


def manager(include=None):
    """Return a task manager that knows lm_eval's tasks and ours."""
    if include not in _MANAGERS:
        from lm_microbench.folders import own_tasks

        # lm_eval's own index takes seconds; a folder of a test's own needs none of it.
        paths = [str(include)] if include else [str(own_tasks())]
        _MANAGERS[include] = TaskManager(include_path=paths, include_defaults=not include)
    return _MANAGERS[include]
