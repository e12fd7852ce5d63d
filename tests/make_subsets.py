"""Small subsets, and what is measured of them, for tests."""

from lm_microbench.estimators import LinearEstimator
from lm_microbench.held_out import HeldOut, Reliability
from lm_microbench.subset import Provenance, Subset


def held_out(**known):
    """Return an error on held-out models of which only some figures are known."""
    figures = ("error_rms", "error_mean_absolute", "difference_rms", "agreement", "mdad")
    counts = {"n_targets": 0, "n_estimates": 0, "n_pairs": 0}
    return HeldOut(**counts | dict.fromkeys(figures) | known)


def reliability(source_range=(0, 1), *, inside=None, above=None, n_models=20):
    """Return a reliability; `inside` and `above` are the figures that are known."""
    return Reliability(
        n_models=n_models,
        source_range=source_range,
        inside=held_out(**inside or {}),
        above=held_out(**above or {}),
    )


def measured(method, size, inside, above=None):
    """Return a subset of 1,000 items with the root mean square errors of differences given."""
    above = {} if above is None else {"difference_rms": above}
    return Subset(
        items=tuple(f"i{i:03}" for i in range(size)),
        estimator=LinearEstimator(weights=(1 / size,) * size),
        provenance=Provenance(method=method, size=size, n_items=1000, package_version="0"),
        reliability=reliability(inside={"difference_rms": inside}, above=above),
    )
