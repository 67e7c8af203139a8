from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.documents import (
    MENTION_SCOPES,
    AnnotatedDocument,
    Candidate,
    Cluster,
    Document,
    DocumentError,
    Mention,
    Turn,
)

TEXT = "NATO met.\r\nThe 🇪🇺 Alliance"
NATO, ALLIANCE = (0, 4), (18, 26)
TEXT_LENGTH = len(TEXT)


def clusters(*groups: tuple[tuple[int, int], ...]) -> list[Cluster]:
    return [Cluster(tuple(Mention(*offsets) for offsets in group)) for group in groups]


def document(**fields: Any) -> Callable[[], Any]:
    return lambda: Document(**{"text": TEXT, "id": "d1", **fields})


def document_from(**fields: Any) -> Callable[[], Any]:
    return lambda: Document.from_dict({"text": TEXT, "id": "d1", **fields})


def annotated(**fields: Any) -> Callable[[], Any]:
    return lambda: AnnotatedDocument(**{"text": TEXT, "id": "d1", "clusters": [], **fields})


def annotated_from(**fields: Any) -> Callable[[], Any]:
    return lambda: AnnotatedDocument.from_dict({"text": TEXT, "id": "d1", "clusters": [], **fields})


def mention_from(**fields: Any) -> Callable[[], Any]:
    return document_from(clusters=[{"entity": None, "mentions": [{"begin": 0, "end": 4, **fields}]}])


def cluster_from(**fields: Any) -> Callable[[], Any]:
    return annotated_from(clusters=[{"mentions": [{"begin": 0, "end": 4}], **fields}])


def candidate_from(**fields: Any) -> Callable[[], Any]:
    listed = [{"entity": "NATO", "prior": 0.5, **fields}]
    return document_from(candidates=[{"begin": 0, "end": 4, "candidates": listed}])


def given_candidates(**fields: Any) -> Callable[[], Any]:
    return document_from(candidates=[{"begin": 0, "end": 4, "candidates": [], **fields}])


OUTSIDE = f"offsets 3..{TEXT_LENGTH + 1} lie outside the text of {TEXT_LENGTH} code points"
NOT_INTEGER = "expected an integer code-point offset, got "
PROBABILITY = "expected a probability between 0 and 1"

