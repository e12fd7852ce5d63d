"""Table and sentences of a plan."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from lm_microbench.plan import smallest
from lm_microbench.report.numbers import Table, brief, percent, points

WHO = {"inside": "models within the range of the sources", "above": "models above the sources"}


def plan_table(table: pd.DataFrame, difference: float) -> Table:
    """Return head and rows of a plan; the detectable difference in points."""
    head = ["method", "examples", "of the full run", "targets"]
    head += [f"{brief(difference)} points right", "tells apart", "source models"]
    rows = [
        [
            x["method"], str(x["size"]), f"{points(x['share'], digits=2)} %", x["target"],
            f"{points(x['probability'], digits=0)} %",
            points(x["detectable"], none="never"), str(x["n_models"]),
        ]
        for x in table.to_dict("records")
    ]  # fmt: skip
    return head, rows


def plan_matrices(table: pd.DataFrame, difference: float) -> list[tuple[str, Table]]:
    """Return a caption, head and rows for each kind of target: methods by sizes.

    A cell is the probability, in %, that two models as far apart as `difference` are ordered
    rightly; the first row is the share of the full run.
    """
    matrices = []
    for target, some in table.groupby("target", sort=False):
        cells = some.pivot_table(index="method", columns="size", values="probability", sort=False)
        shares = some.drop_duplicates("size").set_index("size")["share"]
        sizes = sorted(cells.columns)
        head = ["examples", *map(str, sizes)]
        rows = [["share, %", *(brief(shares[size], 2) for size in sizes)]]
        for method, chances in cells.iterrows():
            rows.append([str(method), *(percent(chances[k]).removesuffix(" %") for k in sizes)])
        caption = f"{WHO[str(target)]}, {brief(difference)} points apart: % ordered rightly"
        matrices.append((caption, (head, rows)))
    return matrices


def plan_sentences(table: pd.DataFrame, difference: float, probability: float) -> list[str]:
    """Return for each kind of target which methods are enough at which size, and what is not."""
    what = f"{brief(difference)} points apart rightly with {brief(probability)} % probability"
    sentences = []
    for target, rows in smallest(table).groupby("target", sort=False):
        measured = table[table["target"] == target]["size"]
        enough = [
            f"{size:.0f} examples are enough by {_listed(some['method'])}"
            for size, some in rows.dropna().groupby("size", sort=True)
        ]
        least, most = rows["size"].min(), measured.max()
        if not enough:
            enough = [f"no size up to {most} is enough"]
        elif (measured < least).any():
            enough.append(f"no size below {least:.0f} does")
        sentences.append(f"To order {WHO[str(target)]} {what}: {'; '.join(enough)}.")
    return sentences


def size_sentences(table: pd.DataFrame, size: int, probability: float) -> list[str]:
    """Return for each kind of target how far apart models must be for one size to order them."""
    sentences = []
    for target, rows in table.groupby("target", sort=False):
        # `random` first, as in the table; then the smallest difference first.
        ranked = rows.sort_values(
            "detectable", key=lambda x: x.where(rows["method"] != "random", -1)
        )
        listed = ", ".join(
            f"{points(x.detectable, none='never')} ({x.method})" for x in ranked.itertuples()
        )
        sentences.append(
            f"With {size} examples {WHO[str(target)]} are ordered rightly with "
            f"{brief(probability)} % probability from this many points apart on: {listed}."
        )
    return sentences


def _listed(names: Iterable[str]) -> str:
    """Return names as `a, b and c`, `random` first."""
    *most, last = sorted(names, key=lambda x: (x != "random", x))
    return f"{', '.join(most)} and {last}" if most else last
