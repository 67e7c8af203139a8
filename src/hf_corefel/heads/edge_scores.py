"""What the scorers give a head, and the gold clusters that it is compared with.

Shape letters: B documents, N retained spans, K candidates a span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..moved import renamed_argument, renamed_attribute, renamed_field
from ..trees.precision import has_float64
from ..utils.gold_codes import FREE, LEFT_OUT, NOT_KNOWN

__all__ = ["ROOT_SCORES", "EdgeScores", "GoldClustering", "score_root_edges"]

ROOT_SCORES = ("paper", "original")

_NO_EDGE = float("-inf")


def score_root_edges(mention: Tensor, root_pair: Tensor | None, root_score: str) -> Tensor:
    """Return the score of the edge from the root to each span.

    Args:
        mention: Mention scores Φp.
        root_pair: Scores of the root with each span, in the same shape.
        root_score: See `EdgeScores`.

    Raises:
        ValueError: If there is no ``root_pair``.
    """
    if root_pair is None:
        raise ValueError("root_pair: the global head needs the scores of the root with each span, got None")
    return root_pair if root_score == "original" else mention + root_pair


@renamed_field("entity_ids", "candidate_rows")
@dataclass
class EdgeScores:
    """The scorers' outputs, and the one place that adds them up to edge scores.

    Values at masked spans and at padded candidates are never read, not even if they are NaN, and
    get a gradient of exactly zero.

    Attributes:
        mention: Mention scores Φp, [B, N].
        link: Entity scores Φℓ(i, e_k), [B, N, K].
        candidate_rows: Entity of each candidate as its row in the document's list of entities, int64 [B, N, K]; -1 is
            padding.
        pair: Pair scores Φc, [B, N, N]; ``pair[b, i, j]`` has parent (antecedent) i and child j.
        mask: True for real spans, bool [B, N].
        root_pair: Score of the root with each span, [B, N]: Φc(r, s), or Φℓ with the root vector
            where ``root_score`` is "original". Only the global head needs it.
        nil: Score of the explicit NIL candidate, [B, N]. Only the standalone linking head needs it.
        root_score: "paper" (equation 3 with Φp(r) = 0) or "original" (no mention term).
        forbidden: Pairs of spans without an edge in either direction, bool [B, N, N] and symmetric: a phrase and its
            own part. None forbids nothing.
        own: What the head's own scorers gave, by the name of the score; each of a shape that begins with [B, N].

    Raises:
        ValueError: If a shape does not fit or ``root_score`` is unknown; the message names the field.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import EdgeScores
        >>> scores = EdgeScores(
        ...     mention=torch.zeros(1, 2),
        ...     link=torch.zeros(1, 2, 1),
        ...     candidate_rows=torch.tensor([[[7], [-1]]]),
        ...     pair=torch.zeros(1, 2, 2),
        ...     mask=torch.ones(1, 2, dtype=torch.bool),
        ... )
        >>> scores.candidate_rows.shape
        torch.Size([1, 2, 1])
    """

    mention: Tensor
    link: Tensor
    candidate_rows: Tensor
    pair: Tensor
    mask: Tensor
    root_pair: Tensor | None = None
    nil: Tensor | None = None
    root_score: str = "paper"
    forbidden: Tensor | None = None
    own: Mapping[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.root_score not in ROOT_SCORES:
            raise ValueError(f"root_score: expected one of {', '.join(ROOT_SCORES)}, got {self.root_score!r}")
        if self.mention.dim() != 2:
            raise ValueError(f"mention: expected the shape [B, N], got {list(self.mention.shape)}")
        if self.link.dim() != 3:
            raise ValueError(f"link: expected the shape [B, N, K], got {list(self.link.shape)}")
        documents, spans = self.mention.shape
        candidates = self.link.shape[-1]
        expected = {
            "link": (documents, spans, candidates),
            "candidate_rows": (documents, spans, candidates),
            "pair": (documents, spans, spans),
            "mask": (documents, spans),
            "root_pair": (documents, spans),
            "nil": (documents, spans),
            "forbidden": (documents, spans, spans),
        }
        for name, shape in expected.items():
            value = getattr(self, name)
            if value is not None and tuple(value.shape) != shape:
                raise ValueError(f"{name}: expected the shape {list(shape)}, got {list(value.shape)}")
        for name, value in self.own.items():
            if tuple(value.shape[:2]) != (documents, spans):
                raise ValueError(f"own[{name!r}]: expected a shape [{documents}, {spans}, …], got {list(value.shape)}")

    @property
    def num_spans(self) -> int:
        """N, the padded number of retained spans."""
        return self.mention.shape[1]

    @property
    def num_candidates(self) -> int:
        """K, the padded number of candidates a span."""
        return self.link.shape[2]

    @property
    def candidate_mask(self) -> Tensor:
        """True for real candidates of real spans, bool [B, N, K]."""
        return (self.candidate_rows >= 0) & self.mask.unsqueeze(-1)

    @property
    def span_to_span(self) -> Tensor:
        """Φcl(i, j) = Φp(i) + Φp(j) + Φc(i, j) of parent i and child j, [B, N, N].

        -inf where `pair_mask` has no edge.
        """
        scores = self.mention.unsqueeze(2) + self.mention.unsqueeze(1) + self.pair
        # masked_fill (not an added -inf) so that the backward pass writes zeros, never 0 * inf.
        return scores.masked_fill(~self.pair_mask, _NO_EDGE)

    @property
    def pair_mask(self) -> Tensor:
        """True where one span may hang from another, bool [B, N, N]: not from itself, nor where it is forbidden."""
        edges = self.mask.unsqueeze(2) & self.mask.unsqueeze(1)
        edges = edges & ~torch.eye(self.num_spans, dtype=torch.bool, device=edges.device)
        return edges if self.forbidden is None else edges & ~self.forbidden

    @property
    def candidate_scores(self) -> Tensor:
        """Φcl(i, e) = Φp(i) + Φℓ(i, e) of each span with its candidates, [B, N, K]; -inf at padding."""
        return (self.mention.unsqueeze(-1) + self.link).masked_fill(~self.candidate_mask, _NO_EDGE)

    @property
    def root(self) -> Tensor:
        """Score of the edge from the root to each span, [B, N]; -inf where masked.

        Raises:
            ValueError: If there is no ``root_pair``.
        """
        return score_root_edges(self.mention, self.root_pair, self.root_score).masked_fill(~self.mask, _NO_EDGE)

    candidates = renamed_attribute("candidates", "candidate_scores")

    def to(self, dtype: torch.dtype) -> EdgeScores:
        """The same scores as floating-point tensors of another type; ids and mask stay as they are."""
        return replace(
            self,
            mention=self.mention.to(dtype),
            link=self.link.to(dtype),
            pair=self.pair.to(dtype),
            root_pair=None if self.root_pair is None else self.root_pair.to(dtype),
            nil=None if self.nil is None else self.nil.to(dtype),
            own={name: value.to(dtype) for name, value in self.own.items()},
        )

    def double(self) -> EdgeScores:
        """The same scores in float64; all of it on the CPU where the device has no float64 (Apple's MPS)."""
        if has_float64(self.mention.device):
            return self.to(torch.float64)
        moved: dict[str, Any] = {name: value.cpu() for name, value in vars(self).items() if isinstance(value, Tensor)}
        moved["own"] = {name: value.cpu() for name, value in self.own.items()}
        return replace(self, **moved).to(torch.float64)

    def at_least_float32(self) -> EdgeScores:
        """Half-precision scores as float32, for sums over many edges; other types stay as they are."""
        return self.to(torch.promote_types(self.mention.dtype, torch.float32))

    def without_candidates(self) -> EdgeScores:
        """The same scores for spans that have no candidates (K = 0)."""
        return replace(self, link=self.link[..., :0], candidate_rows=self.candidate_rows[..., :0])


@renamed_field("entity_ids", "entity_rows")
@dataclass
class GoldClustering:
    """Gold clusters and links of the retained spans.

    Where the annotation has gaps, codes of `hf_corefel.utils.gold_codes` stand in place of clusters and entities. Spans
    of one known entity are one cluster, and have its number also where clusters are not annotated.

    Attributes:
        cluster_ids: int64 [B, N]; spans with the same id >= 0 are one cluster, -1 is no gold mention.
        entity_rows: Row of the gold entity of the span's cluster, int64 [B, N]; -1 is NIL, out of reach, or no mention.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import GoldClustering
        >>> gold = GoldClustering(cluster_ids=torch.tensor([[0, 0, -1]]), entity_rows=torch.tensor([[7, 7, -1]]))
        >>> gold.cluster_ids.shape
        torch.Size([1, 3])
    """

    cluster_ids: Tensor
    entity_rows: Tensor

    def within(self, mask: Tensor) -> GoldClustering:
        """The same gold with -1 at masked spans (mask: bool [B, N]), and at non-mentions no entity but `NOT_KNOWN`."""
        mentions = mask & (self.cluster_ids != -1)
        has_entity = mentions | (mask & (self.entity_rows == NOT_KNOWN))
        return GoldClustering(
            self.cluster_ids.masked_fill(~mentions, -1), self.entity_rows.masked_fill(~has_entity, -1)
        )

    @property
    def left_out(self) -> Tensor:
        """Which spans take no part in the loss, bool [B, N]."""
        return self.cluster_ids == LEFT_OUT

    @property
    def is_free(self) -> Tensor:
        """Of which spans neither cluster nor link is known, bool [B, N]."""
        unknown = (self.cluster_ids == NOT_KNOWN) & (self.entity_rows == NOT_KNOWN)
        return unknown | (self.cluster_ids == FREE)

    @property
    def has_unknown_link(self) -> Tensor:
        """Of which spans the link is not known, bool [B, N]."""
        return self.is_free | ((self.cluster_ids >= 0) & (self.entity_rows == NOT_KNOWN))

    @property
    def has_gaps(self) -> Tensor:
        """In which documents not everything is known of each span, bool [B]."""
        return ((self.cluster_ids < -1) | (self.entity_rows == NOT_KNOWN)).any(dim=1)

    @renamed_argument("entity_ids", "candidate_rows")
    def restrict_to_reachable(self, candidate_rows: Tensor, mask: Tensor) -> tuple[GoldClustering, int]:
        """Treat linked clusters as NIL when no retained mention has the gold entity among its candidates.

        Args:
            candidate_rows: Candidates of the retained spans, int64 [B, N, K]; -1 is padding.
            mask: True for real spans, bool [B, N].

        Returns:
            The reachable gold, and how many linked clusters were out of reach in all documents.
        """
        gold = self.within(mask)
        linked = gold.entity_rows >= 0
        direct = linked & (candidate_rows == gold.entity_rows.unsqueeze(-1)).any(dim=-1)
        same = (gold.cluster_ids.unsqueeze(2) == gold.cluster_ids.unsqueeze(1)) & linked.unsqueeze(2)
        reachable = (same & direct.unsqueeze(1)).any(dim=-1)
        # A cluster is counted at its first span: the one without an earlier span of the same cluster.
        first = linked & ~torch.tril(same, diagonal=-1).any(dim=-1)
        unreachable = int((first & ~reachable).sum())
        return GoldClustering(gold.cluster_ids, gold.entity_rows.masked_fill(linked & ~reachable, -1)), unreachable

    def restrict_to_connected(self, scores: EdgeScores) -> GoldClustering:
        """Take clusters apart whose spans no tree can hold together, because edges between them are forbidden.

        A part is what edges connect; parts that have the gold entity among their candidates hang from it together.
        Every other part is a NIL cluster of its own. A cluster whose link is not known stays whole where an entity is a
        candidate of each part; otherwise each part is a cluster of its own, with a link that is not known. To be called
        on reachable gold.
        """
        if scores.forbidden is None:
            return self
        gold = self.within(scores.mask)
        mentions = gold.cluster_ids >= 0
        same = (gold.cluster_ids.unsqueeze(2) == gold.cluster_ids.unsqueeze(1)) & mentions.unsqueeze(2)
        if not (same & scores.forbidden).any():
            return gold
        count = scores.num_spans
        itself = torch.eye(count, dtype=torch.bool, device=same.device)
        edges = (same & scores.pair_mask) | itself
        # Every span takes the least number of its neighbours, until all of a part have the same.
        part = torch.arange(count, device=same.device).expand(len(same), -1)
        while True:
            least = torch.where(edges, part.unsqueeze(1), count).amin(dim=-1)
            if torch.equal(least, part):
                break
            part = least
        direct = gold.correct_candidates(scores.candidate_rows).any(dim=-1)
        together = part.unsqueeze(2) == part.unsqueeze(1)
        linked = (together & same & direct.unsqueeze(1)).any(dim=-1)
        linked = linked | self._hang_from_one(scores, same, together)
        # Parts that keep their cluster: those with the entity; where there is no entity, that of the first span.
        first = torch.where(same, part.unsqueeze(1), count).amin(dim=-1)
        keeps = linked | ((gold.entity_rows < 0) & (part == first))
        above = int(gold.cluster_ids.max()) + 1
        cluster_ids = torch.where(mentions & ~keeps, above + part, gold.cluster_ids)
        return GoldClustering(
            cluster_ids, gold.entity_rows.masked_fill(mentions & ~keeps & (gold.entity_rows >= 0), -1)
        )

    def _hang_from_one(self, scores: EdgeScores, same: Tensor, together: Tensor) -> Tensor:
        """Whether an unknown link may hold all parts of a span's cluster: an entity that each of them has, bool [B, N].

        Args:
            scores: Where the candidates are.
            same: Whether two spans are of one cluster, bool [B, N, N].
            together: Whether they are of one part of it, likewise.
        """
        unknown = (self.cluster_ids >= 0) & (self.entity_rows == NOT_KNOWN) & scores.mask
        found = torch.zeros_like(unknown)
        for b in unknown.any(dim=1).nonzero().flatten().tolist():
            # What the clusters with known links have, the others have not.
            taken = self.entity_rows[b][(self.cluster_ids[b] >= 0) & (self.entity_rows[b] >= 0)]
            rows = scores.candidate_rows[b].masked_fill(torch.isin(scores.candidate_rows[b], taken), -1)
            entities = torch.unique(rows[rows >= 0])
            has = (rows.unsqueeze(-1) == entities).any(dim=1) & scores.mask[b].unsqueeze(-1)
            of_part = ((together[b] & same[b]).to(torch.float32) @ has.to(torch.float32)) > 0
            of_all = (same[b].to(torch.float32) @ (~of_part).to(torch.float32)) == 0
            found[b] = unknown[b] & of_all.any(dim=-1)
        return found

    @renamed_argument("entity_ids", "candidate_rows")
    def correct_candidates(self, candidate_rows: Tensor) -> Tensor:
        """Which of the candidates (int64 [B, N, K]) is the span's gold entity, bool [B, N, K]."""
        gold = self.entity_rows.masked_fill(self.cluster_ids < 0, -1).unsqueeze(-1)
        return (candidate_rows == gold) & (gold >= 0)
