from __future__ import annotations

from pathlib import Path

import pytest

from dump_files import dump_xml, head_xml, page_xml, pages_of
from hf_corefel.wikipedia.dumps import Page, read_site
from hf_corefel.wikipedia.facts import PageFacts, page_facts
from hf_corefel.wikipedia.site import Site

SITE = Site()


def facts(text: str, title: str = "Title", site: Site = SITE, redirect: str | None = None) -> PageFacts:
    return page_facts(Page(title, 0, 1, redirect, text, 0), site)


def test_an_article() -> None:
    text = """{{Short description|City in Texas}}
{{Infobox settlement|name=[[Denton]]|image=[[File:a.jpg|thumb]]}}
:''For the county, see [[Denton County, Texas]].''
'''Denton''' ({{IPAc-en|d}}; {{lang-de|}}, '''DTX''') is a [[city]] in the [[U.S. state|state]] of [[Texas]]{{sfn|X}}.
It has [[bus]]es.<ref>[[Note]]</ref>

== History ==
It was [[founded]] in 1857.
== See also ==
* [[Dallas]]
[[Category:Cities in Texas]]
"""
    found = facts(text, "Denton,_Texas")
    assert found.title == "Denton, Texas" and found.kind == "article" and found.type == "place"
    assert found.short_description == "City in Texas"
    assert found.lead == "Denton (DTX) is a city in the state of Texas. It has buses."
    assert [link.target for link in found.links] == [
        "Denton County, Texas",
        "City",
        "U.S. state",
        "Texas",
        "Bus",
        "Founded",
    ]
    assert found.plain_text.split("\n") == [
        "For the county, see Denton County, Texas.",
        "Denton (; , DTX) is a city in the state of Texas. It has buses.",
        "It was founded in 1857.",
    ]


def test_initialisms_of_the_lead() -> None:
    assert facts(
        "The '''World Health Organization''' (WHO) is an [[agency]].", "World Health Organization"
    ).initialisms == ["WHO"]


REDIRECTS = {
    "#REDIRECT [[other town#History|x]]": "Other town",
    "#redirect: [[:Other town]]\n{{R from move}}": "Other town",
    "  #REDIRECT[[Other_town]]": "Other town",
    "#WEITERLEITUNG [[Other town]]": "Other town",
    "#ПЕРЕНАПРАВЛЕНИЕ [[Other town]]": "Other town",
    "#REDIRECT [[Category:Towns]]": None,
    "#REDIRECT [[wikt:town]]": None,
    "#REDIRECT [[#History]]": None,
}


@pytest.mark.parametrize("text", REDIRECTS)
def test_redirects(text: str) -> None:
    assert facts(text) == PageFacts("Title", "redirect", redirect=REDIRECTS[text])


def test_the_mark_of_a_redirect_comes_before_the_text() -> None:
    assert facts("", redirect="a_b#c").redirect == "A b"
    assert facts("#REDIRECT [[X]]", redirect="Y").redirect == "Y"
    assert facts("#1 [[X]] is no redirect").kind == "article"
    assert facts("# [[X]]\n# [[Y]]").kind == "article"


DISAMBIGUATIONS = {
    "english": ("{{disambig}}", "Mercury", "en"),
    "with arguments": ("{{Disambiguation|geo|name}}", "Mercury", "en"),
    "of names": ("{{Human name disambiguation}}", "Mercury", "en"),
    "by a switch": ("__DISAMBIG__", "Mercury", "en"),
    "by its title": ("", "Mercury (disambiguation)", "en"),
    "german": ("{{Begriffsklärung}}", "Mercury", "de"),
    "french": ("{{Homonymie}}", "Mercury", "fr"),
    "russian": ("{{Неоднозначность}}", "Mercury (значения)", "ru"),
}