ERRORS: list[tuple[Callable[[], Any], str]] = [
    # text and id
    (document(text=b"x"), "document 'd1'.text: expected a string, got bytes"),
    (annotated(text=None), "document 'd1'.text: expected a string, got NoneType"),
    *(
        (make(id=value), f"document.id: expected a string, an integer or None, got {value!r}")
        for make in (document, annotated, document_from, annotated_from)
        for value in (True, 7.5, b"x", ["d1"])
    ),
    # lists of offsets
    *(
        (document(**{field: value}), f"document 'd1'.{field}{message}")
        for field, label in (("words", "word"), ("mentions", "mention"), ("spans", "span"))
        for value, message in (
            ([NATO, (3, TEXT_LENGTH + 1)], f"[1]: {OUTSIDE}"),
            ([(-1, 2)], "[0]: offsets -1..2 lie outside the text"),
            ([(4, 4)], "[0]: offsets 4..4 are empty; end is exclusive and must exceed begin"),
            ([(4, 2)], "[0]: offsets 4..2 are empty"),
            ([NATO, ALLIANCE, NATO], f"[2]: duplicate {label} 0..4, already at document 'd1'.{field}[0]"),
            ([(0.0, 4)], f"[0].begin: {NOT_INTEGER}0.0"),
            ([(0, True)], f"[0].end: {NOT_INTEGER}True"),
            ([(0, 4, 5)], "[0]: expected [begin, end], got (0, 4, 5)"),
            (["ab"], "[0]: expected [begin, end], got 'ab'"),
            ([b"ab"], "[0]: expected [begin, end], got b'ab'"),
            ([3], "[0]: expected [begin, end], got 3"),
            ("ab", ": expected a list, got str"),
            ({0: 4}, ": expected a list, got dict"),
        )
    ),
    (document(words=[(0, 4), (3, 6)]), "document 'd1'.words[1]: begins at 3 before the word before it ends"),
    (document(words=[(5, 8), (0, 4)]), "document 'd1'.words[1]: begins at 0 before the word before it ends"),
    (document(mentions=[NATO], spans=[NATO]), "document 'd1'.spans: give either mentions"),
    (document(mentions=[], spans=[]), "document 'd1'.spans: give either mentions"),
    # mention scope
    *(
        (
            make(mention_scope=value),
            "document 'd1'.mention_scope: expected 'named' or 'all' or 'entities', or None for the model's",
        )
        for make in (document, document_from)
        for value in ("names", "", "NAMED", True, ["all"])
    ),
    # clusters
    *(
        (make(clusters=value), f"document 'd1'.clusters{message}")
        for make in (document, annotated)
        for value, message in (
            (
                clusters((NATO, NATO)),
                "[0].mentions[1]: duplicate mention, 0..4 is already at document 'd1'.clusters[0].m",
            ),
            (clusters((ALLIANCE,), (NATO, ALLIANCE)), "[1].mentions[1]: mention in two clusters, 18..26 is already at"),
            (clusters((NATO,), ()), "[1].mentions: a cluster needs at least one mention"),
            (clusters((NATO, (3, TEXT_LENGTH + 1))), f"[0].mentions[1]: {OUTSIDE}"),
            (clusters(((2, 2),)), "[0].mentions[0]: offsets 2..2 are empty"),
            ([Cluster((Mention(18, 26, "alliance"),))], "[0].mentions[0].text: 'alliance' differs from the document's"),
            ([Cluster((Mention(None, 4),))], f"[0].mentions[0].begin: {NOT_INTEGER}None"),  # type: ignore[arg-type]
            ([Cluster((NATO,))], "[0].mentions[0]: expected a Mention, got tuple"),  # type: ignore[arg-type]
            ([[NATO]], "[0]: expected a Cluster, got list"),
            ("ab", ": expected a list, got str"),
            ([Cluster((Mention(0, 4),), entity="")], "[0].entity: expected a non-empty string or None for NIL, got ''"),
            ([Cluster((Mention(0, 4),), probability=1.5)], f"[0].probability: {PROBABILITY} or None, got 1.5"),
            ([Cluster((Mention(0, 4, None, -0.1),))], f"[0].mentions[0].probability: {PROBABILITY} or None, got -0.1"),
        )
    ),
    # given candidates, as objects
    (document(candidates=[]), "document 'd1'.candidates: expected a dict by offsets, got list"),
    (document(candidates={(0, 99): []}), "document 'd1'.candidates[0]: offsets 0..99 lie outside the text"),
    (document(candidates={NATO: [], (3, 3): []}), "document 'd1'.candidates[1]: offsets 3..3 are empty"),
    (document(candidates={4: []}), "document 'd1'.candidates[0]: expected [begin, end], got 4"),
    (document(candidates={NATO: ["NATO"]}), "document 'd1'.candidates[0].candidates[0]: expected a Candidate, got str"),
    (document(candidates={NATO: [Candidate("NATO", 2.0)]}), f"candidates[0].candidates[0].prior: {PROBABILITY}"),
    # given candidates, as data
    (given_candidates(score=1), "document 'd1'.candidates[0]: unknown field 'score'; the known fields are begin, cand"),
    (given_candidates(begin="0"), f"document 'd1'.candidates[0].begin: {NOT_INTEGER}'0'"),
    (given_candidates(candidates="NATO"), "document 'd1'.candidates[0].candidates: expected a list, got str"),
    (given_candidates(candidates=["NATO"]), "candidates[0].candidates[0]: expected an object with fields, got str"),
    (document_from(candidates=[{"begin": 0, "end": 4}]), "document 'd1'.candidates[0]: missing field 'candidates'"),
    (document_from(candidates=[{"begin": 0}]), "document 'd1'.candidates[0]: missing field 'end'"),
    (document_from(candidates={}), "document 'd1'.candidates: expected a list, got dict"),
    (
        document_from(candidates=[{"begin": 0, "end": 4, "candidates": []}] * 2),
        "document 'd1'.candidates[1]: duplicate span 0..4",
    ),
    (
        candidate_from(url="x"),
        "document 'd1'.candidates[0].candidates[0]: unknown field 'url'; the known fields are en",
    ),
    (candidate_from(entity=""), "candidates[0].candidates[0].entity: expected a non-empty string, got ''"),
    (candidate_from(entity=None), "candidates[0].candidates[0].entity: expected a non-empty string, got None"),
    *(
        (candidate_from(prior=value), f"candidates[0].candidates[0].prior: {PROBABILITY}")
        for value in (-0.1, 1.1, float("nan"), "0.5", None, True)
    ),
    (lambda: Candidate.from_dict({"entity": "NATO"}), "candidate: missing field 'prior'"),
    # mentions and clusters, as data
    (mention_from(name="x"), "document 'd1'.clusters[0].mentions[0]: unknown field 'name'; the known fields are begin"),
    (mention_from(text="Nato"), "document 'd1'.clusters[0].mentions[0].text: 'Nato' differs from the document's text"),
    (mention_from(begin=1.0), f"document 'd1'.clusters[0].mentions[0].begin: {NOT_INTEGER}1.0"),
    *(
        (mention_from(**{name: value}), f"document 'd1'.clusters[0].mentions[0].{name}: {PROBABILITY} or None, got ")
        for name in ("probability", "edge_probability", "link_probability")
        for value in (-0.5, 1.5, float("nan"), "1", True)
    ),
    (lambda: Mention.from_dict({"begin": 1}), "mention: missing field 'end'"),
    (lambda: Mention.from_dict({"end": 1}), "mention: missing field 'begin'"),
    (lambda: Mention.from_dict([0, 4]), "mention: expected an object with fields, got list"),  # type: ignore[arg-type]
    (
        cluster_from(link="x"),
        "document 'd1'.clusters[0]: unknown field 'link'; the known fields are alternatives, entity",
    ),
    (cluster_from(entity=True), "'d1'.clusters[0].entity: expected a non-empty string or None for NIL, got True"),
    (cluster_from(entity=3.0), "'d1'.clusters[0].entity: expected a non-empty string or None for NIL, got 3.0"),
    (cluster_from(url=""), "document 'd1'.clusters[0].url: expected a non-empty string or None, got ''"),
    (cluster_from(probability="high"), f"document 'd1'.clusters[0].probability: {PROBABILITY} or None, got 'high'"),
    (cluster_from(mentions="NATO"), "document 'd1'.clusters[0].mentions: expected a list, got str"),
    (
        cluster_from(mentions=[3]),
        "document 'd1'.clusters[0].mentions[0]: expected an object with fields, got int",
    ),
    (lambda: Cluster.from_dict({"entity": None}), "cluster: missing field 'mentions'"),
    # documents, as data
    (document_from(clusters={}), "document 'd1'.clusters: expected a list, got dict"),
    (lambda: Document.from_dict({"id": "d1"}), "document 'd1': missing field 'text'"),
    (lambda: Document.from_dict({}), "document: missing field 'text'"),
    (lambda: Document.from_dict("NATO"), "document: expected an object with fields, got str"),  # type: ignore[arg-type]
    (annotated_from(clusters=None), "document 'd1'.clusters: expected a list, got NoneType"),
    (annotated_from(warnings="cut"), "document 'd1'.warnings: expected a list, got str"),
    (annotated_from(warnings=["cut", 3]), "document 'd1'.warnings[1]: expected a non-empty string, got 3"),
    (lambda: AnnotatedDocument.from_dict({"text": ""}), "document: missing field 'clusters'"),
    (lambda: AnnotatedDocument.from_dict({"clusters": []}), "document: missing field 'text'"),
]


