"""Names of version 0.1.0: all are taken still, each with one warning that says the new one."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel import CorefELOutput, Document
from hf_corefel.decoding import clusters_from_parents
from hf_corefel.decoding.clusters import DecodedCluster
from hf_corefel.decoding.nesting import DecodedSpans
from hf_corefel.heads import EdgeScores, GlobalHead, GoldClustering, document_entities
from hf_corefel.heads.local import propagate_entities
from hf_corefel.layers import EntityScorer
from hf_corefel.layers.entities import expected_entities
from hf_corefel.layers.matches import match_features
from hf_corefel.metrics import SpanRecall, span_recall
from hf_corefel.processing.alignment import align_clusters
from hf_corefel.processing.encoded_document import CorefELBatch, EncodedDocument
from hf_corefel.trees import EdgeMarginals, EntityMarginals, SpanningTreeDistribution

ROWS = torch.tensor([[[0, 1], [1, -1]]])
CLUSTERS, GOLD = torch.tensor([[0, 0]]), torch.tensor([[1, 1]])
MASK = torch.ones(1, 2, dtype=torch.bool)
ROOT, PAIRS, SCORES = torch.zeros(1, 2), torch.zeros(1, 2, 2), torch.tensor([[[1.0, 2.0], [3.0, 0.0]]])
EDGE_SCORES = EdgeScores(mention=ROOT, link=SCORES, candidate_rows=ROWS, pair=PAIRS, mask=MASK, root_pair=ROOT)
GOLD_CLUSTERING = GoldClustering(CLUSTERS, GOLD)
TREES = SpanningTreeDistribution(ROOT, PAIRS, SCORES, ROWS)
MARGINALS = GlobalHead().marginals(EDGE_SCORES)
PRIORS, VECTORS = torch.zeros(1, 2, 2), torch.ones(1, 2, 3)
WORDS = torch.tensor([[0, 1]])


@contextmanager
def one_warning(old: str, new: str) -> Iterator[None]:
    """What is in it says once, of the caller's line, that something has another name now."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = [(w.category, w.filename, old in str(w.message) and f"is now {new}" in str(w.message)) for w in caught]
    assert said == [(DeprecationWarning, __file__, True)], [str(w.message) for w in caught]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


ARGUMENTS: dict[str, tuple[Callable[..., Any], str, str, dict[str, Any]]] = {
    "gold reachable": (GOLD_CLUSTERING.restrict_to_reachable, "entity_ids", "candidate_rows", {"mask": MASK}),
    "gold candidates": (GOLD_CLUSTERING.correct_candidates, "entity_ids", "candidate_rows", {}),
    "entities of a document": (document_entities, "entity_ids", "candidate_rows", {"mask": MASK}),
    "entities along chains": (
        propagate_entities,
        "entity_ids",
        "candidate_rows",
        {"edges": EdgeMarginals(ROOT, SCORES, PAIRS), "mask": MASK},
    ),
    "expected entities": (
        expected_entities,
        "candidates",
        "candidate_rows",
        {"log_priors": PRIORS, "entity_vectors": VECTORS},
    ),
    "matches": (
        match_features,
        "candidates",
        "candidate_rows",
        {"word_forms": WORDS, "first_word": WORDS, "width": WORDS + 1, "log_priors": PRIORS, "mask": MASK},
    ),
    "linker": (
        EntityScorer(4, 3, 5, 1, 0.0, False, False, False).eval(),
        "candidates",
        "candidate_rows",
        {"spans": torch.ones(1, 2, 4), "log_priors": PRIORS, "entity_vectors": VECTORS},
    ),
}


