"""How many examples, and which method, for a difference that matters; and what a size can tell."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from lm_microbench.results import StudyResult
from lm_microbench.subset import Subset

Array = npt.NDArray[np.float64]

PROBABILITY = 0.8
_MODE_KINDS = {"random": "inside", "list": "inside", "top": "above"}


def plan_tasks(
    subsets: Iterable[Subset], difference: float, probability: float = PROBABILITY
) -> pd.DataFrame:
    """Return what shipped or own micro-tasks can do, from the reliability in their manifests.

    The error of the difference of two models is taken as normal with the root mean square
    `difference_rms` that was measured on held-out source models; two models that differ by d are
    then ordered rightly with probability Phi(d / rms). An error measured on few models may rise
    with the size by chance: a method's mean squares are made to fall with it (isotonic regression,
    weighted by the pairs measured). Where whole tasks tie (few examples with equal weights) the
    normal probability is too kind: half of the ties count as right.

    Parameters
    ----------
    subsets : iterable of Subset
    difference : float
        The difference that matters, a fraction.
    probability : float
        The wanted probability that the order is right, above one half.

    Returns
    -------
    DataFrame
        A row for each subset and `target` ("inside": models within the range of the sources;
        "above": the best sources, held out): method, size, share (of the full run), target,
        `probability` that a pair `difference` apart is ordered rightly, `detectable` (the smallest
        difference that reaches the wanted probability), enough (bool), n_models.

    Raises
    ------
    ValueError
        If the difference or the probability is not possible.
    """
    _check(difference, probability)
    groups: dict[tuple[str, ...], list[_Measured]] = defaultdict(list)
    for subset in subsets:
        made = subset.provenance
        for found in _measured(subset):
            key = found.target, str(made.benchmark), made.method, str(made.options)
            groups[key].append(found)
    rows = []
    for some in groups.values():
        for found, spread in zip(some, _spreads(some), strict=True):
            made = found.subset.provenance
            rows.append(
                {
                    **_who(made.method, made.size, made.n_items, found.target),
                    "probability": float(norm.cdf(difference / spread)) if spread else 1.0,
                    "detectable": float(norm.ppf(probability)) * spread,
                    "n_models": found.n_models,
                }
            )
    return _finish(rows, probability)


class _Measured(NamedTuple):
    """One subset's measured error of the difference of two models, for one kind of target."""

    subset: Subset
    target: str
    difference_rms: float
    n_pairs: int
    n_models: int


def _measured(subset: Subset) -> Iterator[_Measured]:
    reliability = subset.reliability
    if reliability is None:
        return
    for target, found in (("inside", reliability.inside), ("above", reliability.above)):
        if found.difference_rms is not None:
            yield _Measured(
                subset, target, found.difference_rms, found.n_pairs, reliability.n_models
            )


def _spreads(measured: Sequence[_Measured]) -> list[float]:
    """Return the errors of differences of one method's subsets, none above a smaller size's."""
    falls = IsotonicRegression(increasing=False)
    smooth = falls.fit_transform(
        [x.subset.size for x in measured],
        [x.difference_rms**2 for x in measured],
        sample_weight=[max(x.n_pairs, 1) for x in measured],
    )
    return [math.sqrt(x) for x in smooth]


def plan_study(
    result: StudyResult, difference: float, probability: float = PROBABILITY
) -> pd.DataFrame:
    """Return the same table from a study: its agreement curve, made to rise with the difference.

    The share of agreeing pairs in each bin of differences is smoothed by isotonic regression,
    weighted by the number of pairs; a tie in the estimate counts as wrong, as in the study. For
    the items that the subsets were chosen from, or the whole benchmark.

    Raises
    ------
    ValueError
        If the difference or the probability is not possible, or the study checked one subset.
    """
    _check(difference, probability)
    if "target_mode" not in result.settings:
        raise ValueError("study: a check of one subset; give a study of methods and sizes")
    target = _MODE_KINDS[str(result.settings["target_mode"])]
    curve = result.pairs()
    curve = curve[curve["reference"] != "unseen"]
    n_items = int(result.settings["n_items"])
    rows = []
    keys = ["method", "n_sources", "size"]
    for (method, n_sources, size), bins in curve.groupby(keys, sort=False, observed=True):
        middle = (bins["bin_low"] + bins["bin_high"]).to_numpy() / 2
        rises = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        smooth = rises.fit_transform(middle, bins["agreement"], sample_weight=bins["pairs"])
        reached = smooth >= probability
        lowest = float(bins["bin_low"].to_numpy()[reached.argmax()]) if reached.any() else math.nan
        rows.append(
            {
                **_who(str(method), int(size), n_items, target),
                "probability": float(rises.predict([difference])[0]),
                "detectable": lowest,
                "n_models": int(n_sources),
            }
        )
    return _finish(rows, probability)


def smallest(table: pd.DataFrame) -> pd.DataFrame:
    """Return the size of each method and target from which on every size is enough, or NaN.

    One that is enough while a larger is not was lucky in a measurement. Where a size occurs more
    than once (numbers of sources, labels), all of them must be enough.
    """
    rows = []
    for (method, target), some in table.groupby(["method", "target"], sort=False):
        failing = some["size"][~some["enough"]].max()
        enough = some["size"][~(some["size"] <= failing)]
        size = float(enough.min()) if len(enough) else math.nan
        rows.append({"method": method, "target": target, "size": size})
    found: pd.DataFrame = pd.DataFrame(rows, columns=["method", "target", "size"])
    return found


def _who(method: str, size: int, n_items: int, target: str) -> dict[str, Any]:
    return {"method": method, "size": size, "share": size / n_items, "target": target}


def _finish(rows: list[dict[str, Any]], probability: float) -> pd.DataFrame:
    columns = ["method", "size", "share", "target", "probability", "detectable", "n_models"]
    table = pd.DataFrame(rows, columns=columns)
    table["enough"] = table["probability"] >= probability
    # `random` first: it is what every other method must beat.
    first = table["method"] != "random"
    order = [first, table["method"], table["target"] == "above", table["size"]]
    rows_in_order = np.lexsort([np.asarray(x) for x in reversed(order)])
    ordered: pd.DataFrame = table.iloc[rows_in_order].reset_index(drop=True)
    return ordered


def _check(difference: float, probability: float) -> None:
    if not 0 < difference <= 1:
        raise ValueError(f"difference: {difference}; give a fraction, such as 0.02 for 2 points")
    if not 0.5 < probability < 1:
        raise ValueError(f"probability: {probability}; give a fraction between 0.5 and 1")
