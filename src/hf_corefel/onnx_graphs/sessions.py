"""A graph that onnxruntime computes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["OUTPUT", "GraphSession", "onnxruntime"]

OUTPUT = "output."
"""What names of results begin with in a graph, where they must not be those of inputs."""


def onnxruntime() -> Any:
    """Return the package.

    Raises:
        ImportError: When it is missing; the message says what to install.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(f"backend='onnx' needs onnxruntime: pip install 'hf-corefel[onnx]' ({error})") from error
    return onnxruntime


class GraphSession:
    """A graph on the CPU, with as many threads as torch has when it is opened.

    Args:
        path: The file.

    Raises:
        ImportError: When onnxruntime is missing.
        ValueError: When the file is damaged, or holds what this onnxruntime cannot compute.
    """

    def __init__(self, path: Path) -> None:
        self._path, ort = path, onnxruntime()
        options = ort.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # what it warns of is how it simplifies graphs
        try:
            self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        # Its own errors have no common class but this one.
        except Exception as error:
            raise ValueError(f"{path}: onnxruntime cannot read it ({error}); export the model again") from error
        self._inputs = [value.name for value in self._session.get_inputs()]
        self._outputs = [value.name.removeprefix(OUTPUT) for value in self._session.get_outputs()]

    def __call__(self, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the graph's results by their names; of what is given, it takes what it knows.

        Raises:
            ValueError: When it needs what is not given.
        """
        missing = [name for name in self._inputs if name not in given]
        if missing:
            raise ValueError(f"{self._path}: it needs {missing[0]}, which the processor does not give; export it again")
        feed = {name: given[name].detach().contiguous().numpy() for name in self._inputs}
        return dict(zip(self._outputs, map(torch.from_numpy, self._session.run(None, feed)), strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        # A session is opened anew where it is copied or pickled.
        return type(self), (self._path,)
