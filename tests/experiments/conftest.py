"""A queue of two tiny runs, and a page for their report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.utils import logging

from hf_corefel import Document
from hf_corefel.formats import write_jsonl
from little_runs import FILES


@pytest.fixture
def write_runs(tmp_path: Path) -> Callable[..., Path]:
    """Writes files of runs and their queue into a folder; the tiny ones when none is given."""

    def write(files: dict[str, dict[str, Any]] = FILES, queue: str | None = None) -> Path:
        folder = tmp_path / "runs"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        (folder / "queue.txt").write_text("\n".join(files) if queue is None else queue, encoding="utf-8")
        return folder

    return write


@pytest.fixture
def tiny_queue(
    tmp_path: Path,
    tiny_documents: list[Document],
    tiny_encoder: Path,
    tiny_knowledge_base: Any,
    write_runs: Callable[..., Path],
) -> Iterator[Callable[..., list[str]]]:
    """Gives the arguments of ``run.py`` that work on the tiny queue, results and work in folders of the given name."""
    runs = write_runs()
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for part in ("train", "dev", "test"):
        write_jsonl(corpus / f"{part}.jsonl", tiny_documents)
    tiny_knowledge_base.save_pretrained(tmp_path / "kb")

    def arguments(name: str, *more: str) -> list[str]:
        folders = ["--runs", runs, "--results", tmp_path / name / "results", "--work", tmp_path / name / "work"]
        named = ["--corpus", f"tiny={corpus}", "--encoder", f"tiny={tiny_encoder}"]
        return [*map(str, folders), *named, "--knowledge-base", f"tiny={tmp_path / 'kb'}", *more]

    threads, verbosity = torch.get_num_threads(), logging.get_verbosity()
    yield arguments
    torch.set_num_threads(threads)
    logging.set_verbosity(verbosity)
    logging.enable_progress_bar()
