"""A guest from outside the package, in a file that the tests write."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel.candidates import BACKENDS

SOURCE = Path(__file__).with_name("ticket_source.py")


@pytest.fixture
def tickets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The class `TicketSource` of a module in a temporary folder, registered while the test runs."""
    shutil.copy(SOURCE, tmp_path / "guest_tickets.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = importlib.util.spec_from_file_location("guest_tickets", tmp_path / "guest_tickets.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "guest_tickets", module)
    spec.loader.exec_module(module)
    BACKENDS.register("guest-tickets", module.TicketSource)
    yield module.TicketSource
    BACKENDS.unregister("guest-tickets")


@pytest.fixture(scope="session")
def linking_model(tiny_model: Callable[..., Any]) -> Any:
    """A model that links whatever has a candidate."""
    model = tiny_model()
    last = [module for module in model.entities.modules() if getattr(module, "out_features", None) == 1][-1]
    with torch.no_grad():
        last.bias += 50.0
    return model
