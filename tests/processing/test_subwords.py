from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertTokenizerFast, PreTrainedTokenizer

from hf_corefel.processing import SubwordTokenizer, split_words
from slow_tokenizers import slow_bert

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


@pytest.fixture(scope="session", params=["subwords_tokenizer", "byte_level_tokenizer", "unigram", "slow"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    if request.param == "slow":
        return _LetterTokenizer(pad_token="<pad>", unk_token="<unk>", cls_token="<cls>")
    return _unigram() if request.param == "unigram" else request.getfixturevalue(request.param)


def _unigram() -> Any:
    """A tokenizer in SentencePiece's way: subwords begin with the blank before them."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    subwords = [
        ("<unk>", 0.0),
        ("\u2581", -3.0),
        ("\u2581Be", -2.0),
        ("'s", -2.0),
        *((c, -5.0) for c in "aAbBeEn1.,'-"),
    ]
    tokenizer = Tokenizer(models.Unigram(subwords, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<unk>")


class _LetterTokenizer(PreTrainedTokenizer):
    """A tokenizer without offsets: one subword a letter, one special token in front."""

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


def check_subwords(tokenizer: Any, text: str) -> None:
    words = split_words(text)
    subwords = SubwordTokenizer(tokenizer)(text, words)
    count = len(subwords)
    assert subwords.ids.dtype == subwords.begin.dtype == subwords.end.dtype == np.int64
    assert len(subwords.begin) == len(subwords.end) == count
    assert len(subwords.first) == len(subwords.last) == len(words)
    assert (subwords.begin >= 0).all() and (subwords.end <= len(text)).all()
    # Reading order, on which the search for given spans relies.
    assert (np.diff(subwords.begin) >= 0).all() and (np.diff(subwords.end) >= 0).all()
    for w, (begin, end) in enumerate(zip(words.begin, words.end, strict=True)):
        overlapping = np.flatnonzero((subwords.begin < end) & (subwords.end > begin)).tolist()
        # Neighbours all of them, so that the first and the last tell them all.
        assert not overlapping or overlapping == list(range(overlapping[0], overlapping[-1] + 1))
        expected = (overlapping[0], overlapping[-1]) if overlapping else (-1, -1)
        assert (subwords.first[w], subwords.last[w]) == expected


@pytest.mark.parametrize("text", TEXTS)
def test_the_subwords_of_a_word_are_those_that_overlap_it(tokenizer: Any, text: str) -> None:
    check_subwords(tokenizer, text)


@given(text=texts)
@settings(max_examples=150, deadline=None)
def test_subwords_of_any_text(subwords_tokenizer: Any, byte_level_tokenizer: Any, text: str) -> None:
    check_subwords(subwords_tokenizer, text)
    check_subwords(byte_level_tokenizer, text)


def tokens_of_words(tokenizer: Any, text: str) -> list[list[str]]:
    words = split_words(text)
    subwords = SubwordTokenizer(tokenizer)(text, words)
    return [
        tokenizer.convert_ids_to_tokens(subwords.ids[first : last + 1].tolist()) if first >= 0 else []
        for first, last in zip(subwords.first.tolist(), subwords.last.tolist(), strict=True)
    ]


def test_subwords_of_words(subwords_tokenizer: Any) -> None:
    assert tokens_of_words(subwords_tokenizer, "Anna  Bergen, \u200d É!") == [
        ["anna"],
        ["berg", "##en"],
        [","],
        [],
        ["e"],
        ["!"],
    ]


def test_byte_level_subwords_of_words(byte_level_tokenizer: Any) -> None:
    # The blank that stands alone before the second word belongs to none, a subword over two words to both.
    assert tokens_of_words(byte_level_tokenizer, "an  Ber's é") == [
        ["an"],
        ["ĠB", "er"],
        ["'s"],
        ["'s"],
        ["Ã", "©"],
    ]


def test_unigram_subwords_of_words() -> None:
    assert tokens_of_words(_unigram(), "an  Be b") == [["\u2581", "a", "n"], ["\u2581Be"], ["b"]]


def test_subwords_without_offsets_take_those_of_their_word(tokenizer: Any) -> None:
    if tokenizer.is_fast:
        assert SubwordTokenizer(tokenizer)("ab", split_words("ab")).end.max() == 2
        return
    subwords = SubwordTokenizer(tokenizer)("Anna met", split_words("Anna met"))
    assert list(zip(subwords.begin.tolist(), subwords.end.tolist(), strict=True)) == [(0, 4)] * 4 + [(5, 8)] * 3
    assert subwords.first.tolist() == [0, 4] and subwords.last.tolist() == [3, 6]


class _ByteLikeTokenizer(_LetterTokenizer):
    """Writes "-" for the blank before a word, as slow tokenizers of RoBERTa's kind do when they are told of it."""

    def prepare_for_tokenization(self, text: str, is_split_into_words: bool = False, **kwargs: Any) -> Any:
        return ("-" if is_split_into_words else "") + text, kwargs


def test_a_slow_tokenizer_is_told_where_a_blank_was() -> None:
    tokenizer = _ByteLikeTokenizer(pad_token="<pad>", unk_token="<unk>", cls_token="<cls>")
    assert tokens_of_words(tokenizer, "an b's\tc") == [
        ["a", "n"],
        ["-", "b"],
        ["'"],
        ["s"],
        ["-", "c"],
    ]


def test_slow_bert_reads_as_the_fast_one_does(tmp_path: Path) -> None:
    """The slow class of either generation of transformers, by its own name."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "anna", "berg", "##en", "met", "'", "s", ",", ".", "e"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    slow, fast = slow_bert()(str(tmp_path / "vocab.txt")), BertTokenizerFast(str(tmp_path / "vocab.txt"))
    assert not slow.is_fast and fast.is_fast
    text = "Anna  Bergen's\u00a0é, 👩\u200d👧 \u0000\r\nmet. 東京"
    assert tokens_of_words(slow, text) == tokens_of_words(fast, text)
    assert tokens_of_words(slow, text)[:4] == [["anna"], ["berg", "##en"], ["'"], ["s"]]
    check_subwords(slow, text)


def test_special_tokens_are_read_off(subwords_tokenizer: Any, byte_level_tokenizer: Any) -> None:
    def around(tokenizer: Any) -> tuple[list[int], list[int]]:
        splitter = SubwordTokenizer(tokenizer)
        return splitter.prefix, splitter.suffix

    assert around(subwords_tokenizer) == ([2], [3])
    assert around(byte_level_tokenizer) == ([0], [2])
    assert around(_LetterTokenizer(cls_token="<cls>")) == ([2], [])
    assert around(_unigram()) == ([], [])


def test_halves_of_characters_are_read_as_unknown(subwords_tokenizer: Any) -> None:
    text = "Anna \ud83d Berg"
    assert tokens_of_words(subwords_tokenizer, text) == [["anna"], [], ["berg"]]
    subwords = SubwordTokenizer(subwords_tokenizer)(text, split_words(text))
    assert subwords.end.tolist()[-1] == len(text)


def test_texts_longer_than_the_tokenizer_likes_stay_whole(subwords_tokenizer: Any) -> None:
    text = "anna " * 3000
    assert len(SubwordTokenizer(subwords_tokenizer)(text, split_words(text))) == 3000
