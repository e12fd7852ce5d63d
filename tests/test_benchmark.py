"""Benchmark: how items are named, and its files."""

import datetime
import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from lm_microbench.benchmark import Benchmark, benchmarks, load_benchmark
from lm_microbench.items import ItemTable, Location

RULES = {
    "base": "toy",
    "subtask": {"field": "category"},
    "item": {"field": "question_id"},
    "content": ["question", "options"],
    "metric": "acc",
}


def benchmark(**changes):
    return Benchmark(**RULES | changes)


def doc(**changes):
    return {"category": "law", "question_id": 7, "question": "Q?", "options": ["a", "b"]} | changes


def named(found, documents, leaf="toy_leaf"):
    return ItemTable.of(found.locate(leaf, documents)).items


def test_item_is_named_by_subtask_and_field():
    assert named(benchmark(), [doc(), doc(question_id="x-8")]) == ("law/7", "law/x-8")


def test_item_named_by_hash_has_the_first_16_digits_of_the_texts_sha256():
    found = benchmark(subtask={"task_prefix": "toy_"}, item={"hash": ["question"]})
    expected = hashlib.sha256("Q ü?".encode()).hexdigest()[:16]
    assert named(found, [doc(question="Q ü?")]) == (f"leaf/{expected}",)


def test_item_named_by_the_hash_of_two_fields_tells_where_one_ends():
    found = benchmark(item={"hash": ["question", "answer"]})
    items = named(found, [doc(question="ab", answer="c"), doc(question="a", answer="bc")])
    assert len(set(items)) == 2
    assert not any("#" in item for item in items)


def test_later_copies_of_a_name_are_numbered_in_the_order_of_the_documents():
    documents = [doc(), doc(question_id=8), doc(question="other"), doc()]
    assert named(benchmark(), documents) == ("law/7", "law/8", "law/7#2", "law/7#3")


def test_numbering_runs_over_leaf_tasks_that_share_a_subtask():
    found = benchmark()
    locations = [x for leaf in ("a", "b") for x in found.locate(leaf, [doc()])]
    table = ItemTable.of(locations)
    assert table.items == ("law/7", "law/7#2")
    assert [x.task for x in table.find(["law/7#2", "law/7"])] == ["b", "a"]


def test_number_that_is_another_items_own_name_is_refused():
    documents = [doc(question_id="7"), doc(question_id="7"), doc(question_id="7#2")]
    with pytest.raises(ValueError, match="item 'law/7#2' occurs twice"):
        named(benchmark(), documents)


def test_slash_in_a_field_makes_no_two_items_one():
    documents = [doc(category="a", question_id="b/c"), doc(category="a/b", question_id="c")]
    table = ItemTable.of(benchmark().locate("leaf", documents))
    assert table.items == ("a/b/c", "a/b/c#2")
    assert table.subtasks == ("a", "a/b")


def test_content_hash_changes_with_a_covered_field_only():
    found = benchmark()
    same = found.content_hash(doc())
    assert found.content_hash(doc(added=1)) == same
    assert found.content_hash(dict(reversed(doc().items()))) == same
    assert len({same, *(found.content_hash(doc(**c)) for c in (
        {"question": "Q"}, {"options": ["b", "a"]}, {"options": ["a,b"]}, {"options": "[a, b]"},
    ))}) == 5  # fmt: skip


def test_content_hash_is_that_of_the_same_document_in_a_log():
    # A log holds numbers of NumPy as numbers and dates as text.
    date = datetime.date(2026, 1, 2)
    found = benchmark(content=["question"])
    for value, logged in [(np.int64(3), 3), (np.float64(0.5), 0.5), (date, "2026-01-02"),
                          (np.array([1, 2]), [1, 2]), ((1, 2), [1, 2])]:  # fmt: skip
        assert found.content_hash(doc(question=[value])) == found.content_hash(
            doc(question=[logged])
        )


@pytest.mark.parametrize("value", [object(), {"a", "b"}])
def test_content_hash_of_what_differs_from_run_to_run_is_refused(value):
    with pytest.raises(ValueError, match="differs from run to run; leave its field out"):
        benchmark(content=["question"]).content_hash(doc(question=value))


def test_content_hash_takes_a_lone_surrogate():
    assert len(benchmark().content_hash(doc(question="\ud800"))) == 16


