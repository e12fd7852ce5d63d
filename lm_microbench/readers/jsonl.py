"""Records of JSON files as people have them: lines, lists or both, whole or damaged."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

LONGEST = 64 << 20
_CHUNK = 1 << 16
_SPACE = b" \t\r\n"
_MARK = b"\xef\xbb\xbf"
_IN_STRING = re.compile(rb'["\\\n]')
_IN_LIST = re.compile(rb'["\[\]{},]')
_IN_ELEMENT = re.compile(rb'["\[\]{}]')
_DECODER = json.JSONDecoder()
_BROKEN_PACKING = (EOFError, zlib.error, zipfile.BadZipFile, OSError)


@dataclass(frozen=True)
class Fault:
    """A place in a file that could not be read, and why."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        """Return `path:line: reason`."""
        return f"{self.path}:{self.line}: {self.reason}"


def records(
    path: Path,
    faults: list[Fault],
    *,
    longest: int = LONGEST,
    advance: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the line and the value of every JSON record of a file, in order.

    A record is the value on one line or the element of a list; a file may hold both. Memory is
    bounded by the longest record. Only `\\n` ends a line, so U+2028 and U+0085 inside a string do
    not; a byte-order mark is skipped; lone surrogates are kept. `.gz` and `.zip` are unpacked.

    Parameters
    ----------
    path : Path
    faults : list
        Gets one entry for every record that cannot be read; the other records are still yielded.
    longest : int
        Bytes of the longest record that is read; a longer one is a fault.
    advance : function of int, optional
        Called with the bytes read since the last call (unpacked), for a progress bar.
    """
    reader = _Reader(str(path), faults, longest, advance)
    try:
        with _open(path) as streams:
            for stream in streams:
                yield from reader.read(stream)
    except _BROKEN_PACKING as error:
        reader.fault(f"the file breaks off or is damaged ({error or type(error).__name__})")


