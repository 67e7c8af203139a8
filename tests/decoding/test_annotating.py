"""From scores to annotated documents: plain clusters with the probabilities of the head."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from hf_corefel import AnnotatedDocument, Candidate, CorefELModel, CorefELOutput, CorefELProcessor, Document
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.decoding.annotating import annotate_batch, decode_batch
from hf_corefel.processing_corefel import CorefELBatch

Trained = Callable[[str], CorefELModel]
MakeProcessor = Callable[..., CorefELProcessor]


@pytest.fixture
def run(tiny_trained: Trained, tiny_processor: MakeProcessor) -> Callable[..., tuple[CorefELBatch, CorefELOutput]]:
    def forward(head: str, documents: list[str | Document]) -> tuple[CorefELBatch, CorefELOutput]:
        model = tiny_trained(head)
        batch = tiny_processor(model.config)(documents)
        with torch.no_grad():
            return batch, model(**batch.inputs)

    return forward


@pytest.mark.parametrize("head", HEADS)
def test_document_is_sound(run: Callable, tiny_trained: Trained, tiny_documents: list[Document], head: str) -> None:
    batch, output = run(head, [document.text for document in tiny_documents])
    results = annotate_batch(tiny_trained(head), output, batch.documents)
    assert [result.text for result in results] == [document.text for document in tiny_documents]
    mentions = 0
    for result in results:
        # Validates offsets, surfaces, probabilities, and that no mention is in two clusters.
        assert AnnotatedDocument.from_dict(result.to_dict()) == result
        assert [c.mentions[0].offsets for c in result.clusters] == sorted(
            c.mentions[0].offsets for c in result.clusters
        )
        for cluster in result.clusters:
            assert list(cluster.mentions) == sorted(cluster.mentions, key=lambda mention: mention.offsets)
            mentions += len(cluster.mentions)
            for mention in cluster.mentions:
                assert mention.text == result.text[mention.begin : mention.end]
                for value in (mention.probability, mention.edge_probability, mention.link_probability):
                    assert type(value) is float and 0.0 <= value <= 1.0
            mean = sum(mention.link_probability for mention in cluster.mentions) / len(cluster.mentions)
            assert cluster.probability == pytest.approx(mean)
            assert (cluster.entity is None) or head != "standalone_coref"
            assert (cluster.entity is not None) or head != "standalone_linking"
            assert cluster.url is None
    assert mentions >= 2


@pytest.mark.parametrize("head", HEADS)
def test_probabilities_are_the_heads(
    run: Callable, tiny_trained: Trained, tiny_documents: list[Document], head: str
) -> None:
    model = tiny_trained(head)
    batch, output = run(head, list(tiny_documents))
    results = annotate_batch(model, output, batch.documents)
    scores = model.edge_scores(output)
    parents, (edges, entities) = model.head.decode(scores).parents, model.head.marginals(scores)
    size = output.retained.shape[1]
    for b, (result, document) in enumerate(zip(results, batch.documents, strict=True)):
        offsets = [tuple(pair) for pair in document.spans.offsets.tolist()]
        place = {offsets[s]: n for n, s in enumerate(output.retained[b].tolist()) if s >= 0}
        for cluster in result.clusters:
            for mention in cluster.mentions:
                n = place[mention.offsets]
                parent = int(parents[b, n])
                if parent < size:
                    edge = edges.span_to_span[b, parent, n]
                elif parent == size:
                    edge = edges.root[b, n]
                else:
                    edge = edges.candidate_probabilities[b, n, parent - size - 1]
                assert mention.edge_probability == pytest.approx(float(edge), abs=1e-9)
                assert mention.probability == pytest.approx(float(output.mention[b, n].sigmoid()), abs=1e-6)
                if cluster.entity is None:
                    link = entities.nil[b, n]
                else:
                    row = document.entities.index(cluster.entity)
                    column = entities.entity_rows[b].tolist().index(row)
                    link = entities.probability[b, n, column]
                assert mention.link_probability == pytest.approx(float(link), abs=1e-9)


def test_clusters_are_those_that_were_decoded(
    run: Callable, tiny_trained: Trained, tiny_documents: list[Document]
) -> None:
    batch, output = run("global", list(tiny_documents))
    decoding, clusters = decode_batch(tiny_trained("global"), output)
    assert decoding.parents.shape == output.retained.shape
    assert torch.equal(decoding.parents == -1, output.retained == -1)
    results = annotate_batch(tiny_trained("global"), output, batch.documents)
    for b, (result, decoded) in enumerate(zip(results, clusters, strict=True)):
        offsets = batch.documents[b].spans.offsets
        expected = [[tuple(offsets[output.retained[b, n]].tolist()) for n in cluster.spans] for cluster in decoded]
        assert [[mention.offsets for mention in cluster.mentions] for cluster in result.clusters] == expected
        names = [None if c.entity_row is None else batch.documents[b].entities[c.entity_row] for c in decoded]
        assert [cluster.entity for cluster in result.clusters] == names


@pytest.mark.parametrize("head", HEADS)
def test_no_given_mention_is_dropped(run: Callable, tiny_trained: Trained, head: str) -> None:
    """Not even one that is alone, unlinked and to the model's mind no mention."""
    text = "Then she left the city. Anna Berg met people."
    given = [(0, 4), (9, 13), (14, 17), (24, 33)]
    batch, output = run(head, [Document(text, mentions=given), Document(text)])
    assert bool((output.mention[0] <= 0).any())
    with_mentions, free = annotate_batch(tiny_trained(head), output, batch.documents)
    assert sorted(m.offsets for c in with_mentions.clusters for m in c.mentions) == given
    assert {m.offsets for c in free.clusters for m in c.mentions} != set(given)
    for cluster in with_mentions.clusters:
        for mention in cluster.mentions:
            assert mention.link_probability is not None and 0.0 <= mention.link_probability <= 1.0


