"""Replay: the few-shot draws of a full run, made for the documents that a subset leaves out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from lm_eval.api.samplers import FirstNSampler

from lm_microbench.leaves import leaf_documents
from lm_microbench.places import Place


class Replay:
    """How far the draws of each leaf task's few-shot sampler have come.

    A random sampler draws once for each document, in order; a subset gets the full run's shots
    only if the draws of the documents that it leaves out are made too.
    """

    def __init__(self) -> None:
        """Begin before the first document of every leaf task."""
        self._next: dict[str, int] = defaultdict(int)

    def restart(self) -> None:
        """Begin anew: the samplers were seeded."""
        self._next.clear()

    def up_to(self, place: Place, shots: int, kwargs: Mapping[str, Any]) -> None:
        """Draw the shots of the documents before this one, as the full run does.

        Parameters
        ----------
        place : Place
        shots : int
        kwargs : mapping
            What lm_eval gives to `fewshot_context`.
        """
        leaf = place.leaf
        sampler = getattr(leaf, "sampler", None)
        start = self._next[leaf.task_name]
        self._next[leaf.task_name] = place.position + 1
        if shots == 0 or isinstance(sampler, FirstNSampler):
            return
        docs = leaf_documents(leaf)
        for position in range(start, place.position):
            if sampler is None:
                leaf.fewshot_context(docs[position], num_fewshot=shots, **kwargs)
            else:
                same = leaf.fewshot_cfg.split == leaf.config.test_split
                sampler.sample(n=shots, eval_doc=docs[position] if same else None)
