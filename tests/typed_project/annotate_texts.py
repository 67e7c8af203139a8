"""A text, many, a stream and a dataset of torch: what goes in says what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

from torch.utils.data import Dataset

import hf_corefel
from hf_corefel import AnnotatedDocument, CorefELPipeline, Document, load_pipeline
from hf_corefel.documents.types import ClusterResult, DocumentData, DocumentResult, MentionResult
from hf_corefel.formats import read_jsonl, write_jsonl
from hf_corefel.pipelines.handed_over import LazyResults

pipe = load_pipeline(device="cpu", batch_size=2, num_workers=0, top_k=3)
assert_type(pipe, CorefELPipeline)


class Texts(Dataset[str]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> str:
        return f"Text {index}."


def stream() -> Iterator[str]:
    yield "Anna Berg met Carl Moss."


# One in, one out.
result = pipe("Anna Berg met Carl Moss.", evidence=True, top_k=2, resolved_text=True, id="wikidata", types=["person"])
assert_type(result, DocumentResult)
assert_type(pipe("x")["clusters"], list[ClusterResult])
assert_type(pipe(Document("Anna Berg.", id=7)), DocumentResult)
assert_type(pipe({"text": "Anna Berg.", "id": "a"}), DocumentResult)
assert_type(result["text"], str)
assert_type(result["warnings"], list[str])
assert_type(result.get("id"), str | int | None)
assert_type(result.get("resolved_text"), str | None)
for cluster in result["clusters"]:
    assert_type(cluster["entity"], str | None)
    assert_type(cluster["probability"], float)
    assert_type(cluster.get("url"), str | None)
    assert_type(cluster.get("wikidata"), str | None)
    assert_type(cluster.get("type"), str | None)
    for alternative in cluster.get("alternatives", []):
        assert_type(alternative["entity"], str | None)
        assert_type(alternative["probability"], float)
        assert_type(alternative.get("wikidata"), str | None)
    for mention in cluster["mentions"]:
        assert_type(mention, MentionResult)
        assert_type(result["text"][mention["begin"] : mention["end"]], str)
        assert_type(mention["probability"] * mention["link_probability"] * mention["edge_probability"], float)
        parent = mention.get("parent")
        if parent is not None and parent["kind"] == "entity":
            assert_type(parent.get("entity"), str | None)

# Many in, many out.
assert_type(pipe(["one", "two"], batch_size=2, num_workers=1), list[DocumentResult])
assert_type(pipe(("one", "two")), list[DocumentResult])
assert_type(pipe([Document("one"), "two", {"text": "three"}]), list[DocumentResult])
assert_type(pipe([{"text": "one"}]), list[DocumentResult])
assert_type(pipe({"one": 1}.keys()), list[DocumentResult])

# Lazily.
assert_type(pipe(stream()), Iterator[DocumentResult])
assert_type(pipe(text for text in ["one"]), Iterator[DocumentResult])
assert_type(pipe(iter([Document("one")])), Iterator[DocumentResult])
assert_type(next(pipe(stream()))["clusters"], list[ClusterResult])
lazy = pipe(Texts(), batch_size=2)
assert_type(lazy, LazyResults[DocumentResult])
assert_type(len(lazy), int)
for each in lazy:
    assert_type(each, DocumentResult)

# Documents.
documents = pipe.annotate(["one", "two"], mention_scope="all", max_document_words=1000)
assert_type(documents, list[AnnotatedDocument])
assert_type(pipe.annotate(stream()), Iterator[AnnotatedDocument])
assert_type(pipe.annotate(Texts()), LazyResults[AnnotatedDocument])
assert_type(documents[0].clusters[0].mentions[0].probability, float | None)
assert_type(documents[0].to_dict(), DocumentResult)
assert_type(Document("one").to_dict(), DocumentData)
assert_type(AnnotatedDocument.from_dict(result), AnnotatedDocument)
assert_type(write_jsonl("results.jsonl", documents), int)
assert_type(read_jsonl(Path("results.jsonl"), AnnotatedDocument), Iterator[AnnotatedDocument])
assert_type(read_jsonl("documents.jsonl"), Iterator[Document])

# With nothing but the package imported.
assert_type(hf_corefel.load_pipeline()("x"), DocumentResult)
assert_type(hf_corefel.bundled_checkpoint(), str)
assert_type(hf_corefel.__version__, str)


def names(results: list[DocumentResult]) -> set[str]:
    """Takes results as a user's own function would."""
    return {cluster["entity"] or "NIL" for one in results for cluster in one["clusters"]}


names(pipe(["one"]))
