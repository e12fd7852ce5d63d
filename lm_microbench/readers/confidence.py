"""Confidence: the probability that a model put on the right choice of a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def right_share(record: Mapping[str, Any]) -> float:
    """Return the softmax over the choices' log-likelihoods, taken at the right choice.

    NaN where the row is not of a multiple-choice task, a log-likelihood is missing, or it cannot
    be told which choice is right.

    The right choice is the continuation that equals `target`, or the one whose number `target`
    is. Where the two readings differ, the row's `acc` decides, if it fits only one of them.
    """
    likelihoods = _likelihoods(record)
    choices = _continuations(record.get("arguments"))
    if likelihoods is None or len(choices) != len(likelihoods) or len(set(choices)) < len(choices):
        return math.nan
    right = _right(str(record.get("target")), choices, likelihoods, record.get("acc"))
    if right is None:
        return math.nan
    top = max(likelihoods)
    weights = [math.exp(x - top) for x in likelihoods]
    return weights[right] / math.fsum(weights)


def _likelihoods(record: Mapping[str, Any]) -> list[float] | None:
    """Return one log-likelihood a choice; None if the row does not hold them all."""
    answers = record.get("filtered_resps")
    if not isinstance(answers, list) or len(answers) < 2:
        return None
    numbers = []
    for answer in answers:
        while isinstance(answer, list) and len(answer) == 1:
            answer = answer[0]
        if not isinstance(answer, list) or len(answer) != 2:
            return None
        try:
            numbers.append(float(answer[0]))
        except (TypeError, ValueError):
            return None
    # -inf is a probability of 0; of all choices it would say nothing.
    known = not any(map(math.isnan, numbers)) and math.isfinite(max(numbers))
    return numbers if known else None


def _continuations(arguments: Any) -> list[str]:
    requests: Any = list(arguments.values()) if isinstance(arguments, Mapping) else arguments
    choices = []
    for request in requests if isinstance(requests, list) else []:
        values = list(request.values()) if isinstance(request, Mapping) else request
        if not isinstance(values, list) or len(values) != 2 or not isinstance(values[1], str):
            return []
        choices.append(values[1].strip())
    return choices


def _right(
    target: str, choices: Sequence[str], likelihoods: Sequence[float], accuracy: Any
) -> int | None:
    target = target.strip()
    readings = {i for i, choice in enumerate(choices) if choice == target}
    if target.isdecimal() and int(target) < len(choices):
        readings.add(int(target))
    if len(readings) == 2 and isinstance(accuracy, int | float):
        best = max(range(len(choices)), key=likelihoods.__getitem__)
        readings = {i for i in readings if (i == best) == bool(accuracy)}
    return readings.pop() if len(readings) == 1 else None
