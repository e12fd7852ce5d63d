"""Does a row's prompt ask the question of the document that the row names?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def asks_question(doc: Mapping[str, Any], prompts: Sequence[str], name: str) -> bool:
    """Return whether every prompt holds the document's question, the text in the field `name`.

    A stale cache of requests, and `--samples`, put one document's prompt under another.
    """
    question = doc.get(name)
    return not isinstance(question, str) or all(_shows(prompt, question) for prompt in prompts)


def shows_choices(
    doc: Mapping[str, Any], texts: Sequence[str], names: Sequence[str]
) -> bool | None:
    """Return whether all texts in a document's lists occur in a prompt; None if it has no list."""
    choices = [
        choice
        for name in names
        if isinstance(values := doc.get(name), list)
        for choice in values
        if isinstance(choice, str)
    ]
    if not choices:
        return None
    return all(any(_shows(text, choice) for text in texts) for choice in choices)


def request_texts(arguments: Any) -> tuple[list[str], list[str]]:
    """Return the distinct prompts and the continuations of a row's requests."""
    requests = list(arguments.values()) if isinstance(arguments, Mapping) else arguments
    prompts: dict[str, None] = {}
    continuations: list[str] = []
    for request in requests if isinstance(requests, list) else []:
        values = list(request.values()) if isinstance(request, Mapping) else request
        if not isinstance(values, list) or not values:
            continue
        if isinstance(values[0], str):
            prompts[values[0]] = None
        if len(values) > 1 and isinstance(values[1], str):
            continuations.append(values[1])
    return list(prompts), continuations


def _shows(prompt: str, text: str) -> bool:
    """Return whether a prompt holds a text: as it is, as JSON, or with other white space."""
    text = text.strip()
    if text in prompt or json.dumps(text)[1:-1] in prompt:
        return True
    if json.dumps(text, ensure_ascii=False)[1:-1] in prompt:
        return True
    return "".join(text.split()) in "".join(prompt.split())
