"""What people write on the command line, made into what the functions take."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LISTS = ("--micro", "--full")


def require(option: str, value: object) -> None:
    """Raise the error for an option that was not given, if it was not."""
    if not value:
        command = next((text for text in sys.argv[1:] if not text.startswith("-")), "")
        raise ValueError(f"{option}: missing; see `lm-microbench {command} --help`")


def one_value_each(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with every value of `compare`'s lists behind an option of its own.

    A shell makes `--micro runs/a runs/b` of `--micro runs/*`; the command line's parser takes one
    value an option, and `compare` has no other arguments.
    """
    if not arguments or arguments[0] != "compare":
        return list(arguments)
    single: list[str] = []
    option = ""
    for text in arguments:
        if text.startswith("-"):
            option = text if text in LISTS else ""
        elif option and single[-1] != option:
            single.append(option)
        single.append(text)
    return single


def check_jobs(jobs: int) -> int:
    """Return the number of jobs; raise the error if it is none."""
    if jobs == 0:
        raise ValueError("--jobs: 0; give 1 or more, or -1 for one a core")
    return jobs


def options_of(pairs: list[str]) -> dict[str, Any]:
    """Return the options that NAME=VALUE pairs give; a value is JSON where it can be read so."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--option: {pair!r}; write NAME=VALUE")
        try:
            options[name] = json.loads(value)
        except json.JSONDecodeError:
            options[name] = value
    return options


def renames(pairs: list[str]) -> dict[str, str]:
    """Return the new name of every model that OLD=NEW pairs name."""
    names = {}
    for pair in pairs:
        old, equals, new = pair.rpartition("=")
        if not (old and equals and new):
            raise ValueError(f"--rename: {pair!r}; write OLD=NEW")
        names[old] = new
    return names


def integers(option: str, text: str) -> list[int]:
    """Return the numbers of a list such as 10,25."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option}: {text!r}; give whole numbers, such as 10,25") from None


def names_of(text: str) -> list[str]:
    """Return the names in a list with commas, or in a file with one a line."""
    path = Path(text)
    if text and path.is_file():
        lines = path.read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in lines if line.strip()]
    return [part.strip() for part in text.split(",") if part.strip()]


def method_of(text: str) -> Any:
    """Return the method that `name` or `name:OPTION=VALUE:OPTION=VALUE` describes."""
    from lm_microbench.methods import get_method

    name, *options = text.strip().split(":")
    return get_method(name, **options_of(options))
