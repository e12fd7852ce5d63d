"""Micro-benchmarks for lm-evaluation-harness, and how far each can be trusted."""

__version__ = "0.1.0"
