"""Makes plain `lm_eval` find our tasks; run by `lm_microbench_autoload.pth` at interpreter start.

Nothing heavy is imported here: a finder waits for the first import of `lm_eval.tasks`, takes
itself away, and lets every `TaskManager` that indexes lm_eval's own tasks index ours too.
"""

from __future__ import annotations

import functools
import logging
import sys
from typing import Any

WATCHED = "lm_eval.tasks"


class Finder:
    """An import finder that acts once, on the import of `lm_eval.tasks`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the module's ordinary spec, with our change made after it is executed."""
        if name != WATCHED:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            _after(spec.loader)
        return spec


def install() -> None:
    """Put the finder in place, unless it is or `lm_eval.tasks` is already imported."""
    if WATCHED in sys.modules or any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, Finder())


def extend(manager_class: type) -> None:
    """Make every new manager that indexes lm_eval's own tasks index ours."""
    original = manager_class.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        # Third positional parameter: verbosity, include_path, include_defaults.
        if kwargs.get("include_defaults", args[2] if len(args) > 2 else True):
            _add(self)

    manager_class.__init__ = __init__  # type: ignore[misc]


def _add(manager: Any) -> None:
    try:
        from lm_microbench.registry import add_tasks

        add_tasks(manager)
    except Exception as error:
        # lm_eval must go on without us, but not in silence.
        logging.getLogger(__name__).warning("micro-benchmarks were not registered: %s", error)


def _after(loader: Any) -> None:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        extend(module.TaskManager)

    loader.exec_module = exec_module
