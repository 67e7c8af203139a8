"""Knowledge bases with Wikidata's labels, aliases, descriptions and types, beside a dump or alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import KnowledgeBase
from hf_corefel.wikipedia.from_dump import build_from_wikipedia
from hf_corefel.wikipedia.from_items import build_from_wikidata
from little_dumps import write_dump


def item(qid: str, label: str | None, *aliases: str, title: str | None = None, of: str | None = None) -> dict[str, Any]:
    """An item of Wikidata's JSON in English; `of` is what it is an instance of."""
    claims = {}
    if of is not None:
        value = {"entity-type": "item", "numeric-id": int(of[1:]), "id": of}
        snak = {"snaktype": "value", "property": "P31", "datavalue": {"value": value, "type": "wikibase-entityid"}}
        claims["P31"] = [{"mainsnak": snak, "rank": "normal", "type": "statement"}]
    return {
        "type": "item",
        "id": qid,
        "labels": {} if label is None else {"en": {"language": "en", "value": label}},
        "descriptions": {"en": {"language": "en", "value": f"described as {qid}"}},
        "aliases": {"en": [{"language": "en", "value": alias} for alias in aliases]} if aliases else {},
        "claims": claims,
        "sitelinks": {} if title is None else {"enwiki": {"site": "enwiki", "title": title, "badges": []}},
    }


ITEMS = [
    item("Q585", "Oslo", "Tigerstaden", "Viken city", title="Oslo", of="Q515"),
    item("Q20", "Norway", title="Norway", of="Q6256"),
    item("Q7000", "Ann Somebody", "Viken city", of="Q5"),
    item("Q8000", None),
]


@pytest.fixture
def wikidata(tmp_path: Path) -> Path:
    path = tmp_path / "items.json.gz"
    lines = ",\n".join(json.dumps(found) for found in ITEMS)
    path.write_bytes(gzip.compress(f"[\n{lines}\n]\n".encode()))
    return path


@pytest.fixture
def page_props(tmp_path: Path) -> Path:
    """QIDs of Oslo (page 1), of Bergen (page 3), and another one of Norway than Wikidata gives."""
    path = tmp_path / "page_props.sql.gz"
    rows = "(1,'wikibase_item','Q585',NULL),(3,'wikibase_item','Q26793',NULL),(2,'wikibase_item','Q999',NULL)"
    table = "CREATE TABLE `page_props` (\n  `pp_page` int(10),\n  `pp_propname` varbinary(60),\n  `pp_value` blob\n);\n"
    path.write_bytes(gzip.compress(f"{table}INSERT INTO `page_props` VALUES {rows};\n".encode()))
    return path