@pytest.mark.parametrize(("function", "old", "new", "others"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_of_rows(function: Callable[..., Any], old: str, new: str, others: dict[str, Any]) -> None:
    with torch.no_grad():
        with one_warning(old, new):
            found = function(**{old: ROWS}, **others)
        found = found[0] if isinstance(found, tuple) and isinstance(found[0], GoldClustering) else found
        expected = function(**{new: ROWS}, **others)
    if isinstance(found, GoldClustering):
        found, expected = list(vars(found).values()), list(vars(expected[0]).values())
    assert same(found, expected)
    with pytest.raises(TypeError, match=f"{old} is now {new}; give one of them"):
        function(**{old: ROWS, new: ROWS}, **others)


@pytest.mark.parametrize("name", ["log_prob", "log_numerator"])
def test_gold_entities_of_a_tree_distribution(name: str) -> None:
    method = getattr(TREES, name)
    with one_warning("entity_ids", "entity_rows"):
        found = method(CLUSTERS, entity_ids=GOLD)
    assert torch.equal(found, method(CLUSTERS, GOLD))


def test_a_tree_distribution_is_made_and_read() -> None:
    with one_warning("SpanningTreeDistribution: the argument candidates", "candidate_scores"):
        made = SpanningTreeDistribution(ROOT, PAIRS, candidates=SCORES, candidate_rows=ROWS)
    assert torch.equal(made.log_partition, TREES.log_partition)
    with one_warning("SpanningTreeDistribution: the argument entity_ids", "candidate_rows"):
        SpanningTreeDistribution(ROOT, PAIRS, candidate_scores=SCORES, entity_ids=ROWS)
    with one_warning("SpanningTreeDistribution.candidates", "candidate_scores"):
        assert made.candidates is SCORES
    with one_warning("SpanningTreeDistribution.entity_ids", "candidate_rows"):
        assert made.entity_ids is ROWS


def test_scores_of_candidates_are_read() -> None:
    with one_warning("EdgeScores.candidates", "candidate_scores"):
        assert torch.equal(EDGE_SCORES.candidates, EDGE_SCORES.candidate_scores)


FIELDS = [
    (EDGE_SCORES, "entity_ids", "candidate_rows"),
    (GOLD_CLUSTERING, "entity_ids", "entity_rows"),
    (MARGINALS.edges, "candidates", "candidate_probabilities"),
    (MARGINALS.entities, "entity_ids", "entity_rows"),
    (DecodedCluster((0, 1), 3), "entity_id", "entity_row"),
    (DecodedSpans([2, 0], [[0], [1]], [0.0, 0.0], [True, True]), "entity_ids", "candidate_rows"),
    (SpanRecall(3.0, 2.0, 1.0), "kept", "retained"),
    (CorefELOutput(retained=CLUSTERS, candidate_rows=ROWS), "kept", "retained"),
    (CorefELOutput(retained=CLUSTERS, candidate_rows=ROWS), "candidates", "candidate_rows"),
]


def fields_of(item: Any) -> dict[str, Any]:
    if isinstance(item, tuple):
        return item._asdict()  # type: ignore[attr-defined, no-any-return]
    return {name: getattr(item, name) for name, field in item.__dataclass_fields__.items() if field.init}


@pytest.mark.parametrize(("item", "old", "new"), FIELDS, ids=[f"{type(i).__name__}.{old}" for i, old, _ in FIELDS])
def test_fields(item: Any, old: str, new: str) -> None:
    name = type(item).__name__
    fields = fields_of(item)
    with one_warning(f"{name}.{old}", new):
        assert getattr(item, old) is getattr(item, new)
    given = {old: fields[new], **{key: value for key, value in fields.items() if key != new}}
    with one_warning(f"{name}: the argument {old}", new):
        made = type(item)(**given)
    for again in (made, copy.copy(made), pickle.loads(pickle.dumps(item))):
        assert type(again) is type(item)
        assert all(same(value, getattr(again, key)) for key, value in fields.items() if not isinstance(value, dict))
    with pytest.raises(TypeError, match=f"{old} is now {new}; give one of them"):
        type(item)(**fields, **{old: None})


def test_named_tuples_are_changed() -> None:
    with one_warning("EdgeMarginals._replace: the argument candidates", "candidate_probabilities"):
        changed = MARGINALS.edges._replace(candidates=SCORES)
    assert changed.candidate_probabilities is SCORES and changed.root is MARGINALS.edges.root
    assert EdgeMarginals._fields == ("root", "candidate_probabilities", "span_to_span")
    assert EntityMarginals._fields == ("entity_rows", "probability", "nil")


def test_other_functions() -> None:
    with one_warning("clusters_from_parents: the argument entity_ids", "candidate_rows"):
        found = clusters_from_parents([3, 0], entity_ids=[[7], [-1]], mention=[1.0, 1.0], mask=[True, True])
    assert found == [DecodedCluster((0, 1), entity_row=7)]
    with one_warning("span_recall: the argument kept", "retained"):
        assert span_recall([(0, 4)], [(0, 4), (5, 6)], kept=[(0, 4)]) == SpanRecall(1.0, 1.0, 1.0)
    with one_warning("align_clusters: the argument candidates", "candidate_rows"):
        assert len(align_clusters([], np.array([[0, 4]]), candidates=np.array([[-1]]), entities=[]).clusters) == 1


def test_outputs_are_read_by_the_key_of_old() -> None:
    output = CorefELOutput(retained=CLUSTERS, candidate_rows=ROWS)
    assert list(output) == ["retained", "candidate_rows"]
    with one_warning("CorefELOutput['kept']", "CorefELOutput['retained']"):
        assert output["kept"] is CLUSTERS
    with one_warning("CorefELOutput['candidates']", "CorefELOutput['candidate_rows']"):
        assert output["candidates"] is ROWS
    assert output[0] is CLUSTERS and output[:2] == (CLUSTERS, ROWS)


def test_batches_of_old_are_scored(tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]) -> None:
    model = tiny_model()
    batch = tiny_processor(model.config)([Document("Anna Berg lives in Oslo. Berg likes it.")])
    written = {("candidates" if name == "candidate_rows" else name): value for name, value in batch.items()}
    loaded = pickle.loads(pickle.dumps(CorefELBatch(written, batch.documents)))
    with torch.no_grad():
        expected = model(**batch)
        for old in (written, loaded):
            with one_warning("CorefELModel.forward: the argument candidates", "candidate_rows"):
                found = model(**old)
            assert list(found) == list(expected) and all(torch.equal(found[name], expected[name]) for name in expected)


def test_batches_and_documents_are_read(tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]) -> None:
    batch = tiny_processor(tiny_model().config)([Document("Anna Berg lives in Oslo.")])
    with one_warning("CorefELBatch['candidates']", "CorefELBatch['candidate_rows']"):
        assert batch["candidates"] is batch["candidate_rows"]
    with one_warning("CorefELBatch.candidates", "candidate_rows"):
        assert batch.candidates is batch["candidate_rows"]
    document = batch.documents[0]
    with one_warning("EncodedDocument.candidates", "candidate_rows"):
        assert document.candidates is document.candidate_rows
    given = {("candidates" if name == "candidate_rows" else name): value for name, value in vars(document).items()}
    with one_warning("EncodedDocument: the argument candidates", "candidate_rows"):
        assert EncodedDocument(**given).candidate_rows is document.candidate_rows