@pytest.mark.parametrize("name", DISAMBIGUATIONS)
def test_disambiguation_pages(name: str) -> None:
    template, title, language = DISAMBIGUATIONS[name]
    text = f"""'''Mercury''' may be [[something]]:
* [[Mercury (planet)]], next to the [[Sun]]
* ''[[Mercury (film)|Mercury]]'', a film by [[Somebody]]
* a brand of [[Ford Motor Company]]
* the project [[Project Mercury]]
== See also ==
* [[Merkur]]
{template}"""
    found = facts(text, title, Site(language=language))
    assert found.kind == "disambiguation" and found.lead == "" and found.type is None
    assert found.links == [
        ("Mercury (planet)", "Mercury (planet)"),
        ("Mercury", "Mercury (film)"),
        ("Project Mercury", "Project Mercury"),
    ]


def test_a_mention_of_disambiguation_makes_none() -> None:
    assert facts("[[X]]{{disambiguation needed}} {{For disambiguation|X}} {{about|x}}").kind == "article"


def test_other_pages() -> None:
    assert page_facts(Page("Talk:X", 1, 1, None, "[[Y]]", 0), SITE) == PageFacts("Talk:X", "other_namespace")
    assert page_facts(Page("X", 0, 1, None, "{}", 0, "json"), SITE) == PageFacts("X", "skipped")


def test_a_lead_is_the_first_sentence_that_is_one() -> None:
    assert facts("[[File:a.jpg|thumb|A caption of three words]]\n\nOne.\n\nThis is it, the lead.\n\nNo more.").lead == (
        "This is it, the lead."
    )
    assert facts("{|\n| a table of many words\n|}\n* an item of a list\n==H==\nThis is no lead.").lead == ""
    assert facts("'''A''' ( , ; born 1961; ) is ( or ) a b .").lead == "A (born 1961) is a b."


def test_pages_of_right_to_left_wikis_and_of_a_wiktionary(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    namespaces = {0: "", 6: "קובץ", 14: "קטגוריה"}
    head = head_xml(database="hewiki", language="he", namespaces=namespaces)
    text = "[[קובץ:א.jpg|ממוזער|ליד [[חיפה]]]]'''ירושלים''' היא [[עיר]]ים ב[[ישראל]]. [[קטגוריה:ערים]]"
    path.write_bytes(dump_xml([page_xml("ירושלים", text)], head))
    site = read_site(path)
    found = page_facts(pages_of(path)[0][0], site)
    assert found.title == "ירושלים" and found.type is None
    assert found.links == [("עירים", "עיר"), ("ישראל", "ישראל"), ("חיפה", "חיפה")]
    head = head_xml(site="Wiktionary", database="enwiktionary", case="case-sensitive")
    path.write_bytes(dump_xml([page_xml("word", "==English==\na [[unit]] of [[Language]]s [[de:word]]")], head))
    site = read_site(path)
    found = page_facts(pages_of(path)[0][0], site)
    assert (site.name, found.title) == ("Wiktionary", "word")
    assert found.links == [("unit", "unit"), ("Languages", "Language")]


def test_titles_are_normalised_as_the_wiki_does() -> None:
    assert SITE.normalise(" new__york \u200e") == "New york"
    assert SITE.normalise("e\u0301tude") == "Étude"
    assert SITE.normalise("a&amp;b") == "A&b"
    assert Site(case="case-sensitive").normalise("word") == "word"
    assert SITE.split_title("image:A b") == (6, "A b") and SITE.split_title("Alien: Covenant") == (0, "Alien: Covenant")


def test_first_letters_by_the_rules_of_a_language() -> None:
    assert Site(language="tr").normalise("istanbul") == "İstanbul" and SITE.normalise("istanbul") == "Istanbul"
    assert Site(language="nl").normalise("ijmuiden") == "IJmuiden" and SITE.normalise("ijmuiden") == "Ijmuiden"
    assert Site(language="ka").normalise("თბილისი") == "თბილისი"
    assert SITE.normalise("ßx") == "ßx" and SITE.normalise("ябл") == "Ябл"
