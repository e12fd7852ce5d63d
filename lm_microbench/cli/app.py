"""The application: its options, and every error as one line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from lm_microbench import __version__
from lm_microbench.cli.parsing import one_value_each
from lm_microbench.names import UnknownNameError

app = typer.Typer(
    name="lm-microbench",
    help="Micro-benchmarks for lm-evaluation-harness, and how far each can be trusted.",
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


def main() -> None:
    """Run the command line; an error is one line on stderr and exit status 1.

    `--debug` may stand anywhere; it shows the traceback.
    """
    arguments = [text for text in sys.argv[1:] if text != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        arguments = one_value_each(arguments) or ["--help"]
        status = app(arguments, prog_name=app.info.name, standalone_mode=False)
    except typer.Abort:
        status = 130
    except Exception as error:
        if debug:
            raise
        print(f"lm-microbench: {_said(error)}", file=sys.stderr)  # noqa: T201
        status = 1
    sys.exit(status or 0)


def _said(error: Exception) -> str:
    """Return what an error says in one line."""
    # Errors of usage have this method; their class is typer's own or click's, by typer's version.
    usage: Callable[[], str] | None = getattr(error, "format_message", None)
    if usage is not None:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else app.info.name
        text = f"{usage().rstrip('.')}; see `{command} --help`"
    elif isinstance(error, ValueError | UnknownNameError | OSError):
        text = str(error) or type(error).__name__
    else:
        text = f"internal error, {type(error).__name__}: {error}; see it whole with --debug"
    return " ".join(text.split())