@pytest.mark.parametrize(("make", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_errors_say_what_and_where(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        make()
    assert message in str(caught.value)


def test_offsets_count_code_points() -> None:
    text = "👩‍🚀 née\r\nÅse"
    begin = text.index("Åse")
    read = Document(text, clusters=[Cluster((Mention(begin, begin + 3),))])
    assert read.clusters is not None
    assert read.clusters[0].mentions[0] == Mention(9, 12, "Åse")


def test_surfaces_are_filled_in_and_other_fields_kept() -> None:
    mention = Mention(*ALLIANCE, None, 0.9, 0.8, 0.7)
    cluster = Cluster([mention], "NATO", 0.7, "https://en.wikipedia.org/wiki/NATO")  # type: ignore[arg-type]
    for made in (Document(TEXT, clusters=[cluster]), AnnotatedDocument(TEXT, [cluster])):
        assert made.clusters == [
            Cluster((Mention(18, 26, "Alliance", 0.9, 0.8, 0.7),), "NATO", 0.7, "https://en.wikipedia.org/wiki/NATO")
        ]
    assert mention.offsets == ALLIANCE


def test_what_is_allowed() -> None:
    """Nested and crossing mentions, adjacent words, empty lists and an empty text are no errors."""
    crossing = clusters(((0, 8), (0, 4)), ((2, 10),))
    assert len(AnnotatedDocument(TEXT, crossing).clusters) == 2
    read = Document(TEXT, words=[[0, 2], [2, 4]], spans=[(2, 10), (0, 4)])  # type: ignore[list-item]
    assert read.words == [(0, 2), (2, 4)]
    assert read.spans == [(2, 10), (0, 4)]
    assert Document("", words=[], mentions=[], clusters=[]).to_dict() == {
        "text": "",
        "words": [],
        "mentions": [],
        "clusters": [],
    }


def test_name() -> None:
    assert Document("x").name == "document"
    assert Document("x", id="n/1").name == "document 'n/1'"


def test_plain_data_is_readable() -> None:
    """What is None is left out, but a NIL entity is said."""
    made = AnnotatedDocument(TEXT, [Cluster((Mention(*NATO),))], warnings=["cut"])
    assert made.to_dict() == {
        "text": TEXT,
        "clusters": [{"entity": None, "mentions": [{"begin": 0, "end": 4, "text": "NATO"}]}],
        "warnings": ["cut"],
    }
    assert Document(TEXT).to_dict() == {"text": TEXT}


def test_nulls_of_tables_are_nothing() -> None:
    """Arrow tables fill absent fields with nulls."""
    optional = ("id", "words", "mentions", "spans", "candidates", "clusters", "mention_scope")
    assert Document.from_dict({"text": TEXT, **dict.fromkeys(optional)}) == Document(TEXT)
    read = AnnotatedDocument.from_dict({"text": TEXT, "clusters": [], "id": None, "warnings": None})
    assert read == AnnotatedDocument(TEXT, [])


probabilities = st.none() | st.floats(0, 1)
texts = st.lists(
    st.sampled_from(["NATO", " ", "\r\n", "\n", "👩‍🚀", "🇪🇺", "é", "e\u0301", "𝔑", "\u200f", "\x00"])
    | st.text(max_size=3),
    min_size=1,
    max_size=12,
).map("".join)


@st.composite
def offsets_of(draw: st.DrawFn, text: str) -> list[tuple[int, int]]:
    """Distinct offsets that are not empty."""
    if not text:
        return []
    begin = st.integers(0, len(text) - 1)
    pair = begin.flatmap(lambda b: st.tuples(st.just(b), st.integers(b + 1, len(text))))
    return draw(st.lists(pair, max_size=6, unique=True))


@st.composite
def clusters_of(draw: st.DrawFn, text: str) -> list[Cluster]:
    """Every mention is put into one of three clusters."""
    groups: dict[int, list[Mention]] = {}
    for begin, end in draw(offsets_of(text)):
        surface = draw(st.sampled_from([None, text[begin:end]]))
        mention = Mention(begin, end, surface, *(draw(probabilities) for _ in range(3)))
        groups.setdefault(draw(st.integers(0, 2)), []).append(mention)
    names = st.none() | st.text(min_size=1)
    return [Cluster(tuple(group), draw(names), draw(probabilities), draw(names)) for group in groups.values()]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(texts)
    candidate = st.builds(Candidate, st.text(min_size=1), st.floats(0, 1))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    given_spans = draw(st.sampled_from(["mentions", "spans", "neither"]))
    return Document(
        text,
        draw(st.none() | st.text()),
        words=draw(st.none() | st.just(list(pairwise(cuts)))),
        candidates={span: draw(st.lists(candidate, max_size=2)) for span in draw(offsets_of(text))},
        clusters=draw(st.none() | clusters_of(text)),
        mention_scope=draw(st.sampled_from([None, *MENTION_SCOPES])),
        **({} if given_spans == "neither" else {given_spans: draw(offsets_of(text))}),
    )


@st.composite
def annotated_documents(draw: st.DrawFn) -> AnnotatedDocument:
    text = draw(texts)
    warnings = draw(st.lists(st.text(min_size=1), max_size=2))
    return AnnotatedDocument(text, draw(clusters_of(text)), draw(st.none() | st.text()), warnings)


@given(documents() | annotated_documents())
def test_data_is_lossless(made: Document | AnnotatedDocument) -> None:
    assert type(made).from_dict(made.to_dict()) == made
    assert type(made).from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False))) == made
    assert pickle.loads(pickle.dumps(made)) == made


