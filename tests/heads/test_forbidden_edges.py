"""A phrase and its part: no head knows an edge between them, in loss, marginals and decoding."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable

import pytest
import torch

from hf_corefel.heads import EdgeScores, GlobalHead, GoldClustering, Head, LocalHead, StandaloneCorefHead

MakeDocuments = Callable[..., tuple[EdgeScores, GoldClustering]]
INF = float("inf")
HEADS: list[Head] = [GlobalHead(), GlobalHead("arsinh"), LocalHead(), StandaloneCorefHead()]


def forbid(scores: EdgeScores, *pairs: tuple[int, int]) -> EdgeScores:
    """The same scores without edges between the spans of the pairs, in either direction."""
    forbidden = torch.zeros_like(scores.pair, dtype=torch.bool)
    for one, other in pairs:
        forbidden[:, one, other] = forbidden[:, other, one] = True
    return dataclasses.replace(scores, forbidden=forbidden)


def without(scores: EdgeScores, *pairs: tuple[int, int]) -> EdgeScores:
    """The same by hand: pair scores of -inf."""
    pair = scores.pair.clone()
    for one, other in pairs:
        pair[:, one, other] = pair[:, other, one] = -INF
    return dataclasses.replace(scores, pair=pair)


def trees(scores: EdgeScores, forbidden: set[tuple[int, int]]) -> dict[tuple[int, ...], float]:
    """Every tree of the first document that has none of the forbidden edges, with its weight."""
    size = scores.num_spans
    choices = []
    for child in range(size):
        edges = {size: scores.root[0, child].item()}
        for parent in range(size):
            if parent != child and not {(parent, child), (child, parent)} & forbidden:
                total = scores.mention[0, parent] + scores.mention[0, child] + scores.pair[0, parent, child]
                edges[parent] = total.item()
        ids = scores.candidate_rows[0, child].tolist()
        edges |= {
            size + 1 + k: scores.candidate_scores[0, child, k].item() for k, entity in enumerate(ids) if entity >= 0
        }
        choices.append(edges)
    weights = {}
    for parents in itertools.product(*choices):
        node, steps = list(range(size)), 0
        while any(n < size for n in node) and steps <= size:
            node, steps = [n if n >= size else parents[n] for n in node], steps + 1
        if steps <= size:
            weights[parents] = math.exp(sum(edges[p] for edges, p in zip(choices, parents, strict=True)))
    return weights


@pytest.mark.parametrize("seed", range(6))
def test_the_global_head_against_all_trees(make_documents: MakeDocuments, seed: int) -> None:
    pairs = [(0, 1), (1, 3)]
    scores, _ = make_documents([4], candidates=2, seed=seed)
    weights = trees(scores, set(pairs))
    total = sum(weights.values())
    head, masked = GlobalHead(), forbid(scores, *pairs)
    assert head.distribution(masked).log_partition.item() == pytest.approx(math.log(total), abs=1e-10)
    edges = head.marginals(masked).edges
    for parent, child in itertools.permutations(range(4), 2):
        expected = sum(weight for parents, weight in weights.items() if parents[child] == parent) / total
        assert edges.span_to_span[0, parent, child].item() == pytest.approx(expected, abs=1e-10)
    assert tuple(head.decode(masked).parents[0].tolist()) == max(weights, key=lambda parents: weights[parents])


@pytest.mark.parametrize("head", HEADS)
def test_a_forbidden_edge_is_one_of_weight_zero(head: Head, make_documents: MakeDocuments) -> None:
    pairs = [(0, 2), (1, 2)]
    scores, gold = make_documents([5, 3], seed=7)
    masked, by_hand = forbid(scores, *pairs), without(scores, *pairs)
    gold, _ = gold.restrict_to_reachable(scores.candidate_rows, scores.mask)
    gold = gold.restrict_to_connected(masked)
    torch.testing.assert_close(head.loss(masked, gold), head.loss(by_hand, gold), rtol=0, atol=1e-12)
    assert torch.isfinite(head.loss(masked, gold))
    assert torch.equal(head.decode(masked).parents, head.decode(by_hand).parents)
    left, right = head.marginals(masked), head.marginals(by_hand)
    for one, other in zip((*left.edges, *left.entities), (*right.edges, *right.entities), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    assert (left.edges.span_to_span[masked.forbidden] == 0).all()


@pytest.mark.parametrize("head", HEADS)
def test_no_gradient_reaches_a_forbidden_pair(head: Head, make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([6], seed=8)
    masked = forbid(scores, (0, 1), (2, 5))
    masked.pair.requires_grad_()
    gold, _ = gold.restrict_to_reachable(scores.candidate_rows, scores.mask)
    head.loss(masked, gold.restrict_to_connected(masked)).backward()
    assert masked.pair.grad is not None and torch.isfinite(masked.pair.grad).all()
    assert (masked.pair.grad[masked.forbidden] == 0).all() and masked.pair.grad.abs().sum() > 0


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("seed", range(20))
def test_the_loss_of_gold_with_nested_mentions_is_finite(head: Head, make_documents: MakeDocuments, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores, gold = make_documents([7, 4], seed=seed)
    drawn = torch.rand(scores.pair.shape, generator=generator) < 0.5
    masked = dataclasses.replace(scores, forbidden=drawn | drawn.mT)
    gold, _ = gold.restrict_to_reachable(scores.candidate_rows, scores.mask)
    for name in ("mention", "pair", "link", "root_pair"):
        getattr(masked, name).requires_grad_()
    loss = head.loss(masked, gold.restrict_to_connected(masked))
    loss.backward()
    assert torch.isfinite(loss) and loss > 0
    assert masked.pair.grad is not None and torch.isfinite(masked.pair.grad).all()


def connected(
    cluster_ids: list[int], entity_rows: list[int], candidates: list[int], *pairs: tuple[int, int]
) -> list[tuple[set[int], int]]:
    """What is left of gold clusters, as sets of spans with their entities, when pairs are forbidden."""
    size = len(cluster_ids)
    zeros = torch.zeros(1, size)
    scores = EdgeScores(
        mention=zeros,
        link=torch.zeros(1, size, 1),
        candidate_rows=torch.tensor([[[candidate] for candidate in candidates]]),
        pair=torch.zeros(1, size, size),
        mask=torch.ones(1, size, dtype=torch.bool),
        root_pair=zeros,
    )
    gold = GoldClustering(torch.tensor([cluster_ids]), torch.tensor([entity_rows]))
    gold = gold.restrict_to_connected(forbid(scores, *pairs))
    ids, entities = gold.cluster_ids[0].tolist(), gold.entity_rows[0].tolist()
    clusters = [({n for n in range(size) if ids[n] == c}, entities[ids.index(c)]) for c in sorted(set(ids) - {-1})]
    assert all(entities[n] == entity for spans, entity in clusters for n in spans)
    return sorted(clusters, key=lambda item: min(item[0]))


def test_gold_is_taken_apart_only_where_no_tree_holds_it() -> None:
    none = [-1] * 4
    assert connected([0, 0, 0, -1], none, none, (0, 1)) == [({0, 1, 2}, -1)]
    assert connected([0, 0, 1, -1], none, none, (0, 1)) == [({0}, -1), ({1}, -1), ({2}, -1)]
    assert connected([0, 0, 0, 0], none, none, (0, 1), (0, 2), (0, 3)) == [({0}, -1), ({1, 2, 3}, -1)]
    assert connected([0, 0, 0, 0], none, none, (0, 2), (0, 3), (1, 2), (1, 3)) == [({0, 1}, -1), ({2, 3}, -1)]


def test_parts_with_the_entity_hang_from_it_together() -> None:
    assert connected([0, 0], [7, 7], [7, 7], (0, 1)) == [({0, 1}, 7)]
    assert connected([0, 0], [7, 7], [8, 7], (0, 1)) == [({0}, -1), ({1}, 7)]
    assert connected([0, 0, 0], [7, 7, 7], [7, -1, 7], (0, 1), (0, 2)) == [({0, 1, 2}, 7)]


def test_nothing_forbidden_changes_nothing(make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([5], seed=9)
    assert gold.restrict_to_connected(scores) is gold
    assert torch.equal(forbid(scores).span_to_span, scores.span_to_span)


def test_the_shape_of_what_is_forbidden_is_checked(make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([3], seed=10)
    with pytest.raises(ValueError, match=r"^forbidden: expected the shape \[1, 3, 3\]"):
        dataclasses.replace(scores, forbidden=torch.zeros(1, 3, 2, dtype=torch.bool))


@pytest.mark.parametrize("head", HEADS)
def test_parent_scores_are_what_is_decoded(head: Head, make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([5, 3], seed=11)
    masked = forbid(scores, (0, 1))
    weights, parents = head.parent_scores(masked), head.decode(masked).parents
    assert weights.shape == (2, 5, 5 + 1 + 3)
    assert (weights[:, 1, 0] == -INF).all() and (weights[:, 0, 1] == -INF).all()
    chosen = weights.gather(2, parents.clamp(min=0).unsqueeze(2)).squeeze(2)[masked.mask]
    assert torch.isfinite(chosen).all()
    if isinstance(head, LocalHead | StandaloneCorefHead):
        torch.testing.assert_close(chosen, weights.amax(dim=2)[masked.mask], rtol=0, atol=0)
