"""The global head: one distribution over the spanning trees of root, entities and spans.

P(tree) is proportional to the exponential of the sum of its edge scores; the loss of a document is
-log P(its gold clustering and links), summed over every tree that decodes to them (Zaporojets et
al., ACL 2022, section on the global approach; NIL clusters have exactly one root edge, Koo et al.
2007, section 3.1). The mathematics lives in `hf_corefel.trees`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..trees import EdgeMarginals, SpanningTreeDistribution
from ..trees.precision import of_device
from .base import ROOT_SCORES, Decoding, EdgeScores, GoldClustering, Head, HeadMarginals
from .missing_edges import moved_to_root
from .options import HeadOption
from .parameter_groups import ENTITIES, ENTITY_ROOT, PAIR_ROOT, PAIRS
from .sparse_scores import SparseEdgeScores
from .sparse_tree import SparseTree

__all__ = ["EDGE_ACTIVATIONS", "GlobalHead", "TreePosterior", "activate"]

EDGE_ACTIVATIONS = ("none", "arsinh")


def activate(scores: Tensor, edge_activation: str) -> Tensor:
    """Turn edge scores into log-weights.

    Args:
        scores: Edge scores of any shape; -inf is a missing edge and stays one.
        edge_activation: "none" (weight exp(s), the paper) or "arsinh" (weight exp(asinh(s)) =
            s + √(s² + 1), which grows linearly with the score).

    Returns:
        Log-weights of the same shape and type.
    """
    if edge_activation == "none":
        return scores
    missing = scores == float("-inf")
    # asinh sees a finite number at missing edges, so that the backward pass cannot make 0 * inf.
    return torch.asinh(scores.masked_fill(missing, 0.0)).masked_fill(missing, float("-inf"))


class TreePosterior:
    """The best tree of each document, and the probabilities of edges and entities over all its trees.

    Args:
        distribution: The distribution over the trees of each document.
        device: Where the results go.
    """

    def __init__(self, distribution: SpanningTreeDistribution, device: torch.device) -> None:
        self.distribution = distribution
        self._device = device

    @cached_property
    def decoding(self) -> Decoding:
        """Parents in the maximum spanning tree of each document."""
        return Decoding(self.distribution.argmax.parents.to(self._device))

    @cached_property
    def marginals(self) -> HeadMarginals:
        """Probability of each edge and of each entity of a span's cluster, over all trees."""
        return HeadMarginals(self.distribution.edge_marginals, self.distribution.entity_marginals).to(self._device)


