"""MicrobenchCallback: micro-tasks on the live model, while `transformers.Trainer` trains it."""

from __future__ import annotations

import copy
import logging
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from transformers import TrainerCallback
from transformers.trainer_callback import CallbackHandler

from lm_microbench.benchmark import Benchmark, load_benchmark
from lm_microbench.folders import task_folders
from lm_microbench.history import Point, history, load_points, numbers, save_history, save_points
from lm_microbench.readers.samples import ROW_KEY
from lm_microbench.registry import find_subset
from lm_microbench.subset import Subset
from lm_microbench.task import ESTIMATE

POINTS_FILE = "points.json"

log = logging.getLogger(__name__)


class MicrobenchCallback(TrainerCallback):  # type: ignore[misc]
    """A callback that evaluates the model on micro-tasks while it is trained.

    Logs, to the trainer's own loggers and to `state.log_history`, for each task
    `eval_<task>_estimate` and `_standard_error` (of the full score, fractions), and
    `_better_than_last` and `_better_than_best`: the probability that the model is better than at
    the last evaluation, and than at the best one so far (see `history.history`). Keeps the same in
    `history.csv`. Model, modes and random states are left as they were, and an evaluation that
    fails is a warning, never the end of the training.

    With several processes each evaluates its copy of the model; the main one logs.

    Parameters
    ----------
    tasks : sequence of str
        Names of micro-tasks.
    every : int, optional
        Evaluate every so many steps. Default: each time a checkpoint is saved.
    at_start : bool
        Also evaluate before the first step.
    batch_size : int
    tokenizer : optional
        Default: the trainer's `processing_class`.
    options : mapping, optional
        More arguments of `lm_eval.simple_evaluate`, such as `apply_chat_template=True`.
    output : path, optional
        Folder of `history.csv`; default: `microbench_callback` in the trainer's output folder. A
        training that is resumed continues it.

    Raises
    ------
    KeyError
        For an unknown task, with the nearest names.
    ValueError
        If no task is given or `every` is not positive.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        every: int | None = None,
        at_start: bool = False,
        batch_size: int = 8,
        tokenizer: Any = None,
        options: Mapping[str, Any] | None = None,
        output: Path | str | None = None,
    ) -> None:
        """Find the tasks; a wrong name is an error now and not in the middle of the training."""
        if isinstance(tasks, str) or not tasks:
            raise ValueError(f"tasks: {tasks!r}; give a list of micro-tasks' names")
        if every is not None and every < 1:
            raise ValueError(f"every: {every}; give a number of steps, or None for each save")
        self.tasks = tuple(tasks)
        self.every = every
        self.at_start = at_start
        self.batch_size = batch_size
        self.tokenizer = tokenizer
        self.options = dict(options or {})
        self.output = None if output is None else Path(output)
        self._subsets: dict[str, Subset] = {task: find_subset(task) for task in self.tasks}
        self._benchmarks: dict[str, Benchmark] = {
            task: load_benchmark(str(subset.provenance.benchmark))
            for task, subset in self._subsets.items()
        }
        self._points: list[Point] = []
        self._manager: Any = None
        self._tokenizer: Any = None

    # ---- events of the trainer ------------------------------------------------------------------

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Continue the history of a training that is resumed; evaluate first if asked to."""
        try:
            saved = load_points(self._folder(args) / POINTS_FILE) if state.global_step else []
        except (OSError, ValueError) as error:
            log.warning("the history is begun anew: %s", error)
            saved = []
        earlier = [x for x in saved if (x.step or 0) <= state.global_step]
        self._points = [x for x in earlier if self._fits(x)]
        if len(self._points) < len(earlier):
            log.warning("answers of other tasks or subsets in the history are left out")
        if self.every is None and str(getattr(args.save_strategy, "value", "")) == "no":
            log.warning("no checkpoint is saved, so none is evaluated; give `every`")
        if self.at_start and state.global_step == 0:
            self._evaluate(args, state, control, **kwargs)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate every so many steps."""
        if self.every is not None and state.global_step % self.every == 0:
            self._evaluate(args, state, control, **kwargs)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate each checkpoint that is saved, unless steps are counted."""
        if self.every is None:
            self._evaluate(args, state, control, **kwargs)

    def _fits(self, point: Point) -> bool:
        """Return whether a point holds as many answers as its task has now."""
        subset = self._subsets.get(point.task)
        return subset is not None and len(point.scores) == subset.n_answers

    # ---- one evaluation -------------------------------------------------------------------------

    def _evaluate(
        self,
        args: Any,
        state: Any,
        control: Any,
        model: Any,
        processing_class: Any = None,
        **_: Any,
    ) -> None:
        """Evaluate, log and note the result; whatever fails is a warning."""
        handler = _calling_handler()
        try:
            with unchanged(model):
                results = self._run(model, self.tokenizer or processing_class)
            if results is not None and state.is_world_process_zero:
                table = self._note(results, args, state)
                self._log(table, args, state, control, handler)
        except Exception as error:
            log.warning(
                "step %d: the evaluation failed and is skipped: %r", state.global_step, error
            )

    def _run(self, model: Any, tokenizer: Any) -> Any:
        """Return lm_eval's results; None in a process that is not its node's first."""
        import lm_eval
        from lm_eval.models.huggingface import HFLM
        from lm_eval.tasks import TaskManager

        if tokenizer is None:
            raise ValueError("the trainer has no processing_class; give `tokenizer`")
        if self._manager is None:
            folders = [str(folder) for folder in task_folders()]
            self._manager = TaskManager(include_defaults=False, include_path=folders)
            # lm_eval sets padding on the tokenizer it is given.
            self._tokenizer = copy.deepcopy(tokenizer)
        language_model = HFLM(
            pretrained=model, tokenizer=self._tokenizer, batch_size=self.batch_size
        )
        return lm_eval.simple_evaluate(
            model=language_model,
            tasks=list(self.tasks),
            task_manager=self._manager,
            **{"bootstrap_iters": 0, **self.options, "log_samples": True},
        )

    def _note(self, results: Mapping[str, Any], args: Any, state: Any) -> pd.DataFrame:
        """Add the answers to the history, write it and return it."""
        name = f"checkpoint-{state.global_step}"
        for task, subset in self._subsets.items():
            scores = scores_of(results["samples"][task], subset, self._benchmarks[task])
            self._points.append(Point(name, task, scores))
        save_points(self._points, self._folder(args) / POINTS_FILE)
        table = history(self._points, self._subsets)
        save_history(table, self._folder(args))
        return table

    def _log(
        self,
        table: pd.DataFrame,
        args: Any,
        state: Any,
        control: Any,
        handler: CallbackHandler | None,
    ) -> None:
        """Log the newest numbers as `Trainer.log` does."""
        rows = table.tail(len(self._subsets)).to_dict("records")
        logs = {
            f"eval_{row['task']}_{name}": value
            for row in rows
            for name, value in numbers(row).items()
        }
        state.log_history.append({**logs, "step": state.global_step, "epoch": state.epoch})
        if handler is not None:
            wanted = control.should_log  # `on_log` takes it back, and the loss has yet to be logged
            handler.on_log(args, state, control, logs)
            control.should_log = wanted

    def _folder(self, args: Any) -> Path:
        return self.output or Path(args.output_dir) / "microbench_callback"


