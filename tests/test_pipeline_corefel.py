"""`pipeline("coref-el")`: texts in, plain Python out, whatever the batch, the order and the process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from transformers import pipeline

from forked_python import run_python
from hf_corefel import (
    AnnotatedDocument,
    CorefELModel,
    CorefELPipeline,
    CorefELProcessor,
    Document,
    DocumentError,
    KnowledgeBase,
)
from hf_corefel.pipeline_corefel import load_pipeline

SOURCE = Path(__file__).parents[1] / "src"


@pytest.fixture(scope="module")
def annotate(tiny_folder: Path) -> Any:
    return pipeline("coref-el", model=str(tiny_folder))


@pytest.fixture(scope="module")
def texts(tiny_documents: list[Document]) -> list[str]:
    return [document.text for document in tiny_documents]


def _parts(value: Any) -> tuple[Any, list[float]]:
    """The value with its floats cut out, and these floats."""
    floats: list[float] = []

    def strip(item: Any) -> Any:
        if isinstance(item, float):
            floats.append(item)
            return "float"
        if isinstance(item, dict):
            return {key: strip(part) for key, part in item.items()}
        return [strip(part) for part in item] if isinstance(item, list) else item

    return strip(value), floats


def _assert_same(left: Any, right: Any) -> None:
    """Equal up to the rounding of probabilities."""
    (left_rest, left_floats), (right_rest, right_floats) = _parts(left), _parts(right)
    assert left_rest == right_rest
    assert left_floats == pytest.approx(right_floats, abs=1e-5)


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and _plain(part) for key, part in value.items())
    if isinstance(value, list):
        return all(map(_plain, value))
    return value is None or type(value) in (str, int, float)


def test_output_is_plain_and_not_trivial(annotate: Any, texts: list[str]) -> None:
    result = annotate(texts[0])
    assert isinstance(result, dict)
    assert _plain(result)
    assert json.loads(json.dumps(result)) == result
    clusters = result["clusters"]
    mentions = [mention for cluster in clusters for mention in cluster["mentions"]]
    assert len(mentions) >= 5
    assert sum(len(cluster["mentions"]) > 1 for cluster in clusters) >= 2
    assert all(result["text"][m["begin"] : m["end"]] == m["text"] for m in mentions)
    offsets = [(m["begin"], m["end"]) for m in mentions]
    assert len(set(offsets)) == len(offsets)
    for item in (*clusters, *mentions):
        for name in ("probability", "edge_probability", "link_probability"):
            assert 0.0 <= item.get(name, 0.0) <= 1.0
    assert all(
        set(m) == {"begin", "end", "text", "probability", "edge_probability", "link_probability"} for m in mentions
    )
    linked = next(cluster for cluster in clusters if cluster["entity"] == "Carl_Moss")
    assert linked["url"] == "https://en.wikipedia.org/wiki/Carl_Moss"
    AnnotatedDocument.from_dict(result)


def test_batch_size_and_order_do_not_matter(annotate: Any, texts: list[str]) -> None:
    many = [*texts, "Oslo", " ".join(texts), "", "Norway won."]
    alone = [annotate(text) for text in many]
    assert sum(len(result["clusters"]) for result in alone) > 10
    for size in (1, 2, 3, 50):
        _assert_same(annotate(many, batch_size=size), alone)
    order = [4, 0, 6, 2, 5, 1, 3]
    _assert_same(annotate([many[i] for i in order], batch_size=3), [alone[i] for i in order])
    assert annotate(many, batch_size=2) == annotate(many, batch_size=2)
    assert annotate([many[0]]) == [alone[0]]


def test_batch_size_of_the_constructor(tiny_folder: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    annotate = pipeline("coref-el", model=str(tiny_folder), batch_size=2)
    sizes: list[int] = []
    collate = annotate.processor.collate

    def counting(documents: Any, **kwargs: Any) -> Any:
        sizes.append(len(documents))
        return collate(documents, **kwargs)

    monkeypatch.setattr(annotate.processor, "collate", counting)
    annotate(texts)
    annotate(texts, batch_size=3)
    annotate(texts[0])
    assert sizes == [2, 1, 3, 1]


def test_texts_without_words_keep_their_place(annotate: Any, texts: list[str]) -> None:
    many = ["", texts[0], "  \n", texts[1], "\t"]
    for size in (1, 2, 5):
        results = annotate(many, batch_size=size)
        assert [result["text"] for result in results] == many
        assert [bool(result["clusters"]) for result in results] == [False, True, False, True, False]
    assert annotate("") == {"text": "", "clusters": [], "warnings": []}
    assert annotate(["", " "], batch_size=2)[1] == {"text": " ", "clusters": [], "warnings": []}
    assert annotate([]) == []


def test_documents_and_their_dicts(annotate: Any, tiny_documents: list[Document]) -> None:
    document = tiny_documents[0]
    by_text, by_document = annotate(document.text), annotate(document)
    assert by_document == {"id": document.id, **by_text}
    assert annotate(document.to_dict()) == by_document
    assert annotate([document, document.text, document.to_dict()])[0] == by_document
    given = Document(document.text, mentions=[(0, 9), (33, 37)])
    mentions = [m for cluster in annotate(given)["clusters"] for m in cluster["mentions"]]
    assert {(m["begin"], m["end"]) for m in mentions} <= {(0, 9), (33, 37)}
    assert mentions


def test_any_iterable(annotate: Any, texts: list[str]) -> None:
    expected = annotate(texts)

    def generate() -> Iterator[str]:
        yield from texts

    assert annotate(tuple(texts)) == list(annotate(generate())) == expected
    assert annotate(Dataset.from_dict({"text": texts})["text"]) == expected
    assert annotate(Dataset.from_dict({"text": texts})) == expected


def test_annotated_documents(annotate: Any, texts: list[str]) -> None:
    documents = annotate.annotate(texts, batch_size=2)
    assert all(type(document) is AnnotatedDocument for document in documents)
    assert [document.to_dict() for document in documents] == annotate(texts, batch_size=2)


def test_bad_documents_are_named(annotate: Any) -> None:
    with pytest.raises(DocumentError, match="mentions"):
        annotate({"id": "bad", "text": "Oslo", "mentions": [[0, 99]]})
    with pytest.raises(DocumentError, match=r"^inputs\[1\]: document: missing field 'text'; is it 'txt'\?$"):
        annotate(["Oslo", {"txt": "Oslo"}])
    with pytest.raises(DocumentError, match=r"^inputs: document: missing field 'text'"):
        annotate({"words": []})
    with pytest.raises(DocumentError, match=r"^document 'bad': missing field 'text'"):
        annotate(["Oslo", {"id": "bad"}])


def test_unknown_parameters_are_refused(annotate: Any, tiny_folder: Path) -> None:
    with pytest.raises(TypeError, match="'treshold'"):
        annotate("Oslo", treshold=0.5)
    with pytest.raises(TypeError, match="'treshold'"):
        pipeline("coref-el", model=str(tiny_folder), treshold=0.5)


def test_objects_instead_of_a_folder(annotate: Any, tiny_folder: Path, texts: list[str]) -> None:
    model, processor = CorefELModel.from_pretrained(tiny_folder), CorefELProcessor.from_pretrained(tiny_folder)
    expected = annotate(texts)
    assert pipeline("coref-el", model=model, processor=processor)(texts) == expected
    assert CorefELPipeline(model=model, processor=processor, task="coref-el")(texts) == expected
    assert pipeline("coref-el", model=model)(texts) == expected
    assert load_pipeline(tiny_folder)(texts) == expected


def test_model_in_training_mode_does_not_drop_out(tiny_folder: Path, annotate: Any, texts: list[str]) -> None:
    model = CorefELModel.from_pretrained(tiny_folder, dropout=0.5).train()
    pipe = pipeline("coref-el", model=model, processor=CorefELProcessor.from_pretrained(tiny_folder))
    assert pipe(texts) == annotate(texts)
    assert model.training, "the mode is the caller's"


def test_model_without_origin_needs_a_processor(tiny_model: Callable[..., CorefELModel]) -> None:
    with pytest.raises(ValueError, match="processor"):
        CorefELPipeline(model=tiny_model(), task="coref-el")


def test_knowledge_base_of_ones_own(tiny_folder: Path, texts: list[str], tmp_path: Path) -> None:
    names = ["Oslo,_Minnesota", "Q1"]
    other = KnowledgeBase.build(
        [("Oslo", [(names[0], 1.0)]), ("Berg", [(names[1], 1.0)])],
        vectors=(names, np.random.default_rng(3).normal(size=(2, 8)).astype(np.float32)),
    )
    model, processor = CorefELModel.from_pretrained(tiny_folder), CorefELProcessor.from_pretrained(tiny_folder)
    own = pipeline("coref-el", model=str(tiny_folder), knowledge_base=other)
    replaced = pipeline("coref-el", model=model, processor=processor, knowledge_base=other)
    # Given mentions, so that the links are what is asked about.
    document = Document(texts[0], mentions=[(27, 31), (33, 37)])
    result = own(document)
    assert result == replaced(document)
    assert {cluster["entity"] for cluster in result["clusters"]} - {None} <= set(names)
    assert own.processor.knowledge_base is other
    assert {c["entity"] for c in pipeline("coref-el", model=str(tiny_folder))(document)["clusters"]} & {"Oslo"}
    narrow = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])], vectors={"Oslo": np.ones(5, dtype=np.float32)})
    for options in ({"model": model, "processor": processor}, {"model": str(tiny_folder)}):
        with pytest.raises(ValueError, match="5 wide, the model expects 8; build it"):
            pipeline("coref-el", **options, knowledge_base=narrow)
    other.save_pretrained(tmp_path / "kb")
    assert pipeline("coref-el", model=str(tiny_folder), knowledge_base=str(tmp_path / "kb"))(document) == result


def test_saved_pipeline_gives_the_same(tmp_path: Path, annotate: Any, texts: list[str]) -> None:
    annotate.save_pretrained(tmp_path)
    again = pipeline("coref-el", model=str(tmp_path))
    assert again(texts) == annotate(texts)
    assert (tmp_path / "knowledge_base").is_dir()
    assert "custom_pipelines" not in json.loads((tmp_path / "config.json").read_text())


def test_half_precision_weights_compute_in_single_on_cpu(tmp_path: Path, tiny_folder: Path, texts: list[str]) -> None:
    CorefELModel.from_pretrained(tiny_folder).half().save_pretrained(tmp_path)
    CorefELProcessor.from_pretrained(tiny_folder).save_pretrained(tmp_path)
    assert {value.dtype for value in load_file(tmp_path / "model.safetensors").values()} == {torch.float16}
    half = pipeline("coref-el", model=str(tmp_path))
    assert {parameter.dtype for parameter in half.model.parameters()} == {torch.float32}
    assert half(texts)[0]["clusters"]


def test_spawned_process_gives_the_same(tiny_folder: Path, annotate: Any, texts: list[str], tmp_path: Path) -> None:
    script = tmp_path / "annotate.py"
    script.write_text(
        "import json, sys\n"
        "import hf_corefel\n"
        "from transformers import pipeline\n"
        "annotate = pipeline('coref-el', model=sys.argv[1])\n"
        "print(json.dumps(annotate(json.loads(sys.argv[2]), batch_size=2)))\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run_python(str(script), str(tiny_folder), json.dumps(texts), env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    _assert_same(json.loads(done.stdout), annotate(texts, batch_size=2))


def test_what_is_no_text_is_refused_by_name(annotate: Any) -> None:
    for call in (annotate, annotate.annotate):
        for value, kind in ((None, "NoneType"), (b"Anna Berg.", "bytes"), (5, "int")):
            with pytest.raises(
                TypeError, match=f"^inputs: expected a text, a Document, its dict, or many of these; got {kind}$"
            ):
                call(value)
        for value, kind in ((None, "NoneType"), (b"Anna Berg.", "bytes"), (5, "int")):
            with pytest.raises(
                DocumentError, match=rf"^inputs\[1\]: expected a text, a Document or its dict; got {kind}$"
            ):
                call(["Anna Berg.", value])


@pytest.mark.parametrize("single", ["Anna Berg met Carl Moss.", Document("Anna Berg."), {"text": "Anna Berg."}])
def test_many_texts_are_no_single_one(annotate: Any, single: Any) -> None:
    with pytest.raises(TypeError, match="put a single one into a list"):
        annotate.annotate(single)
    assert len(annotate.annotate([single])) == 1
