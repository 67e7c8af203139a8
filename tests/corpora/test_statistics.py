from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import AnnotatedDocument, Candidate, Cluster, Document, Mention
from hf_corefel.corpora import (
    ArticleAnnotation,
    CandidateRecall,
    CorpusError,
    corpus_statistics,
    detect_format,
    read_annotations,
)

# Ten words as the package splits, full stop included.
TEXT = "Mira Holt saw Oslo. Holt loves the old city"
CLUSTERS = [
    Cluster((Mention(0, 9), Mention(20, 24)), "Mira_Holt"),
    Cluster((Mention(14, 18), Mention(31, 43)), "Oslo"),
    Cluster((Mention(10, 13),)),
]
CANDIDATES = {
    # The entity is second, then first with an equal prior, then only another's; the last mention has no candidates.
    (0, 9): [Candidate("Holt", 0.6), Candidate("Mira_Holt", 0.4)],
    (20, 24): [Candidate("Mira_Holt", 0.5), Candidate("Holt", 0.5)],
    (14, 18): [Candidate("Oslo_(band)", 0.1), Candidate("Oslo", 0.9)],
    (10, 13): [Candidate("Saw", 1.0)],
}


def test_counts() -> None:
    statistics = corpus_statistics([Document(TEXT, clusters=CLUSTERS), Document("No more.", clusters=[])])
    assert statistics.to_dict() == {
        "documents": 2,
        "texts": 2,
        "words": 10 + 3,
        "text_mentions": 5,
        "linked_clusters": 2,
        "nil_clusters": 1,
        "linked_mentions": 4,
        "nil_mentions": 1,
        "mentions_per_word": 5 / 13,
        "candidates": None,
    }


def test_candidate_recall() -> None:
    recall = corpus_statistics([Document(TEXT, clusters=CLUSTERS, candidates=CANDIDATES)]).candidates
    assert recall == CandidateRecall(mentions=4, listed=3, first=2, in_cluster=4)
    assert recall.to_dict() == {
        "mentions": 4,
        "listed": 3,
        "first": 2,
        "in_cluster": 4,
        "recall": 0.75,
        "recall_first": 0.5,
        "recall_in_cluster": 1.0,
    }


def test_the_same_entity_in_two_documents_is_two_clusters_that_share_no_candidates() -> None:
    here = Document("Oslo", clusters=[Cluster((Mention(0, 4),), "Oslo")], candidates={(0, 4): [Candidate("Oslo", 1.0)]})
    there = Document("Oslo", clusters=[Cluster((Mention(0, 4),), "Oslo")])
    statistics = corpus_statistics(iter([here, there]))
    assert statistics.linked_clusters == 2
    assert statistics.candidates == CandidateRecall(mentions=2, listed=1, first=1, in_cluster=1)


def test_annotations_without_text_count_but_for_their_words() -> None:
    bare = ArticleAnnotation("a", (), CLUSTERS, CANDIDATES)
    statistics = corpus_statistics([bare])
    assert (statistics.documents, statistics.texts, statistics.words) == (1, 0, 0)
    assert (statistics.linked_mentions, statistics.mentions_per_word) == (4, None)
    both = corpus_statistics([bare, ArticleAnnotation("b", (), CLUSTERS[2:], text=TEXT)])
    assert both.mentions_per_word == 1 / 10, "only mentions whose text is counted"
    assert both.candidates == statistics.candidates


def test_given_words_and_predictions_and_documents_without_annotation() -> None:
    given = Document(TEXT, words=[(0, 9), (10, 43)])
    predicted = AnnotatedDocument(TEXT, CLUSTERS)
    statistics = corpus_statistics([given, predicted])
    assert (statistics.words, statistics.text_mentions, statistics.linked_clusters) == (2 + 10, 5, 2)


def test_nothing() -> None:
    statistics = corpus_statistics([])
    assert (statistics.documents, statistics.mentions_per_word, statistics.candidates) == (0, None, None)
    unlinked = Document("Oslo", clusters=[], candidates={(0, 4): [Candidate("Oslo", 1.0)]})
    recall = corpus_statistics([unlinked]).candidates
    assert recall is not None and recall.to_dict()["recall"] == 0.0


def article(name: str, **more: Any) -> str:
    mention = {"begin": 0, "end": 4, "text": "Oslo", "concept": 0}
    return json.dumps({"id": name, "mentions": [mention], "concepts": [{"concept": 0, "link": "Oslo"}], **more})


FILES = {
    "dwie": {"DW_1.json": article("DW_1")},
    "dwie below": {"annos_only/DW_1.json": article("DW_1")},
    "aida": {"AIDA-YAGO2-dataset.tsv": "-DOCSTART- (1 A)\nOslo\tB\tOslo\tOslo\thttp://en.wikipedia.org/wiki/Oslo\t1\n"},
    "aida_plus": {f"{split}/1.json": article(split) for split in ("train", "testa", "testb")},
    "gum": {"a.conllu": "1\tOslo\t_\tPROPN\t_\t_\t_\t_\t_\tEntity=(1-place-new-nnnnn-cf1-1-sgl-Oslo)\n"},
}
FILES["gum below"] = {f"dep/{name}": content for name, content in FILES["gum"].items()}


def write(folder: Path, kind: str) -> Path:
    for name, content in FILES[kind].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", FILES)
def test_the_format_is_told_by_the_files(tmp_path: Path, kind: str) -> None:
    folder = write(tmp_path, kind)
    name = kind.partition(" ")[0]
    assert detect_format(folder) == name
    read = list(read_annotations(folder))
    assert [[c.entity for c in d.clusters or []] for d in read] == [["Oslo"]] * (3 if name == "aida_plus" else 1)
    assert read == list(read_annotations(str(folder), "all", corpus_format=detect_format(folder), strict=False))


def test_the_format_of_a_single_file(tmp_path: Path) -> None:
    assert detect_format(write(tmp_path, "aida") / "AIDA-YAGO2-dataset.tsv") == "aida"
    assert detect_format(write(tmp_path, "gum") / "a.conllu") == "gum"
    with pytest.raises(CorpusError, match=r"DW_1\.json: no corpus that is known here"):
        detect_format(write(tmp_path, "dwie") / "DW_1.json")


def test_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(
        CorpusError,
        match=r"no corpus that is known here; expected the files of dwie \(.*\), aida \(.*\.tsv\), aida_plus",
    ):
        detect_format(tmp_path)
    with pytest.raises(CorpusError, match="nowhere: no such file or folder"):
        detect_format(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"unknown corpus 'gums'; known are dwie, aida, .*; did you mean 'gum'"):
        read_annotations(tmp_path, corpus_format="gums")
