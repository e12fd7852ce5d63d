"""Many files at once: one process each, results in order, progress in bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed

SMALL = 32 << 20
Progress = Callable[[int, int], None]
T = TypeVar("T")


def in_parallel(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    sizes: Sequence[int],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[T]:
    """Return `function(*task, advance)` of every task, in order.

    Parameters
    ----------
    tasks : sequence of tuples of arguments
    sizes : sequence of int
        Bytes that each task reads.
    jobs : int
        Processes, -1 for one a core. With one, one task, or little to read (starting processes
        would take longer), all is done here, and progress is told within a file.
    progress : function of (bytes done, bytes in all), optional
    """
    tell = progress or (lambda done, total: None)
    total = sum(sizes)
    if jobs == 1 or len(tasks) < 2 or total < SMALL:
        return _here(function, tasks, sizes, tell, total)
    done, results = 0, []
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    for size, result in zip(
        sizes, parallel(delayed(function)(*task, None) for task in tasks), strict=True
    ):
        results.append(result)
        done += size
        tell(done, total)
    return results


def _here(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    sizes: Sequence[int],
    tell: Progress,
    total: int,
) -> list[T]:
    results, before = [], 0
    for task, size in zip(tasks, sizes, strict=True):
        within = 0

        def advance(n: int, before: int = before, size: int = size) -> None:
            nonlocal within
            within += n
            tell(before + min(within, size), total)

        results.append(function(*task, advance))
        before += size
        tell(before, total)
    return results
