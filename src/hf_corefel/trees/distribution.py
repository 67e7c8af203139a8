"""The probability distribution over the spanning trees of root, entities and spans (batched, differentiable)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..moved import renamed_argument, renamed_attribute
from .arborescence import IntArray, UnreachableError
from .best_trees import best_tree, best_trees
from .conditions import Edges, allowed_edges
from .divergence import cross_entropy, cross_entropy_of_marginals, kl_divergence
from .gradients import Trees, log_weight, scatter, to_numpy
from .graph import EdgeArrays, GoldShare, GoldTrees, TreeGraph
from .precision import of_device
from .results import Arborescence, EdgeMarginals, EntityMarginals
from .sampling import sample_trees


class SpanningTreeDistribution:
    """All spanning trees of a document's graph, with probability proportional to exp(sum of edge scores).

    The nodes are the root, the candidate entities and the spans (Zaporojets et al. 2022, section 3.3). Entities hang
    from the root with score 0; a span hangs from the root, from one of its candidates or from another span. The
    computation runs in float64 on the CPU, one document at a time; see `hf_corefel.trees.elimination`.

    Args:
        root: ``[B, N]`` log-weights of the edges root -> span; -inf means no edge, here and below.
        span_to_span: ``[B, N, N]`` log-weights of the edges parent ``[:, i]`` -> child ``[:, :, j]``. The diagonal
            is ignored.
        candidate_scores: ``[B, N, K]`` log-weights of the edges from each span's candidate entities, or None.
        candidate_rows: int64 ``[B, N, K]`` the entities of `candidate_scores`, by number; -1 for padding. Needed with
            `candidate_scores`.
        mask: bool ``[B, N]``, False for padding spans, which take no part; None if there are none.

    Results are float64 (float32 on devices without it); gradients flow to the scores, in their type. A document that
    has no spanning tree has log-partition -inf and gradient zero.

    Raises:
        ValueError: If shapes do not fit or only one of `candidate_scores` and `candidate_rows` is given.

    Example:
        >>> import torch
        >>> from hf_corefel.trees import SpanningTreeDistribution
        >>> trees = SpanningTreeDistribution(torch.zeros(1, 3), torch.zeros(1, 3, 3))
        >>> round(trees.log_partition.exp().item())  # Cayley: (3 + 1) ** (3 - 1) trees
        16
        >>> trees.argmax.parents.shape
        torch.Size([1, 3])
    """

    @renamed_argument("candidates", "candidate_scores")
    @renamed_argument("entity_ids", "candidate_rows")
    def __init__(
        self,
        root: Tensor,
        span_to_span: Tensor,
        candidate_scores: Tensor | None = None,
        candidate_rows: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> None:
        if root.dim() != 2:
            raise ValueError(f"root must have shape [B, N], not {list(root.shape)}")
        batch, spans = root.shape
        if (candidate_scores is None) != (candidate_rows is None):
            raise ValueError("candidate_scores and candidate_rows must be given together")
        if candidate_scores is None or candidate_rows is None:
            candidate_scores = root.new_zeros(batch, spans, 0)
            candidate_rows = torch.zeros(batch, spans, 0, dtype=torch.int64, device=root.device)
        if mask is None:
            mask = torch.ones(batch, spans, dtype=torch.bool, device=root.device)
        width = candidate_scores.shape[-1]
        _check_shape("span_to_span", span_to_span, (batch, spans, spans))
        _check_shape("candidate_scores", candidate_scores, (batch, spans, width))
        _check_shape("candidate_rows", candidate_rows, (batch, spans, width))
        _check_shape("mask", mask, (batch, spans))
        self.root = root
        self.span_to_span = span_to_span
        self.candidate_scores = candidate_scores
        self.candidate_rows = candidate_rows
        self.mask = mask
        self.places = [np.flatnonzero(row) for row in mask.cpu().numpy()]

    candidates = renamed_attribute("candidates", "candidate_scores")
    entity_ids = renamed_attribute("entity_ids", "candidate_rows")

    @cached_property
    def graphs(self) -> list[TreeGraph]:
        """The graph of each document in numpy, of the spans at its `places`."""
        root, candidate_scores, span_to_span = map(to_numpy, (self.root, self.candidate_scores, self.span_to_span))
        candidate_rows = self.candidate_rows.cpu().numpy()
        return [
            TreeGraph(
                EdgeArrays(root[b][at], candidate_scores[b][at], span_to_span[b][np.ix_(at, at)]), candidate_rows[b][at]
            )
            for b, at in enumerate(self.places)
        ]

    @property
    def log_partition(self) -> Tensor:
        """``[B]`` log of the total weight of all trees; its gradient are the edge marginals."""
        return self._log_weight(self.graphs)

    @renamed_argument("entity_ids", "entity_rows")
    def log_numerator(self, cluster_ids: Tensor, entity_rows: Tensor) -> Tensor:
        """Log of the total weight of the trees that decode to a clustering with links.

        Linked clusters are summed over the trees rooted at their entity, unlinked ones over those with exactly one
        root edge (Koo et al. 2007, section 3.1). Two clusters with the same entity are kept apart: no edge between
        them counts.

        Args:
            cluster_ids: int64 ``[B, N]``: spans of the same id >= 0 are one cluster; -1 is a span that is an
                unlinked cluster of its own; of spans with a code of `hf_corefel.utils.gold_codes` the cluster is not
                known.
            entity_rows: int64 ``[B, N]``: the entity of the span's cluster, -1 for none, -2 where it is not known; not
                read where the cluster id is -1.

        What is not known is summed over. With free spans, of which nothing is known, the sum is a lower bound, see
        `hf_corefel.trees.partial_gold`; without any it is exact.

        Returns:
            ``[B]``, -inf with zero gradients where no tree decodes to the clustering.

        Raises:
            ValueError: If shapes do not fit or the spans of a cluster differ in their entity.
        """
        return self._log_weight(self._gold(cluster_ids, entity_rows))

    @renamed_argument("entity_ids", "entity_rows")
    def log_prob(self, cluster_ids: Tensor, entity_rows: Tensor) -> Tensor:
        """Log-probability ``[B]`` of a clustering with links; arguments as for `log_numerator`.

        It is -inf, with zero gradients, where no tree decodes to the clustering.
        """
        gold = self._gold(cluster_ids, entity_rows)
        return self._log_weight([GoldShare(graph, trees) for graph, trees in zip(self.graphs, gold, strict=True)])

    @cached_property
    def edge_marginals(self) -> EdgeMarginals:
        """Probability of every edge, zeros for a document without a tree; no gradient flows through it."""
        root, candidate_probabilities, span_to_span = (
            np.zeros(tensor.shape) for tensor in (self.root, self.candidate_scores, self.span_to_span)
        )
        for b, (graph, at) in enumerate(zip(self.graphs, self.places, strict=True)):
            scatter(graph.marginals, at, (root, candidate_probabilities, span_to_span), b=b)
        return EdgeMarginals(self._tensor(root), self._tensor(candidate_probabilities), self._tensor(span_to_span))

    @cached_property
    def entity_marginals(self) -> EntityMarginals:
        """Probability of each entity for the whole cluster of each span; no gradient flows through it.

        This is P(the path from the root to the span starts with the entity), not P(the entity is its parent). With
        `nil` it sums to 1 for each span, and to 0 for masked spans and for documents without a tree.
        """
        found = [graph.entity_marginals() for graph in self.graphs]
        batch, spans = self.root.shape
        width = max((len(entities) for entities, _, _ in found), default=0)
        entity_rows = np.full((batch, width), -1, dtype=np.int64)
        probability = np.zeros((batch, spans, width))
        nil = np.zeros((batch, spans))
        for b, ((entities, linked, unlinked), at) in enumerate(zip(found, self.places, strict=True)):
            entity_rows[b, : len(entities)] = entities
            probability[b, at, : len(entities)] = linked
            nil[b, at] = unlinked
        return EntityMarginals(self._tensor(entity_rows), self._tensor(probability), self._tensor(nil))

    @cached_property
    def entropy(self) -> Tensor:
        """``[B]`` entropy of the tree in nats, NaN for a document without a tree; no gradient flows through it."""
        return self._tensor(np.array([graph.entropy() for graph in self.graphs], dtype=np.float64))

    def cross_entropy(self, other: SpanningTreeDistribution) -> Tensor:
        """``[B]`` expected -log-probability, under `other`, of a tree of this distribution, in nats.

        Gradients flow to the scores of both. The second's are differences of edge marginals; the first's take an
        elimination in log space of its own, and a teacher's scores are best detached. It is +inf where `other` forbids
        an edge that some tree here has, and NaN for a document that has no tree here, with gradients zero.

        Args:
            other: Over the same spans. Candidates are matched by their entities.

        Raises:
            ValueError: If the spans are not the same, or entities that a span names twice cannot be matched.
        """
        return cross_entropy(self, other)

    def cross_entropy_of(self, marginals: EdgeMarginals) -> Tensor:
        """``[B]`` expected -log-probability, here, of a tree of another distribution, of which the marginals are known.

        It is exact, since a tree's score is a sum over its edges: log Z less the marginals times the scores. Its
        gradient is the edge marginals here less those that are given.

        Args:
            marginals: Of edges between the same spans, root and candidates in the same places; 0 where there is no
                edge. The edges into each unmasked span sum to 1.
        """
        return cross_entropy_of_marginals(marginals, self)

    def at_temperature(self, temperature: float) -> SpanningTreeDistribution:
        """Return the distribution with all scores divided by a temperature: above 1 it is flatter."""
        if temperature == 1.0:
            return self
        root, pairs, candidate_scores = (
            scores / temperature for scores in (self.root, self.span_to_span, self.candidate_scores)
        )
        return SpanningTreeDistribution(root, pairs, candidate_scores, self.candidate_rows, self.mask)

    def kl_divergence(self, other: SpanningTreeDistribution) -> Tensor:
        """``[B]`` Kullback-Leibler divergence of `other` from this distribution, in nats; see `cross_entropy`.

        Where both are equal it is 0, and so are its gradients.
        """
        return kl_divergence(self, other)

    def condition(self, forced: Edges = (), forbidden: Edges = ()) -> SpanningTreeDistribution:
        """Return the distribution over those of the trees that have all forced and no forbidden edges.

        The probability of these trees is the exponential of its log-partition less that of this one.

        Args:
            forced: `Edge`s (document, child, parent), parents numbered as those of `Arborescence`, or an integer tensor
                ``[M, 3]``. An edge into a span that is forced leaves it no other.
            forbidden: Likewise.

        Raises:
            ValueError: If edges contradict one another, or leave a document no tree; the message names them.
        """
        columns = self._columns()
        allowed = allowed_edges(columns, self.candidate_rows, self.mask, forced, forbidden)
        pairs, root, candidate_scores = self._split(columns.masked_fill(~allowed, -torch.inf))
        return SpanningTreeDistribution(root, pairs, candidate_scores, self.candidate_rows, self.mask)

    def tree_score(self, parents: Tensor) -> Tensor:
        """Sum of the edge scores of trees, ``[..., B]``; its gradient is where the edges are.

        Args:
            parents: int64 ``[..., B, N]``, numbered as those of `Arborescence`. Of masked spans they are not read.

        Returns:
            -inf for what is no tree, because an edge does not exist or edges run in a circle.

        Raises:
            ValueError: If the shape does not fit or a parent is out of range.
        """
        columns = self._columns()
        if parents.shape[-2:] != self.root.shape:
            raise ValueError(f"parents must have shape [..., {', '.join(map(str, self.root.shape))}]")
        spans = self.root.shape[1]
        chosen = parents.masked_fill(~self.mask, spans)
        if ((chosen < 0) | (chosen >= columns.shape[-1])).any():
            raise ValueError(f"parents must be numbers from 0 to {columns.shape[-1] - 1}")
        scores = columns.expand(*parents.shape, -1).gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
        # Pointers that double in length; above everything is one more place, which points to itself.
        above = torch.cat((chosen.clamp(max=spans), chosen.new_full((*chosen.shape[:-1], 1), spans)), dim=-1)
        for _ in range(spans.bit_length()):
            above = above.gather(-1, above)
        scores = scores.masked_fill(~self.mask, 0.0).sum(dim=-1)
        return scores.masked_fill((above != spans).any(dim=-1), -torch.inf)

    def tree_log_prob(self, parents: Tensor) -> Tensor:
        """Log-probability ``[..., B]`` of single trees (`log_prob` is that of clusterings); see `tree_score`."""
        return self.tree_score(parents) - self.log_partition

    def sample(self, n: int = 1, *, generator: torch.Generator | None = None) -> Tensor:
        """Draw trees, exactly and independently of one another; see `hf_corefel.trees.sampling`.

        Args:
            n: How many of each document.
            generator: Where the randomness comes from; torch's own when None. Each document takes one number from it.

        Returns:
            int64 ``[n, B, N]`` parents, numbered as those of `Arborescence`.

        Raises:
            ValueError: If a document has no tree or a score is NaN or +inf.
        """
        device = None if generator is None else generator.device
        seeds = torch.randint(2**63 - 1, (len(self.places),), generator=generator, device=device).tolist()
        batch, spans = self.root.shape
        parents = np.full((n, batch, spans), -1, dtype=np.int64)
        for b, (graph, at) in enumerate(zip(self.graphs, self.places, strict=True)):
            if graph.log_weight == -np.inf:
                self._best(b, graph.columns())  # says which spans nothing leads to
            if not np.isfinite(graph.log_weight):
                raise ValueError("scores must not be NaN or +inf")
            random = np.random.default_rng(seeds[b])
            found = graph.choose_above(sample_trees(graph.elimination, n, random), random)
            parents[:, b, at] = self._numbered(found, at)
        return self._tensor(parents)

    def topk(self, k: int) -> Arborescence:
        """The k trees of the highest scores of each document, the best first.

        Returns:
            Parents ``[k, B, N]`` and scores ``[k, B]``. A document that has fewer trees has parents -1 and scores
            -inf in place of the rest.

        Raises:
            ValueError: If a document has no tree or a score is NaN or +inf.
        """
        batch, spans = self.root.shape
        parents = np.full((k, batch, spans), -1, dtype=np.int64)
        score = np.full((k, batch), -np.inf)
        for b, (graph, at) in enumerate(zip(self.graphs, self.places, strict=True)):
            columns = graph.columns()
            self._best(b, columns)
            found = sorted(islice(best_trees(columns), k), key=lambda tree: -tree[1])
            for rank, (tree, score[rank, b]) in enumerate(found):
                parents[rank, b, at] = self._numbered(tree, at)
        return Arborescence(self._tensor(parents), self._tensor(score))

    @cached_property
    def argmax(self) -> Arborescence:
        """The tree of the highest score of each document; more than one root edge is allowed.

        Among equal scores the choice is always the same: of the edges into a span the root's, then the lowest
        candidate's, then the lowest span's (where contracted cycles meet, whichever comes first).

        Raises:
            ValueError: If a document has no tree (the message names the unreachable spans) or a score is NaN or +inf.
        """
        return self._best_trees([graph.columns() for graph in self.graphs])

    def min_bayes_risk(self) -> Arborescence:
        """The tree that has the most edges in common with a random tree, in expectation: the best under edge marginals.

        Where probability is spread over many trees that agree in parts, it is less of an outlier than `argmax`.

        Returns:
            The tree, and as its score the expected number of edges in common, out of the number of spans.

        Raises:
            ValueError: If a document has no tree or a score is NaN or +inf.
        """
        return self._best_trees([graph.marginal_columns() for graph in self.graphs])

    def _best_trees(self, columns: Sequence[NDArray[np.float64]]) -> Arborescence:
        parents = np.full(self.root.shape, -1, dtype=np.int64)
        score = np.zeros(len(self.root))
        for b, at in enumerate(self.places):
            found, score[b] = self._best(b, columns[b])
            parents[b, at] = self._numbered(found, at)
        return Arborescence(self._tensor(parents), self._tensor(score))

    def _best(self, b: int, columns: NDArray[np.float64]) -> tuple[IntArray, float]:
        try:
            return best_tree(columns)
        except UnreachableError as error:
            named = self.places[b][error.nodes].tolist()
            raise ValueError(f"document {b} has no spanning tree: nothing leads to its spans {named}") from error

    def _numbered(self, parents: IntArray, at: NDArray[np.intp]) -> IntArray:
        """Parents with masked spans, before and beyond the others, back in the count."""
        inner = parents < len(at)
        beyond = parents - len(at) + self.root.shape[1]
        return np.where(inner, at[np.where(inner, parents, 0)], beyond) if len(at) else beyond

    def _columns(self) -> Tensor:
        """``[B, N, N+1+K]`` log-weights of the edges into each span, -inf where there is none."""
        real = self.mask.unsqueeze(-1)
        itself = torch.eye(self.root.shape[1], dtype=torch.bool, device=self.root.device)
        pairs = self.span_to_span.mT.masked_fill(~(real & self.mask.unsqueeze(1)) | itself, -torch.inf)
        root = self.root.unsqueeze(-1).masked_fill(~real, -torch.inf)
        candidate_scores = self.candidate_scores.masked_fill(~(real & (self.candidate_rows >= 0)), -torch.inf)
        return torch.cat((pairs, root, candidate_scores), dim=-1)

    def _split(self, columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        spans = self.root.shape[1]
        return columns[..., :spans].mT, columns[..., spans], columns[..., spans + 1 :]

    def _gold(self, cluster_ids: Tensor, entity_rows: Tensor) -> list[GoldTrees]:
        _check_shape("cluster_ids", cluster_ids, tuple(self.root.shape))
        _check_shape("entity_rows", entity_rows, tuple(self.root.shape))
        clusters, entities = cluster_ids.cpu().numpy(), entity_rows.cpu().numpy()
        return [
            GoldTrees(graph, clusters[b][at], entities[b][at])
            for b, (graph, at) in enumerate(zip(self.graphs, self.places, strict=True))
        ]

    def _tensor(self, array: NDArray[np.float64] | NDArray[np.int64]) -> Tensor:
        return of_device(torch.from_numpy(array), self.root.device)

    def _log_weight(self, trees: Sequence[Trees]) -> Tensor:
        return log_weight((self.root, self.candidate_scores, self.span_to_span), trees, self.places)


def _check_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must have shape {list(shape)}, not {list(tensor.shape)}")
