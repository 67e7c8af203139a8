"""Passages in which one name stands for two."""

from __future__ import annotations

import random
from types import ModuleType

import pytest

from hf_corefel import Cluster, Document, KnowledgeBase, Mention
from script_loading import load_script

ALIASES = [
    ("Lyon", [("Lyon", 0.8), ("Lyon_F.C.", 0.1), ("Lyon_River", 0.1)]),
    ("Paris", [("Paris", 0.9), ("Paris,_Texas", 0.1)]),
    ("Vienna", [("Vienna", 1.0)]),
    ("Ann Lee", [("Ann_Lee", 1.0)]),
]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    load_script("experiments/write_passages.py")  # finds the scripts beside it
    return load_script("experiments/namesake_passages.py")


@pytest.fixture(scope="module")
def world(script: ModuleType) -> object:
    stories = load_script("experiments/stories.py")
    return stories.World(
        {"male": ["Bob"], "female": ["Ann"]},
        ["Lee"],
        [],
        {"city": [("", "Paris", "Paris"), ("", "Vienna", "Vienna")]},
        [("Ann", "Lee", "female", "Ann_Lee")],
        [],
        lambda name: False,
    )


def surfaces(document: Document) -> dict[str, list[str]]:
    """The mentions of each cluster by the longest of them, or by the entity."""
    return {
        cluster.entity or max((document.text[m.begin : m.end] for m in cluster.mentions), key=len): [
            document.text[m.begin : m.end] for m in cluster.mentions
        ]
        for cluster in document.clusters or []
    }


@pytest.mark.parametrize("scope", ["named", "entities", "all"])
def test_two_people_of_one_last_name(script: ModuleType, world: object, scope: str) -> None:
    template = (
        "{a} (met|saw) {b} in {city}. {b.last} told {a.him} that {b.he} knew. {a.title} and {a.his} {b.spouse} left."
    )
    for seed in range(20):
        found = script.family(world, template, "Lee", random.Random(seed), "x", scope)
        ann_first = found.text.startswith("Ann Lee")
        his, hers = ["Bob Lee", "Lee"], ["Ann Lee", "Lee"]
        assert ("Mrs" in found.text or "Ms" in found.text or "Miss" in found.text) == ann_first
        assert ("her husband left" if ann_first else "his wife left") in found.text
        if scope == "all" and ann_first:
            his, hers = ["Bob Lee", "Lee", "he"], ["Ann Lee", "her", "Lee", "her"]
        elif scope == "all":
            his, hers = ["Bob Lee", "him", "Lee", "his"], ["Ann Lee", "Lee", "she"]
        city = "Paris" if "Paris" in found.text else "Vienna"
        assert surfaces(found) == {"Ann_Lee": hers, "Bob Lee": his, city: [city]}
        assert found.mentions == sorted(m.offsets for c in found.clusters for m in c.mentions)
        assert found.mention_scope == scope


def test_every_story_is_about_a_man_and_a_woman_who_are_named(script: ModuleType, world: object) -> None:
    lines = (script.FOLDER / "families.txt").read_text(encoding="utf-8").splitlines()
    for template in (line for line in lines if not line.startswith("#")):
        for seed in range(8):
            found = script.family(world, template, "Lee", random.Random(seed), "x", "all")
            assert not set("{}()|") & set(found.text), found.text
            assert len(found.clusters) == (3 if "{city}" in template and len(surfaces(found)) == 3 else 2), found.text
            assert "Bob Lee" in surfaces(found)["Bob Lee"] and "Ann Lee" in surfaces(found)["Ann_Lee"]


def test_texts_are_joined_by_their_entities(script: ModuleType) -> None:
    one = Document("Lyon won.", clusters=[Cluster((Mention(0, 4, "Lyon"),), "Lyon_F.C.")])
    two = Document("In Lyon it rains.", clusters=[Cluster((Mention(3, 7, "Lyon"),), "Lyon")])
    lee = Document("Lee sat.", clusters=[Cluster((Mention(0, 3, "Lee"),))])
    found = script.joined([one, two, lee, one, lee], "x", "entities")
    assert found.text == "Lyon won. In Lyon it rains. Lee sat. Lyon won. Lee sat."
    assert [(c.entity, [m.offsets for m in c.mentions]) for c in found.clusters] == [
        ("Lyon_F.C.", [(0, 4), (37, 41)]),
        ("Lyon", [(13, 17)]),
        (None, [(28, 31)]),
        (None, [(47, 50)]),
    ]
    assert len(found.mentions) == 5 and found.mention_scope == "entities"


def test_one_name_has_two_clusters(script: ModuleType, world: object) -> None:
    kb = KnowledgeBase.build(ALIASES)
    made = list(script.namesake_passages(world, ["Lyon", "Paris"], kb, 120, 5))
    assert made == list(script.namesake_passages(world, ["Paris", "Lyon"], kb, 120, 5))
    kinds = set()
    for document in made:
        words = [{word for name in names for word in name.split()} for names in surfaces(document).values()]
        assert any(one & other for n, one in enumerate(words) for other in words[:n]), document.text
        kinds.add((document.mention_scope, "Lee" in document.text, "Lyon" in document.text))
    assert {scope for scope, *_ in kinds} == {"named", "entities", "all"}
    assert {(lee, lyon) for _, lee, lyon in kinds} == {(True, False), (False, True), (False, False)}
    kept = list(script.namesake_passages(world, ["Lyon", "Paris"], kb, 120, 5, (), {"Lyon"}))
    assert not any("Lyon" in document.text for document in kept)


def test_one_of_a_family_may_be_known(script: ModuleType, world: object) -> None:
    person = ("Sue", "Koch", "female", "Sue_Koch")
    found = script.family(world, "{a} saw {b}. {a.last} left.", "Lee", random.Random(1), "x", "named", person)
    left = "Sue" if found.text.startswith("Sue") else "Bob"
    names = {f"{name} Koch": [f"{name} Koch", *(["Koch"] if name == left else [])] for name in ("Sue", "Bob")}
    assert {max(v, key=len): v for v in surfaces(found).values()} == names
