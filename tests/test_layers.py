"""The house's one rule of imports: a module imports only from those named before it."""

import ast
from pathlib import Path

import lm_microbench

ORDER = [
    "__init__", "names", "files", "folders", "responses", "benchmark", "readers", "irt",
    "clusters", "estimators", "subset", "methods", "pairs", "reliability", "resampling", "trials",
    "results", "study", "compare", "plan", "build", "leaves", "task", "registry", "_autoload",
    "callback", "report", "cli",
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