@given(documents() | annotated_documents())
def test_every_surface_is_the_slice_of_the_text(made: Document | AnnotatedDocument) -> None:
    for cluster in made.clusters or []:
        for mention in cluster.mentions:
            assert mention.text == made.text[mention.begin : mention.end]


def test_given_mentions_may_be_mention_objects() -> None:
    assert Document("Anna met Berg.", mentions=[Mention(0, 4), (9, 13)]).mentions == [(0, 4), (9, 13)]  # type: ignore[list-item]


def test_candidates_may_be_given_by_mention_objects() -> None:
    document = Document("Anna met Berg.", candidates={Mention(0, 4): [Candidate("Anna", 0.5)]})  # type: ignore[dict-item]
    assert list(map(type, document.candidates)) == [tuple]
    assert document.to_dict()["candidates"][0]["end"] == 4
    assert Document.from_dict(document.to_dict()) == document
    with pytest.raises(DocumentError, match=r"candidates\[1\]: duplicate span 0\.\.4"):
        Document("Anna met Berg.", candidates={(0, 4): [], Mention(0, 4): []})  # type: ignore[dict-item]


# Speakers ------------------------------------------------------------------------------------------------

TALK = "Anna: I left. Ben: You did?"
TURNS = [{"begin": 6, "end": 13, "speaker": "Anna"}, {"begin": 19, "end": 27, "speaker": "Ben"}]


