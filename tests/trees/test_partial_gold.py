"""Gold with gaps against the list of all trees that agree with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from agreeing_trees import Trees, agreeing, all_trees
from hf_corefel.trees import SpanningTreeDistribution, elimination
from hf_corefel.utils.gold_codes import FREE, LEFT_OUT, NOT_KNOWN

CASES = 520


@dataclass
class Case:
    """A graph, its trees, and a random number generator for its gold."""

    graph: Any
    trees: Trees
    random: np.random.Generator


@pytest.fixture(scope="module")
def cases(make_graph: Any) -> list[Case]:
    """Random graphs of up to four spans, with missing edges, equal scores, padding and scores of up to 100."""
    found = []
    for seed in range(CASES):
        graph = make_graph(seed, missing=(0.0, 0.2, 0.4)[seed % 3])
        found.append(Case(graph, all_trees(graph), np.random.default_rng(seed)))
    return found


def random_clusters(random: np.random.Generator, spans: int, number: int = 2) -> np.ndarray:
    return random.integers(0, number, size=spans)


def clusters_without_links(random: np.random.Generator, spans: int) -> tuple[np.ndarray, np.ndarray]:
    clusters = random_clusters(random, spans, int(random.integers(1, 4)))
    clusters[random.random(spans) < 0.15] = -1
    return clusters, np.where(clusters < 0, -1, NOT_KNOWN)


def some_links(random: np.random.Generator, spans: int) -> tuple[np.ndarray, np.ndarray]:
    clusters = random_clusters(random, spans, 3)
    entities = random.permutation(np.array([0, 1, 2, -1, NOT_KNOWN, NOT_KNOWN]))
    return clusters, entities[clusters]


def links_without_clusters(random: np.random.Generator, spans: int) -> tuple[np.ndarray, np.ndarray]:
    entities = random.integers(-1, 3, size=spans)
    clusters = np.where(entities < 0, NOT_KNOWN, entities)
    other = random.random(spans) < 0.15
    return np.where(other, -1, clusters), np.where(other, -1, entities)


def some_links_without_clusters(random: np.random.Generator, spans: int) -> tuple[np.ndarray, np.ndarray]:
    entities = random.choice([0, 1, NOT_KNOWN], size=spans)
    return np.where(entities < 0, NOT_KNOWN, entities), entities


def free_spans(random: np.random.Generator, spans: int) -> tuple[np.ndarray, np.ndarray]:
    clusters = random.choice([0, 1, FREE], size=spans)
    entities = random.permutation(np.array([0, -1, NOT_KNOWN]))[clusters.clip(min=0)]
    return clusters, np.where(clusters < 0, NOT_KNOWN, entities)


def everything_at_once(random: np.random.Generator, spans: int) -> tuple[np.ndarray, np.ndarray]:
    clusters = random.choice([0, 1, 2, -1, NOT_KNOWN, FREE], size=spans)
    entities = random.permutation(np.array([0, 1, 2, -1, NOT_KNOWN, NOT_KNOWN]))[clusters.clip(min=0)]
    without = random.choice([-1, NOT_KNOWN], size=spans)
    return clusters, np.where(clusters >= 0, entities, np.where(clusters == -1, -1, without))


LAYERS = [
    clusters_without_links,
    some_links,
    links_without_clusters,
    some_links_without_clusters,
    free_spans,
    everything_at_once,
]


def log_prob(case: Case, clusters: np.ndarray, entities: np.ndarray) -> tuple[float, np.ndarray]:
    """The log-probability, and its gradient ``[N, N + 1 + K]`` by parents of each span."""
    *scores, candidate_rows = case.graph.tensors(requires_grad=True)
    gold = torch.tensor(clusters[None]), torch.tensor(entities[None])
    value = SpanningTreeDistribution(*scores, candidate_rows).log_prob(*gold)
    value.sum().backward()
    root, pairs, candidates = (score.grad[0].numpy() for score in scores)
    return value.item(), np.hstack([pairs.T, root[:, None], candidates])


@pytest.mark.parametrize("layer", LAYERS)
def test_the_sum_and_its_gradient_are_those_of_the_list(layer: Callable[..., Any], cases: list[Case]) -> None:
    possible = 0
    for number, case in enumerate(cases):
        clusters, entities = layer(case.random, len(case.graph.root))
        which = agreeing(case.trees, clusters, entities)
        found, gradient = log_prob(case, clusters, entities)
        everything = np.ones(len(which), dtype=bool)
        expected = case.trees.log_weight(which)
        if expected == -math.inf:
            assert found == -math.inf, number
            assert (gradient == 0).all(), number
            continue
        possible += 1
        assert found == pytest.approx(expected - case.trees.log_weight(everything), rel=1e-12, abs=1e-10), number
        assert found <= 0.0
        difference = case.trees.marginals(which, gradient.shape[1]) - case.trees.marginals(
            everything, gradient.shape[1]
        )
        np.testing.assert_allclose(gradient, difference, rtol=0, atol=1e-10, err_msg=str(number))
    assert possible > CASES / 8


def test_log_space_gives_the_same(cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination, "LINEAR_SPACE_LIMIT", -math.inf)
    for case in cases[:60]:
        clusters, entities = everything_at_once(case.random, len(case.graph.root))
        which = agreeing(case.trees, clusters, entities)
        found, gradient = log_prob(case, clusters, entities)
        assert found == pytest.approx(
            case.trees.log_weight(which) - case.trees.log_weight(np.ones(len(which), dtype=bool)), rel=1e-12, abs=1e-10
        ) or (found == -math.inf and not which.any())
        assert np.isfinite(gradient).all()


def test_free_spans_make_an_upper_bound_of_the_loss(cases: list[Case]) -> None:
    """Trees in which something known hangs from a free span agree as well, and are left out."""
    strict = 0
    for case in cases[:300]:
        clusters, entities = free_spans(case.random, len(case.graph.root))
        exact = case.trees.log_weight(agreeing(case.trees, clusters, entities, edge_local=False))
        found = SpanningTreeDistribution.log_numerator(
            case.graph.distribution(), torch.tensor(clusters[None]), torch.tensor(entities[None])
        ).item()
        assert found <= exact + 1e-9 or found == exact
        strict += found < exact - 1e-6
    assert strict > 20


def test_without_links_the_loss_is_no_larger_than_with_them(cases: list[Case]) -> None:
    equal = 0
    for case in cases[:250]:
        spans = len(case.graph.root)
        clusters = random_clusters(case.random, spans)
        entities = case.random.permutation(4)[:2][clusters] - 1
        full, _ = log_prob(case, clusters, entities)
        some, _ = log_prob(case, clusters, np.where(entities < 0, NOT_KNOWN, entities))
        partial, _ = log_prob(case, clusters, np.full(spans, NOT_KNOWN))
        assert full <= some + 1e-10 and some <= partial + 1e-10 and partial <= 0.0
        equal += full == some
    assert 0 < equal < 250


def test_one_candidate_and_no_root_leave_one_way(make_graph: Any) -> None:
    """With one candidate each and no edge from the root the link is known without being told."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        spans = int(rng.integers(2, 6))
        clusters = random_clusters(rng, spans)
        pairs = torch.tensor(rng.normal(size=(1, spans, spans)) * 5)
        candidates = torch.tensor(rng.normal(size=(1, spans, 1)) * 5)
        rows = torch.tensor(clusters[None, :, None] + 3)
        trees = SpanningTreeDistribution(torch.full((1, spans), -torch.inf), pairs, candidates, rows)
        gold = torch.tensor(clusters[None])
        known = trees.log_prob(gold, rows[..., 0]).item()
        assert trees.log_prob(gold, torch.full_like(gold, NOT_KNOWN)).item() == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("layer", LAYERS)
