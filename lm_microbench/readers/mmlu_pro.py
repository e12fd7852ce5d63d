"""Dumps of the MMLU-Pro project (`eval_results`): one file a model, the letter it answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lm_microbench import files
from lm_microbench.benchmark import Benchmark
from lm_microbench.readers.catalogue import VERSION, Catalogue
from lm_microbench.readers.columns import assemble
from lm_microbench.readers.dump import (
    ABSENT,
    GROUP,
    ID,
    LETTERS,
    NO_LETTER,
    NULL,
    Dump,
    read_dump,
)
from lm_microbench.readers.merge import FULL, PARTIAL, Answers, merge
from lm_microbench.readers.parallel import Progress, in_parallel
from lm_microbench.readers.reading import FileNote, ReadingReport, Rules
from lm_microbench.readers.runs import Run
from lm_microbench.responses import ResponseMatrix

_FILE = re.compile(r"^model_outputs_(?P<model>.+?)(?:_(?P<shots>\d+)shots?)?\.(?:json|zip)")


def is_dump(path: Path) -> bool:
    """Return whether a file is named as the project names its dumps."""
    return _FILE.match(path.name) is not None


def read_mmlu_pro(
    paths: Sequence[Path | str],
    benchmark: Benchmark,
    *,
    rules: Rules | None = None,
    questions: Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[ResponseMatrix, ReadingReport]:
    """Return the scores in dumps of the MMLU-Pro project, and the report of how they were read.

    A score is 1 where the pred is the answer key. Where the keys of the files differ, that of most
    files counts for all of them.

    Parameters
    ----------
    paths : paths
        `model_outputs_<model>_<n>shots` as `.json`, `.json.gz` or `.zip`.
    benchmark : Benchmark
        One that names items `<category>/<question_id>`.
    rules : Rules, optional
        `null` says what a pred of null scores.
    questions : Path, optional
        The test questions (Parquet with `question_id` and `options`), for the number of options of
        dumps that do not hold the options themselves.
    jobs, progress
        As in `read_lm_eval`.

    Raises
    ------
    ConflictError
        If the input contradicts itself and the rules say to refuse.
    ValueError
        If the benchmark names its items otherwise, a number of options is needed but not known,
        or nothing usable is found.
    """
    report = ReadingReport(benchmark.name, rules or Rules())
    catalogue = Catalogue.of(benchmark)
    answers = dump_answers(
        [Path(path) for path in paths],
        catalogue,
        report,
        questions=questions,
        jobs=jobs,
        progress=progress,
    )
    columns = merge(answers, catalogue.table.items, report)
    return assemble(columns, catalogue.table, report), report


def dump_answers(
    paths: Sequence[Path],
    catalogue: Catalogue,
    report: ReadingReport,
    *,
    questions: Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Answers]:
    """Return what every dump's model answered; what could not be used goes to the report."""
    benchmark = catalogue.benchmark
    if (benchmark.subtask.field, benchmark.item.field) != (GROUP, ID):
        raise ValueError(
            f"{paths[0]}: a dump of MMLU-Pro, but {benchmark.name} does not name its items "
            f"by {GROUP} and {ID}; give --benchmark mmlu_pro"
        )
    tasks = [(path, catalogue) for path in paths]
    sizes = [path.stat().st_size for path in paths]
    dumps = in_parallel(read_dump, tasks, sizes, jobs=jobs, progress=progress)
    keys = _majority_keys(dumps, catalogue, report)
    n_options = _n_options(dumps, catalogue, questions)
    answers = []
    for path, dump in zip(paths, dumps, strict=True):
        report.files.append(_file_note(dump, n_options))
        problem = _problem(dump, report.rules)
        if problem:
            report.notes.append(f"{path}: set aside; {problem}")
        else:
            answers.append(_answers(path, dump, keys, n_options, report.rules))
    return answers


# ---- all files together -------------------------------------------------------------------------


