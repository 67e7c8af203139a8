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
        first: ``[M]`` first piece of each word, -1 for a word without pieces. Neighbouring words share a piece that
            covers both.
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
        tokenizer: A transformers tokenizer. A fast one reads the raw text and gives offsets itself; a slow one, which
            gives none, is asked word by word, and every piece of a word gets the word's offsets.
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
        """Pieces of `text`; those of a word are the ones that overlap it, which another word may share."""
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
        # Found by offsets alone: byte-level pieces begin with a blank, and those of any kind may span words.
        first = np.searchsorted(end, words.begin, side="right")
        last = np.searchsorted(begin, words.end, side="left") - 1
        empty = first > last
        first[empty], last[empty] = -1, -1
        return Pieces(ids, begin, end, first, last)

    def _word_by_word(self, text: str, words: WordTable) -> tuple[np.ndarray, np.ndarray]:
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for begin, end in zip(words.begin.tolist(), words.end.tolist(), strict=True):
            # Byte-level vocabularies tell a word after a blank from one that is glued to the word before.
            apart = begin > 0 and text[begin - 1].isspace()
            tokens = self.tokenizer.tokenize(text[begin:end], is_split_into_words=apart)
            pieces = self.tokenizer.convert_tokens_to_ids(tokens)
            ids += pieces
            offsets += [(begin, end)] * len(pieces)
        return np.array(ids, dtype=np.int64), np.array(offsets, dtype=np.int64).reshape(-1, 2)
