"""Who speaks where: the turns of a document, in transcripts, dialogues and quotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .checks import DocumentError, check_list, check_offsets, check_string, reject_unknown, require
from .plain_values import plain_name
from .types import TurnData

__all__ = ["Turn", "check_turns"]

_FIELDS = ("begin", "end", "speaker")


@dataclass(frozen=True, slots=True)
class Turn:
    """A piece of text that one speaker says.

    Attributes:
        begin: First code point of what is said; the speaker's name before it is no part of it.
        end: One past the last code point.
        speaker: Name of the speaker; an integer becomes its digits. Turns with one name are by one person; where the
            name stands in the text too, a mention of it is known to be that person.

    Example:
        >>> from hf_corefel import Document, Turn
        >>> Document("I won.", speakers=[Turn(0, 6, "Anna")]).speakers
        [Turn(begin=0, end=6, speaker='Anna')]
    """

    begin: int
    end: int
    speaker: str

    def to_dict(self) -> TurnData:
        """Plain Python types, as `from_dict` takes them."""
        return {"begin": self.begin, "end": self.end, "speaker": self.speaker}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "turn") -> Turn:
        """Reads what `to_dict` writes; raises `DocumentError` on unknown or missing fields."""
        reject_unknown(data, _FIELDS, where)
        return cls(**{name: require(data, name, where) for name in _FIELDS})


def check_turns(value: Any, length: int, where: str) -> list[Turn]:
    """Returns the turns of a text in reading order, outer ones before those within them.

    Args:
        value: `Turn`s, or their dicts.
        length: Code points of the text.
        where: What they are called in messages, for example ``"document.speakers"``.

    Raises:
        DocumentError: When offsets are out of range or empty, a speaker has no name, or two turns have the same
            offsets or cross (one that lies within another, as a quotation does, is fine).
    """
    turns: list[tuple[int, Turn]] = []
    for i, item in enumerate(check_list(value, where)):
        here = f"{where}[{i}]"
        turn = Turn.from_dict(item, here) if isinstance(item, Mapping) else item
        if not isinstance(turn, Turn):
            raise DocumentError(f"{here}: expected an object with begin, end and speaker, got {type(turn).__name__}")
        begin, end = check_offsets(turn.begin, turn.end, here, length)
        turn = Turn(begin, end, check_string(plain_name(turn.speaker), f"{here}.speaker"))
        if not turn.speaker.strip():
            raise DocumentError(f"{here}.speaker: {turn.speaker!r} is no name; leave out a turn of nobody")
        turns.append((i, turn))
    turns.sort(key=lambda item: (item[1].begin, -item[1].end))
    _check_nesting(turns, where)
    return [turn for _, turn in turns]


def _check_nesting(turns: Sequence[tuple[int, Turn]], where: str) -> None:
    """Raises when two of the turns, which are sorted, have the same offsets or cross."""
    around: list[tuple[int, Turn]] = []
    for i, turn in turns:
        around = [item for item in around if item[1].end > turn.begin]
        for k, outer in around:
            if (outer.begin, outer.end) == (turn.begin, turn.end):
                raise DocumentError(f"{where}[{i}]: duplicate turn {turn.begin}..{turn.end}, already at {where}[{k}]")
            if outer.end < turn.end:
                raise DocumentError(
                    f"{where}[{i}]: the turn {turn.begin}..{turn.end} crosses {outer.begin}..{outer.end} at "
                    f"{where}[{k}]; let it end before the next one begins, or lie within it"
                )
        around.append((i, turn))
