"""Checkpoints on disk: which folders are some, and whether one is written to its end."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

from lm_microbench.history import step_of

_WHOLE = ("model.safetensors", "pytorch_model.bin")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json")


def is_candidate(path: Path) -> bool:
    """Return whether a folder is a checkpoint, or may become one: it has a number or a config."""
    if not path.is_dir() or path.name.startswith("."):
        return False
    return step_of(path.name) is not None or (path / "config.json").is_file()


def snapshot(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return names, sizes and times of a folder's files; equal twice: nothing was written."""
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            stat = path.stat()
        except FileNotFoundError:  # renamed or deleted since the listing
            continue
        found.append((path.relative_to(folder).as_posix(), stat.st_size, stat.st_mtime_ns))
    return tuple(found)


def incomplete(folder: Path) -> str:
    """Return what a checkpoint lacks for `transformers` to load it; empty if it lacks nothing.

    Configuration, weights (all shards that the index names; the sizes that the headers of
    safetensors files promise) and tokenizer are looked at.
    """
    if _mapping(folder / "config.json") is None:
        return "no whole config.json"
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        return "no tokenizer"
    weights = _weights(folder)
    if not weights:
        return "no weights"
    broken = next((path.name for path in weights if not _is_whole(path)), None)
    return "" if broken is None else f"{broken} is not whole"


def _weights(folder: Path) -> list[Path]:
    for name in _WHOLE:
        index = folder / f"{name}.index.json"
        if index.is_file():
            parts = (_mapping(index) or {}).get("weight_map")
            if not isinstance(parts, dict):
                return [index]
            return [folder / name for name in sorted(set(map(str, parts.values())))]
        if (folder / name).is_file():
            return [folder / name]
    return []


def _mapping(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is none, or it is not yet whole."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _is_whole(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".safetensors":
        return _is_whole_safetensors(path)
    return zipfile.is_zipfile(path) if path.suffix == ".bin" else False


def _is_whole_safetensors(path: Path) -> bool:
    """Return whether the file is as long as its header says.

    Eight bytes give the header's length; the header, JSON, gives where each tensor's data lies.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            return False
        (length,) = struct.unpack("<Q", start)
        if 8 + length > size:
            return False
        try:
            header = json.loads(file.read(length))
        except ValueError:
            return False
    ends = [x["data_offsets"][1] for name, x in header.items() if name != "__metadata__"]
    return 8 + int(length) + max(ends, default=0) == size
