"""Draws, best trees, divergences and conditions against the list of all trees of random small graphs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hf_corefel.trees import Edge, SpanningTreeDistribution

random_graphs = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
fewer_graphs = settings(random_graphs, max_examples=25)
seeds = st.integers(0, 2**32 - 1)


def log_probabilities(trees: Any) -> dict[tuple[int, ...], float]:
    return {tree: score - trees.log_partition for tree, score in zip(trees.trees, trees.scores, strict=True)}


def columns(graph: Any) -> np.ndarray:
    return np.hstack([graph.span_to_span.T, graph.root[:, None], graph.candidate_scores])


def rescored(graph: Any, seed: int, missing: float = 0.0) -> Any:
    """A graph with the same candidates and other scores, without edges that the first one has not."""
    rng = np.random.default_rng(seed)

    def scores(old: np.ndarray) -> np.ndarray:
        new = np.where(old == -np.inf, -np.inf, rng.normal(size=old.shape) * 3)
        new[rng.random(old.shape) < missing] = -np.inf
        return new

    return type(graph)(
        scores(graph.root), scores(graph.span_to_span), scores(graph.candidate_scores), graph.candidate_rows
    )


def embedded(graph: Any, gaps: list[int]) -> tuple[SpanningTreeDistribution, list[int]]:
    """The graph as the second document of two, with masked spans full of NaN in between, and where its spans are."""
    n = len(graph.root)
    at = [place for place in range(n + len(gaps)) if place not in gaps][:n]
    size = n + len(gaps)
    root, candidates = torch.full((2, size), math.nan), torch.full((2, size, graph.candidate_scores.shape[1]), math.nan)
    pairs, ids = torch.full((2, size, size), math.nan), torch.full(candidates.shape, 3)
    mask = torch.zeros(2, size, dtype=torch.bool)
    mask[1, at] = True
    mask[0, 0], root[0, 0] = True, 0.5
    candidates[0], ids[0] = -math.inf, -1
    tensors = graph.tensors()
    root, candidates, pairs = (tensor.double() for tensor in (root, candidates, pairs))
    root[1, at], candidates[1, at], ids[1, at] = tensors[0][0], tensors[2][0], tensors[3][0]
    pairs[1][np.ix_(at, at)] = tensors[1][0]
    return SpanningTreeDistribution(root, pairs, candidates, ids, mask), at


def moved(tree: tuple[int, ...], at: list[int], size: int) -> tuple[int, ...]:
    """A tree's parents in the numbering of `embedded`, without the masked spans."""
    return tuple(at[parent] if parent < len(at) else parent - len(at) + size for parent in tree)


