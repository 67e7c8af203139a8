"""Subwords of a text and the words that they belong to, for any tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .reading import Reading, read
from .words import WordTable

__all__ = ["SubwordTokenizer", "Subwords"]


@dataclass(frozen=True)
class Subwords:
    """The subwords of a text without special tokens.

    Attributes:
        ids: ``[T]`` ids in the encoder's vocabulary.
        begin: ``[T]`` first code point of each subword in the text.
        end: ``[T]`` its end, exclusive.
        first: ``[M]`` first subword of each word, -1 for a word without any. Neighbours share one that covers both.
        last: ``[M]`` last subword of each word, inclusive, -1 likewise.

    Example:
        >>> import numpy as np
        >>> from hf_corefel.processing import Subwords
        >>> subwords = Subwords(
        ...     np.array([7, 8]), begin=np.array([0, 4]), end=np.array([4, 8]), first=np.array([0]), last=np.array([1])
        ... )
        >>> len(subwords)
        2
    """

    ids: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


class SubwordTokenizer:
    """Splits a whole text into subwords with offsets, whatever the kind of tokenizer.

    Args:
        tokenizer: A transformers tokenizer. A fast one reads the raw text and gives offsets itself; a slow one, which
            gives none, is asked word by word, and every subword of a word gets the word's offsets.

    Example:
        >>> from transformers import AutoTokenizer
        >>> from hf_corefel import bundled_checkpoint
        >>> from hf_corefel.processing import SubwordTokenizer, read, split_words
        >>> split_subwords = SubwordTokenizer(AutoTokenizer.from_pretrained(bundled_checkpoint()))
        >>> reading = read("Brandvik smiled.")
        >>> subwords = split_subwords(reading, split_words(reading, None))
        >>> len(subwords) > 3
        True
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.prefix, self.suffix = self._special_ids()
        unknown = tokenizer.unk_token_id
        self._special = np.array([i for i in tokenizer.all_special_ids if i != unknown], dtype=np.int64)
        self._unknown = unknown if unknown is not None else 0

    def _special_ids(self) -> tuple[list[int], list[int]]:
        """Special tokens before and after a window, read off an encoded letter."""
        plain = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        full = self.tokenizer("a", add_special_tokens=True)["input_ids"]
        extra = len(full) - len(plain)
        for at in range(extra + 1):
            if full[at : at + len(plain)] == plain:
                return list(full[:at]), list(full[at + len(plain) :])
        return [], []

    def __call__(self, text: str | Reading, words: WordTable) -> Subwords:
        """Subwords of the plain form of a text; those of a word are the ones that overlap it, which another may share.

        What reads like a special token ("[SEP]", "<s>") is text.
        """
        reading = read(text) if isinstance(text, str) else text
        if getattr(self.tokenizer, "is_fast", False):
            ids, offsets = self._as_text(reading)
        else:
            ids, offsets = self._word_by_word(reading.source, words)
        begin, end = offsets[:, 0], offsets[:, 1]
        # Found by offsets alone: byte-level subwords begin with a blank, and those of any kind may span words.
        first = np.searchsorted(end, words.begin, side="right")
        last = np.searchsorted(begin, words.end, side="left") - 1
        empty = first > last
        first[empty], last[empty] = -1, -1
        return Subwords(ids, begin, end, first, last)

    def _as_text(self, reading: Reading) -> tuple[np.ndarray, np.ndarray]:
        """Ids and offsets of the subwords of a whole text, none of them a special token."""
        for left in (2, 1, 0):
            encoded = self.tokenizer(
                reading.text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
            )
            ids = np.array(encoded["input_ids"], dtype=np.int64)
            plain = np.array(encoded["offset_mapping"], dtype=np.int64).reshape(-1, 2)
            special = np.isin(ids, self._special) & (plain[:, 1] > plain[:, 0])
            if not special.any():
                break
            if left:
                # Whether a tokenizer looks for its tokens before it reads or finds them while reading: a blank in the
                # middle makes them text.
                reading = reading.with_blanks(plain[special, 0] + 1)
            else:
                ids[special] = self._unknown
        return ids, _to_source(reading, plain)

    def _word_by_word(self, text: str, words: WordTable) -> tuple[np.ndarray, np.ndarray]:
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for begin, end in zip(words.begin.tolist(), words.end.tolist(), strict=True):
            # Byte-level vocabularies tell a word after a blank from one that is glued to the word before.
            apart = begin > 0 and text[begin - 1].isspace()
            tokens = self.tokenizer.tokenize(read(text[begin:end]).text, is_split_into_words=apart)
            subwords = self.tokenizer.convert_tokens_to_ids(tokens)
            ids += subwords
            offsets += [(begin, end)] * len(subwords)
        return np.array(ids, dtype=np.int64), np.array(offsets, dtype=np.int64).reshape(-1, 2)


def _to_source(reading: Reading, offsets: np.ndarray) -> np.ndarray:
    """Offsets ``[T, 2]`` in the source of a text, of subwords of its plain form; an empty subword stays empty."""
    if len(offsets) == 0:
        return offsets
    begins = np.append(reading.begin, len(reading.source))[offsets[:, 0]]
    ends = np.where(offsets[:, 1] > offsets[:, 0], np.append(0, reading.end)[offsets[:, 1]], begins)
    return np.stack([begins, ends], axis=1)
