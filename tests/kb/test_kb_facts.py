"""Types, links, redirects and identifiers: built, changed, merged, saved, opened and pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_corefel.kb import COARSE_TYPES, KnowledgeBase, KnowledgeBaseError
from kb_folders import save_as_version

ALIASES = [("Oslo", [("Oslo", 0.8), ("Oslo_(band)", 0.2)]), ("Bergen", [("Bergen", 1.0)])]
FACTS: dict[str, Any] = {
    "types": {"Oslo": "place", "Ada_Lovelace": "person"},
    "links": {"Oslo": 31, "Bergen": 0, "Only_linked": 5},
    "redirects": {"Christiania": "Oslo", "Kristiania": "Christiania", "Bergen": "Oslo", "Old": "Only_redirected"},
    "wikidata": {"Oslo": "Q585", "Bergen": "Q26793"},
}


def build() -> KnowledgeBase:
    return KnowledgeBase.build(ALIASES, **FACTS)


def through_folder(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    kb.save_pretrained(tmp_path / "kb")
    return KnowledgeBase.from_pretrained(tmp_path / "kb")


WAYS: list[Callable[[KnowledgeBase, Path], KnowledgeBase]] = [
    lambda kb, tmp_path: kb,
    through_folder,
    lambda kb, tmp_path: pickle.loads(pickle.dumps(kb)),
    lambda kb, tmp_path: pickle.loads(pickle.dumps(through_folder(kb, tmp_path))),
    lambda kb, tmp_path: kb.merged(),
    lambda kb, tmp_path: kb.with_fallback("none"),
]
every_way = pytest.mark.parametrize("way", WAYS, ids=["built", "saved", "pickled", "reopened", "merged", "shared"])


@every_way
def test_facts_of_what_was_built(way: Callable[[KnowledgeBase, Path], KnowledgeBase], tmp_path: Path) -> None:
    kb = way(build(), tmp_path)
    names = ("Oslo", "Ada_Lovelace", "Bergen", "Oslo_(band)", "Only_linked", "Only_redirected", "unknown")
    assert [kb.type(name) for name in names] == ["place", "person", None, None, None, None, None]
    assert [kb.links(name) for name in names] == [31, None, 0, None, 5, None, None]
    assert [name in kb for name in names] == [True] * 6 + [False]
    # An entity's name leads to that entity only, whatever the redirects say.
    titles = ("Christiania", "Kristiania", "Bergen", "Oslo", "Old", "unknown", "a\0b", "\ud800")
    assert [kb.redirect(title) for title in titles] == ["Oslo", "Oslo", None, None, "Only_redirected", None, None, None]
    assert [kb.canonical(title) for title in titles[:6]] == [
        "Oslo", "Oslo", "Bergen", "Oslo", "Only_redirected", "unknown"
    ]  # fmt: skip
    assert dict(kb.redirects()) == {"Christiania": "Oslo", "Kristiania": "Oslo", "Old": "Only_redirected"}
    assert [kb.entity_of("wikidata", i) for i in ("Q585", "Q26793", "Q5", "Q0585", "", "\ud800")] == [
        "Oslo", "Bergen", None, None, None, None
    ]  # fmt: skip


@every_way
def test_facts_of_what_was_changed(way: Callable[[KnowledgeBase, Path], KnowledgeBase], tmp_path: Path) -> None:
    kb = build()
    kb.add("Tromsø", ["Tromsø"], type="place", links=3, redirects=["Romssa", "Tromso"], wikidata="Q26087")
    kb.add("Oslo", type="other", links=0, redirects="Tigerstaden", wikidata="Q999")
    kb.add("Kristiania", type="event")  # a redirect before, an entity now
    kb.remove("Ada_Lovelace")
    kb.remove("Only_redirected")
    kb.remove("Bergen")
    kb.add("Bergen", ["Bergen"])
    kb = way(kb, tmp_path)
    assert [kb.type(name) for name in ("Tromsø", "Oslo", "Kristiania", "Ada_Lovelace", "Bergen")] == [
        "place", "other", "event", None, None
    ]  # fmt: skip
    assert [kb.links(name) for name in ("Tromsø", "Oslo", "Kristiania", "Bergen", "Only_linked")] == [
        3, 0, None, None, 5
    ]  # fmt: skip
    assert dict(kb.redirects()) == {
        "Christiania": "Oslo", "Romssa": "Tromsø", "Tromso": "Tromsø", "Tigerstaden": "Oslo"
    }  # fmt: skip
    assert kb.canonical("Kristiania") == "Kristiania"
    assert kb.canonical("Old") == "Old"
    assert [kb.entity_of("wikidata", i) for i in ("Q26087", "Q999", "Q585", "Q26793")] == ["Tromsø", "Oslo", None, None]
    kb.remove("Tromsø")
    assert (kb.entity_of("wikidata", "Q26087"), kb.redirect("Romssa")) == (None, None)


def test_changes_give_what_a_fresh_one_is() -> None:
    changed = KnowledgeBase.build(ALIASES)
    for name in ("Ada_Lovelace", "Only_linked", "Only_redirected", *FACTS["wikidata"]):
        facts = {"type": "types", "links": "links", "wikidata": "wikidata"}
        titles = ["Christiania", "Kristiania"] if name == "Oslo" else ["Old"] if name == "Only_redirected" else []
        changed.add(name, **{key: FACTS[field].get(name) for key, field in facts.items()}, redirects=titles)
    assert changed.merged().fingerprint == build().fingerprint


def test_of_several_with_one_identifier_the_linked_one_stands() -> None:
    ids = {"B": "Q1", "A": "Q1", "C": "Q1"}
    assert KnowledgeBase.build([], wikidata=ids).entity_of("wikidata", "Q1") == "A"
    assert KnowledgeBase.build([], wikidata=ids, links={"C": 2, "B": 1}).entity_of("wikidata", "Q1") == "C"
    assert KnowledgeBase.build([("x", [("wikidata:Q7", 1.0)])]).entity_of("wikidata", "Q7") == "wikidata:Q7"
    with pytest.raises(KnowledgeBaseError, match="expected 'wikidata'"):
        build().entity_of("viaf", "1")


def test_without_facts_nothing_is_known(tmp_path: Path) -> None:
    kb = through_folder(KnowledgeBase.build(ALIASES), tmp_path)
    assert (kb.type("Oslo"), kb.links("Oslo"), kb.redirect("x"), list(kb.redirects())) == (None, None, None, [])
    assert kb.entity_of("wikidata", "Q585") is None
    assert not {"types.safetensors", "links.safetensors", "redirects.marisa"} & {p.name for p in tmp_path.rglob("*")}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_folder_of_before_opens_and_takes_facts(tmp_path: Path, version: int) -> None:
    KnowledgeBase.build(ALIASES).save_pretrained(tmp_path)
    save_as_version(tmp_path, version)
    with KnowledgeBase.edit(tmp_path) as kb:
        kb.add("Oslo", type="place", links=4, redirects=["Christiania"])
    opened = KnowledgeBase.from_pretrained(tmp_path)
    assert (opened.type("Oslo"), opened.links("Oslo"), opened.redirect("Christiania")) == ("place", 4, "Oslo")


def test_every_type(tmp_path: Path) -> None:
    types = {f"E{number}": kind for number, kind in enumerate(COARSE_TYPES)}
    kb = through_folder(KnowledgeBase.build([], types=types), tmp_path)
    assert {name: kb.type(name) for name in kb.entities()} == types


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"types": {"A": "city"}}, "type of 'A': expected one of person, .*, got 'city'"),
        ({"types": {"A": 1}}, "type of 'A'"),
        ({"links": {"A": -1}}, "links of 'A': expected a whole number from 0"),
        ({"links": {"A": 2**31}}, "links of 'A'"),
        ({"links": {"A": 1.5}}, "links of 'A'"),
        ({"links": {"A": True}}, "links of 'A'"),
        ({"links": {"": 1}}, "empty entity"),
        ({"redirects": {"A": "A"}}, "'A' leads to 'A' in a circle"),
        ({"redirects": {"A": "B", "B": "C", "C": "B"}}, "in a circle"),
        ({"redirects": {"": "B"}}, "empty title"),
        ({"redirects": {"A": "x\0"}}, "NUL"),
    ],
)
def test_facts_that_are_none(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(KnowledgeBaseError, match=message):
        KnowledgeBase.build([], **facts)
    if facts.keys() & {"types", "links"}:
        kb = KnowledgeBase.build([])
        [(field, values)] = facts.items()
        [(name, value)] = values.items()
        with pytest.raises(KnowledgeBaseError, match=message):
            kb.add(name, **{"type" if field == "types" else field: value})
        assert kb.num_entities == 0


def test_numbers_of_numpy_are_numbers() -> None:
    kb = KnowledgeBase.build([], links={np.str_("A"): np.int32(3)}, types={"A": np.str_("work")})
    assert (kb.links("A"), kb.type("A")) == (3, "work")


def test_identifiers_of_many_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hf_corefel.kb.wikidata_index._CHUNK", 3)
    ids = {f"E{number}": f"{'QPL'[number % 3]}{number * 7}" for number in range(20)}
    kb = KnowledgeBase.build([], descriptions={f"E{number}": "" for number in range(30)}, wikidata=ids)
    assert {name: kb.entity_of("wikidata", identifier) for name, identifier in ids.items()} == {n: n for n in ids}
    assert kb.entity_of("wikidata", "Q7") is None
