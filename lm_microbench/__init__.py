"""Micro-benchmarks for lm-evaluation-harness, and how far each can be trusted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lm_microbench.comparison import compare
    from lm_microbench.methods import select
    from lm_microbench.readers import read_responses
    from lm_microbench.responses import ResponseMatrix
    from lm_microbench.studies import study
    from lm_microbench.subset import Subset

# Imported when first asked for: the start-up hook imports this package in every interpreter.
_HOMES = {
    "ResponseMatrix": "responses",
    "Subset": "subset",
    "compare": "comparison",
    "read_responses": "readers",
    "select": "methods",
    "study": "studies",
}

__all__ = ["ResponseMatrix", "Subset", "compare", "read_responses", "select", "study"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
