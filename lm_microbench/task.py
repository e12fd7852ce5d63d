"""MicroTask: the lm_eval task that runs a subset of another task, item for item as the full run."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lm_eval.api.instance import Instance
from lm_eval.api.task import Task
from lm_eval.config.task import TaskConfig

from lm_microbench.benchmark import load_benchmark
from lm_microbench.leaves import load_leaves
from lm_microbench.places import MicroDocument, Place, Places
from lm_microbench.readers.samples import ROW_KEY
from lm_microbench.replay import Replay
from lm_microbench.subset import Subset

ESTIMATE = "full_estimate"
NOT_AVAILABLE = "N/A"

log = logging.getLogger(__name__)


class MicroTask(Task):  # type: ignore[misc]
    """One task over the chosen items of a base task or group.

    The leaf task that owns a document builds its prompt, its requests and its score, so each is
    identical to the full run's. Made by lm_eval from `<task name>.yaml`; the subset's manifest is
    `<task name>.json` beside it.

    Parameters
    ----------
    config : mapping
        What lm_eval read from the YAML file; `metadata.config_source` is that file's path.

    Raises
    ------
    ValueError
        If the manifest is wrong, the data set changed, or the leaf tasks cannot run as one.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Load the manifest, the leaf tasks it needs and the chosen documents."""
        metadata = dict(config.get("metadata") or {})
        path = Path(metadata["config_source"]).with_suffix(".json")
        self.subset = Subset.load(path)
        if self.subset.documents is None or self.subset.provenance.benchmark is None:
            raise ValueError(f"{path}: not built for a benchmark; build it with --benchmark")
        self.benchmark = load_benchmark(self.subset.provenance.benchmark, beside=path.parent)
        names = sorted(set(self.subset.documents.tasks))
        self._leaves = load_leaves(self.benchmark, names, metadata)
        self.VERSION = metadata.get("version")
        self._check_leaves(path)
        self._places = Places(self.benchmark, self.subset, self.subset.documents, self._leaves)
        self._replay = Replay()
        self._requests: dict[str, list[Instance]] = defaultdict(list)
        self._instances: list[Instance] | None = None
        self._estimates = True
        self._config = self._make_config(str(config["task"]), metadata)

    # ---- what is run ----------------------------------------------------------------------------

    def _check_leaves(self, path: Path) -> None:
        """Refuse leaf tasks whose results cannot be put in one table."""
        kinds = {leaf.OUTPUT_TYPE for leaf in self._leaves.values()}
        filters = {tuple(f.name for f in leaf._filters) for leaf in self._leaves.values()}
        if len(kinds) > 1 or len(filters) > 1:
            raise ValueError(
                f"{path}: the leaf tasks of {self.benchmark.name} differ in output type or filters "
                f"({sorted(map(str, kinds))}, {sorted(filters)}); they cannot run as one task"
            )
        metric = self.benchmark.metric
        lacking = next((n for n, x in self._leaves.items() if metric not in x.aggregation()), None)
        if lacking is not None:
            raise ValueError(f"{path}: {lacking} has no metric {metric!r}; see benchmark.yaml")
        self.OUTPUT_TYPE = kinds.pop()
        if self.subset.estimator.reads != "score" and self.OUTPUT_TYPE != "multiple_choice":
            raise ValueError(
                f"{path}: the estimate is made of confidences, which {self.benchmark.name} "
                f"({self.OUTPUT_TYPE}) has none of; build it with estimate=score"
            )
        self._filters = self._first._filters
        self.UNSAFE_CODE = any(getattr(x, "UNSAFE_CODE", False) for x in self._leaves.values())
        self.MULTIMODAL = any(getattr(x, "MULTIMODAL", False) for x in self._leaves.values())

    def _make_config(self, name: str, metadata: dict[str, Any]) -> TaskConfig:
        """Return the configuration that lm_eval sees and writes to the results file."""
        base = self._first.config
        shots = [x.config.num_fewshot for x in self._leaves.values()]
        provenance = self.subset.provenance
        described = {
            "benchmark": provenance.benchmark,
            "method": provenance.method,
            "size": provenance.size,
            "n_items": provenance.n_items,
        }
        return TaskConfig(
            task=name,
            output_type=self.OUTPUT_TYPE,
            num_fewshot=next((n for n in shots if n), shots[0]),
            generation_kwargs=dict(base.generation_kwargs) if base.generation_kwargs else None,
            repeats=base.repeats,
            metadata={**metadata, ROW_KEY: described},
        )

    @property
    def _first(self) -> Task:
        return next(iter(self._leaves.values()))

    @property
    def eval_docs(self) -> list[MicroDocument]:
        """The chosen documents, with the item's name and weight added."""
        return self._places.documents()

    def build_all_requests(
        self,
        *,
        limit: int | None = None,
        samples: list[int] | None = None,
        world_size: int = 1,
        cache_requests: bool = False,
        rewrite_requests_cache: bool = False,
        **kwargs: Any,
    ) -> None:
        """Build the requests of this rank's documents, as lm_eval does.

        Raises
        ------
        ValueError
            If there are fewer documents than ranks: lm_eval would fail later, with less to say.
        """
        total = len(self._places)
        used = len(set(samples)) if samples else min(limit or total, total)
        if used < world_size:
            raise ValueError(
                f"{self.task_name}: {used} items for {world_size} ranks; "
                f"use at most {used} processes"
            )
        self._estimates = used == total
        if not self._estimates:
            log.warning(
                "%s: --limit or --samples leaves %d of %d items; no %s is reported",
                self.task_name, used, total, ESTIMATE,
            )  # fmt: skip
        if cache_requests or rewrite_requests_cache:
            log.warning(
                "%s: --cache_requests is ignored; its cache would mix subsets", self.task_name
            )
        self._requests.clear()
        super().build_all_requests(limit=limit, samples=samples, world_size=world_size, **kwargs)

    def fewshot_context(self, doc: Mapping[str, Any], num_fewshot: int, **kwargs: Any) -> Any:
        """Return the prompt that the leaf task builds, with the leaf's own number of shots."""
        place = self._places.of(doc)
        shots = place.leaf.config.num_fewshot or 0
        self._replay.up_to(place, shots, kwargs)
        return place.leaf.fewshot_context(place.document, num_fewshot=shots, **kwargs)

    def construct_requests(self, doc: Mapping[str, Any], ctx: Any, **kwargs: Any) -> list[Instance]:
        """Return the requests that the leaf task makes, under this task's name."""
        place = self._places.of(doc)
        name, doc_id, _ = kwargs.pop("metadata")
        requests = place.leaf.construct_requests(
            doc=place.document,
            ctx=ctx,
            metadata=(name, doc_id, place.leaf.config.repeats),
            **kwargs,
        )
        requests = requests if isinstance(requests, list) else [requests]
        place.requests = requests
        self._requests[place.leaf.task_name].extend(requests)
        return requests

    def apply_filters(self) -> None:
        """Let every leaf task filter the responses to its own requests."""
        for name, requests in self._requests.items():
            self._leaves[name]._instances = requests
            self._leaves[name].apply_filters()

    # ---- what comes out -------------------------------------------------------------------------

    def process_results(self, doc: Mapping[str, Any], results: Any) -> dict[str, Any]:
        """Return the leaf task's metrics and, for the estimate, the item's place and answer."""
        place = self._places.of(doc)
        metrics = dict(place.leaf.process_results(place.document, results))
        if self._estimates and self.benchmark.metric in metrics:
            answer = (place.index, *self._answer(place, metrics, results))
            metrics |= {ESTIMATE: answer, f"{ESTIMATE}_stderr": answer}
        return metrics

    def _answer(self, place: Place, metrics: Mapping[str, Any], results: Any) -> tuple[float, ...]:
        """Return what the estimator reads of an item: its score, the confidence, or both."""
        score = float(metrics[self.benchmark.metric])
        if self.subset.estimator.reads == "score":
            return (score,)
        confidence = place.confidence(results, metrics.get("acc"))
        return (confidence,) if self.subset.estimator.reads == "confidence" else (score, confidence)

    def aggregation(self) -> dict[str, Callable[..., Any]]:
        """Return the leaf's aggregations and those of the estimate and its standard error.

        lm_eval has no hook for the standard error of a custom aggregation; a metric named
        `<metric>_stderr` takes its place in the results table.
        """
        return {
            **self._first.aggregation(),
            ESTIMATE: lambda answers: self._summary(answers, self._estimate),
            f"{ESTIMATE}_stderr": lambda answers: self._summary(answers, self._standard_error),
        }

    def higher_is_better(self) -> dict[str, bool]:
        """Return the leaf's directions; the estimate has that of its metric."""
        base = dict(self._first.higher_is_better())
        return {**base, ESTIMATE: base.get(self.benchmark.metric, True)}

    def _summary(
        self, answers: Sequence[tuple[float, ...]], value: Callable[[Any], float]
    ) -> float | str:
        """Return a number made of the answers put in the order of the subset's items.

        Answers come in any order (ranks are gathered one after another). A confidence beside a
        score may be unknown.
        """
        kinds = 2 if self.subset.estimator.reads == "both" else 1
        table = np.full((self.subset.size, kinds), np.nan)
        for index, *read in answers:
            table[int(index)] = read
        number = np.nan if np.isnan(table[:, 0]).any() else value(table.T.ravel())
        return float(number) if np.isfinite(number) else NOT_AVAILABLE

    def _estimate(self, scores: Any) -> float:
        raw = float(self.subset.raw_estimate(scores)[0])
        clipped = float(self.subset.estimate(scores)[0])
        if clipped != raw:
            log.warning(
                "%s: the estimate %.4f is outside [0, 1] and reported as %.0f",
                self.task_name, raw, clipped,
            )  # fmt: skip
        return clipped

    def _standard_error(self, scores: Any) -> float:
        return float(self.subset.standard_error(scores)[0])

    # ---- settings that belong to the leaves -----------------------------------------------------

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Set a value here and in every leaf; a leaf that fixes 0 shots keeps them."""
        super().set_config(key, dict(value) if update else value, update)
        for leaf in self._leaves.values():
            if key == "num_fewshot" and leaf.get_config("num_fewshot") == 0:
                continue
            leaf.set_config(key, dict(value) if update else value, update)

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Seed the few-shot samplers of all leaves, as for the full run."""
        self._replay.restart()
        for leaf in self._leaves.values():
            leaf.set_fewshot_seed(seed)

    def override_metric(self, metric_name: str) -> None:
        """Set the metric of all leaves (lm_eval does, for --predict_only); no estimate then."""
        for leaf in self._leaves.values():
            leaf.override_metric(metric_name)

    @property
    def _metric_fn_list(self) -> dict[str, Any]:
        """lm_eval looks here for "bypass"."""
        return dict(getattr(self._first, "_metric_fn_list", {}))

    def doc_to_text(self, doc: Mapping[str, Any], *args: Any) -> Any:
        """Return what the leaf task returns."""
        place = self._places.of(doc)
        return place.leaf.doc_to_text(place.document, *args)

    def doc_to_target(self, doc: Mapping[str, Any], *args: Any) -> Any:
        """Return what the leaf task returns."""
        place = self._places.of(doc)
        return place.leaf.doc_to_target(place.document, *args)

    def doc_to_prefix(self, doc: Mapping[str, Any]) -> Any:
        """Return what the leaf task returns."""
        place = self._places.of(doc)
        return place.leaf.doc_to_prefix(place.document)

    def has_training_docs(self) -> bool:
        """Return False: shots come from the leaves."""
        return False

    def has_validation_docs(self) -> bool:
        """Return False: shots come from the leaves."""
        return False

    def has_test_docs(self) -> bool:
        """Return True: the chosen documents."""
        return True

    def test_docs(self) -> list[MicroDocument]:
        """Return the chosen documents."""
        return self.eval_docs
