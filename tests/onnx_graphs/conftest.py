"""A tiny model that was exported, once for all tests of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.pipeline_corefel import load_pipeline


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    """Folder of the tiny global model's graphs, in single precision: do not change it."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from hf_corefel.onnx_graphs import export_onnx

    annotate = load_pipeline(tiny_folder)
    folder = tmp_path_factory.mktemp("exported") / "model"
    return export_onnx(annotate.model, annotate.processor, folder)


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to be changed."""
    return Path(shutil.copytree(exported, tmp_path / "copied"))


@pytest.fixture(scope="session")
def torch_and_onnx(tiny_folder: Path, exported: Path) -> tuple[Any, Any]:
    """The pipelines of the tiny model and of its graphs."""
    return load_pipeline(tiny_folder), load_pipeline(exported, backend="onnx")


@pytest.fixture(scope="session")
def check_equal() -> Callable[[Any, Any, Any], None]:
    """Checks that two models retain the same spans and score them alike."""
    import torch

    def check(model: Any, graphs: Any, batch: Any) -> None:
        with torch.no_grad():
            expected, found = model(**batch), graphs(**batch)
        size = expected.retained.shape[1]  # graphs pad to two spans
        assert torch.equal(found.retained[:, :size], expected.retained) and (found.retained[:, size:] == -1).all()
        real = expected.retained >= 0
        pairs = real.unsqueeze(1) & real.unsqueeze(2)
        assert set(found) == set(expected)
        for name, value in expected.items():
            if name in ("span_scores", "retained"):
                continue
            is_square = name in ("pair", "contains", "twins")
            cut = found[name][:, :size, :size] if is_square else found[name][:, :size]
            place = pairs if is_square else real
            torch.testing.assert_close(cut[place], value[place], rtol=1e-4, atol=1e-4, msg=name)
        mask = batch["span_mask"]
        torch.testing.assert_close(found.span_scores[mask], expected.span_scores[mask], rtol=1e-4, atol=1e-4)

    return check
