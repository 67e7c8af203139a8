"""What a caller knows of a document's clusters: which mentions belong together, which do not, and what they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

from .checks import DocumentError, Offsets, check_entity, check_list, check_offsets, or_empty, reject_unknown, require
from .mentions import check_pair
from .plain_values import plain, plain_name

__all__ = ["Constraints", "LinkGroup"]

_FIELDS = ("must_link", "cannot_link", "entities")


@dataclass(frozen=True, slots=True)
class LinkGroup:
    """Mentions that are in one cluster.

    Attributes:
        mentions: Their offsets, in reading order.
        is_fixed: Whether the entity of their cluster is known.
        entity: The entity, or None for NIL, where it is known.

    Example:
        >>> from hf_corefel.documents import LinkGroup
        >>> LinkGroup(((0, 13), (39, 45)), is_fixed=True, entity="Angela_Merkel").entity
        'Angela_Merkel'
    """

    mentions: tuple[Offsets, ...]
    is_fixed: bool = False
    entity: str | None = None


@dataclass(frozen=True, slots=True)
class Constraints:
    """What must hold in the result for a document. The mentions that are named here are in the result.

    Attributes:
        must_link: Lists of mentions that are in one cluster.
        cannot_link: Lists of mentions of which no two are in one cluster.
        entities: The entity, or None for NIL, of a mention and so of its whole cluster.

    Mentions are ``(begin, end)``, code points of the text, or objects with ``begin`` and ``end``.

    >>> Constraints(must_link=[[(0, 13), (39, 45)]], entities={(0, 13): "Angela_Merkel"}).to_dict()
    {'must_link': [[[0, 13], [39, 45]]], 'entities': [{'begin': 0, 'end': 13, 'entity': 'Angela_Merkel'}]}

    Raises:
        DocumentError: When something is no mention, or a list of mentions has fewer than two.
    """

    must_link: tuple[tuple[Offsets, ...], ...] = ()
    cannot_link: tuple[tuple[Offsets, ...], ...] = ()
    entities: dict[Offsets, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("must_link", "cannot_link"):
            object.__setattr__(self, name, _lists(getattr(self, name), f"constraints.{name}"))
        entities: dict[Offsets, str | None] = {}
        for i, (mention, entity) in enumerate(_named(self.entities)):
            where = f"constraints.entities[{i}]"
            offsets = check_pair(mention, where)
            named = check_entity(plain_name(entity), f"{where}.entity", or_none=" or None for NIL")
            if entities.setdefault(offsets, named) != named:
                raise DocumentError(f"{where}: mention {offsets[0]}..{offsets[1]} has two entities")
        object.__setattr__(self, "entities", entities)

    @classmethod
    def of(cls, value: Any) -> Constraints:
        """Return constraints, from themselves or from an object with their fields; raises `DocumentError` otherwise."""
        if isinstance(value, Constraints):
            return value
        reject_unknown(value, _FIELDS, "constraints")
        return cls(**{name: or_empty(value, name) for name in _FIELDS})

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types, as `of` takes them."""
        lists = {name: [[list(m) for m in listed] for listed in getattr(self, name)] for name in _FIELDS[:2]}
        entities = [{"begin": b, "end": e, "entity": entity} for (b, e), entity in self.entities.items()]
        return {name: value for name, value in {**lists, "entities": entities}.items() if value}

    @property
    def mentions(self) -> list[Offsets]:
        """All mentions that are named, in reading order."""
        linked = [mention for listed in (*self.must_link, *self.cannot_link) for mention in listed]
        return sorted({*linked, *self.entities})

    def groups(self, text: str) -> tuple[list[LinkGroup], set[tuple[int, int]]]:
        """Return the groups of mentions that belong together, each mention in one, and which two groups do not.

        Mentions that have the same entity belong together, too: one cluster has all of them.

        Args:
            text: The document's text.

        Raises:
            DocumentError: When a mention is not within the text, or constraints contradict one another; the message
                names the mentions.
        """
        for begin, end in self.mentions:
            check_offsets(begin, end, "constraints", len(text))
        links: dict[Offsets, list[Offsets]] = {mention: [] for mention in self.mentions}
        first: dict[str, Offsets] = {}
        same = [(first.setdefault(entity, m), m) for m, entity in self.entities.items() if entity is not None]
        for one, other in (*(pair for listed in self.must_link for pair in pairwise(listed)), *same):
            links[one].append(other)
            links[other].append(one)
        group_of: dict[Offsets, int] = {}
        groups: list[LinkGroup] = []
        for mention in self.mentions:
            if mention not in group_of:
                members = sorted(_ways(links, mention))
                group_of.update(dict.fromkeys(members, len(groups)))
                groups.append(self._group(members, links, text))
        apart: set[tuple[int, int]] = set()
        for one, other in (pair for listed in self.cannot_link for pair in combinations(listed, 2)):
            a, b = sorted((group_of[one], group_of[other]))
            if a == b:
                raise DocumentError(
                    f"constraints: {_name(text, one)} and {_name(text, other)} cannot be linked, but others say that "
                    f"they are: {self._chain(links, one, other, text)}"
                )
            apart.add((a, b))
        return groups, apart

    def _group(self, members: list[Offsets], links: dict[Offsets, list[Offsets]], text: str) -> LinkGroup:
        fixed = [mention for mention in members if mention in self.entities]
        for mention in fixed[1:]:
            if self.entities[mention] != self.entities[fixed[0]]:
                kinds = " and ".join(repr(self.entities[m]) if self.entities[m] else "NIL" for m in (fixed[0], mention))
                raise DocumentError(
                    f"constraints: {_name(text, fixed[0])} and {_name(text, mention)} have different entities ({kinds})"
                    f", but are linked: {self._chain(links, fixed[0], mention, text)}"
                )
        return LinkGroup(tuple(members), bool(fixed), self.entities[fixed[0]] if fixed else None)

    def _chain(self, links: dict[Offsets, list[Offsets]], one: Offsets, other: Offsets, text: str) -> str:
        """Say by which links two mentions belong together."""
        before = _ways(links, one)
        way = [other]
        while way[-1] != one:
            way.append(before[way[-1]])
        return " = ".join(_name(text, mention) for mention in reversed(way))


