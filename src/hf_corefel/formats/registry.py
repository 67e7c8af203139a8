"""Which formats there are, by name and by the endings of files; other packages add theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from ..utils.registry import Registry
from .writer import Writer, check_writer

__all__ = ["FORMATS", "can_read", "find_writer", "format_of", "known_suffixes"]

_HERE = __name__.rpartition(".")[0]

FORMATS: Registry[Any] = Registry(
    "format",
    "hf_corefel.formats",
    {
        "text": f"{_HERE}.tables:Tables",
        "json": f"{_HERE}.json_text:JsonList",
        "jsonl": f"{_HERE}.jsonl:JsonLines",
        "html": f"{_HERE}.html:HtmlPage",
        "conll2012": f"{_HERE}.conll2012:Conll2012",
        "corefud": f"{_HERE}.corefud:CorefUD",
        "brat": f"{_HERE}.brat:Brat",
        "nif": f"{_HERE}.nif:Nif",
        "label_studio": f"{_HERE}.label_studio:LabelStudio",
        "parquet": f"{_HERE}.parquet:Parquet",
        "docbin": f"{_HERE}.docbin:SpacyDocBin",
    },
    check_writer,
)


def find_writer(name: str) -> Writer:
    """Return the writer of a format.

    Raises:
        ValueError: When there is no format of that name; the message lists those that there are.
    """
    item = FORMATS[name]
    item = item() if isinstance(item, type) else item
    return item if isinstance(item, Writer) else cast(Writer, _WithDefaults(item))


class _Defaults(Writer):
    suffixes = ()


class _WithDefaults:
    """A format that does not inherit from `Writer`, with the defaults of what it does not say."""

    def __init__(self, item: Any) -> None:
        self._item = item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._item if hasattr(self._item, name) else _Defaults(), name)


def format_of(name: str) -> str | None:
    """Return the name of the format that the ending of a file's name stands for, None when it stands for none.

    ``.gz`` at the end is looked past, and letter case makes no difference. Of several endings the longest decides.
    """
    plain = name.lower().removesuffix(".gz")
    fitting = [(len(suffix), kind) for suffix, kind in _suffixes() if plain.endswith(suffix.lower())]
    return max(fitting, key=lambda item: item[0])[1] if fitting else None


def known_suffixes() -> list[str]:
    """Return the usual ending of every format."""
    first: dict[str, str] = {}
    for suffix, kind in _suffixes():
        first.setdefault(kind, suffix)
    return list(dict.fromkeys(first.values()))


def can_read(name: str) -> bool:
    """Return whether files of a format can be read, not only written."""
    return getattr(find_writer(name).read, "__func__", None) is not Writer.read


def _suffixes() -> Iterator[tuple[str, str]]:
    """The endings with the names of their formats; a package of others that cannot be imported has none."""
    for kind in FORMATS:
        with suppress(ValueError, TypeError):
            for suffix in find_writer(kind).suffixes:
                yield suffix, kind