class TestSample:
    COUNT = 4000

    @fewer_graphs
    @given(seed=seeds)
    def test_frequencies(self, seed: int, make_graph: Any, enumerated: Any, space: str) -> None:
        """Pearson's chi-square of draws; with 50 tests a quantile of 1e-6 is passed by chance once in 20,000 runs."""
        graph = make_graph(seed)
        trees = enumerated(graph)
        assume(len(trees.trees) > 1)
        drawn = graph.distribution().sample(self.COUNT, generator=torch.Generator().manual_seed(seed))
        assert drawn.shape == (self.COUNT, 1, len(graph.root))
        expected = {tree: self.COUNT * math.exp(log) for tree, log in log_probabilities(trees).items()}
        counts = dict.fromkeys(expected, 0)
        for tree in drawn[:, 0].tolist():
            counts[tuple(tree)] += 1  # anything but a tree is a KeyError
        # Rare trees together, so that the statistic has its distribution.
        rare = [tree for tree in expected if expected[tree] < 5]
        cells = [(counts[tree], expected[tree]) for tree in expected if tree not in rare]
        if rare:
            cells.append((sum(counts[tree] for tree in rare), max(sum(expected[tree] for tree in rare), 1e-300)))
        statistic = sum((count - mean) ** 2 / mean for count, mean in cells if mean > 1e-3)
        assert not any(count for count, mean in cells if mean <= 1e-3) or sum(c for c, m in cells if m <= 1e-3) <= 2
        freedom = max(len(cells) - 1, 1)
        # Wilson and Hilferty's approximation of the quantile.
        limit = freedom * (1 - 2 / (9 * freedom) + 4.9 * math.sqrt(2 / (9 * freedom))) ** 3
        assert statistic < limit + 5

    def test_frequencies_of_one_large_table(self, make_graph: Any, enumerated: Any, space: str) -> None:
        """All 125 trees of four spans under a root, equally probable."""
        graph = make_graph(0, spans=4, missing=0.0)
        graph.root[:], graph.span_to_span[:], graph.candidate_scores[:] = 0.0, 0.0, -np.inf
        drawn = graph.distribution().sample(25_000, generator=torch.Generator().manual_seed(1))
        trees, counts = np.unique(drawn[:, 0].numpy(), axis=0, return_counts=True)
        assert {tuple(tree) for tree in trees.tolist()} == set(enumerated(graph).trees)
        statistic = ((counts - 200.0) ** 2 / 200.0).sum()
        assert 70 < statistic < 200  # chi-square with 124 degrees of freedom

    @pytest.mark.parametrize("depth", [20.0, 45.0, 300.0, 3000.0])
    def test_tight_cluster_far_from_the_root(self, depth: float) -> None:
        """Wilson's walk would take exp(depth) steps. Each span is as often the head as its root edge weighs."""
        n, count = 6, 6000
        root = torch.log(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], dtype=torch.float64)) - depth
        pairs = torch.zeros(1, n, n, dtype=torch.float64)
        drawn = SpanningTreeDistribution(root, pairs).sample(count, generator=torch.Generator().manual_seed(0))[:, 0]
        heads = drawn == n
        assert (heads.sum(dim=1) == 1).float().mean() > 0.999
        share = heads.double().mean(dim=0)
        torch.testing.assert_close(share, torch.arange(1.0, 7.0).double() / 21, atol=0.03, rtol=0)

    def test_large_graph_has_the_marginals(self) -> None:
        rng = torch.Generator().manual_seed(5)
        n = 60
        root, pairs, candidates = (
            torch.randn(1, *shape, generator=rng, dtype=torch.float64) * 2 for shape in ((n,), (n, n), (n, 3))
        )
        ids = torch.randint(-1, 9, (1, n, 3), generator=rng)
        distribution = SpanningTreeDistribution(root, pairs, candidates, ids)
        count = 4000
        drawn = distribution.sample(count, generator=rng)
        assert (distribution.tree_score(drawn) > -math.inf).all()
        marginals = distribution.edge_marginals
        expected = torch.cat(
            (marginals.span_to_span.mT, marginals.root.unsqueeze(-1), marginals.candidate_probabilities), dim=-1
        )[0]
        found = torch.nn.functional.one_hot(drawn[:, 0], n + 1 + 3).double().mean(dim=0)
        deviations = (found - expected) / (expected * (1 - expected) / count + 1e-9).sqrt()
        assert deviations.abs().max() < 6
        entropy = -distribution.tree_log_prob(drawn).mean()
        assert entropy.item() == pytest.approx(distribution.entropy.item(), abs=0.5)

    def test_generator(self, make_graph: Any) -> None:
        distribution = make_graph(3, spans=4, missing=0.0).distribution()
        one, same, other = (distribution.sample(50, generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)
        torch.manual_seed(9)
        first = distribution.sample(50)
        torch.manual_seed(9)
        assert torch.equal(first, distribution.sample(50))
        assert distribution.sample(0).shape == (0, 1, 4)

    def test_errors(self) -> None:
        empty = SpanningTreeDistribution(torch.tensor([[0.0, -math.inf]]), torch.full((1, 2, 2), -math.inf))
        with pytest.raises(ValueError, match=r"document 0 has no spanning tree: nothing leads to its spans \[1\]"):
            empty.sample(2)
        with pytest.raises(ValueError, match="must not be NaN"):
            SpanningTreeDistribution(torch.tensor([[math.nan]]), torch.zeros(1, 1, 1)).sample(2)


class TestTopk:
    @random_graphs
    @given(seed=seeds, k=st.integers(1, 12), gaps=st.sets(st.integers(0, 5), max_size=3))
    def test_best_first(self, seed: int, k: int, gaps: set[int], make_graph: Any, enumerated: Any) -> None:
        graph = make_graph(seed)
        trees = enumerated(graph)
        assume(trees.trees)
        distribution, at = embedded(graph, sorted(gap for gap in gaps if gap < len(graph.root) + len(gaps)))
        size = distribution.root.shape[1]
        found = distribution.topk(k)
        assert found.parents.shape == (k, 2, size)
        scores = {moved(tree, at, size): score for tree, score in zip(trees.trees, trees.scores, strict=True)}
        listed = [tuple(tree) for tree in found.parents[:, 1, at].tolist()]
        expected = sorted(scores.values(), reverse=True)[:k]
        assert found.score[: len(expected), 1].tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert (found.score[1:, 1] <= found.score[:-1, 1]).all()
        assert len(set(listed[: len(expected)])) == len(expected)
        for tree, score in zip(listed, found.score[: len(expected), 1].tolist(), strict=False):
            assert scores[tree] == pytest.approx(score, rel=1e-12, abs=1e-12)
        assert (found.score[len(expected) :, 1] == -math.inf).all()
        assert (found.parents[len(expected) :, 1] == -1).all()
        # The first document has one span and one tree.
        assert found.parents[0, 0].tolist() == [size] + [-1] * (size - 1)
        assert found.score[:, 0].tolist() == [0.5] + [-math.inf] * (k - 1)

    def test_first_is_argmax_of_a_large_graph(self) -> None:
        rng = torch.Generator().manual_seed(2)
        distribution = SpanningTreeDistribution(
            torch.randn(1, 80, generator=rng).double(), torch.randn(1, 80, 80, generator=rng).double() * 3
        )
        found = distribution.topk(25)
        assert torch.equal(found.parents[0], distribution.argmax.parents)
        torch.testing.assert_close(distribution.tree_score(found.parents), found.score)
        assert len({tuple(tree) for tree in found.parents[:, 0].tolist()}) == 25

    def test_no_tree(self) -> None:
        with pytest.raises(ValueError, match="document 0 has no spanning tree"):
            SpanningTreeDistribution(torch.tensor([[-math.inf]]), torch.zeros(1, 1, 1)).topk(2)


def expected_divergence(trees: Any, others: Any, *, entropy: bool) -> float:
    """Cross-entropy of two lists of trees, less the first one's entropy where the divergence is wanted."""
    second = log_probabilities(others)
    total = 0.0
    for tree, log in log_probabilities(trees).items():
        if tree not in second:
            return math.inf
        total += math.exp(log) * ((log if entropy else 0.0) - second[tree])
    return total


class TestDivergence:
    @random_graphs
    @given(seed=seeds, other_seed=seeds, missing=st.sampled_from([0.0, 0.15]))
    def test_values(
        self, seed: int, other_seed: int, missing: float, make_graph: Any, enumerated: Any, space: str
    ) -> None:
        graph = make_graph(seed)
        other = rescored(graph, other_seed, missing)
        trees, others = enumerated(graph), enumerated(other)
        p, q = graph.distribution(), other.distribution()
        cross, divergence = p.cross_entropy(q).item(), p.kl_divergence(q).item()
        if not trees.trees:
            assert math.isnan(cross)
            assert math.isnan(divergence)
            return
        scale = 1 + max(map(abs, trees.scores))
        assert cross == pytest.approx(expected_divergence(trees, others, entropy=False), abs=1e-12 * scale)
        assert divergence == pytest.approx(expected_divergence(trees, others, entropy=True), abs=1e-12 * scale)

    @fewer_graphs
    @given(seed=seeds, other_seed=seeds, missing=st.sampled_from([0.0, 0.15]))
    def test_gradients(self, seed: int, other_seed: int, missing: float, make_graph: Any, enumerated: Any) -> None:
        """Against those of sums over all trees, written in torch."""
        graph = make_graph(seed)
        other = rescored(graph, other_seed, missing)
        trees = enumerated(graph)
        assume(trees.trees)
        *scores, ids = graph.tensors(requires_grad=True)
        *theirs, _ = other.tensors(requires_grad=True)
        p, q = SpanningTreeDistribution(*scores, ids), SpanningTreeDistribution(*theirs, ids)
        p.kl_divergence(q).backward()
        if p.kl_divergence(q).item() == math.inf:
            assert all((score.grad == 0).all() for score in (*scores, *theirs))
            return

        def plain(tensors: list[torch.Tensor]) -> torch.Tensor:
            n = len(graph.root)
            root, pairs, candidates = (tensor[0] for tensor in tensors)
            edges = torch.cat((pairs.T, root[:, None], candidates), dim=1)
            return torch.log_softmax(
                torch.stack([sum(edges[span, tree[span]] for span in range(n)) for tree in trees.trees]), dim=0
            )

        copies = [[t.detach().clone().requires_grad_() for t in given] for given in (scores, theirs)]
        one, two = plain(copies[0]), plain(copies[1])
        (one.exp() * (one - two)).sum().backward()
        for mine, wanted in zip((*scores, *theirs), (*copies[0], *copies[1]), strict=True):
            expected = torch.zeros_like(mine) if wanted.grad is None else wanted.grad
            bound = 1e-9 * (1 + float(expected.abs().max())) if expected.numel() else 0
            torch.testing.assert_close(mine.grad, expected, atol=bound, rtol=0)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_equal(self, dtype: torch.dtype, make_graph: Any) -> None:
        root, pairs, candidates, ids = make_graph(11, spans=4, missing=0.2).tensors()
        root = root.nan_to_num(neginf=-9.0)
        tensors = [t.to(dtype).requires_grad_() for t in (root, pairs, candidates, root, pairs, candidates)]
        p, q = SpanningTreeDistribution(*tensors[:3], ids), SpanningTreeDistribution(*tensors[3:], ids)
        divergence = p.kl_divergence(q)
        divergence.sum().backward()
        assert divergence.tolist() == [0.0]
        assert divergence.dtype == torch.float64
        for tensor in tensors:
            assert tensor.grad.dtype == dtype
            assert (tensor.grad == 0).all()
        assert p.cross_entropy(q).item() == pytest.approx(p.entropy.item())

    def test_batch_with_masks_is_each_by_itself(self, make_graph: Any) -> None:
        graph = make_graph(21, spans=4, missing=0.1)
        graph.root[:] = 0.0
        other = rescored(graph, 4)
        alone = graph.distribution().kl_divergence(other.distribution()).item()
        (p, _), (q, _) = embedded(graph, [1, 3]), embedded(other, [1, 3])
        assert p.kl_divergence(q).tolist() == pytest.approx([0.0, alone])

    def test_gradient_of_a_tight_cluster(self) -> None:
        """By finite differences, where the inverse Laplacian has entries of exp(45)."""
        root = torch.tensor([[-45.0, -44.0, -46.0]], dtype=torch.float64, requires_grad=True)
        pairs = torch.tensor([[[0.0, 1.0, 2.0], [0.5, 0.0, -1.0], [0.0, 1.5, 0.0]]], dtype=torch.float64)
        pairs.requires_grad_()
        q = SpanningTreeDistribution(torch.zeros(1, 3).double(), torch.ones(1, 3, 3).double())
        assert torch.autograd.gradcheck(lambda r, s: SpanningTreeDistribution(r, s).kl_divergence(q), (root, pairs))

    @fewer_graphs
    @given(seed=seeds, other_seed=seeds, temperature=st.sampled_from([1.0, 0.5, 3.0]))
    def test_marginals_are_all_of_the_first_that_it_takes(
        self, seed: int, other_seed: int, temperature: float, make_graph: Any, enumerated: Any
    ) -> None:
        graph = make_graph(seed)
        other = rescored(graph, other_seed)
        hot = type(graph)(
            other.root / temperature,
            other.span_to_span / temperature,
            other.candidate_scores / temperature,
            graph.candidate_rows,
        )
        trees, others = enumerated(graph), enumerated(hot)
        assume(trees.trees)
        marginals = graph.distribution().edge_marginals
        *scores, ids = other.tensors(requires_grad=True)
        q = SpanningTreeDistribution(*scores, ids).at_temperature(temperature)
        cross = q.cross_entropy_of(marginals)
        cross.sum().backward()
        bound = 1e-10 * (1 + max(map(abs, trees.scores)))
        assert cross.item() == pytest.approx(expected_divergence(trees, others, entropy=False), abs=bound)
        wanted = q.edge_marginals
        for score, own, taught in zip(
            scores,
            (wanted.root, wanted.span_to_span, wanted.candidate_probabilities),
            (marginals.root, marginals.span_to_span, marginals.candidate_probabilities),
            strict=True,
        ):
            torch.testing.assert_close(score.grad, (own - taught) / temperature, atol=1e-12, rtol=0)

    def test_marginals_of_an_edge_that_is_missing(self) -> None:
        p = SpanningTreeDistribution(torch.zeros(1, 2), torch.zeros(1, 2, 2))
        q = p.condition(forbidden=[(0, 0, 1)])
        assert q.cross_entropy_of(p.edge_marginals).tolist() == [math.inf]
        assert p.cross_entropy_of(q.edge_marginals).item() == pytest.approx(q.cross_entropy(p).item())

    def test_marginals_of_masked_spans_do_not_count(self, make_graph: Any) -> None:
        graph = make_graph(21, spans=4, missing=0.1)
        graph.root[:] = 0.0
        other = rescored(graph, 4)
        (p, _), (q, _) = embedded(graph, [1, 3]), embedded(other, [1, 3])
        alone = graph.distribution().cross_entropy(other.distribution()).item()
        assert q.cross_entropy_of(p.edge_marginals).tolist() == pytest.approx([0.0, alone])

    def test_an_edge_in_no_tree_is_not_missed(self) -> None:
        """Span 1 hangs from span 0 alone, so no tree has the edge from 1 to 0, whoever forbids it."""
        root = torch.tensor([[0.0, -math.inf]])
        pairs = torch.zeros(1, 2, 2)
        p = SpanningTreeDistribution(root, pairs)
        q = p.condition(forbidden=[(0, 0, 1)])
        assert p.kl_divergence(q).tolist() == [0.0]
        assert p.kl_divergence(SpanningTreeDistribution(torch.full((1, 2), 0.0), pairs)).item() > 0
        less = SpanningTreeDistribution(torch.tensor([[-math.inf, 0.0]]), pairs)
        assert p.kl_divergence(less).tolist() == [math.inf]

    def test_candidates_are_matched_by_entity(self) -> None:
        scores = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[2.0, 0.0, 1.0]]])
        ids = torch.tensor([[[5, 7]]]), torch.tensor([[[7, -1, 5]]])
        p, q = (
            SpanningTreeDistribution(torch.zeros(1, 1), torch.zeros(1, 1, 1), *two)
            for two in zip(scores, ids, strict=True)
        )
        assert p.kl_divergence(q).item() == pytest.approx(0.0, abs=1e-7)
        assert q.kl_divergence(p).item() == pytest.approx(0.0, abs=1e-7)
        bare = SpanningTreeDistribution(torch.zeros(1, 1), torch.zeros(1, 1, 1))
        assert p.kl_divergence(bare).item() == math.inf
        assert bare.kl_divergence(p).item() == pytest.approx(p.log_partition.item())

    def test_other_spans(self) -> None:
        p = SpanningTreeDistribution(torch.zeros(1, 2), torch.zeros(1, 2, 2))
        q = SpanningTreeDistribution(torch.zeros(1, 2), torch.zeros(1, 2, 2), mask=torch.tensor([[True, False]]))
        with pytest.raises(ValueError, match="same spans"):
            p.kl_divergence(q)


