"""Chains of evidence: what a mention hangs from, what that hangs from, and so on to an entity or the root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, overload

from .checks import DocumentError, Offsets
from .mentions import Cluster, Parent

__all__ = ["Chain", "chains_of", "check_no_circle", "parents_of", "walk"]


class Chain(Sequence[Parent]):
    """The parents of a mention from its own up, as a list has them.

    A chain is a parent and the chain of that parent, which other chains share: those of all mentions of a document take
    no more time and memory than the mentions, however deep they hang.

    Args:
        parent: The mention's own parent; None makes the chain empty.
        above: The chain of that parent.

    Example:
        >>> from hf_corefel import Mention, Parent
        >>> from hf_corefel.documents import Chain
        >>> [parent.entity for parent in Chain(Parent("entity", entity="Oslo"))]
        ['Oslo']
    """

    __slots__ = ("_above", "_length", "_parent", "_top")

    def __init__(self, parent: Parent | None = None, above: Chain | None = None) -> None:
        self._parent, self._above = parent, above
        self._length = (parent is not None) + (0 if above is None else len(above))
        self._top: Parent | None = above._top if above else parent

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Parent]:
        node: Chain | None = self
        while node is not None and node._parent is not None:
            yield node._parent
            node = node._above

    @overload
    def __getitem__(self, index: int) -> Parent: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Parent]: ...

    def __getitem__(self, index: int | slice) -> Parent | Sequence[Parent]:
        if isinstance(index, slice):
            return list(self)[index]
        position = range(self._length)[index]
        # The top, which says where the chain leads, is always at hand.
        if self._top is not None and position == self._length - 1:
            return self._top
        return next(islice(self, position, None))

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Chain | list):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list's

    def __reduce__(self) -> tuple[Any, ...]:
        # The list that it is equal to, since copying link by link would nest as deep as the chain.
        return list, (list(self),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


def parents_of(clusters: Sequence[Cluster]) -> dict[Offsets, Parent | None]:
    """The parent of every mention, by the mention's offsets."""
    return {mention.offsets: mention.parent for cluster in clusters for mention in cluster.mentions}


def walk(parents: Mapping[Offsets, Parent | None], start: Offsets) -> list[Parent]:
    """The chain of one mention."""
    links = []
    node: Offsets | None = start
    while node is not None and (parent := parents.get(node)) is not None:
        links.append(parent)
        node = parent.offsets
    return links


def chains_of(parents: Mapping[Offsets, Parent | None]) -> dict[Offsets, Chain]:
    """The chain of every mention, by the mention's offsets."""
    chains: dict[Offsets, Chain] = {}
    for start in parents:
        # Up to what has its chain already, then down again.
        path: list[tuple[Offsets, Parent]] = []
        node: Offsets | None = start
        while node is not None and node not in chains and (parent := parents.get(node)) is not None:
            path.append((node, parent))
            node = parent.offsets
        for below, parent in reversed(path):
            chains[below] = Chain(parent, None if parent.offsets is None else chains.get(parent.offsets))
    return {offsets: chains.get(offsets, Chain()) for offsets in parents}


def check_no_circle(clusters: Sequence[Cluster], where: str) -> None:
    """Raises when a mention hangs, by way of others, from itself."""
    parents = {m.offsets: m.parent.offsets for c in clusters for m in c.mentions if m.parent is not None}
    checked: set[Offsets] = set()
    for start in parents:
        chain: list[Offsets] = []
        on_chain: set[Offsets] = set()
        node: Offsets | None = start
        while node is not None and node not in checked:
            if node in on_chain:
                raise DocumentError(f"{where}: the parents of the mention {start[0]}..{start[1]} run in a circle")
            chain.append(node)
            on_chain.add(node)
            node = parents.get(node)
        checked.update(chain)
