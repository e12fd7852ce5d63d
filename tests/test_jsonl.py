"""Records of whole and damaged JSON files."""

import gzip
import json
import random
import zipfile

import pytest

from lm_microbench.readers.jsonl import records


def read(path, content, **options):
    path.write_bytes(content)
    faults = []
    found = list(records(path, faults, **options))
    return found, [(fault.line, fault.reason) for fault in faults]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "x.jsonl"


def test_records_lines_with_mark_and_empty_line_are_numbered(file):
    found, faults = read(file, b'\xef\xbb\xbf{"a": 1}\n\n{"b": 2}')
    assert found == [(1, {"a": 1}), (3, {"b": 2})]
    assert faults == []


def test_records_other_line_ends_in_a_string_do_not_end_a_line(file):
    found, faults = read(file, '{"a": "x\u2028y\u0085z"}\n'.encode())
    assert found == [(1, {"a": "x\u2028y\u0085z"})]
    assert faults == []


def test_records_lone_surrogates_as_escape_and_as_bytes_are_kept(file):
    found, faults = read(file, b'{"a": "\\ud800"}\n{"a": "\xed\xa0\x80"}\n')
    assert [value for _, value in found] == [{"a": "\ud800"}] * 2
    assert faults == []


def test_records_truncated_last_line_is_named_and_the_rest_kept(file):
    found, faults = read(file, b'{"a": 1}\n{"b": ')
    assert found == [(1, {"a": 1})]
    assert [(line, reason[:25]) for line, reason in faults] == [(2, "the last line breaks off ")]


def test_records_two_objects_on_one_line_are_both_read_and_named(file):
    found, faults = read(file, b'{"a": 1} {"b": 2}\n{"c": 3}\n')
    assert found == [(1, {"a": 1}), (1, {"b": 2}), (2, {"c": 3})]
    assert faults == [(1, "2 records on one line; all are read")]


def test_records_two_half_written_objects_on_one_line_are_named(file):
    found, faults = read(file, b'{"a": {"b": {"a": 1}\n{"c": 3}\n')
    assert found == [(2, {"c": 3})]
    assert faults[0][0] == 1


def test_records_list_lines_and_list_again_are_all_read(file):
    found, faults = read(file, b'[{"a": 1},\n {"b": "]\\"}"}\n]\n{"c": 3}\n[{"d": 4}]')
    assert found == [(1, {"a": 1}), (2, {"b": ']"}'}), (4, {"c": 3}), (5, {"d": 4})]
    assert faults == []


def test_records_truncated_list_keeps_whole_elements(file):
    found, faults = read(file, b'[\n{"a": 1},\n{"b": ')
    assert found == [(2, {"a": 1})]
    assert faults == [(3, "the list breaks off")]


def test_records_missing_quote_in_a_list_costs_one_element(file):
    found, faults = read(file, b'[\n{"a": "q},\n{"b": 1},\n{"c": 2}\n]')
    assert found == [(3, {"b": 1}), (4, {"c": 2})]
    assert [line for line, _ in faults] == [2]


@pytest.mark.parametrize("shape", ["lines", "list"])
def test_records_too_long_record_is_named_and_skipped(file, shape):
    long, short = b'{"a": "' + b"x" * 200_000 + b'"}', b'{"b": 1}'
    content = long + b"\n" + short if shape == "lines" else b"[" + long + b",\n" + short + b"]"
    found, faults = read(file, content, longest=100_000)
    assert found == [(2, {"b": 1})]
    assert [line for line, _ in faults] == [1]


@pytest.mark.parametrize("indent", [None, 2])
def test_records_long_list_over_many_chunks_equals_json(file, indent):
    rng = random.Random(0)
    values = [{"i": i, "s": '\\"\n[{\u00e9' * rng.randrange(9000)} for i in range(60)]
    found, faults = read(file, json.dumps(values, indent=indent, ensure_ascii=False).encode())
    assert [value for _, value in found] == values
    assert faults == []


def test_records_wrong_encoding_is_named(file):
    found, faults = read(file, b'{"a": "\xe9"}\n{"b": 1}\n')
    assert found == [(2, {"b": 1})]
    assert faults == [(1, "not UTF-8 text")]
    assert read(file, '{"a": 1}'.encode("utf-16"))[1] == [
        (1, "UTF-16 text; save the file as UTF-8")
    ]


def test_records_gzip_and_zip_are_unpacked(tmp_path):
    packed = tmp_path / "x.json.gz"
    packed.write_bytes(gzip.compress(b'[{"a": 1}]'))
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a/x.json", '{"b": 2}')
        file.writestr("a/readme.txt", "no record")
    assert list(records(packed, [])) == [(1, {"a": 1})]
    assert list(records(archive, [])) == [(1, {"b": 2})]


def test_records_truncated_gzip_keeps_what_came_before(tmp_path):
    path = tmp_path / "x.jsonl.gz"
    lines = b"".join(
        b'{"a": "%s"}\n' % random.Random(i).randbytes(40).hex().encode() for i in range(5000)
    )
    path.write_bytes(gzip.compress(lines)[:-20_000])
    faults = []
    found = list(records(path, faults))
    assert len(found) > 1000
    assert "breaks off" in faults[-1].reason
