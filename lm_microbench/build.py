"""Building a micro-benchmark: a method's choice, tied to the documents that lm_eval will run."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np

from lm_microbench.benchmark import Benchmark
from lm_microbench.held_out import Reliability
from lm_microbench.methods import Method, generator
from lm_microbench.reliability import measure_sizes
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Documents, Subset


def build(
    benchmark: Benchmark,
    method: Method,
    sizes: Sequence[int],
    *,
    source: ResponseMatrix | None = None,
    source_sha256: str | None = None,
    seed: int = 0,
) -> list[Subset]:
    """Return one subset of a benchmark for each size, ready to be written as a micro-task.

    Parameters
    ----------
    benchmark : Benchmark
        Its item table says where each item's document lies.
    method : Method
    sizes : sequence of int
    source : ResponseMatrix, optional
        Answers of the source models to every item; not needed by methods that sample, but with it
        their reliability is measured too.
    source_sha256 : str, optional
        Hash of the file that `source` came from, for the record.
    seed : int
        The same seed gives the same subsets.

    Raises
    ------
    ValueError
        If the method needs answers and none are given, or they are not of this benchmark.
    """
    answers = _source(benchmark, method, source)
    table = benchmark.items()
    measured: list[Reliability | None] = [None] * len(sizes)
    if source is not None:
        measured = measure_sizes(source, method, sizes, seed)
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    built = []
    subsets = method.select_sizes(answers, sizes, rng=generator(seed))
    for subset, reliability in zip(subsets, measured, strict=True):
        provenance = subset.provenance.model_copy(
            update={
                "seed": seed,
                "benchmark": benchmark.name,
                "source_sha256": source_sha256 if method.needs_responses else None,
                "date": today,
            }
        )
        documents = Documents.of(table.find(subset.items))
        built.append(
            subset.with_(provenance=provenance, documents=documents, reliability=reliability)
        )
    return built


def _source(benchmark: Benchmark, method: Method, source: ResponseMatrix | None) -> ResponseMatrix:
    """Return the source models' answers to all items, or a matrix of no models."""
    table = benchmark.items()
    if source is None and method.needs_responses:
        raise ValueError(
            f"method {method.name}: needs the answers of source models; give a response matrix "
            "(`lm-microbench collect` makes one)"
        )
    if source is None:
        empty = np.empty((0, len(table.items)), dtype=np.float32)
        return ResponseMatrix(empty, (), table.items, table.subtasks)
    extra = sorted(set(source.items) - set(table.items))
    missing = sorted(set(table.items) - set(source.items))
    if extra or missing:
        example = (extra or missing)[0]
        raise ValueError(
            f"{benchmark.name}: the response matrix has {len(extra)} items that the benchmark "
            f"lacks and lacks {len(missing)} of it (such as {example!r}); collect it again"
        )
    subtasks = dict(zip(table.items, table.subtasks, strict=True))
    for item, subtask in zip(source.items, source.subtasks, strict=True):
        if subtask != subtasks[item]:
            raise ValueError(
                f"{benchmark.name}: item {item!r} is of subtask {subtasks[item]!r}, in the "
                f"response matrix of {subtask!r}; collect it again"
            )
    return source
