"""Leaderboard details, through the hub's own client, from a local stand-in of the hub."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import make_runs as make
import numpy as np
import pytest
from huggingface_hub import constants

from lm_microbench.readers import collect
from lm_microbench.readers.leaderboard import fetch_details

COMMIT = "a" * 40
REPOSITORY = "open-llm-leaderboard/org__m-details"


class Hub(BaseHTTPRequestHandler):
    """Answers as the hub does for one data set; `server.status` other than 200 refuses."""

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        path = self.path.split("?")[0]
        self.server.asked.append(path)
        if self.server.status != 200:
            headers = {"X-Error-Code": self.server.code, "X-Error-Message": "no"}
            return self.send(self.server.status, b"{}", headers, body)
        files = self.server.files
        if path.startswith(f"/api/datasets/{REPOSITORY}/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                for name, data in files.items()
            ]
            return self.send(200, json.dumps(tree).encode(), {}, body)
        if path.startswith(f"/api/datasets/{REPOSITORY}"):
            info = {"id": REPOSITORY, "sha": COMMIT, "private": False, "gated": False, "tags": []}
            info["siblings"] = [{"rfilename": name} for name in files]
            return self.send(200, json.dumps(info).encode(), {}, body)
        name = path.removeprefix(f"/datasets/{REPOSITORY}/resolve/{COMMIT}/")
        if name not in files:
            return self.send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, body)
        tag = f'"{hash(name) & 0xFFFFFFFF:08x}"'
        return self.send(200, files[name], {"ETag": tag, "X-Repo-Commit": COMMIT}, body)

    def send(self, status, data, headers, body):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    folder = make.make_run(tmp_path / "published", "org/m")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files = {f"org__m/{p.name}": p.read_bytes() for p in folder.iterdir()}
    server.files["org__m/samples_other_2026-01-01T10-00-00.000000.jsonl"] = b"{}"
    server.status, server.code, server.asked = 200, "", []
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_fetch_details_wanted_files_are_downloaded_once_at_one_commit(hub, tmp_path):
    options = {"endpoint": hub.address, "cache": tmp_path / "cache"}
    details = fetch_details("leaderboard:org/m", make.LEAVES, **options)
    assert details.commit == COMMIT
    assert sorted(p.name[:14] for p in (details.folder / "org__m").iterdir()) == [
        "results_2026-0", "samples_toy_a_", "samples_toy_a_", "samples_toy_b_",
    ]  # fmt: skip
    hub.asked.clear()
    again = fetch_details("leaderboard:org/m", make.LEAVES, **options)
    assert again == details
    assert not any("/resolve/" in path for path in hub.asked)


def test_fetch_details_only_the_tasks_asked_for_are_wanted(hub, tmp_path):
    details = fetch_details(
        "leaderboard:org/m", ["toy_a"], endpoint=hub.address, cache=tmp_path / "cache"
    )
    names = [p.name for p in (details.folder / "org__m").iterdir()]
    assert len(names) == 2 and not any("cot" in name for name in names)


def test_fetch_details_pinned_and_cached_needs_no_network(hub, tmp_path, monkeypatch):
    options = {"endpoint": hub.address, "cache": tmp_path / "cache"}
    details = fetch_details("leaderboard:org/m", make.LEAVES, **options)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert (
        fetch_details(f"leaderboard:org/m@{COMMIT}", make.LEAVES, **options).folder
        == details.folder
    )


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (403, "GatedRepo", "gated; ask for access at https://huggingface.co/datasets/open-llm"),
        (404, "RepoNotFound", "or it is not open to you"),
        (404, "RevisionNotFound", "no such revision"),
        (400, "", "cannot be read from the hub"),
    ],
)
def test_fetch_details_refusal_is_one_line(hub, tmp_path, status, code, told):
    hub.status, hub.code = status, code
    with pytest.raises(OSError, match=told) as error:
        fetch_details("leaderboard:org/m", ["toy_a"], endpoint=hub.address, cache=tmp_path)
    assert str(error.value).startswith("leaderboard:org/m: ")
    assert "\n" not in str(error.value)


def test_fetch_details_without_an_organisation_is_refused():
    with pytest.raises(ValueError, match="leaderboard:<org>/<model>"):
        fetch_details("leaderboard:m", ["toy_a"])


def test_collect_leaderboard_source_and_local_copy_give_the_same(hub, tmp_path, monkeypatch):
    toy = make.make_benchmark(tmp_path / "toy")
    cache = tmp_path / "cache"

    def fetch(source, leaves):
        return fetch_details(source, leaves, endpoint=hub.address, cache=cache)

    monkeypatch.setattr("lm_microbench.readers.sources.fetch_details", fetch)
    fetched, report = collect(["leaderboard:org/m"], toy)
    copied, _ = collect([tmp_path / "published"], toy)
    assert fetched.models == copied.models == ("org__m",)
    np.testing.assert_array_equal(fetched.scores, copied.scores)
    assert report.notes == [f"leaderboard:org/m: read at commit {COMMIT}"]
    assert fetched.metadata["commits"] == {"leaderboard:org/m": COMMIT}
