from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import Candidate
from hf_corefel.corpora import CorpusError, read_aida_plus, read_aida_plus_annotations

TEXT = "HOLT WINS IN OSLO . Holt won ."


def article(**changed: Any) -> dict[str, Any]:
    whole = {
        "id": "1 HOLT",
        "content": TEXT,
        "mentions": [
            {"begin": 0, "end": 4, "text": "HOLT", "concept": 0},
            {"begin": 13, "end": 17, "text": "OSLO", "concept": 1, "candidates": ["Oslo"], "scores": [0.7]},
            {"begin": 20, "end": 24, "text": "Holt", "concept": 0},
        ],
        "concepts": [{"concept": 0, "link": None}, {"concept": 1, "link": "Oslo"}],
    }
    return {key: value for key, value in {**whole, **changed}.items() if value is not ...}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, names in {"train": ("2", "10"), "testa": ("3",), "testb": ("4",)}.items():
        (tmp_path / split).mkdir()
        for name in names:
            (tmp_path / split / f"{name}.json").write_text(json.dumps(article(id=f"{name} HOLT")), encoding="utf-8")
    return tmp_path


def test_the_articles_of_a_split(folder: Path) -> None:
    def names(split: str) -> list[str | None]:
        return [document.id for document in read_aida_plus(folder, split)]

    assert names("train") == ["10 HOLT", "2 HOLT"]
    assert names("testa") == ["3 HOLT"]
    assert names("testb") == ["4 HOLT"]
    assert names("all") == names("train") + names("testa") + names("testb")
    assert [a.id for a in read_aida_plus_annotations(folder)] == names("all")
    with pytest.raises(ValueError, match="split must be one of train, testa, testb, all; got 'dev'"):
        names("dev")


def test_an_article(folder: Path) -> None:
    (document,) = read_aida_plus(str(folder), "testa", candidates=True)
    assert document.text == TEXT
    assert [(c.entity, [m.text for m in c.mentions]) for c in document.clusters or []] == [
        (None, ["HOLT", "Holt"]),
        ("Oslo", ["OSLO"]),
    ]
    assert document.candidates[13, 17] == [Candidate("Oslo", 0.7)]
    assert not next(read_aida_plus(folder, "testa")).candidates


def test_the_name_of_the_file_stands_for_a_missing_id(folder: Path) -> None:
    (folder / "testb" / "4.json").write_text(json.dumps(article(id=...)), encoding="utf-8")
    assert next(read_aida_plus(folder, "testb")).id == "4"
    assert next(read_aida_plus_annotations(folder, "testb")).id == "4"


def test_without_text_the_annotation_is_left(folder: Path) -> None:
    (folder / "testa" / "3.json").write_text(json.dumps(article(content=...)), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"3\.json: field 'content' is missing or empty"):
        list(read_aida_plus(folder, "testa"))
    (annotation,) = read_aida_plus_annotations(folder, "testa")
    assert annotation.text is None
    assert [c.entity for c in annotation.clusters] == [None, "Oslo"]


@pytest.mark.parametrize("content", ["{", "[]", json.dumps(article(mentions=5))])
def test_malformed_articles_stop_or_are_left_out(folder: Path, content: str) -> None:
    (folder / "train" / "2.json").write_text(content, encoding="utf-8")
    for reader in (read_aida_plus, read_aida_plus_annotations):
        with pytest.raises(CorpusError, match=r"train.2\.json: "):
            list(reader(folder))
        with pytest.warns(UserWarning, match=r"skipped: .*train.2\.json: "):
            assert [document.id for document in reader(folder, "train", strict=False)] == ["10 HOLT"]


def test_a_split_without_articles(folder: Path) -> None:
    (folder / "testb" / "4.json").unlink()
    with pytest.raises(CorpusError, match=r"testb: no AIDA\+ articles \(\*\.json\) here"):
        list(read_aida_plus(folder))
