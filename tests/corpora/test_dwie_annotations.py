from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import Candidate, Document
from hf_corefel.corpora import (
    ArticleAnnotation,
    CorpusError,
    read_dwie,
    read_dwie_annotation,
    read_dwie_annotations,
    read_dwie_article,
)

TEXT = "Mira Holt sailed to Bergen. Holt likes the town."


def article(name: str = "DW_1", **changed: Any) -> dict[str, Any]:
    whole = {
        "id": name,
        "content": TEXT,
        "tags": ["all", "train"],
        "mentions": [
            {"begin": 28, "end": 32, "text": "Holt", "concept": 0, "candidates": None, "scores": None},
            {"begin": 0, "end": 9, "text": "Mira Holt", "concept": 0, "candidates": [], "scores": []},
            {"begin": 20, "end": 26, "text": "Bergen", "concept": 1, "candidates": ["Bergen"], "scores": [0.9]},
        ],
        "concepts": [{"concept": 0, "link": None}, {"concept": 1, "link": "Bergen"}, {"concept": 2, "link": "Nobody"}],
    }
    return {key: value for key, value in {**whole, **changed}.items() if value is not ...}


def write(folder: Path, *articles: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for each in articles:
        (folder / f"{each['id']}.json").write_text(json.dumps(each), encoding="utf-8")
    return folder


def test_an_annotation_without_text() -> None:
    annotation = read_dwie_annotation(article(content=...))
    assert isinstance(annotation, ArticleAnnotation)
    assert (annotation.id, annotation.tags, annotation.text) == ("DW_1", ("all", "train"), None)
    assert [(c.entity, [m.offsets for m in c.mentions]) for c in annotation.clusters] == [
        (None, [(0, 9), (28, 32)]),
        ("Bergen", [(20, 26)]),
    ]
    assert annotation.candidates == {(20, 26): [Candidate("Bergen", 0.9)]}


def test_with_text_it_has_the_clusters_of_the_document() -> None:
    annotation = read_dwie_annotation(article())
    assert annotation.text == TEXT
    assert annotation.clusters == read_dwie_article(article()).clusters


@pytest.mark.parametrize("content", [..., None, ""])
def test_no_content_is_no_text(content: Any) -> None:
    assert read_dwie_annotation(article(content=content)).text is None


def test_an_annotation_without_tags_and_mentions() -> None:
    annotation = read_dwie_annotation(article(content=..., tags=..., mentions=[]))
    assert (annotation.tags, annotation.clusters, annotation.candidates) == ((), [], {})


def test_surfaces_are_not_compared_with_the_text() -> None:
    other = article(content="Something else, shorter.")
    assert [c.entity for c in read_dwie_annotation(other).clusters] == [None, "Bergen"]
    with pytest.raises(CorpusError, match="differs from the content"):
        read_dwie_article(other)


def listed(begin: int, end: int, **more: Any) -> dict[str, Any]:
    return {"mentions": [{"begin": begin, "end": end, "text": "x", "concept": 1, **more}]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": ...}, "field 'id': missing"),
        ({"content": 5}, "field 'content': expected str, got 5"),
        ({"tags": "train"}, "field 'tags': expected list, got 'train'"),
        ({"mentions": ...}, "field 'mentions': missing"),
        (listed(3, 3), r"offsets 3\.\.3 are empty"),
        (listed(-1, 3), "lie outside"),
        ({"mentions": listed(0, 1)["mentions"] * 2}, "duplicate mention"),
        (listed(0, 1, candidates=["a", "b"], scores=[0.5]), "'candidates' and 'scores'"),
        (listed(0, 1, candidates=["a"], scores=[1.5]), "expected a probability"),
    ],
)
def test_malformed_annotations_say_where(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(CorpusError, match=f"here.json.*{message}"):
        read_dwie_annotation(article(**changed), "here.json")


def test_all_folders_of_the_download_are_read_and_a_text_wins(tmp_path: Path) -> None:
    write(tmp_path / "annos_with_content", article("DW_2"), article("DW_4", tags=["all", "test"]))
    write(tmp_path / "annos_only", article("DW_1", content=...), article("DW_2", content=...))
    write(tmp_path / "annos", article("DW_1", tags=["all", "test"], content=...), article("DW_3", content=...))
    found = list(read_dwie_annotations(tmp_path))
    assert [a.id for a in found] == ["DW_1", "DW_2", "DW_3", "DW_4"]
    assert [a.text is not None for a in found] == [False, True, False, True]
    assert [a.id for a in read_dwie_annotations(str(tmp_path), "train")] == ["DW_1", "DW_2", "DW_3"]
    assert [a.id for a in read_dwie_annotations(tmp_path / "annos")] == ["DW_1", "DW_3"]
    assert [d.id for d in read_dwie(tmp_path) if isinstance(d, Document)] == ["DW_2", "DW_4"]


def test_malformed_files_stop_or_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, article("DW_1", mentions={}), article("DW_2", content=...))
    (tmp_path / "DW_3.json").write_text("{", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"DW_1\.json: field 'mentions': expected list"):
        list(read_dwie_annotations(tmp_path))
    with pytest.warns(UserWarning, match=r"skipped: .*DW_[13]\.json") as caught:
        assert [a.id for a in read_dwie_annotations(tmp_path, strict=False)] == ["DW_2"]
    assert len(caught) == 2
    with pytest.raises(CorpusError, match=r"no DWIE articles"):
        list(read_dwie_annotations(tmp_path / "missing"))
    with pytest.raises(ValueError, match="split must be one of train, test, all"):
        list(read_dwie_annotations(tmp_path, "dev"))
