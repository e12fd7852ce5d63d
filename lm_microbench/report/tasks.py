"""The list of micro-tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lm_microbench.report.numbers import Table, points


def tasks_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return head and rows of a list of tasks (`registry.describe`); errors and shares in points.

    Ordered by benchmark, method (`random` first) and size.
    """
    head = ["task", "size", "of", "method", "sources", "error", "error above"]
    head += ["pairs right", "pairs right above"]
    figures = ("error_inside", "error_above", "agreement_inside", "agreement_above")
    ordered = sorted(
        rows, key=lambda x: (str(x["benchmark"]), x["method"] != "random", x["method"], x["size"])
    )
    return head, [
        [
            *(str(x[key]) for key in ("task", "size", "n_items", "method", "n_sources")),
            *("-" if x.get(key) is None else points(x[key]) for key in figures),
        ]
        for x in ordered
    ]
