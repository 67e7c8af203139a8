"""Long training documents in parts: every word in one of them, the gold too, and whatever is dropped is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from datasets import Dataset, IterableDataset
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import Candidate, Cluster, CorefELTrainer, CorefELTrainingArguments, Document, Mention
from hf_corefel.documents import AnnotatedLayers, Turn
from hf_corefel.processing import split_words
from hf_corefel.training import DocumentDataset
from hf_corefel.training.cutting import Cut, cut_document, describe_cuts

MakeTrainer = Callable[..., CorefELTrainer]
SENTENCE = "Anna Berg met Carl Moss. "  # six words

TOKENS = ["Anna", "Berg", "she", ".", "!", "\n", " ", " ", "a-b", "\r\n", "東京は", "。", "e\u0301", "\u0301", "क्षि"]
TOKENS += ["\U0001f469\U0001f3fd\u200d\U0001f692", "\U0001f1f3\U0001f1f4\U0001f1f8\U0001f1ea"]  # a person and two flags


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Any text with any gold, and words, candidates, and mentions or spans of its own."""
    text = "".join(draw(st.lists(st.sampled_from(TOKENS), max_size=60)))
    ends = st.integers(0, len(text))
    offsets = st.tuples(ends, ends).filter(lambda pair: pair[0] < pair[1])
    several = st.lists(offsets, max_size=8, unique=True) if text else st.just([])
    gold = draw(several)
    clusters = [
        Cluster(tuple(Mention(*pair) for pair in gold[c::3]), draw(st.sampled_from([None, "A", "B"])))
        for c in range(min(3, len(gold)))
    ]
    inputs: dict[str, Any] = {}
    kind = draw(st.sampled_from(["mentions", "spans", None]))
    if kind is not None:
        inputs[kind] = draw(several)
    if draw(st.booleans()):
        words = split_words(text)
        pairs = zip(words.begin.tolist(), words.end.tolist(), strict=True)
        inputs["words"] = [pair for pair in pairs if draw(st.booleans())]
    candidates = {pair: [Candidate("A", 0.5)] for pair in draw(several)}
    return Document(text, "d", clusters=clusters, candidates=candidates, mention_scope="all", **inputs)


def _offsets(document: Document, shift: int = 0) -> dict[str, list[Any]]:
    """Everything in a document that has offsets, moved."""

    def moved(pairs: Any) -> list[tuple[int, int]]:
        return [(begin + shift, end + shift) for begin, end in pairs or ()]

    words = split_words(document.text, document.words)
    return {
        "words": moved(zip(words.begin.tolist(), words.end.tolist(), strict=True)),
        "given": moved(document.words),
        "mentions": moved(document.mentions),
        "spans": moved(document.spans),
        "candidates": moved(document.candidates),
        "gold": [(*moved([m.offsets])[0], m.text, c.entity) for c in document.clusters or () for m in c.mentions],
    }


@settings(max_examples=300, deadline=None)
@given(documents(), st.integers(1, 12))
def test_parts_are_the_document(document: Document, limit: int) -> None:
    before = json.dumps(document.to_dict())
    parts, cut = cut_document(document, limit)
    assert json.dumps(document.to_dict()) == before
    assert "".join(part.text for part in parts) == document.text
    whole = _offsets(document)
    if cut is None:
        assert parts == [document] and len(whole["words"]) <= limit
        return
    assert cut.words == len(whole["words"]) > limit and cut.parts == len(parts)
    assert [part.id for part in parts] == [f"d [{n + 1}/{len(parts)}]" for n in range(len(parts))]
    found: dict[str, list[Any]] = {name: [] for name in whole}
    begin = 0
    bounds = []
    for part in parts:
        for name, offsets in _offsets(part, begin).items():
            found[name] += offsets
        assert 1 <= len(_offsets(part)["words"]) <= limit
        assert part.mention_scope == "all"
        assert all((getattr(part, name) is None) == (getattr(document, name) is None) for name in ("mentions", "spans"))
        begin += len(part.text)
        bounds.append(begin)
    # Every word is in exactly one part.
    assert found["words"] == whole["words"] and found["given"] == whole["given"]

    def uncut(pair: Any) -> bool:
        return not any(pair[0] < bound < pair[1] for bound in bounds)

    # All else is in exactly one part, unless a cut goes through it, and those are counted.
    for name in ("mentions", "spans", "candidates", "gold"):
        assert sorted(found[name], key=str) == sorted(filter(uncut, whole[name]), key=str), name
    assert cut.dropped_mentions == len(whole["gold"]) - len(found["gold"])
    inputs = ("mentions", "spans", "candidates")
    assert cut.dropped_inputs == sum(len(whole[name]) - len(found[name]) for name in inputs)
    # Mentions are together in a part if and only if they were in the document.
    owner = {mention.offsets: c for c, cluster in enumerate(document.clusters or ()) for mention in cluster.mentions}
    begin = 0
    for part in parts:
        clusters = [{owner[m.begin + begin, m.end + begin] for m in c.mentions} for c in part.clusters or ()]
        assert all(len(owners) == 1 for owners in clusters)
        assert len(set().union(*clusters)) == len(clusters)
        begin += len(part.text)


