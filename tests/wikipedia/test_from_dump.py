"""What is made of a little dump: every count, every prior, every reason for leaving something out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import KnowledgeBase
from hf_corefel.wikipedia import WikipediaError, from_dump
from hf_corefel.wikipedia.from_dump import build_from_wikipedia, default_work_folder
from little_dumps import PAGES, write_dump


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnowledgeBase, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("little")
    report = build_from_wikipedia([write_dump(folder / "dump.xml.bz2")], folder / "kb", workers=1)
    assert json.loads((folder / "kb" / "report.json").read_bytes()) == report
    assert not default_work_folder(folder / "kb").exists()
    return KnowledgeBase.from_pretrained(folder / "kb"), report


def test_counts_of_a_little_dump(built: tuple[KnowledgeBase, dict[str, Any]]) -> None:
    report = built[1]
    assert report["read"] == {
        "pages": len(PAGES),
        "article": 7,
        "redirect": 6,
        "disambiguation": 1,
        "other_namespace": 1,
        "links": 15,
    }
    assert (report["articles"], report["redirects"], report["disambiguation pages"]) == (7, 6, 1)
    assert report["left out"] == {
        "redirects that go in a circle": 2,
        "redirects to nothing": 1,
        "redirects to disambiguation pages": 0,
        "links to nothing": 3,
        "entities with too few links": 0,
        "titles that came more than once": 0,
        "QIDs that page_props and Wikidata give differently": 0,
        "candidates beyond the most that a surface may have": 0,
    }
    assert report["redirects to other redirects"] == 3  # Christiania, and the two of the circle
    assert report["examples"]["redirects that go in a circle"] == ["Loop A", "Loop B"]
    assert report["problems"] == {}
