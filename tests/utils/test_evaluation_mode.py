"""A model that threads share is out of training mode as long as any of them reads with it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from hf_corefel.utils.evaluation_mode import evaluation_mode


def modes(model: nn.Module) -> list[bool]:
    return [module.training for module in model.modules()]


@pytest.fixture
def partly_frozen() -> nn.Module:
    """A model in training mode with a part that its trainer keeps in evaluation mode."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.9))).train()
    model[2].eval()
    return model


def test_every_module_gets_its_mode_back(partly_frozen: nn.Module) -> None:
    before = modes(partly_frozen)
    assert set(before) == {True, False}
    with evaluation_mode(partly_frozen):
        assert not any(modes(partly_frozen))
        with evaluation_mode(partly_frozen):
            assert not any(modes(partly_frozen))
        assert not any(modes(partly_frozen)), "the outer one is still inside"
    assert modes(partly_frozen) == before


def test_mode_comes_back_after_an_error(partly_frozen: nn.Module) -> None:
    before = modes(partly_frozen)
    with pytest.raises(RuntimeError, match="shape"), evaluation_mode(partly_frozen):
        partly_frozen(torch.zeros(1, 3))
    assert modes(partly_frozen) == before


def test_a_model_in_evaluation_mode_stays_there() -> None:
    model = nn.Dropout(0.5).eval()
    with evaluation_mode(model):
        assert not model.training
    assert not model.training


def test_the_first_to_leave_does_not_switch_dropout_on_for_the_others(partly_frozen: nn.Module) -> None:
    inside, left = threading.Event(), threading.Event()

    def early() -> None:
        with evaluation_mode(partly_frozen):
            assert inside.wait(10)
        left.set()

    def late() -> None:
        with evaluation_mode(partly_frozen):
            inside.set()
            assert left.wait(10)
            assert not any(modes(partly_frozen))

    before = modes(partly_frozen)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(early), pool.submit(late)]:
            done.result(timeout=30)
    assert modes(partly_frozen) == before
