"""The steps of training dense retrieval, on the tiny model and its documents."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from hf_corefel import Document, load_pipeline
from script_loading import load_script


def test_encoding_training_composing(
    tiny_folder: Path,
    tiny_documents: list[Document],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = load_script("experiments/train_dense_retrieval.py")
    parts = [(part, document) for part in ("dev", "dwie") for document in tiny_documents]
    monkeypatch.setattr(script, "documents", lambda arguments: parts)
    options = argparse.Namespace(
        model=tiny_folder, cache=tmp_path / "cache", retriever=tmp_path / "retriever", out=tmp_path / "kb",
        epochs=60, batch_size=4, negatives=2, hidden=32, dropout=0.0, learning_rate=1e-2, seed=0,
        below=None, offset=None, nothing=None, least=0.1,
    )  # fmt: skip
    script.encode(options)
    written = {file.name: file.stat().st_mtime_ns for file in options.cache.iterdir()}
    assert sorted(written) == sorted(f"{part}.{n:05}.safetensors" for n, (part, _) in enumerate(parts))
    script.encode(options)
    assert {file.name: file.stat().st_mtime_ns for file in options.cache.iterdir()} == written
    spans = script.read_cache(options.cache, ("dwie",))
    mentions = sum(len(cluster.mentions) for document in tiny_documents for cluster in document.clusters or [])
    assert (spans.entities > -2).sum() == mentions
    script.train(options)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("epoch 59") and "@1 100.0%" in last
    script.compose(options)
    annotate = load_pipeline(tiny_folder, knowledge_base=options.out)
    retrieval = annotate.processor.knowledge_base.parts[1]
    assert retrieval.offset <= 0 and 0 < retrieval.source.nothing < 1
    # What no table has: "she" and "the city" are mentions of the first document.
    assert annotate(tiny_documents[0].text)["clusters"]
