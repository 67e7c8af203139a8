"""Forked processes: torch's threads do not survive a fork, and a child that waits for them waits for ever."""

from __future__ import annotations

import os
from functools import cache

import torch

__all__ = ["one_thread_after_fork"]


@cache
def one_thread_after_fork() -> None:
    """Let processes that are forked from this one compute with one thread, from now on.

    A child has the thread pool's bookkeeping but not its threads, so the first operation on several threads would hang.
    Workers of `datasets.Dataset.map` and of PyTorch's data loaders are forked on Linux, and share the cores anyway.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