def test_cuts_are_at_ends_of_sentences_and_parts_about_equal() -> None:
    text = SENTENCE * 10
    parts, cut = cut_document(Document(text, id="a", clusters=[]), 25)
    assert cut == Cut("document 'a'", 60, 3, 0, 0, 0)
    assert [part.text for part in parts] == [SENTENCE * 3, SENTENCE * 3, SENTENCE * 4]


def test_turns_and_layers_go_with_their_parts() -> None:
    text = "One two. Three four. Five six. Seven eight."
    layers = AnnotatedLayers(links="some")
    turns = [Turn(0, 14, "A"), Turn(15, 43, "B")]
    document = Document(text, "x", clusters=[], speakers=turns, mention_scope="all", annotated=layers)
    parts, _ = cut_document(document, 6)
    assert [part.text for part in parts] == ["One two. Three four. ", "Five six. Seven eight."]
    assert parts[0].speakers == [Turn(0, 14, "A"), Turn(15, 21, "B")]
    assert parts[1].speakers == [Turn(0, 22, "B")]
    assert all((part.mention_scope, part.annotated) == ("all", layers) for part in parts)
    assert all(part.speakers is None for part in cut_document(Document(text, clusters=[]), 6)[0])


def test_what_is_left_of_a_turn_around_another_is_the_inner_one() -> None:
    """Cut at the same places, both would have the same offsets."""
    text = SENTENCE * 10
    begin = text.index(" ", 5) + 1
    turns = [Turn(0, len(text), "A"), Turn(begin, len(text) - 2, "B")]
    parts, _ = cut_document(Document(text, clusters=[], speakers=turns), 12)
    assert len(parts) > 2
    assert parts[0].speakers == [Turn(0, len(parts[0].text), "A"), Turn(begin, len(parts[0].text), "B")]
    assert all(part.speakers == [Turn(0, len(part.text), "B")] for part in parts[1:-1])
    assert [turn.speaker for turn in parts[-1].speakers or ()] == ["A", "B"]


def test_no_cut_goes_through_a_mention_that_fits() -> None:
    """Neither where a sentence ends within one, nor in text without a sentence."""
    text = "one two three four five. six seven eight nine ten"
    begin, end = text.index("five"), text.index("seven") - 1
    gold = [Cluster((Mention(begin, end), Mention(len(text) - 3, len(text))), "E")]
    parts, cut = cut_document(Document(text, clusters=gold), 8)
    assert cut is not None and cut.dropped_mentions == 0 and cut.split_clusters == len(parts) - 1 == 1
    surfaces = [mention.text for part in parts for c in part.clusters or () for mention in c.mentions]
    assert sorted(surfaces) == ["five. six", "ten"]
    assert {c.entity for part in parts for c in part.clusters or ()} == {"E"}
    # One that is longer than a part is dropped, and said.
    _, cut = cut_document(Document(text, clusters=[Cluster((Mention(0, len(text)),))]), 8)
    assert cut is not None and cut.dropped_mentions == 1
    assert "1 gold mentions" in describe_cuts([cut], 8)


