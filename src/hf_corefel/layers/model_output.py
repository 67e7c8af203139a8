"""What the model returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers.utils import ModelOutput

from ..moved import name_of_now, renamed_field

__all__ = ["CorefELOutput"]

_RENAMED = {"kept": "retained", "candidates": "candidate_rows"}  # since version 0.1.0


@renamed_field("kept", "retained")
@renamed_field("candidates", "candidate_rows")
@dataclass
class CorefELOutput(ModelOutput):
    """What `CorefELModel.forward` returns.

    Attributes:
        loss: Mean over documents of pruner loss times its weight plus head loss, when gold was given.
        mention_loss: The pruner's part.
        head_loss: The head's part.
        span_scores: Φp of every enumerated span ``[B, S]``.
        retained: Indices of the retained spans ``[B, N]`` in reading order, -1 on padding.
        mention: Φp of the retained spans ``[B, N]``.
        link: Φℓ of their candidates ``[B, N, K]``.
        pair: Φc of parent i and child j ``[B, N, N]``.
        root_pair: Score of root → span ``[B, N]`` (global head).
        nil: Score of the explicit NIL candidate ``[B, N]`` (standalone linking).
        contains: Whether retained span i contains retained span j, bool ``[B, N, N]``; None where the configuration
            allows both in one cluster.
        exclusive: Code points ``[B, N, 2]`` of the retained spans where no two mentions may share one, (0, 0)
            elsewhere; None where the configuration allows it in every scope.
        own_scores: What the head's own scorers gave, by the name of the score; None where it has none.
        twins: Which of these pairs are two spellings of one mention, see `hf_corefel.processing.cores`.
        candidate_rows: Candidates of the retained spans ``[B, N, K]``, rows of the document's entity vectors, -1 on
            padding.

    Example:
        >>> from hf_corefel import CorefELOutput
        >>> CorefELOutput().loss is None
        True
    """

    loss: Tensor | None = None
    mention_loss: Tensor | None = None
    head_loss: Tensor | None = None
    span_scores: Tensor | None = None
    retained: Tensor | None = None
    mention: Tensor | None = None
    link: Tensor | None = None
    pair: Tensor | None = None
    root_pair: Tensor | None = None
    nil: Tensor | None = None
    candidate_rows: Tensor | None = None
    contains: Tensor | None = None
    twins: Tensor | None = None
    exclusive: Tensor | None = None
    own_scores: dict[str, Tensor] | None = None

    def __getitem__(self, k: Any) -> Any:
        return super().__getitem__(name_of_now(k, _RENAMED, type(self).__name__))
