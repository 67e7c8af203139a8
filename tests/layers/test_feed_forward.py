"""The feed-forward scorer: depth, and its precision under autocast."""

from __future__ import annotations

import pytest
import torch

from hf_corefel.layers.ffnn import FeedForward


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_depth_counts_hidden_layers(depth: int) -> None:
    ffnn = FeedForward(5, depth, 0.0)
    assert sum(isinstance(layer, torch.nn.Linear) for layer in ffnn.layers) == depth
    assert ffnn(torch.randn(2, 3, FeedForward.first_size(5, depth))).shape == (2, 3)


def test_scores_leave_autocast_in_single_precision() -> None:
    torch.manual_seed(0)
    ffnn, hidden = FeedForward(64, 2, 0.0), torch.randn(50, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = ffnn(hidden)
    assert scores.dtype == torch.float32
    # Half precision has 8 bits: scores that are rounded to them would all be multiples of a power of two.
    assert (scores != scores.to(torch.bfloat16).float()).any()
    torch.testing.assert_close(scores, ffnn(hidden), rtol=0.05, atol=0.05)
    half = FeedForward(64, 2, 0.0).to(torch.bfloat16)
    assert half(hidden.to(torch.bfloat16)).dtype == torch.bfloat16
