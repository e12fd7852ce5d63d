"""Runs of micro-tasks one by one, with the numbers that lm_eval reported for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lm_microbench.benchmark import Benchmark, load_benchmark
from lm_microbench.readers.catalogue import Catalogue
from lm_microbench.readers.lm_eval import MICRO_NAME, run_answers
from lm_microbench.readers.merge import LIMIT, Answers, model_name
from lm_microbench.readers.reading import ReadingReport, Rules
from lm_microbench.readers.runs import find_runs
from lm_microbench.responses import ResponseMatrix


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
        One model's scores and confidences on the items of the micro-task only.
    limited : bool
        Whether `--limit` or `--samples` left items out.
    lacking : int
        Items that the run should hold and its damaged file does not.
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
    lacking: int = 0


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
    rules, jobs
        As in `read_lm_eval`.

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
        report.notes += [
            f"{x.label}: two scores for {len(x.conflicting)} items; the later ones count"
            for x in answers
            if x.task and x.conflicting
        ]
    if not found:
        where = ", ".join(map(str, paths))
        why = f" that can be used ({report.notes[0]})" if report.notes else ""
        raise ValueError(
            f"{where}: no run of a micro-task{why}; run one with `lm_eval --log_samples`"
        )
    return sorted(found, key=lambda x: (x.model, x.task, x.date)), report


def _bases(paths: Sequence[Path]) -> list[str]:
    matches = [MICRO_NAME.match(file.task) for run in find_runs(paths, ()) for file in run.files]
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
            confidence=x.confidence[None, items],
        ),
        limited=x.kind == LIMIT,
        date=x.run.date,
        settings=x.settings,
        path=x.run.label,
        lacking=x.lacking,
    )


def _numbers(raw: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of one task's results; `metric,filter` becomes `metric`."""
    return {
        key.partition(",")[0]: float(value)
        for key, value in raw.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
