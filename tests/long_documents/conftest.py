"""A small model, and a pipeline that takes every document for a long one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hf_corefel import CorefELPipeline
from hf_corefel.pipeline_corefel import load_pipeline


@pytest.fixture(scope="module")
def dense(tiny_folder: Path) -> CorefELPipeline:
    """Scores each span with each."""
    return load_pipeline(tiny_folder)


@pytest.fixture(scope="module")
def sparse(tiny_folder: Path) -> CorefELPipeline:
    """Reads documents of two spans and more as long ones."""
    pipeline: Any = load_pipeline(tiny_folder)
    pipeline.processor.settings = pipeline.processor.settings.replace(max_kept_spans=1)
    return pipeline


@pytest.fixture(scope="session")
def story(tiny_documents: list[Any]) -> str:
    """The tiny documents one after the other, some ten windows of the small encoder."""
    return " ".join(document.text for document in tiny_documents * 2)