def _ways(links: dict[Offsets, list[Offsets]], start: Offsets) -> dict[Offsets, Offsets]:
    """All mentions that links lead to, each with the one before it on a shortest way."""
    before = {start: start}
    queue = deque([start])
    while queue:
        mention = queue.popleft()
        for other in links[mention]:
            if other not in before:
                before[other] = mention
                queue.append(other)
    return before


def _name(text: str, mention: Offsets) -> str:
    begin, end = mention
    return f"{text[begin:end]!r} {begin}..{end}"


def _lists(value: Any, where: str) -> tuple[tuple[Offsets, ...], ...]:
    lists = []
    for i, listed in enumerate(check_list(value, where)):
        here = f"{where}[{i}]"
        mentions = tuple(check_pair(item, f"{here}[{k}]") for k, item in enumerate(check_list(listed, here)))
        if len(set(mentions)) != len(mentions) or len(mentions) < 2:
            raise DocumentError(f"{here}: expected two or more different mentions, got {[list(m) for m in mentions]}")
        lists.append(mentions)
    return tuple(lists)


def _named(value: Any) -> list[tuple[Any, Any]]:
    """The pairs of mention and entity of a dict by mentions, or of a list of objects with begin, end and entity."""
    if isinstance(value, Mapping):
        return list(value.items())
    pairs = []
    for i, item in enumerate(check_list(value, "constraints.entities")):
        where = f"constraints.entities[{i}]"
        item = plain(item)
        reject_unknown(item, ("begin", "end", "entity"), where)
        pairs.append(((require(item, "begin", where), require(item, "end", where)), require(item, "entity", where)))
    return pairs
