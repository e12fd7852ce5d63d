"""Several runs of several models: which of them make one column, and which contradict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lm_microbench.readers.columns import Column, Floats
from lm_microbench.readers.reading import ReadingReport, Rules
from lm_microbench.readers.runs import UNKNOWN, Run, canonical
from lm_microbench.readers.samples import SampleFile

FULL, PARTIAL, LIMIT, MICRO = "full", "partial", "limit", "micro"
_VERSION = "task_version"


@dataclass
class Answers:
    """What one run answered; `task` names the micro-task, and is empty for the base's own run.

    `lacking` is how many items more a micro run should hold: a broken file does not say which.
    """

    run: Run
    kind: str
    task: str
    scores: Floats
    confidence: Floats
    expected: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    settings: dict[str, str]
    duplicates: dict[int, int] = field(default_factory=dict)
    conflicting: list[int] = field(default_factory=list)
    lacking: int = 0

    @property
    def label(self) -> str:
        """Where the answers lie, for messages."""
        return f"{self.run.label} {self.task}".strip()


def pool(files: Sequence[SampleFile]) -> tuple[Floats, Floats, dict[int, int], list[int]]:
    """Return scores, confidence, duplicates and conflicting items of one run's files."""
    scores, confidence = files[0].scores.copy(), files[0].confidence.copy()
    duplicates, conflicting = dict(files[0].duplicates), list(files[0].conflicting)
    for file in files[1:]:
        new = ~np.isnan(file.scores)
        both = new & ~np.isnan(scores)
        for item in np.flatnonzero(both).tolist():
            duplicates[item] = duplicates.get(item, 0) + 1
        for item, n in file.duplicates.items():
            duplicates[item] = duplicates.get(item, 0) + n
        conflicting += np.flatnonzero(both & (scores != file.scores)).tolist()
        conflicting += file.conflicting
        scores[new], confidence[new] = file.scores[new], file.confidence[new]
    return scores, confidence, duplicates, sorted(set(conflicting))


def merge(answers: Sequence[Answers], items: Sequence[str], report: ReadingReport) -> list[Column]:
    """Return one column for every model and variant of its settings, in order of their names.

    What is set aside, and what contradicts, goes to the report.
    """
    by_model: dict[str, list[Answers]] = defaultdict(list)
    for x in answers:
        by_model[model_name(x.run, report.rules)].append(x)
    columns: list[Column] = []
    for model in sorted(by_model):
        _check_names(model, by_model[model], report)
        variants = _variants(by_model[model], report)
        for label, group in _labelled(model, variants):
            columns.append(_column(label, group, items, report))
    return columns


def model_name(run: Run, rules: Rules) -> str:
    """Return the name of a run's model in a matrix: `org/name` is written `org__name`."""
    name = canonical(run.model.rstrip("/"))
    return rules.rename.get(run.model, rules.rename.get(name, name))


def _check_names(model: str, answers: Sequence[Answers], report: ReadingReport) -> None:
    raw = sorted({x.run.model.rstrip("/") for x in answers if x.run.named})
    if len(raw) > 1:
        report.conflicts.append(f"{model}: two models map to this name, {raw[0]!r} and {raw[1]!r}")


# ---- variants -----------------------------------------------------------------------------------


def _variants(answers: Sequence[Answers], report: ReadingReport) -> list[list[Answers]]:
    """Return the runs by settings; of each group, only those of the best kind there is.

    A micro-task has a version of its own, so it meets the base's runs by the other settings.
    """
    groups: list[list[Answers]] = []
    for same in _grouped(answers, lambda x: _key(x, version=False)):
        best = next(
            found
            for kinds in ((FULL, PARTIAL), (MICRO,), (LIMIT,))
            if (found := [x for x in same if x.kind in kinds])
        )
        for x in same:
            if x not in best:
                report.notes.append(f"{x.label}: a {x.kind} run set aside; it is never mixed")
        micro = best[0].kind == MICRO
        groups += [best] if micro else _grouped(best, lambda x: _key(x, version=True))
    return groups


