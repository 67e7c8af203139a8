"""The pictures of the README: which mention they show, and how the browser is asked for them."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hf_corefel import AnnotatedDocument, Cluster, Mention
from hf_corefel.documents import Parent
from script_loading import load_script

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def drawer() -> ModuleType:
    return load_script("scripts/draw_page.py")


TEXT = "NATO is the Alliance, NATO is. Oslo heard it, and that was all that there was to hear there. NATO left."
NATO, ALLIANCE, AGAIN, OSLO, LATE = (0, 4), (12, 20), (22, 26), (31, 35), (93, 97)


def annotated(*offsets: tuple[int, int]) -> AnnotatedDocument:
    """NATO hangs from its entity, the other mentions from NATO; Oslo is a cluster of its own without an entity."""
    entity, first = Parent("entity", entity="NATO"), Parent("mention", *NATO)
    mentions = tuple(Mention(*pair, parent=entity if pair == NATO else first) for pair in offsets)
    return AnnotatedDocument(TEXT, [Cluster(mentions, "NATO"), Cluster((Mention(*OSLO, parent=Parent("root")),))])


def test_the_mention_that_follows_another_name_is_shown(drawer: ModuleType) -> None:
    assert drawer.pointed_at(annotated(NATO, ALLIANCE, AGAIN, LATE)).offsets == ALLIANCE
    assert drawer.pointed_at(annotated(NATO, AGAIN, LATE)).offsets == AGAIN
    assert drawer.pointed_at(annotated(NATO)).offsets == NATO
    assert drawer.pointed_at(AnnotatedDocument(TEXT, [Cluster((Mention(*NATO),), "NATO")])) is None


def test_without_a_browser_the_error_names_some(drawer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("BROWSER", raising=False)
    with pytest.raises(FileNotFoundError, match=r"install one of chromium, .*or name yours in BROWSER"):
        drawer.browser()


def test_both_pictures_are_taken_of_the_page(
    drawer: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By a program that puts its arguments, and the beginning of the page, where a browser puts a picture."""
    program = tmp_path / "browser"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys, urllib.parse, urllib.request\n"
        "address = urllib.parse.urlparse(sys.argv[-1])\n"
        "page = pathlib.Path(urllib.request.url2pathname(address.path)).read_text(encoding='utf-8')\n"
        "(target,) = [a.split('=', 1)[1] for a in sys.argv if a.startswith('--screenshot=')]\n"
        "scheme = [a for a in sys.argv if 'ColorScheme' in a]\n"
        "pathlib.Path(target).write_text(f'{address.fragment} {scheme} {page[:15]}', encoding='utf-8')\n",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BROWSER", str(program))
    monkeypatch.setattr(drawer, "annotated", lambda: annotated(NATO, ALLIANCE))
    monkeypatch.setattr(drawer, "FOLDER", tmp_path)
    assert drawer.main() == 0
    beginning = "<!DOCTYPE html>"
    taken = {name: (tmp_path / name).read_text(encoding="utf-8") for name in drawer.SCHEMES}
    assert taken == {
        "page.png": f"d1-m12-20 ['--blink-settings=preferredColorScheme=1'] {beginning}",
        "page_dark.png": f"d1-m12-20 ['--blink-settings=preferredColorScheme=0'] {beginning}",
    }


@pytest.mark.parametrize("name", ["page.png", "page_dark.png"])
def test_the_readme_has_a_picture_of_each_scheme(drawer: ModuleType, name: str) -> None:
    data = (ROOT / "docs" / "images" / name).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == drawer.SIZE
    assert f"docs/images/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")
