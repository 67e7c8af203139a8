"""The entity score Φℓ (paper, eq. entity_cl2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..moved import renamed_argument
from .exact import ExactLinear
from .ffnn import FeedForward
from .matches import LateInput

__all__ = ["EntityScorer", "expected_entities"]

# How probable the entity is at its best span of the document; how often it is expected at the others.
_NUM_SUPPORTS = 2
# Sum of the priors of the span, logarithm of their number, share of the candidate, how far it is behind the likeliest.
_NUM_COVERAGES = 4


class EntityScorer(nn.Module):
    """Φℓ(i, e) = FFNN_L([g_i; e]), with further inputs on request.

    Args:
        span_size: Width G of span vectors.
        entity_size: Width D of entity vectors.
        ffnn_size: Hidden size.
        depth: Hidden layers.
        dropout: Dropout of the hidden layers.
        use_prior: Feeds log p(e | surface).
        with_nil: Adds a learned vector for an explicit NIL candidate (standalone linking).
        with_root: Adds a learned root vector (``root_score="original"``).
        use_product: Feeds (W g_i) ⊙ e, of width D: a sum of projections alone compares a span with an entity badly.
        use_context: Feeds e ⊙ m, where m is the document's mean entity vector: entities of one text are related.
        use_support: Feeds how much the document's other spans speak for the entity: what "Berg" means stands where the
            name is written in full.
        use_coverage: Feeds how well the candidates cover the span's text: a name that the knowledge base hardly knows,
            or has many of, is more likely that of something it lacks.

    Example:
        >>> from hf_corefel.layers import EntityScorer
        >>> scorer = EntityScorer(
        ...     8, entity_size=6, ffnn_size=4, depth=1, dropout=0.0, use_prior=True, with_nil=True, with_root=False
        ... )
        >>> scorer.nil.shape
        torch.Size([6])
    """

    def __init__(
        self,
        span_size: int,
        entity_size: int,
        ffnn_size: int,
        depth: int,
        dropout: float,
        use_prior: bool,
        with_nil: bool,
        with_root: bool,
        use_product: bool = False,
        use_context: bool = False,
        use_support: bool = False,
        use_coverage: bool = False,
    ) -> None:
        super().__init__()
        first = FeedForward.first_size(ffnn_size, depth)
        self.span = ExactLinear(span_size, first)
        self.entity = ExactLinear(entity_size, first, bias=False)
        self.prior = ExactLinear(1, first, bias=False) if use_prior else None
        self.factor = ExactLinear(span_size, entity_size, bias=False) if use_product else None
        self.product = ExactLinear(entity_size, first, bias=False) if use_product else None
        self.context = ExactLinear(entity_size, first, bias=False) if use_context else None
        self.support = LateInput(_NUM_SUPPORTS, first, bias=False) if use_support else None
        self.coverage = LateInput(_NUM_COVERAGES, first, bias=False) if use_coverage else None
        self.ffnn = FeedForward(ffnn_size, depth, dropout)
        self.entity_size = entity_size
        if with_nil:
            self.add_nil()
        if with_root:
            self.add_root()

    def add_nil(self) -> None:
        """Gives the scorer a NIL vector (uninitialised: the model's weight initialisation fills it)."""
        self.nil = nn.Parameter(torch.empty(self.entity_size))

    def add_root(self) -> None:
        """Gives the scorer a root vector, likewise."""
        self.root = nn.Parameter(torch.empty(self.entity_size))

    @renamed_argument("candidates", "candidate_rows")
    def forward(
        self,
        spans: Tensor,
        candidate_rows: Tensor,
        log_priors: Tensor,
        entity_vectors: Tensor,
        mention_scores: Tensor | None = None,
        of_vector: str | None = None,
    ) -> Tensor:
        """Scores of candidates, or of one of the scorer's own vectors.

        Args:
            spans: ``[B, N, G]``.
            candidate_rows: ``[B, N, K]`` rows of `entity_vectors`, -1 on padding.
            log_priors: ``[B, N, K]``.
            entity_vectors: ``[B, E, D]``.
            mention_scores: ``[B, N]`` Φp, for context and support; every span counts alike when None.
            of_vector: ``nil`` or ``root`` gives `score_nil` or `score_root` instead. Whatever places modules on devices
                only sees calls of `forward`.

        Returns:
            ``[B, N, K]``, 0 on padding; ``[B, N]`` of a vector.
        """
        if of_vector is not None:
            return self.score_nil(spans) if of_vector == "nil" else self.score_root(spans)
        batch, n, k = (candidate_rows >= 0).nonzero(as_tuple=True)
        rows = candidate_rows[batch, n, k]
        # Knowledge bases speak float32, whatever the model's weights are held in.
        vectors = entity_vectors.to(self.entity.weight.dtype)
        entities = self.entity(vectors)
        weights = log_priors[batch, n, k].to(vectors.dtype).exp()
        if mention_scores is not None:
            weights = weights * torch.sigmoid(mention_scores.detach())[batch, n].to(vectors.dtype)
        if self.context is not None:
            entities = entities + self.context(vectors * _document_mean(vectors, batch, rows, weights))
        hidden = self.span(spans)[batch, n] + entities[batch, rows]
        if self.factor is not None and self.product is not None:
            hidden = hidden + self.product(self.factor(spans)[batch, n] * vectors[batch, rows])
        if self.prior is not None:
            hidden = hidden + self.prior(log_priors[batch, n, k].unsqueeze(-1).to(hidden.dtype))
        if self.support is not None:
            shape = entity_vectors.shape[0], entity_vectors.shape[1]
            hidden = hidden + self.support(_support(shape, batch, rows, weights).to(hidden.dtype))
        if self.coverage is not None:
            hidden = hidden + self.coverage(
                candidate_coverage(candidate_rows, log_priors)[batch, n, k].to(hidden.dtype)
            )
        scores = self.ffnn(hidden)
        return scores.new_zeros(candidate_rows.shape).index_put((batch, n, k), scores)

    def score_nil(self, spans: Tensor) -> Tensor:
        """Φℓ(s, NIL) ``[B, N]``; what NIL has to do with the document's entities is not asked."""
        return self._score_vector(spans, self.nil)

    def score_root(self, spans: Tensor) -> Tensor:
        """Φℓ(s, root) ``[B, N]``, the research code's root score."""
        return self._score_vector(spans, self.root)

    def _score_vector(self, spans: Tensor, vector: Tensor) -> Tensor:
        hidden = self.span(spans) + self.entity(vector)
        if self.factor is not None and self.product is not None:
            hidden = hidden + self.product(self.factor(spans) * vector)
        return self.ffnn(hidden)


def candidate_coverage(candidate_rows: Tensor, log_priors: Tensor) -> Tensor:
    """Return how well its candidates cover each span's text.

    Args:
        candidate_rows: ``[B, N, K]`` rows of the document's entities, -1 on padding.
        log_priors: ``[B, N, K]``.

    Returns:
        ``[B, N, K, 4]``: Σ_e p(e|i), ln K_i of the K_i candidates, p(e|i) by that sum, and ln p(e|i) less the greatest
        of the span. What padding has means nothing.
    """
    known = candidate_rows >= 0
    logs = log_priors.masked_fill(~known, -torch.inf)
    # One after the other, so that a sum does not depend on how much padding the batch has.
    total = torch.where(known, log_priors.exp(), 0.0).cumsum(dim=-1)[..., -1:]
    count = known.sum(dim=-1, keepdim=True).clamp(min=1).to(log_priors.dtype).log()
    behind = log_priors - logs.amax(dim=-1, keepdim=True)
    features = (total.expand_as(logs), count.expand_as(logs), log_priors.exp() / total.clamp(min=1e-6), behind)
    return torch.where(known.unsqueeze(-1), torch.stack(features, dim=-1), 0.0)


@renamed_argument("candidates", "candidate_rows")
def expected_entities(candidate_rows: Tensor, log_priors: Tensor, entity_vectors: Tensor) -> Tensor:
    """Σ_e p(e|i) e, the mean vector of what each span may stand for.

    Args:
        candidate_rows: ``[B, N, K]`` rows of `entity_vectors`, -1 on padding.
        log_priors: ``[B, N, K]``; priors that sum to more than 1, as given ones may, are taken by their shares.
        entity_vectors: ``[B, E, D]``.

    Returns:
        ``[B, N, D]``, 0 where a span has no candidate.
    """
    batch, n, k = (candidate_rows >= 0).nonzero(as_tuple=True)
    weights = log_priors.new_zeros(candidate_rows.shape)
    weights[batch, n, k] = log_priors[batch, n, k].exp()
    weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1.0)
    # Of shapes, not by len(), which an exported graph would take for a constant.
    documents, count, size = *candidate_rows.shape[:2], entity_vectors.shape[-1]
    vectors = entity_vectors[batch, candidate_rows[batch, n, k]] * weights[batch, n, k].unsqueeze(-1)
    total = vectors.new_zeros(documents * count, size).index_add(0, batch * count + n, vectors)
    return total.view(documents, count, size)


def _document_mean(vectors: Tensor, batch: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """Weighted mean ``[B, 1, D]`` of the entity vectors ``[B, E, D]`` at `rows` of the documents `batch`."""
    total = vectors.new_zeros(vectors.shape[:2]).index_put((batch, rows), weights, accumulate=True)
    mean = torch.einsum("be,bed->bd", total, vectors) / total.sum(dim=1, keepdim=True).clamp(min=1e-6)
    return mean.unsqueeze(1)


def _support(shape: tuple[int, int], batch: Tensor, rows: Tensor, weights: Tensor) -> Tensor:
    """``[P, 2]`` of the candidates at `rows` of the documents `batch`, weighted by prior and mention probability."""
    flat = batch * shape[1] + rows
    best = weights.new_zeros(shape[0] * shape[1]).scatter_reduce(0, flat, weights, reduce="amax")
    total = weights.new_zeros(shape[0] * shape[1]).index_add(0, flat, weights)
    return torch.stack([best[flat], torch.log1p((total[flat] - weights).clamp(min=0.0))], dim=-1)
