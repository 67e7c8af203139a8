"""What is read together, in which order, and what becomes of what fails, is withdrawn, or comes too late."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hf_corefel import AnnotatedDocument, Document
from hf_corefel.serving import ServingLimits
from hf_corefel.serving.batching import Batcher, QueueFullError, StoppingError
from hf_corefel.serving.counters import Counters
from running_services import StandIn, wait_until


@pytest.fixture
def start(stand_in: StandIn) -> Iterator[Callable[..., Batcher]]:
    made: list[Batcher] = []

    def begin(**limits: Any) -> Batcher:
        batcher = Batcher(stand_in.annotate, ServingLimits(**limits), Counters())
        made.append(batcher)
        batcher.start()
        return batcher

    yield begin
    stand_in.release()
    for batcher in made:
        batcher.stop()
        assert not batcher.is_alive


def documents(*texts: str) -> list[Document]:
    return [Document(text) for text in texts]


def hold_with(batcher: Batcher, stand_in: StandIn, text: str = "first") -> Any:
    """The model reads one document, and does not come to its end before it is let go."""
    stand_in.hold()
    (job,) = batcher.submit(documents(text))
    wait_until(lambda: stand_in.batches)
    return job


def texts_of(stand_in: StandIn) -> list[list[str]]:
    return [texts for texts, _ in stand_in.batches]


def test_what_waits_is_read_together_in_its_order(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(batch_size=3)
    hold_with(batcher, stand_in)
    jobs = batcher.submit(documents("a", "b")) + batcher.submit(documents("c")) + batcher.submit(documents("d"))
    stand_in.release()
    assert [job.result(60).text for job in jobs] == ["a", "b", "c", "d"]
    assert texts_of(stand_in) == [["first"], ["a", "b", "c"], ["d"]]


def test_an_idle_model_waits_for_company_but_no_longer_than_until_a_batch_is_full(
    start: Callable[..., Batcher], stand_in: StandIn
) -> None:
    batcher = start(batch_size=3, batch_wait=3600.0)
    jobs = batcher.submit(documents("a"))
    jobs += batcher.submit(documents("b", "c"))
    assert [job.result(60).text for job in jobs] == ["a", "b", "c"]
    assert texts_of(stand_in) == [["a", "b", "c"]]


def test_other_parameters_are_another_batch(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(batch_size=8)
    hold_with(batcher, stand_in)
    for text, parameters in (("a", {}), ("b", {"top_k": 1}), ("c", {}), ("d", {"top_k": 1}), ("e", {"top_k": 2})):
        last = batcher.submit(documents(text), parameters)
    stand_in.release()
    last[0].result(60)
    assert stand_in.batches[1:] == [(["a", "c"], {}), (["b", "d"], {"top_k": 1}), (["e"], {"top_k": 2})]


def test_a_long_document_holds_up_no_short_ones(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(batch_size=8)
    hold_with(batcher, stand_in)
    long = "x" * 30_000
    jobs = batcher.submit(documents("a", "b", long, "c", "d"))
    stand_in.release()
    assert [job.result(60).text for job in jobs] == ["a", "b", long, "c", "d"]
    assert texts_of(stand_in) == [["first"], ["a", "b"], [long], ["c", "d"]]


def test_one_that_fails_costs_no_other(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(batch_size=4)
    hold_with(batcher, stand_in)
    jobs = batcher.submit(documents("a", "raise ValueError", "b", "raise KeyError"))
    stand_in.release()
    assert [job.exception(60) is None for job in jobs] == [True, False, True, False]
    with pytest.raises(ValueError, match="no: raise ValueError"):
        jobs[1].result()
    assert batcher.submit(documents("after"))[0].result(60).text == "after"


def test_a_pipeline_that_loses_results_is_an_error_and_not_the_end() -> None:
    def lossy(inputs: list[Document], batch_size: int) -> list[AnnotatedDocument]:
        return [AnnotatedDocument(document.text, []) for document in inputs if document.text != "lost"]

    batcher = Batcher(lossy, ServingLimits(), Counters())
    batcher.start()
    jobs = batcher.submit(documents("a", "lost", "b"))
    assert [job.exception(60) is None for job in jobs] == [True, False, True]
    assert [jobs[i].result().text for i in (0, 2)] == ["a", "b"]
    batcher.stop()


def test_a_full_queue_takes_all_of_a_request_or_nothing(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(max_queue=3, batch_size=2)
    hold_with(batcher, stand_in)
    waiting = batcher.submit(documents("a", "b"))
    with pytest.raises(QueueFullError):
        batcher.submit(documents("c", "d"))
    waiting += batcher.submit(documents("e"))
    with pytest.raises(QueueFullError):
        batcher.submit(documents("f"))
    # What is withdrawn makes room, and is never read.
    assert waiting[0].cancel() and waiting[1].cancel()
    waiting += batcher.submit(documents("g", "h"))
    stand_in.release()
    assert [job.result(60).text for job in waiting[2:]] == ["e", "g", "h"]
    assert texts_of(stand_in) == [["first"], ["e", "g"], ["h"]]


def test_a_batch_of_which_all_are_withdrawn_is_not_read(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(batch_size=2)
    hold_with(batcher, stand_in)
    jobs = batcher.submit(documents("a", "b", "c"))
    assert jobs[0].cancel() and jobs[1].cancel()
    stand_in.release()
    assert jobs[2].result(60).text == "c"
    assert texts_of(stand_in) == [["first"], ["c"]]


def test_stopping_answers_what_waits_and_takes_on_no_more(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(batch_size=1, batch_wait=0.0)
    first = hold_with(batcher, stand_in)
    jobs = [first, *batcher.submit(documents("a", "b"))]
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(batcher.stop)
        wait_until(lambda: not batcher.is_alive)
        with pytest.raises(StoppingError):
            batcher.submit(documents("c"))
        stand_in.release()
        stopping.result(60)
    assert [job.result(0).text for job in jobs] == ["first", "a", "b"]


def test_each_of_many_clients_gets_its_own(start: Callable[..., Batcher], stand_in: StandIn) -> None:
    batcher = start(batch_size=4, batch_wait=0.001, max_queue=1_000)

    def client(number: int) -> int:
        draw, asked = random.Random(number), 0
        for turn in range(30):
            texts = [f"{number} {turn} {i}" for i in range(draw.randint(0, 6))]
            jobs = batcher.submit(documents(*texts), {"top_k": draw.randint(0, 2)})
            assert [job.result(60).warnings for job in jobs] == [[f"seen {text}"] for text in texts]
            asked += len(texts)
        return asked

    with ThreadPoolExecutor(8) as pool:
        asked = sum(pool.map(client, range(8)))
    read = [text for texts in texts_of(stand_in) for text in texts]
    assert len(read) == len(set(read)) == asked
    assert max(map(len, texts_of(stand_in))) <= 4


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_queue": 0}, "max_queue: expected a whole number from 1, got 0"),
        ({"batch_size": True}, "batch_size: expected a whole number"),
        ({"max_characters": 1.5}, "max_characters: expected a whole number"),
        ({"timeout": 0}, "timeout: expected a number of seconds, more than 0, got 0"),
        ({"timeout": float("nan")}, "timeout: expected"),
        ({"batch_wait": -1}, "batch_wait: expected a number of seconds, 0 or more, got -1"),
        ({"batch_wait": "1"}, "batch_wait: expected"),
    ],
)
def test_limits_that_are_none_are_refused_by_name(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ServingLimits(**limits)


def test_it_begins_by_itself_and_again_after_it_was_stopped(stand_in: StandIn) -> None:
    batcher = Batcher(stand_in.annotate, ServingLimits(), Counters())
    assert batcher.is_alive
    for text in ("a", "b"):
        (job,) = batcher.submit(documents(text))
        assert job.result(60).text == text
        batcher.stop()
        assert not batcher.is_alive
        with pytest.raises(StoppingError):
            batcher.submit(documents(text))
        batcher.start()
    batcher.stop()
