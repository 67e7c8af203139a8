"""Attention: what the encoder can compute reaches it, what it cannot is refused in transformers' words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AttentionInterface, BertModel, ConvBertConfig, ConvBertModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from hf_corefel import CorefELConfig, CorefELModel
from hf_corefel.pipeline_corefel import load_pipeline

# An encoder that knows eager attention alone.
SMALL = {
    "vocab_size": 20,
    "hidden_size": 16,
    "embedding_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}
TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city. " * 3


def scores(annotate: Any) -> torch.Tensor:
    """Pair scores of a batch whose windows differ in length."""
    with torch.no_grad():
        output = annotate.model(**annotate.processor([TEXT, "Moss left Bergen."]))
    return output.pair[output.retained >= 0]


@pytest.mark.parametrize("attention", ["eager", pytest.param("flex_attention", marks=pytest.mark.slow)])
def test_every_attention_reads_windows_alike(tiny_folder: Path, attention: str) -> None:
    if attention == "flex_attention" and not BertModel._supports_flex_attn:
        pytest.skip("this release's BERT has no flex attention")
    loaded = load_pipeline(tiny_folder, attn_implementation=attention)
    assert loaded.model.encoder.model.config._attn_implementation == attention
    torch.testing.assert_close(scores(loaded), scores(load_pipeline(tiny_folder)), rtol=1e-4, atol=1e-4)


def test_an_attention_of_ones_own_is_taken(tiny_folder: Path) -> None:
    if not BertModel._supports_attention_backend:
        pytest.skip("this release's BERT takes its own attentions only")
    masks: list[Any] = []

    def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **kwargs: Any) -> Any:
        masks.append(attention_mask)
        return sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)

    AttentionInterface.register("ones_own", attend)
    loaded = load_pipeline(tiny_folder, attn_implementation="ones_own")
    masks.clear()
    assert scores(loaded).isfinite().all() and len(masks) == 2


def test_flash_attention_is_refused_where_it_is_not_installed(tiny_folder: Path) -> None:
    with pytest.raises(ValueError, match=r"(?i)flash.?attention"):
        load_pipeline(tiny_folder, attn_implementation="flash_attention_2")


def test_what_the_encoder_cannot_is_refused() -> None:
    config = CorefELConfig(encoder_config=ConvBertConfig(**SMALL), entity_vector_size=4)
    config._attn_implementation = "flex_attention"
    with pytest.raises(ValueError, match="ConvBertModel does not support"):
        CorefELModel(config)


@pytest.mark.parametrize("name", ["_supports_sdpa", "_supports_flash_attn", "_supports_flex_attn"])
def test_a_model_supports_what_its_encoder_does(tiny_model: Callable[..., Any], name: str) -> None:
    model = tiny_model()
    assert getattr(model, name) == getattr(BertModel, name)
    model = CorefELModel(CorefELConfig(encoder_config=ConvBertConfig(**SMALL), entity_vector_size=4))
    assert getattr(model, name) == getattr(ConvBertModel, name)