def scores_of(
    rows: Sequence[Mapping[str, Any]], subset: Subset, benchmark: Benchmark
) -> tuple[float, ...]:
    """Return the answers in lm_eval's sample rows of a micro-task, as `Subset.answers` would.

    Raises
    ------
    ValueError
        If an item has no answer (as with `limit`).
    """
    found = {
        row["doc"][ROW_KEY]["item"]: row[ESTIMATE][1:]
        for row in rows
        if row["filter"] == benchmark.filter and ESTIMATE in row
    }
    missing = next((item for item in subset.items if item not in found), None)
    if missing is not None:
        raise ValueError(f"item {missing!r} was not answered; evaluate without a limit")
    kinds = zip(*(found[item] for item in subset.items), strict=True)
    return tuple(float(answer) for kind in kinds for answer in kind)


def _calling_handler() -> CallbackHandler | None:
    """Return the trainer's callback handler, which is calling us.

    The trainer hands its callbacks no way to its loggers (they are callbacks themselves), so it is
    looked for among the callers.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        owner = frame.f_locals.get("self")
        if isinstance(owner, CallbackHandler):
            return owner
    return None


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Give back the model's modes, gradient flags and cache setting, and all random states."""
    modes = [(module, module.training) for module in model.modules()]
    flags = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    config = getattr(model, "config", None)
    cache = getattr(config, "use_cache", None)
    python, legacy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
        for parameter, flag in flags:
            parameter.requires_grad_(flag)
        if config is not None and hasattr(config, "use_cache"):
            config.use_cache = cache
        random.setstate(python)
        np.random.set_state(legacy)
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
