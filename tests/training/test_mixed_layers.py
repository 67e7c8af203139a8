"""Training on documents of which different layers are annotated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hf_corefel import CorefELModel, CorefELTrainer, Document
from hf_corefel.training import DocumentDataset

LAYERS = [
    {"links": False},
    {"clusters": False},
    {"mentions": "given", "links": "some"},
    {"mentions": "named"},
    {},
]


def mixed(documents: list[Document]) -> list[Document]:
    return [replace(documents[n % 3], annotated=layers) for n, layers in enumerate(LAYERS)]


def test_a_mixture_is_learnt(make_trainer: Callable[..., CorefELTrainer], tiny_documents: list[Document]) -> None:
    documents = mixed(tiny_documents)
    trainer = make_trainer(max_steps=25, per_device_train_batch_size=5, train_dataset=documents, eval_dataset=documents)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < 0.5 * losses[0]
    assert trainer.evaluate()["eval_loss"] < 0.5 * before


def test_what_a_head_cannot_learn_from_is_said(
    make_trainer: Callable[..., CorefELTrainer],
    tiny_model: Callable[..., CorefELModel],
    tiny_documents: list[Document],
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = tiny_model(head="standalone_linking")
    make_trainer(model, max_steps=1, train_dataset=mixed(tiny_documents), eval_dataset=None).train()
    assert (
        "the head standalone_linking learns nothing but mentions from 1 document: no links are annotated" in caplog.text
    )


def test_parts_of_a_long_document_have_its_layers(tiny_documents: list[Document]) -> None:
    dataset = DocumentDataset([replace(tiny_documents[0], annotated={"links": False})], max_words=8)
    assert len(dataset) > 1
    assert all(part.layers.links is False for part in dataset.documents)
