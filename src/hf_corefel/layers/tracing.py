"""What the model does otherwise while it is written down as a graph."""

from __future__ import annotations

import torch

__all__ = ["in_one_graph"]


def in_one_graph() -> bool:
    """Return whether the model is being exported: its graph has no loop whose length depends on a document.

    What is done in parts to save memory is then done at once. The results are the same.
    """
    return torch.compiler.is_exporting()
