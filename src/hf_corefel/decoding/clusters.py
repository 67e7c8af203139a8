"""From the parents of the spans to clusters and links, for one document, in plain Python."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..moved import renamed_argument, renamed_field

__all__ = ["DecodedCluster", "clusters_by_name", "clusters_from_parents", "same_rows"]


@renamed_field("entity_id", "entity_row")
@dataclass(frozen=True, slots=True)
class DecodedCluster:
    """Spans that mean the same thing.

    Attributes:
        spans: Indices of the retained spans, ascending.
        entity_row: Row of the entity that the cluster links to; None is NIL.

    Example:
        >>> from hf_corefel.decoding import clusters_from_parents
        >>> clusters_from_parents([3, 0], [[7], [-1]], [1.0, 1.0], [True, True])
        [DecodedCluster(spans=(0, 1), entity_row=7)]
    """

    spans: tuple[int, ...]
    entity_row: int | None


# Where the chain of a span's parents ends: at an entity, (True, entity), or at a span that has none, (False, span).
_Top = tuple[bool, int]


@renamed_argument("entity_ids", "candidate_rows")
def clusters_from_parents(
    parents: Sequence[int],
    candidate_rows: Sequence[Sequence[int]],
    mention: Sequence[float],
    mask: Sequence[bool],
    *,
    drop_unlinked_singletons: bool = True,
) -> list[DecodedCluster]:
    """Follow each span's parents to the top and group the spans by where they arrive.

    Spans that arrive at the same entity are one cluster, whichever way they came; the others are
    one cluster with the span at the top of their chain. For a spanning tree these are the subtrees
    of the root.

    Args:
        parents: Parent of each of the N spans: ``0..N-1`` a span, ``N`` the root (or the span
            itself, for heads without a tree), ``N+1+k`` the span's k-th candidate, -1 for a span
            that is no part of the output.
        candidate_rows: Entities of the candidates of each span, [N, K]; -1 is padding.
        mention: Mention score Φp of each span, [N].
        mask: True for real spans, [N].
        drop_unlinked_singletons: Drop clusters of one span without an entity whose mention score
            is not above 0: such a span is more likely no mention at all.

    Returns:
        The clusters, by their first span.

    Raises:
        ValueError: If the lengths differ, a parent is out of range, padding or itself left out, or
            the parents run in a circle.
    """
    size = len(parents)
    for name, values in (("candidate_rows", candidate_rows), ("mention", mention), ("mask", mask)):
        if len(values) != size:
            raise ValueError(f"{name}: expected {size} spans as in parents, got {len(values)}")

    tops: dict[int, _Top] = {}
    members: dict[_Top, list[int]] = {}
    for span in range(size):
        if not mask[span] or parents[span] == -1:
            continue
        chain: list[int] = []
        node = span
        # A chain is over where an earlier one passed, or at a span that hangs from no span.
        while node not in tops:
            if len(chain) == size:
                raise ValueError(f"parents: the parents of span {span} run in a circle")
            chain.append(node)
            parent = _checked_parent(node, parents, candidate_rows, mask)
            if parent < size:
                node = parent
            else:
                tops[node] = (False, node) if parent == size else (True, candidate_rows[node][parent - size - 1])
        tops.update(dict.fromkeys(chain, tops[node]))
        members.setdefault(tops[node], []).append(span)

    clusters = [DecodedCluster(tuple(spans), top if linked else None) for (linked, top), spans in members.items()]
    if drop_unlinked_singletons:
        clusters = [
            cluster
            for cluster in clusters
            if len(cluster.spans) > 1 or cluster.entity_row is not None or mention[cluster.spans[0]] > 0
        ]
    return clusters


def _checked_parent(
    node: int, parents: Sequence[int], candidate_rows: Sequence[Sequence[int]], mask: Sequence[bool]
) -> int:
    """Return the parent of a span.

    Raises:
        ValueError: If it is no node, padding, or left out.
    """
    size, parent = len(parents), parents[node]
    if not 0 <= parent <= size + len(candidate_rows[node]):
        raise ValueError(f"parents: span {node} has the parent {parent}, which is no node")
    if parent < size and (not mask[parent] or parents[parent] == -1):
        raise ValueError(f"parents: span {node} has the parent {parent}, which is left out")
    if parent > size and candidate_rows[node][parent - size - 1] < 0:
        raise ValueError(f"parents: span {node} has the parent {parent}, which is a padded candidate")
    return parent


def clusters_by_name(
    clusters: Sequence[DecodedCluster], names: Sequence[str], separate: Collection[int] = ()
) -> list[DecodedCluster]:
    """Return the clusters, those whose entities have one name as one, at the place of the first.

    Args:
        clusters: The clusters.
        names: What each entity is called.
        separate: Spans of which no two that are in different clusters come into one.
    """
    joined: list[DecodedCluster] = []
    place: dict[str, int] = {}
    for cluster in clusters:
        name = None if cluster.entity_row is None else names[cluster.entity_row]
        if name is None or place.setdefault(name, len(joined)) == len(joined):
            joined.append(cluster)
            continue
        first = joined[place[name]]
        if not separate or not all(set(separate).intersection(each.spans) for each in (first, cluster)):
            joined[place[name]] = DecodedCluster(tuple(sorted({*first.spans, *cluster.spans})), first.entity_row)
        else:
            joined.append(cluster)
    return joined


def same_rows(rows: Iterable[int], names: Sequence[str]) -> dict[int, list[int]]:
    """Return for each of some entities all of these that have its name, itself among them, in their order."""
    by_name: dict[str, list[int]] = {}
    rows = list(rows)
    for row in rows:
        by_name.setdefault(names[row], []).append(row)
    return {row: by_name[names[row]] for row in rows}
