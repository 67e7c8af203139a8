"""Names that give way to descriptions and pronouns, on an article in DWIE's form written for this test."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hf_corefel import Document
from hf_corefel.formats import read_jsonl
from script_loading import load_script

TEXT = (
    "Chancellor Anna Berg met Carl Moss in Oslo.\n"
    "Berg said that she had time. Later, Berg's office praised Norway. On Friday Berg will fly home. "
    "Norway is proud of Berg. Reporters waited for Moss. The Bergland club waits."
)
CONCEPTS: list[dict[str, Any]] = [
    {"text": "Anna Berg", "link": "Anna_Berg", "tags": ["type::person", "type::head_of_gov", "gender::female"]},
    {"text": "Carl Moss", "link": None, "tags": ["type::person", "type::writer", "gender::male"]},
    {"text": "Oslo", "link": "Oslo", "tags": ["type::gpe2"]},
    {"text": "Norway", "link": "Norway", "tags": ["type::gpe0", "type::location"]},
    {"text": "Chancellor", "link": None, "tags": ["type::role"]},
    {"text": "Norwegian", "link": "Norway", "tags": ["type::gpe0-x"]},
]
NAMES = [("Anna Berg", 0), ("Berg", 0), ("Carl Moss", 1), ("Moss", 1), ("Oslo", 2), ("Norway", 3), ("Chancellor", 4)]


def article(number: int) -> dict[str, Any]:
    mentions, taken = [], set()
    for name, concept in NAMES:
        for found in re.finditer(rf"\b{name}\b", TEXT):
            if not taken & set(range(*found.span())):
                taken |= set(range(*found.span()))
                begin, end = found.span()
                mentions.append({"begin": begin, "end": end, "text": name, "concept": concept})
    return {
        "id": f"DW_{number}",
        "content": TEXT,
        "tags": ["all", "train"],
        "concepts": [{"concept": n, **concept} for n, concept in enumerate(CONCEPTS)],
        "mentions": mentions,
        "relations": [{"s": 0, "p": "citizen_of-x", "o": 5}],
    }


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/replace_names.py")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for number in range(3):
        (tmp_path / f"DW_{number}.json").write_text(json.dumps(article(number)), encoding="utf-8")
    return tmp_path


def passages(script: ModuleType, corpus: Path, *options: str) -> list[Document]:
    out = corpus / "out.jsonl"
    script.main(["--data-dir", str(corpus), "--out", str(out), "--words", "100", "100", *options])
    return list(read_jsonl(out))


def test_names_give_way_and_who_is_meant_stays_known(script: ModuleType, corpus: Path) -> None:
    found = passages(script, corpus, "--copies", "30")
    words = {"Anna_Berg": set(), "Oslo": set(), "Norway": set(), None: set()}
    for document in found:
        assert document.mention_scope == "all"
        offsets = [mention.offsets for cluster in document.clusters or [] for mention in cluster.mentions]
        assert sorted(offsets) == document.mentions
        for cluster in document.clusters or []:
            words[cluster.entity] |= {document.text[m.begin : m.end] for m in cluster.mentions}
    titles = {"prime minister", "premier", "head of government", "chancellor"}
    descriptions = {
        f"{the} {adjective}{noun}" for the in ("the", "The") for adjective in ("", "Norwegian ") for noun in titles
    }
    assert words["Anna_Berg"] <= {"Anna Berg", "Berg", "She", "she", "her", "her office"} | descriptions
    assert {"she", "her"} & words["Anna_Berg"] and len(words["Anna_Berg"] & descriptions) > 3
    assert words["Norway"] >= {"Norway", "The country"} and words[None] >= {"Carl Moss", "Moss", "the author"}
    # A role is part of a mention, and the pronoun that nobody annotated is none.
    assert all("Chancellor" not in surfaces for surfaces in words.values())
    # The other words stay as they are.
    for document in found:
        assert document.text.endswith("The Bergland club waits.") and " said that she had time." in document.text


def test_the_possessive_ending_goes_with_a_pronoun_and_stays_with_a_description(script: ModuleType) -> None:
    entity = script.Entity({"person"}, "female", ("minister",))
    begin = TEXT.index("Berg's")
    mention = script.Place(begin, begin + 4, 0)
    assert script.replacement(
        TEXT, mention, entity, random.Random(1), nouns=["minister"], pronoun=True
    ) == script.Place(begin, begin + 6, 0, "her")
    assert script.replacement(
        TEXT, mention, entity, random.Random(1), nouns=["minister"], pronoun=False
    ) == script.Place(begin, begin + 4, 0, "the minister")
    # Part of another name: no noun phrase by itself.
    inside = TEXT.index("Berg met")
    assert (
        script.replacement(
            TEXT, script.Place(inside, inside + 4, 0), entity, random.Random(1), nouns=["x"], pronoun=True
        )
        is None
    )


def test_nothing_of_the_other_part_and_the_same_again(script: ModuleType, corpus: Path) -> None:
    train, development = (
        passages(script, corpus, "--copies", "3"),
        passages(script, corpus, "--copies", "3", "--development"),
    )
    # Every tenth article, hence the first, is for development.
    assert {document.id.split(".")[0] for document in train if document.id} == {"DW_1", "DW_2"}
    assert {document.id.split(".")[0] for document in development if document.id} == {"DW_0"}
    assert passages(script, corpus, "--copies", "3") == train


def test_nouns_of_the_first_sentence(script: ModuleType) -> None:
    text = "Anna Berg is a Norwegian stateswoman and retired politician who served as Prime Minister of Norway."
    assert script.nouns_of_description(text) == ("prime minister", "stateswoman")
    assert script.nouns_of_description("It has no verb of that kind.") == ()


def test_of_two_entities_at_one_place_one_is_kept(script: ModuleType) -> None:
    begin = TEXT.index("Oslo")
    entities = [
        script.Entity({"gpe2"}, None, (), mentions=[(begin, begin + 4)], link=link) for link in ("Oslo", "Port")
    ]
    norway = [found.span() for found in re.finditer("Norway", TEXT)]
    entities.append(script.Entity({"gpe0"}, "thing", ("country",), mentions=norway, link="Norway"))
    found = [script.replaced_passage(TEXT, (0, len(TEXT)), entities, random.Random(seed), "x") for seed in range(20)]
    passages = [document for document in found if document is not None]
    assert passages
    for document in passages:
        assert {cluster.entity for cluster in document.clusters} == {"Oslo", "Norway"}
