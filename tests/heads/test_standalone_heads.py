from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch

from hf_corefel.decoding.clusters import DecodedCluster, clusters_from_parents
from hf_corefel.heads import EdgeScores, GoldClustering, LocalHead, StandaloneCorefHead, StandaloneLinkingHead

MakeDocuments = Callable[..., tuple[EdgeScores, GoldClustering]]


def linking_scores() -> EdgeScores:
    return EdgeScores(
        mention=torch.full((1, 4), 50.0),
        link=torch.tensor([[[3.0, 1.0], [-2.0, 0.5], [2.0, -1.0], [-4.0, -3.0]]]),
        candidate_rows=torch.tensor([[[7, 8], [9, 7], [8, -1], [7, 9]]]),
        pair=torch.full((1, 4, 4), 50.0),
        mask=torch.ones(1, 4, dtype=torch.bool),
        nil=torch.tensor([[1.0, 0.0, 2.5, -1.0]]),
    )


def test_coreference_ignores_candidates_and_gold_entities(make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([6, 4])
    head = StandaloneCorefHead()
    bare = scores.without_candidates()
    no_links = GoldClustering(gold.cluster_ids, torch.full_like(gold.entity_rows, -1))
    assert (gold.entity_rows >= 0).any()
    assert torch.equal(head.loss(scores, gold), LocalHead().loss(bare, no_links))
    assert torch.equal(head.decode(scores).parents, LocalHead().decode(bare).parents)
    assert head.decode(scores).parents.max() <= 6
    edges, entities = head.marginals(scores)
    assert edges.candidate_probabilities.shape == scores.link.shape
    assert (edges.candidate_probabilities == 0).all()
    assert entities.probability.shape == (2, 6, 0)
    assert entities.nil[scores.mask].tolist() == pytest.approx([1.0] * 10, abs=1e-12)


def test_coreference_loss_by_hand() -> None:
    scores = dataclasses.replace(
        linking_scores(), mention=torch.zeros(1, 4), pair=torch.zeros(1, 4, 4, dtype=torch.float32)
    )
    gold = GoldClustering(torch.tensor([[0, 1, 0, 0]]), torch.full((1, 4), -1))
    # With equal scores: itself of 1, itself of 2, one antecedent of 3 choices, two of 4.
    expected = math.log(1) + math.log(2) + math.log(3) + math.log(2)
    assert StandaloneCorefHead().loss(scores, gold).item() == pytest.approx(expected, abs=1e-6)


def test_linking_loss_is_the_sum_of_binary_cross_entropies() -> None:
    def bce(score: float, target: int) -> float:
        probability = 1 / (1 + math.exp(-score))
        return -math.log(probability if target else 1 - probability)

    # Span 0 is linked to its first candidate; 1 is no mention; 2 belongs to 0's cluster but does not
    # have the entity (its padded candidate counts nothing); 3 is a NIL mention.
    gold = GoldClustering(torch.tensor([[0, -1, 0, 1]]), torch.tensor([[7, 9, 7, -1]]))
    expected = bce(1.0, 0) + bce(3.0, 1) + bce(1.0, 0)
    expected += bce(0.0, 1) + bce(-2.0, 0) + bce(0.5, 0)
    expected += bce(2.5, 1) + bce(2.0, 0)
    expected += bce(-1.0, 1) + bce(-4.0, 0) + bce(-3.0, 0)
    assert StandaloneLinkingHead().loss(linking_scores(), gold).item() == pytest.approx(expected, abs=1e-5)


def test_linking_groups_mentions_by_their_link() -> None:
    scores = linking_scores()
    parents = StandaloneLinkingHead().decode(scores).parents
    assert parents.tolist() == [[5, 6, -1, -1]]
    clusters = clusters_from_parents(
        parents[0].tolist(), scores.candidate_rows[0].tolist(), scores.mention[0].tolist(), scores.mask[0].tolist()
    )
    assert clusters == [DecodedCluster((0, 1), 7)]


def test_linking_ties_go_to_nil_and_then_to_the_first_candidate() -> None:
    scores = dataclasses.replace(linking_scores(), link=torch.ones(1, 4, 2), nil=torch.tensor([[1.0, 0.0, 1.0, 0.5]]))
    assert StandaloneLinkingHead().decode(scores).parents.tolist() == [[-1, 5, -1, 5]]


def test_linking_probabilities_are_scaled_sigmoids() -> None:
    edges, entities = StandaloneLinkingHead().marginals(linking_scores())
    nil, first, second = (1 / (1 + math.exp(-score)) for score in (0.0, -2.0, 0.5))
    total = nil + first + second
    assert edges.root[0, 1].item() == pytest.approx(nil / total, abs=1e-12)
    assert edges.candidate_probabilities[0, 1].tolist() == pytest.approx([first / total, second / total], abs=1e-12)
    assert (edges.span_to_span == 0).all()
    assert entities.entity_rows.tolist() == [[7, 8, 9]]
    assert entities.probability[0, 1].tolist() == pytest.approx([second / total, 0, first / total], abs=1e-12)
    assert entities.nil[0, 1].item() == pytest.approx(nil / total, abs=1e-12)


def test_linking_probabilities_do_not_underflow() -> None:
    scores = linking_scores()
    scores = dataclasses.replace(scores, link=scores.link - 5000, nil=torch.full((1, 4), -5000.0))
    edges, _ = StandaloneLinkingHead().marginals(scores)
    assert (edges.root + edges.candidate_probabilities.sum(-1)).tolist() == [pytest.approx([1.0] * 4)]


def test_linking_needs_the_nil_score() -> None:
    scores = dataclasses.replace(linking_scores(), nil=None)
    with pytest.raises(ValueError, match=r"^nil: "):
        StandaloneLinkingHead().decode(scores)
