"""What a processor must know of its model's configuration: how texts are read."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NoReturn, Self

from ..documents import MENTION_SCOPES
from .field_checks import check_default_scope, check_field, check_kept_spans, check_scopes
from .fields import FIELDS, READING_FIELDS

__all__ = ["ReadingSettings", "longest_span"]


@dataclass(frozen=True)
class ReadingSettings:
    """How texts are read: fields of `CorefELConfig`, see there.

    They do not change; `replace` gives others, which a processor takes as its ``settings``.

    >>> settings = ReadingSettings(max_candidates=4)
    >>> settings.replace(max_span_words=8).max_span_words, settings.max_span_words, settings.max_candidates
    (8, 5, 4)

    Attributes:
        max_span_words: Longest span in words.
        max_span_pieces: Longest span in subwords.
        span_keep_ratio: Spans that the pruner keeps a word.
        min_kept_spans: The fewest that it keeps of a document.
        max_kept_spans: Most spans of a document that are scored each with each.
        max_partners: Others that each span is scored with in a longer document.
        max_candidates: Candidates looked up for a span.
        window_size: Subwords a window, special tokens included.
        window_overlap: Subwords that neighbouring windows share.
        mention_scopes: What scopes set for themselves, by their names.
        default_mention_scope: The scope of documents that name none.

    Raises:
        ValueError: When a value is out of range; the message names the field.
    """

    max_span_words: int = FIELDS["max_span_words"].default
    max_span_pieces: int = FIELDS["max_span_pieces"].default
    span_keep_ratio: float = FIELDS["span_keep_ratio"].default
    min_kept_spans: int = FIELDS["min_kept_spans"].default
    max_kept_spans: int = FIELDS["max_kept_spans"].default
    max_partners: int = FIELDS["max_partners"].default
    max_candidates: int = FIELDS["max_candidates"].default
    window_size: int = FIELDS["window_size"].default
    window_overlap: int = FIELDS["window_overlap"].default
    mention_scopes: dict[str, dict[str, Any]] | None = None
    default_mention_scope: str | None = None

    def __post_init__(self) -> None:
        _check({name: getattr(self, name) for name in READING_FIELDS}, "ReadingSettings.")
        # Nobody else's dict, so that nobody else changes it.
        object.__setattr__(self, "mention_scopes", copy.deepcopy(self.mention_scopes))

    @classmethod
    def checked(cls, values: Mapping[str, Any], where: str) -> Self:
        """Return the settings of these values, each of which is there; others are left aside.

        Raises:
            ValueError: When one is out of range; the message names it after `where`.
        """
        own = {name: values[name] for name in READING_FIELDS}
        _check(own, where)
        return cls(**own)

    @classmethod
    def of(cls, config: Any) -> Self:
        """Return those of a model's configuration."""
        return cls(**{name: getattr(config, name) for name in READING_FIELDS})

    def replace(self, **changed: Any) -> Self:
        """Return the same settings but for some.

        Raises:
            TypeError: When there is no such setting.
            ValueError: When one is out of range.
        """
        return replace(self, **changed)

    def to_dict(self) -> dict[str, Any]:
        """Return them by name."""
        return asdict(self)

    def to_saved(self) -> dict[str, Any]:
        """Return them as files hold them: what 0.1.0 did not have is written only where it says something."""
        fields = self.to_dict()
        if self.max_partners == FIELDS["max_partners"].default:
            del fields["max_partners"]
        if self.default_mention_scope is None:
            del fields["default_mention_scope"]
        return fields

    def of_scope(self, name: str | None) -> Self:
        """Return the settings under a mention scope; the same ones under None."""
        if name is None:
            return self
        fields = (self.mention_scopes or {})[name]
        return self.replace(**{field: value for field, value in fields.items() if field in READING_FIELDS})

    @property
    def scope_names(self) -> list[str]:
        """The mention scopes in their order, which is not that of a dict: saving a configuration sorts that."""
        return [name for name in MENTION_SCOPES if name in (self.mention_scopes or {})]

    @property
    def default_scope(self) -> str | None:
        """The scope of documents that name none; None where there are no scopes."""
        return self.default_mention_scope or next(iter(self.scope_names), None)

    @property
    def longest_span(self) -> int:
        """Words of the longest span of any scope."""
        return longest_span(self.max_span_words, self.mention_scopes)

    # As the dict that they were in 0.1.0.

    def __getitem__(self, name: str) -> Any:
        """Return a setting by its name; deprecated."""
        if name not in READING_FIELDS:
            raise KeyError(name)
        warnings.warn(
            f"settings[{name!r}] of a processor is now settings.{name}, and all of them settings.to_dict()",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> NoReturn:
        """Raises `TypeError`, which says how settings are changed."""
        raise TypeError(
            f"the settings of a processor do not change; say processor.settings = processor.settings.replace("
            f"{name}={value!r})"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(READING_FIELDS)

    def keys(self) -> tuple[str, ...]:
        """Return the names of the settings; with it they are a mapping for ``dict(settings)``, deprecated."""
        return READING_FIELDS


def longest_span(max_span_words: int, mention_scopes: Mapping[str, Mapping[str, Any]] | None) -> int:
    """Return the words of the longest span of any scope."""
    return max([max_span_words, *(scope.get("max_span_words", 0) for scope in (mention_scopes or {}).values())])


def _check(values: Mapping[str, Any], where: str) -> None:
    """Raises `ValueError` that names the first setting with a bad value after `where`."""
    for name, value in values.items():
        check_field(name, value, f"{where}{name}")
    scopes = values["mention_scopes"]
    check_scopes(scopes, f"{where}mention_scopes")
    check_default_scope(values["default_mention_scope"], scopes, f"{where}default_mention_scope")
    check_kept_spans(values, where)
