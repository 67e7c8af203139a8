"""The part of a knowledge base that answers questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..candidates.proposals import Proposals, QuerySpans
from ..documents import Candidate, Document
from .entity_view import Changes, EntityView
from .fallback import Fallback, FallbackIndex, build_fallback_index, check_fallback
from .lookup import find_candidates
from .normal_form import SURFACE_FORM
from .tables import Tables

__all__ = ["Changes", "KnowledgeBaseView"]


class KnowledgeBaseView(EntityView):
    """Reads tables and the changes to them. Use `KnowledgeBase`."""

    def __init__(
        self,
        tables: Tables,
        changes: Changes,
        fallback: Fallback,
        indexes: dict[Fallback, FallbackIndex],
    ) -> None:
        super().__init__(tables, changes)
        self._fallback = check_fallback(fallback)
        # Indexes that a folder did not bring are made when they are needed; threads may make one twice.
        self._indexes = indexes

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_surfaces={self.num_surfaces}, num_entities={self.num_entities}, "
            f"num_candidates={self.num_candidates}, vector_size={self.vector_size})"
        )

    @property
    def num_surfaces(self) -> int:
        """The number of surfaces that have candidates."""
        return self._tables.num_surfaces + self._changes.state.num_surfaces

    @property
    def num_candidates(self) -> int:
        """The number of (surface, entity) pairs."""
        return self._tables.num_candidates + self._changes.state.num_candidates

    @property
    def fallback(self) -> Fallback:
        """What surfaces without candidates fall back on."""
        return self._fallback

    def lookup(
        self, surfaces: Sequence[str], limit: int = 16, *, fallback: Fallback | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of M surfaces, by their normal form (`hf_corefel.kb.normal_form`).

        White space, line ends and hyphens at them, kinds of apostrophes, dashes and letters, and invisible characters
        do not count. A surface that has no candidates falls back, unless `fallback` is "none": on all surfaces that
        differ in letter case only ("casefold"), or also in diacritics or a possessive at the end ("normalized"). Their
        candidates are merged; of each the highest prior stands, times `FALLBACK_DISCOUNT`.

        Args:
            surfaces: The M surfaces.
            limit: K, how many candidates a surface may have.
            fallback: Takes the place of the knowledge base's own.

        Returns:
            Entity ids int32 [M, K], by descending prior, then by name; -1 = padding.
            Priors float32 [M, K], 0 where padded.
        """
        if limit < 1:
            raise ValueError(f"limit: expected at least 1, got {limit}")
        index = self._index(self._fallback if fallback is None else check_fallback(fallback))
        return find_candidates(self._tables, self._changes.state, surfaces, limit, self._spelling_index(), index)

    def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
        """Return the candidates of spans by their names, as `lookup` finds them; see `CandidateSource`."""
        return Proposals(*self.lookup(spans.names(document.text), limit))

    def knows(self, surfaces: Sequence[str]) -> np.ndarray:
        """Return whether names have candidates, bool ``[M]``."""
        return np.asarray(self.lookup(surfaces, 1)[0][:, 0] >= 0)

    def candidates(self, surface: str, limit: int = 16, *, fallback: Fallback | None = None) -> list[Candidate]:
        """Candidates of one surface, as `lookup` finds them."""
        # More than there are would only make larger arrays.
        entity_ids, priors = self.lookup([surface], min(limit, max(1, self.num_candidates)), fallback=fallback)
        return [
            Candidate(self.entity_name(int(entity_id)), float(prior))
            for entity_id, prior in zip(entity_ids[0], priors[0], strict=True)
            if entity_id >= 0
        ]

    def rows(self) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        """The surfaces that have candidates with all of these and their priors, in no particular order."""
        state, tables = self._changes.state, self._tables
        tables.aliases.check()
        offsets = tables.aliases.offsets
        for number in range(tables.num_surfaces):
            if number in state.rows:
                row = state.rows[number]
            else:
                begin, end = int(offsets[number]), int(offsets[number + 1])
                ids, priors = tables.aliases.entity_ids[begin:end].tolist(), tables.aliases.priors[begin:end].tolist()
                row = list(zip(ids, priors, strict=True))
            if row:
                surface = tables.aliases.surfaces.restore_key(number)
                yield surface, [(state.entity_name(tables, entity_id), prior) for entity_id, prior in row]
        for surface, row in state.surfaces.items():
            yield surface, [(state.entity_name(tables, entity_id), prior) for entity_id, prior in row]

    def surfaces(self) -> Iterator[str]:
        """The surfaces that have candidates, in no particular order."""
        return self._changes.state.living_surfaces(self._tables)

    def _index(self, fallback: Fallback) -> FallbackIndex | None:
        return None if fallback == "none" else self._made_index(fallback)

    def _spelling_index(self) -> FallbackIndex | None:
        """The surfaces that are not in normal form, by theirs; None when all are."""
        return None if self._tables.aliases.surface_form == SURFACE_FORM else self._made_index("none")

    def _made_index(self, fallback: Fallback) -> FallbackIndex:
        index = self._indexes.get(fallback)
        if index is None:
            index = build_fallback_index(self._tables.aliases.surfaces, fallback)
            self._indexes[fallback] = index
        return index

    def _spellings(self, normal: str) -> list[str]:
        """How the tables write a surface that is given in normal form, which comes first if nothing is written so."""
        index = self._spelling_index()
        if index is None:
            return [normal]
        rows = index.rows_of(int(index.find([normal])[0]))
        spellings = [self._tables.aliases.surfaces.restore_key(row) for row in rows]
        exact = self._tables.aliases.find([normal])[0] >= 0 or normal in self._changes.state.surfaces
        return [normal, *spellings] if exact else [*spellings, normal]
