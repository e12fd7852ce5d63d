"""Selection methods: one file each; importing this package registers all of them."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from lm_microbench.methods.base import REGISTRY, Choice, Method, generator, get_method
from lm_microbench.responses import ResponseMatrix
from lm_microbench.subset import Subset

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["Choice", "Method", "generator", "get_method", "method_names", "select"]


def method_names() -> list[str]:
    """Return the names of all methods, sorted."""
    return sorted(REGISTRY)


def select(
    source: ResponseMatrix, method: str | Method, size: int, *, seed: int = 0, **options: Any
) -> Subset:
    """Return the subset of `size` items that a method chooses from the source models' answers.

    Parameters
    ----------
    source : ResponseMatrix
        Answers of the source models to all items.
    method : str or Method
        A name (see `method_names`), or a method with its options.
    size : int
        Number of items.
    seed : int
        The same seed gives the same subset, on any machine.
    **options
        The method's options, where it is given by name.

    Raises
    ------
    KeyError
        For an unknown method or option.
    ValueError
        If the size, the seed or an option's value is not possible, or options are given for a
        method that has its own.
    """
    if isinstance(method, Method) and options:
        raise ValueError(f"options: {', '.join(options)}; a method that is made has its own")
    chosen = method if isinstance(method, Method) else get_method(method, **options)
    subset = chosen.select(source, size, rng=generator(seed))
    return subset.with_(provenance=subset.provenance.model_copy(update={"seed": seed}))
