"""Response matrices that people keep as tables: CSV, Parquet, NPZ."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from lm_microbench.matrix_file import CONFIDENCE, KEY
from lm_microbench.responses import ResponseMatrix

Scores = npt.NDArray[np.float64]

UNNAMED_SUBTASK = "all"
_MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "None"]
_LAYOUT = "give columns `item`, `subtask` and one a model, or `model` and one an item"


def read_responses(path: Path | str) -> ResponseMatrix:
    """Return the response matrix that a file holds, by its ending.

    - `.csv`, `.csv.gz`: a row an item, with columns `item`, `subtask` and one of each model's
      scores; or a row a model, with columns `model` and one an item. An empty cell or `NA` is an
      item that was not answered. Columns `confidence:<model>` are probabilities of the right
      choice.
    - `.parquet`: what `ResponseMatrix.save` wrote, or a table laid out like the CSV.
    - `.npz`: `scores` or `y`, models x items; optional `models`, `items`, `subtasks`,
      `confidence`. Missing names become `model-000`, `item-00000`.

    Where subtasks are not given, an item `<subtask>/<key>` tells its own; if any item does not,
    all are of one subtask, `all`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If its ending is not known, or its content is no response matrix; the path comes first.
    """
    path = Path(path)
    reader = next((r for ending, r in _READERS.items() if path.name.lower().endswith(ending)), None)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give a file ({', '.join(_READERS)})")
    if reader is None:
        raise ValueError(f"{path}: cannot tell the format; give one of {', '.join(_READERS)}")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    return reader(path)


def _read_csv(path: Path) -> ResponseMatrix:
    names = {"item": pa.string(), "subtask": pa.string(), "model": pa.string()}
    options = pyarrow.csv.ConvertOptions(null_values=_MISSING, column_types=names)
    try:
        table = pyarrow.csv.read_csv(path, convert_options=options)
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise ValueError(f"{path}: not a CSV file that can be read ({_first(error)})") from None
    return _of_table(path, table, "line", 2)


def _read_parquet(path: Path) -> ResponseMatrix:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a Parquet file ({_first(error)})") from None
    if KEY in (table.schema.metadata or {}):
        return ResponseMatrix.load(path)
    return _of_table(path, table, "row", 0)


def _read_npz(path: Path) -> ResponseMatrix:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not an NPZ file of plain arrays ({_first(error)})") from None
    scores = arrays.get("scores", arrays.get("y"))
    if scores is None or scores.ndim != 2:
        found = ", ".join(f"{k} {v.shape}" for k, v in arrays.items()) or "nothing"
        raise ValueError(f"{path}: holds {found}; give `scores` or `y`, models x items")
    n_models, n_items = scores.shape
    items = _names(arrays, "items", [f"item-{i:05d}" for i in range(n_items)])
    return _matrix(
        path,
        scores=scores,
        models=_names(arrays, "models", [f"model-{i:03d}" for i in range(n_models)]),
        items=items,
        subtasks=_names(arrays, "subtasks", _subtasks_of(items)),
        confidence=arrays.get("confidence"),
    )


# A longer ending first: `.csv.gz` is no `.gz` of something else.
_READERS: dict[str, Callable[[Path], ResponseMatrix]] = {
    ".csv.gz": _read_csv,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".npz": _read_npz,
}


def _of_table(path: Path, table: pa.Table, row: str, first: int) -> ResponseMatrix:
    """Return the matrix of a table in either layout; `row` and `first` number rows in errors."""
    twice = next((c for c, n in Counter(table.column_names).items() if n > 1), None)
    if twice is not None:
        raise ValueError(f"{path}: column {twice!r} occurs twice; names must be distinct")
    names = [c for c in ("item", "subtask", "model") if c in table.column_names]
    if ("item" in names) == ("model" in names):
        raise ValueError(f"{path}: column `item` or `model` is missing; {_LAYOUT}")
    if ("subtask" in names) and ("model" in names):
        raise ValueError(f"{path}: column `subtask` stands beside `model`; {_LAYOUT}")
    for column in names:
        _check_filled(path, table, column, row, first)
    cells = {c: _numbers(path, table, c, row, first) for c in table.column_names if c not in names}
    plain = [c for c in cells if not c.startswith(CONFIDENCE)]
    scores = _stack(cells, plain, table.num_rows)
    known = None
    if len(plain) < len(cells):
        _check_confidence(path, plain, cells)
        nothing = np.full(table.num_rows, np.nan)
        wide = {c: cells.get(CONFIDENCE + c, nothing) for c in plain}
        known = _stack(wide, plain, table.num_rows)
    if "model" in names:
        models, items = _strings(table, "model"), plain
        scores, known = scores.T, None if known is None else known.T
    else:
        models, items = plain, _strings(table, "item")
    subtasks = _strings(table, "subtask") if "subtask" in names else _subtasks_of(items)
    return _matrix(
        path, scores=scores, models=models, items=items, subtasks=subtasks, confidence=known
    )


def _numbers(path: Path, table: pa.Table, column: str, row: str, first: int) -> Scores:
    values = table.column(column)
    try:
        numbers = pc.cast(values, pa.float64()).to_numpy()
    except pa.ArrowException:
        at, cell = next((i, v) for i, v in enumerate(values.to_pylist()) if not _is_number(v))
        raise ValueError(
            f"{path}: {row} {at + first}, column {column!r}: {cell!r} is no number; "
            "give a fraction in [0, 1], or leave it empty"
        ) from None
    outside = np.flatnonzero((numbers < 0) | (numbers > 1))
    if len(outside):
        raise ValueError(
            f"{path}: {row} {outside[0] + first}, column {column!r}: {numbers[outside[0]]:g} "
            "is outside [0, 1]; give fractions, not points"
        )
    return np.asarray(numbers, dtype=np.float64)


def _is_number(value: Any) -> bool:
    try:
        float(value if value is not None else 0)
    except (TypeError, ValueError):
        return False
    return True


def _check_filled(path: Path, table: pa.Table, column: str, row: str, first: int) -> None:
    names = table.column(column).to_pylist()
    empty = next((i for i, name in enumerate(names) if name is None or name == ""), None)
    if empty is not None:
        raise ValueError(f"{path}: {row} {empty + first}: the {column} has no name; give it one")


def _check_confidence(path: Path, models: Sequence[str], cells: dict[str, Scores]) -> None:
    known = {CONFIDENCE + name for name in models}
    alone = next((c for c in cells if c.startswith(CONFIDENCE) and c not in known), None)
    if alone is not None:
        name = alone.removeprefix(CONFIDENCE)
        raise ValueError(f"{path}: column {alone!r} stands without {name!r}; add its scores")


def _stack(cells: dict[str, Scores], columns: Sequence[str], n_rows: int) -> Scores:
    return np.array([cells[c] for c in columns], dtype=np.float64).reshape(len(columns), n_rows)


def _strings(table: pa.Table, column: str) -> list[str]:
    return [str(v) for v in table.column(column).to_pylist()]


def _names(arrays: dict[str, npt.NDArray[Any]], key: str, default: list[str]) -> list[str]:
    return [str(v) for v in arrays[key].ravel()] if key in arrays else default


def _subtasks_of(items: Sequence[str]) -> list[str]:
    if all("/" in item for item in items):
        return [item.split("/", 1)[0] for item in items]
    return [UNNAMED_SUBTASK] * len(items)


def _matrix(path: Path, **fields: Any) -> ResponseMatrix:
    if 0 in np.shape(fields["scores"]):
        models, items = np.shape(fields["scores"])
        raise ValueError(f"{path}: {models} models and {items} items; the matrix is empty")
    try:
        return ResponseMatrix(**fields)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _first(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
