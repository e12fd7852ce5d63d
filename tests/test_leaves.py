"""Documents of chosen items: found where they were, found where they moved, or an error."""

from types import SimpleNamespace

import make_runs as make
import pytest

from lm_microbench.build import build
from lm_microbench.estimators import LinearEstimator
from lm_microbench.leaves import find_documents, leaf_documents
from lm_microbench.methods import get_method
from lm_microbench.subset import Documents


@pytest.fixture
def toy(tmp_path):
    return make.make_benchmark(tmp_path)


@pytest.fixture
def leaves():
    return {
        leaf: SimpleNamespace(task_docs=[make.document(leaf, i) for i in range(make.N)])
        for leaf in make.LEAVES
    }


def everything(toy):
    return build(toy, get_method("random"), [12])[0]


def changed(subset, **documents):
    return subset.with_(documents=subset.documents.model_copy(update=documents))


def test_find_documents_gives_those_of_the_items_in_their_order(toy, leaves):
    subset = everything(toy)
    places = toy.items().find(subset.items)
    found = find_documents(toy, subset, leaves)
    assert [p for p, _ in found] == [x.position for x in places]
    assert [d for _, d in found] == [leaves[x.task].task_docs[x.position] for x in places]


def test_find_documents_of_a_leaf_that_keeps_none_are_those_it_evaluates():
    assert leaf_documents(SimpleNamespace(eval_docs=iter([1, 2]))) == [1, 2]


def test_find_documents_after_a_document_was_added_at_the_start(toy, leaves):
    for leaf in leaves.values():
        leaf.task_docs.insert(0, {"question": "new", "options": [], "answer": 0})
    found = find_documents(toy, everything(toy), leaves)
    expected = [x.position + 1 for x in toy.items().find(everything(toy).items)]
    assert [p for p, _ in found] == expected


def test_find_documents_where_one_of_two_copies_is_gone_names_it(toy, leaves):
    leaves["toy_b"].task_docs.pop()
    copy = next(item for item in toy.items().items if item.endswith("#2"))
    with pytest.raises(ValueError, match=f"toy: item '{copy}' is not among the 3 documents"):
        find_documents(toy, everything(toy), leaves)


def test_find_documents_of_an_item_that_the_benchmark_lacks_names_it(toy, leaves):
    subset = everything(toy)
    strange = subset.with_(items=(*subset.items[:-1], "b/zzz"))
    with pytest.raises(ValueError, match="toy: item 'b/zzz' is not among the 4 documents of toy_b"):
        find_documents(toy, strange, leaves)


def test_find_documents_of_changed_content_names_the_item(toy, leaves):
    leaves["toy_b"].task_docs[0]["answer"] = 1
    item = next(x.item for x in toy.items().locations if (x.task, x.position) == ("toy_b", 0))
    with pytest.raises(ValueError, match=f"the content of item '{item}'"):
        find_documents(toy, everything(toy), leaves)


def test_find_documents_of_a_position_past_the_end_is_found_by_name(toy, leaves):
    subset = changed(everything(toy), positions=(99,) * 12)
    expected = find_documents(toy, everything(toy), leaves)
    assert find_documents(toy, subset, leaves) == expected


def test_find_documents_of_a_subset_of_no_benchmark_is_refused(toy, leaves):
    with pytest.raises(ValueError, match="the manifest has no documents"):
        find_documents(toy, everything(toy).with_(documents=None), leaves)


def test_find_documents_of_two_copies_at_one_position_gives_each_its_own(toy, leaves):
    subset = everything(toy)
    places = zip(subset.documents.tasks, subset.documents.positions, strict=True)
    positions = tuple(3 if place == ("toy_b", 2) else place[1] for place in places)
    found = find_documents(toy, changed(subset, positions=positions), leaves)
    assert [p for p, _ in found] == list(subset.documents.positions)


def test_find_documents_of_a_copy_whose_place_another_copy_took_is_found(toy, leaves):
    # Two questions of the same text with other options.
    leaves["toy_b"].task_docs[3]["options"] = ["other", "options"]
    content = toy.content_hash(leaves["toy_b"].task_docs[3])
    subset = everything(toy)
    copy = next(i for i, item in enumerate(subset.items) if item.endswith("#2"))
    only = subset.with_(
        items=subset.items[copy : copy + 1],
        estimator=LinearEstimator(weights=(1.0,)),
        provenance=subset.provenance.model_copy(update={"size": 1}),
        documents=Documents(tasks=("toy_b",), positions=(3,), contents=(content,)),
    )
    leaves["toy_b"].task_docs.insert(0, {"question": "new", "options": [], "answer": 0})
    assert find_documents(toy, only, leaves) == [(4, leaves["toy_b"].task_docs[4])]