def _majority_keys(
    dumps: Sequence[Dump], catalogue: Catalogue, report: ReadingReport
) -> npt.NDArray[np.int8]:
    """Return each item's answer key, that of most files; 0 where no one key leads."""
    keys = np.stack([dump.keys for dump in dumps])
    result: npt.NDArray[np.int8] = keys.max(axis=0)
    differ = np.flatnonzero(((keys != result) & (keys != ABSENT)).any(axis=0))
    for item in differ.tolist():
        votes = Counter(keys[:, item][keys[:, item] != ABSENT].tolist()).most_common()
        name = catalogue.table.items[item]
        told = ", ".join(f"{LETTERS[key - 1]} in {n} files" for key, n in votes)
        if votes[0][1] > votes[1][1]:
            result[item] = votes[0][0]
            report.notes.append(f"{name}: the answer keys differ ({told}); the first counts")
        else:
            result[item] = ABSENT
            report.conflicts.append(f"{name}: the answer keys differ ({told}) and none leads")
    return result


def _n_options(
    dumps: Sequence[Dump], catalogue: Catalogue, questions: Path | None
) -> npt.NDArray[np.int16]:
    """Return each item's number of options; 0 where neither a dump nor the questions tell."""
    result = np.max([dump.n_options for dump in dumps], axis=0)
    if questions is None:
        return np.asarray(result, dtype=np.int16)
    table = files.read_parquet(questions)
    lacking = next((x for x in (ID, GROUP, "options") if x not in table.column_names), None)
    if lacking is not None:
        raise ValueError(f"{questions}: no column {lacking!r}; give the test questions (Parquet)")
    rows = table.select([ID, GROUP, "options"]).to_pylist()
    index = {name: i for i, name in enumerate(catalogue.table.items)}
    for row in rows:
        item = index.get(f"{row[GROUP]}/{row[ID]}")
        if item is not None:
            result[item] = len(row["options"])
    return np.asarray(result, dtype=np.int16)


def _problem(dump: Dump, rules: Rules) -> str:
    """Return why a dump cannot be joined to the benchmark; empty if it can."""
    changed = {reason: n for reason, n in dump.rejected.items() if reason.startswith(VERSION)}
    if changed and rules.changed == "refuse":
        reason = next(iter(changed))
        return f"{reason} ({sum(changed.values())} records, the first at {dump.examples[reason]})"
    return "" if dump.preds.any() else "no usable record"


def _answers(
    path: Path,
    dump: Dump,
    keys: npt.NDArray[np.int8],
    n_options: npt.NDArray[np.int16],
    rules: Rules,
) -> Answers:
    scores = np.where(dump.preds == keys, 1, 0).astype(np.float32)
    scores[(dump.preds == ABSENT) | (keys == ABSENT)] = np.nan
    null = dump.preds == NULL
    if rules.null == "drop":
        scores[null] = np.nan
    elif rules.null == "guess":
        if (n_options[null] == 0).any():
            raise ValueError(
                f"{path}: --null guess needs each question's number of options, which the dump "
                "does not hold; give --questions with the test questions (Parquet)"
            )
        scores[null] = 1 / n_options[null]
    match = _FILE.match(path.name)
    name = match["model"] if match else path.name.partition(".")[0]
    shots = match["shots"] if match else None
    complete = bool((dump.preds != ABSENT).all())
    return Answers(
        run=Run(path, "", (), {"model_name": name}),
        kind=FULL if complete else PARTIAL,
        task="",
        scores=scores,
        confidence=np.full(len(scores), np.nan, dtype=np.float32),
        expected=np.ones(len(scores), dtype=np.bool_),
        settings={"source": "MMLU-Pro eval_results", "num_fewshot": shots or "unknown"},
        duplicates=dump.duplicates,
        conflicting=sorted(set(dump.conflicting)),
    )


def _file_note(dump: Dump, n_options: npt.NDArray[np.int16]) -> FileNote:
    outside = (dump.preds > n_options) & (n_options > 0)
    counts = {
        "question without a record": int((dump.preds == ABSENT).sum()),
        "pred is null": int((dump.preds == NULL).sum()),
        "pred is no letter (wrong)": int((dump.preds == NO_LETTER).sum()),
        "pred is none of the item's options (wrong)": int(outside.sum()),
    }
    return FileNote(
        path=dump.path,
        task="mmlu_pro",
        rows=dump.rows,
        rejected=dict(dump.rejected),
        counts={name: n for name, n in counts.items() if n},
        examples=dump.examples,
        faults=[str(fault) for fault in dump.faults],
    )
