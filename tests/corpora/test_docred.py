from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.corpora import CorpusError, corpus_statistics, read_annotations, read_docred
from hf_corefel.documents import AnnotatedLayers
from little_corpora import surfaces


def mention(sentence: int, first: int, end: int, **more: Any) -> dict[str, Any]:
    return {"name": "as written", "sent_id": sentence, "pos": [first, end], "type": "LOC", **more}


def article(title: str = "Oslo", **changed: Any) -> dict[str, Any]:
    oslo = [mention(0, 0, 1), mention(1, 1, 2)]
    lake = [mention(0, 2, 4)]
    whole = {"title": title, "sents": [["Oslo", "has", "Lake", "One"], ["In", "Oslo", "."]], "vertexSet": [oslo, lake]}
    return {**whole, **changed}


def write(path: Path, *items: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(items)), encoding="utf-8")
    return path


def test_text_and_clusters(tmp_path: Path) -> None:
    (document,) = read_docred(write(tmp_path / "dev.json", article()))
    assert (document.id, document.text) == ("Oslo", "Oslo has Lake One\nIn Oslo .")
    assert len(document.words or []) == 7
    assert surfaces(document) == [(None, ["Oslo", "Oslo"]), (None, ["Lake One"])]
    assert document.layers == AnnotatedLayers(mentions="named", links=False)


def test_the_commonest_code_is_the_entity(tmp_path: Path) -> None:
    codes = (None, "Q1", "Q2", "Q2", "Q1")
    places = [mention(0, token, token + 1, wikidata_qcode=code) for token, code in enumerate(codes)]
    item = article(sents=[list("abcde")], vertexSet=[places, [mention(0, 0, 2, wikidata_qcode=None)]])
    (document,) = read_docred(write(tmp_path / "linked_qcode.json", item))
    assert surfaces(document) == [("Q1", list("abcde")), (None, ["a b"])]
    assert document.layers == AnnotatedLayers(mentions="named", links="some")


def test_what_is_listed_twice_is_there_once_and_counted_as_published(tmp_path: Path) -> None:
    lake = [mention(0, 2, 4), mention(0, 2, 4)]
    path = write(tmp_path / "dev.json", article(vertexSet=[lake, [mention(0, 0, 1)], [mention(0, 2, 4)]]))
    with pytest.warns(UserWarning, match=r"dropped: .*vertexSet\[2\]: cluster 2 has a mention at the place of one of"):
        (document,) = read_docred(path)
    assert surfaces(document) == [(None, ["Oslo"]), (None, ["Lake One"])]
    counts = corpus_statistics(read_annotations(path))
    assert (counts.nil_clusters, counts.nil_mentions, counts.words) == (3, 4, 7)


MALFORMED: dict[str, tuple[Any, str]] = {
    "no object": (3, "expected an object with fields, got int"),
    "no title": (article(title=None), "field 'title': expected str, got None"),
    "no sentences": ({"title": "x", "vertexSet": []}, "field 'sents': missing"),
    "empty token": (article(sents=[["Oslo", ""]]), r"\.sents\[0\]: expected a list of tokens, none of them empty"),
    "no clusters": (article(vertexSet={}), r"field 'vertexSet': expected list, got \{\}"),
    "no cluster": (article(vertexSet=[3]), r"\.vertexSet\[0\]: expected a list of mentions, got int"),
    "sentence": (article(vertexSet=[[mention(2, 0, 1)]]), r"\.vertexSet\[0\]\[0\]: sent_id 2 of 2 sentences"),
    "no number": (article(vertexSet=[[mention(True, 0, 1)]]), "field 'sent_id': expected int, got True"),
    "place": (article(vertexSet=[[mention(1, 1, 4)]]), r"expected pos \[first, end\] within 3 tokens, got \[1, 4\]"),
    "code": (article(vertexSet=[[mention(1, 1, 2, wikidata_qcode=5)]]), "field 'wikidata_qcode': expected a string"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_documents_name_their_place_or_are_left_out(tmp_path: Path, kind: str) -> None:
    item, message = MALFORMED[kind]
    path = write(tmp_path / "dev.json", article("a"), item, article("b"))
    with pytest.raises(CorpusError, match=rf"dev\.json: \[1\].*{message}.*strict=False"):
        list(read_docred(path))
    with pytest.warns(UserWarning, match=rf"document skipped: .*{message}"):
        assert [document.id for document in read_docred(path, strict=False)] == ["a", "b"]


def test_files_that_are_no_lists(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text("[\n{", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"dev\.json:2: no valid JSON"):
        list(read_docred(path))
    path.write_text(f"[{'1' * 5000}]", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"dev\.json: no valid JSON: "):
        list(read_docred(path))
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"dev\.json: expected a list of documents, got dict"):
        list(read_docred(path))


def test_splits_are_the_names_of_files(tmp_path: Path) -> None:
    write(tmp_path / "dev_revised.json", article("dev"))
    write(tmp_path / "test.json", article("test"))
    (tmp_path / "rel_info.json").write_text('{"P17": "country"}', encoding="utf-8")
    assert [document.id for document in read_docred(tmp_path)] == ["dev", "test"]
    assert [document.id for document in read_docred(tmp_path, "dev")] == ["dev"]
    with pytest.raises(ValueError, match="split 'train'"):
        list(read_docred(tmp_path, "train"))
    write(tmp_path / "dev.json", article("other"))
    with pytest.raises(CorpusError, match=r"2 files of the split 'dev', dev\.json, dev_revised\.json; name one"):
        list(read_docred(tmp_path, "dev"))
