from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable

import pytest
import torch

from hf_corefel.decoding.clusters import clusters_from_parents
from hf_corefel.heads import EdgeScores, GlobalHead, GoldClustering
from hf_corefel.heads.global_tree import activate

MakeDocuments = Callable[..., tuple[EdgeScores, GoldClustering]]
Clustering = frozenset[tuple[tuple[int, ...], int | None]]


def all_trees(scores: EdgeScores, edge_activation: str) -> dict[tuple[int, ...], float]:
    """Every spanning tree of a one-document batch, as parents, with its probability."""
    spans = int(scores.mask[0].sum())
    size = scores.num_spans
    choices = []
    for child in range(spans):
        edges = {size: scores.root[0, child].item()}
        edges |= {parent: scores.span_to_span[0, parent, child].item() for parent in range(spans) if parent != child}
        edges |= {
            size + 1 + k: value
            for k, value in enumerate(scores.candidate_scores[0, child].tolist())
            if scores.candidate_rows[0, child, k] >= 0
        }
        if edge_activation == "arsinh":
            edges = {parent: math.asinh(value) for parent, value in edges.items()}
        choices.append(edges)
    weights = {}
    for parents in itertools.product(*choices):
        if all(leads_to_the_top(parents, span) for span in range(spans)):
            log_weight = sum(edges[parent] for edges, parent in zip(choices, parents, strict=True))
            weights[parents] = math.exp(log_weight)
    total = sum(weights.values())
    return {parents: weight / total for parents, weight in weights.items()}


def leads_to_the_top(parents: tuple[int, ...], span: int) -> bool:
    for _ in parents:
        span = parents[span]
        if span >= len(parents):
            return True
    return False


def clusters(parents: tuple[int, ...] | list[int], scores: EdgeScores) -> Clustering:
    found = clusters_from_parents(
        parents,
        scores.candidate_rows[0].tolist(),
        scores.mention[0].tolist(),
        scores.mask[0].tolist(),
        drop_unlinked_singletons=False,
    )
    return frozenset((cluster.spans, cluster.entity_row) for cluster in found)


def gold_clusters(gold: GoldClustering) -> Clustering:
    members: dict[tuple[int, int], list[int]] = defaultdict(list)
    for span, cluster in enumerate(gold.cluster_ids[0].tolist()):
        members[(cluster, -1) if cluster >= 0 else (-1, span)].append(span)
    entities = gold.entity_rows[0].tolist()
    return frozenset(
        (tuple(spans), None if entities[spans[0]] < 0 else entities[spans[0]]) for spans in members.values()
    )


@pytest.mark.parametrize("root_score", ["paper", "original"])
@pytest.mark.parametrize("edge_activation", ["none", "arsinh"])
@pytest.mark.parametrize("seed", range(4))
def test_everything_agrees_with_enumeration(
    make_documents: MakeDocuments, seed: int, edge_activation: str, root_score: str
) -> None:
    scores, gold = make_documents([4], candidates=2, seed=seed, root_score=root_score)
    head = GlobalHead(edge_activation)
    trees = all_trees(scores, edge_activation)

    right = sum(weight for parents, weight in trees.items() if clusters(parents, scores) == gold_clusters(gold))
    assert right > 0
    assert head.log_prob(scores, gold).tolist() == pytest.approx([math.log(right)], abs=1e-10)
    assert head.loss(scores, gold).item() == pytest.approx(-math.log(right), abs=1e-10)
    assert tuple(head.decode(scores).parents[0].tolist()) == max(trees, key=lambda parents: trees[parents])

    edges, entities = head.marginals(scores)
    for child in range(4):
        parents_of_child: dict[int, float] = defaultdict(float)
        entity_of_child: dict[int | None, float] = defaultdict(float)
        for parents, weight in trees.items():
            parents_of_child[parents[child]] += weight
            [entity] = [link for spans, link in clusters(parents, scores) if child in spans]
            entity_of_child[entity] += weight
        row = [*edges.span_to_span[0, :, child].tolist(), edges.root[0, child].item()]
        row += edges.candidate_probabilities[0, child].tolist()
        assert row == pytest.approx([parents_of_child[parent] for parent in range(len(row))], abs=1e-10)
        assert entities.nil[0, child].item() == pytest.approx(entity_of_child[None], abs=1e-10)
        for entity, probability in zip(
            entities.entity_rows[0].tolist(), entities.probability[0, child].tolist(), strict=True
        ):
            assert probability == pytest.approx(entity_of_child[entity], abs=1e-10)


def shift_child(scores: EdgeScores, shift: torch.Tensor, *, with_root: bool) -> EdgeScores:
    """Add a constant of its own to every edge into a span (all but the root edge if not with_root)."""
    assert scores.root_pair is not None
    return EdgeScores(
        mention=scores.mention,
        link=scores.link + shift.unsqueeze(-1),
        candidate_rows=scores.candidate_rows,
        pair=scores.pair + shift.unsqueeze(1),
        mask=scores.mask,
        root_pair=scores.root_pair + shift if with_root else scores.root_pair,
        root_score=scores.root_score,
    )