def test_gradcheck(layer: Callable[..., Any], make_graph: Any) -> None:
    for seed in (3, 4, 9):
        rng = np.random.default_rng(seed)
        scores = [torch.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((1, 5), (1, 5, 5), (1, 5, 3))]
        rows = torch.tensor(rng.integers(0, 3, size=(1, 5, 3)))
        clusters, entities = layer(rng, 5)
        linked = np.where((entities >= 0) & ~(rows[0].numpy() == entities[:, None]).any(axis=1), -1, entities)
        if set(map(tuple, zip(clusters, linked, strict=True))) != set(map(tuple, zip(clusters, entities, strict=True))):
            rows[0, :, 0] = torch.tensor(np.where(entities >= 0, entities, rows[0, :, 0]))
        gold = torch.tensor(clusters[None]), torch.tensor(entities[None])

        def value(*scores: torch.Tensor, rows: Any = rows, gold: Any = gold) -> torch.Tensor:
            return SpanningTreeDistribution(*scores, rows).log_prob(*gold)

        assert value(*scores).isfinite().all()
        assert torch.autograd.gradcheck(value, scores)


@pytest.mark.parametrize("sizes", [[1, 1, 2], [3, 5, 2, 1], [40, 7, 1], [33, 34]])
def test_large_clusters_as_the_sum_of_their_links(sizes: list[int]) -> None:
    """Every link by itself, added up, for clusters of many spans whose candidates are in common."""
    rng = np.random.default_rng(len(sizes))
    clusters = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    spans = len(clusters)
    rows = torch.tensor(10 * clusters[None, :, None] + rng.integers(0, 6, size=(1, spans, 4)))
    rows[0, rng.random(spans) < 0.3, 2:] = -1
    scores = [torch.tensor(rng.normal(size=shape) * 4, requires_grad=True) for shape in ((1, spans), (1, spans, spans))]
    scores.append(torch.tensor(rng.normal(size=(1, spans, 4)) * 4, requires_grad=True))
    trees = SpanningTreeDistribution(*scores, rows)
    gold = torch.tensor(clusters[None])
    no_links = trees.log_numerator(gold, torch.full_like(gold, -1))
    total = no_links
    for number in range(len(sizes)):
        here = gold == number
        options = [-1, *sorted(set(rows[here].flatten().tolist()) - {-1})]
        # The other clusters are NIL in each of the cases, and their factor is taken off.
        ways = [trees.log_numerator(gold, torch.where(here, entity, -1)) for entity in options]
        total = total + torch.logsumexp(torch.stack(ways), dim=0) - no_links
    found = trees.log_numerator(gold, torch.full_like(gold, NOT_KNOWN))
    assert found.item() == pytest.approx(total.item(), rel=1e-12)
    wanted = torch.autograd.grad(total.sum(), scores, retain_graph=True)
    for computed, expected in zip(torch.autograd.grad(found.sum(), scores), wanted, strict=True):
        torch.testing.assert_close(computed, expected, atol=1e-10, rtol=0)


