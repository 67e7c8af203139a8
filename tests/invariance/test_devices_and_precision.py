"""Tensors are made where the model is; half precision and ``device_map`` load and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from invariance_tools import EVERY_INPUT, assert_rich, assert_same
from second_device import DEVICE, Placed, WrongDeviceError, second_device, to_host
from torch.func import functional_call

from hf_corefel import CorefELModel, CorefELOutput, CorefELPipeline, Document
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.trees import precision

EVERYTHING = ["pairs", "entities", "pair_root", "entity_root", "nil"]


def test_the_second_device_refuses_what_a_gpu_refuses() -> None:
    here = torch.arange(3)
    with second_device():
        there = here.to(DEVICE)
        assert there.device == DEVICE and isinstance(there, Placed)
        made = torch.ones(3, device=there.device)
        assert to_host(there + made).tolist() == [1.0, 2.0, 3.0]
        assert (there.cpu() + here).tolist() == [0, 2, 4]
        there[there > 0] = 7
        assert there.tolist() == [0, 7, 7]
        with pytest.raises(WrongDeviceError):
            there + here
        with pytest.raises(WrongDeviceError):
            there + torch.ones(3)
        with pytest.raises(WrongDeviceError):
            there + torch.tensor([1, 2, 3])
        assert (there + there.new_tensor((1, 2, 3))).tolist() == [1, 9, 10]
        with pytest.raises(AssertionError, match="wrong device"):
            to_host(torch.ones(3))
    with second_device(float64=False), pytest.raises(TypeError, match="no float64"):
        torch.ones(3, device=DEVICE).double()


@pytest.mark.parametrize(("root_score", "float64"), [("paper", True), ("original", True), ("paper", False)])
@pytest.mark.parametrize("head", HEADS)
def test_every_tensor_is_made_where_the_model_is(
    tiny_model: Callable[..., CorefELModel],
    tiny_processor: Callable[..., Any],
    tiny_documents: list[Document],
    head: str,
    root_score: str,
    float64: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Forward, loss, decoding and marginals on a device whose tensors mix with none of the CPU's."""
    if not float64:
        monkeypatch.setattr(precision, "WITHOUT_FLOAT64", {DEVICE.type})
    model = tiny_model(
        head=head,
        root_score=root_score,
        head_modules=EVERYTHING,
        window_overlap=4,
        **EVERY_INPUT,
        mention_scopes={"named": {}, "all": {"max_span_words": 4}},
    )
    given = Document(tiny_documents[0].text, mentions=[(0, 9), (5, 9)], mention_scope="all", clusters=[])
    inputs = tiny_processor(model.config)([*tiny_documents, Document("", clusters=[]), given], gold=True).inputs
    with torch.no_grad():
        expected = model(**inputs)
        scores = model.edge_scores(expected)
        decoding, marginals = model.head.decode(scores), model.head.marginals(scores)
    assert (expected.retained >= 0).sum() >= 5
    with second_device(float64=float64):
        weights = {name: value.detach().to(DEVICE) for name, value in model.state_dict().items()}
        buffers = {name: value.to(DEVICE) for name, value in model.named_buffers()}
        placed = {name: value.to(DEVICE) for name, value in inputs.items()}
        output = functional_call(model, {**buffers, **weights}, (), placed)
        for name, value in expected.items():
            torch.testing.assert_close(to_host(output[name]), value, rtol=1e-5, atol=1e-5, msg=name)
        scores = model.edge_scores(CorefELOutput(**output))
        found = model.head.decode(scores), model.head.marginals(scores)
    torch.testing.assert_close(to_host(found[0].parents), decoding.parents)
    for left, right in zip(found[1], marginals, strict=True):
        for field, value in right._asdict().items():
            actual = to_host(getattr(left, field))
            assert float64 or actual.dtype != torch.float64
            torch.testing.assert_close(actual.to(value.dtype), value, rtol=1e-5, atol=1e-5)


def test_a_model_is_built_on_meta(tiny_model: Callable[..., CorefELModel]) -> None:
    """All of it, so that big models need no memory before their weights are there."""
    model = tiny_model(head_modules=EVERYTHING)
    with torch.device("meta"):
        empty = CorefELModel(model.config)
    tensors = {**dict(empty.named_parameters()), **dict(empty.named_buffers())}
    assert {tensor.device.type for tensor in tensors.values()} == {"meta"}
    assert empty.state_dict().keys() == model.state_dict().keys()
    filled = empty.to_empty(device="cpu")
    filled.load_state_dict(model.state_dict())
    assert {parameter.device.type for parameter in filled.parameters()} == {"cpu"}


def test_bfloat16_loads_and_runs(annotate: CorefELPipeline, anchor: str, sentences: list[str], tmp_path: Path) -> None:
    texts = [anchor, "", sentences[1], " ".join(sentences)]
    plain = annotate.annotate(texts, batch_size=4)
    annotate.save_pretrained(tmp_path)
    model = CorefELModel.from_pretrained(tmp_path, dtype=torch.bfloat16).eval()
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    half = CorefELPipeline(model, annotate.processor).annotate(texts, batch_size=4)
    assert_rich(half)
    # Eight bits of precision move scores, but not most of the mentions.
    left, right = ({m.offsets for c in result.clusters for m in c.mentions} for result in (plain[0], half[0]))
    assert len(left & right) >= 0.5 * len(left | right)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_rich(annotate.annotate(texts, batch_size=4))
    assert_same(annotate.annotate(texts, batch_size=4), plain)


@pytest.mark.parametrize(
    "device_map",
    [
        "auto",
        "encoder",
        "most",
        *(pytest.param(p, marks=pytest.mark.slow) for p in ("cpu", {"": "cpu"}, "pairs", "entities")),
    ],
)
def test_a_device_map_loads_and_runs(
    annotate: CorefELPipeline, anchor: str, tmp_path: Path, device_map: str | dict[str, str]
) -> None:
    annotate.save_pretrained(tmp_path / "model")
    options: dict[str, Any] = {"device_map": device_map}
    modules = ("encoder", "pruner", "pairs", "entities")
    if device_map in (*modules, "most"):
        # The module waits on the disk until it is called.
        parts = {"spans": "cpu", **{name: "disk" if device_map in (name, "most") else "cpu" for name in modules}}
        options = {"device_map": parts, "offload_folder": str(tmp_path / "offload")}
    model = CorefELModel.from_pretrained(tmp_path / "model", **options).eval()
    expected = annotate.annotate([anchor, "", anchor * 2], batch_size=3)
    found = CorefELPipeline(model, annotate.processor).annotate([anchor, "", anchor * 2], batch_size=3)
    assert_rich(found)
    assert_same(found, expected)
