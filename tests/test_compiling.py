"""``torch.compile``: equal scores, losses and gradients, in the pipeline and in training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel.pipeline_corefel import load_pipeline

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."
# Tracing is what differs between models; what is made of the graphs afterwards is torch's own affair.
TRACING = "eager"


@pytest.fixture(autouse=True)
def nothing_compiled_before() -> Iterator[None]:
    """Forgets graphs of other tests."""
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def check_training(model: Any, compiled: Any, batch: Any) -> None:
    """Check that loss and gradients of a compiled model are those of the model."""
    model.train()
    losses, gradients = [], []
    for each in (model, compiled):
        model.zero_grad()
        loss = each(**batch).loss
        loss.backward()
        losses.append(loss.detach())
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    torch.testing.assert_close(losses[1], losses[0])
    assert gradients[0].keys() == gradients[1].keys() and len(gradients[0]) > 30
    for name, value in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], value, rtol=1e-4, atol=1e-5, msg=name)


def test_training_a_compiled_model(
    tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], tiny_documents: list[Any]
) -> None:
    model = tiny_model(head="local")
    batch = tiny_processor(model.config)(tiny_documents, gold=True)
    check_training(model, torch.compile(model, backend=TRACING), batch)


@pytest.mark.slow
def test_a_compiled_model_in_the_pipeline(tiny_folder: Path) -> None:
    annotate = load_pipeline(tiny_folder)
    texts = [TEXT, "", "Moss left Bergen."]
    expected = annotate(texts, evidence=True)
    model = annotate.model
    annotate.model = torch.compile(model, backend=TRACING)
    assert annotate(texts, evidence=True) == expected
    annotate.model = model
    model.compile(backend=TRACING)
    assert annotate(texts, evidence=True) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "backend"),
    [(head, "aot_eager") for head in ("standalone_coref", "standalone_linking", "local", "global")]
    + [("global", "inductor")],
)
def test_all_heads_are_compiled(
    tiny_trained: Callable[[str], Any],
    tiny_processor: Callable[..., Any],
    tiny_documents: list[Any],
    head: str,
    backend: str,
) -> None:
    model = tiny_trained(head)
    processor = tiny_processor(model.config)
    compiled = torch.compile(model, dynamic=True, backend=backend)
    with torch.no_grad():
        for documents in (tiny_documents, [TEXT] * 2):
            batch = processor(documents)
            one, other = model(**batch), compiled(**batch)
            assert torch.equal(one.retained, other.retained)
            for name in one:
                torch.testing.assert_close(other[name], one[name], rtol=1e-5, atol=1e-5)
    try:
        check_training(model, compiled, processor(tiny_documents, gold=True))
    finally:
        model.eval()
        model.zero_grad()
