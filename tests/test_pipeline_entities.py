"""What results say of their entities: Wikidata ids and types, names by id, and the choice of types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from hf_corefel import (
    RESULT_FEATURES,
    AnnotatedDocument,
    Constraints,
    CorefELPipeline,
    Document,
    DocumentError,
    KnowledgeBase,
)
from hf_corefel.candidates import ComposedKnowledgeBase
from hf_corefel.pipeline_corefel import load_pipeline

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."
KNOWN = {"Anna_Berg": ("Q1", "person"), "Carl_Moss": ("Q2", "person"), "Oslo": ("Q585", "place")}
Make = Callable[..., CorefELPipeline]


@pytest.fixture
def make(tiny_folder: Path, tiny_encyclopaedia: Callable[..., KnowledgeBase]) -> Make:
    """Makes the pipeline of the tiny model with ids and types of entities."""
    return lambda **facts: load_pipeline(tiny_folder, knowledge_base=tiny_encyclopaedia(**facts))


def by_entity(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The clusters by their entities, of which none has two."""
    found = {cluster["entity"]: cluster for cluster in result["clusters"]}
    assert len(found) == len(result["clusters"])
    return found


def surfaces(result: dict[str, Any]) -> dict[str, list[str]]:
    return {entity: [m["text"] for m in cluster["mentions"]] for entity, cluster in by_entity(result).items()}


def test_clusters_have_what_is_known_of_their_entity(make: Make, tiny_documents: list[Document]) -> None:
    annotate = make()
    result = annotate(TEXT, top_k=9)
    assert {name: (c["wikidata"], c["type"]) for name, c in by_entity(result).items()} == KNOWN
    assert AnnotatedDocument.from_dict(result).to_dict() == result
    listed = {a["entity"]: a.get("wikidata") for c in result["clusters"] for a in c["alternatives"]}
    assert listed.items() >= {"Anna_Berg": "Q1", "Berg_(painter)": None, None: None}.items()
    without = annotate(tiny_documents[1].text)
    assert any(cluster["entity"] is None for cluster in without["clusters"])
    for cluster in without["clusters"]:
        assert ("wikidata" in cluster, "type" in cluster) == ((True, True) if cluster["entity"] else (False, False))


def test_what_nobody_knows_is_not_there_and_nothing_else_changes(make: Make, tiny_folder: Path) -> None:
    plain = load_pipeline(tiny_folder)(TEXT)
    assert not {"wikidata", "type"} & {key for cluster in plain["clusters"] for key in cluster}
    known = make()(TEXT)
    for cluster in known["clusters"]:
        del cluster["wikidata"], cluster["type"]
    assert known == plain


def test_results_of_all_kinds_have_one_schema(make: Make) -> None:
    rows = [make()(TEXT, top_k=2), make(wikidata=None, types=None)(TEXT)]
    table = Dataset.from_list(rows, features=RESULT_FEATURES)
    assert [AnnotatedDocument.from_dict(row) for row in table] == [AnnotatedDocument.from_dict(row) for row in rows]
    frame = AnnotatedDocument.from_dict(rows[0]).to_pandas()
    assert set(zip(frame["wikidata"], frame["type"], strict=True)) == set(KNOWN.values())


def test_ids_are_the_names_of_entities(make: Make) -> None:
    annotate = make()
    plain = annotate(TEXT, evidence=True, top_k=9, resolved_text=True, samples=3, clusterings=2, seed=1)
    named = annotate(TEXT, evidence=True, top_k=9, resolved_text=True, samples=3, clusterings=2, seed=1, id="wikidata")
    ids = {name: identifier for name, (identifier, _) in KNOWN.items()}
    assert surfaces(named) == {ids[name]: found for name, found in surfaces(plain).items()}
    assert named["resolved_text"] == plain["resolved_text"], "a reader wants names"
    assert named["warnings"] == []
    for before, after in zip(plain["clusters"], named["clusters"], strict=True):
        assert after["wikidata"] == after["entity"] and after["url"] == before["url"]
        assert after["probability"] == before["probability"]
        listed = [a | {"entity": a.get("wikidata", a["entity"])} for a in before["alternatives"]]
        assert after["alternatives"] == listed
    parents = [m["parent"].get("entity") for c in named["clusters"] for m in c["mentions"]]
    assert set(parents) == {None, *ids.values()}
    whole = [c["entity"] for field in ("samples", "clusterings") for item in named[field] for c in item["clusters"]]
    assert set(ids.values()) <= set(whole) and not set(ids) & set(whole)
    assert annotate(TEXT, id="name") == annotate(TEXT)


