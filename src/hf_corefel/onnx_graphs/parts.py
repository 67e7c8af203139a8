"""The parts of a model that become a graph each: what is between them depends on the scores, and stays in Python.

========  ======================================================  ===============================
part      takes                                                   gives
========  ======================================================  ===============================
encoder   windows                                                 a vector a subword
mentions  subwords of documents, some of their spans              mention scores of these spans
vectors   subwords of documents, the retained spans               span vectors
edges     vectors of retained spans, all else of the documents    the fields of `CorefELOutput`
========  ======================================================  ===============================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..layers.enumerated import PrunedSpans, SpanTensors, score_spans
from ..layers.model_output import CorefELOutput
from ..modeling_corefel import CorefELModel

__all__ = [
    "ENCODER_INPUTS",
    "OWN",
    "PARTS",
    "PRUNING_INPUTS",
    "SPAN_INPUTS",
    "at_least_one",
    "at_least_two",
    "parts_of",
    "retained_inputs",
    "span_tensors",
]

PARTS = ("encoder", "mentions", "vectors", "edges")
"""Their names."""
ENCODER_INPUTS = ("input_ids", "attention_mask")
SPAN_INPUTS = ("span_begin", "span_end", "span_width", "span_cases", "span_mask", "mention_scope")
"""What makes `SpanTensors`, in their order, by the names that the processor gives it."""
PRUNING_INPUTS = (*ENCODER_INPUTS, "subword_positions", "span_limits", "keep_all", "also_retain")
"""What is needed before spans are retained only."""
_PADDED_WITH_LESS = {"subword_positions", "word_forms", "candidate_rows"}
"""Tensors of the processor whose padding is -1, and not zero."""
OWN = "own."
"""What the names of scores begin with that a head brings itself (`CorefELOutput.own_scores`)."""

_ENTITIES, _CANDIDATES = 5, 3

Tensors = Mapping[str, Tensor]


def span_tensors(tensors: Tensors) -> SpanTensors:
    """Return what the model is told of spans from what the processor gives."""
    return SpanTensors(*(cast(Any, tensors.get(name)) for name in SPAN_INPUTS))


def at_least_one(tensors: Tensors) -> dict[str, Tensor]:
    """Return a batch with padding for its spans, words, subwords and entities where it has none of them.

    A graph takes no list of nothing, of which a batch of empty texts has many.
    """
    padded = dict(tensors)
    for name, value in tensors.items():
        if value.dim() > 1 and not value.shape[1]:
            sides = (*(0, 0) * (value.dim() - 2), 0, 1)
            padded[name] = functional.pad(value, sides, value=-1 if name in _PADDED_WITH_LESS else 0)
    return padded


def at_least_two(numbers: Tensor) -> Tensor:
    """Return numbers ``[B, N]`` of retained spans with -1 where there are fewer than two.

    A graph takes neither a list of no spans, of which a text of nothing but unlikely ones has one, nor one of no pairs.
    """
    return functional.pad(numbers, (0, max(0, 2 - numbers.shape[1])), value=-1)


def retained_inputs(pruned: PrunedSpans) -> dict[str, Tensor]:
    """Return what the graph of edges takes of retained spans; their order is always told."""
    order = pruned.order
    if order is None:
        order = torch.arange(pruned.retained.shape[1]).expand(pruned.retained.shape).contiguous()
    return {"span_scores": pruned.scores, "retained": pruned.retained, "vectors": pruned.vectors, "order": order}


class _Encoder(nn.Module):
    """Vectors ``hidden`` ``[V, L, H]`` of windows ``[V, L]``."""

    def __init__(self, model: CorefELModel) -> None:
        super().__init__()
        self.encoder = model.plain_encoder

    def forward(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"hidden": self.encoder(**given).last_hidden_state}


class _Mentions(nn.Module):
    """Mention scores ``span_scores`` ``[B, S]`` of spans of ``subwords`` ``[B, T, H]``."""

    def __init__(self, model: CorefELModel) -> None:
        super().__init__()
        self.spans, self.pruner = model.spans, model.pruner

    def forward(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"span_scores": score_spans(self.spans, self.pruner, given["subwords"], span_tensors(given))[0]}


class _Vectors(nn.Module):
    """Vectors ``vectors`` ``[B, N, G]`` of spans of ``subwords`` ``[B, T, H]``."""

    def __init__(self, model: CorefELModel) -> None:
        super().__init__()
        self.spans = model.spans

    def forward(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"vectors": self.spans(given["subwords"], *span_tensors(given))}


class _Edges(nn.Module):
    """What the model makes of retained spans: the fields of its output that are not known before."""

    def __init__(self, model: CorefELModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        given = dict(given)
        pruned = PrunedSpans(*(given.pop(name) for name in ("span_scores", "retained", "vectors", "order")))
        earlier: dict[str, Any] = dict.fromkeys(PRUNING_INPUTS)
        output: CorefELOutput = self.model(**earlier, pruned=pruned, **given)
        fields = {name: value for name, value in output.items() if name not in ("span_scores", "retained")}
        own = fields.pop("own_scores", None) or {}
        return {**fields, **{f"{OWN}{name}": value for name, value in own.items()}}


@torch.no_grad()
def parts_of(model: CorefELModel, batch: Tensors) -> dict[str, tuple[nn.Module, dict[str, Tensor]]]:
    """Return each part of a model by its name, with an example of what it takes.

    Every size of the examples is two at least: what is one in them would be taken for a constant.

    Args:
        model: The model, on the CPU, in evaluation mode.
        batch: What the processor makes of two documents of several words.
    """
    reads_mask = not model.encoder.by_length or bool(model.encoder.reads_mask)
    windows = {name: batch[name].flatten(0, 1) for name in ENCODER_INPUTS[: 1 + reads_mask]}
    subwords = model.encoder(batch["input_ids"], batch["attention_mask"], batch["subword_positions"])
    table = span_tensors(batch)
    given_windows = batch["input_ids"], batch["attention_mask"], batch["subword_positions"]
    pruned = model.prune(given_windows, table, batch["span_limits"], batch["keep_all"])
    retained, order = at_least_two(pruned.retained), None if pruned.order is None else at_least_two(pruned.order)
    vectors = model.spans(subwords, *table.at(retained.clamp(min=0), retained >= 0))
    pruned = PrunedSpans(pruned.scores, retained, vectors, order)
    spans = {"subwords": subwords, **{name: batch[name] for name in SPAN_INPUTS if name in batch}}
    later = {name: value for name, value in {**batch, **_candidates(batch)}.items() if name not in PRUNING_INPUTS}
    return {
        "encoder": (_Encoder(model), windows),
        "mentions": (_Mentions(model), spans),
        "vectors": (_Vectors(model), spans),
        "edges": (_Edges(model), {**retained_inputs(pruned), **later}),
    }


def _candidates(batch: Tensors) -> dict[str, Tensor]:
    """Return candidates of each span, whatever the knowledge base proposes."""
    size, width = batch["span_begin"].shape, batch["entity_vectors"].shape[-1]
    rows = torch.arange(size.numel() * _CANDIDATES) % (_ENTITIES + 1) - 1
    vectors = torch.cos(torch.arange(len(batch["span_begin"]) * _ENTITIES * width).to(batch["entity_vectors"].dtype))
    return {
        "candidate_rows": rows.view(*size, _CANDIDATES),
        "log_priors": torch.full((*size, _CANDIDATES), -1.0),
        "entity_vectors": vectors.view(-1, _ENTITIES, width),
    }
