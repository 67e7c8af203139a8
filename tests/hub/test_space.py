"""The Space of a model: its files, and its page on a stand-in for gradio and, where it is installed, on gradio."""

from __future__ import annotations

import json
import os
import re
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import hf_corefel
from gradio_stand_in import Component, ShownError, pretend_gradio
from hf_corefel import AnnotatedDocument, Document
from hf_corefel.hub import CardFacts, write_space
from hf_corefel.hub.space import GRADIO_VERSION

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> ${alert(3)} {{value}} \"'</style></div>"


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"on{name}" for name, _ in attrs if name.startswith("on"))}


def metadata(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    return loaded


def test_the_files_are_those_of_a_space(tmp_path: Path) -> None:
    facts = CardFacts(title="Press of 1900", license="cc-by-4.0", examples=["Anna Berg met Carl Moss."])
    folder = write_space(tmp_path / "new" / "space", "acme/press", revision="v2", facts=facts)
    assert {path.name for path in folder.iterdir()} == {"README.md", "app.py", "requirements.txt", "settings.json"}
    header = metadata(folder)
    assert (header["sdk"], header["sdk_version"], header["app_file"]) == ("gradio", GRADIO_VERSION, "app.py")
    assert (header["title"], header["license"], header["models"]) == ("Press of 1900", "cc-by-4.0", ["acme/press"])
    assert header["colorFrom"] in ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
    assert json.loads((folder / "settings.json").read_text(encoding="utf-8")) == {
        "model": "acme/press",
        "revision": "v2",
        "title": "Press of 1900",
        "examples": ["Anna Berg met Carl Moss."],
    }
    (needed,) = map(Requirement, (folder / "requirements.txt").read_text(encoding="utf-8").splitlines())
    assert needed.name == "hf-corefel" and needed.specifier.contains(hf_corefel.__version__, prereleases=True)


def test_versions_are_those_that_are_tested(tmp_path: Path) -> None:
    """The Hub installs what the header says: Python that the package runs on, and the gradio of constraints.txt."""
    pinned = re.search(r"^gradio==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    headers = [metadata(write_space(tmp_path)), metadata(Path(hf_corefel.metric_path()))]
    assert pinned and {header["sdk_version"] for header in headers} == {pinned[1]}
    least = re.search(r"^python_requires = >=(\S+)$", (ROOT / "setup.cfg").read_text(encoding="utf-8"), re.M)
    assert least and {header["python_version"] for header in headers} == {least[1]}


def test_names_become_neither_code_nor_markup_nor_metadata(tmp_path: Path) -> None:
    title = 'x"\n---\nsdk: docker\n---\n# <script>alert(1)</script>'
    folder = write_space(tmp_path, "acme/press", facts=CardFacts(title=title, license="mit\nsdk: static"))
    header = metadata(folder)
    assert header["sdk"] == "gradio"
    assert header["title"] == 'x" --- sdk: docker --- # <script>alert(1)</script>'
    body = (folder / "README.md").read_text(encoding="utf-8").split("\n---\n", 1)[1]
    assert "script" not in Tags(body.replace("\\<", "")).found
    assert (folder / "app.py").read_text(encoding="utf-8") == (
        ROOT / "src" / "hf_corefel" / "hub" / "space_template" / "app.py"
    ).read_text(encoding="utf-8")


def test_writing_again_replaces_its_files_and_leaves_others(tmp_path: Path) -> None:
    write_space(tmp_path, "acme/one")
    (tmp_path / "logo.png").write_bytes(b"picture")
    write_space(tmp_path, "acme/two")
    assert json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))["model"] == "acme/two"
    assert (tmp_path / "logo.png").read_bytes() == b"picture"
    with pytest.raises(ValueError, match="empty name"):
        write_space(tmp_path, "")


