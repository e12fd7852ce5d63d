"""`build`, `init`, `items`: micro-tasks and benchmarks of one's own."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from lm_microbench.cli.app import app
from lm_microbench.cli.parsing import options_of, require


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
    label: Annotated[
        str, typer.Option(help="End of the task's name, to keep subsets of one method apart.")
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace another subset of the same name.")
    ] = False,
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

    require("--benchmark", benchmark)
    require("--method", method)
    require("--size", size)
    twice = next((x for x in size or [] if (size or []).count(x) > 1), None)
    if twice is not None:
        raise ValueError(f"--size: {twice} is given twice")
    files.check_writable(output / "task.yaml")
    subsets = building.build(
        load_benchmark(benchmark),
        get_method(method, **options_of(option or [])),
        size or [],
        source=None if responses is None else ResponseMatrix.load(responses),
        source_sha256=None if responses is None else files.sha256(responses),
        seed=seed,
    )
    for subset in subsets:
        entry = write_task(subset, output, label=label, replace=replace)
        read = {"both": ", reads scores and confidences", "confidence": ", reads confidences"}
        more = read.get(subset.estimator.reads, "")
        n_items = subset.provenance.n_items
        typer.echo(f"{entry.name}: {subset.size} of {n_items} items in {output}{more}")
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

    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # it warns of tasks that it only lists
    path = output / BENCHMARK_FILE
    if path.exists():
        raise ValueError(f"{path}: exists; change it by hand, or delete it to guess again")
    if task in benchmarks():
        raise ValueError(f"{task}: is known already; use it with --benchmark {task}")
    files.check_writable(path)
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
