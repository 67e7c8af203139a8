"""Results point at their text, whatever the tokenizer and whatever the text holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import regex

from hf_corefel import AnnotatedDocument, CorefELPipeline
from hf_corefel.processing import read, split_words

TEXTS = {
    "plain": "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city of Bergen.",
    "emoji": "👩🏽 saw 👨‍👩‍👧 in 🇳🇴! 👩🏽 waved 👋🏽👋🏽 at Anna❤️, 1️⃣ bridge. 👩🏽‍🚒 🏴\U000e0067\U000e0062\U000e007f.",
    "combining": "E\u0301lodie met Anna\u0308 in A\u030aland. E\u0301lodie praised Anna\u0308. ﬁne… ½ Ａｎｎａ",
    "right to left": "שָׁלוֹם אנה ברג באוסלו. مرحبا آنا في أوسلو، קרל. שָׁלוֹם Anna!",
    "white space": "Anna\u00a0Berg\tmet  Carl\u2003Moss\r\n\r\nin   Oslo.\r\nAnna\u00a0Berg\tleft\u3000Oslo\x85now. ",
    "repeated": "Oslo Oslo Oslo, Anna Anna. Oslo Anna Oslo Anna. Berg Berg Berg Berg Berg",
    "without subwords": "Anna \u200b Berg \ufe0f met \u200d Carl \u0000 in \x07 Oslo \ufeff. \u00ad Anna \ud83d left",
    "possessive": "Anna's team met Berg's coach; it's Oslo's 'old' harbour, the mayor's. Anna's won.",
    "unspaced": "安娜在東京都見了他。東京都の知事はオスロに行った。東京 and Oslo met안나 서울에서.",
    "brackets": "[CLS] Anna [MASK] met <s>Berg</s> in [SEP] Oslo <pad> and <unk> left [UNK]. Anna <mask>",
}


@pytest.fixture(scope="module")
def results(annotate: CorefELPipeline) -> dict[str, AnnotatedDocument]:
    return dict(zip(TEXTS, annotate.annotate(TEXTS.values(), batch_size=3), strict=True))


@pytest.mark.parametrize("name", TEXTS)
def test_mentions_are_where_their_text_is(results: dict[str, AnnotatedDocument], name: str) -> None:
    text, result = TEXTS[name], results[name]
    assert result.text == text
    mentions = [mention for cluster in result.clusters for mention in cluster.mentions]
    assert len(mentions) >= 5
    characters = {0, len(text)}
    for match in regex.finditer(r"\X", text):
        characters |= {match.start(), match.end()}
    for mention in mentions:
        assert text[mention.begin : mention.end] == mention.text
        assert mention.text == mention.text.strip() != ""
        for at in (mention.begin, mention.end):
            assert at in characters or text[at - 1].isspace()
    assert len({mention.offsets for mention in mentions}) == len(mentions)


def test_the_results_are_clusters_and_links(results: dict[str, AnnotatedDocument]) -> None:
    clusters = [cluster for result in results.values() for cluster in result.clusters]
    assert sum(len(cluster.mentions) > 1 for cluster in clusters) >= 5
    assert sum(cluster.entity is not None for cluster in clusters) >= 2


@pytest.mark.parametrize("name", TEXTS)
def test_spans_begin_and_end_at_words_that_are_read(annotate: CorefELPipeline, name: str) -> None:
    text = TEXTS[name]
    words, encoded = split_words(text), annotate.processor.encode(text)
    special = set(annotate.processor.tokenizer.all_special_ids)
    assert set(encoded.spans.offsets[:, 0].tolist()) <= set(words.begin.tolist())
    assert set(encoded.spans.offsets[:, 1].tolist()) <= set(words.end.tolist())
    assert (encoded.spans.begin >= 0).all() and (encoded.spans.end <= len(encoded.subword_ids)).all()
    assert (encoded.spans.end > encoded.spans.begin).all()
    # The same subwords as when the tokenizer reads the plain form by itself, but for what reads like a special token.
    unknown = annotate.processor.tokenizer.unk_token_id
    assert not (special - {unknown}) & set(encoded.subword_ids.tolist())
    if name != "brackets":
        alone = annotate.processor.tokenizer(read(text).text, add_special_tokens=False)["input_ids"]
        assert encoded.subword_ids.tolist() == alone


def test_repeated_words_are_told_apart(annotate: CorefELPipeline) -> None:
    encoded = annotate.processor.encode(TEXTS["repeated"])
    at = [i for i, (b, e) in enumerate(encoded.spans.offsets.tolist()) if TEXTS["repeated"][b:e] == "Oslo"]
    assert len(at) == 5
    begins = encoded.spans.begin[at]
    assert (np.diff(begins) > 0).all()


def test_control_characters_are_no_mention(annotate: CorefELPipeline) -> None:
    encoded = annotate.processor.encode("Anna \u0000 Berg")
    surfaces = {encoded.document.text[b:e] for b, e in encoded.spans.offsets.tolist()}
    assert surfaces == {"Anna", "Anna \u0000 Berg", "Berg"}


def test_a_subword_over_several_words_hides_none_of_them(annotate: CorefELPipeline) -> None:
    text = TEXTS["unspaced"]
    encoded = annotate.processor.encode(text)
    surfaces = {text[b:e] for b, e in encoded.spans.offsets.tolist()}
    assert {"東京", "東京都", "安娜", "東", "京", "知事"} <= surfaces


def test_families_differ_in_how_they_read(family: str, annotate: CorefELPipeline) -> None:
    """The vocabularies show what they are there for: subwords with blanks, and subwords over several words."""
    tokenizer: Any = annotate.processor.tokenizer
    encoded = tokenizer("Anna Berg's 東京都", add_special_tokens=False, return_offsets_mapping=True)
    tokens, offsets = tokenizer.convert_ids_to_tokens(encoded["input_ids"]), encoded["offset_mapping"]
    if family == "bert":
        assert tokens[:4] == ["anna", "berg", "'", "s"]
    elif family in ("roberta", "deberta"):
        assert "'s" in tokens and "ĠBerg" in tokens
        assert offsets[tokens.index("ĠBerg")] == ((5, 9) if family == "roberta" else (4, 9))
    else:
        assert "▁Berg" in tokens and "'s" in tokens and "東京都" in tokens
