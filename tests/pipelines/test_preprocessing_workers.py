"""`num_workers`: other processes prepare batches, with the same results, order, bounds and errors."""

from __future__ import annotations

import inspect
import itertools
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset
from transformers import pipeline

from hf_corefel import Candidate, CorefELPipeline, Document, DocumentError
from hf_corefel.documents.extra_fields import ExtraFieldWarning
from hf_corefel.pipeline_corefel import load_pipeline
from hf_corefel.pipelines.handed_over import LazyResults
from hf_corefel.pipelines.workers import preprocessed

needs_fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")


@pytest.fixture(scope="module")
def annotate(tiny_folder: Path) -> CorefELPipeline:
    return load_pipeline(tiny_folder)


@pytest.fixture(scope="module")
def inputs(tiny_documents: list[Document]) -> list[Any]:
    """Texts, empty ones, and documents with mentions, candidates and entities that the knowledge base lacks."""
    texts = [document.text for document in tiny_documents]
    given = Document(
        texts[0], id="given", mentions=[(0, 9), (10, 13)], candidates={(0, 9): [Candidate("New_One", 0.5)]}
    )
    return [*texts, "", given, {"text": texts[1], "id": 7}, " "] * 2


def whose(numbers: list[int]) -> tuple[int, list[int]]:
    """Where a batch was worked on, and the batch; numbers below 0 are no numbers."""
    if min(numbers) < 0:
        raise DocumentError(f"inputs[{numbers}]: below 0")
    return os.getpid(), numbers


