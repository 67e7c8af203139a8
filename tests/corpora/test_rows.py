"""Rows of datasets: what the columns cannot hold is said, and no character ends the loading."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest

import hf_corefel
from hf_corefel import Candidate, Cluster, Document, Mention, Turn
from hf_corefel.corpora import CORPORA, CorpusSpec
from hf_corefel.corpora.builders import document_features
from hf_corefel.corpora.exporting import export_corpus
from hf_corefel.corpora.rows import document_rows
from hf_corefel.formats import FormatLossWarning

LONE = "\ud800"
TEXT = f"Anna {LONE} of Oslo"


def register(*documents: Document) -> None:
    """Registers a corpus of the name mine, which has these documents in every folder."""

    def read(path: Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
        yield from documents

    CORPORA.register("mine", CorpusSpec("mine", "Mine", Path.is_dir, {}, read), replace=True)


def load(folder: Path, **options: Any) -> Any:
    return hf_corefel.load_corpus(folder, corpus="mine", split="train", cache_dir=folder / "cache", **options)


@pytest.mark.parametrize("streaming", [False, True])
def test_lone_surrogates_become_replacement_characters(tmp_path: Path, streaming: bool) -> None:
    mentions = (Mention(0, 6), Mention(10, 14))
    register(
        Document("Oslo", "plain", clusters=[]),
        Document(TEXT, f"a{LONE}", clusters=[Cluster(mentions)], speakers=[Turn(0, 4, f"B{LONE}")]),
        Document(LONE, clusters=[]),
    )
    with pytest.warns(UserWarning, match="in place of lone surrogates") as caught:
        rows = list(load(tmp_path, streaming=streaming))
    said = [str(warning.message) for warning in caught]
    assert said == [
        f"Mine, split train: {name}: U+FFFD in place of lone surrogates, which Arrow lacks"
        for name in (r"document 'a\ud800'", "document 3")
    ]
    assert [row["text"] for row in rows] == ["Oslo", TEXT.replace(LONE, "\ufffd"), "\ufffd"]
    assert [row["id"] for row in rows] == ["plain", "a\ufffd", None]
    document = Document.from_dict(rows[1])
    (cluster,) = document.clusters or []
    assert [(m.offsets, m.text) for m in cluster.mentions] == [((0, 6), "Anna \ufffd"), ((10, 14), "Oslo")]
    assert document.speakers == [Turn(0, 4, "B\ufffd")]


def test_lone_surrogates_in_columns_of_a_guest() -> None:
    features = datasets.Features({**document_features(), "source": {"names": [datasets.Value("string")]}})
    document = Document("Oslo", "a", clusters=[], extra={"source": {"names": [LONE, "b"]}})
    with pytest.warns(UserWarning, match="document 'a': U\\+FFFD"):
        (row,) = document_rows([document], features, "Mine")
    assert row["source"] == {"names": ["\ufffd", "b"]}


def test_a_dwie_article_with_a_lone_surrogate_is_loaded_and_exported(tmp_path: Path) -> None:
    mention = {"begin": 10, "end": 14, "text": "Oslo", "concept": 0}
    article = {"id": "DW_1", "content": TEXT, "tags": ["train"], "mentions": [mention], "concepts": [{"concept": 0}]}
    (tmp_path / "DW_1.json").write_text(json.dumps(article), encoding="utf-8")
    with pytest.warns(UserWarning, match="DWIE, split train: document 'DW_1': U\\+FFFD"):
        (row,) = hf_corefel.load_dwie(tmp_path, split="train", cache_dir=tmp_path / "cache")
    assert row["clusters"][0]["mentions"] == [{"begin": 10, "end": 14, "text": "Oslo"}]
    with pytest.warns(UserWarning, match="document 'DW_1': U\\+FFFD"):
        assert len(export_corpus("dwie", tmp_path, tmp_path / "out")) == 2


def test_a_name_of_a_file_that_is_no_unicode(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    try:
        for end, content in ((".txt", "Oslo"), (".ann", "T1\tCity 0 4\tOslo\n")):
            (tmp_path / f"{name}{end}").write_text(content, encoding="utf-8")
    except OSError:
        pytest.skip("file systems of this machine take no such names")
    with pytest.warns(UserWarning, match=r"document 'caf\\udce9': U\+FFFD"):
        (row,) = hf_corefel.load_brat(tmp_path, split="train", cache_dir=tmp_path / "cache")
    assert (row["id"], len(row["clusters"])) == ("caf\ufffd", 1)


def full(number: int | str, **more: Any) -> Document:
    """A document that says more than the columns hold."""
    cluster = Cluster((Mention(0, 4, probability=0.5),), "Oslo", url="https://example.org", wikidata="Q585")
    return Document("Oslo is old.", number, clusters=[cluster], mentions=[(0, 4)], extra={"genre": "news"}, **more)


@pytest.mark.parametrize("streaming", [False, True])
def test_what_the_columns_do_not_hold_is_said_once(tmp_path: Path, streaming: bool) -> None:
    register(full(1), full("b"), Document("Oslo", "c"), Document("Oslo", "d", clusters=[]))
    with pytest.warns(FormatLossWarning) as caught:
        rows = list(load(tmp_path, streaming=streaming))
    assert [row["id"] for row in rows] == ["1", "b", "c", "d"]
    (message,) = (str(warning.message) for warning in caught)
    start, _, kinds = message.partition("left out or changed: ")
    assert start == "Mine, split train: the columns do not hold all that the documents say; "
    assert set(kinds.split("; ")) == {
        "URLs of entities (in 2 of 4 documents)",
        "probabilities (in 2 of 4 documents)",
        "given mentions and spans (in 2 of 4 documents)",
        "other fields (in 2 of 4 documents)",
        "ids that are numbers, which become text (in 1 of 4 documents)",
        "missing annotations, which become empty ones (in 1 of 4 documents)",
    }


def test_what_the_columns_hold_or_nobody_asked_for_is_no_loss(tmp_path: Path) -> None:
    listed = {(0, 4): [Candidate("Oslo", 1.0)]}
    cluster = Cluster((Mention(0, 4),), "Oslo", wikidata="Q585", type="place")
    facts: dict[str, Any] = {"mention_scope": "all", "speakers": [Turn(0, 4, "A")], "words": [(0, 4)]}
    register(Document("Oslo", "a", clusters=[cluster], candidates=listed, annotated={"links": False}, **facts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(load(tmp_path)) == 1
    features = datasets.Features(
        {**document_features(), "id": datasets.Value("int64"), "genre": datasets.Value("string")}
    )
    with pytest.warns(FormatLossWarning) as caught:
        (row,) = document_rows([full(7)], features, "Mine")
    assert (row["id"], row["genre"]) == (7, "news")
    assert not any(kind in str(caught[0].message) for kind in ("other fields", "numbers"))
