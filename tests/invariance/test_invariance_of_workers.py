"""Forked and spawned processes, workers that load data, and threads give what one call gives."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import invariance_tools
import pytest
import torch
from invariance_tools import EncodeInWorker, Text, assert_rich, assert_same
from torch.utils.data import DataLoader

from hf_corefel import AnnotatedDocument, CorefELPipeline, Document
from hf_corefel.decoding.annotating import annotate_batch

# Seconds; a process that hangs fails the test instead of the whole run.
PATIENCE = 300


@pytest.fixture(scope="module")
def documents(annotate: CorefELPipeline, anchor: str, sentences: list[str]) -> list[Text]:
    mentions = [(int(b), int(e)) for b, e in annotate.processor.encode(anchor).spans.offsets[:30:4]]
    return [sentences[0], anchor, Document(anchor, id="given", mentions=mentions), "", " ".join(sentences[:4])]


@pytest.fixture(scope="module")
def expected(annotate: CorefELPipeline, documents: list[Text]) -> list[AnnotatedDocument]:
    results = [annotate.annotate([document])[0] for document in documents]
    assert_rich(results[1:2])
    return results


@pytest.fixture
def pipeline_to_inherit(annotate: CorefELPipeline) -> Iterator[None]:
    invariance_tools.inherited = annotate
    yield
    invariance_tools.inherited = None


@pytest.mark.usefixtures("pipeline_to_inherit")
def test_forked_processes(documents: list[Text], expected: list[AnnotatedDocument]) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map_async(invariance_tools.annotate_in_fork, [documents, documents[::-1]]).get(PATIENCE)
    assert os.getpid() not in {process for process, _ in found}
    assert_same(found[0][1], expected)
    assert_same(found[1][1], expected[::-1])


def test_a_spawned_process(
    annotate: CorefELPipeline, documents: list[Text], expected: list[AnnotatedDocument], tmp_path: Path
) -> None:
    annotate.save_pretrained(tmp_path)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        arguments = str(tmp_path), documents[::-1]
        process, found = pool.apply_async(invariance_tools.annotate_in_spawn, arguments).get(PATIENCE)
    assert process != os.getpid()
    assert_same(found, expected[::-1])


@pytest.mark.parametrize(("method", "workers"), [("fork", 2), ("spawn", 1)])
def test_workers_that_load_data(
    annotate: CorefELPipeline, documents: list[Text], expected: list[AnnotatedDocument], method: str, workers: int
) -> None:
    """Documents are encoded and padded in workers, as in training."""
    work = EncodeInWorker(annotate.processor, documents)
    loader = DataLoader(
        work,
        batch_size=2,
        num_workers=workers,
        collate_fn=work.collate,
        multiprocessing_context=method,
        timeout=PATIENCE,
    )
    found: list[AnnotatedDocument] = []
    processes = set()
    url = annotate.processor.knowledge_base.url
    with torch.no_grad():
        for process, batch in loader:
            processes.add(process)
            found += annotate_batch(annotate.model, annotate.model(**batch.inputs), batch.documents, url)
    assert len(processes) == workers and os.getpid() not in processes
    assert_same(found, expected)


def test_four_threads_with_one_pipeline(
    annotate: CorefELPipeline, documents: list[Text], expected: list[AnnotatedDocument]
) -> None:
    orders = [[i, *range(i), *range(i + 1, len(documents))] for i in range(len(documents))] * 2
    with ThreadPoolExecutor(4) as threads:
        calls = [
            threads.submit(annotate.annotate, [documents[i] for i in order], batch_size=1 + number % 3)
            for number, order in enumerate(orders)
        ]
        for order, call in zip(orders, calls, strict=True):
            assert_same(call.result(PATIENCE), [expected[i] for i in order])
    assert not annotate.model.training


def test_four_threads_with_a_model_in_training(
    annotate: CorefELPipeline, documents: list[Text], expected: list[AnnotatedDocument]
) -> None:
    """Dropout stays out of all of them, whichever ends first, and the model is in training again afterwards."""
    dropouts = [module for module in annotate.model.modules() if isinstance(module, torch.nn.Dropout)]
    before = [module.p for module in dropouts]
    for module in dropouts:
        module.p = 0.5
    annotate.model.train()
    try:
        with ThreadPoolExecutor(4) as threads:
            calls = [threads.submit(annotate.annotate, documents, batch_size=1 + number % 3) for number in range(8)]
            for call in calls:
                assert_same(call.result(PATIENCE), expected)
        assert all(module.training for module in annotate.model.modules())
    finally:
        annotate.model.eval()
        for module, p in zip(dropouts, before, strict=True):
            module.p = p