@pytest.mark.parametrize("empty", [None, "", float("nan")])
@pytest.mark.parametrize("field", ["category", "question_id"])
def test_item_without_a_name_is_refused(field, empty):
    with pytest.raises(ValueError, match=f"toy: field '{field}' of a document is empty"):
        named(benchmark(), [doc(**{field: empty})])


def test_missing_field_names_those_that_are_there():
    with pytest.raises(ValueError, match=r"no field 'question_id' \(it has: category\)"):
        named(benchmark(), [{"category": "law"}])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subtask": {}}, "subtask: give either `field` or `task_prefix`"),
        ({"subtask": {"field": "a", "task_prefix": ""}}, "subtask: give either"),
        ({"item": {}}, "item: give either `field` or `hash`"),
        ({"item": {"field": "a", "hash": ["b"]}}, "item: give either"),
        ({"item": {"hash": "question"}}, "item.hash"),
        ({"content": []}, "content"),
        ({"metrics": "acc"}, "metrics"),
        ({"metric": None}, "metric"),
    ],
)
def test_read_wrong_rule_is_one_line_with_path_and_field(tmp_path, changes, message):
    path = tmp_path / "benchmark.yaml"
    path.write_text(yaml.safe_dump(RULES | changes))
    with pytest.raises(ValueError, match=message) as caught:
        Benchmark.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "- a", "a: [", "home: x", "1: 2", "\xff"])
def test_read_what_is_no_benchmark_is_one_line_with_path(tmp_path, text):
    path = tmp_path / "benchmark.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"benchmark\.yaml: ") as caught:
        Benchmark.read(path)
    assert "\n" not in str(caught.value)


def test_item_table_round_trip(tmp_path):
    table = ItemTable.of(benchmark().locate("leaf", [doc(category="ü/x"), doc(), doc()]))
    table.save(tmp_path / "items.parquet")
    assert ItemTable.load(tmp_path / "items.parquet") == table


def test_item_table_find_unknown_item_shows_the_nearest():
    with pytest.raises(KeyError, match="unknown item 'law/77'; did you mean law/7"):
        ItemTable.of(benchmark().locate("leaf", [doc()])).find(["law/7", "law/77"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1]}, r"not a table of items \(column 'item'\)"),
        ({"item": [None]}, "column 'item'"),
        ({"item": ["a"], "subtask": ["a"], "task": ["a"], "position": ["0"], "content": ["a"]},
         "column 'position'"),
        ({"item": ["a"] * 2, "subtask": ["a"] * 2, "task": ["a"] * 2, "position": [0, 1],
          "content": ["a"] * 2}, "item 'a' occurs twice"),
    ],
)  # fmt: skip
def test_item_table_that_is_not_ours_is_one_line_with_the_path(tmp_path, columns, message):
    path = tmp_path / "items.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match=message) as caught:
        ItemTable.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_item_table_missing_or_cut_short_is_one_line_with_the_path(tmp_path):
    path = tmp_path / "items.parquet"
    with pytest.raises(FileNotFoundError, match=r"items\.parquet: no such file"):
        ItemTable.load(path)
    ItemTable((Location("a", "a", "a", 0, "a"),)).save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"items\.parquet: cannot be read as Parquet"):
        ItemTable.load(path)


def test_load_benchmark_by_name_by_path_and_from_a_folder_of_the_users(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "benchmark.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(RULES))
    assert load_benchmark(str(path)).name == "toy"
    with pytest.raises(KeyError, match="unknown benchmark 'toy'"):
        load_benchmark("toy")
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path))
    assert load_benchmark("toy").home == path.parent
    assert benchmarks()["toy"] == path
    with pytest.raises(KeyError, match="unknown benchmark 'bhb'; did you mean bbh"):
        load_benchmark("bhb")


def test_load_benchmark_from_a_path_without_a_file_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"benchmark\.yaml: no such file"):
        load_benchmark(str(tmp_path / "benchmark.yaml"))


def test_task_folder_that_is_not_there_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("LM_MICROBENCH_PATH", str(tmp_path / "no"))
    with pytest.raises(FileNotFoundError, match=r"LM_MICROBENCH_PATH: .*no is not a folder"):
        benchmarks()


def test_item_table_names_are_made_once():
    # Readers look one up for every item of every model: made anew, that is items times items.
    table = ItemTable(
        (Location("s/1", "s", "leaf", 0, "00"), Location("s/2", "s", "leaf", 1, "01"))
    )
    assert table.items is table.items
    assert table.subtasks is table.subtasks
