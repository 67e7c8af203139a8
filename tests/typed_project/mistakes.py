"""What a type checker has to find; the comments say which error on which line."""

from __future__ import annotations

import hf_corefel
from hf_corefel import Document, KnowledgeBase, load_pipeline
from hf_corefel.documents.types import DocumentResult

pipe = load_pipeline()
pipe("x")["clusterz"]  # E: typeddict-item
pipe("x")["clusters"]["entity"]  # E: call-overload
pipe("x")["clusters"][0]["mention"]  # E: typeddict-item
pipe("x")["clusters"][0]["mentions"][0]["start"]  # E: typeddict-item
pipe("x")["clusters"][0]["entity"].lower()  # E: union-attr
print(pipe("x").clusters)  # E: attr-defined
pipe(["x"])["clusters"]  # E: call-overload
pipe(text for text in ["x"])[0]  # E: index
next(pipe(["x"]))  # E: call-overload
pipe("x")[0]  # E: literal-required
pipe(5)  # E: call-overload
pipe([5])  # E: list-item
pipe("x", treshold=0.5)  # E: call-overload
pipe("x", top_k="2")  # E: call-overload
pipe("x", num_workers="2")  # E: call-overload
pipe.annotate(["x"])[0]["clusters"]  # E: index
print(pipe.annotate(["x"])[0].cluster)  # E: attr-defined
result: DocumentResult = {"text": "x", "clusters": []}  # E: typeddict-item
hf_corefel.load_pipelin()  # E: attr-defined
print(hf_corefel.metric.evaluate)  # E: attr-defined
Document(5)  # E: arg-type
Document("x", ident=5)  # E: call-arg
KnowledgeBase.build([("Oslo", ["Oslo"])])  # E: list-item
KnowledgeBase.build([]).candidate("Oslo")  # E: attr-defined


def misspelt() -> None:
    from hf_corefel import CorefELPipelin  # E: attr-defined
    from hf_corefel.documents.types import DocumentResults  # E: attr-defined

    print(CorefELPipelin, DocumentResults)
