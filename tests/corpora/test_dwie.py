from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import Candidate, Document
from hf_corefel.corpora import (
    CorpusError,
    development_split,
    read_dwie,
    read_dwie_annotations,
    read_dwie_article,
    read_dwie_texts,
)

TEXT = "Anna Berg lives in Oslo. Berg, a painter, likes Oslo."


def mention(surface: str, concept: int, start: int = 0, **more: Any) -> dict[str, Any]:
    begin = TEXT.index(surface, start)
    return {"begin": begin, "end": begin + len(surface), "text": surface, "concept": concept, **more}


def article(name: str = "DW_1", **changed: Any) -> dict[str, Any]:
    scored = {"candidates": ["Oslo", "Oslo_(band)"], "scores": [0.75, 0.25]}
    whole = {
        "id": name,
        "content": TEXT,
        "tags": ["all", "train"],
        "mentions": [
            mention("Anna Berg", 0, candidates=[], scores=[]),
            mention("Oslo", 2, **scored),
            mention("Berg", 0, 20, candidates=None, scores=None),
            mention("a painter", 3),
            mention("Oslo", 2, 30, **scored),
        ],
        "concepts": [
            {"concept": 0, "text": "Anna Berg", "link": None},
            {"concept": 1, "text": "Nobody", "link": "Nobody"},
            {"concept": 2, "text": "Oslo", "link": "Oslo"},
            {"concept": 3, "text": "painter"},
        ],
        "relations": [],
    }
    return {key: value for key, value in {**whole, **changed}.items() if value is not ...}


