"""A candidate source as somebody else's package has one: tickets are found by how they are written, in no table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hf_corefel import Candidate, Document
from hf_corefel.candidates import NamedEntities, Proposals, QuerySpans, read_backend_config, write_backend_config


class TicketSource(NamedEntities):
    """Proposes ``ticket:TEAM-123`` for "TEAM-123"."""

    backend = "guest-tickets"

    def __init__(self, pattern: str = "[A-Z]+-[0-9]+", vector_size: int = 8) -> None:
        self.pattern, self.vector_size = pattern, vector_size

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, str) and entity.startswith("ticket:")

    def vector_for(self, name: str) -> np.ndarray:
        return np.full(self.vector_size, 0.5, dtype=np.float32)

    def url(self, entity: str) -> str | None:
        return f"https://tickets.example/{entity.removeprefix('ticket:')}" if entity in self else None

    def knows(self, surfaces: Sequence[str]) -> np.ndarray:
        return np.array([re.fullmatch(self.pattern, surface) is not None for surface in surfaces], dtype=bool)

    def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
        rows = [
            [Candidate(f"ticket:{name}", 0.9)] if re.fullmatch(self.pattern, name) else []
            for name in spans.names(document.text)
        ]
        return Proposals.of(rows, limit)

    def save_pretrained(self, folder: str | Path) -> None:
        write_backend_config(folder, self.backend, pattern=self.pattern, vector_size=self.vector_size)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> TicketSource:
        config = read_backend_config(folder)
        return cls(config["pattern"], config["vector_size"])
