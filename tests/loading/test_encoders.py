"""Every architecture that the documentation lists works as it says, and the others are refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoConfig, AutoModel, AutoTokenizer, BertConfig

from hf_corefel import CorefELConfig, CorefELModel, CorefELProcessor, KnowledgeBase
from hf_corefel.loading.encoders import REFUSED
from hf_corefel.pipeline_corefel import CorefELPipeline
from script_loading import load_script

SCRIPT = load_script("scripts/encoder_table.py")
SHOWN = {encoder.kind: encoder for encoder in SCRIPT.shown()}


def test_the_page_lists_what_is_tried() -> None:
    assert list(SHOWN) == SCRIPT.ARCHITECTURES and len(SHOWN) >= 50
    assert SCRIPT.table(list(SHOWN.values())) in SCRIPT.PAGE.read_text(encoding="utf-8")


# Every second one, and those that are treated in another way; all with the slow tests.
BY_DEFAULT = {*SCRIPT.ARCHITECTURES[::2], "t5", "bart", "squeezebert", "convbert", "fnet", "funnel", "big_bird"}


@pytest.mark.parametrize(
    "kind", [k if k in BY_DEFAULT else pytest.param(k, marks=pytest.mark.slow) for k in SCRIPT.ARCHITECTURES]
)
def test_an_architecture_does_what_the_page_says(kind: str) -> None:
    if kind not in CONFIG_MAPPING:
        pytest.skip("this release of transformers does not know it")
    assert SCRIPT.try_encoder(kind) == SHOWN[kind]


@pytest.mark.parametrize(
    ("kind", "reason"), [*REFUSED.items(), ("vit", "no input_ids"), ("perceiver", "no input_ids"), ("xmod", "language")]
)
def test_what_cannot_be_used_says_why_when_it_is_made(kind: str, reason: str) -> None:
    config = CorefELConfig(encoder_config=AutoConfig.for_model(kind), window_size=16)
    with pytest.raises(ValueError, match=reason), torch.device("meta"):
        CorefELModel(config)


@pytest.mark.parametrize("kind", ["t5", "bart", "squeezebert", "fnet", "funnel"])
def test_pretrained_ones_keep_the_weights_of_what_reads(
    kind: str, tiny_encoder: Path, tiny_knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    config = SCRIPT.small_config(kind)
    config.architectures = []
    whole = AutoModel.from_config(config).eval()
    whole.save_pretrained(tmp_path / "encoder")
    model = CorefELModel.from_encoder(str(tmp_path / "encoder"), window_size=16, entity_vector_size=8).eval()
    encoder = whole.get_encoder() if whole.config.is_encoder_decoder else whole
    ids = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12]])
    with torch.no_grad():
        expected = encoder(input_ids=ids).last_hidden_state
        places = torch.arange(8)[None]
        found = model.encoder(ids[:, None], torch.ones_like(ids)[:, None], places)
    torch.testing.assert_close(found, expected)
    assert not any("decoder" in name for name, _ in model.encoder.model.named_parameters() if kind != "funnel")
    processor = CorefELProcessor(AutoTokenizer.from_pretrained(tiny_encoder), tiny_knowledge_base, model.config)
    pipe = CorefELPipeline(model, processor, task="coref-el")
    pipe.save_pretrained(tmp_path / "model")
    text = "Anna Berg met Carl Moss in Oslo."
    again = CorefELPipeline(CorefELModel.from_pretrained(tmp_path / "model").eval(), task="coref-el")
    for one, other in zip(pipe(text)["clusters"], again(text)["clusters"], strict=True):
        assert [m["text"] for m in one["mentions"]] == [m["text"] for m in other["mentions"]]
        assert one["probability"] == pytest.approx(other["probability"], abs=1e-5)


def test_an_encoder_with_an_infinite_limit_is_saved_and_loaded(tmp_path: Path) -> None:
    sizes = {"hidden_size": 32, "num_heads": 4, "head_dim": 16, "num_hidden_layers": 1, "state_size": 8}
    encoder = AutoConfig.for_model("mamba2", vocab_size=50, n_groups=1, expand=2, **sizes)
    model = CorefELModel(CorefELConfig(encoder, entity_vector_size=8))
    model.save_pretrained(tmp_path)
    loaded = CorefELModel.from_pretrained(tmp_path)
    assert list(loaded.config.encoder_config.time_step_limit) == list(encoder.time_step_limit) == [0.0, float("inf")]
    for name, value in model.state_dict().items():
        assert torch.equal(value, loaded.state_dict()[name]), name


def test_windows_of_different_lengths_and_none(tmp_path: Path) -> None:
    """Those that padding changes go through by length, and come out in their places."""
    model = SCRIPT.small_model("fnet")
    ids = torch.randint(5, 90, (1, 4, 10), generator=torch.Generator().manual_seed(1))
    mask = torch.zeros_like(ids)
    for window, size in enumerate((3, 10, 0, 3)):
        mask[0, window, :size] = 1
    places = torch.tensor([[*range(3), *range(10, 20), *range(30, 33), -1]])
    with torch.no_grad():
        found = model.encoder(ids, mask, places)[0]
        for begin, window, size in ((0, 0, 3), (3, 1, 10), (13, 3, 3)):
            alone = model.encoder.model(input_ids=ids[0, window : window + 1, :size]).last_hidden_state[0]
            torch.testing.assert_close(found[begin : begin + size], alone)
    assert not found[-1].any()


def test_the_configuration_of_the_caller_is_left_alone() -> None:
    config = CorefELConfig(encoder_config=BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2))
    before = config.to_dict()
    CorefELModel(config)
    assert {k: v for k, v in config.to_dict().items() if k != "head_modules"} == {
        k: v for k, v in before.items() if k != "head_modules"
    }