def test_speakers_are_turns_in_reading_order() -> None:
    document = Document(TALK, speakers=[TURNS[1], Turn(6, 13, "Anna")])  # type: ignore[list-item]
    assert document.speakers == [Turn(6, 13, "Anna"), Turn(19, 27, "Ben")]
    assert document.to_dict()["speakers"] == TURNS
    assert Document.from_dict(document.to_dict()) == document
    assert Document.from_dict({"text": TALK, "speakers": None}).speakers is None
    # Nobody speaks, which is not the same as that nobody is known.
    assert Document.from_dict({"text": TALK, "speakers": []}).to_dict()["speakers"] == []


@pytest.mark.parametrize(
    ("speakers", "message"),
    [
        ("Anna", r"speakers: expected a list, got str"),
        ([3], r"speakers\[0\]: expected an object with begin, end and speaker, got int"),
        ([{"begin": 0, "end": 3}], r"speakers\[0\]: missing field 'speaker'"),
        ([{**TURNS[0], "name": "A"}], r"speakers\[0\]: unknown field 'name'; the known fields are begin, end, speaker"),
        ([{**TURNS[0], "speaker": ""}], r"speakers\[0\]\.speaker: expected a non-empty string, got ''"),
        ([{**TURNS[0], "speaker": " "}], r"speakers\[0\]\.speaker: ' ' is no name"),
        ([{**TURNS[0], "speaker": 7.5}], r"speakers\[0\]\.speaker: expected a non-empty string, got 7.5"),
        ([{**TURNS[0], "begin": "6"}], r"speakers\[0\]\.begin: expected an integer"),
        ([{**TURNS[0], "end": 28}], r"speakers\[0\]: offsets 6\.\.28 lie outside the text of 27 code points"),
        ([{**TURNS[0], "end": 6}], r"speakers\[0\]: offsets 6\.\.6 are empty"),
        ([TURNS[1], TURNS[0], TURNS[1]], r"speakers\[2\]: duplicate turn 19\.\.27, already at .*speakers\[0\]"),
        (
            [TURNS[1], {**TURNS[0], "end": 20}],
            r"speakers\[0\]: the turn 19\.\.27 crosses 6\.\.20 at .*speakers\[1\]; let",
        ),
    ],
)
def test_wrong_speakers_are_named(speakers: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=rf"^document 'talk'\.{message}"):
        Document(TALK, id="talk", speakers=speakers)


def test_a_turn_may_lie_within_another() -> None:
    inner, outer = Turn(8, 10, "Ben"), Turn(6, 13, "Anna")
    assert Document(TALK, speakers=[inner, outer]).speakers == [outer, inner]
