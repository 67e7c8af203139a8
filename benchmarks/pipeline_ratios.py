"""The whole pipeline, batches and a training step beside the encoder alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from timing import Row, best, text
from transformers import BertConfig

from hf_corefel import Cluster, CorefELConfig, CorefELModel, Document, Mention
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

# Words, documents of a batch and rounds.
BUNDLED = ((100, 1, 9), (100, 16, 5), (600, 1, 7), (600, 16, 2), (2_000, 1, 5), (10_000, 1, 2))
SPANBERT = ((100, 1, 5), (600, 1, 5), (2_000, 1, 2))
TARGETS = {("bundled", 600): "≤ 1.2", ("SpanBERT", 600): "≤ 1.1", ("bundled", 10_000): "≤ 1.35"}


def spanbert_sized() -> CorefELPipeline:
    """Return the bundled pipeline with an encoder as large as SpanBERT's base, of random weights."""
    torch.manual_seed(0)
    bundled = load_pipeline()
    given = bundled.model.config.to_dict()
    given.pop("encoder_config")
    given["mention_scopes"] = bundled.model.config.mention_scopes
    model = CorefELModel(CorefELConfig(encoder_config=BertConfig(vocab_size=30522), **given)).eval()
    return CorefELPipeline(model=model, processor=bundled.processor, verify=False)


def windows_of(pipeline: CorefELPipeline, documents: list[str]) -> list[torch.Tensor]:
    """Return the subwords of documents as the encoder alone would be given them: a window at a time, no overlap."""
    return [
        torch.from_numpy(encoded.subword_ids[begin:end]).unsqueeze(0)
        for encoded in map(pipeline.processor.encode, documents)
        for begin, end in encoded.windows.bounds
    ]


def encoder_alone(pipeline: CorefELPipeline, documents: list[str]) -> Callable[[], None]:
    """Return a call that reads the windows of documents with the encoder, and does nothing else."""
    windows, encoder = windows_of(pipeline, documents), pipeline.model.encoder.model

    def call() -> None:
        with torch.inference_mode():
            for window in windows:
                encoder(input_ids=window, attention_mask=torch.ones_like(window))

    return call


def whole(pipeline: CorefELPipeline, documents: list[str]) -> Callable[[], Any]:
    """Return a call of the pipeline on all documents as one batch."""
    return lambda: pipeline(documents, batch_size=len(documents))


def inference() -> Iterator[Row]:
    """Yield the figures of the whole pipeline."""
    for name, load, sizes in (("bundled", load_pipeline, BUNDLED), ("SpanBERT", spanbert_sized, SPANBERT)):
        pipeline = load()
        for words, count, rounds in sizes:
            documents = [text(words, seed) for seed in range(count)]
            times = best({"whole": whole(pipeline, documents), "encoder": encoder_alone(pipeline, documents)}, rounds)
            size = {"bundled": "bundled checkpoint", "SpanBERT": "SpanBERT-base-sized, random"}[name]
            what = f"{size}, {words:,} words, {'one document' if count == 1 else f'batch of {count}'}"
            target = TARGETS.get((name, words), "") if count == 1 else ""
            yield Row("a", what, "its encoder alone", times["whole"] / times["encoder"], target)


def batches() -> Iterator[Row]:
    """Yield how many times as long documents one by one take as those of a batch."""
    pipeline = load_pipeline()
    for name, documents, rounds, target in (
        ("16 texts of 20 to 60 words", [text(20 + 40 * n // 15, n) for n in range(16)], 5, "≥ 2"),
        ("16 texts of 600 words", [text(600, n) for n in range(16)], 3, "≥ 1"),
    ):
        one_by_one = lambda documents=documents: [pipeline(document) for document in documents]  # noqa: E731
        times = best({"batch": whole(pipeline, documents), "single": one_by_one}, rounds)
        yield Row("a", f"{name} one by one", "the same as a batch", times["single"] / times["batch"], target)


def losses(pipeline: CorefELPipeline) -> tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor]]:
    """Return calls that give the loss of a document of 600 words, and one of its encoder alone."""
    model = pipeline.model.float().train()
    document = text(600)
    found = pipeline.annotate([document])[0].clusters or []
    model.train()
    clusters = [Cluster(tuple(Mention(m.begin, m.end) for m in c.mentions), c.entity) for c in found]
    inputs = dict(pipeline.processor(Document(document, clusters=clusters), gold=True))
    windows = windows_of(pipeline, [document])

    def whole_model() -> torch.Tensor:
        model.zero_grad()
        loss: torch.Tensor = model(**inputs).loss
        return loss

    def encoder() -> torch.Tensor:
        model.zero_grad()
        read = [model.encoder.model(input_ids=w, attention_mask=torch.ones_like(w)) for w in windows]
        return torch.stack([part.last_hidden_state.square().mean() for part in read]).sum()

    return whole_model, encoder


def training() -> Iterator[Row]:
    """Yield the figure of a training step."""
    ours, encoder = losses(load_pipeline())
    times = best({"step": lambda: ours().backward(), "encoder": lambda: encoder().backward()}, 5)
    what = "forward and backward pass, 600 words"
    yield Row("d", what, "those of the encoder alone", times["step"] / times["encoder"], "≤ 1.4")
