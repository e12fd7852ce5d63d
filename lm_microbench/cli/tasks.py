"""`list`, `path`, `register`, `unregister`: the tasks that lm_eval finds."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from lm_microbench.cli.app import app
from lm_microbench.cli.terminal import print_table


@app.command("list")
def list_tasks(
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="Only the tasks of this one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> None:
    """List the micro-tasks that lm_eval can run, with the reliability that was measured.

    In points: `error` is that of the estimate (root mean square), `pairs right` the share of pairs
    of models ordered as by the full benchmark; of source models that were held out, inside the
    range of the others and, in the columns `above`, better than all others.

    Example: `lm-microbench list --benchmark mmlu_pro`
    """
    from lm_microbench import registry, report
    from lm_microbench.benchmark import load_benchmark

    if benchmark is not None:
        benchmark = load_benchmark(benchmark).name
    rows = [registry.describe(entry) for entry in registry.tasks()]
    rows = [row for row in rows if benchmark in (None, row["benchmark"])]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    print_table(*report.tasks_table(rows))


@app.command()
def path() -> None:
    """Print the folder of our tasks, for `lm_eval --include_path`.

    Example: `lm_eval run --include_path $(lm-microbench path) --tasks bbh_micro25_random ...`
    """
    from lm_microbench.folders import own_tasks

    typer.echo(own_tasks())


@app.command()
def register() -> None:
    """Make plain `lm_eval` find our tasks in this environment (installation does it already)."""
    from lm_microbench import registry

    typer.echo(f"{registry.register()}: lm_eval now finds the tasks of lm-microbench")


@app.command()
def unregister() -> None:
    """Undo `register`: lm_eval is as it was; use `--include_path $(lm-microbench path)` then."""
    from lm_microbench import registry

    taken = registry.unregister()
    typer.echo(f"{', '.join(map(str, taken))}: taken away" if taken else "was not registered")
