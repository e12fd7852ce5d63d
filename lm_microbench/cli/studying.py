"""`study`: how reliable a method or a subset is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lm_microbench.cli.app import app
from lm_microbench.cli.pages import save_page
from lm_microbench.cli.parsing import check_jobs, integers, method_of, names_of, require
from lm_microbench.cli.terminal import print_table, progress_bar


@app.command("study")
def study_command(
    responses: Annotated[
        str, typer.Argument(help="Response matrix: .parquet, .csv, .csv.gz or .npz.")
    ],
    methods: Annotated[
        str, typer.Option("--methods", "-m", help="a,b; with options a:NAME=VALUE.")
    ] = "",
    sizes: Annotated[str, typer.Option("--sizes", "-k", help="Numbers of examples: 10,25.")] = "",
    sources: Annotated[
        str, typer.Option(help="Number of source models, or several: 10,300. Default: up to 300.")
    ] = "",
    targets: Annotated[
        int | None,
        typer.Option(help="Number of target models; 50, or a third of the models if fewer."),
    ] = None,
    target_mode: Annotated[
        str, typer.Option(help="random; top: the best models, with weaker sources; list.")
    ] = "random",
    target_models: Annotated[
        str, typer.Option(help="For --target-mode list: a,b, or a file with one name a line.")
    ] = "",
    trials: Annotated[int, typer.Option(help="Number of repetitions.")] = 50,
    split: Annotated[
        str, typer.Option(help="half: choose from one half of the items; none: from all.")
    ] = "half",
    subset: Annotated[
        str, typer.Option(help="Check this micro-task or manifest instead of methods.")
    ] = "",
    level: Annotated[float, typer.Option(help="Agreement that counts as consistent.")] = 0.8,
    threshold: Annotated[
        float, typer.Option(help="Difference of interest, a fraction: 0.02 is 2 points.")
    ] = 0.02,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Trials side by side.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for tables and report.html; a killed study continues."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Folder of a study of other targets, shown beside this in the report."),
    ] = None,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html and its figures.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="The tables as JSON, fractions.")] = False,
) -> None:
    """Measure how reliably methods, or one subset, rank models they were not built from.

    Example: `lm-microbench study responses.parquet -m random,stratified -k 10,25,100 -o study`

    Another: `lm-microbench study responses.parquet --subset mmlu_pro_micro25_stratified`
    """
    import warnings

    from lm_microbench.readers import read_responses
    from lm_microbench.registry import find_subset
    from lm_microbench.results import StudyResult, check_reading
    from lm_microbench.studies import check_subset, study

    check_reading(level, threshold)
    check_jobs(jobs)
    other = None if against is None else StudyResult.load(against)
    matrix = read_responses(responses)
    if subset:
        if methods or sizes:
            raise ValueError("--subset: checks one subset; leave --methods and --sizes out")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # printed from the result's notes below
            result = check_subset(matrix, find_subset(subset), seed=seed)
    else:
        require("--methods", methods)
        require("--sizes", sizes)
        with progress_bar("trials", output) as progress:
            result = study(
                matrix,
                methods=[method_of(text) for text in methods.split(",")],
                sizes=integers("--sizes", sizes),
                n_sources=integers("--sources", sources) if sources else None,
                n_targets=targets,
                trials=trials,
                target_mode=target_mode,  # type: ignore[arg-type]  # checked by the study
                targets=names_of(target_models),
                split=split,  # type: ignore[arg-type]
                seed=seed,
                n_jobs=jobs,
                folder=output,
                progress=progress,
            )
    if output is not None:
        result.save(output, level=level, threshold=threshold)
    _show_study(result, level, threshold, as_json)
    if output is not None and with_report:
        from lm_microbench.html import study_page

        page = study_page(result, other, level=level, threshold=threshold)
        save_page(page, output, quiet=as_json)


def _show_study(result: Any, level: float, threshold: float, as_json: bool) -> None:
    """Print what a study found."""
    from lm_microbench import report

    for note in result.notes:
        typer.echo(f"warning: {note}", err=True)
    if as_json:
        frames = {"mdad": result.mdad(level), "estimation": result.estimation(threshold)}
        tables = {name: json.loads(x.to_json(orient="records")) for name, x in frames.items()}
        typer.echo(json.dumps({**tables, "notes": list(result.notes)}, indent=1))
        return
    print_table(*report.study_table(result, level=level, threshold=threshold))
    for sentence in report.study_sentences(result, level=level, threshold=threshold):
        typer.echo(sentence)