def write(folder: Path, *articles: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for each in articles:
        (folder / f"{each['id']}.json").write_text(json.dumps(each), encoding="utf-8")
    return folder


def clusters(document: Document) -> list[tuple[str | None, list[str]]]:
    return [(c.entity, [m.text or "" for m in c.mentions]) for c in document.clusters or []]


def test_an_article() -> None:
    document = read_dwie_article(article())
    assert (document.id, document.text) == ("DW_1", TEXT)
    # The link is null for one NIL concept and missing for the other; the concept without mentions is left out.
    assert clusters(document) == [(None, ["Anna Berg", "Berg"]), ("Oslo", ["Oslo", "Oslo"]), (None, ["a painter"])]
    assert [m.offsets for m in (document.clusters or [])[1].mentions] == [(19, 23), (48, 52)]
    assert document.candidates == {} and document.mentions is None


def test_mentions_and_clusters_come_in_reading_order() -> None:
    shuffled = article()
    shuffled["mentions"] = [shuffled["mentions"][i] for i in (4, 3, 2, 1, 0)]
    assert read_dwie_article(shuffled) == read_dwie_article(article())


@pytest.mark.parametrize(("link", "entity"), [("", None), (" ", None), ("FIFA ", "FIFA")])
def test_blanks_are_no_part_of_a_link(link: str, entity: str | None) -> None:
    concepts = [{"concept": number, "link": link} for number in range(4)]
    assert {found for found, _ in clusters(read_dwie_article(article(concepts=concepts)))} == {entity}


def test_an_article_without_annotation() -> None:
    assert read_dwie_article(article(mentions=[], concepts=[])).clusters == []


def test_listed_candidates() -> None:
    document = read_dwie_article(article(), candidates=True)
    listed = [Candidate("Oslo", 0.75), Candidate("Oslo_(band)", 0.25)]
    assert document.candidates == {(0, 9): [], (19, 23): listed, (25, 29): [], (31, 40): [], (48, 52): listed}
    assert clusters(document) == clusters(read_dwie_article(article()))


@pytest.mark.parametrize("content", [..., None, ""])
def test_an_article_without_text_names_the_fix(content: Any) -> None:
    with pytest.raises(CorpusError, match=r"somewhere: field 'content' is missing or empty; .*official download"):
        read_dwie_article(article(content=content), "somewhere")


def test_a_mention_whose_text_differs() -> None:
    wrong = article()
    wrong["mentions"][1]["text"] = "Bergen"
    with pytest.raises(CorpusError, match=r"article: mentions\[1\]: text 'Bergen' differs .*'Oslo' at 19\.\.23"):
        read_dwie_article(wrong)
    with pytest.warns(UserWarning, match=r"dropped: article: mentions\[1\]"):
        document = read_dwie_article(wrong, strict=False, candidates=True)
    assert ("Oslo", ["Oslo"]) in clusters(document)
    assert (19, 23) not in document.candidates


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": ...}, "field 'id': missing"),
        ({"id": 7}, "field 'id': expected str, got 7"),
        ({"tags": 5}, "field 'tags': expected list, got 5"),
        ({"content": ["a"]}, r"field 'content': expected str, got \['a'\]"),
        ({"concepts": ...}, "field 'concepts': missing"),
        ({"mentions": {}}, "field 'mentions': expected list"),
        ({"concepts": ["Oslo"]}, r"concepts\[0\]: expected an object with fields, got str"),
        ({"concepts": [{"link": "Oslo"}]}, r"concepts\[0\]: field 'concept': missing"),
        ({"concepts": [{"concept": True}]}, r"concepts\[0\]: field 'concept': expected int, got True"),
        ({"concepts": [{"concept": 0, "link": 3}]}, r"concepts\[0\]: field 'link': expected str, got 3"),
        ({"mentions": [mention("Oslo", 9)]}, r"mentions\[0\]: concept 9 is not among the concepts"),
        ({"mentions": [{"begin": 0, "end": 4, "text": "Anna"}]}, r"mentions\[0\]: field 'concept': missing"),
        ({"mentions": [{**mention("Oslo", 2), "begin": "0"}]}, r"mentions\[0\]: field 'begin': expected int, got '0'"),
        ({"mentions": [mention("Oslo", 2), mention("Oslo", 3)]}, "mention in two clusters"),
        ({"mentions": [{"begin": 3, "end": 3, "text": "", "concept": 2}]}, "offsets 3..3 are empty"),
        ({"mentions": [mention("Oslo", 2, candidates=["a"], scores=[])]}, r"mentions\[0\]: 'candidates' and 'scores'"),
        ({"mentions": [mention("Oslo", 2, candidates=["a"], scores=[None])]}, r"mentions\[0\]: 'candidates' and"),
        ({"mentions": [mention("Oslo", 2, candidates=["a"], scores=[2.0])]}, "expected a probability"),
    ],
)
def test_malformed_articles_say_where(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(CorpusError, match=f"here.json: .*{message}"):
        read_dwie_article(article(**changed), "here.json", candidates=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tagged = {"DW_3": ["all", "test"], "DW_10": ["all", "train"], "DW_2": ["all", "train"], "DW_4": None}
    return write(tmp_path / "articles", *(article(name, tags=tags) for name, tags in tagged.items()))


def test_splits_by_tags(folder: Path) -> None:
    def names(split: str) -> list[str | None]:
        documents = list(read_dwie(folder, split))
        assert list(read_dwie_texts(folder, split)) == [Document(d.text, id=d.id) for d in documents]
        return [document.id for document in documents]

    # In the order of the ids as strings.
    assert names("all") == ["DW_10", "DW_2", "DW_3", "DW_4"]
    assert names("train") == ["DW_10", "DW_2"]
    assert names("test") == ["DW_3"]
    assert [d.id for d in read_dwie(str(folder))] == names("all")
    with pytest.raises(ValueError, match="split must be one of train, test, all; got 'dev'"):
        next(read_dwie(folder, "dev"))


def test_candidates_of_a_folder(folder: Path) -> None:
    assert all(document.candidates for document in read_dwie(folder, candidates=True))
    assert not any(document.candidates for document in read_dwie(folder))


def test_the_folder_of_the_official_download(folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "annos_with_content")
    write(tmp_path / "annos_only", article("DW_9", content=...))
    assert [d.id for d in read_dwie(tmp_path)] == ["DW_10", "DW_2", "DW_3", "DW_4"]


def test_a_folder_without_articles(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(CorpusError, match=rf"{folder.name}: no DWIE articles .*official download"):
            next(read_dwie(folder))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "DW_5", ', "no valid JSON"),
        (b"\xff\xfe", "no valid JSON"),
        (b"[]", "expected one article object, got list"),
        (b'{"id": "DW_5", "tags": ["train"]}', "field 'content' is missing or empty"),
        (b'{"id": "DW_5", "tags": ["train"], "content": 5}', "field 'content': expected str, got 5"),
        (b'{"id": "DW_5", "tags": 5, "content": "x"}', "field 'tags': expected list, got 5"),
        (b'{"id": "DW_5", "tags": "train", "content": "x"}', "field 'tags': expected list, got 'train'"),
        pytest.param(b"[" * 200_000, "no valid JSON: ", id="deep"),
        pytest.param(b'{"id": ' + b"1" * 5000 + b"}", "no valid JSON: ", id="number"),
    ],
)
def test_a_malformed_file(folder: Path, content: bytes, message: str) -> None:
    (folder / "DW_1.json").write_bytes(content)
    with pytest.raises(CorpusError, match=rf"DW_1\.json: {message}"):
        list(read_dwie(folder, "train"))
    with pytest.warns(UserWarning, match=rf"skipped: .*DW_1\.json: {message}"):
        documents = list(read_dwie(folder, "train", strict=False))
    assert [d.id for d in documents] == ["DW_10", "DW_2"]
    with pytest.warns(UserWarning, match=rf"DW_1\.json: {message}"):
        assert len(list(read_dwie_texts(folder, "train"))) == 2


def test_tags_are_looked_at_in_every_split(tmp_path: Path) -> None:
    write(tmp_path, article(tags="train"))
    for split in ("all", "train", "test"):
        for read in (read_dwie, read_dwie_annotations):
            with pytest.raises(CorpusError, match=r"DW_1\.json: field 'tags': expected list, got 'train'"):
                list(read(tmp_path, split))
    assert [d.id for d in read_dwie_texts(tmp_path)] == ["DW_1"]


def test_texts_that_are_no_text_name_their_file(tmp_path: Path) -> None:
    write(tmp_path, article(content=5), article("DW_2"))
    with pytest.warns(UserWarning, match=r"skipped: .*DW_1\.json: field 'content': expected str, got 5"):
        assert [d.id for d in read_dwie_texts(tmp_path)] == ["DW_2"]


def test_two_links_of_a_concept(tmp_path: Path) -> None:
    concepts = [{"concept": number, "link": link} for number, link in ((0, None), (2, "Oslo"), (3, None))]
    message = r"DW_1\.json: concepts\[3\]: concept 2 is '{}' here and 'Oslo' before; give it one link"
    write(tmp_path, article(concepts=[*concepts, {"concept": 2, "link": "Bergen"}]))
    for read in (read_dwie, read_dwie_annotations):
        with pytest.raises(CorpusError, match=message.format("Bergen")):
            list(read(tmp_path))
        with pytest.warns(UserWarning, match=f"ignored: .*{message.format('Bergen')}"):
            (found,) = read(tmp_path, strict=False)
        assert [cluster.entity for cluster in found.clusters or []] == [None, "Oslo", None]
    write(tmp_path, article(concepts=[*concepts, {"concept": 2, "link": "Oslo "}]))
    assert len(list(read_dwie(tmp_path))) == 1


def test_texts_do_without_annotation(tmp_path: Path) -> None:
    write(tmp_path, article(mentions=..., concepts=["?"]))
    assert list(read_dwie_texts(tmp_path)) == [Document(TEXT, id="DW_1")]
    # The name of the file stands for a missing id.
    (tmp_path / "DW_1.json").write_text(json.dumps(article(id=...)))
    assert list(read_dwie_texts(tmp_path)) == [Document(TEXT, id="DW_1")]


def test_development_split() -> None:
    documents = [Document("x", id=f"DW_{number:02}") for number in reversed(range(25))]
    train, development = development_split(documents)
    assert [d.id for d in development] == ["DW_00", "DW_10", "DW_20"]
    assert [d.id for d in train] == sorted({d.id for d in documents} - {d.id for d in development}, key=str)
    assert development_split([]) == ([], [])
