"""Word pieces of a text and the words that they belong to, for any tokenizer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .words import WordTable

__all__ = ["PieceTokenizer", "Pieces"]

# Halves of characters that were cut apart, which tokenizers refuse.
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Pieces:
    """The pieces of a text without special tokens.

    Attributes:
        ids: ``[T]`` ids in the encoder's vocabulary.
        begin: ``[T]`` first code point of each piece in the text.
        end: ``[T]`` its end, exclusive.
        first: ``[M]`` first piece of each word, -1 for a word without pieces.
        last: ``[M]`` last piece of each word, inclusive, -1 likewise.
    """

    ids: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


class PieceTokenizer:
    """Splits a whole text into pieces with offsets, whatever the kind of tokenizer.

    Args:
        tokenizer: A transformers tokenizer. A fast one reads the raw text and gives offsets itself; a slow one
            is asked word by word, and every piece of a word gets the word's offsets.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.prefix, self.suffix = self._special_ids()

    def _special_ids(self) -> tuple[list[int], list[int]]:
        """Special tokens before and after a window, read off an encoded letter."""
        plain = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        full = self.tokenizer("a", add_special_tokens=True)["input_ids"]
        extra = len(full) - len(plain)
        for at in range(extra + 1):
            if full[at : at + len(plain)] == plain:
                return list(full[:at]), list(full[at + len(plain) :])
        return [], []

    def __call__(self, text: str, words: WordTable) -> Pieces:
        """Pieces of `text`, assigned to `words`; a piece belongs to the first word that it overlaps."""
        text = _SURROGATE.sub("\ufffd", text)
        if getattr(self.tokenizer, "is_fast", False):
            encoded = self.tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
            )
            ids = np.array(encoded["input_ids"], dtype=np.int64)
            offsets = np.array(encoded["offset_mapping"], dtype=np.int64).reshape(-1, 2)
        else:
            ids, offsets = self._word_by_word(text, words)
        begin, end = offsets[:, 0], offsets[:, 1]
        owner = np.searchsorted(words.end, begin, side="right")
        inside = owner < len(words)
        inside[inside] = words.begin[owner[inside]] < end[inside]
        piece = np.flatnonzero(inside)
        first = np.full(len(words), -1, dtype=np.int64)
        last = np.full(len(words), -1, dtype=np.int64)
        first[owner[piece][::-1]] = piece[::-1]  # the earliest piece is written last and stands
        last[owner[piece]] = piece
        return Pieces(ids, begin, end, first, last)

    def _word_by_word(self, text: str, words: WordTable) -> tuple[np.ndarray, np.ndarray]:
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for begin, end in zip(words.begin.tolist(), words.end.tolist(), strict=True):
            pieces = self.tokenizer.encode(text[begin:end], add_special_tokens=False)
            ids += pieces
            offsets += [(begin, end)] * len(pieces)
        return np.array(ids, dtype=np.int64), np.array(offsets, dtype=np.int64).reshape(-1, 2)
