from __future__ import annotations

import re
import subprocess
import sys

import mwparserfromhell
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.wikipedia.site import Site
from hf_corefel.wikipedia.wikitext import Wikitext, read_wikitext

SITE = Site()


def plain(text: str, site: Site = SITE) -> str:
    return "\n".join(line.text for line in read_wikitext(text, site, "Title").lines)


def links(text: str, site: Site = SITE) -> list[tuple[str, str]]:
    return [tuple(link) for line in read_wikitext(text, site).lines for link in line.links]


TEXTS = {
    # markup: plain text
    "'''Bold''' and ''italic'' and '''''both'''''": "Bold and italic and both",
    "''''Four'' of them": "'Four of them",
    "one\ntwo\n\nthree": "one two\nthree",
    "a<!-- comment -->b<!-- no end [[x]]": "ab",
    "a<nowiki>[[b]] ''c'' {{d}} &amp;</nowiki>e": "a[[b]] ''c'' {{d}} &e",
    "a<ref name=x>note [[b]]</ref>, c<ref name=y />.": "a, c.",
    "a <math>x<y</math> b": "a b",
    "{{Infobox town|name=[[A]]|x={{nested|[[B]]}}}}The town.": "The town.",
    "{{short description|Town in [[Texas]]}}The town.": "The town.",
    "{{lang|fr|Liberté}}, {{lang-de|Freiheit}}, {{nowrap|New  York}}": "Liberté, Freiheit, New York",
    "{{convert|5|km|mi}} {{ndash}} {{circa|1900}}": "5 km – c. 1900",
    "{{hlist|[[A]]|[[B|b]]}}": "A, b",
    "{{PAGENAME}} {{{1|default}}} {{{1}}}": "Title default",
    "__NOTOC__ __TOC__text": "text",
    "A&nbsp;B &ndash; &#65; &#x42; &lt;b&gt; AT&T &unknown; &#99999999;": "A B – A B <b> AT&T &unknown; &#99999999;",
    "a<br />b <span style='x'>c</span> <b>d</b> 1 < 2 > 0": "a b c d 1 < 2 > 0",
    "[http://example.org label] and [//example.org] and http://example.org/x, y": "label and and y",
    "* one\n* two [[b]]\n# three\n: four\n; term : def": "one\ntwo b\nthree\nfour\nterm : def",
    "1\n{| class=wikitable\n|+ title\n! head !! x\n|-\n| style=y | a || [[b|c]]\n|}\n2": "1\ntitle\nhead\nx\na\nc\n2",
    "{|\n| [[a|b||c]] x || style=y | [[d|e|f]]\n! [[g|h!!i]] !! j\n|}": "b||c x\ne|f\nh!!i\nj",
    "{|\n|\n{|\n| inner\n|}\n| outer\n|}\ntext": "inner\nouter\ntext",
    "{| no end\n| cell\n== Next ==\ntext": "cell\ntext",
    "lead\n== See also ==\n* [[X]]\n=== More ===\n[[Y]]\n== History ==\nbody": "lead\nbody",
    "lead\n== Heading [[X]] ==\nbody": "lead\nbody",
    "[[File:A.jpg|thumb|left|200px|alt=no|A [[caption]] here]]Text": "Text\nA caption here",
    "[[File:A.jpg|thumb]][[Image:B.png|upright=1.2]][[Media:C.ogg]]Text": "Text",
    "[[File:A.jpg|thumb|A [[File:B.jpg|in]] [[c|d]]]]": "in\nA d",
    "<gallery mode=x>\nFile:A.jpg|One [[a]]\nB.jpg\n</gallery>Text": "Text\nOne a",
    "[[Category:Towns|*]][[de:Stadt]]Text [[:Category:Towns]] [[:de:Stadt]]": "Text Category:Towns de:Stadt",
    "[[wikt:town]] [[wikt:town|town]] [[s:Text|]]": "wikt:town town Text",
    "[[#History|below]] [[A#History]] [[A#B|c]]": "below A c",
    "[[Paris (Texas)|]] [[Paris, Texas|]] [[Help:Paris (x)|]]": "Paris Paris Paris",
    "[[bus]]es [[bus]]ES [[bus]]<nowiki />es [[a|b]]s.": "buses busES buses bs.",
    "[[New_York]] [[ a ]] [[a| b ]]c": "New York a b c",
    "[[A|''b'' '''c''']] [[A|d<small>e</small>]] [[A|f&nbsp;g]]": "b c de f g",
    "[[unclosed and [[good]] {{open": "unclosed and good open",
    "[[a|b]] ]] }} {{x": "b x",
    "[[[a]]] [[a[b]] [[<b>]] [[a|b|c]]": "[a] a[b b|c",
    "{{a|[[b}} c]] d": "c d",
    "{{a|{{b}} c": "a| c",
    "l'''[[Oise]]'''": "lOise",
    "'[[a|'b']]'": "''b''",
    ":''For other uses, see [[X]].''\nText": "For other uses, see X.\nText",
    "----\ntext": "text",
    "עברית [[ירושלים]]": "עברית ירושלים",
    "-{zh-hans:国; zh-hant:國}- -{字}- -{T|zh:a;en:b}- -{no end": "国 字 a -{no end",
    "": "",
}


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text(text: str) -> None:
    assert plain(text) == TEXTS[text]


