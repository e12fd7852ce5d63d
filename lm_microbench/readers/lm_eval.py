"""Sample logs of lm_eval (`--log_samples`), of full runs and of micro-tasks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from lm_microbench.benchmark import Benchmark
from lm_microbench.readers.catalogue import VERSION, Catalogue
from lm_microbench.readers.columns import assemble
from lm_microbench.readers.merge import (
    FULL,
    LIMIT,
    MICRO,
    PARTIAL,
    Answers,
    merge,
    pool,
)
from lm_microbench.readers.parallel import Progress, in_parallel
from lm_microbench.readers.reading import FileNote, ReadingReport, Rules
from lm_microbench.readers.runs import Run, RunFile, find_runs
from lm_microbench.readers.samples import SampleFile, read_samples
from lm_microbench.responses import ResponseMatrix

MICRO_NAME = re.compile(r"^(?P<base>.+)_micro\d+_[A-Za-z0-9]")


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
    sources = list(sources)
    report = ReadingReport(benchmark.name, rules or Rules(), sources=[str(x) for x in sources])
    catalogue = Catalogue.of(benchmark)
    answers = run_answers(sources, catalogue, report, jobs=jobs, progress=progress)
    columns = merge(answers, catalogue.table.items, report)
    return assemble(columns, catalogue.table, report), report


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
    report.notes += [run.fault for run in runs if run.fault]
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
    match = MICRO_NAME.match(file.task)
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
    expected, lacking = np.ones(len(scores), dtype=np.bool_), 0
    if task:
        items = frozenset().union(*(file.items for file in files))
        expected[:] = False
        expected[list(items)] = True
        counts = run.n_samples(task)
        lacking = max(counts[1] - len(items), 0) if counts else 0
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
        lacking=lacking,
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