def test_documents_of_a_batch_do_not_see_each_other(make_graph: Any) -> None:
    """Different layers side by side give what each gives alone, bit for bit."""
    generator = torch.Generator().manual_seed(1)
    shapes = (6, 5), (6, 5, 5), (6, 5, 2)
    scores = [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]
    rows = torch.randint(0, 3, (6, 5, 2), generator=generator)
    rng = np.random.default_rng(2)
    drawn = [layer(rng, 5) for layer in LAYERS]
    clusters, entities = (torch.tensor(np.stack(part)) for part in zip(*drawn, strict=True))
    mask = torch.ones(6, 5, dtype=torch.bool)
    mask[1, 3:] = False
    together = SpanningTreeDistribution(*scores, rows, mask).log_prob(clusters, entities)
    for b in range(6):
        alone = SpanningTreeDistribution(*(s[b : b + 1] for s in scores), rows[b : b + 1], mask[b : b + 1])
        assert torch.equal(alone.log_prob(clusters[b : b + 1], entities[b : b + 1]), together[b : b + 1])


@pytest.mark.parametrize(
    ("clusters", "entities", "message"),
    [
        ([0, 0], [1, NOT_KNOWN], "the spans of cluster 0 have different entities"),
        ([NOT_KNOWN, 0], [3, 3], "a span of an unknown cluster has an entity"),
        ([LEFT_OUT, 0], [-1, -1], "mask them"),
        ([-9, 0], [-1, -1], "-9 is no code"),
    ],
)
def test_codes_that_contradict_each_other(clusters: list[int], entities: list[int], message: str) -> None:
    trees = SpanningTreeDistribution(torch.zeros(1, 2), torch.zeros(1, 2, 2))
    with pytest.raises(ValueError, match=message):
        trees.log_prob(torch.tensor([clusters]), torch.tensor([entities]))
