"""How many spans of a document are retained for scoring in pairs, and whether each is scored with each."""

from __future__ import annotations

from typing import NamedTuple

from ..configuration.reading_settings import ReadingSettings

__all__ = ["Retention", "choose_retention"]


class Retention(NamedTuple):
    """What is retained of a document.

    Attributes:
        limit: The most spans.
        max_partners: With how many others each is scored in a long document; 0 where each is scored with each.
        warnings: What is left out by that.
    """

    limit: int
    max_partners: int
    warnings: list[str]


def choose_retention(
    settings: ReadingSettings, words: int, spans: int, *, given: bool, bound: int | None, whole: bool
) -> Retention:
    """Return how many spans of a document are retained.

    Args:
        settings: How documents are read.
        words: Words of the document.
        spans: Its spans.
        given: Whether these are mentions that were given, of which none is dropped.
        bound: The most that the caller wants, in place of ``settings.max_kept_spans``.
        whole: Whether a long document may keep all that it wants.
    """
    wanted = max(int(settings.span_keep_ratio * words) + 1, settings.min_kept_spans)
    kept = spans if given else min(wanted, spans)
    if whole and bound is None and settings.max_partners > 0 and kept > settings.max_kept_spans:
        warning = (
            f"each of the {kept} spans of this long document was scored with {settings.max_partners} others, the "
            "likeliest ones, and not with all (max_partners)"
        )
        return Retention(wanted, settings.max_partners, [warning])
    limit = min(settings.max_kept_spans if bound is None else bound, wanted)
    if given or kept <= limit:
        return Retention(limit, 0, [])
    warning = (
        f"only the best {limit} spans of this long document were kept instead of {kept} (max_kept_spans, "
        "--max-kept-spans on the command line)"
    )
    return Retention(limit, 0, [warning])
