"""Tries a small random encoder of each architecture and writes docs/reference/encoders.md: `make readme`."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoConfig

from hf_corefel import CorefELConfig, CorefELModel
from hf_corefel.loading.encoders import REFUSED

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "encoders.md"
_BEGIN, _END = "<!-- encoders:begin -->\n", "<!-- encoders:end -->\n"

# What makes any architecture small, under the names that its configuration may give these sizes.
_SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "dim", "n_embd", "emb_dim", "embedding_size"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_decoder_layers", "num_encoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_heads", "n_head", "num_heads", "encoder_attention_heads"), 2),
    **dict.fromkeys(("decoder_attention_heads", "num_encoder_attention_heads", "num_decoder_attention_heads"), 2),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim"), 64),
    **dict.fromkeys(("d_inner", "max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("head_dim", "d_kv", "true_hidden_size", "intra_bottleneck_size"), 16),
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "pad_token_id": 0,
}
_OWN_SIZES: dict[str, dict[str, Any]] = {
    "funnel": {"block_sizes": [1, 1], "num_hidden_layers": None},
    "lilt": {"hidden_size": 48, "channel_shrink_ratio": 2},
    "mobilebert": {"embedding_size": 32, "true_hidden_size": 32, "intra_bottleneck_size": 32},
    "squeezebert": {"embedding_size": 32},
    "xlnet": {"max_position_embeddings": None},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
}
_KINDS = """
    albert bart bert big_bird bigbird_pegasus bloom camembert convbert data2vec-text deberta deberta-v2 distilbert
    electra ernie esm eurobert flaubert fnet fsmt funnel gemma3_text gpt2 gpt_neox ibert layoutlm led lilt llama
    longformer longt5 luke m2m_100 mamba marian mbart megatron-bert mobilebert modernbert modernbert-decoder mpnet mt5
    nystromformer opt pegasus plbart prophetnet qwen2 rembert roberta roberta-prelayernorm roc_bert roformer splinter
    squeezebert switch_transformers t5 umt5 xlm xlm-roberta xlm-roberta-xl xlnet xmod
"""
ARCHITECTURES = _KINDS.split()


@dataclass(frozen=True)
class Encoder:
    """What was seen of an architecture.

    Attributes:
        kind: Its ``model_type``.
        part: What of it reads the text.
        sees: Which subwords a subword's vector depends on.
        batches: Which windows go through it together.
    """

    kind: str
    part: str
    sees: str
    batches: str


def small_config(kind: str) -> Any:
    """The configuration of a small encoder of an architecture."""
    known = AutoConfig.for_model(kind)
    names = {*known.to_dict(), *known.attribute_map}
    sizes = {**_SIZES, **_OWN_SIZES.get(kind, {})}
    given = {name: size for name, size in sizes.items() if name in names and size is not None}
    return AutoConfig.for_model(kind, **given)


def small_model(kind: str) -> CorefELModel:
    """A model on a small encoder of an architecture, the same every time."""
    widths = ("mention_ffnn_size", "pair_ffnn_size", "entity_ffnn_size", "entity_vector_size")
    sizes: dict[str, Any] = dict.fromkeys(widths, 8)
    config = CorefELConfig(encoder_config=small_config(kind), window_size=16, dropout=0.0, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return CorefELModel(config).eval()


def try_encoder(kind: str) -> Encoder:
    """Encodes windows alone, padded in a batch, and twice; trains a step; saves and loads.

    Raises:
        AssertionError: When one of these gives what it should not.
    """
    model = small_model(kind)
    ids = torch.randint(5, 90, (2, 14), generator=torch.Generator().manual_seed(0))
    long, short = ids[:1], ids[1:, :9]
    alone = [_encode(model, row) for row in (long, short)]
    padded = torch.zeros(2, 1, 14, dtype=torch.long), torch.zeros(2, 1, 14, dtype=torch.long)
    places = torch.full((2, 14), -1)
    for b, row in enumerate((short, long)):
        size = row.shape[1]
        padded[0][b, 0, :size], padded[1][b, 0, :size], places[b, :size] = row, 1, torch.arange(size)
    with torch.no_grad():
        together = model.encoder(*padded, places)
    for vectors, row in zip(alone, (together[1], together[0, :9]), strict=True):
        assert torch.isfinite(vectors).all() and vectors.std() > 0
        torch.testing.assert_close(vectors, row, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(_encode(model, long), alone[0], atol=1e-6, rtol=1e-5)
    _train_a_step(model, long)
    _save_and_load(model, long)
    changed = long.clone()
    changed[0, -1] = 95
    before, after = _encode(model, long)[:-1], _encode(model, changed)[:-1]
    whole = getattr(model.config.encoder_config, "is_encoder_decoder", False)
    return Encoder(
        kind,
        "the encoder alone" if whole else "all of it",
        "both sides" if (before - after).abs().max() > 1e-6 else "what is before it only",
        "those of one length" if model.encoder.by_length else "any",
    )


def _encode(model: CorefELModel, ids: torch.Tensor) -> torch.Tensor:
    """Vectors ``[L, H]`` of a window ``[1, L]``."""
    with torch.no_grad():
        return model.encoder(ids.unsqueeze(1), torch.ones_like(ids).unsqueeze(1), torch.arange(ids.shape[1])[None])[0]


def _train_a_step(model: CorefELModel, ids: torch.Tensor) -> None:
    model.train()
    places = torch.arange(ids.shape[1])[None]
    weights = torch.randn(model.config.get_text_config().hidden_size, generator=torch.Generator().manual_seed(1))
    optimizer = torch.optim.SGD(model.encoder.parameters(), lr=1e-3)
    (model.encoder(ids.unsqueeze(1), torch.ones_like(ids).unsqueeze(1), places) @ weights).sum().backward()
    grown = [p for p in model.encoder.parameters() if p.grad is not None and p.grad.abs().max() > 0]
    assert len(grown) >= 3 and all(torch.isfinite(p.grad).all() for p in grown if p.grad is not None)
    optimizer.step()
    model.eval()


def _save_and_load(model: CorefELModel, ids: torch.Tensor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            loaded = CorefELModel.from_pretrained(folder).eval()
    torch.testing.assert_close(_encode(loaded, ids), _encode(model, ids), atol=1e-6, rtol=1e-5)


def table(encoders: list[Encoder]) -> str:
    """The table, and what is refused."""
    rows = [
        "| `model_type` | what reads the text | what a subword sees | windows that go together |",
        "|---|---|---|---|",
    ]
    rows += [f"| `{e.kind}` | {e.part} | {e.sees} | {e.batches} |" for e in encoders]
    refused = [f"| `{kind}` | {reason} |" for kind, reason in sorted(REFUSED.items())]
    return "\n".join(
        [*rows, "", "Refused when the model is made:", "", "| `model_type` | why |", "|---|---|", *refused, ""]
    )


def shown() -> list[Encoder]:
    """The rows that the page has."""
    lines = PAGE.read_text(encoding="utf-8").split(_BEGIN)[1].split("\n\n")[0].splitlines()[2:]
    return [Encoder(*(cell.strip().strip("`") for cell in line.strip("|").split("|"))) for line in lines]


def main() -> None:
    """Write the table into the page."""
    found = [try_encoder(kind) for kind in ARCHITECTURES if kind in CONFIG_MAPPING]
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(_BEGIN)[0], page.split(_END)[1]
    PAGE.write_text(before + _BEGIN + table(found) + _END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
