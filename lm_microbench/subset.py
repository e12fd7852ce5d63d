"""Subset: chosen items, how answers to them estimate the full score, and their provenance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)

from lm_microbench import files
from lm_microbench.benchmark import one_line
from lm_microbench.estimators import Array, Estimator
from lm_microbench.held_out import Reliability
from lm_microbench.items import Location
from lm_microbench.responses import ResponseMatrix

SCHEMA_VERSION = 1


class NewerSchemaError(ValueError):
    """A manifest that a later version wrote; it is whole, but cannot be read."""


class Documents(BaseModel):
    """Where the chosen items' documents were when the subset was built; one entry an item.

    Parameters
    ----------
    tasks : tuple of str
        Leaf task that owns each document.
    positions : tuple of int
        Position of each document within its leaf task.
    contents : tuple of str
        Hash of each document's content (see `Benchmark.content_hash`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    tasks: tuple[str, ...]
    positions: tuple[NonNegativeInt, ...]
    contents: tuple[str, ...]

    @classmethod
    def of(cls, locations: tuple[Location, ...]) -> Documents:
        """Return the documents of the given items."""
        return cls(
            tasks=tuple(x.task for x in locations),
            positions=tuple(x.position for x in locations),
            contents=tuple(x.content for x in locations),
        )


