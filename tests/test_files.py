"""Files are written whole or not at all, and every error names the file."""

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lm_microbench import files


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_atomic_error_in_the_block_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.json"
    files.write_text(path, "old")
    with pytest.raises(RuntimeError), files.atomic(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.json"]


def test_atomic_killed_process_leaves_the_old_file_and_no_task(tmp_path):
    path = tmp_path / "a.yaml"
    files.write_text(path, "old")
    program = (
        "import os, signal, sys; from pathlib import Path; from lm_microbench import files\n"
        "with files.atomic(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    run = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert run.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    # lm_eval reads every *.yaml of a folder, and we every *_micro*.json.
    assert [name for name in names(tmp_path) if not name.endswith(".tmp")] == ["a.yaml"]
    assert len(names(tmp_path)) == 2
    files.write_text(tmp_path / "b.yaml", "other")
    assert len(names(tmp_path)) == 3, "the rest of another file is not touched"
    files.write_text(path, "new")
    assert names(tmp_path) == ["a.yaml", "b.yaml"]


def test_atomic_leaves_what_another_process_is_writing(tmp_path):
    path = tmp_path / "a.json"
    with files.atomic(path) as first:
        first.write_text("first")
        files.write_text(path, "second")
    assert path.read_text() == "first"
    assert names(tmp_path) == ["a.json"]


def test_check_writable_names_the_fault_and_writes_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    files.check_writable(tmp_path / "a" / "b.json")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        files.check_writable(tmp_path)
    with pytest.raises(NotADirectoryError, match=r"file/a/b: cannot be written \(.*file is a file"):
        files.check_writable(tmp_path / "file" / "a" / "b")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match=r"a\.json: cannot be written"):
        files.check_writable(tmp_path / "a.json")
    assert names(tmp_path) == ["file"]


def test_atomic_new_folders_are_made(tmp_path):
    files.write_text(tmp_path / "a" / "b" / "c.txt", "x")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "x"


def test_atomic_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / "a.json"
    with pytest.raises(OSError, match=r"file/a\.json: cannot be written \("):
        files.write_text(path, "x")


def test_atomic_folder_without_the_right_to_write_is_named(tmp_path, monkeypatch):
    # Not by the folder's mode: for root everything is writable.
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.touch", refuse)
    with pytest.raises(PermissionError, match=r"/a\.json: cannot be written \(Permission denied\)"):
        files.write_text(tmp_path / "a.json", "x")
    assert names(tmp_path) == []


def test_atomic_name_of_a_folder_is_refused_and_nothing_left(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError, match="a: is a folder"):
        files.write_text(tmp_path / "a", "x")
    assert names(tmp_path) == ["a"]


def test_atomic_file_has_the_rights_of_any_new_file(tmp_path):
    old = os.umask(0o027)
    try:
        files.write_text(tmp_path / "a", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_write_text_is_utf_8_with_unix_line_ends(tmp_path):
    files.write_text(tmp_path / "a", "ü\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xbc\n"


def test_sha256_of_abc_is_the_published_one(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert files.sha256(tmp_path / "a") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_read_parquet_of_a_part_is_one_line_with_the_path(tmp_path, share):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": list(range(1000))}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ValueError, match=r"a\.parquet: cannot be read as Parquet") as caught:
        files.read_parquet(path)
    assert "\n" not in str(caught.value)


def test_read_parquet_damaged_in_the_middle_is_one_line_with_the_path(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [str(i) * 9 for i in range(1000)]}), path)
    whole = bytearray(path.read_bytes())
    whole[4:200] = b"\xff" * 196
    path.write_bytes(bytes(whole))
    with pytest.raises(ValueError, match=r"a\.parquet: cannot be read as Parquet"):
        files.read_parquet(path)
