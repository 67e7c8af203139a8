"""Graphs of ONNX give the scores and the decisions of the model that they were exported of."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import pipeline

from hf_corefel import Cluster, Constraints, Document, Mention
from hf_corefel.evaluation.end_to_end import recall_of_spans
from hf_corefel.kb.text_encoding import encode_texts
from hf_corefel.pipeline_corefel import load_pipeline

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."
BATCHES = [
    ["Berg"],
    ["Anna Berg said Norway won.", "Oslo , Bergen and Moss .", "the queen"],
    ["The mayor of Bergen met the coach. The coach said many people visited Bergen. " * 5],
    [TEXT * 12, "Moss left Bergen."],
]


def rounded(result: Any) -> Any:
    """A result with probabilities to three digits, which rounding leaves alone."""
    if isinstance(result, dict):
        return {name: rounded(value) for name, value in result.items()}
    if isinstance(result, list | tuple):
        return [rounded(value) for value in result]
    return round(result, 3) if isinstance(result, float) else result


@pytest.mark.parametrize("texts", BATCHES, ids=["a word", "three documents", "many windows", "long and short"])
def test_scores_are_those_of_torch(
    torch_and_onnx: tuple[Any, Any], check_equal: Callable[..., None], texts: list[str]
) -> None:
    ours, graphs = torch_and_onnx
    check_equal(ours.model, graphs.model, ours.processor(texts))


@pytest.mark.parametrize("texts", BATCHES[1:], ids=["three documents", "many windows", "long and short"])
def test_unlikely_spans_are_left_out_as_by_torch(
    torch_and_onnx: tuple[Any, Any],
    check_equal: Callable[..., None],
    texts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, graphs = torch_and_onnx
    batch = ours.processor(texts)
    with torch.no_grad():
        before = ours.model(**batch)
    kept = before.span_scores.gather(1, before.retained.clamp(min=0))[before.retained >= 0].sort().values
    gap = int(kept.diff().argmax())  # where rounding decides nothing
    for model in (ours.model, graphs.model):
        monkeypatch.setattr(model.config, "min_mention_probability", float(kept[gap : gap + 2].mean().sigmoid()))
    check_equal(ours.model, graphs.model, batch)
    with torch.no_grad():
        assert (ours.model(**batch).retained >= 0).sum() < (before.retained >= 0).sum()


@pytest.mark.parametrize("size", [1, 2])
def test_texts_of_unlikely_spans_only_are_annotated(
    torch_and_onnx: tuple[Any, Any], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of "It rained." no span is retained, alone as in a batch."""
    ours, graphs = torch_and_onnx
    for model in (ours.model, graphs.model):
        monkeypatch.setattr(model.config, "min_mention_probability", 1 - 1e-15)
    texts = ["Berg", TEXT, "Oslo ."]
    for options in ({}, {"samples": 2, "seed": 1}, {"clusterings": 2}, {"evidence": True}):
        found = graphs(texts, batch_size=size, **options)
        assert found == ours(texts, batch_size=size, **options) and not any(result["clusters"] for result in found)
    given = Document(TEXT, mentions=[(0, 9)])
    mixed: list[Any] = ["Berg", given]
    assert rounded(graphs(mixed, batch_size=size)) == rounded(ours(mixed, batch_size=size))


@pytest.mark.parametrize("texts", [[""], ["", " \n"]])
def test_a_batch_of_empty_texts_is_read(
    torch_and_onnx: tuple[Any, Any], check_equal: Callable[..., None], texts: list[str]
) -> None:
    ours, graphs = torch_and_onnx
    batch = dict(ours.processor(texts))
    batch["also_retain"] = batch["span_mask"]
    check_equal(ours.model, graphs.model, batch)
    assert graphs.model(**batch).span_scores.shape == (len(texts), 0)
    for options in ({}, {"samples": 2, "seed": 1}, {"clusterings": 2}, {"evidence": True}):
        assert graphs(texts, batch_size=2, **options) == ours(texts, batch_size=2, **options)


