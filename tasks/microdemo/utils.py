"""Reads the questions that lie beside this file, for the microdemo tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets import Dataset
from pyarrow import compute, parquet

DATA = Path(__file__).resolve().parent / "data"


def load(subtask: str | None = None, **_: Any) -> dict[str, Dataset]:
    """Return the splits `test` and `fewshot`, all of them or those of one subtask.

    Parameters
    ----------
    subtask
        Keep only this subtask's questions; None keeps all. Comes from `dataset_kwargs`.
    **_
        lm_eval also hands over the task's metadata and the model arguments: not used.
    """
    splits = {}
    for split in ("test", "fewshot"):
        table = parquet.read_table(DATA / f"{split}.parquet")
        if subtask is not None:
            table = table.filter(compute.equal(table["subtask"], subtask))
        if not len(table):
            raise ValueError(f"{DATA / split}.parquet: no questions of subtask {subtask!r}")
        splits[split] = Dataset(table)
    return splits
