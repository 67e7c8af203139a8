"""Dense retrieval: the search, the projection, what it proposes, and the pipeline between its two halves."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel import (
    Candidate,
    CorefELPipeline,
    CorefELProcessor,
    Document,
    KnowledgeBase,
    Mention,
    load_pipeline,
)
from hf_corefel.candidates import ComposedKnowledgeBase, Part, QuerySpans, open_knowledge_base
from hf_corefel.candidates.dense import PROJECTION_FILE, DenseRetriever, SpanProjection, unit_vectors
from hf_corefel.candidates.vector_index import ExactIndex, GraphIndex, build_index
from hf_corefel.kb import KnowledgeBaseError

# No table knows the second name.
TEXT = "Anna Berg met the team. The river won again."
MENTIONS = [Mention(0, 9), Mention(24, 33)]


def projection(span_size: int, vector_size: int, seed: int = 0) -> SpanProjection:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(16, span_size))
    return SpanProjection(hidden, np.zeros(16), rng.normal(size=(vector_size, 16)), np.zeros(vector_size), [4.0])


@pytest.fixture
def dense(linking_model: Any, tiny_knowledge_base: KnowledgeBase) -> ComposedKnowledgeBase:
    retriever = DenseRetriever(tiny_knowledge_base, projection(linking_model.spans.size, 8))
    return ComposedKnowledgeBase([tiny_knowledge_base, Part(retriever, offset=-1.0, below=1)])


@pytest.fixture
def annotate(
    linking_model: Any, tiny_processor: Callable[[Any], CorefELProcessor], dense: ComposedKnowledgeBase
) -> CorefELPipeline:
    processor = tiny_processor(linking_model.config).with_knowledge_base(dense)
    return CorefELPipeline(model=linking_model, processor=processor)


def test_an_entity_is_linked_whose_name_no_table_lists(annotate: CorefELPipeline, dense: ComposedKnowledgeBase) -> None:
    document = Document(TEXT, mentions=MENTIONS)
    alone = CorefELPipeline(model=annotate.model, processor=annotate.processor.with_knowledge_base(dense.stores[0]))
    assert [c["entity"] for c in alone(document)["clusters"]] == ["Anna_Berg", None]
    first, second = annotate(document)["clusters"]
    assert first["entity"] == "Anna_Berg" and second["entity"] in dense
    assert second["url"] == dense.url(second["entity"])


def test_scores_of_spans_that_the_table_knows_stay(annotate: CorefELPipeline, dense: ComposedKnowledgeBase) -> None:
    alone = CorefELPipeline(model=annotate.model, processor=annotate.processor.with_knowledge_base(dense.stores[0]))
    document = Document("Anna Berg met Moss.", mentions=[Mention(0, 9), Mention(14, 18)])
    assert annotate(document) == alone(document)


def test_many_documents_at_once_are_each_alone(annotate: CorefELPipeline) -> None:
    documents = [Document(TEXT, mentions=MENTIONS), "", TEXT, "Berg met Oslo in Norway.", "?"]
    together = annotate(documents, batch_size=5)
    for document, found in zip(documents, together, strict=True):
        [alone] = annotate([document])
        assert [c["entity"] for c in found["clusters"]] == [c["entity"] for c in alone["clusters"]]


def test_what_a_document_lists_is_left_alone(annotate: CorefELPipeline) -> None:
    listed: dict[tuple[int, int], list[Candidate]] = {(24, 33): [Candidate("Mine", 0.5)], (0, 9): []}
    found = annotate(Document(TEXT, mentions=MENTIONS, candidates=listed))
    assert [cluster["entity"] for cluster in found["clusters"]] == [None, "Mine"]


def test_it_comes_back_with_the_model(annotate: CorefELPipeline, tmp_path: Path) -> None:
    annotate.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "knowledge_base" / "1" / "kb_config.json").read_text())
    assert config == {"backend": "dense", "index": "auto", "least": 0.0, "most": 16, "nothing": -1.0}
    document = Document(TEXT, mentions=MENTIONS)
    assert load_pipeline(tmp_path)(document) == annotate(document)
    assert load_pipeline(tmp_path)([document] * 3, num_workers=1) == [annotate(document)] * 3
    again = pickle.loads(pickle.dumps(annotate.processor.knowledge_base))
    assert again.parts[1].source.store is again.parts[0].source


def test_the_two_halves_of_the_model_are_the_whole(
    linking_model: Any, tiny_processor: Callable[[Any], CorefELProcessor], tiny_documents: list[Document]
) -> None:
    from hf_corefel.layers.enumerated import SpanTensors

    inputs = tiny_processor(linking_model.config)(tiny_documents).inputs
    names = ("span_begin", "span_end", "span_width", "span_cases", "span_mask", "mention_scope")
    windows = inputs["input_ids"], inputs["attention_mask"], inputs["subword_positions"]
    with torch.no_grad():
        table = SpanTensors(*(inputs[name] for name in names))
        pruned = linking_model.prune(windows, table, inputs["span_limits"], inputs["keep_all"])
        halves, whole = linking_model(**inputs, pruned=pruned), linking_model(**inputs)
    for name, tensor in whole.items():
        assert torch.equal(tensor, halves[name]), name


@pytest.mark.parametrize("count", [1, 3, 50])
def test_the_exact_index_finds_what_sorting_finds(count: int) -> None:
    rng = np.random.default_rng(1)
    vectors, queries = rng.normal(size=(40, 6)).astype(np.float32), rng.normal(size=(9, 6)).astype(np.float32)
    ids = np.arange(40) * 3
    found, products = ExactIndex(ids, vectors).search(queries, count)
    order = np.argsort(-(queries @ vectors.T), axis=1)[:, :count]
    assert np.array_equal(found[:, : order.shape[1]], ids[order]) and (found[:, 40:] == -1).all()
    assert np.allclose(products[:, : order.shape[1]], np.take_along_axis(queries @ vectors.T, order, axis=1))
    assert (products[:, 40:] == -np.inf).all()


def test_an_index_of_nothing_finds_nothing() -> None:
    found, products = ExactIndex(np.empty(0, dtype=np.int64), np.empty((0, 6))).search(np.ones((2, 6)), 3)
    assert (found == -1).all() and (products == -np.inf).all()


def test_the_graph_finds_what_the_exact_index_finds() -> None:
    pytest.importorskip("usearch")
    rng = np.random.default_rng(2)
    vectors = unit_vectors(rng.normal(size=(500, 16)))
    queries = unit_vectors(vectors[:40] + 0.05 * rng.normal(size=(40, 16)))
    graph, exact = GraphIndex(np.arange(500), vectors), ExactIndex(np.arange(500), vectors)
    (ids, products), (right, values) = graph.search(queries, 8), exact.search(queries, 8)
    assert (ids[:, 0] == right[:, 0]).mean() >= 0.95 and (ids == right).mean() > 0.9
    assert np.allclose(products[ids == right], values[ids == right], atol=1e-3)
    again = GraphIndex(np.arange(500), vectors).search(queries, 8)
    assert np.array_equal(again[0], ids) and np.array_equal(again[1], products)
    few = GraphIndex(np.arange(2), vectors[:2]).search(queries, 3)[0]
    assert (few[:, 2] == -1).all() and (few[:, :2] >= 0).all()
    with pytest.raises(ValueError, match='expected "auto", "exact" or "hnsw"'):
        build_index(np.arange(2), vectors[:2], "flat")  # type: ignore[arg-type]


def test_proposals_are_a_softmax_of_scaled_cosines(tiny_knowledge_base: KnowledgeBase) -> None:
    retriever = DenseRetriever(tiny_knowledge_base, projection(5, 8), most=3, least=0.2, nothing=0.1)
    spans = np.random.default_rng(3).normal(size=(4, 5)).astype(np.float32)
    places = np.zeros((4, 2), dtype=np.int64)
    found = retriever.propose(Document("x"), QuerySpans(places, places, spans), 5)
    ids = tiny_knowledge_base.ids_with_vectors()
    cosines = retriever.projection(spans) @ unit_vectors(tiny_knowledge_base.vectors(ids)).T
    best = np.sort(cosines, axis=1)[:, :-4:-1]
    scores = np.exp(4 * best) / (np.exp(4 * best).sum(axis=1, keepdims=True) + np.exp(0.4))
    assert np.allclose(found.scores[:, :3], np.where(scores >= 0.2, scores, 0), atol=1e-5)
    assert ((found.entity_ids != -1) == (found.scores > 0)).all() and (found.entity_ids[:, 3:] == -1).all()
    assert (retriever.propose(Document("x"), QuerySpans(places, places), 5).entity_ids == -1).all()


def test_entities_that_are_added_and_removed_are_searched_as_they_are_now() -> None:
    kb = KnowledgeBase.build([("a", [("A", 1.0)])], vectors=(["A", "B"], np.eye(2, 4, dtype=np.float32)))
    identity = SpanProjection(np.eye(4), np.zeros(4), np.eye(4), np.zeros(4), [1.0])
    retriever, places = DenseRetriever(kb, identity, most=1), np.zeros((1, 2), dtype=np.int64)

    def nearest(vector: list[float]) -> str:
        spans = QuerySpans(places, places, np.array([vector], dtype=np.float32))
        return kb.entity_name(int(retriever.propose(Document("x"), spans, 1).entity_ids[0, 0]))

    assert nearest([0, 1, 0, 0]) == "B"
    kb.add("C", vector=[0, 0.5, 2, 0])
    assert nearest([0, 1, 4, 0]) == "C"
    kb.remove("B")
    assert nearest([0, 1, 0, 0]) == "C"


def test_an_entity_that_gets_another_vector_is_searched_by_that() -> None:
    kb = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])], vectors=(["Oslo", "Bergen"], np.eye(2)))
    retriever = DenseRetriever(kb, SpanProjection(np.eye(2), [0, 0], np.eye(2), [0, 0], [10.0]))
    place = np.array([[0, 8]])
    spans = QuerySpans(place, place, np.array([[0.1, 0.9]], dtype=np.float32))

    def nearest() -> str:
        return kb.entity_name(int(retriever.propose(Document("the town"), spans, limit=1).entity_ids[0, 0]))

    assert nearest() == "Bergen"
    kb.add("Bergen", vector=[1.0, 0.0])
    kb.add("Oslo", vector=[0.1, 0.9])
    assert nearest() == "Oslo"
    built = retriever._built
    kb.add("Oslo", ["the town"])
    assert nearest() == "Oslo" and retriever._built is built


def test_what_does_not_fit_is_refused(dense: ComposedKnowledgeBase, annotate: CorefELPipeline, tmp_path: Path) -> None:
    kb = dense.stores[0]
    with pytest.raises(ValueError, match="gives vectors of 7 numbers, the store's have 8"):
        DenseRetriever(kb, projection(5, 7))  # type: ignore[arg-type]
    other = ComposedKnowledgeBase([kb, DenseRetriever(kb, projection(5, 8))])  # type: ignore[arg-type, list-item]
    reader = CorefELPipeline(model=annotate.model, processor=annotate.processor.with_knowledge_base(other))
    with pytest.raises(ValueError, match="reads span vectors of 5 numbers, this model's have"):
        reader(TEXT)
    dense.save_pretrained(tmp_path)
    with pytest.raises(KnowledgeBaseError, match="a part of a composed knowledge base"):
        open_knowledge_base(tmp_path / "1")
    data = (tmp_path / "1" / PROJECTION_FILE).read_bytes()
    for damaged in (data[:-4], data[:3], b""):
        (tmp_path / "1" / PROJECTION_FILE).write_bytes(damaged)
        with pytest.raises(KnowledgeBaseError, match=r"span_projection\.safetensors: not a span projection"):
            open_knowledge_base(tmp_path)


OUTSIDE = [[{"folder": place, "offset": 0, "below": None}] for place in ("../x", "..", ".", "")]


@pytest.mark.parametrize("parts", [None, [], [3], [{}], *OUTSIDE])
def test_damaged_composed_folders_are_refused(parts: Any, tmp_path: Path) -> None:
    (tmp_path / "kb_config.json").write_text(json.dumps({"backend": "composed", "parts": parts}))
    with pytest.raises(KnowledgeBaseError, match="field 'parts'"):
        open_knowledge_base(tmp_path)