def test_entities_without_an_id_keep_their_names_which_is_counted(make: Make) -> None:
    result = make(wikidata={"Anna_Berg": "Q1"})(TEXT, id="wikidata")
    assert set(by_entity(result)) == {"Q1", "Carl_Moss", "Oslo"}
    assert result["warnings"] == [
        "id: 2 of 3 entities have no Wikidata id in the knowledge base; they keep their names"
    ]


def test_entities_of_one_id_are_one(make: Make) -> None:
    plain = make()(TEXT, top_k=9)
    # Two titles of one thing: of both clusters, and of an entity that only competes.
    same = {"Anna_Berg": "Q1", "Carl_Moss": "Q1", "Berg_(painter)": "Q1", "Oslo": "Q585"}
    titles, ids = (make(wikidata=same)(TEXT, top_k=9, id=id) for id in ("name", "wikidata"))
    assert set(by_entity(titles)) == {"Anna_Berg", "Carl_Moss", "Oslo"}
    found = surfaces(ids)
    assert found["Q1"] == ["Anna Berg", "Carl Moss", "Berg", "Moss", "she"] and set(found) == {"Q1", "Q585"}
    cluster = by_entity(ids)["Q1"]
    assert cluster["probability"] == pytest.approx(sum(m["link_probability"] for m in cluster["mentions"]) / 5)
    assert [a["entity"] for a in cluster["alternatives"]].count("Q1") == 1
    assert {a["entity"]: a["probability"] for a in cluster["alternatives"]}["Q1"] == cluster["probability"]
    # What a mention may be by either title is added up, and is as much as before where there was one title.
    anna = by_entity(plain)["Anna_Berg"]
    chances = {a["entity"]: a["probability"] for a in anna["alternatives"]}
    both = make(wikidata={"Anna_Berg": "Q1", "Berg_(painter)": "Q1"})(TEXT, id="wikidata")
    added = chances["Anna_Berg"] + chances["Berg_(painter)"]
    assert by_entity(both)["Q1"]["probability"] == pytest.approx(added, abs=1e-6) and added > chances["Anna_Berg"]


def test_min_probability_is_of_the_thing_and_not_of_its_titles(make: Make) -> None:
    annotate = make(wikidata={"Anna_Berg": "Q1", "Berg_(painter)": "Q1"})
    chance = by_entity(annotate(TEXT))["Anna_Berg"]["probability"]
    both = by_entity(annotate(TEXT, id="wikidata"))["Q1"]["probability"]
    between = (chance + both) / 2
    assert "Anna_Berg" not in by_entity(annotate(TEXT, min_probability=between))
    assert "Q1" in by_entity(annotate(TEXT, min_probability=between, id="wikidata"))


def test_evidence_of_a_link_that_became_nil_is_named_alike(make: Make) -> None:
    document = Document(TEXT, mentions=[(0, 9)])
    (cluster,) = make()(document, id="wikidata", evidence=True, min_probability=1.0)["clusters"]
    assert cluster["entity"] is None and cluster["mentions"][0]["parent"]["entity"] == "Q1"


def test_constraints_hold_between_entities_of_one_id(make: Make) -> None:
    annotate = make(wikidata={"Anna_Berg": "Q1", "Carl_Moss": "Q1"})
    constraints = Constraints(cannot_link=[((0, 9), (14, 23))])
    result = annotate(TEXT, id="wikidata", constraints=constraints, samples=2, seed=0)
    for clusters in (result["clusters"], *(sample["clusters"] for sample in result["samples"])):
        together = [{(m["begin"], m["end"]) for m in cluster["mentions"]} for cluster in clusters]
        assert not any({(0, 9), (14, 23)} <= mentions for mentions in together)


@pytest.mark.parametrize("name", ["Q585", "wikidata:Q585", "Christiania", "Oslo"])
def test_constraints_name_entities_as_results_do(make: Make, name: str) -> None:
    annotate = make(redirects={"Christiania": "Oslo"})
    result = annotate(TEXT, constraints={"entities": [{"begin": 0, "end": 9, "entity": name}]}, id="wikidata")
    assert surfaces(result)["Q585"][0] == "Anna Berg"
    with pytest.raises(DocumentError, match="the entity 'Q9', which is not in the knowledge base"):
        annotate(TEXT, constraints={"entities": [{"begin": 0, "end": 9, "entity": "Q9"}]})


