"""Scores of nested lists and dicts, the form in which predictions travel as JSON or through Arrow.

A document is a list of clusters ``{"mentions": [[begin, end], ...], "entity": "Oslo"}``, where the entity is
``""`` for NIL. Offsets are any two integers that mean the same span on both sides: code points, or tokens. Results of
the pipeline, rows of the corpora, `Document` and `AnnotatedDocument` are read as they are.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..documents.plain_values import advice, is_missing, is_table, plain, plain_name
from .bootstrap import Addable, bootstrap_interval
from .entity_map import EntityMap, entity_map_from
from .evaluation import Scores, score_clusters
from .spans import SpanRecall, span_recall

__all__ = ["NestedCluster", "evaluate_nested", "read_nested", "read_nested_pairs"]

NestedCluster = dict[str, Any]
Offsets = tuple[int, int]
# Of integers in Arrow.
_BOUND = 2**63


def read_nested(documents: Any, name: str) -> list[list[NestedCluster]]:
    """Checks clusters from outside and brings them into one form: lists, ints, and ``""`` for NIL.

    Args:
        documents: Documents, in a list or one by one: each a list of clusters, or something with ``clusters``, such as
            a result of the pipeline. A cluster is a dict or a `Cluster`, a mention ``[begin, end]``, a dict with these,
            or a `Mention`; other fields than ``mentions`` and ``entity`` are not read. Tuples and integer arrays pass
            for lists, and None for ``""``.
        name: What they are called in messages, for example ``"predictions"``.

    Raises:
        ValueError: When something has another form, or a mention is in two clusters of a document or twice in
            one; the message says where and what was expected.
    """
    return _read_documents(_documents(documents, name), name)


def read_nested_pairs(predictions: Any, references: Any) -> tuple[list[list[NestedCluster]], list[list[NestedCluster]]]:
    """Reads predicted and gold documents, as `read_nested` does, and checks that they belong together.

    Raises:
        ValueError: Also when their numbers differ, or two documents at the same place have different ids or texts.
    """
    predicted, gold = _documents(predictions, "predictions"), _documents(references, "references")
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predictions but {len(gold)} references; they are matched by position")
    for d, (left, right) in enumerate(zip(predicted, gold, strict=True)):
        for field in ("id", "text"):
            ours, theirs = plain(_field(left, field)), plain(_field(right, field))
            if not is_missing(ours) and not is_missing(theirs) and ours != theirs:
                raise ValueError(
                    f"predictions[{d}] has the {field} {reprlib.repr(ours)}, but references[{d}] has "
                    f"{reprlib.repr(theirs)}; they are matched by position"
                )
    return _read_documents(predicted, "predictions"), _read_documents(gold, "references")


def _documents(documents: Any, name: str) -> list[Any]:
    if is_table(documents):
        raise ValueError(
            f"{name}: expected a list of documents, got a {type(documents).__name__}" + advice(documents, "clusters")
        )
    if _is_document(documents):
        raise ValueError(f"{name}: expected a list of documents, got a single one; put it into a list")
    return _items(documents, name, "a list of documents")


def _read_documents(documents: list[Any], name: str) -> list[list[NestedCluster]]:
    return [_read_document(document, f"{name}[{d}]") for d, document in enumerate(documents)]


_ABSENT: Any = object()


def _field(item: Any, name: str, default: Any = None) -> Any:
    """A field of a dict, or of an object."""
    return item.get(name, default) if isinstance(item, Mapping) else getattr(item, name, default)


def _is_document(item: Any) -> bool:
    return _field(item, "clusters", _ABSENT) is not _ABSENT


def _read_document(document: Any, where: str) -> list[NestedCluster]:
    clusters: list[NestedCluster] = []
    seen: dict[Offsets, int] = {}
    unlinked = _ABSENT
    if _is_document(document):
        # There a missing entity is NIL.
        unlinked = None
        document = plain(_field(document, "clusters"))
        where = f"{where}.clusters"
        if is_missing(document):
            raise ValueError(f"{where}: missing; the document has no annotation")
    for c, cluster in enumerate(_items(document, where, "a list of clusters")):
        place = f"{where}[{c}]"
        mentions, entity = _field(cluster, "mentions", _ABSENT), _field(cluster, "entity", unlinked)
        if mentions is _ABSENT or entity is _ABSENT:
            got = f"the fields {sorted(map(str, cluster))}" if isinstance(cluster, Mapping) else reprlib.repr(cluster)
            raise ValueError(f"{place}: expected a dict with the fields 'mentions' and 'entity', got {got}")
        entity = plain_name(entity)
        entity = "" if entity is None else entity
        if not isinstance(entity, str):
            raise ValueError(f"{place}['entity']: expected a string, '' for NIL, got {reprlib.repr(entity)}")
        if not entity.isascii() and entity != entity.encode(errors="replace").decode():
            raise ValueError(f"{place}['entity']: {reprlib.repr(entity)} is no valid Unicode: half of a surrogate pair")
        spans = _read_spans(mentions, f"{place}['mentions']")
        for span in spans:
            if span in seen:
                raise ValueError(
                    f"{place}['mentions']: {list(span)} is already in cluster {seen[span]}; "
                    "a mention has one cluster and comes once"
                )
            seen[span] = c
        clusters.append({"mentions": [list(span) for span in spans], "entity": entity})
    return clusters


def _read_spans(spans: Any, where: str) -> list[Offsets]:
    pairs: list[Offsets] = []
    for m, span in enumerate(_items(spans, where, "a list of [begin, end]")):
        pair = [_field(span, "begin", _ABSENT), _field(span, "end", _ABSENT)]
        if any(offset is _ABSENT for offset in pair):
            pair = _items(span, f"{where}[{m}]", "[begin, end]")
        pair = [plain(offset) for offset in pair]
        if len(pair) != 2 or any(type(offset) is not int for offset in pair):
            raise ValueError(f"{where}[{m}]: expected [begin, end], two integers, got {reprlib.repr(span)}")
        if not all(-_BOUND <= offset < _BOUND for offset in pair):
            raise ValueError(f"{where}[{m}]: expected [begin, end] of 64 bits, got {reprlib.repr(span)}")
        pairs.append((pair[0], pair[1]))
    return pairs


def _items(value: Any, where: str, what: str, count: int | None = None) -> list[Any]:
    """The items of something like a list; raises when it is something else, or not ``count`` of them."""
    value = plain(value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{where}: expected {what}, got {reprlib.repr(value)}{advice(value, 'clusters')}")
    items = list(value)
    if count is not None and len(items) != count:
        raise ValueError(f"{where}: expected {what}, {count} of them, got {len(items)}")
    return items


def evaluate_nested(
    predictions: Any,
    references: Any,
    *,
    candidates: Any = None,
    texts: Any = None,
    enumerated_spans: Any = None,
    kept_spans: Any = None,
    entity_map: EntityMap | Mapping[str, str] | None = None,
    intervals: Iterable[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, float]:
    """All metrics of the package, micro-accumulated over documents matched by position.

    Args:
        predictions: Predicted documents; see `read_nested` for the form.
        references: Gold documents in the same order.
        candidates: For hard cases: ``candidates[d][c][m]`` lists the candidate entities of the m-th mention of
            ``references[d][c]``. None at any level leaves the mentions concerned out.
        texts: For clusters with one and several surface forms: the text of each document, or its list of tokens
            where offsets count tokens. The offsets of the references have to lie in it, end exclusive. None for
            a document leaves its clusters out.
        enumerated_spans: For span recall: ``[begin, end]`` of all spans of each document; with ``kept_spans``.
        kept_spans: Those of them that the pruner retained.
        entity_map: Which names of entities mean one thing; links of both sides and candidates are compared by the
            names that it gives them. None compares them as they are.
        intervals: Keys of the result to give bootstrap intervals over documents for.
        confidence: Share of the resamples inside an interval.
        resamples: How often documents are drawn for an interval.
        seed: Of the draws.

    Returns:
        The scores of `Scores.to_dict`; with spans those of `SpanRecall.to_dict`; for every key of ``intervals``
        ``<key>_low`` and ``<key>_high``. With no documents, nothing to find or nothing predicted the scores
        concerned are 0.

    Raises:
        ValueError: When an argument has another form, the numbers of documents differ, or an interval is asked of
            an unknown key or of no documents.
    """
    predicted, gold = read_nested_pairs(predictions, references)
    count, same = len(gold), entity_map_from(entity_map)
    listed = _per_document(candidates, "candidates", count)
    words = _per_document(texts, "texts", count)
    scores = [_score(predicted[d], gold[d], listed[d], words[d], d, same) for d in range(count)]
    spans = _span_recalls(gold, enumerated_spans, kept_spans)
    result = sum(scores, Scores()).to_dict() | (sum(spans, SpanRecall()).to_dict() if spans is not None else {})
    kinds: list[Sequence[Addable]] = [scores] if spans is None else [scores, spans]
    for key in _items(intervals, "intervals", "a list of keys of the result"):
        if not isinstance(key, str) or key not in result:
            raise ValueError(f"intervals: unknown score {key!r}; the known ones are {', '.join(result)}")
        kind = kinds[0] if key in Scores().to_dict() else kinds[-1]
        interval = bootstrap_interval(kind, key, confidence=confidence, resamples=resamples, seed=seed)
        result |= {f"{key}_low": interval.low, f"{key}_high": interval.high}
    return result


def _per_document(values: Any, name: str, count: int) -> list[Any]:
    return [None] * count if values is None else _items(values, name, "a list with an item a document", count)


def _score(
    predicted: list[NestedCluster],
    gold: list[NestedCluster],
    candidates: Any,
    text: Any,
    number: int,
    same: EntityMap | None,
) -> Scores:
    known = {} if candidates is None else _read_candidates(candidates, gold, f"candidates[{number}]")
    if same is not None:
        known = {mention: set(map(same, entities)) for mention, entities in known.items()}
    surfaces = {} if text is None else _read_surfaces(text, gold, number)
    return score_clusters(_pairs(gold, same), _pairs(predicted, same), known.get, surfaces.get)


def _pairs(clusters: list[NestedCluster], same: EntityMap | None) -> list[tuple[list[Offsets], str | None]]:
    def link(entity: str) -> str | None:
        return (entity if same is None or not entity else same(entity)) or None

    return [([(begin, end) for begin, end in c["mentions"]], link(c["entity"])) for c in clusters]


def _read_candidates(candidates: Any, gold: list[NestedCluster], where: str) -> dict[Offsets, set[str]]:
    known: dict[Offsets, set[str]] = {}
    per_cluster = _items(candidates, where, "a list with an item a cluster of the reference", len(gold))
    for c, (cluster, of_cluster) in enumerate(zip(gold, per_cluster, strict=True)):
        if of_cluster is None:
            continue
        place, mentions = f"{where}[{c}]", cluster["mentions"]
        per_mention = _items(of_cluster, place, "a list with an item a mention of the cluster", len(mentions))
        for m, ((begin, end), entities) in enumerate(zip(mentions, per_mention, strict=True)):
            if entities is None:
                continue
            names = _items(entities, f"{place}[{m}]", "a list of entities")
            if not all(isinstance(entity, str) for entity in names):
                raise ValueError(f"{place}[{m}]: expected a list of entities, got {reprlib.repr(entities)}")
            known[begin, end] = set(names)
    return known


def _read_surfaces(text: Any, gold: list[NestedCluster], number: int) -> dict[Offsets, str]:
    characters = isinstance(text, str)
    units = text if characters else _items(text, f"texts[{number}]", "a string or a list of tokens")
    surfaces: dict[Offsets, str] = {}
    for c, cluster in enumerate(gold):
        for begin, end in cluster["mentions"]:
            if not 0 <= begin < end <= len(units):
                raise ValueError(
                    f"references[{number}][{c}]: offsets {begin}..{end} are no span of texts[{number}], "
                    f"which has {len(units)} {'code points' if characters else 'tokens'}"
                )
            surface = units[begin:end]
            surfaces[begin, end] = surface if isinstance(surface, str) else " ".join(map(str, surface))
    return surfaces


def _span_recalls(gold: list[list[NestedCluster]], enumerated: Any, retained: Any) -> list[SpanRecall] | None:
    if enumerated is None and retained is None:
        return None
    if enumerated is None or retained is None:
        raise ValueError("enumerated_spans and kept_spans: give both or neither")
    per_document = zip(
        gold,
        _per_document(enumerated, "enumerated_spans", len(gold)),
        _per_document(retained, "kept_spans", len(gold)),
        strict=True,
    )
    return [
        span_recall(
            [mention for cluster in clusters for mention in cluster["mentions"]],
            _read_spans(all_spans, f"enumerated_spans[{d}]"),
            _read_spans(retained_spans, f"kept_spans[{d}]"),
        )
        for d, (clusters, all_spans, retained_spans) in enumerate(per_document)
    ]
