"""Files on disk: written whole or not at all, and named in every error."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path that takes the place of `path` when the block ends without error.

    The temporary file lies in the same folder, so the final rename cannot cross file systems; a
    killed process leaves the old file as it was. Its name ends in `.tmp`, so that what a killed
    process leaves behind is never taken for a task or a table.

    Raises
    ------
    OSError
        If the file cannot be written; the message names it.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(f"{path}: cannot be written ({error.strerror})") from None
    try:
        yield temporary
        if path.is_dir():
            raise IsADirectoryError(f"{path}: is a folder; give the name of a file")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with `\\n` line ends, atomically."""
    with atomic(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def read_parquet(
    path: Path, *, dictionaries: Sequence[str] = (), advice: str = "make it again"
) -> pa.Table:
    """Return the table that one Parquet file holds.

    Parameters
    ----------
    path : Path
    dictionaries : sequence of str
        Columns of few distinct texts, which are kept as numbers and a list of them.
    advice : str
        What to do with a broken file.

    Raises
    ------
    ValueError
        If it is not a Parquet file, or a part of one; the message names it.
    """
    try:
        return pq.read_table(path, read_dictionary=list(dictionaries))
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        said = str(error).strip().split("\n")[0]
        raise ValueError(f"{path}: cannot be read as Parquet ({said}); {advice}") from None


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
