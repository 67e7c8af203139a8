"""What a result carries on request: parents and their chains, alternatives, the resolved text."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.documents import Alternative, AnnotatedDocument, Cluster, Document, DocumentError, Mention, Parent

TEXT = "The Alliance met. NATO spoke; Oslo heard NATO."
ALLIANCE, FIRST, OSLO, SECOND = (4, 12), (18, 22), (30, 34), (41, 45)
ENTITY, ROOT = Parent("entity", entity="NATO"), Parent("root")


def hangs_from(offsets: tuple[int, int]) -> Parent:
    return Parent("mention", *offsets)


def evident(*parents: tuple[tuple[int, int], Parent | None]) -> AnnotatedDocument:
    """One cluster of mentions with their parents."""
    mentions = tuple(Mention(*offsets, parent=parent) for offsets, parent in parents)
    return AnnotatedDocument(TEXT, [Cluster(mentions, "NATO")], id="d1")


def test_chain_leads_from_a_mention_over_others_to_the_entity() -> None:
    document = evident((ALLIANCE, hangs_from(FIRST)), (FIRST, ENTITY), (SECOND, hangs_from(ALLIANCE)))
    alliance, first, second = document.clusters[0].mentions
    assert document.chain(alliance) == [Parent("mention", 18, 22, "NATO"), ENTITY]
    assert document.chain(first) == [ENTITY]
    assert [parent.text or parent.entity for parent in document.chain(second)] == ["Alliance", "NATO", "NATO"]
    assert document.chains() == {mention.offsets: document.chain(mention) for mention in (alliance, first, second)}


def test_chain_of_a_mention_without_evidence_is_empty_and_one_of_a_lost_parent_ends_there() -> None:
    document = evident((ALLIANCE, hangs_from(FIRST)), (SECOND, None))
    assert document.chain(document.clusters[0].mentions[1]) == []
    assert document.chain(document.clusters[0].mentions[0]) == [Parent("mention", 18, 22, "NATO")]
    assert document.chain(Mention(*OSLO)) == []


def alternative(**fields: Any) -> Callable[[], Any]:
    return lambda: AnnotatedDocument.from_dict(
        {
            "text": TEXT,
            "id": "d1",
            "clusters": [
                {
                    "mentions": [{"begin": 4, "end": 12}],
                    "alternatives": [{"entity": None, "probability": 0.25, **fields}],
                }
            ],
        }
    )


def parent(**fields: Any) -> Callable[[], Any]:
    mention = {"begin": 4, "end": 12, "parent": fields}
    return lambda: Document.from_dict({"text": TEXT, "id": "d1", "clusters": [{"mentions": [mention]}]})


MENTION = "document 'd1'.clusters[0].mentions[0].parent"
OPTION = "document 'd1'.clusters[0].alternatives[0]"
ERRORS: list[tuple[Callable[[], Any], str]] = [
    (parent(), f"{MENTION}: missing field 'kind'"),
    (parent(kind="head"), f"{MENTION}.kind: expected one of 'root', 'mention', 'entity', got 'head'"),
    (parent(kind=["root"]), f"{MENTION}.kind: expected one of"),
    (parent(kind="root", name=1), f"{MENTION}: unknown field 'name'; the known fields are begin, end, entity, kind"),
    (parent(kind="root", begin=1), f"{MENTION}.begin: leave it out, the parent is of kind 'root'"),
    (parent(kind="entity", entity="NATO", text="x"), f"{MENTION}.text: leave it out, the parent is of kind 'entity'"),
    (parent(kind="entity"), f"{MENTION}.entity: expected a non-empty string, got None"),
    (parent(kind="root", entity="NATO"), f"{MENTION}.entity: leave it out, the parent is of kind 'root'"),
    (parent(kind="mention"), f"{MENTION}.begin: expected an integer code-point offset, got None"),
    (parent(kind="mention", begin=18, end=99), f"{MENTION}: offsets 18..99 lie outside the text of 46 code points"),
    (parent(kind="mention", begin=18, end=22, text="Nato"), f"{MENTION}.text: 'Nato' differs from the document's text"),
    (parent(kind="mention", begin=4, end=12), f"{MENTION}: 4..12 is the mention itself; a parent is another mention"),
    (lambda: Cluster.from_dict({"mentions": [{"begin": 1, "end": 2, "parent": 3}]}), "parent: expected an object"),
    (
        lambda: AnnotatedDocument(TEXT, [Cluster((Mention(*FIRST, parent="root"),))]),  # type: ignore[arg-type]
        "document.clusters[0].mentions[0].parent: expected a Parent, got str",
    ),
    (
        lambda: evident((ALLIANCE, hangs_from(FIRST)), (FIRST, hangs_from(SECOND)), (SECOND, hangs_from(ALLIANCE))),
        "document 'd1'.clusters: the parents of the mention 4..12 run in a circle",
    ),
    (alternative(url="x"), f"{OPTION}: unknown field 'url'; the known fields are entity, probability"),
    (alternative(entity=""), f"{OPTION}.entity: expected a non-empty string or None for NIL, got ''"),
    *(
        (alternative(probability=value), f"{OPTION}.probability: expected a probability between 0 and 1")
        for value in (1.5, -0.1, None, "0.5", True, float("nan"))
    ),
    (
        lambda: AnnotatedDocument(TEXT, [Cluster((Mention(*FIRST),), alternatives=("NATO",))]),  # type: ignore[arg-type]
        "document.clusters[0].alternatives[0]: expected an Alternative, got str",
    ),
    (
        lambda: AnnotatedDocument.from_dict({"text": TEXT, "clusters": [{"mentions": [], "alternatives": 3}]}),
        "document.clusters[0].alternatives: expected a list, got int",
    ),
    (
        lambda: AnnotatedDocument(TEXT, [], resolved_text=b"x"),  # type: ignore[arg-type]
        "document.resolved_text: expected a string or None, got bytes",
    ),
]


@pytest.mark.parametrize(("make", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_errors_say_what_and_where(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        make()
    assert message in str(caught.value)


def test_what_was_not_asked_for_is_left_out() -> None:
    assert evident((FIRST, None)).to_dict() == {
        "id": "d1",
        "text": TEXT,
        "clusters": [{"entity": "NATO", "mentions": [{"begin": 18, "end": 22, "text": "NATO"}]}],
        "warnings": [],
    }


def test_plain_data_is_readable() -> None:
    document = evident((ALLIANCE, hangs_from(FIRST)), (FIRST, ENTITY))
    options = (Alternative("NATO", 0.75), Alternative(None, 0.25))
    document = replace(document, clusters=[replace(document.clusters[0], alternatives=options)], resolved_text="")
    data = document.to_dict()
    assert data["resolved_text"] == ""
    assert data["clusters"][0]["alternatives"] == [
        {"entity": "NATO", "probability": 0.75},
        {"entity": None, "probability": 0.25},
    ]
    assert [mention["parent"] for mention in data["clusters"][0]["mentions"]] == [
        {"kind": "mention", "begin": 18, "end": 22, "text": "NATO"},
        {"kind": "entity", "entity": "NATO"},
    ]


names = st.none() | st.text(min_size=1)
# Each mention may hang from one before it in this list only, so that there are no circles.
places = st.permutations([ALLIANCE, FIRST, OSLO, SECOND])


@st.composite
def documents(draw: st.DrawFn) -> AnnotatedDocument:
    order = draw(places)
    mentions = []
    for number, offsets in enumerate(order):
        above = [hangs_from(other) for other in order[:number]]
        parent = draw(st.sampled_from([None, ROOT, ENTITY, *above]))
        mentions.append(Mention(*offsets, parent=parent))
    listed = draw(st.none() | st.lists(st.builds(Alternative, names, st.floats(0, 1)), max_size=3))
    cluster = Cluster(tuple(mentions), draw(names), alternatives=listed)  # type: ignore[arg-type]
    return AnnotatedDocument(TEXT, [cluster], resolved_text=draw(st.none() | st.text()))


@given(documents())
def test_data_is_lossless(document: AnnotatedDocument) -> None:
    assert AnnotatedDocument.from_dict(document.to_dict()) == document
    assert AnnotatedDocument.from_dict(json.loads(json.dumps(document.to_dict(), allow_nan=False))) == document
    assert pickle.loads(pickle.dumps(document)) == document


@given(documents())
def test_every_chain_ends(document: AnnotatedDocument) -> None:
    for mention in document.clusters[0].mentions:
        chain = document.chain(mention)
        assert len(chain) <= 4
        assert all(link.kind == "mention" for link in chain[:-1])