class TestMinBayesRisk:
    @random_graphs
    @given(seed=seeds)
    def test_most_edges_in_common(self, seed: int, make_graph: Any, enumerated: Any) -> None:
        graph = make_graph(seed)
        trees = enumerated(graph)
        assume(trees.trees)
        chances = log_probabilities(trees)

        def common(tree: tuple[int, ...]) -> float:
            return math.fsum(
                math.exp(log) * sum(a == b for a, b in zip(tree, other, strict=True)) for other, log in chances.items()
            )

        found = graph.distribution().min_bayes_risk()
        assert common(tuple(found.parents[0].tolist())) == pytest.approx(max(map(common, chances)), abs=1e-9)
        assert found.score.item() == pytest.approx(max(map(common, chances)), abs=1e-9)


class TestTreeScore:
    @random_graphs
    @given(seed=seeds, tree_seed=seeds)
    def test_any_parents(self, seed: int, tree_seed: int, make_graph: Any, enumerated: Any) -> None:
        graph = make_graph(seed)
        n, width = columns(graph).shape
        parents = tuple(np.random.default_rng(tree_seed).integers(0, width, size=n).tolist())
        trees = enumerated(graph)
        scores = dict(zip(trees.trees, trees.scores, strict=True))
        found = graph.distribution().tree_score(torch.tensor([parents])).item()
        assert found == pytest.approx(scores.get(parents, -math.inf), rel=1e-12, abs=1e-12)

    def test_out_of_range(self, make_graph: Any) -> None:
        distribution = make_graph(1, spans=2).distribution()
        with pytest.raises(ValueError, match="from 0 to"):
            distribution.tree_score(torch.tensor([[0, 99]]))
        with pytest.raises(ValueError, match="shape"):
            distribution.tree_score(torch.tensor([[0]]))


