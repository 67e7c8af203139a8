"""Acronyms that are spelled like ordinary words, in place of others."""

from __future__ import annotations

import random
import re
from types import ModuleType

import pytest

from hf_corefel import Cluster, Document, Mention
from script_loading import load_script

TEXT = (
    "The EU met NATO in Oslo. The EU said that aid would come, and that NATO (the Alliance) would help. "
    "UNO and ESA sat."
)
ENTITIES = {"THAT": "That_(party)", "EU": "European_Union"}.get


@pytest.fixture(scope="module")
def script() -> ModuleType:
    load_script("experiments/write_passages.py")  # finds the scripts beside it
    return load_script("experiments/acronym_passages.py")


def passage() -> Document:
    def cluster(entity: str | None, *names: str) -> Cluster:
        places = sorted(m.span() for name in names for m in re.finditer(rf"\b{name}\b", TEXT))
        return Cluster(tuple(Mention(b, e, TEXT[b:e]) for b, e in places), entity)

    clusters = [cluster("European_Union", "EU"), cluster("NATO", "NATO", "the Alliance"), cluster("Oslo", "Oslo")]
    return Document(TEXT, "p", clusters=[*clusters, cluster(None, "ESA")], mention_scope="named")


def test_ordinary_words_are_those_in_small_letters(script: ModuleType) -> None:
    documents = [Document("That is aid and the aid. AID " * 5)]
    assert script.ordinary_words(documents) == {"aid": 10, "and": 5, "is": 5, "the": 5}
    assert script.ordinary_words(documents, {"AID"}) == {"and": 5, "is": 5, "the": 5}


def test_acronyms_become_words_in_capitals_everywhere(script: ModuleType) -> None:
    words = {"that": 20, "and": 9, "come": 5}
    entities = set()
    for seed in range(40):
        changed = script.with_other_acronyms(passage(), words, ENTITIES, random.Random(seed))
        surfaces = [(c.entity, [changed.text[m.begin : m.end] for m in c.mentions]) for c in changed.clusters]
        (entity, (first, second)), (_, nato), (_, oslo), (lost, (esa,)) = surfaces
        assert first == second and first.lower() in words and esa.lower() in words and first != esa
        # What has another name too, or is no mention, stays.
        assert (
            nato == ["NATO", "NATO", "the Alliance"]
            and oslo == ["Oslo"]
            and "UNO and" in changed.text.replace("AND", "and")
        )
        assert not re.search(r"\b(EU|ESA)\b", changed.text)
        assert entity == {"THAT": "That_(party)"}.get(first) and lost == {"THAT": "That_(party)"}.get(esa)
        assert all(m.text == changed.text[m.begin : m.end] for c in changed.clusters for m in c.mentions)
        assert changed.annotated.links == "some" and changed.mention_scope == "named"
        entities.add(entity)
    assert entities == {None, "That_(party)"}


def test_a_passage_without_acronyms_gives_none(script: ModuleType) -> None:
    document = Document("Oslo is cold.", "p", clusters=[Cluster((Mention(0, 4),), "Oslo")])
    assert list(script.acronym_passages([document] * 5, ENTITIES, 1)) == []


def test_stressed_words_are_no_mentions(script: ModuleType) -> None:
    document = passage()
    changed = [script.stressed(document, {"said", "come", "help"}, random.Random(seed)) for seed in range(60)]
    stressed = [re.sub(r"EU|NATO|UNO|ESA", "", c.text) for c in changed]
    found = {match.group() for text in stressed for match in re.finditer(r"\b[A-Z]{2,}\b", text)}
    assert found == {"SAID", "COME", "HELP"} and TEXT in {c.text for c in changed}
    assert all(
        [m.offsets for x in c.clusters for m in x.mentions]
        == [m.offsets for x in document.clusters or [] for m in x.mentions]
        for c in changed
    )


def test_reserved_acronyms_are_not_drawn(script: ModuleType) -> None:
    documents = [passage()] * 5
    taken = {
        word
        for seed in range(30)
        for d in script.acronym_passages(documents, ENTITIES, seed, {"THAT", "WOULD"})
        for c in d.clusters
        for word in (d.text[m.begin : m.end] for m in c.mentions)
    }
    assert taken & {"AND", "THE", "AID"} and not taken & {"THAT", "WOULD"}
