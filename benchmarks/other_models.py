"""Documents a second beside F-coref's architecture and a bare token classifier, with the same encoder."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from pipeline_ratios import encoder_alone, windows_of
from timing import Row, best, text
from transformers import BertForTokenClassification, TokenClassificationPipeline

from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

# What the published F-coref has (Otmazgin et al., 2022), in subwords, and the width of its scorers.
HEAD = {"max_span_length": 30, "top_lambda": 0.25, "ffnn_size": 1024, "dropout_prob": 0.3, "max_segment_len": 512}


def fcoref(pipeline: CorefELPipeline, documents: list[str], package: str) -> Callable[[], None]:
    """Return a call of F-coref's model on documents: its forward pass and the best antecedents.

    Not counted: its tokenisation and its clusters, which would only make it slower.

    Args:
        pipeline: Has the encoder and the tokenizer.
        documents: The documents.
        package: The folder where fastcoref was installed.
    """
    sys.path.append(package)
    from fastcoref.coref_models.modeling_fcoref import FCorefModel

    # It was written for transformers 4, which asks no model for these.
    FCorefModel.all_tied_weights_keys = {}
    config = copy.deepcopy(pipeline.model.encoder.model.config)
    config.coref_head = HEAD
    model = FCorefModel(config).eval()
    inputs = [_segments(torch.cat(windows_of(pipeline, [one]), dim=1)[0]) for one in documents]

    def call() -> None:
        with torch.inference_mode():
            for batch in inputs:
                model(batch, return_all_outputs=True)[-1].argmax(dim=-1)

    return call


def _segments(ids: torch.Tensor) -> dict[str, Any]:
    """Whole segments of a document, and what is left over, as F-coref takes them."""
    length = HEAD["max_segment_len"]
    whole = len(ids) // length * length
    parts = {"input_ids": ids[:whole].view(1, -1, length), "rest": ids[whole:].unsqueeze(0)}
    if not whole:
        parts = {"input_ids": ids.view(1, 1, -1), "rest": ids[:0].unsqueeze(0)}
    left = parts.pop("rest")
    left = left if left.numel() else left[:0]
    leftovers = {"input_ids": left, "attention_mask": torch.ones_like(left)}
    return {**parts, "attention_mask": torch.ones_like(parts["input_ids"]), "leftovers": leftovers}


def classifier(pipeline: CorefELPipeline, documents: list[str]) -> Callable[[], Any]:
    """Return a call of transformers' token classification with the same encoder, documents in overlapping pieces."""
    config = copy.deepcopy(pipeline.model.encoder.model.config)
    config.num_labels = 9
    model = BertForTokenClassification(config).eval()
    tokenizer = copy.deepcopy(pipeline.processor.tokenizer)
    tokenizer.model_max_length = 512
    classify = TokenClassificationPipeline(model=model, tokenizer=tokenizer, stride=64, aggregation_strategy="simple")
    return lambda: [classify(document) for document in documents]


def others(package: str | None) -> Iterator[Row]:
    """Yield documents a second of the whole pipeline by those of each other model.

    Args:
        package: See `fcoref`; None leaves it out.
    """
    pipeline = load_pipeline()
    for words in (100, 600):
        documents = [text(words, seed) for seed in range(4)]
        calls: dict[str, Callable[[], Any]] = {"ours": lambda documents=documents: list(map(pipeline, documents))}
        calls["token classification, transformers' pipeline"] = classifier(pipeline, documents)
        if package is not None:
            calls["F-coref"] = fcoref(pipeline, documents, package)
            calls["encoder"] = encoder_alone(pipeline, documents)
        times = best(calls, 5)
        ours = times.pop("ours")
        if "encoder" in times:
            ratio = times["F-coref"] / times.pop("encoder")
            yield Row("c", f"F-coref's forward pass, {words} words, time", "its encoder alone", ratio)
        for name, seconds in times.items():
            target = "≥ 2" if name == "F-coref" else ""
            yield Row("c", f"documents a second, {words} words", name, seconds / ours, target)
