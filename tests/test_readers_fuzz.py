"""Damage of every kind: the matrix is right or the input refused; never a silent wrong value."""

import json
import tempfile
from pathlib import Path

import make_runs as make
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lm_microbench.readers import ConflictError, Rules, read_lm_eval


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return make.make_benchmark(tmp_path_factory.mktemp("toy"))


KEYS = sorted(make.row("toy_a", 0))
TRUTH = np.array([make.score(leaf, n) for leaf in make.LEAVES for n in range(make.N)])


def shuffled(draw, rows):
    return draw(st.permutations(rows))


def doubled(draw, rows):
    return rows + draw(st.lists(st.sampled_from(rows), max_size=3)) if rows else rows


def without_keys(draw, rows):
    """Drop some keys of one row. Without `filter` or `doc_id` a row is as of an old version."""
    if not rows:
        return rows
    i = draw(st.integers(0, len(rows) - 1))
    keys = draw(st.sets(st.sampled_from(KEYS), max_size=4))
    return [*rows[:i], {k: v for k, v in rows[i].items() if k not in keys}, *rows[i + 1 :]]


def other_ids(draw, rows):
    """Give the rows the ids 0, 1, 2 ... of their place, as unsorted --samples runs do."""
    return [row | {"doc_id": i} if "doc_id" in row else row for i, row in enumerate(rows)]


def swapped_prompts(draw, rows):
    """Put one document's prompt, response and score under another's document."""
    whole = [i for i, row in enumerate(rows) if {"arguments", "acc", "doc"} <= row.keys()]
    if len(whole) < 2:
        return rows
    i, j = draw(st.permutations(whole))[:2]
    if rows[i]["doc"] == rows[j]["doc"]:
        return rows
    stale = {k: rows[j][k] for k in ("arguments", "acc")}
    return [*rows[:i], rows[i] | stale, *rows[i + 1 :]]


def other_filter(draw, rows):
    extra = [row | {"filter": "flexible", "acc": 0.5} for row in rows if "acc" in row]
    return [*extra, *rows]


def missing_scores(draw, rows):
    value = draw(st.sampled_from([None, float("nan"), "N/A"]))
    i = draw(st.integers(0, len(rows)))
    return [row | {"acc": value} if k == i else row for k, row in enumerate(rows)]


DAMAGES = [
    shuffled, doubled, without_keys, other_ids, swapped_prompts, other_filter, missing_scores,
]  # fmt: skip


@st.composite
def files(draw):
    """Return the bytes of every leaf task's file after some damage."""
    made = {}
    for leaf in make.LEAVES:
        rows = make.rows_of(leaf)
        damages = draw(st.lists(st.sampled_from(DAMAGES), max_size=3, unique=True))
        for damage in damages:
            rows = damage(draw, rows)
        lines = [json.dumps(row) for row in rows]
        shape = draw(st.sampled_from(["lines", "list", "indented"]))
        if shape == "lines":
            text = "".join(line + draw(st.sampled_from(["\n", "\n\n", ""])) for line in lines)
        else:
            text = json.dumps(rows, indent=2 if shape == "indented" else None)
        content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()
        if draw(st.booleans()):
            content = content[: draw(st.integers(0, len(content)))]
        made[leaf] = content
    return made


@given(files=files(), with_results=st.booleans(), rule=st.sampled_from(["refuse", "drop"]))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_read_lm_eval_damaged_files_are_read_right_or_refused(toy, files, with_results, rule):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs" / "org__m"
        folder.mkdir(parents=True)
        for leaf, content in files.items():
            (folder / f"samples_{leaf}_{make.DATE.format(1)}.jsonl").write_bytes(content)
        if with_results:
            path = folder / f"results_{make.DATE.format(1)}.json"
            path.write_text(json.dumps(make.results()))
        try:
            matrix, report = read_lm_eval(
                [folder.parent], toy, rules=Rules(conflict=rule, min_coverage=0)
            )
        except (ConflictError, ValueError) as error:
            assert "\n" not in str(error)
            return
        scores = matrix.scores[0]
        known = ~np.isnan(scores)
        np.testing.assert_array_equal(scores[known], TRUTH[known])
        assert report.models[0].total("found") == known.sum()
