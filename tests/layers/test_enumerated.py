"""Spans that are scored a part at a time give what they give at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from hf_corefel import CorefELModel, Document
from hf_corefel.layers import MentionPruner, SpanRepresentation, enumerated
from hf_corefel.layers.enumerated import SpanTensors, keep_best, score_spans
from hf_corefel.layers.exact import is_plain

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
    monkeypatch.setattr(enumerated, "_CHUNK_IN_CACHE", chunk)
    calls: list[int] = []
    pruner.ffnn.register_forward_hook(lambda module, given, result: calls.append(result.shape[1]))
    scores, vectors_at = score_spans(represent, pruner, subwords, table)
    assert sum(calls) == COUNT and max(calls) == max(1, chunk // BATCH)
    torch.testing.assert_close(scores, pruner(vectors, table.width), rtol=0, atol=1e-6)
    index = torch.stack([row.nonzero().flatten()[[0, 7, -1]] for row in table.mask])
    mask = torch.tensor([[True, True, True], [True, True, False], [True, False, False]])
    expected = vectors.gather(1, index.unsqueeze(-1).expand(-1, -1, vectors.shape[-1]))
    torch.testing.assert_close(vectors_at(index, mask)[mask], expected[mask], rtol=0, atol=1e-6)
    assert expected[mask].abs().sum(-1).min() > 0.0


def test_a_layer_that_something_listens_to_is_called(parts: Any) -> None:
    """Hooks move weights between devices, and adapters take the place of a layer."""
    represent, pruner, subwords, table = parts
    with torch.no_grad():
        expected, _ = score_spans(represent, pruner, subwords, table)
        assert is_plain(pruner.project, subwords) and not is_plain(pruner.project, subwords.double())
        seen: list[torch.Size] = []
        pruner.project.register_forward_hook(lambda module, given, result: seen.append(given[0].shape))
        scores, _ = score_spans(represent, pruner, subwords, table)
        assert seen == [(BATCH, COUNT, represent.size)]
        torch.testing.assert_close(scores, expected, rtol=0, atol=1e-6)
        pruner.project = torch.nn.Sequential(pruner.project, torch.nn.Identity())
        scores, _ = score_spans(represent, pruner, subwords, table)
    torch.testing.assert_close(scores, expected, rtol=0, atol=1e-6)


@torch.no_grad()
def test_unlikely_spans_are_not_kept_and_leave_the_order_as_it_is(parts: Any) -> None:
    represent, pruner, subwords, table = parts
    limits, keep_all = torch.tensor([9, 40, 9]), torch.tensor([False, True, False])
    rest = represent, pruner, subwords, table, limits, keep_all
    everything = keep_best(*rest)
    assert everything.order is None
    least = float(everything.scores[0, everything.retained[0, everything.retained[0] >= 0]].median())
    also = torch.zeros_like(table.mask)
    lowest = int(everything.scores[2].masked_fill(~table.mask[2], torch.inf).argmin())
    also[2, lowest] = True
    some = keep_best(*rest, also, least)
    assert some.order is not None
    for b in range(BATCH):
        kept = [s for s in everything.retained[b].tolist() if s >= 0]
        kept = sorted({*kept, *also[b].nonzero().flatten().tolist()})
        wanted = [s for s in kept if everything.scores[b, s] >= least or keep_all[b] or also[b, s]]
        assert wanted and (b != 0 or len(wanted) < len(kept)) and (b != 1 or wanted == kept)
        assert [s for s in some.retained[b].tolist() if s >= 0] == wanted
        assert [n for n in some.order[b].tolist() if n >= 0] == [kept.index(s) for s in wanted]
    mask = some.retained >= 0
    expected = represent(subwords, *table).gather(1, some.retained.clamp(min=0).unsqueeze(-1).expand_as(some.vectors))
    torch.testing.assert_close(some.vectors[mask], expected[mask], rtol=0, atol=1e-6)


@pytest.mark.parametrize("training", [False, True])
def test_gradients_and_dropout_see_every_vector_once(
    parts: Any, monkeypatch: pytest.MonkeyPatch, training: bool
) -> None:
    represent, pruner, subwords, table = parts
    represent.train(training)
    monkeypatch.setattr(enumerated, "_CHUNK_IN_CACHE", 6)
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
    documents = [*tiny_documents, Document("", clusters=[]), Document("Oslo", clusters=[])]
    batch = tiny_processor(model.config)(documents, gold=True)
    with torch.no_grad():
        whole = model(**batch.inputs)
        monkeypatch.setattr(enumerated, "_CHUNK_IN_CACHE", 25)
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