def test_learned_documents_are_reproduced(run: Callable, tiny_trained: Trained, tiny_documents: list[Document]) -> None:
    """The models of these tests do find clusters of several mentions, linked and not."""
    batch, output = run("global", [document.text for document in tiny_documents])
    results = annotate_batch(tiny_trained("global"), output, batch.documents)
    clusters = [cluster for result in results for cluster in result.clusters]
    assert sum(len(cluster.mentions) for cluster in clusters) >= 10
    assert len([c for c in clusters if len(c.mentions) > 1 and c.entity]) >= 3
    assert len([c for c in clusters if len(c.mentions) > 1 and not c.entity]) >= 1


def test_ids_warnings_and_urls_are_carried(
    run: Callable, tiny_trained: Trained, tiny_documents: list[Document]
) -> None:
    text = tiny_documents[0].text
    document = Document(text, id="mine", mentions=[(0, 9), (33, 37)])
    dropped = Document(" Oslo", id="other", spans=[(0, 1), (1, 5)])
    batch, output = run("global", [document, dropped])
    results = annotate_batch(tiny_trained("global"), output, batch.documents, lambda entity: f"https://x/{entity}")
    assert [result.id for result in results] == ["mine", "other"]
    assert not results[0].warnings and "0..1" in results[1].warnings[0]
    linked = [cluster for result in results for cluster in result.clusters if cluster.entity]
    assert linked
    assert all(cluster.url == f"https://x/{cluster.entity}" for cluster in linked)


def test_given_mentions_are_the_only_ones(run: Callable, tiny_trained: Trained, tiny_documents: list[Document]) -> None:
    given = [mention.offsets for cluster in tiny_documents[0].clusters or [] for mention in cluster.mentions]
    crossing = [*given, (5, 13), (10, 18)]
    batch, output = run("global", [Document(tiny_documents[0].text, mentions=crossing)])
    assert output.retained.shape == (1, len(crossing))
    (result,) = annotate_batch(tiny_trained("global"), output, batch.documents)
    found = {mention.offsets for cluster in result.clusters for mention in cluster.mentions}
    assert len(found) >= 5 and found <= set(crossing)


def test_entity_that_the_knowledge_base_lacks(
    run: Callable, tiny_trained: Trained, tiny_documents: list[Document]
) -> None:
    document = Document(
        tiny_documents[0].text, candidates={(27, 31): [Candidate("Oslo_(ship)", 1.0)]}, mentions=[(0, 9), (27, 31)]
    )
    batch, output = run("standalone_linking", [document])
    assert "Oslo_(ship)" in batch.documents[0].entities
    output.link[0, 1, 0], output.nil[0, 1] = 9.0, -9.0
    (result,) = annotate_batch(tiny_trained("standalone_linking"), output, batch.documents)
    assert "Oslo_(ship)" in [cluster.entity for cluster in result.clusters]
