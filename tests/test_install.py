"""What installation does: plain `lm_eval` finds our tasks, and uninstalling leaves nothing."""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from lm_microbench import registry

ROOT = Path(__file__).resolve().parent.parent
TASK = "mmlu_pro_micro25_random"
LIST = (
    "import sys; from lm_eval.__main__ import cli_evaluate; "
    "sys.argv[1:] = ['ls', 'tasks']; cli_evaluate()"
)


class Environment:
    """A fresh virtual environment that borrows its requirements from this one."""

    def __init__(self, folder, editable_lm_eval):
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        self.python = folder / "bin" / "python"
        self.site = Path(
            self.run("-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])")
        )
        paths = [sysconfig.get_paths()["purelib"]]
        if editable_lm_eval:
            source = folder / "src"
            shutil.copytree(Path(find_spec("lm_eval").origin).parent, source / "lm_eval")
            paths.insert(0, str(source))
        # Files of paths, not of code: hooks of the environment that they name do not run.
        (self.site / "__editable__.requirements.pth").write_text("\n".join(paths) + "\n")

    def run(self, *arguments, **variables):
        environment = {**os.environ, "PYTHONPATH": "", **variables}
        result = subprocess.run(
            [str(self.python), *arguments],
            capture_output=True, text=True, check=True, env=environment, cwd=self.python.parent,
        )  # fmt: skip
        return result.stdout.strip()

    def install(self, *options):
        self.run("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
                 "--no-index", *options, str(ROOT))  # fmt: skip

    def uninstall(self):
        self.run("-m", "pip", "uninstall", "--quiet", "--yes", "lm-microbench")

    def listed(self, **variables):
        return TASK in self.run("-c", LIST, **variables)


@pytest.mark.parametrize("lm_eval_editable", [False, True], ids=["lm_eval", "lm_eval-editable"])
def test_lm_eval_finds_our_tasks_until_they_are_uninstalled(lm_eval_editable, tmp_path):
    environment = Environment(tmp_path / "venv", lm_eval_editable)
    for options in [(), ("--editable",)]:
        environment.install(*options)
        assert environment.listed()
        environment.uninstall()
        assert not list(environment.site.glob("*lm_microbench*"))
        assert not list(environment.site.glob("*/tasks/mmlu_pro"))
    assert not environment.listed()
    assert lm_eval_editable == (
        "src" in Path(environment.run("-c", "import lm_eval; print(lm_eval.__file__)")).parts
    )


def test_registration_is_switched_by_command_and_by_variable(tmp_path):
    environment = Environment(tmp_path / "venv", editable_lm_eval=False)
    environment.install()
    command = ["-c", "from lm_microbench.cli import main; main()"]
    manager = f"from lm_eval.tasks import TaskManager; print({TASK!r} in TaskManager().all_tasks)"
    assert environment.run("-c", manager) == "True"
    assert environment.run("-c", manager, LM_MICROBENCH_AUTOLOAD="0") == "False"
    environment.run(*command, "unregister")
    assert environment.run("-c", manager) == "False"
    environment.run(*command, "register")
    assert environment.run("-c", manager) == "True"
    folder = environment.run(*command, "path")
    assert (Path(folder) / "mmlu_pro" / f"{TASK}.yaml").is_file()
    environment.uninstall()
    assert not list(environment.site.glob("*lm_microbench*"))


def test_hook_written_by_register_is_the_one_that_is_shipped():
    assert (ROOT / registry.HOOK_FILE).read_text() == registry.HOOK


def test_hook_loads_nothing_heavy_at_start():
    bare = "import sys; print(len(sys.modules))"
    code = f"from lm_microbench import _autoload; _autoload.install(); {bare}"
    counts = [
        int(subprocess.run([sys.executable, "-S", "-c", c], capture_output=True, text=True,
                           check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}).stdout)
        for c in (code, bare)
    ]  # fmt: skip
    # Our package and the hook, logging, functools and what those import; no numpy, no lm_eval.
    assert counts[0] - counts[1] < 60
