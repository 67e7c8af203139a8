"""What candidate sources are asked, and what they answer: arrays over the spans of one document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..documents import Candidate

__all__ = ["Proposals", "QuerySpans", "unique_candidates"]


@dataclass(frozen=True)
class QuerySpans:
    """The spans of a document that want candidates.

    Attributes:
        offsets: Code points, int64 ``[S, 2]``, end exclusive.
        named: Code points of the name in each span, int64 ``[S, 2]``; most often the span itself, but "Oslo" alone in a
            given mention "Oslo, the capital of Norway".
        vectors: What the model's encoder makes of the spans where they stand, float32 ``[S, G]``; None before the
            document is encoded.

    Example:
        >>> import numpy as np
        >>> from hf_corefel.candidates import QuerySpans
        >>> places = np.array([[0, 4], [8, 11]])
        >>> QuerySpans(places, places).names("Oslo is old.")
        ['Oslo', 'old']
    """

    offsets: np.ndarray
    named: np.ndarray
    vectors: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def names(self, text: str) -> list[str]:
        """Return the names in the spans of a text."""
        return [text[begin:end] for begin, end in self.named.tolist()]

    def take(self, rows: np.ndarray) -> QuerySpans:
        """Return some of the spans, by number or by a mask."""
        vectors = None if self.vectors is None else self.vectors[rows]
        return QuerySpans(self.offsets[rows], self.named[rows], vectors)


@dataclass(frozen=True)
class Proposals:
    """Candidates of S spans, up to K each, best first.

    Attributes:
        entity_ids: Ids of the source's entities, int64 ``[S, K]``; -1 is padding, and -2 - n stands for ``names[n]``,
            an entity that has a name but no id.
        scores: p(entity | span) as far as the source can tell, float32 ``[S, K]`` between 0 and 1; 0 on padding.
        names: Names of entities without an id.

    Example:
        >>> from hf_corefel import Candidate
        >>> from hf_corefel.candidates import Proposals
        >>> Proposals.of([[Candidate("Oslo", 0.75)], []], limit=2).scores.tolist()
        [[0.75, 0.0], [0.0, 0.0]]
    """

    entity_ids: np.ndarray
    scores: np.ndarray
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "entity_ids", np.asarray(self.entity_ids, dtype=np.int64))
        object.__setattr__(self, "scores", np.asarray(self.scores, dtype=np.float32))

    @classmethod
    def none(cls, spans: int, limit: int) -> Proposals:
        """Return proposals of nothing for any span."""
        return cls(np.full((spans, limit), -1), np.zeros((spans, limit)))

    @classmethod
    def of(cls, rows: Sequence[Iterable[Candidate]], limit: int) -> Proposals:
        """Return candidates that are known by name alone as proposals.

        An entity that is listed twice for a span counts once, with its highest prior.

        >>> Proposals.of([[Candidate("Oslo", 0.9)], []], limit=2).entity_ids.tolist()
        [[-2, -1], [-1, -1]]

        Args:
            rows: The candidates of each span.
            limit: K; what is beyond is left out.
        """
        entity_ids, scores = np.full((len(rows), limit), -1), np.zeros((len(rows), limit))
        numbers: dict[str, int] = {}
        for row, candidates in enumerate(rows):
            for column, candidate in enumerate(unique_candidates(candidates)[:limit]):
                entity_ids[row, column] = -2 - numbers.setdefault(candidate.entity, len(numbers))
                scores[row, column] = candidate.prior
        return cls(entity_ids, scores, tuple(numbers))

    def check(self, source: object, spans: int) -> None:
        """See that a source answered what it was asked.

        Args:
            source: Who proposes, for messages.
            spans: S.

        Raises:
            ValueError: When a shape does not fit, a score is none between 0 and 1, a name is missing, or a span has an
                entity twice; the message names the source.
        """
        where = f"{type(source).__name__}.propose"
        shape = self.entity_ids.shape
        if self.entity_ids.ndim != 2 or shape[0] != spans or self.scores.shape != shape:
            raise ValueError(
                f"{where}: expected entity_ids and scores of shape ({spans}, K), got {shape} and {self.scores.shape}"
            )
        if self.entity_ids.min(initial=-1) < -1 - len(self.names):
            raise ValueError(f"{where}: entity id {self.entity_ids.min()} stands for no name, there are {self.names}")
        within = (self.scores >= 0) & (self.scores <= 1)
        ordered = np.sort(self.entity_ids, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != -1)
        if twice.any():
            # Two parallel edges would make it twice as likely.
            raise ValueError(f"{where}: entity id {ordered[:, 1:][twice][0]} stands twice among a span's candidates")
        if not within.all():
            raise ValueError(f"{where}: a score is a probability from 0 to 1, got {self.scores[~within][0]}")


def unique_candidates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return each entity's candidate with the highest prior, by descending prior, then by name."""
    unique: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: (-candidate.prior, candidate.entity)):
        unique.setdefault(candidate.entity, candidate)
    return list(unique.values())
