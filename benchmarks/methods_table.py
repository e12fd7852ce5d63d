"""Hold all methods against each other on public answers: ranking, error, honesty of their errors.

Run: `python benchmarks/methods_table.py ../shared/data -o benchmarks/results
[--settings gpqa_300,gpqa_10] [--methods random,irt=p-irt] [--trials 50] [--jobs 2]`

The folder holds the matrices that `SETTINGS` names; `microdemo` ships with the package and
`overconfident` is drawn (`opinions`), both with confidences. Every setting makes one CSV,
`methods_<setting>.csv`: a row for each kind of targets, method and size, on the seen half, in
points (x 100); rows of methods that are not run now stay as they are. `irt=p-irt` is `irt` with
that estimate, `predictive=score` reads no confidences. `covered_80` and `covered_95`: share of full
scores inside the intervals; `pairs_*`: share ordered rightly of the pairs that were said to be
80-90 % (90-95 %) sure, and their number; `seconds`: processor time of one trial, all sizes, the
median over trials.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from lm_microbench import files
from lm_microbench.benchmark import load_benchmark
from lm_microbench.folders import own_tasks
from lm_microbench.methods import Method, get_method, method_names
from lm_microbench.pairs import count_pairs, pair_indices, rank_correlations, signs
from lm_microbench.readers import Rules, read_mmlu_pro, read_responses
from lm_microbench.readers.mmlu_pro import is_dump
from lm_microbench.responses import ResponseMatrix
from lm_microbench.trials import TrialDesign

MIN_PAIRS = 20
MIN_COVERAGE = 0.5
SURE = {"80_90": (0.8, 0.9), "90_95": (0.9, 0.95)}


class Setting(NamedTuple):
    """A matrix below the folder, and how trials are drawn from it; sources None: all others."""

    path: str
    sources: int | None
    targets: int
    sizes: tuple[int, ...]


SMALL, LARGE = (10, 25, 50, 100, 200), (10, 25, 50, 100, 250)
SETTINGS = {
    "gpqa_300": Setting("gpqa/responses.csv.gz", 300, 50, SMALL),
    "gpqa_50": Setting("gpqa/responses.csv.gz", 50, 50, SMALL),
    "gpqa_10": Setting("gpqa/responses.csv.gz", 10, 50, SMALL),
    "arc_challenge": Setting("matrices/arc_challenge.npz", None, 50, SMALL),
    "ifeval": Setting("matrices/ifeval.npz", None, 50, SMALL),
    "legalbench": Setting("matrices/legalbench.npz", None, 20, SMALL),
    "mmlu_pro": Setting("mmlu_pro/eval_results", 15, 8, LARGE),
    "bbh": Setting("bbh/responses.csv.gz", 7, 4, LARGE),
    "microdemo": Setting("", None, 10, SMALL),
    "overconfident": Setting("", 50, 20, SMALL),
}


def opinions(n_models: int = 80, n_items: int = 600, seed: int = 1) -> ResponseMatrix:
    """Return answers to four choices by models that differ in how sure they are of themselves.

    The opinion of a choice is normal around what all models share about it, that of the right one
    around discrimination x (ability - difficulty) + 0.8. The largest is the answer; the confidence
    is the right one's share of exp(1.3 opinion / temperature), with a log-normal (0, 1) temperature
    of the model.
    """
    rng = np.random.default_rng(seed)
    ability, discrimination = rng.normal(0, 1, (n_models, 1)), rng.lognormal(0, 0.4, n_items)
    opinion = rng.normal(0, 0.7, (n_items, 4)) + rng.normal(0, 1, (n_models, n_items, 4))
    opinion[:, :, 0] += discrimination * (ability - rng.normal(0, 1.2, n_items)) + 0.8
    temperature = rng.lognormal(0, 1, (n_models, 1, 1))
    share = np.exp(1.3 * (opinion - opinion.max(axis=2, keepdims=True)) / temperature)
    return ResponseMatrix(
        scores=opinion.argmax(axis=2) == 0,
        models=[f"model-{i:03d}" for i in range(n_models)],
        items=[f"item-{i:05d}" for i in range(n_items)],
        subtasks=["all"] * n_items,
        confidence=share[:, :, 0] / share.sum(axis=2),
    )


def read(folder: Path, name: str) -> ResponseMatrix:
    """Return the matrix of the models that answered most items."""
    if name == "overconfident":
        return opinions()
    own = own_tasks() / "microdemo" / "responses.parquet"
    path = own if name == "microdemo" else folder / SETTINGS[name].path
    if path.is_dir():
        dumps = [file for file in sorted(path.iterdir()) if is_dump(file)]
        rules = Rules(min_coverage=MIN_COVERAGE)
        matrix, _ = read_mmlu_pro(dumps, load_benchmark("mmlu_pro"), rules=rules)
    else:
        matrix = read_responses(path)
    kept = matrix.coverage() > MIN_COVERAGE
    models = sorted(name for name, keep in zip(matrix.models, kept, strict=True) if keep)
    return matrix.take(models=models, items=sorted(matrix.items))  # as `study` sorts them


def method(name: str) -> Method:
    """Return the named method; `irt=p-irt` is `irt` with that estimate."""
    name, _, estimate = name.partition("=")
    return get_method(name, **({"estimate": estimate} if estimate else {}))


def wanted(text: str) -> list[str]:
    """Return the names in a list with commas; `all` stands for every method."""
    parts = text.split(",")
    return [name for part in parts for name in (method_names() if part == "all" else [part])]


def run_trial(
    matrix: ResponseMatrix, design: TrialDesign, sizes: tuple[int, ...], names: list[str], t: int
) -> list[dict[str, Any]]:
    """Return what every method says in one trial: the draws are those of `study`."""
    draw, rows = design.draw(matrix, t), []
    seen = matrix.take(items=draw.seen)
    targets, source = seen.take(models=draw.targets), seen.take(models=draw.sources)
    with threadpool_limits(limits=1):
        for name in names:
            start = time.process_time()
            subsets = method(name).select_sizes(source, sizes, rng=design.method_rng(t))
            for size, subset in zip(sizes, subsets, strict=True):
                answers = subset.answers(targets)
                row = {
                    "trial": t,
                    "method": name,
                    "size": size,
                    "score": targets.accuracy(),
                    "estimate": subset.estimate(answers),
                    "error": subset.standard_error(answers),
                    "seconds": time.process_time() - start,
                }
                if hasattr(subset.estimator, "order_probability"):
                    row["order"] = subset.estimator.order_probability(answers)
                rows.append(row)
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all trials of one method and size."""
    score, estimate, error = (
        np.array([r[k] for r in rows]) for k in ("score", "estimate", "error")
    )
    counts = count_pairs(score, estimate).pool()
    z = np.abs(estimate - score)[~np.isnan(error)] / np.maximum(error[~np.isnan(error)], 1e-9)
    figures: dict[str, Any] = {
        "kendall_tau": 100 * np.nanmean(rank_correlations(score, estimate)[0]),
        "agreement": 100 * counts.total_agreement()[0],
        "mdad": 100 * counts.mdad()[0],
        "mdad_sustained": 100 * counts.mdad_sustained(min_pairs=MIN_PAIRS)[0],
        "error": 100 * np.nanmean(np.abs(estimate - score)),
        "bias": 100 * np.nanmean(estimate - score),
        "covered_80": 100 * (z <= ndtri(0.9)).mean() if len(z) else np.nan,
        "covered_95": 100 * (z <= ndtri(0.975)).mean() if len(z) else np.nan,
    }
    seconds = float(np.median([r["seconds"] for r in rows]))
    return figures | certainty(rows) | {"seconds": seconds, "trials": len(rows)}


