"""What tests share: the public data beside the repository, its offline layout, a real model."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Before lm_eval and datasets are imported anywhere: nothing may reach for a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["TQDM_DISABLE"] = "1"
os.environ["LM_MICROBENCH_PATH"] = ""


@pytest.fixture(scope="session")
def shared():
    """Return the folder of public data beside the repository."""
    folder = Path(os.environ.get("LM_MICROBENCH_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("the public data is not beside the repository")
    return folder


@pytest.fixture(scope="session")
def hub(shared, tmp_path_factory):
    """Return a folder from which lm_eval finds MMLU-Pro and BIG-bench Hard without a hub."""
    folder = tmp_path_factory.mktemp("hub")
    tool = shared / "tools" / "make_hub.py"
    subprocess.run([sys.executable, str(tool), str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture
def in_hub(hub, monkeypatch):
    """Work in that folder."""
    monkeypatch.chdir(hub)
    return hub


@pytest.fixture(scope="session")
def base_model(tmp_path_factory):
    """Return the folder of a small real model, made from the package that carries its weights."""
    ready = os.environ.get("LM_MICROBENCH_MODEL")
    if ready:
        return Path(ready)
    sys.path.insert(0, str(ROOT / "benchmarks" / "microdemo"))
    from checkpoints import make_base

    folder = tmp_path_factory.mktemp("models") / "smollm2-135m-instruct"
    make_base(folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_user(tmp_path_factory):
    """Keep the data sets' cache of the tests out of the user's."""
    import datasets

    datasets.config.HF_DATASETS_CACHE = tmp_path_factory.mktemp("datasets")
