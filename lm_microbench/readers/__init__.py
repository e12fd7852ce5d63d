"""Readers: one file for each source of answers; each returns a `ResponseMatrix`."""

from __future__ import annotations

from lm_microbench.readers.table import read_responses

__all__ = ["read_responses"]