class Page:
    """A Space's page that stands on the stand-in."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = pretend_gradio(monkeypatch)
        self.names = runpy.run_path(str(folder / "app.py"), run_name="app")
        self.show: Callable[..., tuple[str, str]] = self.names["show"]

    def one(self, name: str) -> Component:
        (component,) = self.made[name]
        return component


@pytest.fixture
def page(tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    facts = CardFacts(title="Tiny <b>", examples=[document.text for document in tiny_documents])
    return Page(write_space(tmp_path / "space", tiny_folder, facts=facts), monkeypatch)


def test_the_page_begins_with_its_first_example(page: Page, tiny_documents: list[Document]) -> None:
    text, html, saved = page.one("Textbox"), page.made["HTML"][-1], page.one("Code")
    assert text.args == (tiny_documents[0].text,)
    assert "Anna Berg" in html.args[0] and '<div class="hf-corefel"' in html.args[0]
    shown = AnnotatedDocument.from_dict(json.loads(saved.args[0]))
    assert shown.text == tiny_documents[0].text
    assert "Anna_Berg" in {cluster.entity for cluster in shown.clusters}
    assert saved.kwargs["buttons"] == ["copy", "download"]
    assert page.one("Examples").args == ([document.text for document in tiny_documents], text)
    # The title of the model is a text, too.
    assert page.made["HTML"][0].args == ("<h1>Tiny &lt;b&gt;</h1>",)
    assert page.one("Blocks").kwargs["analytics_enabled"] is False
    assert page.one("Blocks").calls["queue"][1] == {"max_size": 20}


def test_a_page_of_a_folder_starts_anywhere_and_offers_what_it_takes(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_folder.parent)
    facts = CardFacts(examples=["Oslo is old. " * 500, "Anna Berg won.", "Oslo is old."])
    folder = write_space(tmp_path / "space", tiny_folder.name, facts=facts)
    assert "models" not in metadata(folder)
    monkeypatch.chdir(folder)
    page = Page(folder, monkeypatch)
    assert page.one("Textbox").args == ("Anna Berg won.",)
    assert page.one("Examples").args[0] == ["Anna Berg won.", "Oslo is old."]


def test_the_button_annotates(page: Page, tiny_documents: list[Document]) -> None:
    (show, inputs, outputs), options = page.one("Button").calls["click"]
    # The tiny model has one scope.
    assert inputs == [page.one("Textbox"), page.one("Slider")] and "Radio" not in page.made
    assert outputs == [page.made["HTML"][-1], page.one("Code")]
    assert (options["api_name"], options["concurrency_limit"]) == ("annotate", 1)
    html, saved = show(tiny_documents[1].text, 0.0)
    document = AnnotatedDocument.from_dict(json.loads(saved))
    mentions = [mention for cluster in document.clusters for mention in cluster.mentions]
    assert mentions and all(mention.parent is not None for mention in mentions)
    assert any(cluster.alternatives for cluster in document.clusters)
    assert "Bergen" in html
    # Nothing is certain: all is taken out.
    assert json.loads(show(tiny_documents[1].text, 1.0)[1])["clusters"] == []


def test_no_text_of_a_visitor_becomes_markup(page: Page) -> None:
    text = f"Anna Berg met {HOSTILE} in Oslo. {HOSTILE}"
    html, saved = page.show(text)
    assert Tags(html).found <= Tags(page.show("Anna Berg met Carl Moss in Oslo. Berg praised Moss.")[0]).found
    assert json.loads(saved)["text"] == text


@pytest.mark.parametrize("text", ["", " \n", "🙂" * 10, "\x00\u202e", "."])
def test_texts_without_anything_to_find_are_shown(page: Page, text: str) -> None:
    html, saved = page.show(text)
    assert 'class="hf-corefel"' in html
    assert json.loads(saved)["text"] == text


def test_what_is_too_much_or_wrong_is_said_to_the_visitor(page: Page) -> None:
    with pytest.raises(ShownError, match=r"^The text has 5,001 characters; here it may have 5,000\.$"):
        page.show("x" * 5_001)
    page.show("Oslo " * 1_000)
    with pytest.raises(ShownError, match="min_probability"):
        page.show("Oslo", 2.0)
    with pytest.raises(ShownError, match="&lt;script&gt;"):
        page.show("Oslo", 0.0, "<script>")


def test_scopes_of_the_model_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(write_space(tmp_path), monkeypatch)
    assert page.one("Radio").args == (
        [
            ("names, with dates, demonyms and roles", "named"),
            ("all mentions", "all"),
            ("names of entities", "entities"),
        ],
    )
    assert page.one("Radio").kwargs["value"] == "entities", "the model's default"
    assert page.one("Button").calls["click"][0][1] == [page.one(name) for name in ("Textbox", "Slider", "Radio")]
    text = "Merkel spoke in the Bundestag on Monday. The chancellor said that she would not run again."
    found = [json.loads(page.show(text, 0.0, scope)[1])["clusters"][0] for scope in ("named", "all")]
    assert ["she" in {mention["text"] for mention in cluster["mentions"]} for cluster in found] == [False, True]


def test_publishing_with_a_space(hub: Any, client: Any, tiny_folder: Path) -> None:
    code = """
