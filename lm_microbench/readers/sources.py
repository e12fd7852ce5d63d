"""All sources together: each is told by what it is, and read by its own reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from lm_microbench.benchmark import Benchmark
from lm_microbench.names import unknown
from lm_microbench.readers.catalogue import Catalogue
from lm_microbench.readers.columns import Column, assemble
from lm_microbench.readers.leaderboard import PREFIX, fetch_details
from lm_microbench.readers.lm_eval import run_answers
from lm_microbench.readers.merge import MICRO, merge
from lm_microbench.readers.mmlu_pro import dump_answers, is_dump
from lm_microbench.readers.parallel import Progress
from lm_microbench.readers.reading import FileNote, ReadingReport, Rules
from lm_microbench.readers.runs import find_runs
from lm_microbench.readers.table import read_responses
from lm_microbench.responses import ResponseMatrix

TABLE = "table"
_TABLES = (".csv", ".csv.gz", ".parquet", ".npz")
_PICKLES = (".pkl", ".pickle", ".jbl", ".joblib", ".pt", ".pth")
_NO_PICKLE = (
    "a pickle, which is never loaded: it can run any code; write it as CSV, NPZ or Parquet where "
    "it was made"
)


@dataclass
class _Sources:
    """The sources by what they are."""

    runs: list[Path] = field(default_factory=list)
    dumps: list[Path] = field(default_factory=list)
    tables: list[Path] = field(default_factory=list)


def collect(
    sources: Iterable[Path | str],
    benchmark: Benchmark,
    *,
    rules: Rules | None = None,
    questions: Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[ResponseMatrix, ReadingReport]:
    """Return the answers of all sources in one matrix, and the report of how they were read.

    Parameters
    ----------
    sources : paths or names
        Folders (searched recursively) and files of lm_eval's sample logs and of MMLU-Pro dumps;
        tables (CSV, Parquet, NPZ) whose items are the benchmark's; `leaderboard:<org>/<model>`.
    benchmark, rules, jobs, progress
        As in `read_lm_eval`.
    questions : Path, optional
        As in `read_mmlu_pro`.

    Raises
    ------
    OSError
        For a source that does not exist or cannot be had.
    ConflictError
        If the input contradicts itself and the rules say to refuse.
    ValueError
        If nothing usable is found, or a table has items that the benchmark does not.
    KeyError
        If a model that is to be renamed is not there.
    """
    sources = list(sources)
    report = ReadingReport(benchmark.name, rules or Rules(), sources=[str(x) for x in sources])
    catalogue = Catalogue.of(benchmark)
    found = _sorted_out(sources, catalogue, report)
    answers = []
    if found.runs:
        answers += run_answers(found.runs, catalogue, report, jobs=jobs, progress=progress)
    if found.dumps:
        answers += dump_answers(
            found.dumps, catalogue, report, questions=questions, jobs=jobs, progress=progress
        )
    columns = merge(answers, catalogue.table.items, report)
    for path in found.tables:
        columns += _table_columns(path, catalogue, report)
    _check_distinct(columns)
    _check_renamed(columns, report.rules)
    return assemble(columns, catalogue.table, report), report


def _sorted_out(
    sources: Iterable[Path | str], catalogue: Catalogue, report: ReadingReport
) -> _Sources:
    found = _Sources()
    for source in sources:
        if str(source).startswith(PREFIX):
            details = fetch_details(str(source), catalogue.leaves)
            report.notes.append(f"{details.source}: read at commit {details.commit}")
            report.commits[details.source] = details.commit
            found.runs.append(details.folder)
            continue
        path = Path(source)
        if path.is_dir():
            found.runs.append(path)
            files = sorted(x for x in path.rglob("*") if x.is_file())
            found.dumps += [x for x in files if is_dump(x)]
            for pickle in (x for x in files if x.suffix in _PICKLES):
                report.files.append(FileNote(str(pickle), skipped=_NO_PICKLE))
        else:
            _sort_file(path, catalogue, found, report)
    return found


def _sort_file(path: Path, catalogue: Catalogue, found: _Sources, report: ReadingReport) -> None:
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder; give a run of lm_eval")
    if path.suffix in _PICKLES:
        report.files.append(FileNote(str(path), skipped=_NO_PICKLE))
    elif find_runs([path], catalogue.leaves):
        found.runs.append(path)
    elif path.name.endswith(_TABLES):
        found.tables.append(path)
    elif is_dump(path):
        found.dumps.append(path)
    else:
        raise ValueError(
            f"{path}: not named as lm_eval names sample logs (samples_<task>_<date>.jsonl) nor as "
            "MMLU-Pro names dumps (model_outputs_<model>_5shots.json); rename it"
        )


def _table_columns(path: Path, catalogue: Catalogue, report: ReadingReport) -> list[Column]:
    """Return a column for every model of a table, whose items must all be the benchmark's."""
    matrix = read_responses(path)
    index = {name: i for i, name in enumerate(catalogue.table.items)}
    lacking = next((name for name in matrix.items if name not in index), None)
    if lacking is not None:
        raise unknown(f"item of {catalogue.benchmark.name}", lacking, index, hint=f"({path})")
    report.files.append(FileNote(str(path), TABLE, rows=matrix.n_items))
    where = [index[name] for name in matrix.items]
    made = matrix.metadata.get("columns", {})
    return [
        _table_column(path, matrix, i, where, len(index), made.get(model, {}), report.rules)
        for i, model in enumerate(matrix.models)
    ]


def _table_column(
    path: Path,
    matrix: ResponseMatrix,
    row: int,
    where: Sequence[int],
    size: int,
    made: dict[str, object],
    rules: Rules,
) -> Column:
    scores, confidence = (np.full(size, np.nan, dtype=np.float32) for _ in range(2))
    scores[where] = matrix.scores[row]
    if matrix.confidence is not None:
        confidence[where] = matrix.confidence[row]
    kind = str(made.get("kind", TABLE))
    name = matrix.models[row]
    return Column(
        model=rules.rename.get(name, name),
        kind=kind,
        scores=scores,
        confidence=confidence,
        expected=~np.isnan(scores) if kind == MICRO else np.ones(size, dtype=np.bool_),
        runs=[str(path)],
    )


def _check_renamed(columns: Sequence[Column], rules: Rules) -> None:
    # A model of several variants is called `name [settings]`.
    names = {column.model.partition(" [")[0] for column in columns}
    for old, new in rules.rename.items():
        if columns and new not in names:
            raise unknown("model to rename", old, sorted(names))


def _check_distinct(columns: Sequence[Column]) -> None:
    seen: dict[str, Column] = {}
    for column in columns:
        other = seen.setdefault(column.model, column)
        if other is not column:
            raise ValueError(
                f"{column.model}: in {other.runs[0]} and in {column.runs[0]}; "
                "leave one out, or give it another name with --rename"
            )
