"""Places: the chosen items of a micro-task, each with its leaf task and its document there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import Task

from lm_microbench.benchmark import Benchmark
from lm_microbench.leaves import Document, find_documents
from lm_microbench.readers.confidence import right_share
from lm_microbench.readers.samples import ROW_KEY
from lm_microbench.subset import Documents, Subset


class MicroDocument(dict[str, Any]):
    """A document as the samples file shows it: the base's own, and which item it is.

    The added key `lm_microbench` holds item, weight, task (the leaf task) and position. Requests
    carry the base's own document, so `doc_hash` is the full run's.
    """

    index: int = -1


@dataclass
class Place:
    """One chosen item: its place in the subset, its leaf task and its document there."""

    index: int
    leaf: Task
    position: int
    document: Document
    requests: list[Instance] = field(default_factory=list)

    def confidence(self, results: Any, accuracy: Any) -> float:
        """Return the probability put on the right choice, from the responses to `requests`."""
        row = {
            "arguments": [list(request.args) for request in self.requests],
            "filtered_resps": [list(result) for result in results],
            "target": self.leaf.doc_to_target(self.document),
            "acc": accuracy,
        }
        return right_share(row)


class Places:
    """The places of a subset's items, those of each leaf task in the order of the full run.

    Parameters
    ----------
    benchmark : Benchmark
    subset : Subset
    documents : Documents
        Those of the subset.
    leaves : mapping of str to Task
        The leaf tasks that own them.

    Raises
    ------
    ValueError
        If an item is missing in its leaf task, or its content changed.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        subset: Subset,
        documents: Documents,
        leaves: Mapping[str, Task],
    ) -> None:
        """Find every item's document."""
        self._subset = subset
        found = find_documents(benchmark, subset, leaves)
        places = [
            (task, position, Place(index, leaves[task], position, document))
            for index, (task, (position, document)) in enumerate(
                zip(documents.tasks, found, strict=True)
            )
        ]
        self._places = [place for _, _, place in sorted(places, key=lambda x: x[:2])]
        self._by_document = {id(place.document): place for place in self._places}

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._places)

    def __iter__(self) -> Iterator[Place]:
        """Yield the places in order."""
        return iter(self._places)

    def of(self, doc: Mapping[str, Any]) -> Place:
        """Return the place of a document, be it ours or the base's own."""
        if isinstance(doc, MicroDocument):
            return self._places[doc.index]
        return self._by_document[id(doc)]

    def documents(self) -> list[MicroDocument]:
        """Return the documents in order, with the item's name and weight added."""
        weights = self._subset.weights()
        documents = []
        for number, place in enumerate(self._places):
            note = {
                "item": self._subset.items[place.index],
                "weight": float(weights[place.index]),
                "task": place.leaf.task_name,
                "position": place.position,
            }
            document = MicroDocument({**place.document, ROW_KEY: note})
            document.index = number
            documents.append(document)
        return documents
