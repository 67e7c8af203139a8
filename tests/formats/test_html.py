"""The page: all of the text, every mention and its evidence, and no markup but its own."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.documents import Alternative, AnnotatedDocument, Cluster, Mention, Parent
from hf_corefel.documents.checks import join_surrogates
from hf_corefel.formats import render_html, write_html

VOID = {"meta"}
# Everything that the template writes; whatever else turns up came from a document.
ALLOWED = {
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "article": {"class", "id", "aria-labelledby"},
    "section": {"class", "aria-label"},
    "div": {"class", "dir"},
    "nav": {"aria-label"},
    "aside": {"aria-label"},
    "meter": {"min", "max", "value", "aria-label"},
    "mark": {"class", "id", "data-cluster", "data-tip", "data-again", "aria-describedby", "tabindex"},
    "a": {"href", "target", "rel"},
    "h2": {"class", "id"},
    "li": {"class", "id"},
    **{tag: {"class"} for tag in ("header", "ul", "ol", "p", "span", "details")},
    **{tag: set() for tag in ("head", "title", "style", "body", "main", "h1", "bdi", "summary")},
}


@dataclass
class Element:
    """A node of the page."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def find(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [e for e in self.walk() if e.tag == tag and wanted.items() <= e.attributes.items()]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())


class Page(HTMLParser):
    """Reads a page into elements; complains about tags that do not match and about names that stand there twice."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page", {})
        self._open = [self.root]
        self.feed(page)
        self.close()
        assert self._open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")


def shown(text: str) -> str:
    """As the page shows a text: pictures of control characters, and a mark for what UTF-8 or HTML cannot hold."""

    def picture(char: str) -> str:
        code = ord(char)
        if code < 0x20 and char not in "\t\n\r":
            return chr(0x2400 + code)
        if code == 0x7F:
            return "\N{SYMBOL FOR DELETE}"
        return "\N{REPLACEMENT CHARACTER}" if 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000 else char

    return "".join(map(picture, text))


def check(page: str, documents: list[AnnotatedDocument]) -> Element:
    """What holds of every page; gives its root."""
    page.encode("utf-8")
    root = Page(page).root
    for element in list(root.walk())[1:]:
        assert element.tag in ALLOWED, element.tag
        assert set(element.attributes) <= ALLOWED[element.tag], (element.tag, element.attributes)
    ids = [element.attributes["id"] for element in root.walk() if "id" in element.attributes]
    assert len(set(ids)) == len(ids)
    known = set(ids)
    for element in root.walk():
        for name in ("aria-describedby", "aria-labelledby"):
            assert name not in element.attributes or element.attributes[name] in known
        if (href := element.attributes.get("href")) is not None:
            if href.startswith("#"):
                assert href[1:] in known
            else:
                assert re.match(r"https?://\S+$", href, re.IGNORECASE)
                assert element.attributes["rel"] == "noopener noreferrer"
            assert not element.find("a")[1:], "no link in a link"
    (style,) = root.find("style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    (policy,) = [e for e in root.find("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy.attributes["content"]
    articles = root.find("article")
    assert len(articles) == len(documents)
    for article, document in zip(articles, documents, strict=True):
        (text,) = article.find("div", class_="text")
        assert text.text == shown(document.text)
        marks = {mark.attributes.get("id"): mark for mark in text.find("mark")}
        plain = [e.text for e in article.find("div", class_="plain")]
        assert plain == ([] if document.resolved_text is None else [shown(document.resolved_text)])
        for mention in (mention for cluster in document.clusters for mention in cluster.mentions):
            place = f"{article.attributes['id']}-m{mention.begin}-{mention.end}"
            first = marks[place]
            assert shown(mention.text or "").startswith(first.text) and first.text and first.attributes["data-tip"]
    return root


TEXT = "Alliance & <NATO> met in Oslo.\r\nNATO's Oslo office, said the NATO office in Oslo."
NATO = "https://en.wikipedia.org/wiki/NATO"


def mention(begin: int, surface: str, **fields: Any) -> Mention:
    assert TEXT[begin : begin + len(surface)] == surface
    return Mention(begin, begin + len(surface), **{"probability": 0.9, "edge_probability": 0.8, **fields})


@pytest.fixture
def document() -> AnnotatedDocument:
    first = Parent("mention", 12, 16)
    nato = Cluster(
        (
            mention(0, "Alliance", link_probability=0.61, parent=first),
            mention(12, "NATO", parent=Parent("entity", entity="NATO")),
            mention(32, "NATO", parent=first),
            mention(61, "NATO", parent=first),
        ),
        "NATO",
        0.75,
        NATO,
        (
            Alternative("NATO", 0.75),
            Alternative(None, 0.2),
            Alternative("Alliance_Party_(UK)", 0.05),
            Alternative("X", 0),
        ),
    )
    oslo = Cluster((mention(25, "Oslo"), mention(39, "Oslo"), mention(76, "Oslo")), "Oslo", 0.9, "javascript:alert(1)")
    office = Cluster((mention(32, "NATO's Oslo office"), mention(57, "the NATO office")), None, 0.97)
    alone = Cluster((mention(8, " &", parent=Parent("root")),), None, 0.5)
    return AnnotatedDocument(TEXT, [nato, oslo, office, alone], "a<b>.txt", ["12 words & more"], "Resolved <i>text</i>")


def test_page_shows_text_mentions_clusters_warnings_and_the_resolved_text(document: AnnotatedDocument) -> None:
    root = check(render_html([document]), [document])
    assert root.find("h1")[0].text == root.find("title")[0].text == "a<b>.txt"
    assert root.find("p", class_="counts")[0].text == "4 clusters, 10 mentions"
    assert [li.text for li in root.find("section", class_="warnings")[0].find("li")] == ["12 words & more"]
    cards = [e for e in root.find("li") if "cluster" in e.classes]
    # Those of a mention that is alone and has no entity stand last.
    assert [card.find("span", class_="number")[0].text for card in cards] == ["1", "2", "3", "4"]
    assert [card.find("span", class_="entity")[0].text for card in cards] == ["NATO", "Oslo", "NIL", "NIL"]
    assert [card.find("meter")[0].attributes["value"] for card in cards] == ["0.75", "0.90", "0.97", "0.50"]
    assert [card.find("p", class_="surfaces")[0].text for card in cards] == [
        "Alliance NATO×3",
        "Oslo×3",
        "NATO's Oslo office the NATO office",
        "&",
    ]
    assert cards[0].find("p", class_="alternatives")[0].text == "or NIL 0.20 · Alliance Party (UK) 0.05"
    assert [li.text for li in cards[0].find("details", class_="evidence")[0].find("li")][:2] == [
        "Alliance → NATO → NATO (entity) mention 0.90 · edge 0.80 · link 0.61",
        "NATO → NATO (entity) mention 0.90 · edge 0.80",
    ]
    assert cards[1].find("details") == []


def test_cards_have_type_and_wikidata_id_with_its_page(document: AnnotatedDocument) -> None:
    kinds = [("Q7184", "organization"), ("Q585", None), (None, None), (None, "person")]
    for number, (wikidata, kind) in enumerate(kinds):
        document.clusters[number] = replace(document.clusters[number], wikidata=wikidata, type=kind)
    root = check(render_html([document]), [document])
    cards = [e for e in root.find("li") if "cluster" in e.classes]
    facts = [card.find("p", class_="facts") for card in cards]
    assert [[e.text for e in found] for found in facts] == [["organization · Q7184"], ["Q585"], [], ["person"]]
    assert [link.attributes["href"] for found in facts for e in found for link in e.find("a")] == [
        "https://www.wikidata.org/wiki/Q7184",
        "https://www.wikidata.org/wiki/Q585",
    ]


def test_hovering_shows_entity_evidence_and_probabilities(document: AnnotatedDocument) -> None:
    root = check(render_html([document]), [document])
    tips = {mark.text: mark.attributes["data-tip"] for mark in root.find("div", class_="text")[0].find("mark")}
    assert re.sub("[\u2068\u2069]", "", tips["Alliance"]).splitlines() == [
        "NATO 0.75",
        "Alliance → NATO → NATO (entity)",
        "mention 0.90 · edge 0.80 · link 0.61",
        "or NIL 0.20 · Alliance Party (UK) 0.05",
    ]
    assert re.sub("[\u2068\u2069]", "", tips[" &"]).splitlines() == [
        "NIL 0.50",
        "& → no entity",
        "mention 0.90 · edge 0.80",
    ]


def test_links_lead_from_the_innermost_mention_to_web_addresses_only(document: AnnotatedDocument) -> None:
    root = check(render_html([document]), [document])
    text = root.find("div", class_="text")[0]
    assert [(a.text, a.attributes["href"]) for a in text.find("a")] == [
        ("Alliance", NATO),
        ("NATO", NATO),
        ("NATO", NATO),
        ("NATO", NATO),
    ]
    assert "javascript" not in render_html([document])
    for mark in text.find("mark"):
        assert ("tabindex" in mark.attributes) != (mark.text in ("Alliance", "NATO")), "each is reached by the keyboard"


def test_nested_mentions_are_nested_and_crossing_ones_are_cut(document: AnnotatedDocument) -> None:
    root = check(render_html([document]), [document])
    outer = next(m for m in root.find("mark") if m.text == "NATO's Oslo office")
    assert [inner.text for inner in outer.find("mark")[1:]] == ["NATO", "Oslo"]
    crossing = AnnotatedDocument("the old town hall", [Cluster((Mention(0, 12), Mention(8, 17)))])
    root = check(render_html([crossing]), [crossing])
    marks = root.find("div", class_="text")[0].find("mark")
    assert [(m.text, m.attributes.get("data-again")) for m in marks] == [
        ("the old town", None),
        ("town", None),
        (" hall", "1"),
    ]


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "java\nscript:x", "data:text/html,x", "ftp://x.org", "file:///etc/passwd"),
        *(" https://x.org", "//x.org", "https://", "https://x.org/a b", 'https://x.org/"onclick=1', "https://x.org/<"),
        *("HTTP://x.org\x00", "https://x.org/\ud800", "https://x.org/\x85"),
    ],
)
def test_no_other_address_becomes_a_link(url: str) -> None:
    document = AnnotatedDocument("NATO", [Cluster((Mention(0, 4),), "NATO", None, url)])
    root = check(render_html([document]), [document])
    assert [a.attributes["href"] for a in root.find("a")] == ["#d1-m0-4"]


@pytest.mark.parametrize("url", ["https://en.wikipedia.org/wiki/A&B_(c)?x=1#y", "http://x.org/'", "HTTPS://xn--x/é"])
def test_web_addresses_are_kept_as_they_are(url: str) -> None:
    document = AnnotatedDocument("NATO", [Cluster((Mention(0, 4),), "NATO", None, url)])
    links = [a.attributes["href"] for a in check(render_html([document]), [document]).find("a")]
    assert links == [url, url, "#d1-m0-4"]


def test_many_documents_have_a_list_and_names(document: AnnotatedDocument) -> None:
    other = AnnotatedDocument("", [])
    root = check(render_html([document, other]), [document, other])
    assert root.find("h1")[0].text == "2 documents"
    assert [(a.text, a.attributes["href"]) for a in root.find("nav")[0].find("a")] == [
        ("a<b>.txt", "#d1"),
        ("Document 2", "#d2"),
    ]
    assert [h2.text for h2 in root.find("h2") if "id" in h2.attributes] == ["a<b>.txt", "Document 2"]
    titled = check(render_html([document], title="My <title>"), [document])
    assert titled.find("title")[0].text == "My <title>"
    assert titled.find("h2")[0].text == "a<b>.txt"
    assert check(render_html([]), []).find("h1")[0].text == "0 documents"


def test_mentions_of_one_cluster_have_one_colour_and_neighbours_another(document: AnnotatedDocument) -> None:
    root = check(render_html([document]), [document])
    colours: dict[str, set[str]] = {}
    for mark in root.find("div", class_="text")[0].find("mark"):
        colours.setdefault(mark.attributes["data-cluster"], set()).add(mark.attributes["class"])
    assert colours == {"1": {"m c0"}, "2": {"m c1"}, "3": {"m c2 nil"}, "4": {"m nil alone"}}
    style = root.find("style")[0].text
    hues = [float(hue) for hue in re.findall(r"^\.c\d+\{--h:([\d.]+)\}", style, re.M)]
    assert len(hues) >= 3
    assert min(abs(a - b) for a, b in pairwise(hues)) > 60


def test_a_document_of_a_thousand_clusters_begins_again_with_the_colours() -> None:
    text = "ab" * 1000
    clusters = [Cluster((Mention(2 * i, 2 * i + 1), Mention(2 * i + 1, 2 * i + 2))) for i in range(1000)]
    document = AnnotatedDocument(text, clusters)
    root = check(render_html([document]), [document])
    classes = {name for mark in root.find("mark") for name in mark.classes if re.fullmatch(r"c\d+", name)}
    assert len(classes) == 400
    style = root.find("style")[0].text
    assert all(f".{name}{{" in style for name in classes)


def test_written_page_is_the_page(tmp_path: Path, document: AnnotatedDocument) -> None:
    path = tmp_path / "page.html"
    assert write_html(path, iter([document]), title="x") == 1
    assert path.read_bytes().decode("utf-8") == render_html([document], title="x")
    with pytest.raises(OSError, match="missing"):
        write_html(tmp_path / "missing" / "page.html", [document])


NASTY = st.sampled_from(
    [
        *(
            "<script>alert(1)</script>",
            "</div>",
            "</style>",
            "</mark>",
            "<a href=x>",
            "<!--",
            "-->",
            "]]>",
            "<![CDATA[",
        ),
        *("<?php", "&lt;", "&#60;", "&", '"', "'", "' onload='x", '" autofocus onfocus="x', "javascript:", "{{x}}"),
        *("\x00", "\ud800", "\udfff", "\u202e", "\u2066", "\r\n", "\r", "\n", "\t", "\x1b[31m", "\x85", "\x7f"),
        *("\u2028", "é", "👩\u200d🚀", " "),
    ]
)
strings = st.lists(NASTY | st.text(max_size=3), min_size=1, max_size=6).map("".join).map(join_surrogates).filter(bool)
addresses = st.none() | strings | strings.map(lambda end: f"https://x.org/{end}")
probabilities = st.none() | st.floats(0, 1)


@st.composite
def documents(draw: st.DrawFn) -> AnnotatedDocument:
    text = draw(st.lists(NASTY | st.text(max_size=3), max_size=10).map("".join).map(join_surrogates))
    groups: dict[int, list[Mention]] = {}
    if text:
        begin = st.integers(0, len(text) - 1)
        pair = begin.flatmap(lambda b: st.tuples(st.just(b), st.integers(b + 1, len(text))))
        offsets = draw(st.lists(pair, max_size=6, unique=True))
        for number, (b, e) in enumerate(offsets):
            above = [Parent("mention", *other) for other in offsets[:number]]
            parent = draw(
                st.sampled_from([None, Parent("root"), *above]) | st.builds(Parent, st.just("entity"), entity=strings)
            )
            values = [draw(probabilities) for _ in range(3)]
            groups.setdefault(draw(st.integers(0, 2)), []).append(Mention(b, e, None, *values, parent=parent))
    options = st.none() | st.lists(st.builds(Alternative, st.none() | strings, st.floats(0, 1)), max_size=2)
    clusters = [
        Cluster(
            tuple(group),
            draw(st.none() | strings),
            draw(probabilities),
            draw(addresses),
            draw(options),  # type: ignore[arg-type]
            draw(st.sampled_from([None, "Q585"])),
            draw(st.none() | strings),
        )
        for group in groups.values()
    ]
    warnings = draw(st.lists(strings, max_size=2))
    return AnnotatedDocument(text, clusters, draw(st.none() | strings), warnings, draw(st.none() | strings))


@settings(deadline=None)
@given(st.lists(documents(), max_size=3), st.none() | strings)
def test_nothing_in_a_document_becomes_markup(several: list[AnnotatedDocument], title: str | None) -> None:
    check(render_html(several, title=title), several)


def test_each_line_is_a_block_and_a_mention_over_its_end_is_cut() -> None:
    text = "Anna\n\nBerg met\r\nMoss.\n"
    crossing = [Cluster((Mention(0, 10), Mention(6, 20))), Cluster((Mention(10, 21),), "X")]
    document = AnnotatedDocument(text, crossing)
    root = check(render_html([document]), [document])
    lines = [e for e in root.find("div", class_="text")[0].children if isinstance(e, Element)]
    assert [line.text for line in lines] == ["Anna\n", "\n", "Berg met\r\n", "Moss.\n"]
    marks = [[(m.text, "data-again" in m.attributes) for m in line.find("mark")] for line in lines]
    assert marks == [
        [("Anna", False)],
        # A line's end in an element would show as a line of its own.
        [],
        [("Berg", True), ("Berg", False), (" met", True), (" met", False)],
        [("Moss", True), ("Moss", True), (".", True)],
    ]


def test_a_mention_of_a_line_end_is_marked_all_the_same() -> None:
    document = AnnotatedDocument("Anna\r\nBerg", [Cluster((Mention(0, 10), Mention(4, 6)))])
    root = check(render_html([document]), [document])
    marks = root.find("div", class_="text")[0].find("mark")
    assert [(m.text, "id" in m.attributes) for m in marks] == [("Anna", True), ("\r\n", True), ("Berg", False)]


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        *(("", "ltr"), ("3.5 — …", "ltr"), ("Oslo אוסלו", "ltr"), ("אוסלו Oslo", "rtl"), ("12, أوسلو", "rtl")),
        *(("\u202e(Oslo)", "ltr"), ("\x00\ud800 Oslo", "ltr"), ("\ud800 أوسلو", "rtl")),
    ],
)
def test_a_text_has_the_direction_of_its_first_letter(text: str, direction: str) -> None:
    document = AnnotatedDocument(text, [], resolved_text=text)
    root = check(render_html([document]), [document])
    for kind in ("text", "plain"):
        assert [e.attributes["dir"] for e in root.find("div", class_=kind)] == [direction]


# Turns what follows, after it has closed whatever an isolate around it has opened.
TURNING = "\u2069\u202c\u2069\u202e\u2066\u202b\u2067\u202d\u2068\u202a"


def test_no_name_turns_what_stands_beside_it() -> None:
    """Not the numbers behind a name, nor the names that follow: no isolate of the page is closed from inside."""
    text = f"NATO{TURNING} met."
    where = Mention(
        0, len(text) - 5, probability=0.97, edge_probability=0.81, parent=Parent("entity", entity="N" + TURNING)
    )
    beside = Mention(len(text) - 4, len(text), parent=Parent("mention", *where.offsets))
    others = (Alternative("B" + TURNING, 0.25), Alternative("C", 0.125))
    cluster = Cluster((where, beside), "N" + TURNING, 0.625, NATO, others)
    document = AnnotatedDocument(text, [cluster], TURNING + "name", [TURNING + "warning"], text)
    page = render_html([document, document], title=TURNING + "title")
    root = check(page, [document, document])
    running = {id(e) for kind in ("text", "plain") for e in root.find("div", class_=kind)}

    def outside(element: Element) -> Iterator[str]:
        for child in element.children:
            if isinstance(child, str):
                yield child
            elif id(child) not in running:
                yield from outside(child)

    assert not set(TURNING) & set("".join(outside(root)))
    for mark in root.find("mark"):
        depth = 0
        for char in mark.attributes.get("data-tip", ""):
            assert char not in set(TURNING) - set("\u2068\u2069")
            depth += {"\u2068": 1, "\u2069": -1}.get(char, 0)
            assert 0 <= depth <= 1
        assert depth == 0
    # The text itself keeps them: it is a block of its own, and so is each mention in it.
    assert text in page
