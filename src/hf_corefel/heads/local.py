"""The local head: every span picks its own parent, independently of the others.

For span i a softmax over {itself} ∪ {its candidates} ∪ {its antecedents j < i} (Zaporojets et al.,
ACL 2022, section on the local approach). Itself has score 0 and means "starts a NIL cluster or is no
mention". Edge scores are used as they are, without an activation.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ..moved import renamed_argument
from ..trees import EdgeMarginals, EntityMarginals
from ..utils.gold_codes import NOT_KNOWN
from .base import Decoding, EdgeScores, GoldClustering, Head, HeadMarginals, document_entities
from .missing_edges import moved_to_root
from .parameter_groups import ENTITIES, PAIRS
from .sparse_choices import SparseChoices
from .sparse_scores import SparseEdgeScores

__all__ = ["ChoicePosterior", "LocalHead", "propagate_entities"]

_NO_EDGE = float("-inf")


def _rows(scores: EdgeScores) -> Tensor:
    """Scores of the choices of each span, [B, N, 1 + K + N]: itself, its candidates, its antecedents.

    A masked span has itself as its only choice, so that no row is empty.
    """
    itself = scores.mention.new_zeros((*scores.mention.shape, 1))
    later = torch.ones_like(scores.pair, dtype=torch.bool).triu()
    antecedents = scores.span_to_span.transpose(1, 2).masked_fill(later, _NO_EDGE)
    return torch.cat((itself, scores.candidate_scores, antecedents), dim=-1)


def _softmax(scores: EdgeScores, temperature: float = 1.0) -> EdgeMarginals:
    """The softmax of each span's choices, their scores divided by a temperature; zeros for masked spans."""
    rows = torch.softmax(_rows(scores) / temperature, dim=-1)
    rows = rows.masked_fill(~scores.mask.unsqueeze(-1), 0.0)
    first = 1 + scores.num_candidates
    return EdgeMarginals(rows[..., 0], rows[..., 1:first], rows[..., first:].transpose(1, 2))


def _gold_rows(scores: EdgeScores, gold: GoldClustering) -> Tensor:
    """Which of the choices of `_rows` are right, bool [B, N, 1 + K + N]."""
    gold = gold.within(scores.mask)
    same = gold.cluster_ids.unsqueeze(2) == gold.cluster_ids.unsqueeze(1)
    earlier = torch.tril(same & (gold.cluster_ids >= 0).unsqueeze(2) & scores.pair_mask, diagonal=-1)
    correct = gold.correct_candidates(scores.candidate_rows)
    chosen = torch.cat((correct, earlier), dim=-1)
    rows = torch.cat((~chosen.any(dim=-1, keepdim=True), chosen), dim=-1)
    return _with_unknown(rows, scores, gold) if bool(gold.has_gaps.any()) else rows


def _with_unknown(rows: Tensor, scores: EdgeScores, gold: GoldClustering) -> Tensor:
    """The same with every choice that may be right where clusters or links are not known.

    Every span decides on its own here, so that the links of the spans of a cluster cannot be made to agree: a span
    whose link is not known may choose any of its candidates. A free span may choose anything but what is no mention.
    """
    itself, candidates, antecedents = rows.split((1, scores.num_candidates, scores.num_spans), dim=-1)
    unknown, free = gold.has_unknown_link.unsqueeze(-1), gold.is_free.unsqueeze(-1)
    apart = (gold.cluster_ids == NOT_KNOWN) & (gold.entity_rows != NOT_KNOWN)
    earlier = torch.ones_like(antecedents).tril(diagonal=-1) & scores.pair_mask.mT
    mention = (gold.cluster_ids != -1).unsqueeze(1)
    antecedents = antecedents | (earlier & apart.unsqueeze(2) & apart.unsqueeze(1)) | (earlier & free & mention)
    candidates = candidates | (scores.candidate_mask & unknown)
    itself = itself | free | apart.unsqueeze(-1)
    return torch.cat((itself, candidates, antecedents), dim=-1)


@renamed_argument("entity_ids", "candidate_rows")
def propagate_entities(edges: EdgeMarginals, candidate_rows: Tensor, mask: Tensor) -> EntityMarginals:
    """Entity probabilities of spans that pick their parents independently, left to right.

    P(e | i) = P(i → e) + Σ_{j<i} P(i → j) · P(e | j), and the same for NIL with P(i → i). Exact: the
    chain of a span only visits earlier spans, whose choices do not depend on the span's own.

    Args:
        edges: Probabilities of the parents of each span; those of a real span sum to 1.
        candidate_rows: Candidates, int64 [B, N, K]; -1 is padding.
        mask: True for real spans, bool [B, N].

    Returns:
        The probability that a span's chain ends at each entity of the document, or at no entity.
    """
    entities, index = document_entities(candidate_rows, mask)
    direct = edges.root.new_zeros((*mask.shape, entities.shape[1]))
    if entities.shape[1] > 0:
        direct = direct.scatter_add(2, index, edges.candidate_probabilities)
    ends = torch.cat((direct, edges.root.unsqueeze(-1)), dim=-1)
    # Forward substitution in (I - A) x = ends with the antecedents' probabilities A is the sum above.
    antecedents = edges.span_to_span.transpose(1, 2)
    chains = torch.linalg.solve_triangular(-antecedents, ends, upper=False, unitriangular=True)
    return EntityMarginals(entities, chains[..., :-1], chains[..., -1])


