"""The pair score Φc (paper, eq. span_cl2), computed once an unordered pair wherever it is symmetric."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .exact import ExactLinear
from .ffnn import FeedForward
from .matches import NUM_MATCHES, LateInput
from .tracing import in_one_graph, runs_on_processor

__all__ = ["CHUNK_IN_CACHE", "NUM_DISTANCES", "PairScorer", "add_late", "distance_bucket", "sum_of_rows"]

# Span-order distances 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64+. No two spans are 0 apart: that one is the root's.
_BUCKET_STARTS = (1, 2, 3, 4, 5, 8, 16, 32, 64)
NUM_DISTANCES = len(_BUCKET_STARTS) + 1
# Pairs scored at once; with more than these, hidden layers are not kept for gradients.
_CHUNK = 65_536
# The same on a processor: what is computed then stays in its cache.
CHUNK_IN_CACHE = 2_048


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
        mask: Tensor | None = None,
        order: Tensor | None = None,
    ) -> Tensor:
        """Scores of ordered pairs, or of the root as parent.

        Args:
            spans: ``[B, N, G]`` retained spans in reading order.
            antecedents_only: Scores only parents before their child, half of the work (local heads).
            matches: ``[B, N, N, 5]`` from `match_features`, where the scorer uses them.
            expected_embeddings: ``[B, N, D]`` from `expected_entities`, likewise.
            relations: ``[B, N, N, F]`` features of each kind that the scorer was made for.
            of_root: Gives `score_root` instead. Whatever places modules on devices only sees calls of `forward`.
            mask: ``[B, N]``, False on padding, whose pairs have 0 for a score.
            order: ``[B, N]`` numbers of the spans, by which they are near or far; 0 to N - 1 when None.

        Returns:
            ``[B, N, N]``: entry ``[b, i, j]`` is Φc of parent i and child j. The diagonal, and with
            `antecedents_only` the lower triangle, is 0 and means nothing.
        """
        if of_root:
            return self.score_root(spans, expected_embeddings)
        batch, count, _ = spans.shape
        child, parent, factor, distances = self.project_sides(spans, expected_embeddings)
        child, parent, factor = child.flatten(0, 1), parent.flatten(0, 1), factor.flatten(0, 1)
        # Whatever of a pair depends on its distance or on one of its spans is a row of one table.
        table = torch.cat([distances, child, parent])
        late = [(self.relation[name], features) for name, features in (relations or {}).items()]
        if self.match is not None and matches is not None:
            late.append((self.match, matches))
        of_pairs = [(project, features.flatten(0, 2)) for project, features in late]

        def part(
            one: Tensor, other: Tensor, near: Tensor, place: Tensor, factor: Tensor, table: Tensor
        ) -> tuple[Tensor, ...]:
            shared = self.product(factor[one] * factor[other])
            for project, features in of_pairs:
                shared = add_late(shared, project, features[place])
            child, parent = NUM_DISTANCES, NUM_DISTANCES + batch * count
            # Under autocast the layers give half precision, whatever the spans have.
            forward = self.ffnn(shared + sum_of_rows(table, near, child + other, parent + one)).to(spans.dtype)
            if antecedents_only:
                return (forward,)
            return forward, self.ffnn(shared + sum_of_rows(table, near, child + one, parent + other)).to(spans.dtype)

        one, other, begin = _pairs(batch, count, mask, spans.device)
        places = one * count + other - begin, other * count + one - begin
        near = distance_bucket(other - one if order is None else (order.flatten()[other] - order.flatten()[one]))
        step = CHUNK_IN_CACHE if runs_on_processor(spans) else _CHUNK
        # Once at least: without a pair every parameter still gets a gradient, of zero, as distributed training needs.
        several = not in_one_graph() and len(one) > step
        found = []
        for start in range(0, len(one), step) if several else (0,):
            rows = (one, other, near, places[0])
            i, j, apart, place = (row[start : start + step] for row in rows) if several else rows
            if torch.is_grad_enabled() and several and len(one) > _CHUNK:
                # The hidden layers of 900 spans' pairs would take 3 GiB until the backward pass.
                found.append(checkpoint(part, i, j, apart, place, factor, table, use_reentrant=False))
            else:
                found.append(part(i, j, apart, place, factor, table))
        scores = spans.new_zeros(batch * count * count)
        for values, where in zip(zip(*found, strict=True), places, strict=False):
            scores = scores.index_put((where,), torch.cat(values) if several else values[0])
        scores = scores.view(batch, count, count)
        return scores if mask is None else scores.masked_fill(~(mask.unsqueeze(1) & mask.unsqueeze(2)), 0.0)

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
        return self.ffnn(shared + self._child(spans, expected_embeddings) + self.parent(self.root))

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


def _pairs(batch: int, count: int, mask: Tensor | None, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the earlier and the later span of each unordered pair of a document, numbered through all documents, and
    the number of the document's first span.

    Args:
        batch: Documents B.
        count: Spans N of each.
        mask: ``[B, N]``, False on padding, which is in no pair on a processor.
        device: Where to.
    """
    places = torch.arange(count, device=device)
    later = count - 1 - places
    # The order of ``torch.triu_indices``, which no export knows of a size.
    number = count * (count - 1) // 2
    early = torch.repeat_interleave(places, later, output_size=number)
    begin = later.cumsum(0) - later
    late = torch.arange(number, device=device) - begin[early] + early + 1
    first = torch.arange(batch, device=device).unsqueeze(1) * count
    one, other = (first + early).flatten(), (first + late).flatten()
    begin = first.expand(batch, number).flatten()
    if mask is None or batch == 1 or not runs_on_processor(one):
        return one, other, begin
    real = (mask[:, early] & mask[:, late]).flatten()
    return one[real], other[real], begin[real]


def sum_of_rows(table: Tensor, *rows: Tensor) -> Tensor:
    """Return the sums of rows of a table ``[R, F]``, each given as ``[P]``: ``[P, F]``."""
    if in_one_graph():  # a plain operator of any runtime
        total = table[rows[0]]
        for row in rows[1:]:
            total = total + table[row]
        return total
    return nn.functional.embedding_bag(torch.stack(rows, dim=-1), table, mode="sum")


def add_late(shared: Tensor, project: nn.Module, features: Tensor) -> Tensor:
    """Return ``shared + project(features)`` of a projection without bias, and of features that are mostly zero."""
    if not runs_on_processor(shared):
        return shared + project(features.to(shared.dtype))
    rows = features.any(dim=-1).nonzero().squeeze(-1)
    added: Tensor = project(features[rows].to(shared.dtype))
    return shared.index_add(0, rows, added.to(shared.dtype))
