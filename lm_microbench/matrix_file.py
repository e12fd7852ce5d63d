"""The Parquet file of a response matrix: a row an item, a column a model, a note in the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lm_microbench import files

FloatArray = npt.NDArray[np.float32]

SCHEMA_VERSION = 1
KEY = b"lm_microbench"
ITEM, SUBTASK, CONFIDENCE = "item", "subtask", "confidence:"


def write(
    path: Path,
    *,
    scores: FloatArray,
    models: Sequence[str],
    items: Sequence[str],
    subtasks: Sequence[str],
    confidence: FloatArray | None,
    metadata: Mapping[str, Any],
) -> None:
    """Write the fields of a matrix, atomically; see `ResponseMatrix.save`."""
    columns: dict[str, Any] = {ITEM: list(items), SUBTASK: list(subtasks)}
    columns |= {m: _column(scores[i]) for i, m in enumerate(models)}
    if confidence is not None:
        columns |= {CONFIDENCE + m: _column(confidence[i]) for i, m in enumerate(models)}
    note = {
        "schema": SCHEMA_VERSION,
        "models": list(models),
        "confidence": confidence is not None,
        "metadata": dict(metadata),
    }
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(note).encode()})
    with files.atomic(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read(path: Path) -> dict[str, Any]:
    """Return the fields of the matrix that `write` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a Parquet file of ours, its schema is newer, or a column is wrong.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give the file that `collect` wrote")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; make it with `lm-microbench collect`")
    table = files.read_parquet(path)
    note = _note(table)
    if note is None:
        raise ValueError(
            f"{path}: a Parquet file, but not a response matrix of lm-microbench; "
            "make one with `lm-microbench collect`"
        )
    if note["schema"] > SCHEMA_VERSION:
        raise ValueError(
            f"{path}: schema {note['schema']} is newer than this version reads "
            f"({SCHEMA_VERSION}); upgrade lm-microbench"
        )
    try:
        return _fields(table, note)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: {error}; collect it again") from None


def _fields(table: pa.Table, note: Mapping[str, Any]) -> dict[str, Any]:
    models = note["models"]

    def rows(prefix: str) -> FloatArray:
        columns = [table.column(prefix + m).to_numpy() for m in models]
        return np.array(columns, dtype=np.float32).reshape(len(models), table.num_rows)

    return {
        "scores": rows(""),
        "models": tuple(models),
        "items": _strings(table, ITEM),
        "subtasks": _strings(table, SUBTASK),
        "confidence": rows(CONFIDENCE) if note["confidence"] else None,
        "metadata": note["metadata"],
    }


def _note(table: pa.Table) -> dict[str, Any] | None:
    """Return what `write` noted in the file's schema; None where it is not ours."""
    try:
        note = json.loads((table.schema.metadata or {}).get(KEY, b"null"))
    except ValueError:
        return None
    kinds = {"schema": int, "models": list, "confidence": bool, "metadata": dict}
    ours = isinstance(note, dict) and all(isinstance(note.get(k), v) for k, v in kinds.items())
    return note if ours else None


def _column(values: FloatArray) -> pa.Array:
    return pa.array(values, type=pa.float32(), from_pandas=True)


def _strings(table: pa.Table, column: str) -> tuple[str, ...]:
    values = table.column(column).to_pylist()
    wrong = next((i for i, value in enumerate(values) if not isinstance(value, str)), None)
    if wrong is not None:
        raise ValueError(f"column {column!r}, row {wrong}: {values[wrong]!r} is not a name")
    return tuple(values)
