"""The model of a pipeline, by what computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..loading.repositories import HubOptions
from ..modeling_corefel import CorefELModel

__all__ = ["BACKENDS", "load_model"]

BACKENDS = ("torch", "onnx")
"""What may compute a model."""


def load_model(
    name: str,
    backend: str | None,
    asked: Mapping[str, Any],
    model_kwargs: Mapping[str, Any] | None,
    options: dict[str, Any],
) -> Any:
    """Return a saved model, ready to annotate.

    Args:
        name: Folder or Hub id.
        backend: One of `BACKENDS`; None is torch.
        asked: ``dtype``, ``attn_implementation`` and ``device_map``, each None where nothing was asked for.
        model_kwargs: Further arguments of `CorefELModel.from_pretrained`.
        options: The other arguments of `load_pipeline`. Those that are the model's alone are taken out; what tells how
            to find a repository is left out too, for the pipeline asks the model for it.

    Raises:
        OSError: When a file is missing.
        ValueError: When there is no such backend, or two arguments contradict one another.
    """
    if backend not in (None, *BACKENDS):
        raise ValueError(f"backend: expected {' or '.join(BACKENDS)}, got {backend!r}")
    access = HubOptions.pick({option: options.pop(option, None) for option in HubOptions.names()})
    trust = options.pop("trust_remote_code", None) is True
    said = {key: value for key, value in asked.items() if value is not None}
    former = options.pop("torch_dtype", None)  # the name of dtype before
    if former is not None:
        said.setdefault("dtype", former)
    if "device_map" in said and options.get("device") is not None:
        raise ValueError("device and device_map both say where the model goes; leave one out")
    kind: Any = CorefELModel
    if backend == "onnx":
        from ..onnx_graphs.modeling_onnx import OnnxCorefELModel  # needed by this backend only

        kind = OnnxCorefELModel
    settings = {**(model_kwargs or {}), **said, **access.to_kwargs(), "trust_remote_code": trust}
    return kind.from_pretrained(name, **settings).eval()
