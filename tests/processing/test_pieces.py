from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizer

from hf_corefel.processing import PieceTokenizer, split_words

TEXTS = [
    "",
    "  ",
    "Anna Bergen met Anna  Bergen.\r\n\tOslo\u00a0!",
    "naïve e\u0301te\u0301 Ελλάδα",
    "👩\u200d👩\u200d👧 waved 👋🏽 at ❤\ufe0f",
    "שָׁלוֹם עולם, مرحبا بالعالم",
    "हिन्दी 東京 𝔸nna",
    "zero\u200bwidth \ufeffmark soft\u00adhyphen \u0000 nul",
]

_CHARACTERS = st.sampled_from("aAbBeEn1.,'-_ \t\n\r\u00a0é\u0301東👩\u200d👧🏽❤\ufe0fשָا\u200b\ufeff\u00ad\ud83d")
texts = st.one_of(st.text(max_size=30), st.text(_CHARACTERS, max_size=30))


@pytest.fixture(scope="session", params=["wordpiece_tokenizer", "byte_level_tokenizer", "unigram", "slow"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    if request.param == "slow":
        return _LetterTokenizer(pad_token="<pad>", unk_token="<unk>", cls_token="<cls>")
    return _unigram() if request.param == "unigram" else request.getfixturevalue(request.param)


def _unigram() -> Any:
    """A tokenizer in SentencePiece's way: pieces begin with the blank before them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = [("<unk>", 0.0), ("\u2581", -3.0), ("\u2581Be", -2.0), ("'s", -2.0), *((c, -5.0) for c in "aAbBeEn1.,'-")]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<unk>")


class _LetterTokenizer(PreTrainedTokenizer):
    """A tokenizer without offsets: one piece a letter, one special token in front."""

    def __init__(self, **kwargs: Any) -> None:
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,'-!"
        self.ids = {token: i for i, token in enumerate(["<pad>", "<unk>", "<cls>", *letters])}
        super().__init__(**kwargs)

    @property
    def vocab_size(self) -> int:
        return len(self.ids)

    def get_vocab(self) -> dict[str, int]:
        return dict(self.ids)

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        return list(text)

    def _convert_token_to_id(self, token: str) -> int:
        return self.ids.get(token, self.ids["<unk>"])

    def _convert_id_to_token(self, index: int) -> str:
        return {i: token for token, i in self.ids.items()}[index]

    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        return [self.ids["<cls>"], *token_ids_0]


def check_pieces(tokenizer: Any, text: str) -> None:
    words = split_words(text)
    pieces = PieceTokenizer(tokenizer)(text, words)
    count = len(pieces)
    assert pieces.ids.dtype == pieces.begin.dtype == pieces.end.dtype == np.int64
    assert len(pieces.begin) == len(pieces.end) == count
    assert len(pieces.first) == len(pieces.last) == len(words)
    assert (pieces.begin >= 0).all() and (pieces.end <= len(text)).all()
    # Reading order, on which the search for given spans relies.
    assert (np.diff(pieces.begin) >= 0).all() and (np.diff(pieces.end) >= 0).all()
    assert ((pieces.first < 0) == (pieces.last < 0)).all()
    owner = np.full(count, -1)
    for w in range(len(words)):
        if pieces.first[w] >= 0:
            owned = slice(pieces.first[w], pieces.last[w] + 1)
            assert (owner[owned] == -1).all()
            owner[owned] = w
    for t in range(count):
        overlapped = np.flatnonzero((words.begin < pieces.end[t]) & (words.end > pieces.begin[t]))
        assert owner[t] == (overlapped[0] if len(overlapped) else -1)


@pytest.mark.parametrize("text", TEXTS)
def test_every_piece_belongs_to_the_first_word_that_it_covers(tokenizer: Any, text: str) -> None:
    check_pieces(tokenizer, text)


@given(text=texts)
@settings(max_examples=150, deadline=None)
def test_pieces_of_any_text(wordpiece_tokenizer: Any, byte_level_tokenizer: Any, text: str) -> None:
    check_pieces(wordpiece_tokenizer, text)
    check_pieces(byte_level_tokenizer, text)


def tokens_of_words(tokenizer: Any, text: str) -> list[list[str]]:
    words = split_words(text)
    pieces = PieceTokenizer(tokenizer)(text, words)
    return [
        tokenizer.convert_ids_to_tokens(pieces.ids[first : last + 1].tolist()) if first >= 0 else []
        for first, last in zip(pieces.first.tolist(), pieces.last.tolist(), strict=True)
    ]


def test_wordpieces_of_words(wordpiece_tokenizer: Any) -> None:
    assert tokens_of_words(wordpiece_tokenizer, "Anna  Bergen, \u200d É!") == [
        ["anna"],
        ["berg", "##en"],
        [","],
        [],
        ["e"],
        ["!"],
    ]


def test_byte_level_pieces_of_words(byte_level_tokenizer: Any) -> None:
    # The blank that stands alone before the second word belongs to none, a piece over two words to the first.
    assert tokens_of_words(byte_level_tokenizer, "an  Ber's é") == [
        ["an"],
        ["ĠB", "er"],
        ["'s"],
        [],
        ["Ã", "©"],
    ]


def test_unigram_pieces_of_words() -> None:
    assert tokens_of_words(_unigram(), "an  Be b") == [["\u2581", "a", "n"], ["\u2581Be"], ["b"]]


def test_pieces_without_offsets_take_those_of_their_word(tokenizer: Any) -> None:
    if tokenizer.is_fast:
        assert PieceTokenizer(tokenizer)("ab", split_words("ab")).end.max() == 2
        return
    pieces = PieceTokenizer(tokenizer)("Anna met", split_words("Anna met"))
    assert list(zip(pieces.begin.tolist(), pieces.end.tolist(), strict=True)) == [(0, 4)] * 4 + [(5, 8)] * 3
    assert pieces.first.tolist() == [0, 4] and pieces.last.tolist() == [3, 6]


def test_special_tokens_are_read_off(wordpiece_tokenizer: Any, byte_level_tokenizer: Any) -> None:
    def around(tokenizer: Any) -> tuple[list[int], list[int]]:
        splitter = PieceTokenizer(tokenizer)
        return splitter.prefix, splitter.suffix

    assert around(wordpiece_tokenizer) == ([2], [3])
    assert around(byte_level_tokenizer) == ([0], [2])
    assert around(_LetterTokenizer(cls_token="<cls>")) == ([2], [])
    assert around(_unigram()) == ([], [])


def test_halves_of_characters_are_read_as_unknown(wordpiece_tokenizer: Any) -> None:
    text = "Anna \ud83d Berg"
    assert tokens_of_words(wordpiece_tokenizer, text) == [["anna"], [], ["berg"]]
    pieces = PieceTokenizer(wordpiece_tokenizer)(text, split_words(text))
    assert pieces.end.tolist()[-1] == len(text)


def test_texts_longer_than_the_tokenizer_likes_stay_whole(wordpiece_tokenizer: Any) -> None:
    text = "anna " * 3000
    assert len(PieceTokenizer(wordpiece_tokenizer)(text, split_words(text))) == 3000
