"""What every head takes and gives: edge scores, gold clusterings, decodings, marginals.

Shape letters: B documents, N retained spans, K candidates a span, E entities of a document.

Nodes are numbered the same way everywhere: ``0..N-1`` is that span, ``N`` the root (for the heads
without a tree: the span itself), ``N+1+k`` the span's own k-th candidate, ``-1`` no node at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ..documents import AnnotatedLayers
from ..moved import renamed_argument
from ..trees import EdgeMarginals, EntityMarginals
from ..trees.precision import of_device
from .edge_scores import ROOT_SCORES, EdgeScores, GoldClustering
from .options import HeadOption
from .parameter_groups import ScorerSizes
from .sparse_scores import SparseEdgeScores, SparsePosterior

__all__ = [
    "ROOT_SCORES",
    "Decoding",
    "EdgeScores",
    "GoldClustering",
    "Head",
    "HeadMarginals",
    "Posterior",
    "document_entities",
]


class Decoding(NamedTuple):
    """The parent that each span got.

    Attributes:
        parents: int64 [B, N] in the encoding of this module. -1 says that the span is no part of the
            output: it is masked, or the standalone linking head takes it for no mention.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import Decoding
        >>> Decoding(torch.tensor([[2, 0]])).parents.tolist()
        [[2, 0]]
    """

    parents: Tensor


class HeadMarginals(NamedTuple):
    """Probabilities under a head.

    Attributes:
        edges: Probability of each parent of a span. For the heads without a tree ``root`` is the
            probability that the span is its own parent (NIL or no mention).
        entities: Probability that the span's whole cluster links to an entity, or to none.

    Example:
        >>> from hf_corefel.heads import HeadMarginals
        >>> HeadMarginals._fields
        ('edges', 'entities')
    """

    edges: EdgeMarginals
    entities: EntityMarginals

    def to(self, device: torch.device) -> HeadMarginals:
        """The same on another device, as float32 where that has no float64."""
        edges = EdgeMarginals(*(of_device(tensor, device) for tensor in self.edges))
        return HeadMarginals(edges, EntityMarginals(*(of_device(tensor, device) for tensor in self.entities)))


class Posterior(Protocol):
    """What a head makes of the edge scores of a batch.

    Each part is computed when it is first asked for, and once: what both need is shared.

    Example:
        >>> import torch
        >>> from hf_corefel.heads import EdgeScores, GlobalHead, Posterior
        >>> scores = EdgeScores(
        ...     mention=torch.zeros(1, 2),
        ...     link=torch.zeros(1, 2, 0),
        ...     candidate_rows=torch.zeros(1, 2, 0, dtype=torch.int64),
        ...     pair=torch.zeros(1, 2, 2),
        ...     mask=torch.ones(1, 2, dtype=torch.bool),
        ...     root_pair=torch.zeros(1, 2),
        ... )
        >>> posterior: Posterior = GlobalHead().posterior(scores)
        >>> round(posterior.marginals.edges.root[0, 0].item(), 3)
        0.667
    """

    @property
    def decoding(self) -> Decoding:
        """The best parent of each span."""
        ...

    @property
    def marginals(self) -> HeadMarginals:
        """The probability of each parent and of each entity."""
        ...


class Head(ABC):
    """What turns edge scores into a loss, a decoding and probabilities.

    A head says of itself what it needs, and everything else reads it there: the configuration which heads and options
    there are, the model which scores to compute, the card and the documentation what it does. See `HEADS` for how one
    of another package is made known.

    Args:
        **options: Values of `options`, which become attributes; their defaults where nothing is said.

    Attributes:
        summary: What it predicts, as the end of a sentence.
        options: What it may be told, by name.
        needs: Which scores it reads, of `hf_corefel.heads.HEAD_MODULES`. Scores that it does not need are 0 or None.
        own_scores: Names of scores beyond these, each of a scorer that `make_scorer` makes; see `EdgeScores.own`.
        antecedents_only: Whether it reads pair scores of earlier parents only, which halves the work on pairs.
        links: Whether it links clusters to entities, so that training needs entities within reach.
        finds_nil: Whether a mention may be without an entity; where not, a span without one is no mention.
        learns_from_gaps: Whether its loss reads the codes of gold that is not known; see `GoldClustering`. Where not,
            documents whose annotation has gaps give it no loss. Not inherited by a head with a loss of its own.

    Raises:
        ValueError: If there is no such option, or it has a bad value.

    Example:
        >>> from hf_corefel.heads import GlobalHead, Head
        >>> head: Head = GlobalHead(edge_activation="arsinh")
        >>> head.edge_activation
        'arsinh'
    """

    summary: ClassVar[str]
    options: ClassVar[Mapping[str, HeadOption]] = {}
    own_scores: ClassVar[tuple[str, ...]] = ()
    antecedents_only: ClassVar[bool] = False
    links: ClassVar[bool] = True
    finds_nil: ClassVar[bool] = True
    learns_from_gaps: ClassVar[bool] = False
    needs: frozenset[str] = frozenset()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        # A loss of its own is not the one that reads gaps.
        if "loss" in cls.__dict__ and "learns_from_gaps" not in cls.__dict__:
            cls.learns_from_gaps = False

    def __init__(self, **options: Any) -> None:
        for name, option in self.options.items():
            setattr(self, name, option.check(options.pop(name, option.default), name))
        if options:
            raise ValueError(f"{next(iter(options))}: {type(self).__name__} has no such option")

    def make_scorer(self, name: str, sizes: ScorerSizes) -> nn.Module:
        """Return a new module that computes one of `own_scores`.

        Called with `RetainedSpans`, it returns floats whose shape begins with [B, N]. The model calls
        ``reset_parameters`` of every module in it that has the method, and fills linear layers and embeddings itself.

        Args:
            name: The score.
            sizes: What it is made for.

        Raises:
            TypeError: When the head has no such score.
        """
        raise TypeError(f"{type(self).__name__}.make_scorer: own_scores names {name!r}, and the head makes none")

    def reason_to_leave_out(self, layers: AnnotatedLayers) -> str | None:
        """Return why the head learns nothing from documents with these layers, as a part of a sentence; else None."""
        if layers == AnnotatedLayers() or self.learns_from_gaps:
            return None
        return "its loss takes complete annotation only"

    @abstractmethod
    def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        """The mean over documents of the documents' summed losses, a scalar."""

    @abstractmethod
    def posterior(self, scores: EdgeScores) -> Posterior:
        """The decoding and the probabilities of a batch, computed once however often they are read."""

    @abstractmethod
    def parent_scores(self, scores: EdgeScores) -> Tensor:
        """What each parent of a span counts for in decoding, [B, N, N+1+K] in the numbering of this module.

        -inf where there is no edge.
        """

    @property
    def can_distil(self) -> bool:
        """Whether one model with this head can learn from another: it has a `distillation_loss`.

        That of its base class does not count where it has scores or a loss of its own.
        """
        return self._inherits("distillation_loss", {"loss", "posterior", "parent_scores"})

    @property
    def reads_edge_lists(self) -> bool:
        """Whether it decodes long documents, of which some pairs of spans are scored: it has a `sparse_posterior`.

        That of its base class does not count where it has scores or a posterior of its own.
        """
        return not self.own_scores and self._inherits(
            "sparse_posterior", {"posterior", "parent_scores", "distribution"}
        )

    def sparse_posterior(self, scores: SparseEdgeScores) -> SparsePosterior:
        """The decoding and the probabilities of one long document, of the edges that are scored.

        Raises:
            TypeError: When the head has none.
        """
        raise TypeError(f"{type(self).__name__}: it has no sparse_posterior, and reads no lists of edges")

    def _inherits(self, method: str, parts: set[str]) -> bool:
        """Whether a class defines a method, and none below it changes the parts that it belongs to."""
        order = type(self).__mro__
        owner = next(index for index, kind in enumerate(order) if method in vars(kind))
        return order[owner] is not Head and not any(parts & vars(kind).keys() for kind in order[:owner])

    def parent_probabilities(self, scores: EdgeScores, temperature: float = 1.0) -> EdgeMarginals:
        """The probability of each parent, as a teacher tells it to a pupil with the same head.

        Args:
            scores: The teacher's.
            temperature: Divides them.

        Raises:
            TypeError: When the head does not say.
        """
        raise TypeError(f"{type(self).__name__}: it has no parent_probabilities, which a teacher tells a pupil")

    def distillation_loss(self, scores: EdgeScores, targets: EdgeMarginals, temperature: float = 1.0) -> Tensor:
        """The cross-entropy between what a teacher says and what a pupil does, of each document, [B].

        Args:
            scores: The pupil's.
            targets: The teacher's `parent_probabilities` of the same spans, candidates in the same places. The
                probability of an edge that the pupil does not have counts as the root's.
            temperature: Divides the pupil's scores.

        Raises:
            TypeError: When the head has no such loss.
        """
        raise TypeError(f"{type(self).__name__}: it has no distillation_loss, and cannot learn from a teacher")

    def decode(self, scores: EdgeScores) -> Decoding:
        """The best parent of each span."""
        return self.posterior(scores).decoding

    def marginals(self, scores: EdgeScores) -> HeadMarginals:
        """The probability of each parent and of each entity."""
        return self.posterior(scores).marginals


@renamed_argument("entity_ids", "candidate_rows")
def document_entities(candidate_rows: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Collect the entities that are a candidate of any span of a document.

    Args:
        candidate_rows: Candidates, int64 [B, N, K]; -1 is padding.
        mask: True for real spans, bool [B, N].

    Returns:
        The entities of each document in ascending order, int64 [B, E] (padded with -1 at the end),
        and the place of each candidate in its row, int64 [B, N, K] (0 for padding: mask it).
    """
    real = (candidate_rows >= 0) & mask.unsqueeze(-1)
    unique = [torch.unique(ids[keep]) for ids, keep in zip(candidate_rows, real, strict=True)]
    width = max((len(ids) for ids in unique), default=0)
    entities = candidate_rows.new_full((len(unique), width), -1)
    index = torch.zeros_like(candidate_rows)
    for row, ids in enumerate(unique):
        entities[row, : len(ids)] = ids
        index[row] = torch.searchsorted(ids, candidate_rows[row].contiguous())
    return entities, index.masked_fill(~real, 0)