@pytest.mark.parametrize(
    "kind", [list, iter, Dataset.from_list, lambda rows: IterableDataset.from_generator(lambda: rows)]
)
def test_datasets_of_every_kind_are_cut(
    make_trainer: MakeTrainer, tiny_documents: list[Document], caplog: pytest.LogCaptureFixture, kind: Any
) -> None:
    rows = [document.to_dict() for document in tiny_documents]
    trainer = make_trainer(train_dataset=kind(rows), eval_dataset=rows, max_document_words=9, max_steps=1)
    assert "max_document_words=9" in caplog.text and "document 'tiny-0' (18 words) into 3 parts" in caplog.text
    texts = "".join(document.text for document in trainer.train_dataset.documents)
    assert texts == "".join(document.text for document in tiny_documents)
    # What is evaluated is whole.
    assert [document.id for document in trainer.eval_dataset.documents] == ["tiny-0", "tiny-1", "tiny-2"]
    trainer.train()
    record = trainer.training_record()
    assert record["documents"] == 3 and record["max_document_words"] == 9
    assert [cut["document"] for cut in record["cut_documents"]] == [f"document 'tiny-{n}'" for n in range(3)]
    assert record["gold"]["documents"] == len(trainer.train_dataset) > 3
    json.dumps(record)


def test_nothing_is_cut_without_need(
    make_trainer: MakeTrainer, tiny_documents: list[Document], caplog: pytest.LogCaptureFixture
) -> None:
    given = DocumentDataset(tiny_documents)
    assert make_trainer(train_dataset=given).train_dataset is given
    assert make_trainer(train_dataset=given, max_document_words=None).train_dataset is given
    assert make_trainer(train_dataset=given, max_document_words=0).args.max_document_words is None
    assert "max_document_words" not in caplog.text
    assert len(make_trainer(train_dataset=given, max_document_words=9).train_dataset) > 3


def test_parts_without_an_id_are_named_by_their_place() -> None:
    dataset = DocumentDataset([Document("Oslo", clusters=[]), Document(SENTENCE * 3, clusters=[])], max_words=12)
    place = "(counted from 0; it has no id)"
    assert dataset.names == [f"document 0 {place}", f"document 1 {place} [1/2]", f"document 1 {place} [2/2]"]
    assert [document.id for document in dataset.documents] == [None, None, None]


@pytest.mark.parametrize("value", [-1, 2.5, True, "many"])
def test_bad_limits_are_named(tmp_path: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^max_document_words "):
        CorefELTrainingArguments(str(tmp_path), use_cpu=True, max_document_words=value)


@pytest.mark.parametrize("words", [-1, 0, True, 2.0])
def test_what_is_no_number_of_words_is_refused(words: Any) -> None:
    for text in ("Oslo won.", "Oslo won. " * 50):
        with pytest.raises(ValueError, match="max_words must be a number of words from 1 on"):
            DocumentDataset([Document(text, clusters=[])], words)


# Gold that training cannot use --------------------------------------------------------------------------


def test_nothing_to_train_on_is_an_error(make_trainer: MakeTrainer) -> None:
    with pytest.raises(ValueError, match="train_dataset: there is no document"):
        make_trainer(train_dataset=[]).train()


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (None, "there is not one mention"),
        (Cluster((Mention(0, 3),)), "1 of 1 mentions are no candidate spans"),
        (Cluster((Mention(0, 4),), "Nowhere"), "1 of 1 linked clusters have an entity that the knowledge base"),
        (Cluster((Mention(0, 4),), "Oslo"), None),
    ],
)
def test_gold_out_of_reach_is_warned_of(
    make_trainer: MakeTrainer, caplog: pytest.LogCaptureFixture, cluster: Cluster | None, said: str | None
) -> None:
    document = Document("Oslo won.", clusters=[] if cluster is None else [cluster])
    make_trainer(train_dataset=[document], max_steps=1).train()
    warnings = [record.getMessage() for record in caplog.records if "Gold of the" in record.getMessage()]
    assert any(said in warning for warning in warnings) if said else warnings == []
