"""Print the tables of `docs/predictive.md` from the CSVs that `methods_table.py` wrote.

Run: `python benchmarks/results_markdown.py benchmarks/results`
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from methods_table import SETTINGS

PEERS = ("regression", "lasso", "aipw", "disagreement", "anchor=score", "anchor", "irt")
SHOWN = ("random", *PEERS, "predictive=score", "predictive")


def listed(values: pd.Series[float], digits: int = 1) -> str:
    """Return numbers side by side, `-` for NaN."""
    return " ".join("-" if pd.isna(value) else f"{value:.{digits}f}" for value in values)


def blocks(folder: Path, methods: tuple[str, ...]) -> list[tuple[str, str, str, pd.DataFrame]]:
    """Return setting, kind of targets, method and its rows by size."""
    found = []
    for setting in SETTINGS:
        table = pd.read_csv(folder / f"methods_{setting}.csv")
        for targets in ("random", "top"):
            for method in methods:
                rows = table[(table["targets"] == targets) & (table["method"] == method)]
                if len(rows):
                    found.append((setting, targets, method, rows.sort_values("size")))
    return found


def main() -> None:
    """Print both tables."""
    folder = Path(sys.argv[1])
    print("| setting | targets | method | agreement | MDAD | sustained MDAD | error |")
    print("|---|---|---|---|---|---|---|")
    for *names, rows in blocks(folder, SHOWN):
        figures = [listed(rows[key]) for key in ("agreement", "mdad", "mdad_sustained", "error")]
        print("|", " | ".join([*names, *figures]), "|")
    print("\n| setting | targets | 80 % intervals | 95 % intervals | of pairs said 80-90 % sure |"
          " bias |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for setting, targets, _, rows in blocks(folder, ("predictive",)):
        figures = [listed(rows[key], 0) for key in ("covered_80", "covered_95", "pairs_80_90")]
        print("|", " | ".join([setting, targets, *figures, listed(rows["bias"])]), "|")


if __name__ == "__main__":
    main()
