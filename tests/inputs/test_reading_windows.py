"""How much each kind of encoder reads at once, and what overlapping windows give a subword."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel
from transformers.models.auto.configuration_auto import AutoConfig

from hf_corefel import CorefELConfig, CorefELModel, CorefELPipeline, Document
from hf_corefel.configuration_corefel import readable_positions

TINY: dict[str, Any] = {
    "vocab_size": 30,
    "hidden_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 20,
    "pad_token_id": 1,
}
SPECIFIC: dict[str, dict[str, Any]] = {
    "deberta": {"relative_attention": True, "position_biased_input": False},
    "deberta-v2": {"relative_attention": True, "position_biased_input": False},
    "distilbert": {"dim": 24, "n_layers": 1, "n_heads": 2, "hidden_dim": 8},
    "longformer": {"attention_window": 4},
    "luke": {"entity_vocab_size": 5, "entity_emb_size": 8},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
}
AFTER_PADDING = ["camembert", "data2vec-text", "ibert", "lilt", "longformer", "luke", "mpnet", "roberta"]
AFTER_PADDING += ["roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"]


def _read(kind: str, length: int, **fields: Any) -> torch.Tensor:
    """What an encoder that can read 20 positions makes of so many subwords."""
    config = AutoConfig.for_model(kind, **{**TINY, **SPECIFIC.get(kind, {}), **fields})
    ids = torch.full((1, length), 7)
    with torch.no_grad():
        model = AutoModel.from_config(config).eval()
        return model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state


@pytest.mark.parametrize("kind", [*AFTER_PADDING, "bert", "distilbert", "electra"])
def test_as_many_subwords_as_said_can_be_read_and_not_one_more(kind: str) -> None:
    config = AutoConfig.for_model(kind, **{**TINY, **SPECIFIC.get(kind, {})})
    most = readable_positions(config)
    assert most == (18 if kind in AFTER_PADDING else 20)
    assert _read(kind, most).shape == (1, most, 24)
    if kind != "longformer":  # which pads up to whole attention windows by itself
        with pytest.raises((IndexError, RuntimeError)):
            _read(kind, most + 1)


@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
def test_relative_positions_set_no_bound(kind: str) -> None:
    config = AutoConfig.for_model(kind, **{**TINY, **SPECIFIC[kind]})
    assert readable_positions(config) is None
    assert torch.isfinite(_read(kind, 50)).all()
    assert CorefELConfig(encoder_config=config, window_size=50).window_size == 50
    biased = AutoConfig.for_model(kind, **{**TINY, **SPECIFIC[kind], "position_biased_input": True})
    assert readable_positions(biased) == 20
    with pytest.raises((IndexError, RuntimeError)):
        _read(kind, 21, position_biased_input=True)


def test_the_padding_decides_how_many(family: str, encoder_folder: Callable[..., Path]) -> None:
    model = AutoModel.from_pretrained(encoder_folder(family))
    positions = readable_positions(model.config)
    if family in ("roberta", "xlm-roberta"):
        assert positions == 64 - 1 - model.config.pad_token_id
    else:
        assert positions == (64 if family == "bert" else None)


def test_windows_are_as_long_as_the_encoder_reads(family: str, encoder_folder: Callable[..., Path]) -> None:
    folder = str(encoder_folder(family))
    model = CorefELModel.from_encoder(folder, entity_vector_size=8)
    positions = readable_positions(model.config.encoder_config)
    assert model.config.window_size == (positions or CorefELConfig().window_size)
    if positions is not None:
        with pytest.raises(ValueError, match=rf"window_size \({positions + 1}\) is more than the {positions} subwords"):
            CorefELModel.from_encoder(folder, entity_vector_size=8, window_size=positions + 1)


@pytest.mark.parametrize("overlap", [0, 10])
def test_full_windows_are_read(family: str, make_pipeline: Callable[..., CorefELPipeline], overlap: int) -> None:
    """Windows of the greatest length, filled to the last subword."""
    positions = {"roberta": 62, "xlm-roberta": 62, "bert": 64}.get(family, 80)
    annotate = make_pipeline(family, window_size=positions, window_overlap=overlap)
    # A word without end first, in which a window can be cut anywhere.
    text = "ob" * 45 + " Anna Berg met Carl Moss in Oslo and Moss praised Berg" * 12
    batch = annotate.processor(text)
    assert batch.inputs["input_ids"].shape[2] == positions and batch.inputs["input_ids"].shape[1] > 2
    (result,) = annotate.annotate([text])
    mentions = [mention for cluster in result.clusters for mention in cluster.mentions]
    assert len(mentions) >= 20
    assert all(0.0 <= (mention.probability or -1.0) <= 1.0 for mention in mentions)


def test_a_subword_is_read_in_the_window_where_it_has_most_context(
    family: str, make_pipeline: Callable[..., CorefELPipeline]
) -> None:
    """Its vector is the one that the encoder gives in that window, special tokens around."""
    annotate = make_pipeline(family, window_size=20, window_overlap=7)
    model, processor = annotate.model, annotate.processor
    batch = processor(["Oslo met Anna.", "Anna Berg met Carl Moss in Oslo, and Berg praised the mayor of Bergen. " * 3])
    inputs, encoded = batch.inputs, batch.documents[1]
    with torch.no_grad():
        subwords = model.encoder(inputs["input_ids"], inputs["attention_mask"], inputs["subword_positions"])[1]
        bounds = encoded.windows.bounds
        assert len(bounds) > 3 and any(left[1] > right[0] for left, right in pairwise(bounds))
        prefix = len(processor("").inputs["input_ids"][0, 0]) - 1
        for w, (begin, end) in enumerate(bounds):
            ids = inputs["input_ids"][1, w, : end - begin + 2].unsqueeze(0)
            alone = model.encoder.model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
            for t in range(begin, end):
                room = [min(t - b, e - 1 - t) if b <= t < e else -1 for b, e in bounds]
                best = room.index(max(room))
                assert encoded.windows.window[t] == best
                if best == w:
                    torch.testing.assert_close(subwords[t], alone[prefix + t - begin], rtol=1e-4, atol=1e-4)


def test_spans_and_clusters_reach_over_the_edge_of_a_window(
    family: str, make_pipeline: Callable[..., CorefELPipeline]
) -> None:
    text = "Anna Berg met Carl Moss in Oslo Berg praised Moss " * 5
    for overlap in (0, 3):
        annotate = make_pipeline(family, window_size=12, window_overlap=overlap, span_keep_ratio=2.0)
        encoded = annotate.processor.encode(text)
        window = encoded.windows.window
        assert len(encoded.windows.bounds) > 3
        across = [
            (int(b), int(e))
            for (b, e), first, stop in zip(encoded.spans.offsets, encoded.spans.begin, encoded.spans.end, strict=True)
            if window[first] != window[stop - 1]
        ]
        assert len(across) >= 3
        mentions = [*across[::4], (0, 4)]
        (result,) = annotate.annotate([Document(text, mentions=mentions)])
        found = {mention.offsets for cluster in result.clusters for mention in cluster.mentions}
        assert found == set(mentions)
