"""Write the tables of a reliability study with targets drawn at random, and with the best models.

Run: `python benchmarks/study_tables.py RESPONSES -m random,irt -k 10,25 -o benchmarks/results/x.md`

The tables are Markdown, in points; `seen` is the half that items were chosen from.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from lm_microbench import __version__, files
from lm_microbench.methods import method_names
from lm_microbench.readers import read_responses
from lm_microbench.report import points
from lm_microbench.results import StudyResult
from lm_microbench.studies import study


def rows(result: StudyResult) -> pd.DataFrame:
    """Return the figures of every method, size and reference, as text in points."""
    keys = ["method", "size", "reference"]
    mdad, error = (x.set_index(keys) for x in (result.mdad(), result.estimation()))
    low, high = (mdad[f"mdad_{end}"].map(_reached) for end in ("low", "high"))
    return pd.DataFrame(
        {
            "MDAD": mdad["mdad"].map(_reached) + " (" + low + " to " + high + ")",
            "sustained": mdad["mdad_sustained"].map(_reached),
            "error": error["error"].map(points),
            "tau": error["kendall_tau"].map(points),
            "wrong < 2": error["wrong_within"].map(points),
        }
    )


def _reached(mdad: float) -> str:
    return points(mdad, none="never")


def _markdown(table: pd.DataFrame) -> str:
    cells = table.reset_index().astype(str)
    lines = [list(cells.columns), ["---"] * len(cells.columns), *cells.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Run both studies and write one file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("responses", type=Path)
    parser.add_argument("-m", "--methods", default="random", help="a,b or `all`")
    parser.add_argument("-k", "--sizes", default="10,25,50,100,200")
    parser.add_argument("--sources", type=int, default=300)
    parser.add_argument("--targets", type=int, default=50)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, required=True)
    o = parser.parse_args()
    matrix = read_responses(o.responses)
    methods = method_names() if o.methods == "all" else o.methods.split(",")
    parts = {
        mode: rows(
            study(
                matrix, methods=methods, sizes=[int(k) for k in o.sizes.split(",")],
                n_sources=o.sources, n_targets=o.targets, trials=o.trials, target_mode=mode,
                seed=o.seed, n_jobs=o.jobs,
            )
        )
        for mode in ("random", "top")
    }  # fmt: skip
    both = pd.concat(parts, axis=1)
    both.columns = pd.Index([f"{name}, {mode}" for mode, name in both.columns])
    command = (
        f"python benchmarks/study_tables.py {o.responses.name} -m {o.methods} -k {o.sizes} "
        f"--sources {o.sources} --targets {o.targets} --trials {o.trials} --seed {o.seed}"
    )
    head = (
        f"`{command}` (lm-microbench {__version__}; {matrix.n_models} models x {matrix.n_items} "
        f"items)\n\nAll in points. MDAD with its 95 % interval over trials; `sustained`: the MDAD "
        "from which every later bin of 30 pairs or more holds; `wrong < 2`: share of the pairs "
        "closer than 2 points that would be ranked wrongly. Targets: any models (`random`) or the "
        "best models, with weaker sources only (`top`).\n\n"
    )
    files.write_text(o.output, f"{head}{_markdown(both)}\n")


if __name__ == "__main__":
    main()
