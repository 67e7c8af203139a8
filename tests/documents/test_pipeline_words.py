"""Texts that the pipeline is given as words (``is_split_into_words``)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from transformers.pipelines.pt_utils import KeyDataset

from hf_corefel import AnnotatedDocument, CorefELPipeline, Document, DocumentError
from hf_corefel.pipeline_corefel import load_pipeline
from hf_corefel.pipelines.handed_over import LazyResults

TEXT = "Anna Berg met Carl Moss in Oslo . Berg praised Moss . Then she left the city ."
WORDS = TEXT.split()
FEW = ["Norway", "won", "."]


@pytest.fixture(scope="module")
def annotate(tiny_folder: Path) -> CorefELPipeline:
    return load_pipeline(tiny_folder)


@pytest.fixture(scope="module")
def alone(annotate: CorefELPipeline) -> Any:
    return annotate(WORDS, is_split_into_words=True)  # type: ignore[arg-type]


def test_one_list_of_words_is_one_text(annotate: Any, alone: Any) -> None:
    document = Document.from_words(WORDS)
    assert alone == {**annotate(document), "word_offsets": [list(word) for word in document.words or []]}
    assert alone["text"] == TEXT
    assert alone["clusters"]
    assert AnnotatedDocument.from_dict(alone).to_dict() == alone


def test_numbers_of_words_are_those_of_the_list(alone: Any) -> None:
    for spans, surfaces in zip(alone.get_word_clusters(), alone.get_clusters(), strict=True):
        assert [" ".join(WORDS[first:last]) for first, last in spans] == surfaces


def test_words_are_taken_as_they_are(annotate: Any) -> None:
    """None is split or joined, whatever is in it."""
    words = ["Anna-Berg", "met", "Carl Moss", "in", "\n", "Oslo."]
    found = annotate(words, is_split_into_words=True)
    assert found.word_map().words == [(0, 9), (10, 13), (14, 23), (24, 26), (27, 28), (29, 34)]
    ends = {end for cluster in found.get_clusters(as_strings=False) for _, end in cluster}
    assert ends <= {9, 13, 23, 26, 28, 34}


MANY: dict[str, Callable[[list[list[str]]], Any]] = {
    "list": list,
    "tuples": lambda texts: tuple(map(tuple, texts)),
    "arrays": lambda texts: [np.array(words) for words in texts],
    "column": lambda texts: Dataset.from_dict({"tokens": texts})["tokens"],
    "numpy column": lambda texts: Dataset.from_dict({"tokens": texts}).with_format("numpy")["tokens"],
    "frame": lambda texts: Dataset.from_dict({"tokens": texts}).to_pandas()["tokens"],
    "generator": lambda texts: (words for words in texts),
    "KeyDataset": lambda texts: KeyDataset(Dataset.from_dict({"tokens": texts}), "tokens"),
}


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_many_texts(annotate: Any, make: Callable[[list[list[str]]], Any]) -> None:
    texts = [WORDS, FEW, [], WORDS[:3]]
    found = annotate(make(texts), is_split_into_words=True, batch_size=1)
    assert not isinstance(found, LazyResults) or len(found) == 4
    found = list(found)
    assert found == [annotate(words, is_split_into_words=True) for words in texts]
    assert [len(result["word_offsets"]) for result in found] == [len(words) for words in texts]
    assert found[2] == {"text": "", "clusters": [], "warnings": [], "word_offsets": []}
    documents = annotate.annotate(make(texts), is_split_into_words=True, batch_size=1)
    assert [document.to_dict() for document in documents] == found


def test_it_holds_for_all_calls_unless_one_says_otherwise(tiny_folder: Path, alone: Any) -> None:
    annotate: Any = load_pipeline(tiny_folder, is_split_into_words=True)
    assert annotate(WORDS) == alone
    assert annotate([WORDS, FEW], batch_size=1)[0] == alone
    assert "word_offsets" not in annotate(TEXT, is_split_into_words=False)


def test_what_is_no_list_of_words_says_so(annotate: Any) -> None:
    with pytest.raises(DocumentError, match=r"^inputs\[1\]: expected a text as a list of words .*; got str$"):
        annotate([FEW, "Norway won."], is_split_into_words=True)
    with pytest.raises(DocumentError, match=r"^inputs\[1\]: words\[1\]: expected a non-empty string, got ''$"):
        annotate([FEW, ["Norway", ""]], is_split_into_words=True)
    for text in ("Norway won.", {"text": "Norway won."}, Document("Norway won.")):
        with pytest.raises((DocumentError, TypeError), match="list"):
            annotate(text, is_split_into_words=True)
    with pytest.raises(TypeError, match=r"^is_split_into_words: expected True or False, got 'yes'$"):
        annotate(WORDS, is_split_into_words="yes")
    with pytest.raises(DocumentError, match=r"^inputs\[0\]: expected a text as a list of words"):
        annotate.annotate(WORDS, is_split_into_words=True)
