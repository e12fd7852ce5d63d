"""`collect`: answers from where they lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from lm_microbench.cli.app import app
from lm_microbench.cli.parsing import check_jobs, renames, require
from lm_microbench.cli.terminal import byte_bar


@app.command()
def collect(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Runs of lm_eval and MMLU-Pro dumps (folders, searched recursively, or files), "
            "tables (CSV, NPZ, Parquet), leaderboard:ORG/MODEL@COMMIT (@COMMIT may be left out).",
            metavar="SRC...",
        ),
    ],
    benchmark: Annotated[
        str, typer.Option("--benchmark", "-b", help="Name, or path of a benchmark.yaml.")
    ] = "",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The response matrix (Parquet).")
    ] = Path("responses.parquet"),
    report: Annotated[
        Path | None, typer.Option(help="Write the whole reading report to this file (JSON).")
    ] = None,
    conflict: Annotated[
        str, typer.Option(help="Where two answers of one model differ: refuse, newest or drop.")
    ] = "refuse",
    min_coverage: Annotated[
        float, typer.Option(help="Models that answered a smaller share of their items leave.")
    ] = 1.0,
    changed: Annotated[
        str,
        typer.Option(
            help="Rows of another version of the data: refuse (the run is set aside), or drop."
        ),
    ] = "refuse",
    null: Annotated[
        str,
        typer.Option(
            help="An answer that could not be extracted (MMLU-Pro dumps): wrong, drop or guess."
        ),
    ] = "wrong",
    questions: Annotated[
        Path | None, typer.Option(help="MMLU-Pro's test questions (Parquet), for --null guess.")
    ] = None,
    merge_duplicates: Annotated[
        bool, typer.Option("--merge-duplicates", help="Items of the same content become one.")
    ] = False,
    rename: Annotated[
        list[str] | None, typer.Option(help="A model's new name: OLD=NEW; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Files read at once; -1: one a core.")] = -1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Collect what models answered, from where it lies, into one response matrix.

    Example: `lm-microbench collect runs/ --benchmark mmlu_pro -o responses.parquet`
    """
    from lm_microbench import files
    from lm_microbench.benchmark import load_benchmark
    from lm_microbench.readers import ConflictError, Rules
    from lm_microbench.readers import collect as collect_all

    require("--benchmark", benchmark)
    check_jobs(jobs)
    rules = Rules(
        conflict=conflict,  # type: ignore[arg-type]
        changed=changed,  # type: ignore[arg-type]
        null=null,  # type: ignore[arg-type]
        min_coverage=min_coverage,
        merge_duplicates=merge_duplicates,
        rename=renames(rename or []),
    )
    for path in (output, *([] if report is None else [report])):
        files.check_writable(path)
    with byte_bar("reading") as progress:
        try:
            matrix, reading = collect_all(
                sources,
                load_benchmark(benchmark),
                rules=rules,
                questions=questions,
                jobs=jobs,
                progress=progress,
            )
        except ConflictError as error:
            if report is not None:
                error.report.save(report)
            raise
    matrix.save(output)
    if report is not None:
        reading.save(report)
    typer.echo(json.dumps(reading.to_dict()) if as_json else reading.summary())
    if not as_json:
        typer.echo(f"{output}: {matrix.n_models} models, {matrix.n_items} items")