def test_identifiers_types_and_labels_beside_a_dump(tmp_path: Path, wikidata: Path, page_props: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml")
    report = build_from_wikipedia(
        [dump], tmp_path / "kb", page_props=page_props, wikidata=wikidata, workers=1, language="en"
    )
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    found = {name: kb.wikidata(name) for name in ("Oslo", "Norway", "Bergen", "Oslo_(band)")}
    assert found == {"Oslo": "Q585", "Norway": "Q999", "Bergen": "Q26793", "Oslo_(band)": None}
    assert kb.entity_of("wikidata", "Q585") == "Oslo"
    assert report["left out"]["QIDs that page_props and Wikidata give differently"] == 1
    assert report["examples"]["QIDs that page_props and Wikidata give differently"] == ["Norway"]
    assert report["entities with a QID"] == 3
    assert [entity.entity for entity in kb.candidates("Tigerstaden")] == ["Oslo"]
    assert kb.type("Oslo") == "place"
    assert str(kb.description("Oslo")).startswith("Capital of Norway. Oslo is the capital of Norway.")
    assert report["sources"]["Wikidata"] == {"entities": 1, "surfaces": 3, "candidates": 3}
    told = {source["name"]: source["licence"] for source in kb.provenance["sources"]}
    assert told["Wikidata: labels and aliases"] == "CC0 1.0" and told["Wikipedia: links"] == "CC BY-SA 4.0"


def test_identifiers_by_the_titles_of_articles_alone(tmp_path: Path, wikidata: Path) -> None:
    build_from_wikipedia([write_dump(tmp_path / "dump.xml")], tmp_path / "kb", wikidata=wikidata, workers=1)
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert (kb.wikidata("Oslo"), kb.wikidata("Norway"), kb.wikidata("Bergen")) == ("Q585", "Q20", None)


def test_wikidata_alone(tmp_path: Path, wikidata: Path) -> None:
    report = build_from_wikidata(wikidata, tmp_path / "kb")
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert report["read"] == {"items": 4, "items without label and article": 1}
    assert kb.num_entities == 3 and kb.wikidata("wikidata:Q7000") == "Q7000"
    assert kb.type("wikidata:Q7000") == "person" and kb.description("Oslo") == "described as Q585"
    assert kb.url("wikidata:Q7000") == "https://www.wikidata.org/wiki/Q7000"
    # Weights: the title 1 and the label 1/2; aliases 1/5 each; 1/4 for what nobody saw.
    assert [(one.entity, pytest.approx(one.prior)) for one in kb.candidates("Oslo")] == [("Oslo", 1.5 / 1.75)]
    assert {one.entity: pytest.approx(one.prior) for one in kb.candidates("Viken city")} == {
        "Oslo": 0.2 / 0.65,
        "wikidata:Q7000": 0.2 / 0.65,
    }
    # The last name of a person.
    assert [one.entity for one in kb.candidates("Somebody")] == ["wikidata:Q7000"]


@pytest.mark.parametrize(
    ("language", "database", "given"), [("nb", "nowiki", "no"), ("en", "simplewiki", "en"), ("en", "mirror", "en")]
)
def test_items_are_those_of_the_dumps_own_wiki(tmp_path: Path, language: str, database: str, given: str) -> None:
    pages = [("Oslo", "In [[Norge]]."), ("Norge", "With [[Oslo]].")]
    dump = write_dump(tmp_path / "dump.xml", pages, language=language)
    text = dump.read_text(encoding="utf-8").replace(f"<dbname>{language}wiki<", f"<dbname>{database}<")
    dump.write_text(text, encoding="utf-8")
    wiki = "enwiki" if database == "mirror" else database
    titles = {wiki: {"site": wiki, "title": "Oslo"}, "xwiki": {"site": "xwiki", "title": "Norge"}}
    if wiki != "enwiki":
        titles["enwiki"] = {"site": "enwiki", "title": "Norge"}
    items = tmp_path / "items.json"
    items.write_text("[\n" + json.dumps({**item("Q585", "Oslo"), "sitelinks": titles}) + "\n]\n")
    report = build_from_wikipedia([dump], tmp_path / "kb", wikidata=items, workers=1, language=given)
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert (kb.wikidata("Oslo"), kb.wikidata("Norge")) == ("Q585", None) and report["read"]["items"] == 1


def test_a_dump_of_wikidata_that_gives_nothing_is_said(tmp_path: Path, wikidata: Path) -> None:
    dump = write_dump(tmp_path / "dump.xml", [("Oslo", "In [[Norge]]."), ("Norge", "With [[Oslo]].")], language="fr")
    with pytest.warns(UserWarning, match="no item in it has an article in frwiki"):
        build_from_wikipedia([dump], tmp_path / "kb", wikidata=wikidata, workers=1)


def test_wikidata_alone_in_a_language_with_two_codes(tmp_path: Path) -> None:
    found = item("Q585", None, title="Oslo")
    found["labels"] = {"nb": {"language": "nb", "value": "Oslo by"}}
    found["sitelinks"] = {"nowiki": {"site": "nowiki", "title": "Oslo"}}
    (tmp_path / "items.json").write_text(f"[\n{json.dumps(found)}\n]\n")
    for language in ("no", "nb"):
        build_from_wikidata(tmp_path / "items.json", tmp_path / language, language=language, workers=1)
        kb = KnowledgeBase.from_pretrained(tmp_path / language)
        assert [one.entity for one in kb.candidates("Oslo by")] == ["Oslo"]
        assert kb.url("Oslo") == "https://no.wikipedia.org/wiki/Oslo"


def test_pages_of_other_namespaces_are_no_entities(tmp_path: Path) -> None:
    pages = ["Category:Towns", "Wikipedia:Foo", "Help:X", "User:Bob/x", "Star Wars: A New Hope"]
    items = [json.dumps(item(f"Q{number}", title, title=title)) for number, title in enumerate(pages, start=1)]
    (tmp_path / "items.json").write_text("[\n" + ",\n".join(items) + "\n]\n")
    report = build_from_wikidata(tmp_path / "items.json", tmp_path / "kb", workers=1)
    assert list(KnowledgeBase.from_pretrained(tmp_path / "kb").entities()) == ["Star_Wars:_A_New_Hope"]
    assert report["read"]["items that only serve wikis"] == 4