@contextmanager
def _open(path: Path) -> Iterator[Iterator[IO[bytes]]]:
    """Yield the byte streams of a file: one, or one for each JSON member of a zip archive."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            yield _members(archive)
    elif path.suffix == ".gz":
        with gzip.open(path, "rb") as unpacked:
            yield iter([unpacked])  # type: ignore[list-item]
    else:
        with path.open("rb") as stream:
            yield iter([stream])


def _members(archive: zipfile.ZipFile) -> Iterator[IO[bytes]]:
    for name in archive.namelist():
        hidden = any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
        if name.endswith((".json", ".jsonl")) and not hidden:
            with archive.open(name) as stream:
                yield stream


class _Reader:
    """Reads the records of one file's streams; knows the line for every fault."""

    def __init__(
        self,
        path: str,
        faults: list[Fault],
        longest: int,
        advance: Callable[[int], None] | None,
    ) -> None:
        self._path, self._faults, self._longest = path, faults, longest
        self._advance = advance or (lambda n: None)
        self._line = 0
        self._pending = b""

    def fault(self, reason: str, line: int | None = None) -> None:
        self._faults.append(Fault(self._path, self._line if line is None else line, reason))

    def read(self, stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
        self._line, self._pending = 0, b""
        start = stream.read(3)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            self.fault("UTF-16 text; save the file as UTF-8", 1)
            return
        self._pending = start
        while line := self._next_line(stream):
            content = line.removeprefix(_MARK).strip(_SPACE)
            if content.startswith(b"["):
                self._pending = line.removeprefix(_MARK) + self._pending
                yield from self._read_list(stream)
                continue
            self._line += 1
            if len(line) > self._longest and not line.endswith(b"\n"):
                self._skip_line(stream, len(line))
            elif content:
                yield from self._read_line(content, line.endswith(b"\n"))

    # ---- lines ----------------------------------------------------------------------------------

    def _next_line(self, stream: IO[bytes]) -> bytes:
        pending, self._pending = self._pending, b""
        end = pending.find(b"\n")
        if end >= 0:
            self._pending = pending[end + 1 :]
            return pending[: end + 1]
        line = stream.readline(self._longest + 1)
        self._advance(len(line))
        return pending + line

    def _skip_line(self, stream: IO[bytes], size: int) -> None:
        while part := stream.readline(_CHUNK):
            size += len(part)
            self._advance(len(part))
            if part.endswith(b"\n"):
                break
        self.fault(f"a line of {size:,} bytes is longer than the {self._longest:,} that are read")

    def _read_line(self, content: bytes, ended: bool) -> Iterator[tuple[int, Any]]:
        try:
            yield self._line, json.loads(content.decode("utf-8", "surrogatepass"))
            return
        except UnicodeDecodeError:
            self.fault("not UTF-8 text")
            return
        except (ValueError, RecursionError):
            pass
        yield from self._read_several(content.decode("utf-8", "surrogatepass"), ended)

    def _read_several(self, text: str, ended: bool) -> Iterator[tuple[int, Any]]:
        """Yield the whole values at the start of a line that is not one value."""
        values, rest = [], text
        try:
            while rest:
                value, end = _DECODER.raw_decode(rest)
                values.append(value)
                rest = rest[end:].lstrip()
            self.fault(f"{len(values)} records on one line; all are read")
        except (ValueError, RecursionError) as error:
            what = "not JSON" if ended else "the last line breaks off"
            self.fault(f"{what} ({str(error).split(': line')[0]})")
        # A bare number or word at the start of a damaged line is no record of it.
        yield from ((self._line, v) for v in values if isinstance(v, dict | list))

    # ---- lists ----------------------------------------------------------------------------------

    def _read_list(self, stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
        for line, raw in self._elements(stream):
            if raw is None:
                self.fault(
                    f"a record is longer than the {self._longest:,} bytes that are read", line
                )
                continue
            try:
                yield line, json.loads(raw.decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError:
                self.fault("not UTF-8 text", line)
            except (ValueError, RecursionError) as error:
                self.fault(f"not JSON ({str(error).split(': line')[0]})", line)

    def _elements(self, stream: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
        """Yield line and bytes of each element of the list that comes next; None if too long."""
        scan = _ListScanner(self._longest)
        self._line += 1
        chunk = self._pending
        while chunk:
            for lines_before, raw in scan.feed(chunk):
                yield self._line + lines_before, raw
            self._line += scan.lines
            if scan.closed:
                self._pending = chunk[scan.position :].lstrip(_SPACE + b",")
                # What follows on the same line is read as a line of its own.
                self._line += chunk[scan.position :].count(b"\n") - self._pending.count(b"\n") - 1
                return
            chunk = stream.read(_CHUNK)
            self._advance(len(chunk))
        self._pending = b""
        self.fault("the list breaks off")


class _ListScanner:
    """Finds where the elements of a JSON list end, a chunk at a time."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._parts: list[bytes] = []
        self._size = 0
        self._started_at: int | None = None
        self.closed = False
        self.position = 0
        self.lines = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes | None]]:
        """Yield the elements that end in `chunk`, with the lines of `chunk` before their start."""
        p = start = counted = passed = 0
        while p < len(chunk) and not self.closed:
            if self._escaped:
                self._escaped, p = False, p + 1
                continue
            token = self._pattern().search(chunk, p)
            if token is None:
                break
            p = token.end()
            mark = token.group()
            if self._ends_element(mark):
                raw = self._collect(chunk[start : p - 1])
                if raw is None or raw.strip(_SPACE):
                    passed, counted = passed + chunk.count(b"\n", counted, p - 1), p - 1
                    lines = passed - (raw or b"").lstrip(_SPACE).count(b"\n")
                    yield lines, (None if raw is None else raw.strip(_SPACE))
                self._parts, self._size, start = [], 0, p
            self._step(mark)
            if mark == b"[" and self._depth == 1:
                start = p
        self.position = p
        self.lines = chunk.count(b"\n", 0, p if self.closed else len(chunk))
        if not self.closed:
            self._keep(chunk[start:])

    def _pattern(self) -> re.Pattern[bytes]:
        if self._in_string:
            return _IN_STRING
        return _IN_LIST if self._depth <= 1 else _IN_ELEMENT

    def _ends_element(self, mark: bytes) -> bool:
        if self._in_string:
            return mark == b"\n"
        return self._depth == 1 and mark in (b",", b"]")

    def _step(self, mark: bytes) -> None:
        if self._in_string:
            self._escaped = self._in_string = mark == b"\\"
            if mark == b"\n":
                # JSON has no raw line end in a string: a quote is missing, the record ends here.
                self._depth = 1
            return
        if mark == b'"':
            self._in_string = True
        elif mark in (b"[", b"{"):
            self._depth += 1
        elif mark in (b"]", b"}"):
            # A `}` too many belongs to a damaged record; only `]` closes the list.
            self.closed = mark == b"]" and self._depth <= 1
            self._depth = max(self._depth - 1, 1)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._parts.append(part)
        else:
            self._parts = []

    def _collect(self, part: bytes) -> bytes | None:
        self._keep(part)
        return b"".join(self._parts) if self._size <= self._longest else None