class GlobalHead(Head):
    """Clusters and links a document by one spanning tree over all its spans and entities.

    Args:
        edge_activation: "none" or "arsinh", see `activate`; the same in loss, decoding and marginals.
        root_score: Which scorer gives the root's edges, one of `ROOT_SCORES`; see `EdgeScores.root`.

    Raises:
        ValueError: If one of them is unknown.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import EdgeScores, GlobalHead
        >>> scores = EdgeScores(
        ...     mention=torch.tensor([[1.0, 1.0]]),
        ...     link=torch.tensor([[[2.0], [0.0]]]),
        ...     candidate_rows=torch.tensor([[[7], [-1]]]),
        ...     pair=torch.full((1, 2, 2), 0.5),
        ...     mask=torch.ones(1, 2, dtype=torch.bool),
        ...     root_pair=torch.zeros(1, 2),
        ... )
        >>> GlobalHead().decode(scores).parents.tolist()  # the candidate is the first's parent, the first the second's
        [[3, 0]]
    """

    summary = "one spanning tree over the document's root, entities and spans"
    options: ClassVar[Mapping[str, HeadOption]] = {
        "edge_activation": HeadOption(
            default="none",
            choices=EDGE_ACTIVATIONS,
            doc="`arsinh` weighs an edge exp(asinh(score)), `none` exp(score)",
            is_field=True,
        ),
        "root_score": HeadOption(
            default="paper",
            choices=ROOT_SCORES,
            doc="`original` scores the root's edges with the linker, `paper` with the pair scorer and Φp",
            is_field=True,
        ),
    }
    learns_from_gaps = True
    edge_activation: str
    root_score: str

    def __init__(self, edge_activation: str = "none", root_score: str = "paper", **options: Any) -> None:
        super().__init__(edge_activation=edge_activation, root_score=root_score, **options)
        self.needs = frozenset({PAIRS, ENTITIES, PAIR_ROOT if root_score == "paper" else ENTITY_ROOT})

    def distribution(self, scores: EdgeScores) -> SpanningTreeDistribution:
        """The distribution over the trees of each document (log-weights in float64).

        It is on the CPU where the scores' device has no float64, see `EdgeScores.double`.
        """
        scores = scores.double()
        return SpanningTreeDistribution(
            activate(scores.root, self.edge_activation),
            activate(scores.span_to_span, self.edge_activation),
            activate(scores.candidate_scores, self.edge_activation),
            scores.candidate_rows.masked_fill(~scores.candidate_mask, -1),
            scores.mask,
        )

    def log_prob(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Log-probability of the gold clustering and links of each document, float64 [B] (float32 on MPS).

        A retained span that is no gold mention counts as its own NIL cluster. -inf says that no tree
        decodes to the gold (for example a link to an entity that is no candidate of the cluster, see
        `GoldClustering.restrict_to_reachable`). What is not known is summed over: exactly, but for free spans, with
        which the value is a lower bound (and the loss an upper bound) of the exact one; see
        `hf_corefel.trees.partial_gold`.
        """
        gold = gold.within(scores.mask)
        log_prob = self.distribution(scores).log_prob(gold.cluster_ids, gold.entity_rows)
        return of_device(log_prob, scores.mention.device)

    def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Mean of -log P(gold) over the documents whose gold is possible, a scalar of that type.

        Impossible documents give no loss and no gradient; a `RuntimeWarning` says how many they
        were, and `log_prob` says which. The loss is 0 if none is left.
        """
        log_prob = self.log_prob(scores, gold)
        possible = log_prob != float("-inf")
        left = int(possible.sum())
        if left < len(log_prob):
            warnings.warn(
                f"the gold clustering of {len(log_prob) - left} of {len(log_prob)} documents is impossible "
                "under their candidates; these documents are left out of the loss",
                RuntimeWarning,
                stacklevel=2,
            )
        # Less, not negated: of nothing that is 0 and not -0.
        return 0.0 - torch.where(possible, log_prob, 0.0).sum() / max(left, 1)

    def parent_probabilities(self, scores: EdgeScores, temperature: float = 1.0) -> EdgeMarginals:
        """The probability of each edge over all trees, log-weights divided by a temperature, float64."""
        edges = self.distribution(scores).at_temperature(temperature).edge_marginals
        return EdgeMarginals(*(of_device(edge, scores.mention.device) for edge in edges))

    def distillation_loss(self, scores: EdgeScores, targets: EdgeMarginals, temperature: float = 1.0) -> Tensor:
        """The expected -log P of a tree of the teacher, [B] in float64: log Z less its marginals times the scores.

        The gradient is the pupil's edge marginals less the teacher's, divided by the temperature.
        """
        targets = moved_to_root(targets, scores.pair_mask, scores.candidate_mask)
        trees = self.distribution(scores).at_temperature(temperature)
        return of_device(trees.cross_entropy_of(targets), scores.mention.device)

    def posterior(self, scores: EdgeScores) -> TreePosterior:
        """The best tree of each document and the probabilities over all its trees."""
        return TreePosterior(self.distribution(scores), scores.mention.device)

    def sparse_posterior(self, scores: SparseEdgeScores) -> SparseTree:
        """The best tree of the edges that are scored, and the probabilities over all trees of these."""
        scores = scores.double()
        above = torch.cat((scores.root.unsqueeze(-1), scores.candidate_scores), dim=-1)
        edges = scores.candidate_rows.numpy(), scores.source.numpy(), scores.target.numpy()
        weights = activate(scores.edges, self.edge_activation).numpy()
        return SparseTree(activate(above, self.edge_activation).numpy(), *edges, weights)

    def parent_scores(self, scores: EdgeScores) -> Tensor:
        """Log-weights of all edges, [B, N, N+1+K]; see `Head`."""
        edges = torch.cat((scores.span_to_span.mT, scores.root.unsqueeze(-1), scores.candidate_scores), dim=-1)
        return activate(edges, self.edge_activation)
