"""The command `lm-microbench`: arguments only; every answer is computed elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lm_microbench import __version__
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


# ---- collect ------------------------------------------------------------------------------------


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
    from lm_microbench.benchmark import load_benchmark
    from lm_microbench.readers import ConflictError, Rules
    from lm_microbench.readers import collect as collect_all

    _require("--benchmark", benchmark)
    rules = Rules(
        conflict=conflict,  # type: ignore[arg-type]
        changed=changed,  # type: ignore[arg-type]
        null=null,  # type: ignore[arg-type]
        min_coverage=min_coverage,
        merge_duplicates=merge_duplicates,
        rename=_renames(rename or []),
    )
    with _byte_bar("reading") as progress:
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


# ---- build --------------------------------------------------------------------------------------


@app.command()
def build(
    responses: Annotated[
        Path | None,
        typer.Argument(
            help="Response matrix of the source models (from `collect`); "
            "not needed by `random` and `stratified`."
        ),
    ] = None,
    benchmark: Annotated[
        str, typer.Option("--benchmark", "-b", help="Name, or path of a benchmark.yaml.")
    ] = "",
    method: Annotated[str, typer.Option("--method", "-m", help="How items are chosen.")] = "",
    size: Annotated[
        list[int] | None, typer.Option("--size", "-k", help="Number of items; may be repeated.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="Of the method: NAME=VALUE; may repeat.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same subset.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the task's two files.")
    ] = Path(),
) -> None:
    """Choose a subset and write it as an lm_eval task: `<name>.json` and `<name>.yaml`.

    Example: `lm-microbench build -b mmlu_pro -m stratified -k 25 --seed 7 -o mytasks`, then
    `LM_MICROBENCH_PATH=mytasks lm_eval --tasks mmlu_pro_micro25_stratified ...`
    """
    from lm_microbench import build as building
    from lm_microbench import files
    from lm_microbench.benchmark import load_benchmark
    from lm_microbench.folders import task_folders
    from lm_microbench.methods import get_method
    from lm_microbench.registry import write_task
    from lm_microbench.responses import ResponseMatrix

    _require("--benchmark", benchmark)
    _require("--method", method)
    _require("--size", size)
    subsets = building.build(
        load_benchmark(benchmark),
        get_method(method, **_options_of(option or [])),
        size or [],
        source=None if responses is None else ResponseMatrix.load(responses),
        source_sha256=None if responses is None else files.sha256(responses),
        seed=seed,
    )
    for subset in subsets:
        entry = write_task(subset, output)
        typer.echo(f"{entry.name}: {subset.size} of {subset.provenance.n_items} items in {output}")
    if output.resolve() not in (folder.resolve() for folder in task_folders()):
        typer.echo(f"lm_eval finds {output} with LM_MICROBENCH_PATH={output}")


@app.command()
def init(
    task: Annotated[str, typer.Argument(help="A task or group of lm_eval.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for benchmark.yaml and items.parquet.")
    ] = Path(),
    include_path: Annotated[
        Path | None, typer.Option(help="Folder with tasks of your own, as lm_eval's.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Default: the first that is a mean over items.")
    ] = None,
    filter_name: Annotated[str | None, typer.Option("--filter", help="Default: the first.")] = None,
) -> None:
    """Start a benchmark of your own: guess how the items of an lm_eval task are named and scored.

    Read the benchmark.yaml that it writes; after a change, `lm-microbench items` makes the table
    of items again.

    Example: `lm-microbench init arc_challenge -o my`
    """
    from lm_microbench import files
    from lm_microbench.benchmark import BENCHMARK_FILE, ITEMS_FILE, Benchmark, benchmarks
    from lm_microbench.drafts import draft
    from lm_microbench.leaves import item_table

    path = output / BENCHMARK_FILE
    if path.exists():
        raise ValueError(f"{path}: exists; change it by hand, or delete it to guess again")
    if task in benchmarks():
        raise ValueError(f"{task}: is known already; use it with --benchmark {task}")
    found = draft(task, output, include=include_path, metric=metric, filter_name=filter_name)
    files.write_text(path, found.to_yaml())
    item_table(Benchmark.read(path)).save(output / ITEMS_FILE)
    chosen = found.benchmark
    typer.echo(f"{path}: {found.n_items} items, {len(found.subtasks)} subtasks")
    typer.echo(f"metric {chosen.metric} (of {', '.join(found.metrics)}), ", nl=False)
    typer.echo(f"filter {chosen.filter} (of {', '.join(found.filters)})")


@app.command()
def items(
    benchmark: Annotated[str, typer.Argument(help="Name, or path of a benchmark.yaml.")],
) -> None:
    """Make a benchmark's table of items from its data, as lm_eval loads it.

    Example: `lm-microbench items mybenchmark/benchmark.yaml`
    """
    from lm_microbench.benchmark import ITEMS_FILE, load_benchmark
    from lm_microbench.leaves import item_table

    found = load_benchmark(benchmark)
    table = item_table(found)
    table.save(found.home / ITEMS_FILE)
    typer.echo(f"{found.home / ITEMS_FILE}: {len(table.items)} items")


# ---- study --------------------------------------------------------------------------------------


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
    targets: Annotated[int, typer.Option(help="Number of target models.")] = 50,
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
    from lm_microbench.results import StudyResult
    from lm_microbench.studies import check_subset, study

    other = None if against is None else StudyResult.load(against)
    matrix = read_responses(responses)
    if subset:
        if methods or sizes:
            raise ValueError("--subset: checks one subset; leave --methods and --sizes out")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # printed from the result's notes below
            result = check_subset(matrix, find_subset(subset), seed=seed)
    else:
        _require("--methods", methods)
        _require("--sizes", sizes)
        with _progress("trials", output) as progress:
            result = study(
                matrix,
                methods=[_method_of(text) for text in methods.split(",")],
                sizes=_integers("--sizes", sizes),
                n_sources=_integers("--sources", sources) if sources else None,
                n_targets=targets,
                trials=trials,
                target_mode=target_mode,  # type: ignore[arg-type]  # checked by the study
                targets=_names_of(target_models),
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
        _save_page(page, output, quiet=as_json)


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished study.")],
    against: Annotated[
        Path | None, typer.Option(help="Folder of a study of other targets, shown beside it.")
    ] = None,
    level: Annotated[float, typer.Option(help="Agreement that counts as consistent.")] = 0.8,
    threshold: Annotated[
        float, typer.Option(help="Difference of interest, a fraction: 0.02 is 2 points.")
    ] = 0.02,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Another folder for the report.")
    ] = None,
) -> None:
    """Write the report of a finished study: report.html, report.md and its figures.

    Example: `lm-microbench report study_random --against study_top`
    """
    from lm_microbench.html import study_page
    from lm_microbench.results import StudyResult

    other = None if against is None else StudyResult.load(against)
    page = study_page(StudyResult.load(folder), other, level=level, threshold=threshold)
    _save_page(page, output or folder)


def _save_page(page: Any, folder: Path, *, quiet: bool = False) -> None:
    """Write a report and say where it is; why it has no figures, if so."""
    from lm_microbench import plots

    paths = page.save(folder)
    if not plots.available():
        typer.echo(plots.HINT, err=True)
    if not quiet:
        typer.echo(f"Report: {', '.join(str(path) for path in paths)}")


# ---- compare ------------------------------------------------------------------------------------


@app.command("compare")
def compare_command(
    micro: Annotated[
        list[Path], typer.Option("--micro", help="Runs of micro-tasks (folders); may be repeated.")
    ],
    full: Annotated[
        list[Path] | None,
        typer.Option("--full", help="Full runs (folders) or response matrices; where there are."),
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
    from lm_microbench import report
    from lm_microbench.benchmark import load_benchmark
    from lm_microbench.comparison import compare, read_full
    from lm_microbench.readers import micro_runs
    from lm_microbench.registry import find_subset

    runs, _ = micro_runs(micro, jobs=jobs)
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
            _table(head, rows)
        for line in [*report.comparison_sentences(result), *result.notes]:
            typer.echo(line)
        if paths:
            typer.echo(f"Tables: {', '.join(str(path) for path in paths)}")
    if output is not None and with_report:
        from lm_microbench.html import comparison_page

        _save_page(comparison_page(result), output, quiet=as_json)


# ---- plan ---------------------------------------------------------------------------------------


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

    name = load_benchmark(benchmark).name
    if study is not None:
        table = plan.plan_study(StudyResult.load(study), difference, probability)
    else:
        entries = (x.load() for x in registry.tasks() if x.name.startswith(f"{name}_micro"))
        subsets = [x for x in entries if x.provenance.benchmark == name]
        table = plan.plan_tasks(subsets, difference, probability)
    if size is not None:
        table = table[table["size"] == size]
    if table.empty:
        raise ValueError(
            f"{name}: no measured reliability for this; `lm-microbench study` measures it, and "
            "--study reads it"
        )
    if as_json:
        typer.echo(table.to_json(orient="records", indent=1))
        return
    _table(*report.plan_table(table))
    for line in report.plan_sentences(table, difference, probability):
        typer.echo(line)


# ---- watch --------------------------------------------------------------------------------------


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
    from lm_microbench import history_report, watch

    _require("--tasks", tasks)
    job = watch.Job(tuple(_names_of(tasks)), model, model_args, batch_size, tuple(arguments or ()))
    watcher = watch.Watcher(folder, job, output or folder / watch.OUTPUT)

    def changed(table: Any, checkpoint: str) -> None:
        for line in history_report.history_lines(table, checkpoint):
            typer.echo(line)
        if plot:
            history_report.plot_history(table, watcher.output / history_report.PLOT_FILE)

    watch.watch(watcher, once=once, interval=interval, changed=changed)
    for name, why in watcher.waiting.items():
        typer.echo(f"{name}: left out, {why}", err=True)
    typer.echo(f"{watcher.output / 'history.csv'}: {len(watcher.finished)} checkpoints")
    if watcher.failed:
        name, why = next(iter(watcher.failed.items()))
        raise ValueError(f"{len(watcher.failed)} checkpoints failed, such as {name}: {why}")


# ---- list, path, register -----------------------------------------------------------------------


@app.command("list")
def list_tasks(
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="Only the tasks of this one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False,
) -> None:
    """List the micro-tasks that lm_eval can run.

    Example: `lm-microbench list --benchmark mmlu_pro`
    """
    from lm_microbench import registry
    from lm_microbench.benchmark import load_benchmark

    if benchmark is not None:
        benchmark = load_benchmark(benchmark).name
    rows = [registry.describe(entry) for entry in registry.tasks()]
    rows = [row for row in rows if benchmark in (None, row["benchmark"])]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    _table(["task", "size", "of", "method", "sources"], [list(row.values())[1:] for row in rows])


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
    _table(*report.study_table(result, level=level, threshold=threshold))
    for sentence in report.study_sentences(result, level=level, threshold=threshold):
        typer.echo(sentence)


@contextmanager
def _progress(what: str, folder: Path | None) -> Iterator[Callable[[int, int], None]]:
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


def _method_of(text: str) -> Any:
    """Return the method that `name` or `name:OPTION=VALUE:OPTION=VALUE` describes."""
    from lm_microbench.methods import get_method

    name, *options = text.strip().split(":")
    return get_method(name, **_options_of(options))


def _integers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option}: {text!r}; give whole numbers, such as 10,25") from None


def _names_of(text: str) -> list[str]:
    """Return the names in a list with commas, or in a file with one a line."""
    path = Path(text)
    if text and path.is_file():
        lines = path.read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in lines if line.strip()]
    return [part.strip() for part in text.split(",") if part.strip()]


def _require(option: str, value: object) -> None:
    if not value:
        command = next((text for text in sys.argv[1:] if not text.startswith("-")), "")
        raise ValueError(f"{option}: missing; see `lm-microbench {command} --help`")


def _options_of(pairs: list[str]) -> dict[str, Any]:
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


def _renames(pairs: list[str]) -> dict[str, str]:
    """Return the new name of every model that OLD=NEW pairs name."""
    names = {}
    for pair in pairs:
        old, equals, new = pair.rpartition("=")
        if not (old and equals and new):
            raise ValueError(f"--rename: {pair!r}; write OLD=NEW")
        names[old] = new
    return names


@contextmanager
def _byte_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows bytes done of bytes in all: a bar on a terminal, else nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as p:
        task = p.add_task(what, total=None)
        yield lambda done, total: p.update(task, completed=done, total=total)


def _table(head: list[str], rows: list[list[Any]]) -> None:
    """Print a table: drawn on a terminal, tab-separated in a pipe."""
    from rich.console import Console
    from rich.table import Table

    if not sys.stdout.isatty():
        for row in [head, *rows]:
            typer.echo("\t".join(map(str, row)))
        return
    table = Table(*head)
    for row in rows:
        table.add_row(*map(str, row))
    Console().print(table)


def main() -> None:
    """Run the command line; an error is one line on stderr and exit status 1.

    `--debug` may stand anywhere; it shows the traceback.
    """
    arguments = [text for text in sys.argv[1:] if text != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        status = app(arguments or ["--help"], prog_name=app.info.name, standalone_mode=False)
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