class Unsendable(Exception):
    """One that cannot be made from what it holds."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one}, {two}")


def fail(batch: Any) -> Any:
    raise Unsendable("bad", str(batch))


def die(batch: Any) -> Any:
    os._exit(3)


# The function ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order_from_as_many_processes_as_asked(workers: int) -> None:
    batches = [[number, number + 1] for number in range(12)]
    found = list(preprocessed(batches, whose, workers))
    assert [batch for _, batch in found] == batches
    processes = {process for process, _ in found}
    assert (processes == {os.getpid()}) if workers == 0 else (os.getpid() not in processes)
    assert len(processes) == max(workers, 1)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_an_endless_source_is_read_a_few_batches_ahead(workers: int) -> None:
    read = 0

    def endless() -> Iterator[list[int]]:
        nonlocal read
        for number in itertools.count():
            read += 1
            yield [number]

    found = preprocessed(endless(), whose, workers)
    assert read == 0, "nothing before it is asked for"
    for number in range(6):
        assert next(found)[1] == [number]
        assert number < read <= number + 1 + 2 * workers
    found.close()
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_come_after_the_results_before_them_and_leave_no_process(workers: int) -> None:
    def broken() -> Iterator[list[int]]:
        yield from ([0], [1])
        raise OSError("the disk is gone")

    for batches, error, message in (
        ([[0], [1], [-5], [2]], DocumentError, r"^inputs\[\[-5\]\]: below 0$"),
        (broken(), OSError, "^the disk is gone$"),
    ):
        found = preprocessed(batches, whose, workers)
        assert [next(found)[1], next(found)[1]] == [[0], [1]]
        with pytest.raises(error, match=message) as caught:
            next(found)
        assert list(found) == []
        assert multiprocessing.active_children() == [], "though the error, and with it the frame, is kept"
        if workers and error is DocumentError:
            assert "in whose" in str(caught.value.__cause__), "where in the worker"


def test_an_error_that_cannot_be_sent_says_the_same() -> None:
    with pytest.raises(RuntimeError, match=r"^Unsendable: bad, \[1\]$"):
        list(preprocessed([[1]], fail, 1))


def test_a_worker_that_is_killed_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="worker"):
        list(preprocessed([[1]], die, 1))


def test_the_draws_of_the_caller_stay_what_they_were() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    list(preprocessed([[1], [2]], whose, 1))
    assert torch.equal(torch.rand(3), expected)


def _in_worker(number: int) -> str:
    try:
        list(preprocessed([[number]], whose, 1))
    except RuntimeError as error:
        return str(error)
    return "no error"


@needs_fork
def test_a_worker_of_a_pool_is_told_what_to_give() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        said = pool.map_async(_in_worker, [1]).get(60)
    assert said == ["num_workers=1: this process is a worker itself and may start none; give num_workers=0 here"]


# The pipeline ---------------------------------------------------------------------------------------------


@needs_fork
@pytest.mark.parametrize("parameters", [{}, {"evidence": True, "top_k": 3, "resolved_text": True}], ids=str)
def test_results_are_the_same(annotate: CorefELPipeline, inputs: list[Any], parameters: dict[str, Any]) -> None:
    expected = annotate(inputs, batch_size=2, **parameters)
    assert sum(len(result["clusters"]) for result in expected) > 5
    assert annotate(inputs, batch_size=2, num_workers=2, **parameters) == expected
    stream = annotate(iter(inputs), batch_size=2, num_workers=1, **parameters)
    assert inspect.isgenerator(stream) and list(stream) == expected
    documents = annotate.annotate(inputs, batch_size=2, num_workers=2, **parameters)
    assert documents == annotate.annotate(inputs, batch_size=2, **parameters)
    assert annotate.model is not None and annotate(inputs, batch_size=2, **parameters) == expected


@needs_fork
def test_a_dataset_of_torch_keeps_its_length(annotate: CorefELPipeline, tiny_documents: list[Document]) -> None:
    class Texts(Dataset[str]):
        def __len__(self) -> int:
            return len(tiny_documents)

        def __getitem__(self, index: int) -> str:
            return tiny_documents[index].text

    found = annotate(Texts(), num_workers=1)
    assert isinstance(found, LazyResults) and len(found) == len(tiny_documents)
    assert list(found) == list(found) == annotate([document.text for document in tiny_documents])


@needs_fork
def test_the_number_holds_for_all_calls_unless_a_call_says_otherwise(
    tiny_folder: Path, tiny_documents: list[Document]
) -> None:
    texts = [document.text for document in tiny_documents]
    seen: list[int] = []

    class Watched(CorefELPipeline):
        def preprocess(self, input_: list[Document], **parameters: Any) -> dict[str, Any]:
            return {**super().preprocess(input_, **parameters), "process": os.getpid()}

        def forward(self, model_inputs: dict[str, Any], **parameters: Any) -> Any:
            seen.append(model_inputs["process"])
            return super().forward(model_inputs, **parameters)

    made = load_pipeline(tiny_folder)
    pipe = Watched(made.model, made.processor, task="coref-el", num_workers=2)
    for call, elsewhere in (
        (lambda: pipe(texts), True),
        (lambda: pipe(texts, num_workers=None), True),
        (lambda: pipe(texts, num_workers=0), False),
        # The model would wait for it.
        (lambda: pipe(texts[0]), False),
        (lambda: pipe(texts, batch_size=9), False),
    ):
        seen.clear()
        call()
        assert seen and all((process != os.getpid()) == elsewhere for process in seen)
    through = pipeline("coref-el", model=str(tiny_folder), num_workers=1)
    assert through(texts) == made(texts)


@needs_fork
def test_a_wrong_document_is_named_as_without_workers(
    annotate: CorefELPipeline, tiny_documents: list[Document]
) -> None:
    good = [document.text for document in tiny_documents]
    wrong: list[tuple[list[Any], dict[str, Any]]] = [
        ([*good, Document("Oslo " * 40, id="long")], {"max_document_words": 30}),
        ([*good, Document("Oslo", id="all", mention_scope="all")], {}),
        ([*good, {"id": "empty"}], {}),
        ([*good, None], {}),
    ]
    for documents, parameters in wrong:
        said = []
        for workers in (0, 2):
            stream = annotate(iter(documents), num_workers=workers, **parameters)
            assert [next(stream)["text"] for _ in good] == good
            with pytest.raises(DocumentError) as caught:
                next(stream)
            said.append(str(caught.value))
            with pytest.raises(DocumentError):
                annotate(documents, num_workers=workers, **parameters)
        assert said[0] == said[1]


@needs_fork
def test_other_columns_are_named_once_at_the_line_of_the_caller(annotate: CorefELPipeline) -> None:
    rows = [{"text": f"Oslo {number}", "label": 1} for number in range(4)]
    with pytest.warns(ExtraFieldWarning, match="'label'$") as caught:
        list(annotate(iter(rows), num_workers=1))
    assert [warning.filename for warning in caught] == [__file__]


@needs_fork
def test_threads_may_each_have_workers(annotate: CorefELPipeline, inputs: list[Any]) -> None:
    expected, found = annotate(inputs, batch_size=2), []
    threads = [
        threading.Thread(target=lambda: found.append(annotate(inputs, batch_size=2, num_workers=1)), daemon=True)
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == [expected] * 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "expected a whole number from 0, got -1"),
        (1.5, "expected a whole number from 0, got 1.5"),
        (True, "expected a whole number from 0, got True"),
        ("2", "expected a whole number from 0, got '2'"),
    ],
)
def test_wrong_numbers_are_refused_before_anything_is_read(
    annotate: CorefELPipeline, tiny_folder: Path, value: Any, message: str
) -> None:
    unread = iter(["Oslo"])
    calls: list[Callable[[], Any]] = [
        lambda: annotate(unread, num_workers=value),
        lambda: annotate("Oslo", num_workers=value),
        lambda: annotate.annotate(unread, num_workers=value),
        lambda: load_pipeline(tiny_folder, num_workers=value),
        lambda: pipeline("coref-el", model=annotate.model, processor=annotate.processor, num_workers=value),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert str(caught.value) == f"num_workers: {message}"
    assert list(unread) == ["Oslo"]
    with pytest.raises((TypeError, ValueError), match=r"^batch_size: expected a whole number from 1, got 0$"):
        load_pipeline(tiny_folder, batch_size=0)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_start_as_processes_do(method: str, tiny_folder: Path, tiny_documents: list[Document]) -> None:
    """Also after the model has run on torch's threads; and they know the entities of now."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    annotate = load_pipeline(tiny_folder)
    texts = [document.text for document in tiny_documents]
    before, threads = multiprocessing.get_start_method(), torch.get_num_threads()
    multiprocessing.set_start_method(method, force=True)
    torch.set_num_threads(4)
    try:
        assert "Anna_Berg_(new)" not in str(annotate(texts, top_k=9))
        annotate.processor.knowledge_base.add("Anna_Berg_(new)", ["Anna Berg"], prior=1.0)
        expected = annotate(texts, top_k=9)
        assert "Anna_Berg_(new)" in str(expected)
        assert annotate(texts, top_k=9, num_workers=1) == expected
    finally:
        multiprocessing.set_start_method(before, force=True)
        torch.set_num_threads(threads)


def test_what_is_sent_to_a_spawned_worker_has_no_model(annotate: CorefELPipeline) -> None:
    weights = sum(value.nbytes for value in annotate.model.state_dict().values())
    sent = pickle.dumps(annotate._preparation({"max_kept_spans": 3}, 1))
    assert len(sent) < weights / 2
    assert pickle.loads(sent).func.__self__.model is None
