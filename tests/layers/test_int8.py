"""Linear layers of int8."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from hf_corefel.layers.exact import ExactLinear
from hf_corefel.layers.int8 import Int8Linear, use_int8

SIZES = st.integers(1, 40)


@given(
    rows=SIZES,
    inputs=st.integers(2, 40),
    outputs=SIZES,
    bias=st.booleans(),
    seed=st.integers(0, 1000),
    scale=st.floats(-6, 6),
)
def test_it_is_wrong_by_half_a_step_a_product_at_most(
    rows: int, inputs: int, outputs: int, bias: bool, seed: int, scale: float
) -> None:
    draw = torch.Generator().manual_seed(seed)
    linear = nn.Linear(inputs, outputs, bias=bias)
    with torch.no_grad():
        linear.weight.copy_(torch.randn(outputs, inputs, generator=draw))
    values = torch.randn(rows, inputs, generator=draw) * 10.0**scale
    values[0] = 0.0
    with torch.no_grad():
        exact, found = linear(values), Int8Linear(linear).eval()(values)
    step_of_values = values.abs().amax(1, keepdim=True) / 127
    step_of_weights = linear.weight.abs().amax(1).unsqueeze(0) / 127
    most = (values.abs() @ torch.ones(inputs, 1)) * step_of_weights / 2
    most = most + step_of_values / 2 * linear.weight.abs().sum(1).unsqueeze(0)
    most = most + inputs * step_of_values * step_of_weights / 4
    assert ((found - exact).abs() <= most * 1.001 + 1e-5 * (1 + exact.abs())).all()


def test_a_large_row_costs_the_others_nothing() -> None:
    layer = Int8Linear(nn.Linear(8, 4)).eval()
    rows = torch.randn(3, 8)
    rows[0] *= 1e4
    torch.testing.assert_close(layer(rows)[1:], layer(rows[1:]), rtol=0, atol=0)
    assert layer(torch.zeros(0, 8)).shape == (0, 4) and layer(torch.zeros(2, 3, 8)).shape == (2, 3, 4)


def test_training_is_refused_and_only_plain_layers_are_replaced() -> None:
    model = nn.Sequential(
        nn.Linear(4, 4), ExactLinear(4, 1), nn.Linear(1, 4), nn.Sequential(nn.Linear(4, 4, bias=False))
    )
    use_int8(model.eval())
    assert not any(module.training for module in model.modules()), "new ones are in the mode of those before"
    kinds = [type(module).__name__ for module in model.modules() if hasattr(module, "in_features")]
    assert kinds == ["Int8Linear", "ExactLinear", "Linear", "Int8Linear"], "one of a single input stays"
    assert model(torch.ones(1, 4)).shape == (1, 4)
    with pytest.raises(RuntimeError, match="int8 weights cannot be trained"):
        model.train()(torch.ones(1, 4))