from typer.testing import CliRunner
from hf_corefel.cli import app

result = CliRunner().invoke(app, ["publish", *given["arguments"]])
return [result.exit_code, result.output]
"""
    arguments = ["acme/shown", "--model", str(tiny_folder), "--private", "--revision", "v1", "--space"]
    status, output = client(code, arguments=arguments)
    assert status == 0, output
    space = hub.repository("acme/shown", "spaces")
    assert output.splitlines()[1].endswith(f"acme/shown/commit/{space.resolve('main')}")
    assert space.private and hub.repository("acme/shown").private
    files = space.files()
    assert set(files) == {"README.md", "app.py", "requirements.txt", "settings.json"}
    settings = json.loads(files["settings.json"])
    assert (settings["model"], settings["revision"], settings["title"]) == ("acme/shown", "v1", "shown")
    # A page that is public already is not made of a private model.
    client('import huggingface_hub as h; h.create_repo("acme/open", repo_type="space", space_sdk="gradio")')
    status, output = client(code, arguments=["acme/open", "--model", str(tiny_folder), "--private", "--space"])
    assert status == 1 and "the model is published, but not its Space" in output and "is public" in output
    assert "app.py" not in hub.repository("acme/open", "spaces").files()


@pytest.fixture
def running(tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path) -> Iterator[str]:
    """The address of a Space that runs on this machine as on the Hub."""
    pytest.importorskip("gradio")
    write_space(tmp_path, tiny_folder, facts=CardFacts(title="Tiny", examples=[d.text for d in tiny_documents]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(tmp_path / "files"),
        "HF_HUB_OFFLINE": "1",
        "NO_PROXY": "*",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    with (tmp_path / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=tmp_path, env={**os.environ, **settings}, stdout=log, stderr=log
        )
        try:
            for _ in range(1200):
                with socket.socket() as trial:
                    if trial.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert process.poll() is None, (tmp_path / "log.txt").read_text()
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def test_the_space_runs_on_gradio(running: str, tiny_documents: list[Document], tmp_path: Path) -> None:
    import gradio_client

    visitor = gradio_client.Client(running, verbose=False)
    html, saved = visitor.predict(tiny_documents[0].text, 0.0, api_name="/annotate")
    assert 'class="hf-corefel"' in html
    assert "Anna_Berg" in {cluster["entity"] for cluster in json.loads(saved)["clusters"]}
    html, saved = visitor.predict(HOSTILE, 0.0, api_name="/annotate")
    assert not {"script", "img", "ononerror"} & Tags(html).found
    assert json.loads(saved)["text"] == HOSTILE
    with pytest.raises(gradio_client.exceptions.AppError, match="5,001 characters"):
        visitor.predict("x" * 5_001, 0.0, api_name="/annotate")
    left = tmp_path / "files"
    assert not left.exists() or [path for path in left.rglob("*") if path.is_file()] == []
