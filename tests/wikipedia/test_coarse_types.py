from __future__ import annotations

import pytest

from hf_corefel.wikipedia import item_classes, type_words
from hf_corefel.wikipedia.coarse_types import type_by_description, type_by_hints, type_by_lead, type_with_title

LEADS = {
    "Denton is a city in and the county seat of Denton County, Texas.": "place",
    "Tim Cook (born November 1, 1960) is an American business executive.": "person",
    "Albert Einstein was a German-born theoretical physicist best known for his theory.": "person",
    "Johann Bach (31 March 1685 – 28 July 1750) was one whom nobody knows by a noun.": "person",
    "France, officially the French Republic, is a country primarily located in Western Europe.": "place",
    "Colombo is Sri Lanka's largest city.": "place",
    "Tesla, Inc. is an American multinational automotive and clean energy company.": "organization",
    "Nirvana was an American rock band formed in Aberdeen.": "organization",
    "The United States Army is the land service branch of the United States Armed Forces.": "organization",
    "Dune is a 1965 epic science fiction novel by Frank Herbert.": "work",
    "Dune was one of a series of novels by Frank Herbert.": "work",
    "The Battle of Hastings was a battle between two armies.": "event",
    "The 2010 Winter Olympics were an international multi-sport event.": "event",
    "The iPhone 4 is a smartphone by Apple.": "product",
    "Python is a high-level programming language.": "product",
    "The red fox is the largest of the true foxes and a species of mammal.": None,
    "Panthera leo is a large cat species native to Africa.": "species",
    "French is a Romance language of the Indo-European family.": "other",
    "Epilepsy is a group of neurological disorders.": "other",
    "Anesthesia is a state of controlled, temporary loss of sensation.": "other",
    "Bavaria is a state of Germany.": "place",
    "The Sami are the indigenous people inhabiting the region of Sapmi.": "other",
    "Alveolates are a group of protists.": None,
    "California is a U.S. state on the Pacific Coast.": "place",
    "The Ohio River is a 981-mile-long (1,579 km) river.": "place",
    "Craps is a casino banking game.": "work",
    "Storks live in many regions.": None,
    "": None,
}


@pytest.mark.parametrize("lead", LEADS)
def test_types_by_lead(lead: str) -> None:
    assert type_by_lead(lead) == LEADS[lead]


DESCRIPTIONS = {
    "city in Texas, United States": "place",
    "2010 film by Shawn Levy": "work",
    "1954–1955 fantasy novel by J. R. R. Tolkien": "work",
    "English film, stage and television actor": "person",
    "Greek-American film and theatre director": "person",
    "(1857–1934) English composer": "person",
    "men's national association football team representing Malta": "organization",
    "American multinational technology and consulting corporation": "organization",
    "lower house of the United States Congress": "organization",
    "species of plant": "species",
    "constitutional monarchy in East Asia": "place",
    "French department": "place",
    "state of the United States of America": "place",
    "award": "other",
    "American producer of computers, smartphones and software, based in Cupertino": None,
    "American producer of B movies": "person",
    "American film producer of South African descent": "person",
    "video game developer and publisher": "organization",
    "Italian director and producer of films and television": "person",
    "Japanese developer and publisher of video games": None,
    "American media company, publisher of The New York Times": "organization",
    "American computer- and video game publisher": "organization",
    "Scottish marine engineering and shipbuilding firm": "organization",
    "of": None,
    "": None,
}


@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_types_by_description(description: str) -> None:
    assert type_by_description(description) == DESCRIPTIONS[description]


def test_titles_of_organizations_outweigh_persons_and_nothing() -> None:
    for title in (
        "Apple Inc.",
        "Canon, Inc.",
        "Toei Company",
        "Drake University",
        "Lewes F.C.",
        "Volvo AG",
        "Foo LLC (US)",
    ):
        assert type_with_title(title, None) == type_with_title(title, "person") == "organization", title
    assert type_with_title("Monsters, Inc.", "work") == "work"
    for title in ("Tim Cook", "Incorporated", "Company", "Sag", "Bohemian Records Shop"):
        assert type_with_title(title, None) is None and type_with_title(title, "person") == "person", title


def test_types_by_hints() -> None:
    assert type_by_hints("X", (), ["Towns", "1961 births"]) == "person"
    assert type_by_hints("X", (), ["Year of birth missing (living people)"]) == "person"
    assert type_by_hints("X", ["cite web", "infobox settlement"], ()) == "place"
    assert type_by_hints("X", ["infobox musical artist"], ()) is None  # a person or a band
    assert type_by_hints("X", ["infobox football club"], ()) == "organization"
    assert type_by_hints("X", ["speciesbox"], ()) == "species"
    assert type_by_hints("Dune (novel)", (), ()) == "work"
    assert type_by_hints("Dune (1984 film)", (), ()) == "work"
    assert type_by_hints("Dune (x", ["infobox"], ["Births"]) is None


def test_each_word_and_class_has_one_type() -> None:
    kinds = {"person", "organization", "place", "work", "event", "product", "species", "other"}
    assert set(type_words.NOUNS) == kinds and set(type_words.PHRASES.values()) <= kinds
    assert set(item_classes.CLASSES.values()) == kinds
    assert len(set().union(*type_words.NOUNS.values())) == sum(map(len, type_words.NOUNS.values()))
    assert len(item_classes.CLASSES) == sum(len(qids.split()) for qids in item_classes._BY_TYPE.values())
    assert item_classes.NO_ENTITIES.isdisjoint(item_classes.CLASSES)
