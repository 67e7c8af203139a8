"""Windows in, one row of subword vectors out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from hf_corefel.layers import WindowEncoder, window_groups


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
    assert encoder.windows == [INPUT_IDS[0, 0].tolist(), INPUT_IDS[1, 0].tolist(), INPUT_IDS[0, 1].tolist()]


@pytest.mark.parametrize("padding", [0, 1, 3, 1000])
@pytest.mark.parametrize("most", [1, 8, 1000])
def test_windows_in_groups_give_what_they_give_together(
    monkeypatch: pytest.MonkeyPatch, padding: int, most: int
) -> None:
    encoder = _Embedding()
    read = WindowEncoder(encoder)
    mask = (INPUT_IDS > 0).long()
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    together = read(INPUT_IDS, mask, POSITIONS)
    assert encoder.windows == [*INPUT_IDS[0].tolist(), INPUT_IDS[1, 0].tolist()]
    monkeypatch.undo()
    monkeypatch.setattr(window_groups, "_PADDING", padding)
    monkeypatch.setattr(window_groups, "_MOST", most)
    assert torch.equal(read(INPUT_IDS, mask, POSITIONS), together)


@given(lengths=st.lists(st.integers(1, 600), max_size=40), padded=st.booleans())
def test_groups_hold_every_window_once_and_little_padding(lengths: list[int], padded: bool) -> None:
    groups = list(window_groups.grouped(lengths, padded=padded))
    assert sorted(window for group in groups for window in group) == list(range(len(lengths)))
    for group in groups:
        sizes = [lengths[window] for window in group]
        assert sizes[0] == max(sizes)
        assert sum(sizes[0] - size for size in sizes) <= (window_groups._PADDING if padded else 0)
        assert len(group) == 1 or not padded or sizes[0] * len(group) <= window_groups._MOST


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
