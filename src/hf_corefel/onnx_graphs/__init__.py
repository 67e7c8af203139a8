"""Models as ONNX graphs: written by `export_onnx`, read by onnxruntime in place of torch (extra ``[onnx]``)."""

from __future__ import annotations

from .exporting import export_onnx
from .modeling_onnx import OnnxCorefELModel

__all__ = ["OnnxCorefELModel", "export_onnx"]
