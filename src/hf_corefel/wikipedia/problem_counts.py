"""What was left out, counted by kind, with some examples of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .problems import Problem

__all__ = ["ProblemCounts"]

_EXAMPLES = 10


class ProblemCounts:
    """Counts of problems by kind; the first of each kind are kept as examples."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, list[str]] = {}

    def add(self, problem: Problem) -> None:
        """Count a problem."""
        self.count(problem.kind, problem.where, problem.message)

    def count(self, kind: str, where: str, message: str) -> None:
        """Count a problem of a kind that readers do not know."""
        self._count(kind, 1, [f"{where}: {message}"])

    def _count(self, kind: str, number: int, examples: Iterable[str]) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + number
        known = self.examples.setdefault(kind, [])
        known += list(examples)[: _EXAMPLES - len(known)]

    def update(self, saved: Mapping[str, Mapping[str, Any]]) -> None:
        """Add those that `to_dict` gave of others."""
        for kind, found in saved.items():
            self._count(kind, found["count"], found["examples"])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Counts and examples by kind."""
        return {kind: {"count": count, "examples": self.examples[kind]} for kind, count in sorted(self.counts.items())}
