"""What the model does otherwise while it is written down as a graph."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["in_one_graph", "runs_on_processor"]


def in_one_graph() -> bool:
    """Return whether the model is being exported: its graph has no loop whose length depends on a document.

    What is done in parts to save memory is then done at once. The results are the same.
    """
    return torch.compiler.is_exporting()


def runs_on_processor(like: Tensor) -> bool:
    """Return whether calls on a tensor are run by a processor one by one: small parts then stay in its cache.

    Other devices, and graphs, want few large calls, and none whose size depends on values.
    """
    return like.device.type == "cpu" and not torch.compiler.is_compiling()