LINKS = {
    "[[a]] [[B|b]] [[New_York#History|NY]] [[C#D]]": [("a", "A"), ("b", "B"), ("NY", "New York"), ("C", "C")],
    "[[bus]]es [[Paris (Texas)|]] [[ A  b |c]]": [("buses", "Bus"), ("Paris", "Paris (Texas)"), ("c", "A b")],
    "[[:Category:X|x]] [[Category:X]] [[de:X]] [[:de:X|x]] [[wikt:x|x]] [[Talk:X|x]] [[#s|x]] [[Image:X|x]]": [],
    "[[:A]] [[Caf%C3%A9|c]] [[A&amp;B|ab]] [[A &ndash; B]]": [
        ("A", "A"),
        ("c", "Café"),
        ("ab", "A&B"),
        ("A – B", "A – B"),
    ],
    "{|\n| [[a|b||c]] x || style=y | [[d|e|f]]\n|}": [("b||c", "A"), ("e|f", "D")],
    "[[Micro&macro]] [[AT&T]] [[a&notes;b]] [[R&amp;B]] [[c&#233;]]": [
        ("Micro&macro", "Micro&macro"),
        ("AT&T", "AT&T"),
        ("a&notes;b", "A&notes;b"),
        ("R&B", "R&B"),
        ("cé", "Cé"),
    ],
    "[[Star Wars: A film]] [[Q: and A|x]]": [("Star Wars: A film", "Star Wars: A film")],
    "[[A|[[B]]]] [[File:x|thumb|a [[C|c]]]]": [("B", "B"), ("c", "C")],
    "[[A|]] [[A| ]] [[A|<br>]] [[A|[[File:x.png]]]] [[|x]] [[]] [[ ]]": [("A", "A")],
    "{{Infobox|[[A]]}}<ref>[[B]]</ref>{{quote|[[C]]}}<nowiki>[[D]]</nowiki><!-- [[E]] -->": [("C", "C")],
    "[[e\u0301t]] [[\u200eX\u200f]]": [("e\u0301t", "Ét"), ("\u200eX\u200f", "X")],
    "[[ßa]] [[ǆabc|x]]": [("ßa", "ßa"), ("x", "Ǆabc")],
    f"[[{'x' * 256}|long]] [[{'x' * 255}|short]]": [("short", "X" + "x" * 254)],
    "[[A\nb|x]] [[a\tb]]": [("x", "A b"), ("a b", "A b")],
}


@pytest.mark.parametrize("text", LINKS)
def test_links(text: str) -> None:
    assert links(text) == LINKS[text]