class Provenance(BaseModel):
    """Where a subset comes from; enough to make it again."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    method: str
    options: dict[str, Any] = Field(default_factory=dict)
    size: int
    seed: int | None = None
    benchmark: str | None = None
    n_items: int
    sources: tuple[str, ...] = ()
    source_sha256: str | None = None
    package_version: str
    date: str | None = None


class Subset(BaseModel):
    """Chosen items of a benchmark with the estimator of its full score; immutable.

    Parameters
    ----------
    items : tuple of str
        Distinct item names, sorted.
    estimator : Estimator
        Numbers that turn answers to `items`, in that order, into an estimate.
    provenance : Provenance
    documents : Documents, optional
        Known once the subset was built for a benchmark that lm_eval can run.
    reliability : Reliability, optional
        How far the subset can be trusted, as measured when it was built; None (`{}` in the
        manifest) where no source models' answers were there to measure it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_version: int = SCHEMA_VERSION
    items: tuple[str, ...] = Field(min_length=1)
    estimator: Estimator
    provenance: Provenance
    documents: Documents | None = None
    reliability: Reliability | None = None

    @field_validator("reliability", mode="before")
    @classmethod
    def _measured(cls, value: Any) -> Any:
        return None if value == {} else value

    @field_serializer("reliability", mode="wrap")
    def _written(self, value: Any, handler: SerializerFunctionWrapHandler) -> Any:
        return {} if value is None else handler(value)

    @model_validator(mode="after")
    def _consistent(self) -> Subset:
        twice = next((item for item, n in Counter(self.items).items() if n > 1), None)
        if twice is not None:
            raise ValueError(f"item {twice!r} occurs twice")
        if list(self.items) != sorted(self.items):
            raise ValueError("items are not sorted")
        if self.estimator.size != len(self.items):
            raise ValueError(f"{self.estimator.size} weights for {len(self.items)} items")
        for name, values in self.documents or ():
            if len(values) != len(self.items):
                raise ValueError(f"documents.{name}: {len(values)} for {len(self.items)} items")
        if not self.provenance.size == len(self.items) <= self.provenance.n_items:
            raise ValueError(
                f"{len(self.items)} items, but provenance says {self.provenance.size} of "
                f"{self.provenance.n_items}"
            )
        return self

    @property
    def size(self) -> int:
        """Number of chosen items."""
        return len(self.items)

    @property
    def n_answers(self) -> int:
        """Number of answers that the estimator reads of a model: one an item, or two."""
        return self.size * (2 if self.estimator.reads == "both" else 1)

    def answers(self, matrix: ResponseMatrix) -> Array:
        """Return what the estimator reads of models: their answers to `items`.

        Their scores, shape (n_models, n_chosen), or their confidences where the estimate is made of
        those; the scores followed by the confidences, (n_models, 2 n_chosen), where of both. NaN
        where an answer is missing, or a confidence beside a score is not known.

        Raises
        ------
        KeyError
            If the matrix lacks an item.
        ValueError
            If it has no confidences and the estimator reads them.
        """
        taken = matrix.take(items=self.items)
        scores = np.asarray(taken.scores, dtype=np.float64)
        if self.estimator.reads == "score":
            return scores
        if taken.confidence is not None:
            confidence = np.asarray(taken.confidence, dtype=np.float64)
        elif self.estimator.reads == "both":
            confidence = np.full_like(scores, np.nan)
        else:
            raise ValueError(
                "matrix: no confidences, of which the subset's estimate is made; "
                "build it with estimate=score"
            )
        return (
            confidence if self.estimator.reads == "confidence" else np.hstack([scores, confidence])
        )

    def lacks_confidences(self, matrix: ResponseMatrix) -> bool:
        """Return whether confidences would be read beside scores, and some are not known."""
        if self.estimator.reads != "both":
            return False
        scores, confidences = np.hsplit(self.answers(matrix), 2)
        return bool((np.isnan(confidences) & ~np.isnan(scores)).any())

    def estimate(self, scores: npt.ArrayLike) -> Array:
        """Return the estimated full score of each model, clipped to [0, 1], shape (n_models,).

        Parameters
        ----------
        scores : array, shape (n_models, n_answers) or (n_answers,)
            Answers to `items`, in that order (see `answers`); NaN where one is missing.
        """
        return np.clip(self.raw_estimate(scores), 0.0, 1.0)

    def raw_estimate(self, scores: npt.ArrayLike) -> Array:
        """Return the estimate before clipping; a regression can leave [0, 1]."""
        return self.estimator.estimate(self._checked(scores))

    def standard_error(self, scores: npt.ArrayLike) -> Array:
        """Return each estimate's standard error, shape (n_models,); NaN where none is known.

        By design where the items are a probability sample. Otherwise the root mean square error
        measured on the source models when the subset was built (`reliability`): of models inside
        the range of the sources, or, where the estimate lies above the best source, the larger of
        that and the error of the best sources held out. An estimator that has a standard error
        under its own model gets the larger of the two.
        """
        answers = self._checked(scores)
        own = self.estimator.standard_error(answers)
        if self.estimator.knows_its_error or self.reliability is None:
            return own
        measured = self.reliability.error(self.estimator.estimate(answers), "error_rms")
        return np.asarray(np.fmax(own, measured))

    def weights(self) -> Array:
        """Return the weight of each item in the estimate, shape (n_chosen,)."""
        return self.estimator.item_weights()

    def with_(self, **changes: Any) -> Subset:
        """Return a copy with some fields changed, checked again."""
        return type(self)(**{**dict(self), **changes})

    def save(self, path: Path | str) -> None:
        """Write the manifest: JSON with one line for each part, atomically."""
        files.write_text(Path(path), self.to_json())

    def to_json(self) -> str:
        """Return the manifest's text."""
        lines = [
            f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}"
            for key, value in self.model_dump(mode="json").items()
        ]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def load(cls, path: Path | str) -> Subset:
        """Return the subset that a manifest holds.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is not valid JSON, has a newer schema, or its content is wrong.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such manifest; `lm-microbench build` writes one")
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: not a JSON file ({one_line(error)})") from None
        if not isinstance(raw, Mapping) or "schema_version" not in raw:
            raise ValueError(f"{path}: not a manifest of lm-microbench (no schema_version)")
        version = raw["schema_version"]
        if type(version) is not int or version < 1:
            raise ValueError(f"{path}: schema_version {version!r} is not a whole number from 1 up")
        if version > SCHEMA_VERSION:
            raise NewerSchemaError(
                f"{path}: schema_version {version} is newer than this version reads "
                f"({SCHEMA_VERSION}); upgrade lm-microbench"
            )
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise ValueError(f"{path}: {one_line(error)}; build the subset again") from None

    def _checked(self, scores: npt.ArrayLike) -> Array:
        answers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        both = self.estimator.reads == "both"
        if answers.ndim != 2 or answers.shape[1] != self.n_answers:
            columns = f"{self.size} scores, in the order of `items`"
            more = f", then their {self.size} confidences (see `Subset.answers`)" if both else ""
            raise ValueError(f"scores: shape {answers.shape}; give {columns}{more}")
        return answers
