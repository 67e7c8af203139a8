"""Registries: what a name stands for, from this package, this process and packages of others."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.utils.registry import Registry


def check(name: str, item: Any) -> None:
    if not callable(item):
        raise ValueError(f"thing {name!r}: cannot be called")


@pytest.fixture
def things() -> Registry[Any]:
    return Registry("thing", "hf_corefel.things", {"path": "pathlib:Path", "number": "math:pi"}, check)


@pytest.fixture
def another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that offers a thing, another one's name, and one that it cannot import."""
    (tmp_path / "others.py").write_text("def theirs():\n    return 'theirs'\n")
    facts = tmp_path / "others-1.5.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.5\n")
    points = "[hf_corefel.things]\ntheirs = others:theirs\npath = others:theirs\nbroken = others:nothing\n"
    (facts / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "others", raising=False)


@pytest.mark.parametrize("first", ["question", "import"])
def test_a_package_may_both_name_a_thing_and_register_it(
    things: Registry[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Functions, classes and values, whichever comes first; but no other package's name."""
    (tmp_path / "doubles.py").write_text(
        "from builtins import things\n\n\n"
        "@things.register('function')\ndef theirs():\n    return 'theirs'\n\n\n"
        "VALUE = theirs.__get__(1)\nthings.register('value', VALUE)\n"
    )
    facts = tmp_path / "doubles-1.5.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: doubles\nVersion: 1.5\n")
    points = "[hf_corefel.things]\nfunction = doubles:theirs\nvalue = doubles:VALUE\nother = doubles:nothing\n"
    (facts / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("builtins.things", things, raising=False)
    monkeypatch.delitem(sys.modules, "doubles", raising=False)
    if first == "question":
        assert things["function"]() == "theirs"
    else:
        importlib.import_module("doubles")
    doubles = sys.modules["doubles"]
    assert things["function"] is doubles.theirs and things["value"] is doubles.VALUE
    with pytest.raises(ValueError, match=r"thing 'other': the name is taken"):
        things.register("other", print)


def test_own_things_are_imported_when_they_are_asked_for(things: Registry[Any]) -> None:
    assert list(things) == ["path", "number"] and len(things) == 2
    assert things["path"] is Path and things["path"] is Path
    assert "other" not in things
    with pytest.raises(ValueError, match=r"thing 'number': cannot be called"):
        things["number"]


def test_a_name_that_is_unknown_is_an_error_that_names_the_known_ones(things: Registry[Any]) -> None:
    with pytest.raises(ValueError, match=r"unknown thing 'paths'; known are path, number; did you mean 'path'\?"):
        things["paths"]


def test_things_are_registered_for_the_process(things: Registry[Any]) -> None:
    @things.register("mine")
    def mine() -> str:
        return "mine"

    assert things["mine"] is mine and list(things) == ["path", "number", "mine"]
    assert things.register("mine", mine) is mine, "twice the same is no clash"
    with pytest.raises(ValueError, match=r"thing 'path': the name is taken"):
        things.register("path", mine)
    things.register("path", mine, replace=True)
    assert things["path"] is mine
    things.unregister("path")
    assert things["path"] is Path
    with pytest.raises(ValueError, match="cannot be called"):
        things.register("four", 4)
    for name in ("", " x", None):
        with pytest.raises(ValueError, match="a name is a string"):
            things.register(name, mine)  # type: ignore[call-overload]


@pytest.mark.usefixtures("another_package")
def test_things_of_other_packages_are_found_and_take_no_name_of_ours(things: Registry[Any]) -> None:
    assert list(things) == ["path", "number", "broken", "theirs"] and "others" not in sys.modules
    assert things["theirs"]() == "theirs" and things["path"] is Path
    with pytest.raises(ValueError, match=r"thing 'broken': others 1\.5 offers it as others:nothing, which cannot be"):
        things["broken"]
    with pytest.raises(ValueError, match="the name is taken"):
        things.register("theirs", print)
