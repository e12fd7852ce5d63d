"""Readers: one file for each source of answers; each returns a `ResponseMatrix`.

All but the plain tables' also return a report of what was read and what was left out.
"""

from __future__ import annotations

from lm_microbench.readers.lm_eval import read_lm_eval
from lm_microbench.readers.micro import MicroRun, micro_runs
from lm_microbench.readers.mmlu_pro import read_mmlu_pro
from lm_microbench.readers.reading import ConflictError, ReadingReport, Rules
from lm_microbench.readers.sources import collect
from lm_microbench.readers.table import read_responses

__all__ = [
    "ConflictError",
    "MicroRun",
    "ReadingReport",
    "Rules",
    "collect",
    "micro_runs",
    "read_lm_eval",
    "read_mmlu_pro",
    "read_responses",
]
