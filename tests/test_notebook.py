"""The worked notebook runs from top to bottom, and is kept without outputs."""

import ast
import json

import pytest
from conftest import ROOT

NOTEBOOK = json.loads((ROOT / "docs" / "microdemo.ipynb").read_text(encoding="utf-8"))


def run(source, names):
    """Run a cell and return the value of its last line, where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_notebook_runs_top_to_bottom(capsys):
    pytest.importorskip("matplotlib")
    names = {}
    shown = []
    for cell in NOTEBOOK["cells"]:
        if cell["cell_type"] == "code":
            shown.append(run("".join(cell["source"]), names))
    figures = [x for x in shown if hasattr(x, "_repr_svg_")]
    assert len(figures) == 2
    assert all("</svg>" in x._repr_svg_() for x in figures)
    assert len(names["table"]) == len(names["verdict"].models) == 5
    assert {"random", "predictive"} <= set(names["plan"]["method"])
    said = capsys.readouterr().out
    assert "33 models, 600 items" in said
    assert "microdemo_micro100_stratified ranks" in said


def test_notebook_is_stripped_and_of_the_format_that_jupyter_reads():
    assert (NOTEBOOK["nbformat"], NOTEBOOK["metadata"]["kernelspec"]["name"]) == (4, "python3")
    ids = [cell["id"] for cell in NOTEBOOK["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in NOTEBOOK["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
