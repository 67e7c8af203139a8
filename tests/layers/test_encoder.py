"""Windows in, one row of subword vectors out."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import Tensor, nn

from hf_corefel.layers import WindowEncoder


class _Embedding(nn.Module):
    """An "encoder" whose vectors say which subword they are of; it remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(100, 4)
        self.windows: list[list[int]] = []

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        self.windows += input_ids.tolist()
        assert attention_mask.any(dim=1).all()
        return SimpleNamespace(last_hidden_state=self.table(input_ids) * attention_mask.unsqueeze(-1))


# Two documents: two windows of 3 and 1 subwords, and one window of 2 subwords; 1 and 2 are special, 0 is padding.
INPUT_IDS = torch.tensor([[[1, 10, 11, 12, 2], [1, 13, 2, 0, 0]], [[1, 20, 21, 2, 0], [0, 0, 0, 0, 0]]])
POSITIONS = torch.tensor([[1, 2, 3, 6], [1, 2, -1, -1]])


def test_subwords_are_gathered_from_their_windows() -> None:
    encoder = _Embedding()
    subwords = WindowEncoder(encoder)(INPUT_IDS, (INPUT_IDS > 0).long(), POSITIONS)
    assert subwords.shape == (2, 4, 4)
    for b, row in enumerate([[10, 11, 12, 13], [20, 21]]):
        for t, subword in enumerate(row):
            assert torch.equal(subwords[b, t], encoder.table.weight[subword])
    assert torch.equal(subwords[1, 2:], torch.zeros(2, 4))


def test_empty_windows_are_not_encoded() -> None:
    encoder = _Embedding()
    WindowEncoder(encoder)(INPUT_IDS, (INPUT_IDS > 0).long(), POSITIONS)
    assert encoder.windows == [*INPUT_IDS[0].tolist(), INPUT_IDS[1, 0].tolist()]


def test_overlapping_windows_give_the_place_that_was_asked_for() -> None:
    """Subword 11 stands in both windows; the second place is read."""

    class Numbered(nn.Module):
        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
            place = torch.arange(input_ids.numel(), dtype=torch.float32).reshape(input_ids.shape)
            return SimpleNamespace(last_hidden_state=place.unsqueeze(-1))

    ids = torch.tensor([[[1, 10, 11, 2], [1, 11, 12, 2]]])
    subwords = WindowEncoder(Numbered())(ids, torch.ones_like(ids), torch.tensor([[1, 5, 6]]))
    assert subwords[0, :, 0].tolist() == [1.0, 5.0, 6.0]


def test_gradient_reaches_the_subwords_that_are_read_and_no_others() -> None:
    encoder = _Embedding()
    WindowEncoder(encoder)(INPUT_IDS, (INPUT_IDS > 0).long(), POSITIONS).sum().backward()
    assert encoder.table.weight.grad is not None
    touched = encoder.table.weight.grad.abs().sum(dim=1).nonzero().squeeze(1).tolist()
    assert touched == [10, 11, 12, 13, 20, 21]
