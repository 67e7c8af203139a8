"""Dropout: how much is dropped, what becomes of the rest, and that draws can be repeated."""

from __future__ import annotations

import pytest
import torch

from hf_corefel.layers.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_share_and_scale(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    values = torch.ones(301, 333, dtype=dtype)
    dropped = Dropout(p)(values)
    kept = dropped != 0
    assert dropped.dtype == dtype
    assert (1.0 - kept.double().mean()).item() == pytest.approx(p, abs=0.01)
    assert dropped[kept].unique().item() == pytest.approx(1 / (1 - round(256 * p) / 256), rel=0.005)
    # No place is drawn with its neighbours: of two side by side both are kept as often as chance has it.
    both = (kept[:, 1:] & kept[:, :-1]).double().mean().item()
    assert both == pytest.approx((1 - p) ** 2, abs=0.01)


def test_every_size_has_draws_of_its_own() -> None:
    for size in range(40):
        assert Dropout(0.5)(torch.ones(size)).shape == (size,)


def test_the_same_seed_gives_the_same_draws_and_another_one_others() -> None:
    layer, values = Dropout(0.3), torch.randn(50, 7)

    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return layer(values)

    assert torch.equal(drawn(1), drawn(1)) and not torch.equal(drawn(1), drawn(2))


@pytest.mark.parametrize("p", [0.0, 0.001, 1.0])
def test_ends_are_those_of_torch(p: float) -> None:
    values = torch.randn(50)
    torch.manual_seed(0)
    expected = torch.nn.Dropout(p)(values)
    torch.manual_seed(0)
    assert torch.equal(Dropout(p)(values), expected)
    assert torch.equal(Dropout(0.5).eval()(values), values)


def test_gradient_passes_what_is_kept() -> None:
    values = torch.randn(1000, requires_grad=True)
    result = Dropout(0.25)(values)
    result.sum().backward()
    assert values.grad is not None
    torch.testing.assert_close(values.grad, (result != 0).float() / 0.75)
