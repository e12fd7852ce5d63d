"""`compare` and `plan`: which model is better, and how many examples settle it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lm_microbench.cli.app import app
from lm_microbench.cli.pages import save_page
from lm_microbench.cli.parsing import check_jobs
from lm_microbench.cli.terminal import print_table


@app.command("compare")
def compare_command(
    micro: Annotated[
        list[Path], typer.Option("--micro", help="Runs of micro-tasks: one or more folders.")
    ],
    full: Annotated[
        list[Path] | None,
        typer.Option(
            "--full", help="Full runs or response matrices, one or more; where there are."
        ),
    ] = None,
    probability: Annotated[
        float,
        typer.Option(help="That the full benchmark agrees, for two models to be told apart."),
    ] = 0.9,
    correct: Annotated[
        str,
        typer.Option(help="none: each pair by itself; holm: all stated orders right together."),
    ] = "none",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for tables and report.html.")
    ] = None,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html and its figures.")
    ] = True,
    jobs: Annotated[int, typer.Option(help="Files read at once.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="The tables as JSON, fractions.")] = False,
) -> None:
    """Say which models micro runs tell apart, how surely, and whether full runs agree.

    Example: `lm-microbench compare --micro runs/ -o comparison`

    Another: `lm-microbench compare --micro runs/ --full responses.parquet --correct holm`
    """
    from lm_microbench import files, report
    from lm_microbench.benchmark import load_benchmark
    from lm_microbench.comparison import compare, read_full
    from lm_microbench.readers import micro_runs
    from lm_microbench.registry import find_subset

    check_jobs(jobs)
    if output is not None:
        files.check_writable(output / "models.csv")
    runs, read = micro_runs(micro, jobs=jobs)
    subsets = {run.task: find_subset(run.task) for run in runs}
    names = {str(subset.provenance.benchmark) for subset in subsets.values()}
    if len(names) > 1:
        raise ValueError(f"--micro: runs of {', '.join(sorted(names))}; compare one at a time")
    matrix = read_full(full, load_benchmark(names.pop()), jobs=jobs) if full else None
    result = compare(
        runs,
        subsets,
        matrix,
        probability=probability,
        correct=correct,  # type: ignore[arg-type]  # checked there
    )
    paths = [] if output is None else result.save(output)
    if as_json:
        typer.echo(report.comparison_json(result))
    else:
        for head, rows in report.comparison_tables(result):
            print_table(head, rows)
        for line in [*report.comparison_sentences(result), *read.notes, *result.notes]:
            typer.echo(line)
        if paths:
            typer.echo(f"Tables: {', '.join(str(path) for path in paths)}")
    if output is not None and with_report:
        from lm_microbench.html import comparison_page

        save_page(comparison_page(result), output, quiet=as_json)


@app.command("plan")
def plan_command(
    benchmark: Annotated[str, typer.Argument(help="Name of a benchmark.")],
    difference: Annotated[
        float, typer.Option(help="Difference that matters, a fraction: 0.02 is 2 points.")
    ] = 0.02,
    probability: Annotated[
        float, typer.Option(help="Wanted probability that the order is right.")
    ] = 0.8,
    size: Annotated[
        int | None, typer.Option("--size", "-k", help="Only this size: what can it tell apart?")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="Folder of a study, in place of the tasks' manifests.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The table as JSON, fractions.")] = False,
) -> None:
    """Say how many examples, chosen how, order two models rightly; and what a size can tell.

    Example: `lm-microbench plan mmlu_pro --difference 0.03 --probability 0.9`

    Another: `lm-microbench plan mmlu_pro --size 25`
    """
    from lm_microbench import plan, registry, report
    from lm_microbench.benchmark import load_benchmark
    from lm_microbench.results import StudyResult

    found = load_benchmark(benchmark)
    name = found.name
    if study is not None:
        result, n_items = StudyResult.load(study), len(found.items().items)
        if result.settings.get("n_items") != n_items:
            raise ValueError(
                f"{study}: a study of {result.settings.get('n_items')} items; {name} has {n_items}"
            )
        table = plan.plan_study(result, difference, probability)
    else:
        entries = (x.load() for x in registry.tasks() if x.name.startswith(f"{name}_micro"))
        subsets = [x for x in entries if x.provenance.benchmark == name]
        table = plan.plan_tasks(subsets, difference, probability)
    if size is not None and len(table):
        sizes = sorted(set(table["size"]))
        table = table[table["size"] == size]
        if table.empty:
            listed = ", ".join(map(str, sizes))
            raise ValueError(f"--size: {size} was not measured; give one of {listed}")
    if table.empty:
        raise ValueError(
            f"{name}: no measured reliability for this; `lm-microbench study` measures it, and "
            "--study reads it"
        )
    if as_json:
        typer.echo(table.to_json(orient="records", indent=1))
        return
    if size is None and sys.stdout.isatty():
        for caption, (head, rows) in report.plan_matrices(table, difference):
            print_table(head, rows, caption)
    else:
        print_table(*report.plan_table(table, difference))
    if size is None:
        lines = report.plan_sentences(table, difference, probability)
    else:
        lines = report.size_sentences(table, size, probability)
    for line in lines:
        typer.echo(line)