class ChoicePosterior:
    """The best choice of each span, and the probability of each of its choices.

    Args:
        scores: The edge scores.
    """

    def __init__(self, scores: EdgeScores) -> None:
        self._scores = scores

    @cached_property
    def decoding(self) -> Decoding:
        """The best choice of each span; itself is N.

        Equal scores go to the span itself, then to its candidates in their order, then to its
        antecedents from left to right.
        """
        scores = self._scores
        best = _rows(scores.at_least_float32()).argmax(dim=-1)
        candidates, spans = scores.num_candidates, scores.num_spans
        parents = torch.where(best <= candidates, spans + best, best - candidates - 1)
        return Decoding(parents.masked_fill(~scores.mask, -1))

    @cached_property
    def marginals(self) -> HeadMarginals:
        """The softmax of each span, and the entity at the end of its chain, in float64 (float32 on MPS)."""
        device, scores = self._scores.mention.device, self._scores.double()
        edges = _softmax(scores)
        return HeadMarginals(edges, propagate_entities(edges, scores.candidate_rows, scores.mask)).to(device)


class LocalHead(Head):
    """Clusters and links a document by one choice a span: a candidate, an antecedent or itself.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import EdgeScores, LocalHead
        >>> scores = EdgeScores(
        ...     mention=torch.tensor([[1.0, 1.0]]),
        ...     link=torch.tensor([[[2.0], [0.0]]]),
        ...     candidate_rows=torch.tensor([[[7], [-1]]]),
        ...     pair=torch.full((1, 2, 2), 0.5),
        ...     mask=torch.ones(1, 2, dtype=torch.bool),
        ... )
        >>> LocalHead().decode(scores).parents.tolist()
        [[3, 0]]
    """

    summary = "for each span one of its candidates, an earlier span, or neither"
    needs = frozenset({PAIRS, ENTITIES})
    antecedents_only = True
    learns_from_gaps = True

    def log_prob(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Σ_i log P(the gold choices of span i) of each document, [B].

        The gold choices are the earlier retained spans of the same cluster and the correct candidate, or
        the span itself if there is none of these; where clusters or links are not known, all that may be right.
        """
        rows = _rows(scores.at_least_float32())
        numerator = torch.logsumexp(rows.masked_fill(~_gold_rows(scores, gold), _NO_EDGE), dim=-1)
        return (numerator - torch.logsumexp(rows, dim=-1)).sum(dim=-1)

    def gold_parents(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Which parents are gold choices of a span, bool [B, N, N+1+K] as `parent_scores`; every row has one."""
        rows = _gold_rows(scores, gold)
        first = 1 + scores.num_candidates
        return torch.cat((rows[..., first:], rows[..., :first]), dim=-1)

    def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """Mean over documents of -Σ_i log P(the gold choices of span i), a scalar (at least float32)."""
        # Less, not negated, here and below: of nothing that is 0 and not -0.
        return 0.0 - self.log_prob(scores, gold).mean()

    def parent_probabilities(self, scores: EdgeScores, temperature: float = 1.0) -> EdgeMarginals:
        """The softmax of each span's choices, float64 (float32 on MPS)."""
        edges = _softmax(scores.double(), temperature)
        return EdgeMarginals(*(edge.to(scores.mention.device) for edge in edges))

    def distillation_loss(self, scores: EdgeScores, targets: EdgeMarginals, temperature: float = 1.0) -> Tensor:
        """The sum over spans of the cross-entropies of their choices, [B] (at least float32)."""
        earlier = torch.ones_like(scores.pair, dtype=torch.bool).triu(diagonal=1)
        targets = moved_to_root(targets, scores.pair_mask & earlier, scores.candidate_mask)
        logs = torch.log_softmax(_rows(scores.at_least_float32()) / temperature, dim=-1)
        wanted = torch.cat((targets.root.unsqueeze(-1), targets.candidate_probabilities, targets.span_to_span.mT), -1)
        wanted = wanted.masked_fill(~scores.mask.unsqueeze(-1), 0.0).to(logs)
        return 0.0 - (wanted * logs.masked_fill(wanted == 0, 0.0)).sum(dim=(1, 2))

    def posterior(self, scores: EdgeScores) -> ChoicePosterior:
        """The best choice of each span, and the probability of each of its choices."""
        return ChoicePosterior(scores)

    def sparse_posterior(self, scores: SparseEdgeScores) -> SparseChoices:
        """The best choice of each span among the edges that are scored, and the probability of each."""
        return SparseChoices(scores)

    def parent_scores(self, scores: EdgeScores) -> Tensor:
        """Edge scores, 0 for the span itself, [B, N, N+1+K]; see `Head`."""
        rows = _rows(scores.at_least_float32())
        first = 1 + scores.num_candidates
        return torch.cat((rows[..., first:], rows[..., :first]), dim=-1)