def test_other_languages_and_cases() -> None:
    german = Site(language="de", namespaces={0: "", 6: "Datei", 14: "Kategorie"})
    text = "[[Datei:a.jpg|mini|links|Am [[Rhein]]]][[Bild:b.jpg]][[Kategorie:X]][[Category:Y]][[Haus]]tür [[en:House]]"
    assert plain(text, german) == "Haustür\nAm Rhein"
    assert read_wikitext(text, german).categories == ["X", "Y"]
    russian = Site(language="ru", namespaces={6: "Файл", 14: "Категория"})
    assert links("[[Файл:а.jpg|мини|вид [[река|реки]]]][[Категория:Y]][[город]]а", russian) == [
        ("города", "Город"),
        ("реки", "Река"),
    ]
    french = Site(language="fr", namespaces={6: "Fichier", 14: "Catégorie"})
    assert links("[[Fichier:a.jpg|vignette|droite|le [[roi]]]][[ville]]s [[Discuter:x]]", french) == [
        ("villes", "Ville"),
        ("Discuter:x", "Discuter:x"),
        ("roi", "Roi"),
    ]
    for code in ("nb", "no"):
        assert links("[[Fil:a.jpg|mini]][[Kategori:Y]][[by]]ær", Site(language=code)) == [("byær", "By")]
    wiktionary = Site(name="Wiktionary", case="case-sensitive")
    assert links("[[word]] [[Word]]", wiktionary) == [("word", "word"), ("Word", "Word")]


def test_what_is_known_beside_the_text() -> None:
    text = "__DISAMBIG__{{Short description|A ''[[town]]''|noreplace}}{{Infobox_Town }}[[Category:In_x|k]]"
    read = read_wikitext(text, SITE)
    assert read.switches == {"DISAMBIG"} and read.templates == {"short description", "infobox town"}
    assert read.short_description == "A town" and read.categories == ["In x"] and not read.lines
    assert read_wikitext("{{SHORTDESC:One}}{{short description|1=Two}}", SITE).short_description == "One"
    assert read_wikitext("{{short description|none}}{{short description|1=Two}}", SITE).short_description == "Two"
    lines = read_wikitext("p\n* l\n{|\n|c\n|}\n==h==\nq[[File:x|y]]", SITE).lines
    assert [(line.kind, line.in_lead) for line in lines] == [
        ("paragraph", True),
        ("list", True),
        ("cell", True),
        ("paragraph", False),
        ("caption", False),
    ]


