"""What the pipeline may be told, when it is made or in a call, and which of its steps each parameter is for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from ..decoding.annotation_options import AnnotationOptions, check_count
from ..documents import check_mention_scope

__all__ = ["AnnotationParameters", "CallParameters", "check_batching", "split_parameters"]


class AnnotationParameters(TypedDict, total=False):
    """What the pipeline may be told, when it is made (then it holds for every call) or in a call (for this one).

    None is as good as nothing said.

    Attributes:
        resolved_text: See `AnnotationOptions`.
        evidence: See `AnnotationOptions`.
        top_k: See `AnnotationOptions`.
        min_probability: See `AnnotationOptions`.
        samples: See `AnnotationOptions`.
        clusterings: See `AnnotationOptions`.
        seed: See `AnnotationOptions`.
        id: See `AnnotationOptions`.
        types: See `AnnotationOptions`.
        mention_scope: Which mentions are wanted of documents that do not say it themselves; see `Document`.
        max_document_words: Refuses a document of more words, before anything of it is read; no limit when None.
        max_kept_spans: Most spans of a document that are scored in pairs, the best ones; as the model's folder says
            when None. Time and memory of a long document grow with its square.
        is_split_into_words: Whether a text is a list of its words, as for tokenizers: its words are taken as they are,
            it is these with a blank between any two, and its result has their ``word_offsets``. See
            `Document.from_words` for texts with other blanks.
    """

    resolved_text: bool | None
    evidence: bool | None
    top_k: int | None
    min_probability: float | None
    samples: int | None
    clusterings: int | None
    seed: int | None
    id: str | None
    types: str | Collection[str] | None
    mention_scope: str | None
    max_document_words: int | None
    max_kept_spans: int | None
    is_split_into_words: bool | None


class CallParameters(AnnotationParameters, total=False):
    """What a call takes: `AnnotationParameters`, and how its documents are worked through.

    Attributes:
        batch_size: Documents that the model reads at once; the results depend on it by rounding only. 1 when None.
        num_workers: Processes that prepare the next batches while the model reads one; the results are the same. 0,
            which is as good as None, prepares them in this process.
        constraints: What must hold in the results: `Constraints` or their dict for one document, for many a list with
            those of each, or None. None for a generator or another stream. The result fulfils them, or a
            `DocumentError` says why it cannot; probabilities in it are those that the model gives without them.
    """

    batch_size: int | None
    num_workers: int | None
    constraints: Any


_NAMES = tuple(AnnotationParameters.__annotations__)
# Needed before the model reads a document; the others are for what is made of its output.
_BEFORE = ("mention_scope", "max_document_words", "max_kept_spans", "is_split_into_words")
_LEAST = {"batch_size": 1, "num_workers": 0}


def split_parameters(given: Mapping[str, Any], task: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `AnnotationParameters` for the step before the model and for the one after it, without what is None.

    Raises:
        TypeError: When there is no such parameter, or it is of another type.
        ValueError: When one is out of range.
    """
    if "constraints" in given:
        raise TypeError("constraints: they are of documents; give them in a call, not where the pipeline is made")
    unknown = sorted(set(given) - set(_NAMES))
    if unknown:
        known = ", ".join((*_LEAST, "constraints", *_NAMES))
        raise TypeError(f"pipeline({task!r}) takes no parameter {unknown[0]!r}; it takes {known}")
    said = {name: value for name, value in given.items() if value is not None}
    before = {name: said.pop(name) for name in _BEFORE if name in said}
    if not isinstance(before.get("is_split_into_words", False), bool):
        raise TypeError(f"is_split_into_words: expected True or False, got {before['is_split_into_words']!r}")
    check_mention_scope(before.get("mention_scope"), "mention_scope")
    for name in ("max_document_words", "max_kept_spans"):
        check_count(name, before.get(name, 1), least=1)
    asked = AnnotationOptions(**said)
    # In plain form: an iterator of types can be read once.
    return before, {name: getattr(asked, name) for name in said}


def check_batching(given: Mapping[str, Any]) -> None:
    """Check ``batch_size`` and ``num_workers`` where they are given and not None.

    Raises:
        TypeError: When one is no whole number.
        ValueError: When one is out of range.
    """
    for name, least in _LEAST.items():
        if given.get(name) is not None:
            check_count(name, given[name], least=least)
