"""`experiments/compare_scopes.py`: how texts are marked, and what is counted of the bundled model."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from script_loading import load_script


@pytest.fixture(scope="module")
def compare_scopes() -> ModuleType:
    return load_script("experiments/compare_scopes.py")


def test_marks_give_way_to_offsets(compare_scopes: ModuleType) -> None:
    marked = compare_scopes.read_marked("[Anna Berg], a {Danish} {cook}, left [Oslo].")
    assert marked.text == "Anna Berg, a Danish cook, left Oslo."
    assert sorted(marked.text[b:e] for b, e in marked.names) == ["Anna Berg", "Oslo"]
    assert sorted(marked.text[b:e] for b, e in marked.others) == ["Danish", "cook"]


def test_texts_are_marked_throughout(compare_scopes: ModuleType) -> None:
    texts = compare_scopes.TEXTS.read_text(encoding="utf-8").strip().split("\n\n")
    read = [compare_scopes.read_marked(text) for text in texts]
    assert len(read) >= 20 and all(marked.names and not re.search(r"[\[\]{}\n]", marked.text) for marked in read)


def test_entities_show_fewer_other_things(compare_scopes: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    compare_scopes.main(["--details"])
    out = capsys.readouterr().out
    rows = {
        row[0]: list(map(float, row[1:]))
        for row in re.findall(r"(?m)^(named|entities) +(\d+) +(\d+) +(\d+) +([\d.]+)%$", out)
    }
    assert list(rows) == ["named", "entities"]
    assert rows["entities"][2] < rows["named"][2] / 3
    assert rows["entities"][0] > 0.9 * rows["named"][0]
    assert "not names German" in out
