"""The contract of every registered method, on ordinary matrices and on every known trap."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lm_microbench.methods import get_method, method_names, select
from lm_microbench.methods.anchor import Anchor
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Subset

VARIANTS = [(name, {}) for name in method_names()] + [
    ("irt", {"estimate": "p-irt"}),
    ("irt", {"estimate": "gp-irt", "dimensions": 3}),
    ("irt", {"estimate": "p-irt", "dimensions": 1}),
    ("stratified", {"weights": "none"}),
]
N_ITEMS = 60


def matrix(scores, confidence=None, subtasks=None):
    n_models, n_items = np.shape(scores)
    return ResponseMatrix(
        scores,
        [f"model-{i:03}" for i in range(n_models)],
        [f"item-{i:04}" for i in range(n_items)],
        subtasks or [f"subtask-{i % 3}" for i in range(n_items)],
        confidence,
    )


def two_parameter(n_models=20, n_items=N_ITEMS, seed=0):
    rng = np.random.default_rng(seed)
    z = np.outer(rng.normal(size=n_models), rng.lognormal(0, 0.5, n_items)) - rng.normal(
        size=n_items
    )
    return (rng.random((n_models, n_items)) < 1 / (1 + np.exp(-z))).astype(np.float32)


def with_missing(share):
    scores = two_parameter()
    scores[np.random.default_rng(5).random(scores.shape) < share] = np.nan
    return scores


def constant_items():
    scores = two_parameter()
    scores[:, :20], scores[:, 20:35] = 0, 1
    return scores


def unanswered():
    scores = with_missing(0.2)
    scores[3], scores[:, 7] = np.nan, np.nan
    return scores


CASES = {
    "ordinary": lambda: matrix(two_parameter()),
    "confidences": lambda: matrix(
        two_parameter(), np.random.default_rng(1).random((20, N_ITEMS), dtype=np.float32)
    ),
    "fractions": lambda: matrix(np.random.default_rng(2).random((20, N_ITEMS), dtype=np.float32)),
    "missing answers": lambda: matrix(with_missing(0.3)),
    "a model and an item without answers": lambda: matrix(unanswered()),
    "constant items": lambda: matrix(constant_items()),
    "nothing but constant items": lambda: matrix(np.zeros((5, N_ITEMS))),
    "everything right": lambda: matrix(np.ones((5, N_ITEMS))),
    "duplicate items": lambda: matrix(np.tile(two_parameter(n_items=6), 10)),
    "duplicate models": lambda: matrix(np.tile(two_parameter(n_models=1), (6, 1))),
    "two sources": lambda: matrix(two_parameter(n_models=2)),
    "one subtask an item": lambda: matrix(
        two_parameter(), subtasks=[f"subtask-{i}" for i in range(N_ITEMS)]
    ),
}


def variants(function):
    ids = [name + "".join(f",{k}={v}" for k, v in options.items()) for name, options in VARIANTS]
    return pytest.mark.parametrize(("name", "options"), VARIANTS, ids=ids)(function)


@variants
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1, 10, N_ITEMS - 1, N_ITEMS])
def test_select_any_matrix_gives_a_valid_subset(name, options, case, size):
    source = CASES[case]()
    subset = select(source, name, size, seed=3, **options)
    assert len(set(subset.items)) == size
    assert set(subset.items) <= set(source.items)
    assert list(subset.items) == sorted(subset.items)
    assert np.isfinite(subset.weights()).all()
    kinds = 2 if subset.estimator.reads == "both" else 1
    answers = np.random.default_rng(0).integers(0, 2, (4, size * kinds))
    assert np.isfinite(subset.estimate(answers)).all()


@variants
def test_select_all_items_estimates_the_full_score(name, options):
    targets = two_parameter(n_models=8, seed=9)
    for case in ("ordinary", "missing answers", "constant items", "duplicate items"):
        subset = select(CASES[case](), name, N_ITEMS, **options)
        np.testing.assert_allclose(subset.estimate(targets), targets.mean(axis=1), atol=1e-7)


@variants
def test_select_same_seed_gives_the_same_manifest(name, options):
    for case in ("ordinary", "duplicate items"):
        source = CASES[case]()
        first, second = (select(source, name, 10, seed=4, **options) for _ in range(2))
        assert first.to_json() == second.to_json()


@variants
@pytest.mark.parametrize("case", ["ordinary", "missing answers", "duplicate items"])
def test_select_rows_and_columns_in_another_order_gives_the_same_subset(name, options, case):
    source = CASES[case]()
    rng = np.random.default_rng(6)
    other = source.take(models=rng.permutation(20), items=rng.permutation(N_ITEMS))
    expected, found = (select(m, name, 10, seed=4, **options) for m in (source, other))
    assert found.to_json() == expected.to_json()


@variants
def test_select_sizes_gives_what_each_size_alone_gives(name, options):
    source, method = CASES["ordinary"](), get_method(name, **options)
    together = method.select_sizes(source, [3, 10, 40], rng=np.random.default_rng(8))
    for subset in together:
        alone = method.select(source, subset.size, rng=np.random.default_rng(8))
        assert alone.to_json() == subset.to_json()


@variants
def test_select_leaves_the_source_and_global_randomness_alone(name, options):
    source = CASES["missing answers"]()
    before, state = source.scores.copy(), np.random.get_state()[1].copy()
    select(source, name, 10, **options)
    np.testing.assert_array_equal(source.scores, before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@variants
def test_manifest_after_a_round_trip_estimates_the_same(name, options, tmp_path):
    subset = select(CASES["ordinary"](), name, 10, **options)
    subset.save(tmp_path / "s.json")
    again = Subset.load(tmp_path / "s.json")
    answers = np.random.default_rng(0).random((5, 10))
    answers[0, :3] = np.nan
    assert again == subset
    np.testing.assert_array_equal(again.estimate(answers), subset.estimate(answers))
    np.testing.assert_array_equal(again.standard_error(answers), subset.standard_error(answers))


@variants
def test_provenance_holds_every_option_and_source(name, options):
    subset = select(CASES["ordinary"](), name, 10, seed=11, **options)
    method = get_method(name, **options)
    known = {field.name for field in dataclasses.fields(method)}
    assert set(subset.provenance.options) == known
    assert subset.provenance.options.items() >= options.items()
    assert (subset.provenance.seed, subset.provenance.size) == (11, 10)
    assert len(subset.provenance.sources) == (20 if method.needs_responses else 0)


@variants
def test_estimate_equal_answers_give_equal_estimates(name, options):
    subset = select(CASES["ordinary"](), name, 10, **options)
    answers = np.random.default_rng(0).integers(0, 2, (7, 10)).astype(float)
    estimates = subset.estimate(answers[[0, 1, 2, 0, 3, 4, 5, 6, 0]])
    assert estimates[0] == estimates[3] == estimates[8]
    np.testing.assert_array_equal(subset.estimate(answers[0]), estimates[:1])


@variants
def test_estimate_of_no_answers_is_nan(name, options):
    subset = select(CASES["ordinary"](), name, 10, **options)
    assert np.isnan(subset.estimate(np.full(10, np.nan))).all()


@variants
@pytest.mark.parametrize("size", [0, -1, N_ITEMS + 1])
def test_select_impossible_size_is_one_line(name, options, size):
    with pytest.raises(ValueError, match=f"size: {size} of 60 items; give a number from 1 to 60"):
        select(CASES["ordinary"](), name, size, **options)


@pytest.mark.parametrize("name", [n for n in method_names() if get_method(n).needs_responses])
def test_select_one_source_is_one_line(name):
    with pytest.raises(ValueError, match=f"method {name}: needs the answers of at least 2"):
        select(CASES["ordinary"]().take(models=[0]), name, 5)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("irt", {"estimate": "pirt"}, "estimate: 'pirt'"),
        ("irt", {"dimensions": 0}, "dimensions: 0"),
        ("confidence", {"n_strata": 0}, "n_strata: 0"),
        ("diversity", {"trim": 0.5}, "trim: 0.5"),
        ("diversity", {"n_components": 0}, "n_components: 0"),
        ("stratified", {"weights": "all"}, "weights: 'all'"),
    ],
)
def test_get_method_wrong_option_is_one_line(name, options, message):
    with pytest.raises(ValueError, match=message):
        get_method(name, **options)


def test_select_from_sources_that_answered_nothing_is_refused():
    nothing = dataclasses.replace(CASES["ordinary"](), scores=np.full((20, N_ITEMS), np.nan))
    with pytest.raises(ValueError, match="method anchor: no source model answered any item"):
        select(nothing, "anchor", 5)


def test_get_method_unknown_name_shows_the_nearest():
    with pytest.raises(KeyError, match="unknown method 'anchors'; did you mean anchor"):
        get_method("anchors")


PROGRAM = """
import hashlib, json, sys
sys.path.insert(0, {folder!r})
from test_methods import CASES, VARIANTS, matrix, two_parameter
from lm_microbench.methods import select
found = {{}}
for name, options in VARIANTS:
    large = matrix(two_parameter(30, 150))
    for source in (large, CASES["duplicate items"](), CASES["fractions"]()):
        subset = select(source, name, 25, seed=2, **options)
        found.setdefault(f"{{name}} {{options}}", []).append(subset.items)
print(json.dumps(found))
"""


def test_select_another_process_and_number_of_threads_gives_the_same_items():
    # Another kernel of the linear algebra library stands for another machine.
    settings = [("1", "Haswell"), ("2", ""), ("2", "Prescott")]
    found = []
    for threads, kernel in settings:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        if kernel:
            environment["OPENBLAS_CORETYPE"] = kernel
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(folder=str(Path(__file__).parent))],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        found.append(json.loads(run.stdout))
    for method, items in found[0].items():
        assert found[1][method] == items, method
        assert found[2][method] == items, method


def test_method_made_by_hand_with_a_wrong_option_is_refused():
    with pytest.raises(
        ValueError, match="method anchor: estimate: 'scores'; Input should be 'auto'"
    ):
        Anchor(estimate="scores")


def test_select_options_beside_a_method_that_has_its_own_are_refused():
    with pytest.raises(ValueError, match="options: weights; a method that is made has its own"):
        select(CASES["ordinary"](), get_method("stratified"), 5, weights="none")