def child_mention_shift(scores: EdgeScores, shift: torch.Tensor) -> EdgeScores:
    """What raising only the child's Φp does: the root edge has that term with the paper's root score only."""
    return shift_child(scores, shift, with_root=scores.root_score == "paper")


@pytest.mark.parametrize("seed", range(3))
def test_mention_score_of_the_child_cancels_with_the_root_score_of_the_paper(
    make_documents: MakeDocuments, seed: int
) -> None:
    scores, gold = make_documents([7, 4], seed=seed)
    shift = torch.randn(2, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 5
    head = GlobalHead("none")
    shifted = child_mention_shift(scores, shift)
    torch.testing.assert_close(head.log_prob(shifted, gold), head.log_prob(scores, gold), rtol=0, atol=1e-9)
    assert torch.equal(head.decode(shifted).parents, head.decode(scores).parents)
    for got, expected in zip(head.marginals(shifted).edges, head.marginals(scores).edges, strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("edge_activation", "root_score"), [("none", "original"), ("arsinh", "paper")])
def test_mention_score_of_the_child_matters_otherwise(
    make_documents: MakeDocuments, edge_activation: str, root_score: str
) -> None:
    scores, gold = make_documents([7, 4], root_score=root_score)
    shifted = child_mention_shift(scores, torch.full((2, 7), 2.0, dtype=torch.float64))
    head = GlobalHead(edge_activation)
    assert ((head.log_prob(shifted, gold) - head.log_prob(scores, gold)).abs() > 1e-3).all()


def test_mention_score_of_the_parent_matters(make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([7])
    raised = scores.mention.clone()
    raised[0, 2] += 2.0
    head = GlobalHead("none")
    changed = EdgeScores(
        raised, scores.link, scores.candidate_rows, scores.pair, scores.mask, scores.root_pair, root_score="paper"
    )
    assert abs(head.loss(changed, gold).item() - head.loss(scores, gold).item()) > 1e-3


def test_impossible_gold_is_left_out_and_reported(make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([5, 6])
    wrong = GoldClustering(gold.cluster_ids.clone(), gold.entity_rows.clone())
    wrong.cluster_ids[1, :2] = 40
    wrong.entity_rows[1, :2] = 999
    scores.mention.requires_grad_()
    head = GlobalHead("none")
    assert head.log_prob(scores, wrong)[1] == -math.inf
    with pytest.warns(RuntimeWarning, match="1 of 2 documents is impossible"):
        loss = head.loss(scores, wrong)
    assert loss.item() == pytest.approx(-head.log_prob(scores, gold)[0].item(), abs=1e-12)
    loss.backward()
    assert scores.mention.grad is not None
    assert torch.isfinite(scores.mention.grad).all()
    assert (scores.mention.grad[1] == 0).all()
    assert (scores.mention.grad[0, :5] != 0).any()


def test_nothing_but_impossible_gold_gives_a_zero_that_can_be_differentiated(make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([3])
    scores.pair.requires_grad_()
    wrong = GoldClustering(torch.tensor([[0, 0, 0]]), torch.tensor([[999, 999, 999]]))
    with pytest.warns(RuntimeWarning, match="1 of 1 documents"):
        loss = GlobalHead("arsinh").loss(scores, wrong)
    assert loss.item() == 0
    loss.backward()
    assert scores.pair.grad is not None
    assert (scores.pair.grad == 0).all()


def test_unreachable_gold_becomes_possible_when_restricted(make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([3])
    wrong = GoldClustering(torch.tensor([[0, 0, 1]]), torch.tensor([[999, 999, -1]]))
    reachable, count = wrong.restrict_to_reachable(scores.candidate_rows, scores.mask)
    assert count == 1
    assert GlobalHead("none").loss(scores, reachable).isfinite()


def test_half_precision_scores_give_a_float64_loss(make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([6])
    half = scores.to(torch.bfloat16)
    loss = GlobalHead("none").loss(half, gold)
    assert loss.dtype == torch.float64
    assert loss.item() == pytest.approx(GlobalHead("none").loss(scores, gold).item(), abs=0.3)


def test_activation_keeps_missing_edges_and_finite_gradients() -> None:
    raw = torch.tensor([-1e6, 0.0, 3.0, 1e6], dtype=torch.float64, requires_grad=True)
    edges = torch.cat((raw, torch.tensor([-math.inf], dtype=torch.float64)))
    weights = activate(edges, "arsinh")
    assert weights.tolist() == pytest.approx([math.asinh(value) for value in edges.tolist()], abs=1e-12)
    weights.exp().sum().log().backward()
    assert raw.grad is not None
    assert torch.isfinite(raw.grad).all()
    assert torch.equal(activate(edges, "none"), edges)


def test_unknown_activation_is_named() -> None:
    with pytest.raises(ValueError, match=r"^edge_activation must be one of none, arsinh; got 'relu'"):
        GlobalHead("relu")
