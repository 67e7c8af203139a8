"""Runs a model as in evaluation, whatever mode it is in, in several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from torch import nn

__all__ = ["evaluation_mode"]


@dataclass
class _Users:
    """How many threads are inside, and which modules were in training mode before the first came."""

    number: int = 0
    training: list[nn.Module] = field(default_factory=list)


_lock = threading.Lock()
# By model, not by pipeline: two pipelines may share one.
_users: WeakKeyDictionary[nn.Module, _Users] = WeakKeyDictionary()


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """While any thread is inside, the model drops no units out; the last one restores the mode of every module.

    The forward passes themselves run side by side: the lock is held only while a mode is changed, and a model that
    is in evaluation mode already is not touched at all.
    """
    with _lock:
        users = _users.setdefault(model, _Users())
        if not users.number:
            users.training = [module for module in model.modules() if module.training]
            for module in users.training:
                module.training = False
        users.number += 1
    try:
        yield
    finally:
        with _lock:
            users.number -= 1
            if not users.number:
                for module in users.training:
                    module.training = True
                users.training = []
