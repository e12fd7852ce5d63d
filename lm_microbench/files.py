"""Files on disk: written whole or not at all, and named in every error."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

KINDS = {
    "study.json": "a study",
    "comparison.json": "a comparison",
    "watch.json": "the runs of `watch`",
}


def check_kind(folder: Path, mark: str) -> None:
    """Raise `ValueError` if a folder holds results of another kind than the one `mark` marks.

    Their tables have the same names, so one would take the other's place.
    """
    other = next((x for x in KINDS if x != mark and (folder / x).is_file()), None)
    if other is not None:
        raise ValueError(f"{folder}: holds {KINDS[other]}; give another folder")


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path that takes the place of `path` when the block ends without error.

    The temporary file lies in the same folder, so the final rename cannot cross file systems; a
    killed process leaves the old file as it was. Its name ends in `.tmp`, so that what a killed
    process leaves behind is never taken for a task or a table; the next to write the same file on
    the same machine takes it away.

    Raises
    ------
    OSError
        If the file cannot be written; the message names it.
    """
    path = Path(path)
    temporary = path.with_name(
        f".{path.name}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
        _sweep(path)
    except OSError as error:
        raise type(error)(f"{path}: cannot be written ({error.strerror})") from None
    try:
        yield temporary
        if path.is_dir():
            raise IsADirectoryError(f"{path}: is a folder; give the name of a file")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise `OSError` if a file cannot be written, before the work that would be lost.

    Nothing is written, and no folder is made.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give the name of a file")
    place = next(x for x in path.absolute().parents if x.exists())
    if not place.is_dir():
        raise NotADirectoryError(f"{path}: cannot be written ({place} is a file)")
    if not os.access(place, os.W_OK):
        raise PermissionError(f"{path}: cannot be written ({place} is not ours to write)")


def _sweep(path: Path) -> None:
    """Take away what processes of this machine that are gone left of a file."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{_machine()}-(\d+)-[0-9a-f]{{8}}\.tmp")
    for entry in os.scandir(path.parent):
        found = pattern.fullmatch(entry.name)
        if found and not _is_running(int(found[1])):
            Path(entry.path).unlink(missing_ok=True)


@lru_cache
def _machine() -> str:
    """Return what tells this machine from others that share the folder."""
    return hashlib.sha256(socket.gethostname().encode("utf-8")).hexdigest()[:8]


def _is_running(process: int) -> bool:
    if os.name != "posix":  # where signal 0 is none
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user, or not to be known
        return True
    return True


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