def test_long_documents_keep_their_best_spans(torch_and_onnx: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs score all pairs; torch does likewise where a call bounds the spans."""
    ours, graphs = torch_and_onnx
    assert ours.model.reads_long_documents and not graphs.model.reads_long_documents
    monkeypatch.setattr(graphs.processor, "settings", graphs.processor.settings.replace(max_kept_spans=5))
    text = TEXT * 4
    found = graphs(text)
    assert "only the best 5 spans of this long document were kept" in found["warnings"][0] and found["clusters"]
    assert rounded(found) == rounded(ours(text, max_kept_spans=5))
    gold = [Document(text, clusters=[Cluster((Mention(0, 9), Mention(33, 37)), "Anna_Berg")])]
    assert recall_of_spans(graphs, gold) == recall_of_spans(ours, gold, max_kept_spans=5)


def test_results_are_those_of_torch(torch_and_onnx: tuple[Any, Any]) -> None:
    ours, graphs = torch_and_onnx
    berg = [(0, 9), (33, 37)]
    documents = [TEXT, Document(TEXT, mentions=berg), Document(""), *(text for texts in BATCHES for text in texts)]
    for size in (1, 4):
        options: dict[str, Any] = {"batch_size": size, "evidence": True, "top_k": 2}
        assert rounded(graphs(documents, **options)) == rounded(ours(documents, **options))
    bound = Constraints(must_link=[tuple(berg)])
    whole: list[dict[str, Any]] = [{}, {"samples": 3, "seed": 1}, {"clusterings": 3}]
    for options in [*whole, *({**asked, "constraints": bound} for asked in whole)]:
        assert rounded(graphs(TEXT, **options)) == rounded(ours(TEXT, **options)), options


def test_an_entity_that_is_added_later_is_found(exported: Path, tiny_folder: Path) -> None:
    both: list[Any] = [load_pipeline(tiny_folder), load_pipeline(exported, backend="onnx")]
    text = "Carl Moss left the city."
    for annotate in both:
        annotate.processor.knowledge_base.add("The_City", ["the city"], description="A city in Norway.")
    given = Document(text, mentions=[(0, 9), (15, 23)])
    options: dict[str, Any] = {"constraints": Constraints(entities={(15, 23): "The_City"})}
    expected, found = (rounded([annotate(given), annotate(given, **options)]) for annotate in both)
    assert found == expected and "The_City" in [cluster["entity"] for cluster in found[1]["clusters"]]


def test_it_stands_in_the_place_of_a_model(
    exported: Path, torch_and_onnx: tuple[Any, Any], check_equal: Callable[..., None]
) -> None:
    from hf_corefel.onnx_graphs import OnnxCorefELModel

    ours, _ = torch_and_onnx
    model = OnnxCorefELModel.from_pretrained(exported)
    assert rounded(pipeline("coref-el", model=model)(TEXT)) == rounded(ours(TEXT))
    batch = ours.processor([TEXT])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        check_equal(ours.model, other, batch)
    assert (model.device.type, model.dtype, model.to("cpu")) == ("cpu", torch.float32, model)
    assert model.untrained_weights() == [] and list(model.parameters()) == []


def test_what_graphs_cannot_do_is_said(exported: Path, torch_and_onnx: tuple[Any, Any]) -> None:
    _, graphs = torch_and_onnx
    model = graphs.model
    assert model.set_head("global") == []
    with pytest.raises(ValueError, match="the graphs have the head 'global'; export the model with 'local'"):
        model.set_head("local")
    with pytest.raises(ValueError, match="computes on the CPU"):
        model.to("cuda")
    with pytest.raises(ValueError, match="computes on the CPU"):
        load_pipeline(exported, backend="onnx", device="meta")
    batch = graphs.processor([TEXT])
    with pytest.raises(ValueError, match="cannot be trained"):
        model(**batch, gold_clusters=torch.zeros_like(batch["span_begin"]))
    with pytest.raises(ValueError, match="graphs are float32, and dtype is int8"):
        load_pipeline(exported, backend="onnx", dtype="int8")
    with pytest.raises(TypeError, match="takes no device_map"):
        load_pipeline(exported, backend="onnx", device_map="auto")
    with pytest.raises(ValueError, match="backend: expected torch or onnx, got 'tensorrt'"):
        load_pipeline(exported, backend="tensorrt")


def test_reading_may_be_set_when_it_is_loaded(exported: Path, tiny_folder: Path) -> None:
    settings = {"model_kwargs": {"max_candidates": 1}}
    ours, graphs = load_pipeline(tiny_folder, **settings), load_pipeline(exported, backend="onnx", **settings)
    assert graphs.processor.settings.max_candidates == 1
    assert rounded(graphs(TEXT)) == rounded(ours(TEXT))


def test_a_copy_that_is_saved_is_the_same(torch_and_onnx: tuple[Any, Any], tmp_path: Path) -> None:
    _, graphs = torch_and_onnx
    graphs.save_pretrained(tmp_path)
    assert load_pipeline(tmp_path, backend="onnx")(TEXT) == graphs(TEXT)


def test_graphs_take_the_place_of_an_earlier_model(torch_and_onnx: tuple[Any, Any], tmp_path: Path) -> None:
    ours, graphs = torch_and_onnx
    (tmp_path / "README.md").write_text("A card.")
    for options in ({}, {"max_shard_size": "5KB"}):
        ours.model.save_pretrained(tmp_path, **options)
        for _ in range(2):
            graphs.model.save_pretrained(tmp_path)
            assert {path.name for path in tmp_path.iterdir()} == {"README.md", "config.json", "onnx"}
    again = type(graphs.model).from_pretrained(tmp_path)
    again.save_pretrained(tmp_path)
    assert sorted(path.name for path in (tmp_path / "onnx").iterdir()) == sorted(
        path.name for path in graphs.model._graphs.folder.iterdir()
    )
    type(graphs.model).from_pretrained(tmp_path)


def test_a_copy_that_cannot_be_saved_leaves_the_earlier_model(
    torch_and_onnx: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, graphs = torch_and_onnx

    def full(*unused: Any, **also_unused: Any) -> None:
        raise OSError(28, "No space left on device")

    for model in (ours.model, graphs.model):
        model.save_pretrained(tmp_path)
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        for place in ("shutil.copytree", "transformers.PretrainedConfig.save_pretrained"):
            with monkeypatch.context() as patched:
                patched.setattr(place, full)
                with pytest.raises(OSError, match="No space left"):
                    graphs.model.save_pretrained(tmp_path)
            assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_folder_of_other_graphs_is_left_alone(torch_and_onnx: tuple[Any, Any], tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "mine.onnx").write_bytes(b"a graph of the user's")
    with pytest.raises(ValueError, match="holds something else than exported graphs"):
        torch_and_onnx[1].model.save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["onnx", "mine.onnx"]


def test_its_encoder_makes_vectors_of_entities(torch_and_onnx: tuple[Any, Any]) -> None:
    """As knowledge bases have it make those of entities that they get later."""
    texts = ["Anna Berg", "Oslo , Norway", ""]
    ours, graphs = (
        encode_texts(texts, run.model.encoder.model, run.processor.tokenizer, show_progress=False)
        for run in torch_and_onnx
    )
    np.testing.assert_allclose(graphs, ours, atol=1e-5)
    digests = {str(run.model.encoder.model.state_dict().get("digest")) for run in torch_and_onnx}
    assert len(digests) == 2, "which tells its vectors from those of other encoders"


@pytest.mark.slow
@pytest.mark.parametrize("head", ["standalone_coref", "standalone_linking", "local"])
def test_all_heads_are_exported(
    tiny_trained: Callable[[str], Any],
    tiny_processor: Callable[..., Any],
    check_equal: Callable[..., None],
    tmp_path: Path,
    head: str,
) -> None:
    pytest.importorskip("onnxruntime")
    from hf_corefel.onnx_graphs import OnnxCorefELModel, export_onnx

    model = tiny_trained(head)
    processor = tiny_processor(model.config)
    export_onnx(model, processor, tmp_path / "model")
    graphs = OnnxCorefELModel.from_pretrained(tmp_path / "model")
    for texts in BATCHES:
        check_equal(model, graphs, processor(texts))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_the_bundled_model_is_exported(check_equal: Callable[..., None], tmp_path: Path, dtype: str) -> None:
    pytest.importorskip("onnxruntime")
    from hf_corefel.onnx_graphs import export_onnx

    annotate = load_pipeline()
    text = (
        "Chancellor Angela Merkel spoke to reporters in Berlin on Monday, her office said. The government of Poland "
        "will send a minister to Moscow next week. Barack Obama thanked the chancellor. "
    )
    export_onnx(annotate.model, annotate.processor, tmp_path / "model", dtype=dtype)
    graphs = load_pipeline(tmp_path / "model", backend="onnx")
    for texts in ([text], ["Berlin"], ["the queen"], [text * 3, text * 30, "Obama met Putin."]):
        if dtype == "float32":
            check_equal(annotate.model, graphs.model, annotate.processor(texts))
        for scope in ("named", "all") if dtype == "float32" else ("named",):
            ours, found = (run(texts[:1], mention_scope=scope)[0]["clusters"] for run in (annotate, graphs))
            assert [(c["entity"], [m["text"] for m in c["mentions"]]) for c in found] == [
                (c["entity"], [m["text"] for m in c["mentions"]]) for c in ours
            ]
