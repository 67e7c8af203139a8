"""Which layers are annotated: what is taken, what is refused, and the way through files and tables."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset

from hf_corefel import DOCUMENT_FEATURES, Document, DocumentError
from hf_corefel.documents import AnnotatedLayers
from hf_corefel.formats import read_jsonl, write_jsonl

EVERY = [
    {"mentions": mentions, "clusters": clusters, "links": links}
    for mentions, clusters, links in itertools.product(("all", "named", "given"), (True, False), (True, False, "some"))
]


def document(annotated: Any) -> Document:
    return Document("Moss left.", clusters=[], annotated=annotated)


def test_documents_come_back_from_json_lines_and_dicts(tmp_path: Path) -> None:
    documents = [document(layers) for layers in [*EVERY, None]]
    write_jsonl(tmp_path / "a.jsonl", documents)
    assert list(read_jsonl(tmp_path / "a.jsonl")) == documents
    for layers, each in zip(EVERY, documents, strict=False):
        assert json.loads(json.dumps(each.to_dict()))["annotated"] == layers
        assert Document.from_dict(each.to_dict()) == each
    assert "annotated" not in documents[-1].to_dict()


def test_documents_come_back_from_tables() -> None:
    documents = [document(layers) for layers in [None, *EVERY]]
    rows = [{name: each.to_dict().get(name) for name in DOCUMENT_FEATURES} for each in documents]
    table = Dataset.from_list(rows, features=DOCUMENT_FEATURES)
    assert [Document.from_dict(row) for row in table] == documents


def test_what_is_missing_is_annotated() -> None:
    assert document({"links": "some"}).layers == AnnotatedLayers("all", True, "some")
    assert document({"mentions": None, "clusters": False, "links": float("nan")}).layers == AnnotatedLayers(
        clusters=False
    )
    assert document(None).layers == document({}).layers == AnnotatedLayers()
    assert document(None).annotated is None


def test_values_of_other_libraries_become_plain() -> None:
    layers = document({"mentions": np.str_("given"), "clusters": np.bool_(False), "links": np.array("some")}).layers
    assert layers == AnnotatedLayers("given", False, "some")
    assert [type(value) for value in layers.to_dict().values()] == [str, bool, str]
    assert document({"links": "True", "clusters": "false"}).layers == AnnotatedLayers(clusters=False)


@pytest.mark.parametrize(
    ("annotated", "message"),
    [
        ({"mentions": "some"}, "document.annotated.mentions: expected 'all' or 'named' or 'given', got 'some'"),
        ({"clusters": "some"}, "document.annotated.clusters: expected True or False, got 'some'"),
        ({"clusters": 1}, "document.annotated.clusters: expected True or False, got 1"),
        ({"links": 0.5}, "document.annotated.links: expected True or False or 'some', got 0.5"),
        ({"link": True}, "document.annotated: unknown field 'link' (did you mean 'links'?)"),
        (["links"], "document.annotated: expected an object with mentions, clusters and links, got list"),
        ("all", "document.annotated: expected an object with mentions, clusters and links, got str"),
    ],
)
def test_what_is_wrong_is_named(annotated: Any, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        document(annotated)
    assert str(caught.value).startswith(message)
    with pytest.raises(DocumentError):
        Document.from_dict({"text": "Moss left.", "annotated": annotated})
