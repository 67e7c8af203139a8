"""The page to paste a text into: what it shows, that nothing sent to it becomes markup, and how a browser takes it."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from hf_corefel import load_pipeline
from hf_corefel.serving.page import paste_page
from running_services import StandIn, wait_until
from script_loading import load_script

HOSTILE = "</textarea><script>alert(1)</script><img src=x onerror=alert(2)> Anna Berg </style><style>*{x:y}</style>"


class Tags(HTMLParser):
    """The tags of a page, its addresses but for those of entities, and what would run or style it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "href", "action") and not (tag == "a" and (value or "").startswith("https://en.wiki")):
                self.addresses.append(value or "")
            if name.startswith("on") or name == "style":
                self.handlers.append(name)


def field(page: str) -> str:
    """What a browser shows in the text area."""
    found: list[str] = []

    class Field(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            self.inside = tag == "textarea" or self.inside

        def handle_endtag(self, tag: str) -> None:
            self.inside = tag != "textarea" and self.inside

        def handle_data(self, data: str) -> None:
            if self.inside:
                found.append(data)

    Field(convert_charrefs=True).feed(page)
    return "".join(found).removeprefix("\n")


def test_a_text_comes_back_annotated(tiny_service: httpx.Client) -> None:
    first = tiny_service.get("/")
    assert first.status_code == 200 and "Merkel" in field(first.text)
    text = "\nAnna Berg met Carl Moss in Oslo. Berg praised Moss.\r\nThen she left the city."
    page = tiny_service.post("/", data={"text": text}).text
    assert field(page) == text.replace("\r\n", "\n")
    assert '<div class="hf-corefel"' in page and "Anna_Berg" in page
    # The tiny model has no scopes to choose among.
    assert 'type="radio"' not in page


def test_nothing_that_is_sent_becomes_markup(tiny_service: httpx.Client) -> None:
    plain = Tags(tiny_service.post("/", data={"text": "Anna Berg met Carl Moss in Oslo."}).text)
    page = tiny_service.post("/", data={"text": HOSTILE, "mention_scope": HOSTILE})
    assert page.status_code == 422
    assert not {"script", "img"} & Tags(page.text).tags
    page = tiny_service.post("/", data={"text": HOSTILE})
    assert page.status_code == 200 and field(page.text) == HOSTILE
    found = Tags(page.text)
    assert found.tags <= plain.tags and not found.handlers
    assert "hf-corefel" in page.text


def test_the_browser_is_told_to_load_nothing(tiny_service: httpx.Client) -> None:
    for page in (
        tiny_service.get("/"),
        tiny_service.get("/docs"),
        tiny_service.post("/", data={"text": "Anna Berg met Carl Moss in Oslo."}),
        tiny_service.post("/", data={"text": "x" * 200_000}),
    ):
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ") and "script" not in policy and "unsafe" not in policy
        styles = re.findall("<style>(.*?)</style>", page.text, re.S)
        digests = {base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles}
        assert styles and digests == set(re.findall("'sha256-(.*?)'", policy))
        found = Tags(page.text)
        assert not {"script", "img", "iframe", "object"} & found.tags and not found.handlers
        # Only what a reader follows leads elsewhere: to entities.
        assert [item for item in found.addresses if not re.match(r"\./$|docs$|openapi\.json$|data:,$|#", item)] == []
        assert page.headers["cache-control"] == "no-store"


def test_what_is_wrong_stands_on_the_page_beside_the_text(
    serve: Callable[..., httpx.Client], stand_in: StandIn
) -> None:
    client = serve(stand_in, max_characters=30)
    page = client.post("/", data={"text": "<b>" + "x" * 30})
    assert page.status_code == 413
    assert "the text has 33 characters, and may have 30" in page.text and field(page.text) == "<b>" + "x" * 30
    page = client.post("/", data={"text": "raise ValueError <b>"})
    assert page.status_code == 422 and "no: raise ValueError &lt;b&gt;" in page.text
    page = client.post("/", data={"text": "raise KeyError"})
    assert page.status_code == 500 and "unexpected KeyError" in page.text
    page = client.post("/", content="&".join("a=b" for _ in range(20)), headers={"Content-Type": _FORM})
    assert page.status_code == 400 and "too many fields" in page.text
    page = client.post("/", json="Oslo")
    assert page.status_code == 415
    # No text is one without a word.
    assert client.post("/", content="", headers={"Content-Type": _FORM}).status_code == 200


_FORM = "application/x-www-form-urlencoded"


def test_scopes_can_be_chosen() -> None:
    page = paste_page(["named", "all"], {"text": "Oslo", "mention_scope": "all"})
    assert re.findall(r'value="(\w+)"( checked)?', page) == [("named", ""), ("all", " checked")]
    assert 'value="named" checked' in paste_page(["named", "all"])


@pytest.mark.parametrize(("said", "first"), [(None, "entities"), ("all", "all")])
def test_the_default_of_the_service_is_chosen_at_first(
    serve: Callable[..., httpx.Client], said: str | None, first: str
) -> None:
    page = serve(load_pipeline(**({} if said is None else {"mention_scope": said}))).get("/").text
    assert re.findall(r'value="(\w+)" checked', page) == [first]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Chromium without a window, where it is installed with its driver."""
    pages = load_script("benchmarks/page_size.py")
    binary, program = next(filter(None, map(shutil.which, pages.BROWSERS)), None), shutil.which("chromedriver")
    if binary is None or program is None:
        pytest.skip("needs Chromium and chromedriver")
    with pages.driver(program) as address:
        opened = pages.Browser(address, binary, str(tmp_path / "profile"))
        try:
            yield opened
        finally:
            opened.close()


DONE = "const done = arguments[arguments.length - 1]; "
SHOWN = """
const mark = document.querySelector('.hf-corefel mark');
done(mark === null ? null : {
  text: document.querySelector('textarea').value,
  entities: [...document.querySelectorAll('.hf-corefel .entity')].map(item => item.textContent.trim()),
  mentions: [...document.querySelectorAll('.hf-corefel .text mark')].map(item => item.textContent),
  border: getComputedStyle(mark).borderBottomStyle,
  loaded: performance.getEntriesByType('resource').map(item => item.name),
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
});
"""


def test_a_browser_sends_the_form_and_shows_the_result(tiny_service: httpx.Client, browser: Any) -> None:
    text = "Anna Berg met Carl Moss in Oslo. Berg praised Moss.\nThen she left the city."
    browser.open(str(tiny_service.base_url))
    browser.run(f"{DONE} document.querySelector('textarea').value = {text!r}; done()")
    browser.run(f"{DONE} document.querySelector('button').click(); done()")
    found: list[Any] = []
    wait_until(lambda: found.append(browser.run(DONE + SHOWN)) or found[-1])
    shown = found[-1]
    assert shown["text"] == text
    assert {"Anna Berg", "Carl Moss"} <= {name.replace("_", " ") for name in shown["entities"]}
    assert {"Anna Berg", "Carl Moss"} <= set(shown["mentions"])
    # The policy lets the styles of the result in, and nothing was asked of anyone.
    assert shown["border"] != "none" and not shown["wide"]
    assert [name for name in shown["loaded"] if not name.startswith(("data:", str(tiny_service.base_url)))] == []
    assert browser.console() == []
