"""Sample logs of lm_eval (`--log_samples`), of full runs and of micro-tasks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lm_microbench.benchmark import Benchmark, load_benchmark
from lm_microbench.readers.catalogue import VERSION, Catalogue
from lm_microbench.readers.columns import assemble
from lm_microbench.readers.merge import (
    FULL,
    LIMIT,
    MICRO,
    PARTIAL,
    Answers,
    merge,
    model_name,
    pool,
)
from lm_microbench.readers.parallel import Progress, in_parallel
from lm_microbench.readers.reading import FileNote, ReadingReport, Rules
from lm_microbench.readers.runs import Run, RunFile, find_runs
from lm_microbench.readers.samples import SampleFile, read_samples
from lm_microbench.responses import ResponseMatrix

_MICRO_NAME = re.compile(r"^(?P<base>.+)_micro\d+_[A-Za-z0-9]")


def read_lm_eval(
    sources: Iterable[Path | str],
    benchmark: Benchmark,
    *,
    rules: Rules | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[ResponseMatrix, ReadingReport]:
    """Return the answers in sample logs of lm_eval, and the report of how they were read.

    Rows are joined to items by the documents' content. Models are named by the results files.

    Parameters
    ----------
    sources : paths
        Samples files, or folders that are searched recursively; runs of many models and of other
        benchmarks may lie together.
    benchmark : Benchmark
    rules : Rules, optional
        What to do with conflicting and incomplete input.
    jobs : int
        Files read at once, each in a process of its own.
    progress : function of (bytes read, bytes in all), optional

    Raises
    ------
    FileNotFoundError
        For a source that does not exist.
    ConflictError
        If the input contradicts itself and the rules say to refuse.
    ValueError
        If nothing usable is found.
    """
    report = ReadingReport(benchmark.name, rules or Rules())
    catalogue = Catalogue.of(benchmark)
    answers = run_answers(sources, catalogue, report, jobs=jobs, progress=progress)
    columns = merge(answers, catalogue.table.items, report)
    return assemble(columns, catalogue.table, report), report


@dataclass(frozen=True)
class MicroRun:
    """One micro-task's run of one model.

    Parameters
    ----------
    model, task : str
    numbers : mapping of str to float
        The results file's own numbers for the task, such as `full_estimate`,
        `full_estimate_stderr`, `acc`; those it calls "N/A" are absent.
    answers : ResponseMatrix
        One model's scores on the items of the micro-task only.
    limited : bool
        Whether `--limit` or `--samples` left items out.
    settings : mapping
    path : str
        Where the run lies.
    """

    model: str
    task: str
    numbers: dict[str, float]
    answers: ResponseMatrix
    limited: bool
    date: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    path: str = ""


def micro_runs(
    sources: Iterable[Path | str],
    benchmark: Benchmark | None = None,
    *,
    rules: Rules | None = None,
    jobs: int = 1,
) -> tuple[list[MicroRun], ReadingReport]:
    """Return every micro-task's run in some folders, ordered by model, task and date.

    Parameters
    ----------
    sources : paths
    benchmark : Benchmark, optional
        Only micro-tasks of this one; without it, of every benchmark that the tasks' names
        (`<base>_micro<size>_<method>`) mention.

    Raises
    ------
    ValueError
        If there is none.
    """
    paths = [Path(source) for source in sources]
    bases = [benchmark] if benchmark else [load_benchmark(name) for name in _bases(paths)]
    found: list[MicroRun] = []
    report = ReadingReport(", ".join(b.name for b in bases), rules or Rules())
    for base in bases:
        catalogue = Catalogue.of(base)
        answers = run_answers(paths, catalogue, report, jobs=jobs, only_micro=True)
        found += [_micro_run(x, catalogue, report.rules) for x in answers if x.task]
    if not found:
        where = ", ".join(map(str, paths))
        raise ValueError(f"{where}: no run of a micro-task; run one with `lm_eval --log_samples`")
    return sorted(found, key=lambda x: (x.model, x.task, x.date)), report


def _bases(paths: Sequence[Path]) -> list[str]:
    matches = [_MICRO_NAME.match(file.task) for run in find_runs(paths, ()) for file in run.files]
    return sorted({match["base"] for match in matches if match})


def _micro_run(x: Answers, catalogue: Catalogue, rules: Rules) -> MicroRun:
    items = np.flatnonzero(x.expected)
    model = model_name(x.run, rules)
    return MicroRun(
        model=model,
        task=x.task,
        numbers=_numbers(x.run.results.get("results", {}).get(x.task, {})),
        answers=ResponseMatrix(
            scores=x.scores[None, items],
            models=(model,),
            items=tuple(catalogue.table.items[i] for i in items),
            subtasks=tuple(catalogue.table.subtasks[i] for i in items),
        ),
        limited=x.kind == LIMIT,
        date=x.run.date,
        settings=x.settings,
        path=x.run.label,
    )


def _numbers(raw: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of one task's results; `metric,filter` becomes `metric`."""
    return {
        key.partition(",")[0]: float(value)
        for key, value in raw.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


# ---- from files to answers ----------------------------------------------------------------------


def run_answers(
    sources: Iterable[Path | str],
    catalogue: Catalogue,
    report: ReadingReport,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    only_micro: bool = False,
) -> list[Answers]:
    """Return what every run answered; files, and runs that cannot be used, go to the report."""
    runs = find_runs([Path(source) for source in sources], catalogue.leaves)
    wanted = [
        (run, file, kind)
        for run in runs
        for file in run.files
        if (kind := _kind_of(file, run, catalogue, report)) and (kind == MICRO or not only_micro)
    ]
    tasks = [(file.path, file.task, catalogue, kind == MICRO) for _, file, kind in wanted]
    sizes = [file.path.stat().st_size for _, file, _ in wanted]
    read = in_parallel(_read_one, tasks, sizes, jobs=jobs, progress=progress)
    groups: dict[tuple[int, str], list[SampleFile]] = defaultdict(list)
    for (run, _, kind), samples in zip(wanted, read, strict=True):
        report.files.append(_file_note(samples))
        groups[id(run), samples.task if kind == MICRO else ""].append(samples)
    answers = [
        _answers(run, task, files, catalogue, report)
        for run in runs
        for (owner, task), files in groups.items()
        if owner == id(run)
    ]
    return [x for x in answers if x is not None]


def _read_one(
    path: Path, task: str, catalogue: Catalogue, micro: bool, advance: Callable[[int], None] | None
) -> SampleFile:
    return read_samples(path, task, catalogue, micro=micro, advance=advance)


def _kind_of(file: RunFile, run: Run, catalogue: Catalogue, report: ReadingReport) -> str | None:
    """Return "full" for a leaf task's file, "micro" for a micro-task's, None for another's."""
    if file.task in catalogue.leaves:
        return FULL
    match = _MICRO_NAME.match(file.task)
    if match and match["base"] == catalogue.benchmark.name:
        return MICRO
    skipped = f"of another task than {catalogue.benchmark.name}'s"
    report.files.append(FileNote(str(file.path), file.task, skipped=skipped))
    return None


def _file_note(samples: SampleFile) -> FileNote:
    return FileNote(
        path=samples.path,
        task=samples.task,
        rows=samples.rows,
        rejected=dict(samples.rejected),
        counts={"row without a prompt, not checked": n} if (n := samples.unchecked) else {},
        examples=samples.examples,
        faults=[str(fault) for fault in samples.faults],
    )


def _answers(
    run: Run, task: str, files: list[SampleFile], catalogue: Catalogue, report: ReadingReport
) -> Answers | None:
    """Return one run's answers; None, and a note, if they cannot be used."""
    problem = _problem(run, files, catalogue, report.rules)
    if problem:
        report.notes.append(f"{run.label} {task}".strip() + f": set aside; {problem}")
        return None
    scores, confidence, duplicates, conflicting = pool(files)
    expected = np.ones(len(scores), dtype=np.bool_)
    if task:
        expected[:] = False
        expected[list(frozenset().union(*(file.items for file in files)))] = True
    return Answers(
        run=run,
        kind=_kind(run, task, files, catalogue, bool(np.isnan(scores[expected]).any())),
        task=task,
        scores=scores,
        confidence=confidence,
        expected=expected,
        settings=run.settings([task] if task else [file.task for file in files]),
        duplicates=duplicates,
        conflicting=conflicting,
    )


def _problem(run: Run, files: Sequence[SampleFile], catalogue: Catalogue, rules: Rules) -> str:
    """Return why a run cannot be joined to the benchmark; empty if it can."""
    rejected: Counter[str] = Counter()
    wanted = catalogue.benchmark.filter
    for file in files:
        rejected.update(file.rejected)
        counts = run.n_samples(file.task)
        known = catalogue.leaves.get(file.task)
        differ = counts is not None and known is not None and counts[0] != known
        if counts and differ and rules.changed == "refuse":
            return f"{VERSION}: {file.task} has {counts[0]} documents, the benchmark {known}"
        filters = run.filters(file.task)
        if file.items and not file.names_filter and filters and filters != [wanted]:
            return f"rows do not name their filter, and {file.task} has {', '.join(filters)}"
    changed = {reason: n for reason, n in rejected.items() if reason.startswith(VERSION)}
    if changed and rules.changed == "refuse":
        reason = next(iter(changed))
        where = next(file.examples[reason] for file in files if reason in file.examples)
        return f"{reason} ({sum(changed.values())} rows, the first at {where})"
    if not any(file.items for file in files):
        why = f" ({rejected.most_common(1)[0][0]})" if rejected else ""
        return f"no usable row in {files[0].path}{why}"
    return ""


def _kind(
    run: Run, task: str, files: Sequence[SampleFile], catalogue: Catalogue, incomplete: bool
) -> str:
    counts = [run.n_samples(file.task) for file in files]
    if run.limited or any(c[1] < c[0] for c in counts if c):
        return LIMIT
    if task:
        return MICRO
    if run.limited is None and incomplete and _looks_limited(files, catalogue):
        return LIMIT
    return PARTIAL if incomplete else FULL


def _looks_limited(files: Sequence[SampleFile], catalogue: Catalogue) -> bool:
    """Return whether documents 0 to n-1, or equally many of each task, were answered."""
    short = [f for f in files if len(f.items) < catalogue.leaves[f.task]]
    if any(file.first_ids and not file.faults for file in short):
        return True
    return len(files) > 1 and len(short) > 1 and len({len(f.items) for f in files}) == 1
