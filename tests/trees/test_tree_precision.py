"""Results and gradients on devices that have no double precision."""

from __future__ import annotations

import pytest
import torch

from hf_corefel.trees import SpanningTreeDistribution
from hf_corefel.trees.precision import has_float64, of_device

CPU = torch.device("cpu")


def test_only_apples_gpus_have_none() -> None:
    assert not has_float64(torch.device("mps"))
    assert all(has_float64(torch.device(name)) for name in ("cpu", "cuda", "xpu", "meta"))


def test_only_double_results_are_made_single(monkeypatch: pytest.MonkeyPatch) -> None:
    double, whole = torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int64)
    assert of_device(double, CPU) is double
    monkeypatch.setattr("hf_corefel.trees.precision.WITHOUT_FLOAT64", {"cpu"})
    assert of_device(double, CPU).dtype == torch.float32
    assert of_device(whole, CPU) is whole


def test_a_distribution_gives_single_results_and_the_same_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    root, spans = torch.randn(2, 4, requires_grad=True), torch.randn(2, 4, 4, requires_grad=True)

    def computed() -> tuple[torch.Tensor, ...]:
        distribution = SpanningTreeDistribution(root, spans)
        log_partition = distribution.log_partition
        gradients = torch.autograd.grad(log_partition.sum(), (root, spans))
        return (log_partition, distribution.entropy, *distribution.edge_marginals, *gradients)

    expected = computed()
    assert expected[0].dtype == torch.float64
    monkeypatch.setattr("hf_corefel.trees.precision.WITHOUT_FLOAT64", {"cpu"})
    for tensor, exact in zip(computed(), expected, strict=True):
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor, exact.float())
