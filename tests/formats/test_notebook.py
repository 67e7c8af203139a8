"""Results in a notebook: a part of somebody else's page that holds its styles and ids to itself."""

from __future__ import annotations

import copy
import json
import pickle
import re
from html.parser import HTMLParser

import pytest

from hf_corefel.documents import Alternative, AnnotatedDocument, Cluster, Mention, Parent
from hf_corefel.formats.notebook import notebook_html
from hf_corefel.formats.style import part_style

HOSTILE = "<script>alert(1)</script>\"'<style>*{display:none}</style></div>"


def document(text: str = "Ada met Ada.", **fields: object) -> AnnotatedDocument:
    mentions = Mention(0, 3, None, 1.0, 0.9, 0.8, Parent("mention", 8, 11)), Mention(8, 11, None, 1.0, 0.9, 0.8)
    clusters = [Cluster(mentions, "Ada_Lovelace", 0.8, "https://en.wikipedia.org/wiki/Ada", (Alternative(None, 0.2),))]
    return AnnotatedDocument(text, clusters, **fields)  # type: ignore[arg-type]


class Parsed(HTMLParser):
    """Tags, ids and links; every tag must be closed in turn."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on") and name != "style"
            if name == "id":
                self.ids.append(value or "")
            if name == "href" and (value or "").startswith("#"):
                self.targets.append((value or "")[1:])

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def test_what_the_pipeline_returns_stays_a_dict() -> None:
    result = document(id="a").to_dict()
    assert isinstance(result, dict)
    assert json.loads(json.dumps(result)) == result == dict(result)
    for same in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
        assert same == result and same._repr_html_().startswith('<div class="hf-corefel"')
    assert repr(result) == repr(dict(result))
    assert AnnotatedDocument.from_dict(result).to_dict() == result


def test_ids_differ_between_showings_and_links_lead_to_them() -> None:
    shown = document()
    parsed = Parsed(shown._repr_html_() + shown._repr_html_() + (shown.to_dict()._repr_html_() or ""))
    assert len(parsed.ids) == len(set(parsed.ids)) > 9
    assert set(parsed.targets) <= set(parsed.ids)
    assert not {"script", "link", "meta", "iframe", "img", "h1", "h2", "body", "html"} & set(parsed.tags)


def test_nothing_in_a_document_becomes_markup() -> None:
    plain = Parsed(document("Ada met Ada.", id="a", warnings=["w"], resolved_text="r")._repr_html_())
    hostile = document(f"Ada met Ada. {HOSTILE}", id=HOSTILE, warnings=[HOSTILE], resolved_text=HOSTILE)
    assert Parsed(hostile._repr_html_()).tags == plain.tags


def test_every_rule_holds_inside_the_element_only() -> None:
    sheet = re.sub(r"/\*.*?\*/", "", part_style("here", 3, lit=True), flags=re.DOTALL)
    depth, start, outer = 0, 0, []
    for at, char in enumerate(sheet):
        if char == "{":
            outer += [sheet[start:at].strip()] if depth == 0 else []
            depth += 1
        elif char == "}":
            depth -= 1
            start = at + 1
    assert depth == 0
    assert [rule for rule in outer if not rule.startswith("@media")] and all(
        part.strip().endswith("#here") for rule in outer if not rule.startswith("@media") for part in rule.split(", ")
    )
    assert not re.search(r"\d(rem|vh)\b(?!;? *\))", sheet.replace("calc(100vh - 32px)", "").replace("45vh", ""))
    assert ":root {" not in sheet and "body {" not in sheet


def test_the_scheme_is_that_of_the_page_around_it() -> None:
    """Gradio's pages say that they are dark by a class of the body; light ones by none, whatever the system prefers."""
    sheet = part_style("here", 3, lit=True)
    (preferred,) = re.findall(r"@media \(prefers-color-scheme: dark\) \{ (.*?) #here \{", sheet)
    assert ".gradio-container" in preferred and ".dark #here" in sheet


def test_the_ring_around_mentions_is_made_where_their_hue_is() -> None:
    for sheet in (part_style("here", 3, lit=True), document()._repr_html_()):
        colours = re.findall(r"#[\w-]+ \{([^{}]*?)\}", sheet)
        assert not any("var(--h)" in block for block in colours)


@pytest.mark.parametrize("mentions", [0, 3_000])
@pytest.mark.parametrize("length", [10_001, 1_000_000])
def test_long_documents_show_their_beginning_and_say_so(length: int, mentions: int) -> None:
    text = ("Ada " * (length // 4 + 1))[:length]
    clusters = [Cluster((Mention(4 * n, 4 * n + 3),), "E" * 3_000, 1.0) for n in range(min(mentions, length // 4))]
    part = AnnotatedDocument(text, clusters, "x" * 10_000, [str(n) for n in range(1_000)], text)._repr_html_()
    assert len(part.encode()) <= 1_000_000
    assert re.search(rf"The first [\d,]+ of {length:,} characters, with [\d,]+ of {len(clusters):,} clusters", part)
    assert "write_html" in part
    Parsed(part)


def test_a_long_text_without_blanks_shows_its_beginning_too() -> None:
    text = "標題\n" + "中文字" * 5_000
    part = AnnotatedDocument(text, [Cluster((Mention(10, 13),), "X")])._repr_html_()
    assert f"The first 10,000 of {len(text):,} characters, with 1 of 1 clusters" in part


def test_long_warnings_are_cut() -> None:
    part = AnnotatedDocument("Ada", [], warnings=["w" * 100_000] * 60)._repr_html_()
    assert len(part.encode()) <= 1_000_000 and "w" * 999 + "…" in part


def test_a_result_that_was_changed_is_shown_as_long_as_it_can_be() -> None:
    result = document().to_dict()
    result["mine"] = object()
    assert "Ada Lovelace" in (result._repr_html_() or "")
    del result["text"]
    assert result._repr_html_() is None


def test_a_document_without_anything() -> None:
    assert "0 clusters, 0 mentions" in notebook_html(AnnotatedDocument("", []))
