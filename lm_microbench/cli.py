"""The command `lm-microbench`: arguments only; every answer is computed elsewhere."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lm_microbench import __version__

app = typer.Typer(
    name="lm-microbench",
    help="Micro-benchmarks for lm-evaluation-harness, and how far each can be trusted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error instead of one line.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold the options that every command has."""


# ---- collect ------------------------------------------------------------------------------------

# ---- build --------------------------------------------------------------------------------------

# ---- study --------------------------------------------------------------------------------------

# ---- compare ------------------------------------------------------------------------------------

# ---- plan ---------------------------------------------------------------------------------------

# ---- list, path, register -----------------------------------------------------------------------


def main() -> None:
    """Run the command line; an error is one line on stderr and exit status 1."""
    try:
        app()
    except (ValueError, KeyError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        text = str(error) if str(error) else type(error).__name__
        print(f"lm-microbench: {' '.join(text.split())}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
