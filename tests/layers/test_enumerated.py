"""Spans that are scored a part at a time give what they give at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from hf_corefel import CorefELModel, Document
from hf_corefel.layers import MentionPruner, SpanRepresentation, enumerated
from hf_corefel.layers.enumerated import SpanTensors, score_spans

BATCH, COUNT, PIECES, HIDDEN = 3, 40, 25, 8


@pytest.fixture
def parts() -> tuple[SpanRepresentation, MentionPruner, torch.Tensor, SpanTensors]:
    torch.manual_seed(0)
    represent = SpanRepresentation(HIDDEN, 4, 3, 2, 0.3, scopes=2, scope_size=3).eval()
    pruner = MentionPruner(represent.size, 6, 2, 0.3, 4, 3).eval()
    begin = torch.randint(0, PIECES - 5, (BATCH, COUNT))
    width = torch.randint(1, 5, (BATCH, COUNT))
    mask = torch.rand(BATCH, COUNT) < 0.8
    case = torch.randint(0, 7, (BATCH, COUNT, 2))
    table = SpanTensors(begin, begin + width, width, case, mask, torch.tensor([0, 1, 0]))
    return represent, pruner, torch.randn(BATCH, PIECES, HIDDEN), table


@pytest.mark.parametrize("chunk", [1, 3, 21, 60, 119, 120])
@torch.no_grad()
def test_parts_give_what_the_whole_gives(parts: Any, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    represent, pruner, subwords, table = parts
    vectors = represent(subwords, *table)
    monkeypatch.setattr(enumerated, "_CHUNK", chunk)
    calls: list[int] = []
    represent.register_forward_hook(lambda module, given, result: calls.append(result.shape[1]))
    scores, vectors_at = score_spans(represent, pruner, subwords, table)
    assert sum(calls) == COUNT and max(calls) == max(1, chunk // BATCH)
    torch.testing.assert_close(scores, pruner(vectors, table.width), rtol=0, atol=1e-6)
    index = torch.stack([row.nonzero().flatten()[[0, 7, -1]] for row in table.mask])
    mask = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])
    expected = vectors.gather(1, index.unsqueeze(-1).expand(-1, -1, vectors.shape[-1]))
    torch.testing.assert_close(vectors_at(index, mask)[mask], expected[mask], rtol=0, atol=1e-6)
    assert expected[mask].abs().sum(-1).min() > 0.0


@pytest.mark.parametrize("training", [False, True])
def test_gradients_and_dropout_see_every_vector_once(
    parts: Any, monkeypatch: pytest.MonkeyPatch, training: bool
) -> None:
    represent, pruner, subwords, table = parts
    represent.train(training)
    monkeypatch.setattr(enumerated, "_CHUNK", 6)
    calls: list[torch.Tensor] = []
    represent.register_forward_hook(lambda module, given, result: calls.append(result))
    with torch.set_grad_enabled(not training):
        _, vectors_at = score_spans(represent, pruner, subwords, table)
        some = vectors_at(torch.tensor([[4], [5], [6]]), torch.ones(3, 1, dtype=torch.bool))
    assert len(calls) == 1 and calls[0].shape[1] == COUNT
    assert torch.equal(some[1, 0], calls[0][1, 5])


@pytest.mark.parametrize("head", ["standalone_coref", "standalone_linking", "local", "global"])
def test_a_model_scores_the_same_in_parts(
    tiny_trained: Callable[[str], CorefELModel],
    tiny_processor: Callable[..., Any],
    tiny_documents: list[Document],
    monkeypatch: pytest.MonkeyPatch,
    head: str,
) -> None:
    model = tiny_trained(head)
    batch = tiny_processor(model.config)([*tiny_documents, "", "Oslo"], gold=True)
    with torch.no_grad():
        whole = model(**batch.inputs)
        monkeypatch.setattr(enumerated, "_CHUNK", 25)
        parted = model(**batch.inputs)
    assert (whole.retained[0] >= 0).sum() >= 5
    real = whole.retained >= 0
    for name, value in whole.items():
        left, right = value, parted[name]
        if name == "pair":
            both = real.unsqueeze(1) & real.unsqueeze(2)
            left, right = left[both], right[both]
        elif name in ("mention", "link", "root_pair", "nil"):
            left, right = left[real], right[real]
        torch.testing.assert_close(left, right, rtol=1e-6, atol=1e-6)
