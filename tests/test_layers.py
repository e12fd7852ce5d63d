"""The house's one rule of imports: a module imports only from those named before it."""

import ast
import subprocess
import sys
from pathlib import Path

import lm_microbench

ORDER = [
    "__init__", "names", "files", "folders", "matrix_file", "responses", "items", "benchmark",
    "readers", "irt", "clusters", "ridge", "predictive", "estimators", "held_out", "subset",
    "methods", "pairs", "reliability", "resampling", "trials", "trial_table", "study_folder",
    "results", "studies", "ordering", "comparison_tables", "compared",
    "comparison", "plan", "build",
    "leaves", "drafts", "places", "replay", "task", "registry", "_autoload", "history",
    "checkpoints", "callback", "watch", "report", "plots", "html", "cli",
]  # fmt: skip
PACKAGE = Path(lm_microbench.__file__).parent


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lm_microbench"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [a.name for a in node.names]
        elif isinstance(node, ast.Import):
            yield from (
                a.name.split(".")[1] for a in node.names if a.name.startswith("lm_microbench.")
            )


def test_imports_of_every_module_point_backwards():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if layer == "tasks" or path.relative_to(PACKAGE).parts[0] == "__init__.py":
            continue
        for name in imported(path):
            other = name if name in ORDER else "__init__"
            if ORDER.index(other) > ORDER.index(layer):
                wrong.append(f"{path.name} imports {name}")
    assert wrong == []


def test_package_gives_its_names_however_they_are_asked_for():
    code = (
        "import lm_microbench.studies, lm_microbench.comparison, lm_microbench as m\n"
        "from lm_microbench import *\n"
        "assert all(getattr(m, name) is globals()[name] for name in m.__all__)\n"
        "assert callable(study) and callable(compare) and callable(m.study)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_package_import_loads_nothing_heavy():
    code = "import lm_microbench, sys; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_only_one_module_makes_points_of_fractions():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            inside = ast.walk(node) if isinstance(node, ast.JoinedStr) else ()
            wrong += [path.name for x in inside if isinstance(x, ast.Constant) and x.value == 100]
    assert set(wrong) == {"numbers.py"}
