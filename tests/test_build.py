"""Building: a method's choice, tied to documents; and the shipped tasks are what the code makes."""

import importlib.util
import json
import re
from pathlib import Path

import make_runs as make
import numpy as np
import pyarrow.parquet as pq
import pytest

from lm_microbench.benchmark import load_benchmark
from lm_microbench.build import build
from lm_microbench.folders import own_tasks
from lm_microbench.methods import get_method, method_names, select
from lm_microbench.registry import same, task_name, write_task
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Subset

ROOT = Path(__file__).resolve().parent.parent
RANDOM = get_method("random")


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return make.make_benchmark(tmp_path_factory.mktemp("toy"))


def answers(toy, **changes):
    table = toy.items()
    fields = {"items": table.items, "subtasks": table.subtasks} | changes
    scores = np.random.default_rng(0).integers(0, 2, (6, len(fields["items"])))
    return ResponseMatrix(scores, "abcdef", fields["items"], fields["subtasks"])


def test_build_ties_every_item_to_its_document(toy):
    [subset] = build(toy, RANDOM, [5], seed=3)
    places = toy.items().find(subset.items)
    assert subset.documents.tasks == tuple(x.task for x in places)
    assert subset.documents.positions == tuple(x.position for x in places)
    assert subset.documents.contents == tuple(x.content for x in places)
    provenance = subset.provenance
    assert (provenance.benchmark, provenance.n_items, provenance.seed) == ("toy", 12, 3)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", provenance.date)


def test_build_and_select_with_the_same_seed_choose_the_same(toy):
    [subset] = build(toy, RANDOM, [5], seed=3)
    assert subset.items == select(answers(toy), "random", 5, seed=3).items


def test_build_size_of_a_call_does_not_depend_on_the_others(toy):
    together = build(toy, RANDOM, [3, 7], seed=1)
    assert [s.items for s in together] == [build(toy, RANDOM, [k], seed=1)[0].items for k in (3, 7)]


@pytest.mark.parametrize("name", ["random", "irt"])
def test_build_records_the_hash_of_the_sources_only_where_they_were_needed(toy, name):
    [subset] = build(toy, get_method(name), [4], source=answers(toy), source_sha256="ab")
    assert subset.provenance.source_sha256 == ("ab" if name == "irt" else None)
    assert len(subset.provenance.sources) == (6 if name == "irt" else 0)


def test_build_without_answers_where_the_method_needs_them_is_one_line(toy):
    with pytest.raises(ValueError, match="method irt: needs the answers of source models"):
        build(toy, get_method("irt"), [3])


@pytest.mark.parametrize("name", ["random", "irt"])
def test_build_with_answers_of_another_benchmark_is_one_line(toy, name):
    items = (*toy.items().items[:-1], "toy/x")
    with pytest.raises(ValueError, match=r"toy: .* has 1 items that the benchmark lacks and lacks "
                       r"1 of it \(such as 'toy/x'\)"):  # fmt: skip
        build(toy, get_method(name), [3], source=answers(toy, items=items))


def test_build_with_answers_that_put_an_item_in_another_subtask_is_one_line(toy):
    subtasks = ("other", *toy.items().subtasks[1:])
    with pytest.raises(ValueError, match=r"toy: item '.*' is of subtask 'a', in the response"):
        build(toy, get_method("stratified"), [3], source=answers(toy, subtasks=subtasks))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("size", [0, 13])
def test_build_impossible_size_is_one_line(toy, size, given):
    source = answers(toy) if given else None
    with pytest.raises(ValueError, match=f"size: {size} of 12 items"):
        build(toy, RANDOM, [3, size], source=source)


def _make_tasks():
    spec = importlib.util.spec_from_file_location("make_tasks", ROOT / "benchmarks/make_tasks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE_TASKS = _make_tasks()


BENCHMARKS = [*MAKE_TASKS.BENCHMARKS, *MAKE_TASKS.TWINS]


def manifests(benchmark, method):
    return {p.stem: p for p in benchmark.home.glob(f"{benchmark.name}_micro*_{method}.json")}


@pytest.mark.parametrize("method", ["random", "stratified"])
@pytest.mark.parametrize("name", BENCHMARKS)
def test_shipped_samples_are_what_the_code_makes(name, method):
    benchmark = load_benchmark(name)
    sizes = [k for k in MAKE_TASKS.SIZES if k < len(benchmark.items().items)]
    found = manifests(benchmark, method)
    assert len(found) == len(sizes)
    for subset in build(benchmark, get_method(method), sizes):
        path = found[task_name(name, subset.size, method)]
        assert path.with_suffix(".yaml").is_file()
        assert same(Subset.load(path).with_(reliability=None), subset), path.name


def test_shipped_choices_from_the_embedded_answers_are_what_the_code_makes():
    microdemo = load_benchmark("microdemo")
    source = ResponseMatrix.load(microdemo.home / "responses.parquet")
    for name in method_names():
        shipped = [Subset.load(path) for path in manifests(microdemo, name).values()]
        method = get_method(name, **(shipped[0].provenance.options if shipped else {}))
        rng = np.random.default_rng(0)
        again = method.select_sizes(source, [s.size for s in shipped], rng=rng)
        for old, new in zip(shipped, again, strict=True):
            assert old.items == new.items, (name, old.size)
            np.testing.assert_allclose(old.weights(), new.weights(), rtol=1e-6, atol=1e-9)


def test_shipped_tasks_that_differ_are_found(tmp_path, monkeypatch):
    toy = make.make_benchmark(tmp_path)
    made = build(toy, RANDOM, [3, 5, 10])
    for subset in made:
        write_task(subset, toy.home)
    monkeypatch.setattr(MAKE_TASKS, "shipped", lambda *_: made)
    assert list(MAKE_TASKS.differing(toy, ["random"], tmp_path)) == []
    path = tmp_path / "toy_micro10_random.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    (tmp_path / "toy_micro5_random.yaml").unlink()
    assert list(MAKE_TASKS.differing(toy, ["random"], tmp_path)) == [
        "toy_micro5_random", "toy_micro10_random",
    ]  # fmt: skip


# A name is a subtask and a number, or a subtask and the first digits of a hash; no sentence is.
NAME = re.compile(r"[a-z_ -]+/([0-9]+|[0-9a-f]{16}|[a-z_]+-?[0-9]+)(#\d+)?")


def test_shipped_manifests_and_item_tables_hold_no_question():
    tables = sorted(own_tasks().glob("*/items.parquet"))
    assert len(tables) == len(BENCHMARKS)
    for path in tables:
        rows = pq.read_table(path).to_pydict()
        assert set(rows) == {"item", "subtask", "task", "position", "content"}
        assert [x for x in rows["item"] if not NAME.fullmatch(x)] == []
        assert all(re.fullmatch("[0-9a-f]{16}", x) for x in rows["content"])
        assert all(isinstance(x, int) for x in rows["position"])
        assert max(map(len, {*rows["subtask"], *rows["task"]})) < 64
    for path in own_tasks().glob("*/*_micro*.json"):
        raw = json.loads(path.read_text(encoding="utf-8"))
        assert set(raw) == {
            "schema_version", "items", "estimator", "provenance", "documents", "reliability",
        }  # fmt: skip
        assert [x for x in raw["items"] if not NAME.fullmatch(x)] == []
        assert set(raw["documents"]) == {"tasks", "positions", "contents"}
        rest = json.dumps([raw["estimator"], raw["provenance"], raw["reliability"]])
        sentences = [x for x in re.findall(r'"([^"]*)"', rest) if " " in x and len(x) > 40]
        assert sentences == []
