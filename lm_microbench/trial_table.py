"""The table of a study's trials: a row for each target, and its cells as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from lm_microbench import files
from lm_microbench.trials import Outcome

KEYS = ("method", "n_sources", "size", "reference")
_COLUMNS = ("trial", *KEYS, "target", "score", "estimate", "standard_error")

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cell:
    """All trials of one method, number of sources, size and reference.

    Parameters
    ----------
    key : tuple
        Values of `KEYS`.
    score, estimate, standard_error : array, shape (n_trials, n_targets)
    """

    key: tuple[Any, ...]
    score: Array
    estimate: Array
    standard_error: Array


def tabulate(
    outcome: Outcome,
    methods: Sequence[str],
    n_sources: Sequence[int],
    sizes: Sequence[int],
    references: Sequence[str],
) -> pa.Table:
    """Return the rows of one trial; `methods` are labels."""
    shape = (len(methods), len(n_sources), len(sizes), len(references), len(outcome.targets))
    i, j, k, r, t = (axis.ravel() for axis in np.indices(shape))
    return pa.table(
        {
            "trial": np.full(len(i), outcome.trial, dtype=np.int32),
            "method": _names(i, methods),
            "n_sources": np.asarray(n_sources, dtype=np.int32)[j],
            "size": np.asarray(sizes, dtype=np.int32)[k],
            "reference": _names(r, references),
            "target": _names(t, outcome.targets),
            "score": outcome.scores[r, t],
            "estimate": outcome.estimates[i, j, k, t],
            "standard_error": outcome.standard_errors[i, j, k, t],
        }
    )


def read_trials(path: Path) -> pa.Table:
    """Return a table of trials from Parquet.

    Raises
    ------
    ValueError
        If the file is broken or is no table of trials.
    """
    texts = ("method", "reference", "target")
    table = files.read_parquet(path, dictionaries=texts, advice="delete it")
    if tuple(table.column_names) != _COLUMNS:
        raise ValueError(f"{path}: not a table of a study's trials; delete it")
    return table


def cells_of(table: pa.Table) -> Iterator[Cell]:
    """Yield the cells of a table of whole trials, in the order of the study."""
    frame = table.to_pandas()
    for name in ("method", "reference"):  # in the order of the study, not of the alphabet
        frame[name] = pd.Categorical(frame[name], categories=list(dict.fromkeys(frame[name])))
    frame = frame.sort_values([*KEYS, "trial"], kind="stable")
    n_trials = frame["trial"].nunique()
    for key, rows in frame.groupby(list(KEYS), observed=True, sort=True):
        score, estimate, error = (
            rows[column].to_numpy(dtype=np.float64).reshape(n_trials, -1)
            for column in ("score", "estimate", "standard_error")
        )
        method, n_sources, size, reference = key
        yield Cell((str(method), int(n_sources), int(size), str(reference)), score, estimate, error)


def _names(codes: npt.NDArray[np.intp], names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, type=pa.int32()), list(names))
