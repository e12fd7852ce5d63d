"""Reports and figures written to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def save_page(page: Any, folder: Path, *, quiet: bool = False) -> None:
    """Write a report and say where it is; why it has no figures, if so."""
    from lm_microbench import plots

    paths = page.save(folder)
    if not plots.available():
        typer.echo(plots.HINT, err=True)
    if not quiet:
        typer.echo(f"Report: {', '.join(str(path) for path in paths)}")


def save_figure(plot: Any, path: Path) -> None:
    """Write one figure as PNG."""
    from lm_microbench import files

    with files.atomic(path) as temporary:
        temporary.write_bytes(plot.png())
