"""Gold with gaps: what each head learns from which layers, alone and side by side with complete documents."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from every_head import FLOATS, MakeDocuments, every_head
from hf_corefel import Cluster, Document, Mention
from hf_corefel.documents import AnnotatedLayers
from hf_corefel.heads import (
    EdgeScores,
    GlobalHead,
    GoldClustering,
    Head,
    LocalHead,
    StandaloneCorefHead,
    StandaloneLinkingHead,
)
from hf_corefel.heads.gaps import describe_left_out, mention_targets, retain_given, without_what_is_not_learnt
from hf_corefel.processing.alignment import given_alone
from hf_corefel.utils.gold_codes import FREE, LEFT_OUT, NOT_KNOWN

LAYERS = [
    AnnotatedLayers(*values)
    for values in itertools.product(("all", "named", "given"), (True, False), (True, False, "some"))
]


def with_layers(gold: GoldClustering, layers: AnnotatedLayers) -> GoldClustering:
    """What is left of complete gold whose links are within reach, as the alignment of a document gives it."""
    clusters, entities = gold.cluster_ids.clone(), gold.entity_rows.clone()
    mention = clusters >= 0
    unknown = mention & ((torch.tensor(layers.links is False)) | (entities < 0) & torch.tensor(layers.links == "some"))
    entities[unknown | torch.tensor(layers.links is False)] = NOT_KNOWN
    if not layers.clusters:
        clusters[mention & (entities < 0)] = NOT_KNOWN
    clusters[~mention] = {"all": -1, "named": FREE, "given": LEFT_OUT}[layers.mentions]
    return GoldClustering(clusters, entities)


def documents(make: MakeDocuments, lengths: list[int], seed: int, layers: list[AnnotatedLayers]) -> Any:
    scores, gold = make(lengths, seed=seed)
    gold, _ = gold.within(scores.mask).restrict_to_reachable(scores.candidate_rows, scores.mask)
    parts = [
        with_layers(GoldClustering(c[None], e[None]), l) for c, e, l in zip(*vars(gold).values(), layers, strict=True)
    ]
    return (
        scores,
        gold,
        GoldClustering(*(torch.cat(ids) for ids in zip(*(vars(p).values() for p in parts), strict=True))),
    )


def one(scores: EdgeScores, gold: GoldClustering, number: int) -> tuple[EdgeScores, GoldClustering]:
    here = slice(number, number + 1)
    cut = {name: getattr(scores, name)[here] for name in (*FLOATS, "candidate_rows", "mask")}
    return dataclasses.replace(scores, **cut), GoldClustering(gold.cluster_ids[here], gold.entity_rows[here])


@every_head
def test_documents_of_different_layers_add_up(head: Head, make_documents: MakeDocuments) -> None:
    """The loss of a batch is the mean of what each document gives alone, and so are the gradients."""
    scores, _, gold = documents(make_documents, [6] * len(LAYERS), 3, LAYERS)
    leaves = {name: getattr(scores, name).clone().requires_grad_() for name in FLOATS}
    scores = dataclasses.replace(scores, **leaves)
    loss = head.loss(*without_what_is_not_learnt(head, scores, gold))
    losses = []
    for number in range(len(LAYERS)):
        losses.append(head.loss(*without_what_is_not_learnt(head, *one(scores, gold, number))))
        assert losses[-1] >= 0
    torch.testing.assert_close(loss, torch.stack(losses).mean(), rtol=1e-12, atol=1e-12)
    together = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    apart = torch.autograd.grad(torch.stack(losses).mean(), list(leaves.values()), allow_unused=True)
    for left, right in zip(together, apart, strict=True):
        assert (left is None) == (right is None)
        if left is not None and right is not None:
            torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)
            assert left.isfinite().all()


@every_head
@pytest.mark.parametrize("links", [False, "some"])
@pytest.mark.parametrize("seed", range(6))
def test_the_loss_is_no_larger_without_links(head: Head, links: Any, seed: int, make_documents: MakeDocuments) -> None:
    layers = AnnotatedLayers(links=links)
    scores, full, partial = documents(make_documents, [7, 4, 9], seed, [layers] * 3)
    for number in range(3):
        known, unknown = (head.loss(*one(scores, gold, number)) for gold in (full, partial))
        assert 0 <= unknown <= known + 1e-12


def test_the_coreference_head_does_not_miss_links(make_documents: MakeDocuments) -> None:
    scores, full, partial = documents(make_documents, [7, 4], 1, [AnnotatedLayers(links=False)] * 2)
    assert torch.equal(StandaloneCorefHead().loss(scores, full), StandaloneCorefHead().loss(scores, partial))


def test_the_linking_head_learns_nothing_from_clusters(make_documents: MakeDocuments) -> None:
    head, layers = StandaloneLinkingHead(), AnnotatedLayers(links=False)
    scores, full, partial = documents(make_documents, [7, 4], 1, [layers] * 2)
    assert (full.cluster_ids >= 0).any(dim=1).all()
    assert head.loss(scores, partial).item() == 0.0
    (reason,) = describe_left_out(head, "standalone_linking", [layers, AnnotatedLayers(), layers])
    assert reason.startswith(
        "the head standalone_linking learns nothing but mentions from 2 documents: no links are ann"
    )
    assert describe_left_out(GlobalHead(), "global", LAYERS) == []


def test_the_linking_head_learns_the_links_that_are_known(make_documents: MakeDocuments) -> None:
    """Spans whose link is not known give no gradient, the others what they give with all links known."""
    head = StandaloneLinkingHead()
    scores, full, partial = documents(make_documents, [9], 2, [AnnotatedLayers(links="some")])
    unknown = partial.has_unknown_link
    assert unknown.any() and (partial.entity_rows >= 0).any()
    gradients = []
    for gold in (full, partial):
        link = scores.link.clone().requires_grad_()
        gradients += torch.autograd.grad(head.loss(dataclasses.replace(scores, link=link), gold), link)
    assert (gradients[1][unknown] == 0).all()
    assert torch.equal(gradients[0][~unknown], gradients[1][~unknown])


@every_head
def test_what_is_left_out_is_as_if_it_were_not_there(head: Head, make_documents: MakeDocuments) -> None:
    scores, full, given = documents(make_documents, [8], 4, [AnnotatedLayers(mentions="given")])
    there = full.cluster_ids[0] >= 0
    assert 0 < there.sum() < 8
    cut = {name: getattr(scores, name)[:, there] for name in (*FLOATS, "candidate_rows", "mask")}
    cut["pair"] = cut["pair"][:, :, there]
    expected = head.loss(
        dataclasses.replace(scores, **cut), GoldClustering(*(v[:, there] for v in vars(full).values()))
    )
    found = head.loss(*without_what_is_not_learnt(head, scores, given))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_nothing_known_is_no_loss_of_the_tree(make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([7, 4], seed=1)
    free = torch.full((2, 7), FREE)
    for head in (GlobalHead(), LocalHead()):
        assert head.loss(scores, GoldClustering(free, torch.full_like(free, NOT_KNOWN))).item() == 0.0


class FirstSpan(LocalHead):
    """A guest with a loss of its own, which takes -1 for the only number below 0."""

    summary: ClassVar[str] = "a guest"

    def loss(self, scores: EdgeScores, gold: GoldClustering) -> torch.Tensor:
        assert (gold.cluster_ids >= -1).all() and (gold.entity_rows >= -1).all()
        return (scores.mention * scores.mask).nan_to_num().sum()


def test_a_guest_that_knows_no_gaps_is_not_shown_any(make_documents: MakeDocuments) -> None:
    head = FirstSpan()
    assert not head.learns_from_gaps and LocalHead.learns_from_gaps
    layers = [AnnotatedLayers(), AnnotatedLayers(links=False), AnnotatedLayers(mentions="given")]
    scores, _, gold = documents(make_documents, [5, 6, 4], 3, layers)
    head.loss(*without_what_is_not_learnt(head, scores, gold))
    kept, _ = without_what_is_not_learnt(head, scores, gold)
    assert kept.mask.sum(dim=1).tolist() == [5, 0, int((gold.cluster_ids[2] >= 0).sum())]
    assert describe_left_out(head, "guest", layers) != []


@pytest.mark.parametrize("layers", [{"links": False}, {"links": False, "clusters": False}])
def test_a_document_without_links_and_mentions_has_gaps_too(layers: dict[str, Any]) -> None:
    """A guest is not shown it, and the linking head learns nothing of it."""
    scores, _ = parts([5, 6], [7, 8])
    scores = dataclasses.replace(scores, nil=torch.zeros(1, 4))
    none = GoldClustering(torch.full((1, 4), -1), torch.full((1, 4), -1))
    gold = with_layers(none, AnnotatedLayers.from_dict(layers))
    assert gold.has_gaps.tolist() == [True] and none.has_gaps.tolist() == [False]
    assert not without_what_is_not_learnt(FirstSpan(), scores, gold)[0].mask.any()
    linking = StandaloneLinkingHead()
    assert linking.loss(scores, none).item() > 0.0 == linking.loss(scores, gold).item()
    for head in (GlobalHead(), LocalHead(), StandaloneCorefHead()):
        assert head.loss(scores, none).item() == head.loss(scores, gold).item()


def parts(first: list[int], second: list[int]) -> tuple[EdgeScores, GoldClustering]:
    """Four spans of one cluster without known link, two and two without an edge between, and candidates of each."""
    forbidden = torch.zeros(1, 4, 4, dtype=torch.bool)
    forbidden[0, :2, 2:] = forbidden[0, 2:, :2] = True
    rows = torch.tensor([[first, first, second, second]])
    scores = EdgeScores(
        mention=torch.zeros(1, 4),
        link=torch.zeros(rows.shape),
        candidate_rows=rows,
        pair=torch.zeros(1, 4, 4),
        mask=torch.ones(1, 4, dtype=torch.bool),
        root_pair=torch.zeros(1, 4),
        forbidden=forbidden,
    )
    return scores, GoldClustering(torch.zeros(1, 4, dtype=torch.int64), torch.full((1, 4), NOT_KNOWN))


def test_a_cluster_that_an_entity_can_hold_together_stays_whole() -> None:
    scores, gold = parts([5, 6], [6, 7])
    kept = gold.restrict_to_connected(scores)
    assert kept.cluster_ids.tolist() == gold.cluster_ids.tolist()
    assert GlobalHead().log_prob(scores, kept).isfinite().all()


def test_a_cluster_that_nothing_can_hold_together_is_taken_apart() -> None:
    scores, gold = parts([5, 6], [7, 8])
    kept = gold.restrict_to_connected(scores)
    assert kept.cluster_ids[0, 0] == kept.cluster_ids[0, 1] != kept.cluster_ids[0, 2] == kept.cluster_ids[0, 3]
    assert kept.entity_rows.tolist() == gold.entity_rows.tolist()
    assert GlobalHead().log_prob(scores, kept).isfinite().all()
    assert GlobalHead().log_prob(scores, gold).isinf().all()


def test_the_pruner_is_not_told_of_what_may_be_a_mention() -> None:
    clusters = torch.tensor([[0, -1, NOT_KNOWN, FREE, LEFT_OUT, 3]])
    mask = torch.tensor([[True, True, True, True, True, False]])
    target, known = mention_targets(clusters, mask)
    assert target.tolist() == [[1, 0, 1, 0, 0, 1]]
    assert known.tolist() == [[True, True, True, False, False, False]]


def test_given_mentions_are_retained() -> None:
    clusters = torch.tensor([[0, LEFT_OUT, NOT_KNOWN], [0, -1, -1]])
    kept = retain_given(torch.tensor([False, False]), clusters)
    assert kept.tolist() == [[True, False, True], [False, False, False]]
    assert retain_given(torch.tensor([False]), clusters[1:]).tolist() == [False]


GAPS = [{}, {"links": False}, {"clusters": False}, {"links": "some"}, {"mentions": "named"}, {"mentions": "given"}]


@pytest.mark.parametrize("head", ["global", "local", "standalone_coref", "standalone_linking"])
def test_a_model_takes_documents_of_any_layers(
    head: str, tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], tiny_documents: list[Document]
) -> None:
    """Alone and side by side, with gradients that are finite; complete documents are as ever."""
    model = tiny_model(head=head).train()
    processor = tiny_processor(model.config)
    plain = model(**processor(tiny_documents[0], gold=True).inputs)
    whole = dataclasses.replace(tiny_documents[0], annotated={"mentions": "all", "clusters": True, "links": True})
    assert torch.equal(model(**processor(whole, gold=True).inputs).loss, plain.loss)
    mixed = [dataclasses.replace(tiny_documents[n % 3], annotated=layers) for n, layers in enumerate(GAPS)]
    alone = [model(**processor(document, gold=True).inputs).loss for document in mixed]
    together = model(**processor(mixed, gold=True).inputs).loss
    torch.testing.assert_close(together, torch.stack(alone).mean(), rtol=1e-4, atol=1e-4)
    together.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("head", ["global", "local", "standalone_coref", "standalone_linking"])
def test_nothing_to_learn_is_a_loss_of_zero(
    head: str, tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]
) -> None:
    """And of no negative zero, which logs show as -0.0."""
    model = tiny_model(head=head).train()
    processor = tiny_processor(model.config)
    for document in (Document("Oslo won.", clusters=[], annotated={"mentions": "given"}), Document(".", clusters=[])):
        output = model(**processor([document], gold=True).inputs)
        losses = torch.stack([output.loss, output.head_loss, output.mention_loss])
        assert losses.tolist() == [0.0] * 3 and not losses.signbit().any()
    scores = model.edge_scores(output)
    told = model.head.distillation_loss(scores, model.head.parent_probabilities(scores))
    assert told.tolist() == [0.0] and not told.signbit().any()


def test_given_mentions_train_however_bad_the_pruner(
    tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]
) -> None:
    """All three are retained in training though one span may be, and no other gets a score or a gradient."""
    model = tiny_model(span_keep_ratio=0.01).train()
    processor = tiny_processor(model.config)
    text = "Anna Berg met Carl Moss in Oslo. Then she left the city."
    clusters = [Cluster((Mention(0, 9), Mention(38, 41))), Cluster((Mention(14, 23),))]
    document = Document(text, clusters=clusters, annotated={"mentions": "given", "links": False})
    batch = processor(document, gold=True)
    output = model(**batch.inputs)
    offsets = batch.documents[0].spans.offsets
    retained = {tuple(offsets[row].tolist()) for row in output.retained[0].tolist()}
    assert {(0, 9), (38, 41), (14, 23)} <= retained
    (gradient,) = torch.autograd.grad(output.loss, output.span_scores)
    told = {tuple(offsets[row].tolist()) for row in gradient[0].nonzero().flatten().tolist()}
    assert told == {(0, 9), (38, 41), (14, 23)}
    # Nobody is told where mentions are when a model is looked at.
    assert model.eval()(**batch.inputs).retained.shape[1] < 3


@pytest.mark.parametrize("layers", [{}, {"clusters": False}, {"links": False}, {"clusters": False, "links": "some"}])
@pytest.mark.parametrize("head", ["global", "local"])
def test_given_mentions_train_where_they_are_all_spans(
    head: str, layers: dict[str, Any], tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]
) -> None:
    """As beside a span of which nothing is known, alone and in a batch, and not where a model is looked at."""
    model = tiny_model(head=head, span_keep_ratio=0.01, min_kept_spans=1)
    processor = tiny_processor(model.config)
    text = "Anna Berg met Carl Moss in Oslo. Then she left the city."
    mentions = [(0, 9), (14, 23), (38, 41)]
    clusters = [Cluster((Mention(0, 9), Mention(38, 41))), Cluster((Mention(14, 23),))]
    given = {"annotated": {"mentions": "given", **layers}}
    alone = Document(text, spans=mentions, clusters=clusters, **given)
    beside = dataclasses.replace(alone, spans=[*mentions, (27, 31)])
    complete = dataclasses.replace(alone, annotated=layers)

    def read(*documents: Document) -> Any:
        return model(**processor(documents, gold=True).inputs)

    model.train()
    wanted, found = read(beside), read(alone)
    assert (found.retained >= 0).sum(dim=1).tolist() == [3]
    torch.testing.assert_close(found.mention_loss, wanted.mention_loss)
    torch.testing.assert_close(found.head_loss, wanted.head_loss)
    together = read(alone, complete, Document("Oslo won.", clusters=[]))
    assert (together.retained >= 0).sum(dim=1).tolist() == [3, 1, 1]
    # Batches without such a document are as ever.
    assert "gold_given" not in processor([complete, beside], gold=True).inputs
    assert (model.eval()(**processor([alone], gold=True).inputs).retained >= 0).sum() == 1


def test_given_mentions_are_retained_by_code_or_word() -> None:
    clusters = np.array([0, 1, NOT_KNOWN])
    given = AnnotatedLayers(mentions="given")
    assert given_alone(clusters, given)
    assert not given_alone(clusters, AnnotatedLayers(mentions="named"))
    for others in ([0, LEFT_OUT], [LEFT_OUT], []):
        assert not given_alone(np.array(others), given)
    rows = torch.tensor([clusters.tolist(), [0, -1, FREE]])
    said = torch.tensor([True, False])
    assert retain_given(torch.tensor([False, True]), rows, said).tolist() == [[True] * 3, [True] * 3]
    assert retain_given(torch.tensor([False, False]), rows, said).tolist() == [[True] * 3, [False] * 3]
    assert retain_given(torch.tensor([False, False]), rows, ~said).tolist() == [[False] * 3, [True, False, False]]
    assert retain_given(said, rows) is said
