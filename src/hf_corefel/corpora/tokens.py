"""A text that is put together from the tokens of a corpus that has no other."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..documents import Offsets

__all__ = ["TokenText"]


@dataclass(slots=True)
class TokenText:
    """Tokens joined by one space and sentences joined by one line feed.

    Attributes:
        words: Offsets of the tokens so far.
    """

    words: list[Offsets] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _separator: str = ""

    def add(self, token: str) -> Offsets:
        """Append a token and return its offsets."""
        begin = self._length + len(self._separator)
        self._length = begin + len(token)
        self._parts += (self._separator, token)
        self._separator = " "
        self.words.append((begin, self._length))
        return begin, self._length

    def end_sentence(self) -> None:
        """Let the next token begin a sentence."""
        self._separator = "\n" if self.words else ""

    @property
    def text(self) -> str:
        """The text of the tokens so far."""
        return "".join(self._parts)
