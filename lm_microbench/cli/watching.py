"""`watch`: each checkpoint as it appears."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lm_microbench.cli.app import app
from lm_microbench.cli.pages import save_figure
from lm_microbench.cli.parsing import names_of, require

PLOT_FILE = "history.png"


@app.command("watch")
def watch_command(
    folder: Annotated[Path, typer.Argument(help="Its subfolders are checkpoints.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- ARGS", help="More arguments of lm_eval, such as -- --apply_chat_template."
        ),
    ] = None,
    tasks: Annotated[str, typer.Option("--tasks", "-t", help="Micro-tasks: a,b.")] = "",
    model: Annotated[str, typer.Option(help="lm_eval's kind of model.")] = "hf",
    model_args: Annotated[
        str, typer.Option(help="More of them, such as dtype=bfloat16; not pretrained.")
    ] = "",
    batch_size: Annotated[str, typer.Option(help="As lm_eval's.")] = "1",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Default: microbench_watch in FOLDER."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Evaluate what is there, then stop.")
    ] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.")] = 30.0,
    plot: Annotated[
        bool, typer.Option(help="Draw history.png too, where matplotlib is installed.")
    ] = True,
) -> None:
    """Evaluate each new checkpoint in a folder once, in order; keep history.csv and a plot.

    May be stopped at any moment and started again. Half-written checkpoints are waited for.

    Example: `lm-microbench watch out --tasks mmlu_pro_micro100_stratified --batch-size 8`

    Another: `lm-microbench watch out -t bbh_micro100_random --once -- --apply_chat_template`
    """
    from lm_microbench import plots, report, watch

    require("--tasks", tasks)
    watch.check_interval(interval)
    job = watch.Job(tuple(names_of(tasks)), model, model_args, batch_size, tuple(arguments or ()))
    watcher = watch.Watcher(folder, job, output or folder / watch.OUTPUT)

    def draw(table: Any) -> None:
        if plot and plots.available() and len(table):
            save_figure(plots.history_plot(table), watcher.output / PLOT_FILE)

    def changed(table: Any, checkpoint: str) -> None:
        for line in report.history_lines(table, checkpoint):
            typer.echo(line)
        draw(table)

    draw(watcher.history())  # that of a killed run may be of fewer checkpoints
    watch.watch(watcher, once=once, interval=interval, changed=changed)
    for name, why in watcher.waiting.items():
        typer.echo(f"{name}: left out, {why}", err=True)
    typer.echo(f"{watcher.output / 'history.csv'}: {len(watcher.finished)} checkpoints")
    if watcher.failed:
        name, why = next(iter(watcher.failed.items()))
        raise ValueError(f"{len(watcher.failed)} checkpoints failed, such as {name}: {why}")