SIGNS = st.text(
    st.one_of(st.sampled_from("[]{}|'<>=*#:;&!-_/\n aA\x01\x02\x03\x05\ud800\u200e\u0301"), st.characters()), max_size=3
)
MARKUP = [
    "[[",
    "]]",
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{|",
    "|}",
    "|-",
    "||",
    "|",
    "''",
    "'''",
    "<ref>",
    "</ref>",
    "<ref/>",
    "<nowiki>",
    "</nowiki>",
    "<!--",
    "-->",
    "<br>",
    "<b>",
    "</b>",
    "<gallery>",
    "</gallery>",
    "==",
    "*",
    "#",
    ":",
    "[[File:",
    "[[Category:",
    "[[de:",
    "[http://",
    "]",
    "http://x",
    "&nbsp;",
    "&#1;",
    "&#x5;",
    "&lt;",
    "__NOTOC__",
    "thumb|",
    "{{lang|x|",
    "{{shortdesc|",
    "#REDIRECT",
    "{{hlist|",
    "-{",
    "}-",
]
LONG_NUMBER = f"&#{'9' * 5000};"
WIKITEXT = st.lists(
    st.one_of(st.sampled_from([*MARKUP, LONG_NUMBER]), SIGNS, st.just("\n"), st.just("word ")), max_size=60
).map("".join)


@settings(max_examples=300, deadline=None)
@given(text=WIKITEXT)
def test_no_text_is_an_error_and_every_surface_is_text(text: str) -> None:
    read: Wikitext = read_wikitext(text, SITE, "Title")
    for line in read.lines:
        assert line.text == " ".join(line.text.split()) and line.text
        assert not set(line.text) & set("\0\x01\x02\x03\x04\x05\n")
        position = 0
        for surface, target in line.links:
            assert surface and surface == surface.strip() and target
            position = line.text.index(surface, position) + len(surface)


WELL_FORMED = st.recursive(
    st.one_of(
        st.sampled_from(["word ", "''i'' ", "\n\n", "[http://x y] ", "&amp; ", "a, b. "]),
        st.sampled_from(["a", "New York", "B (c)", "d#e", "Star: x"]).map(lambda title: f"[[{title}]] "),
        st.tuples(st.sampled_from(["a", "New York", "Category:x", "Talk:y", ":de:z"]), st.sampled_from("xyz")).map(
            lambda pair: f"[[{pair[0]}|{pair[1]}]] "
        ),
    ),
    lambda inner: (
        st.lists(inner, max_size=5)
        .map("".join)
        .flatmap(
            lambda text: st.sampled_from(
                [
                    f"<ref>{re.sub('</?ref>', '', text)}</ref>",
                    f"{{{{t|{text}}}}}",
                    f"<b>{text}</b>",
                    f"<!--{text}-->",
                    f"\n* {text}\n",
                    text,
                ]
            )
        )
    ),
    max_leaves=25,
)


def outside_of_notes(code: mwparserfromhell.wikicode.Wikicode) -> list[str]:
    """Returns the targets that another parser finds outside of templates, notes and comments."""
    found: list[str] = []
    for node in code.nodes:
        if isinstance(node, mwparserfromhell.nodes.Wikilink):
            target = SITE.target(str(node.title))
            if target and target.title and not target.namespace and not target.interwiki:
                found.append(target.title)
        elif isinstance(node, mwparserfromhell.nodes.Tag) and node.tag != "ref" and node.contents is not None:
            found += outside_of_notes(node.contents)
    return found


@settings(max_examples=100, deadline=None)
@given(text=WELL_FORMED)
def test_links_are_those_of_mwparserfromhell(text: str) -> None:
    code = mwparserfromhell.parse(text, skip_style_tags=True)
    assert [target for _, target in links(text)] == outside_of_notes(code)


# What takes quadratic time for one of these takes many minutes.
REPEATED = [
    "-{", "-{a|",
    "[[", "]]", "[[a|", "[[a]]", "{{", "}}", "{{a|b=", "{{{", "{{{{{", "}}}", "{|\n", "{|\n|a||", "|}\n", "<ref>",
    "<ref name=a", "<b>", "<", "<!--", "<nowiki>", "<gallery>", "<gallery>\n", "''", "'''''a", "'", "[http://a ",
    "[//", "http://a ", "h", "=", "=a\n", "==a==\n", "&", "&#1", "&a", " ", "\n", "\t\n", "*", "* [[\n", "__", "__A",
    "_", "[[File:a|", "[[File:a|thumb|[[b]] ", "[[a|]]", "[[a (b)|]]", "{{lang|x|", "{{hlist|a|",
    "{{short description|", "[[a|[[b|[[c", "|", "!!", "\x03", "[[a| ", "<nowiki>'</nowiki>", "é", "(", "(;", "{{{|",
    "(born ", "is a ", "is one of one of ", "in of ", "1900-", "(1900-", "(A", ", a", "# ",
]  # fmt: skip
LINEAR = """
import sys
from hf_corefel.wikipedia.dumps import Page
from hf_corefel.wikipedia.facts import page_facts
from hf_corefel.wikipedia.site import Site
for pattern in eval(sys.stdin.read()):
    page_facts(Page("T", 0, 1, None, pattern * (200_000 // len(pattern)) + "]]", 0), Site())
"""


def test_no_pattern_takes_quadratic_time() -> None:
    subprocess.run([sys.executable, "-c", LINEAR], input=repr(REPEATED), text=True, check=True, timeout=120)
