"""Small subsets, and what is measured of them, for tests."""

from lm_microbench.held_out import HeldOut, Reliability


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
