"""Documents as rows of a dataset: what the columns hold of them, and a warning of what they do not."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..documents import Document
from ..formats.writer import FormatLossWarning, Losses, count_losses, replaced_surrogates

__all__ = ["document_rows"]

# That no speakers are known is not the same as that nobody speaks, and likewise with words: these alone are never null.
_LISTS = ("candidates", "clusters")


def document_rows(documents: Iterable[Document], features: Any, where: str) -> Iterator[dict[str, Any]]:
    """Yield the row of each document.

    Args:
        documents: The documents.
        features: The columns, `datasets.Features`.
        where: What the documents are, for warnings.

    Warns:
        UserWarning: When a document has a lone surrogate, which Arrow lacks; it becomes U+FFFD, so offsets stay.
        FormatLossWarning: When there is no column for something; said once, after the last document.
    """
    fields = _item(features["clusters"])
    keeps = _kept(features)
    lost: Counter[str] = Counter()
    number = 0
    for number, document in enumerate(documents, start=1):
        lost.update(_lost(document, features, keeps))
        data: dict[str, Any] = {**document.to_dict()}
        data["clusters"] = [_held(cluster, fields) for cluster in data.get("clusters", [])]
        row = {name: data.get(name, [] if name in _LISTS else None) for name in features}
        plain = replaced_surrogates(row)
        if plain != row:
            name = document.name if document.id is not None else f"document {number}"
            warnings.warn(f"{where}: {name}: U+FFFD in place of lone surrogates, which Arrow lacks", stacklevel=2)
        yield plain
    if lost:
        kinds = "; ".join(f"{kind} (in {count:,} of {number:,} documents)" for kind, count in lost.items())
        message = f"{where}: the columns do not hold all that the documents say; left out or changed: {kinds}"
        warnings.warn(message, FormatLossWarning, stacklevel=2)


def _item(column: Any) -> Any:
    """What a column of lists has in them; releases of `datasets` write it in two ways."""
    return column[0] if isinstance(column, list) else column.feature


def _held(cluster: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a cluster, and of its mentions, that have a column: some releases of `datasets` refuse others."""
    columns = _item(fields["mentions"])
    mentions = [{name: mention.get(name) for name in columns} for mention in cluster["mentions"]]
    return {**{name: cluster.get(name) for name in fields}, "mentions": mentions}


def _kept(features: Any) -> set[str]:
    """What the columns hold, as `count_losses` calls it."""
    clusters = _item(features["clusters"])
    # Candidates that nobody asked for are no loss, and which other fields have no column depends on the document.
    kept = {*features, *clusters, *_item(clusters["mentions"]), "candidates", "extra"}
    if "mentions" not in features:
        kept.discard("spans")
    return kept - {"id"} if getattr(features.get("id"), "dtype", None) == "string" else kept


def _lost(document: Document, features: Any, keeps: set[str]) -> Iterator[str]:
    losses = Losses()
    count_losses(document, losses, keeps)
    losses.count("other fields", sum(name not in features for name in document.extra))
    losses.count("missing annotations, which become empty ones", document.clusters is None)
    for kind, _ in losses.items():
        yield kind