class TestCondition:
    @random_graphs
    @given(seed=seeds, data=st.data())
    def test_keeps_the_trees_that_fit(self, seed: int, data: st.DataObject, make_graph: Any, enumerated: Any) -> None:
        graph = make_graph(seed)
        n, width = columns(graph).shape
        edge = st.builds(Edge, st.just(0), st.integers(0, n - 1), st.integers(0, width - 1))
        forced, forbidden = data.draw(st.lists(edge, max_size=2)), data.draw(st.lists(edge, max_size=3))
        trees = enumerated(graph)
        fitting = {
            tree: score
            for tree, score in zip(trees.trees, trees.scores, strict=True)
            if all(tree[e.child] == e.parent for e in forced) and all(tree[e.child] != e.parent for e in forbidden)
        }
        distribution = graph.distribution()
        if trees.trees and not fitting:
            with pytest.raises(ValueError, match="document 0: ") as raised:
                distribution.condition(forced, forbidden)
            assert f"to span {(forced + forbidden)[0].child}" in str(raised.value) or len(forced + forbidden) > 1
            return
        if not trees.trees:
            return
        conditioned = distribution.condition(forced, forbidden)
        total = math.log(math.fsum(math.exp(s - max(fitting.values())) for s in fitting.values()))
        total += max(fitting.values())
        assert conditioned.log_partition.item() == pytest.approx(total, rel=1e-11, abs=1e-11)
        assert conditioned.argmax.score.item() == pytest.approx(max(fitting.values()), rel=1e-12, abs=1e-12)

    def test_gradient_and_batch(self) -> None:
        root, pairs = torch.zeros(2, 2, requires_grad=True), torch.zeros(2, 2, 2, requires_grad=True)
        conditioned = SpanningTreeDistribution(root, pairs).condition([Edge(1, 0, 2)], torch.tensor([[1, 1, 2]]))
        assert conditioned.log_partition.tolist() == pytest.approx([math.log(3), 0.0])
        conditioned.log_partition.sum().backward()
        torch.testing.assert_close(root.grad[1], torch.tensor([1.0, 0.0]))
        torch.testing.assert_close(pairs.grad[1], torch.tensor([[0.0, 1.0], [0.0, 0.0]]))

    @pytest.mark.parametrize(
        ("forced", "forbidden", "message"),
        [
            ([(0, 0, 1), (0, 1, 0)], [], "forced edges run in a circle: .*span 1 to span 0 and .*span 0 to span 1"),
            ([(0, 0, 1), (0, 0, 3)], [], "span 1 to span 0 and the edge from the root to span 0 are both forced"),
            ([(0, 0, 3)], [(0, 0, 3)], "the root to span 0 is both forced and forbidden"),
            ([(0, 1, 4)], [], r"candidate 0 \(entity 8\) to span 1 is forced, but there is no such edge"),
            ([(0, 0, 0)], [], "span 0 to span 0 is forced, but there is no such edge"),
            ([(0, 2, 3)], [], "is forced, but leads to a masked span"),
            ([(0, 0, 9)], [], r"forced: expected edges of document, child, parent below 1, 3, 5; got \[0, 0, 9\]"),
            (
                [(0, 0, 1)],
                [(0, 1, 3)],
                r"nothing leads to its spans \[0, 1\] with forced .*span 1 to span 0 and forbid",
            ),
            ([], [(0, 0, 3), (0, 0, 1), (0, 0, 4)], r"its spans \[0\] with forbidden .*root to span 0, .*entity 7"),
        ],
    )
    def test_contradictions_are_named(self, forced: Any, forbidden: Any, message: str) -> None:
        distribution = SpanningTreeDistribution(
            torch.zeros(1, 3),
            torch.zeros(1, 3, 3),
            torch.tensor([[[0.0], [-math.inf], [0.0]]]),
            torch.tensor([[[7], [8], [9]]]),
            torch.tensor([[True, True, False]]),
        )
        with pytest.raises(ValueError, match=message):
            distribution.condition(forced, forbidden)