def test_clusters_of_some_types(make: Make, tiny_documents: list[Document]) -> None:
    annotate = make()
    whole = annotate(TEXT, resolved_text=True)
    people = annotate(TEXT, types="person", resolved_text=True, samples=2, seed=0)
    assert people["clusters"] == [c for c in whole["clusters"] if c["type"] == "person"]
    assert people["warnings"] == []
    assert (
        people["resolved_text"]
        == "Anna Berg met Carl Moss in Oslo. Anna Berg praised Carl Moss. Then Anna Berg left the city."
    )
    assert {c["type"] for sample in people["samples"] for c in sample["clusters"]} <= {"person"}
    assert annotate(TEXT, types=["place", "person"])["clusters"] == whole["clusters"]
    assert annotate(TEXT, types={"event"})["clusters"] == []
    assert set(by_entity(annotate(TEXT, types=("place",), id="wikidata"))) == {"Q585"}
    # NIL has no type, and goes without a word.
    assert None in by_entity(annotate(tiny_documents[1].text))
    result = annotate(tiny_documents[1].text, types=["place"])
    assert set(by_entity(result)) == {"Bergen"} and result["warnings"] == []


def test_clusters_of_unknown_type_are_left_out_and_counted(make: Make) -> None:
    annotate = make(types={"Anna_Berg": "person"})
    result = annotate(TEXT, types=["person"])
    assert set(by_entity(result)) == {"Anna_Berg"}
    (warning,) = result["warnings"]
    assert warning.startswith("types: 2 linked clusters were left out, of whose entity the knowledge base does not say")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"types": "persons"},
            ValueError,
            r"^types: there is no type 'persons' \(did you mean 'person'\?\); the known",
        ),
        (
            {"types": ["person", "city"]},
            ValueError,
            r"'city'; the known ones are person, organization, place, work, ev",
        ),
        ({"types": []}, ValueError, r"^types: expected at least one of person"),
        ({"types": 3}, TypeError, r"^types: expected a list of person.*; got 3"),
        ({"types": [3]}, TypeError, r"^types: expected names of types, person.*; got 3"),
        ({"id": "wikipedia"}, ValueError, r"^id: expected 'name' or 'wikidata', got 'wikipedia'"),
        ({"id": 7}, TypeError, r"^id: expected 'name' or 'wikidata', got 7"),
    ],
)
def test_what_is_no_id_or_type_is_named(
    make: Make, tiny_folder: Path, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()(TEXT, **given)
    with pytest.raises(error, match=message):
        load_pipeline(tiny_folder, **given)


def test_pipelines_keep_what_they_are_told(tiny_folder: Path, tiny_encyclopaedia: Callable[..., Any]) -> None:
    annotate = load_pipeline(tiny_folder, knowledge_base=tiny_encyclopaedia(), id="wikidata", types=["person"])
    assert set(by_entity(annotate(TEXT))) == {"Q1", "Q2"}
    assert set(by_entity(annotate(TEXT, id="name", types=["place"]))) == {"Oslo"}
    assert [set(by_entity(result)) for result in annotate([TEXT, "", TEXT], num_workers=1)] == [
        {"Q1", "Q2"},
        set(),
        {"Q1", "Q2"},
    ]


class Untyped(KnowledgeBase):
    """A store of another package, which was written before stores had types."""

    type: Any = None
    canonical: Any = None
    entity_of: Any = None


def test_stores_that_know_less_are_fine(tiny_folder: Path, tiny_encyclopaedia: Callable[..., Any]) -> None:
    known = tiny_encyclopaedia()
    composed = ComposedKnowledgeBase([KnowledgeBase.build([], vectors=([], known.vectors([]))), known])
    assert composed.type("Oslo") == "place" and composed.entity_of("wikidata", "Q585") == "Oslo"
    assert composed.entity_of("wikidata", "Q9") is None and composed.canonical("Nowhere") == "Nowhere"
    known.__class__ = Untyped
    annotate = load_pipeline(tiny_folder, knowledge_base=known)
    assert set(by_entity(annotate(TEXT, id="wikidata"))) == {"Q1", "Q2", "Q585"}
    with pytest.raises(ValueError, match=r"^types: the knowledge base, Untyped, does not say which type an entity has"):
        annotate(TEXT, types=["person"])