def certainty(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how many pairs are ordered rightly among those said to be about as sure."""
    if "order" not in rows[0]:
        return {}
    first, second = pair_indices(len(rows[0]["score"]))
    said = np.concatenate([r["order"][first, second] for r in rows])
    true = np.concatenate([signs(r["score"][first] - r["score"][second]) for r in rows])
    right, sure, pair = (said > 0.5) == (true > 0), np.maximum(said, 1 - said), true != 0
    figures: dict[str, Any] = {}
    for name, (low, high) in SURE.items():
        some = pair & (sure >= low) & (sure < high)
        figures[f"pairs_{name}"] = 100 * right[some].mean() if some.any() else np.nan
        figures[f"n_{name}"] = int(some.sum())
    return figures


def table(matrix: ResponseMatrix, setting: Setting, mode: str, options: Any) -> pd.DataFrame:
    """Return the figures of all methods and sizes with one kind of targets."""
    names = wanted(options.methods)
    design = TrialDesign((setting.sources or 1,), setting.targets, mode)
    if setting.sources is None:
        left = len(design.candidates(matrix)[1]) - (setting.targets if mode == "random" else 0)
        design = TrialDesign((left,), setting.targets, mode)
    design.check(matrix)
    work = delayed(run_trial)
    found = Parallel(n_jobs=options.jobs)(
        work(matrix, design, setting.sizes, names, t) for t in range(options.trials)
    )
    rows = []
    for name in names:
        for size in setting.sizes:
            some = [r for trial in found for r in trial if (r["method"], r["size"]) == (name, size)]
            rows.append({"targets": mode, "method": name, "size": size} | summary(some))
    return pd.DataFrame(rows)


def update(path: Path, new: pd.DataFrame) -> None:
    """Write rows to a CSV, in place of those of the same methods; the others stay."""
    if path.exists():
        old = pd.read_csv(path)
        new = pd.concat([old[~old["method"].isin(new["method"])], new])
    new = new.sort_values(["targets", "method", "size"], key=random_first)
    with files.atomic(path) as temporary:
        new.to_csv(temporary, index=False, lineterminator="\n")


def random_first(column: pd.Series) -> pd.Series:
    """Return a sort key: `random` before all others."""
    return column.mask(column == "random", "")


def main() -> None:
    """Write one table for each setting."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--methods", default="all")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.settings.split(","):
        matrix = read(options.folder, name)
        print(f"\n{name}: {matrix.n_models} models, {matrix.n_items} items", flush=True)
        parts = [table(matrix, SETTINGS[name], mode, options) for mode in ("random", "top")]
        whole = pd.concat(parts).round(2)
        update(options.output / f"methods_{name}.csv", whole)
        print(whole.to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
