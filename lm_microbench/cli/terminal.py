"""What is shown on a terminal: tables and progress; little or nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer


def print_table(head: list[str], rows: list[list[Any]], title: str | None = None) -> None:
    """Print a table: drawn on a terminal, tab-separated and without its title in a pipe."""
    from rich.console import Console
    from rich.table import Table

    if not sys.stdout.isatty():
        for row in [head, *rows]:
            typer.echo("\t".join(map(str, row)))
        return
    table = Table(*head, title=title, title_justify="left")
    for row in rows:
        table.add_row(*map(str, row))
    Console().print(table)


@contextmanager
def progress_bar(what: str, folder: Path | None) -> Iterator[Callable[[int, int], None]]:
    """Yield what draws a progress bar on a terminal, and says where earlier work is continued."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        started = False

        def advance(done: int, total: int) -> None:
            nonlocal started
            if done and not started:
                typer.echo(f"{folder}: continued, {done} of {total} {what} were there", err=True)
            started = True
            bar.update(task, completed=done, total=total)

        yield advance


@contextmanager
def byte_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows bytes done of bytes in all: a bar on a terminal, else nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as p:
        task = p.add_task(what, total=None)
        yield lambda done, total: p.update(task, completed=done, total=total)