def _key(x: Answers, *, version: bool) -> tuple[str, ...]:
    return tuple(f"{k}={v}" for k, v in x.settings.items() if version or k != _VERSION)


def _grouped(
    answers: Sequence[Answers], key: Callable[[Answers], tuple[str, ...]]
) -> list[list[Answers]]:
    groups: dict[tuple[str, ...], list[Answers]] = defaultdict(list)
    for x in answers:
        groups[key(x)].append(x)
    return [groups[k] for k in sorted(groups)]


def _labelled(model: str, variants: Sequence[list[Answers]]) -> list[tuple[str, list[Answers]]]:
    """Return a name for each variant: the model's, with the settings that tell them apart."""
    known = list(dict.fromkeys(key for group in variants for key in group[0].settings))
    facts = [{k: group[0].settings.get(k, UNKNOWN) for k in known} for group in variants]
    keys: list[str] = []
    for key in known:
        before = len({tuple(f[k] for k in keys) for f in facts})
        if (
            before < len(variants)
            and len({tuple(f[k] for k in [*keys, key]) for f in facts}) > before
        ):
            keys.append(key)
    if not keys:
        return [(model, group) for group in variants]
    labels = [", ".join(f"{k}={f[k]}" for k in keys) for f in facts]
    return [(f"{model} [{label}]", v) for label, v in zip(labels, variants, strict=True)]


# ---- one column ---------------------------------------------------------------------------------


def _column(
    model: str, group: Sequence[Answers], items: Sequence[str], report: ReadingReport
) -> Column:
    """Return the newest complete run, or the union of all; differences follow the rule."""
    group = sorted(group, key=lambda x: (x.run.date, x.label))
    complete = [x for x in group if x.kind == FULL]
    conflicting = _conflicting(model, group, items, report)
    used = complete[-1:] or group
    if complete:
        for x in group:
            if x is not used[0]:
                report.notes.append(
                    f"{x.label}: set aside; {used[0].label} is the newest complete run"
                )
    scores, confidence = used[0].scores.copy(), used[0].confidence.copy()
    duplicates: dict[int, int] = {}
    for x in used:
        new = ~np.isnan(x.scores)
        scores[new], confidence[new] = x.scores[new], x.confidence[new]
        for item, n in x.duplicates.items():
            duplicates[item] = duplicates.get(item, 0) + n
    if report.rules.conflict == "drop":
        scores[conflicting] = confidence[conflicting] = np.nan
    return Column(
        model=model,
        kind=used[-1].kind,
        scores=scores,
        confidence=confidence,
        expected=np.logical_or.reduce([x.expected for x in used]),
        runs=[x.label for x in used],
        settings=used[-1].settings,
        duplicates=duplicates,
        conflicting=conflicting,
        lacking=max(x.lacking for x in used),
    )


def _conflicting(
    model: str, group: Sequence[Answers], items: Sequence[str], report: ReadingReport
) -> list[int]:
    """Return the items with two different scores; each pair of runs is told once."""
    found: set[int] = set()
    for x in group:
        if x.conflicting:
            found.update(x.conflicting)
            report.conflicts.append(
                f"{model}: {x.label} has two scores for {len(x.conflicting)} items, "
                f"such as {items[x.conflicting[0]]}"
            )
    for i, x in enumerate(group):
        for y in group[i + 1 :]:
            known = ~(np.isnan(x.scores) | np.isnan(y.scores))
            differ = np.flatnonzero(known & (x.scores != y.scores)).tolist()
            if differ:
                found.update(differ)
                report.conflicts.append(
                    f"{model}: {x.label} and {y.label} differ in {len(differ)} of "
                    f"{int(known.sum())} shared items, such as {items[differ[0]]}"
                )
    return sorted(found)
