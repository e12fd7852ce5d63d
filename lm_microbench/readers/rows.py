"""Records of Parquet files: sample logs that went through a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lm_microbench.readers.jsonl import Fault, records

PARQUET = ".parquet"
_BATCH = 256


def sample_records(
    path: Path, faults: list[Fault], *, advance: Callable[[int], None] | None = None
) -> Iterator[tuple[int, Any]]:
    """Yield the place and the value of every record of a sample log, JSON or Parquet, in order.

    A Parquet file holds what `datasets` or pandas make of a JSON log: a column a key. Its place is
    the row, from 1; memory is bounded by one batch of rows.

    Parameters
    ----------
    path, faults, advance
        As in `jsonl.records`.
    """
    if path.suffix == PARQUET:
        return _parquet_records(path, faults, advance or (lambda _: None))
    return records(path, faults, advance=advance)


def _parquet_records(
    path: Path, faults: list[Fault], advance: Callable[[int], None]
) -> Iterator[tuple[int, Any]]:
    row, told, size = 0, 0, path.stat().st_size
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                for record in batch.to_pylist():
                    row += 1
                    yield row, _without_fillers(record)
                share = size * row // file.metadata.num_rows
                advance(share - told)
                told = share
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        faults.append(Fault(str(path), row + 1, f"the file breaks off or is damaged ({reason})"))


def _without_fillers(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record whose requests have only their own keys.

    A column of structs has the keys of all rows: a row with fewer choices than another has nulls
    for the requests that it never made.
    """
    requests = record.get("arguments")
    if isinstance(requests, dict):
        made = {key: value for key, value in requests.items() if value is not None}
        record["arguments"] = made
    return record
