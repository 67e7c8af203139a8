"""The notebooks show what their cells show when a Jupyter kernel runs them, and the documentation shows the same."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from script_loading import ROOT, load_script

NOTEBOOKS = load_script("scripts/notebooks.py")
NUMBER = re.compile(r"\b\d+\.\d+\b")
TAG = re.compile(r"<style.*?</style>|<[^>]*>", re.S)


def words(output: dict[str, Any]) -> str:
    """What a reader sees of an output; how it is laid out is tested where the page is made."""
    data = output.get("data", {})
    text = "".join(data.get("text/html") or data.get("text/plain") or output["text"])
    return " ".join(TAG.sub(" ", text).split()) if "text/html" in data else text


@pytest.mark.parametrize("path", NOTEBOOKS.notebooks(), ids=lambda path: path.stem)
def test_cells_show_what_the_notebook_keeps(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"), prepend=os.pathsep)
    kept = NOTEBOOKS.read(path)
    done = NOTEBOOKS.run(kept)
    assert len(kept["cells"]) > 10
    for before, now in zip(kept["cells"], done["cells"], strict=True):
        shown, showing = ([words(output) for output in cell.get("outputs", ())] for cell in (before, now))
        assert [NUMBER.sub("#", text) for text in showing] == [NUMBER.sub("#", text) for text in shown]
        # Another processor or release of torch may round the second decimal the other way.
        numbers = [[float(n) for text in texts for n in NUMBER.findall(text)] for texts in (showing, shown)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.0101)
    assert [cell["execution_count"] for cell in kept["cells"] if cell["cell_type"] == "code"] == [
        cell["execution_count"] for cell in done["cells"] if cell["cell_type"] == "code"
    ], "run it from its first cell to its last"


def test_a_result_is_shown_in_colours() -> None:
    (path,) = (path for path in NOTEBOOKS.notebooks() if path.stem == "first_steps")
    outputs = [output for cell in NOTEBOOKS.read(path)["cells"] for output in cell.get("outputs", ())]
    parts = ["".join(output["data"]["text/html"]) for output in outputs if "text/html" in output.get("data", {})]
    results = [part for part in parts if part.startswith('<div class="hf-corefel" id="corefel-')]
    assert len(results) == 2
    # Both stand on one page.
    assert len(set(re.findall(r'id="(corefel-\d+)"', "".join(results)))) == 2


def test_ids_are_numbered_and_messages_left_out() -> None:
    first, second = "corefel-0123456789ab", "corefel-ba9876543210"
    html = {"text/html": f"<i id={first}><i id={second}>", "text/plain": "{}"}
    outputs = [
        {"output_type": "stream", "name": "stderr", "text": "TqdmWarning: IProgress not found."},
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": html},
        {"output_type": "display_data", "metadata": {}, "data": {"text/plain": f"{second}\n2"}},
    ]
    result, text = NOTEBOOKS.shown(outputs, {})
    assert result["data"] == {"text/html": ["<i id=corefel-000000000001><i id=corefel-000000000002>"]}
    assert text["data"] == {"text/plain": ["corefel-000000000002\n", "2"]}


def test_what_a_cell_prints_is_one_output_in_however_many_parts_it_comes() -> None:
    parts = [{"output_type": "stream", "name": "stdout", "text": text} for text in ("one\n", "two\nth", "ree\n")]
    (output,) = NOTEBOOKS.shown(parts, {})
    assert "".join(output["text"]) == "one\ntwo\nthree\n"


def test_a_page_shows_texts_code_and_outputs() -> None:
    page = NOTEBOOKS.on_page_markdown("<!-- notebook:first_steps -->\n\nThe end.\n", page=None)
    assert page.startswith("# First steps\n") and page.endswith("\n\nThe end.\n")
    assert "```python\nfrom transformers import pipeline\n" in page
    assert "\n```text\n1.00 mention_f1\n" in page
    assert page.count('<div class="hf-corefel"') == 2
    assert NOTEBOOKS.on_page_markdown("`<!-- notebook:first_steps -->`") == "`<!-- notebook:first_steps -->`"


def test_every_notebook_is_listed_and_has_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert NOTEBOOKS.notebooks()
    for path in NOTEBOOKS.notebooks():
        assert f"<!-- notebook:{path.stem} -->" in pages
        assert f"(notebooks/{path.name})" in readme
