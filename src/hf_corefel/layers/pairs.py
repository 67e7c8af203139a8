"""The pair score Φc (paper, eq. span_cl2), computed once an unordered pair wherever it is symmetric."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .exact import ExactLinear
from .ffnn import FeedForward
from .matches import NUM_MATCHES, LateInput
from .tracing import in_one_graph

__all__ = ["NUM_DISTANCES", "PairScorer", "distance_bucket"]

# Span-order distances 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64+. No two spans are 0 apart: that one is the root's.
_BUCKET_STARTS = (1, 2, 3, 4, 5, 8, 16, 32, 64)
NUM_DISTANCES = len(_BUCKET_STARTS) + 1
# Pairs scored at once: bounds the memory of long documents.
_CHUNK = 65_536


def distance_bucket(distance: Tensor) -> Tensor:
    """Bucket ``0..9`` of a span-order distance (same shape, integers)."""
    return torch.bucketize(distance, distance.new_tensor(_BUCKET_STARTS), right=True)


class PairScorer(nn.Module):
    """Φc(i, j) = FFNN_C([g_i; g_j; g_i ⊙ g_j; φ_ij]), child first.

    The first layer is a sum of projections of its inputs. The product, the distance, the matches and the relations are
    symmetric, so they are projected once for both directions of a pair.

    Args:
        span_size: Width G of span vectors.
        ffnn_size: Hidden size.
        depth: Hidden layers.
        dropout: Dropout of the hidden layers.
        distance_size: Size of the distance embedding.
        product_dim: Width of the product: g is first projected to it; 0 takes the full product.
        with_root: Adds the learned root vector of the global head.
        use_matches: Feeds what the two spans have in common, see `hf_corefel.layers.matches`.
        relations: Further symmetric features of pairs, by name with their number, see `hf_corefel.layers.labels`.
        entity_size: Width D of entity vectors: feeds the mean vector m of the entities that each span may stand for, by
            itself and as g + W m in place of g in the product. "The company" is no word of "Volkswagen", but
            the entity's description has it. 0 leaves them out.

    Example:
        >>> from hf_corefel.layers import PairScorer
        >>> scorer = PairScorer(8, ffnn_size=4, depth=1, dropout=0.0, distance_size=2, product_dim=0, with_root=True)
        >>> scorer.root.shape
        torch.Size([8])
    """

    def __init__(
        self,
        span_size: int,
        ffnn_size: int,
        depth: int,
        dropout: float,
        distance_size: int,
        product_dim: int,
        with_root: bool,
        use_matches: bool = False,
        entity_size: int = 0,
        relations: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        first = FeedForward.first_size(ffnn_size, depth)
        self.child = ExactLinear(span_size, first)
        self.parent = ExactLinear(span_size, first, bias=False)
        self.factor = ExactLinear(span_size, product_dim, bias=False) if product_dim else None
        self.product = ExactLinear(product_dim or span_size, first, bias=False)
        self.distance = nn.Embedding(NUM_DISTANCES, distance_size)
        self.distance_project = ExactLinear(distance_size, first, bias=False)
        self.match = LateInput(NUM_MATCHES, first, bias=False) if use_matches else None
        self.relation = nn.ModuleDict(
            {name: LateInput(size, first, bias=False) for name, size in (relations or {}).items()}
        )
        sizes = {"child": first, "parent": first, "factor": product_dim or span_size} if entity_size else {}
        self.meaning = nn.ModuleDict({name: LateInput(entity_size, size, bias=False) for name, size in sizes.items()})
        self.ffnn = FeedForward(ffnn_size, depth, dropout)
        self.span_size = span_size
        if with_root:
            self.add_root()

    def add_root(self) -> None:
        """Gives the scorer a root vector (uninitialised: the model's weight initialisation fills it)."""
        self.root = nn.Parameter(torch.empty(self.span_size))

    def forward(
        self,
        spans: Tensor,
        antecedents_only: bool = False,
        matches: Tensor | None = None,
        expected_embeddings: Tensor | None = None,
        of_root: bool = False,
        relations: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Scores of ordered pairs, or of the root as parent.

        Args:
            spans: ``[B, N, G]`` retained spans in reading order.
            antecedents_only: Scores only parents before their child, half of the work (local heads).
            matches: ``[B, N, N, 5]`` from `match_features`, where the scorer uses them.
            expected_embeddings: ``[B, N, D]`` from `expected_entities`, likewise.
            relations: ``[B, N, N, F]`` features of each kind that the scorer was made for.
            of_root: Gives `score_root` instead. Whatever places modules on devices only sees calls of `forward`.

        Returns:
            ``[B, N, N]``: entry ``[b, i, j]`` is Φc of parent i and child j. The diagonal, and with
            `antecedents_only` the lower triangle, is 0 and means nothing.
        """
        if of_root:
            return self.score_root(spans, expected_embeddings)
        batch, count, _ = spans.shape
        scores = spans.new_zeros(batch, count, count)
        child, parent, factor, distance = self.project_sides(spans, expected_embeddings)
        early, late = _pairs(count, spans.device)
        step = max(1, _CHUNK // max(1, batch))

        def part(i: Tensor, j: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
            factor, distance, child, parent = inputs
            shared = self.product(factor[:, i] * factor[:, j]) + distance[distance_bucket(j - i)]
            if self.match is not None and matches is not None:
                shared = shared + self.match(matches[:, i, j].to(spans.dtype))
            for name, features in (relations or {}).items():
                shared = shared + self.relation[name](features[:, i, j].to(spans.dtype))
            # Under autocast the layers give half precision, whatever the spans have.
            forward = self._score(shared, child[:, j], parent[:, i]).to(scores.dtype)
            if antecedents_only:
                return (forward,)
            return forward, self._score(shared, child[:, i], parent[:, j]).to(scores.dtype)

        # Once at least: without a pair every parameter still gets a gradient, of zero, as distributed training needs.
        several = not in_one_graph() and len(early) > step
        for start in range(0, len(early), step) if several else (0,):
            i, j = (early[start : start + step], late[start : start + step]) if several else (early, late)
            inputs = i, j, factor, distance, child, parent
            if torch.is_grad_enabled() and several:
                # The hidden layers of 900 spans' pairs would take 3 GiB until the backward pass.
                found = checkpoint(part, *inputs, use_reentrant=False)
            else:
                found = part(*inputs)
            for these, (rows, columns) in zip(found, ((i, j), (j, i)), strict=False):
                scores = scores.index_put((_all(batch, i), rows, columns), these)
        return scores

    def project_sides(self, spans: Tensor, expected_embeddings: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What spans give as child, as parent and to the product, ``[B, N, …]``, and distances, ``[10, …]``."""
        child = self._child(spans, expected_embeddings)
        parent = self._with(self.parent(spans), "parent", expected_embeddings)
        factor = self._with(self._factor(spans), "factor", expected_embeddings)
        return child, parent, factor, self._distances(spans)

    def score_root(self, spans: Tensor, expected_embeddings: Tensor | None = None) -> Tensor:
        """Φc(root, s) ``[B, N]`` of retained spans ``[B, N, G]`` with their expected_embeddings ``[B, N, D]``.

        The root is a parent at distance 0 that matches nothing and stands for nothing.
        """
        shared = self.product(self._with(self._factor(spans), "factor", expected_embeddings) * self._factor(self.root))
        shared = shared + self._distances(spans)[0]
        return self._score(shared, self._child(spans, expected_embeddings), self.parent(self.root))

    def _child(self, spans: Tensor, expected_embeddings: Tensor | None) -> Tensor:
        return self._with(self.child(spans), "child", expected_embeddings)

    def _with(self, projected: Tensor, name: str, expected_embeddings: Tensor | None) -> Tensor:
        """What spans give to an input, and what the entities give that they may stand for."""
        if name not in self.meaning or expected_embeddings is None:
            return projected
        return projected + self.meaning[name](expected_embeddings.to(projected.dtype))

    def _distances(self, like: Tensor) -> Tensor:
        # Through the embedding's own call, which brings its weights where they wait elsewhere (``device_map``).
        return self.distance_project(self.distance(torch.arange(NUM_DISTANCES, device=like.device)))

    def _factor(self, spans: Tensor) -> Tensor:
        return spans if self.factor is None else self.factor(spans)

    def _score(self, shared: Tensor, child: Tensor, parent: Tensor) -> Tensor:
        return self.ffnn(shared + child + parent)


def _pairs(count: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the pairs of `count` things, in the order of ``torch.triu_indices``, which no export knows of a size."""
    places = torch.arange(count, device=device)
    later = count - 1 - places
    number = count * (count - 1) // 2
    early = torch.repeat_interleave(places, later, output_size=number)
    begin = later.cumsum(0) - later
    return early, torch.arange(number, device=device) - begin[early] + early + 1


def _all(batch: int, like: Tensor) -> Tensor:
    return torch.arange(batch, device=like.device).unsqueeze(1)
