"""Batches of documents, preprocessed in other processes while the model reads the one before."""

from __future__ import annotations

import multiprocessing
import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader

__all__ = ["preprocessed"]

# Batches that wait for each worker: one that it works on and one that is ready when it is done.
_AHEAD = 2


def preprocessed(
    batches: Iterable[Sequence[Any]],
    preprocess: Callable[[Sequence[Any]], Any],
    num_workers: int,
    locate: Callable[[Exception, int], Exception] | None = None,
) -> Iterator[Any]:
    """Yield what a function makes of each batch, in their order; of one that fails, of the items before the bad one.

    The batches are read in this process, one at a time and 2 × `num_workers` ahead of the one that is yielded, so that
    they may come from a generator that has no end. Workers are started when the first result is asked for, and end
    with the last one or when the generator is closed. They are started as `multiprocessing` starts processes: forked,
    or, where that is the start method, spawned with a pickle of the function.

    Args:
        batches: The batches. Where reading them fails, the results of all before come first.
        preprocess: The function. What it raises of an item is raised here, after the results of all items before.
        num_workers: Processes; 0 calls the function in this one when a result is asked for.
        locate: Makes the error that is raised, of what an item raised and its number among those of all batches.

    Raises:
        RuntimeError: When this process is a worker of a pool, which may start no processes, or a worker was killed.
    """
    done = 0
    if num_workers == 0:
        for batch in batches:
            result, failure = _up_to_failure(preprocess, batch)
            if result is not None:
                yield result
            if failure is not None:
                number, error = failure
                raise error if locate is None else locate(error, done + number) from error
            done += len(batch)
        return
    if multiprocessing.current_process().daemon:
        raise RuntimeError(
            f"num_workers={num_workers}: this process is a worker itself and may start none; give num_workers=0 here"
        )
    source = _Source(batches)
    work: Any = _InWorker(preprocess)
    loader: DataLoader[bytes] = DataLoader(
        work,
        # What the sampler says goes to a worker as it is: there are no indices here but the batches themselves.
        sampler=source,
        batch_size=None,
        num_workers=num_workers,
        prefetch_factor=_AHEAD,
        collate_fn=_unchanged,
        # The loader draws a seed, which must not come from the generator that the caller's own draws come from.
        generator=torch.Generator(),
    )
    arriving = iter(loader)
    try:
        for data in arriving:
            result, count, error, place = pickle.loads(data)
            if result is not None:
                yield result
            done += count
            if error is not None:
                raise error if locate is None else locate(error, done) from RuntimeError(f"in a worker:\n{place}")
    finally:
        # Ends the workers, also where a traceback keeps this frame.
        del arriving
    if source.failure is not None:
        raise source.failure


class _Source:
    """The batches; an error among them ends them, and is kept for those who have the results of all before."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = batches
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._batches
        except Exception as error:  # noqa: BLE001
            self.failure = error


class _InWorker:
    """Calls the function in a worker. What it gives or raises travels as bytes.

    Tensors would go through shared memory, of which containers have little, and open a file each.
    """

    def __init__(self, preprocess: Callable[[Sequence[Any]], Any]) -> None:
        self._preprocess = preprocess

    def __getitem__(self, batch: Sequence[Any]) -> bytes:
        try:
            result, failure = _up_to_failure(self._preprocess, batch)
            if failure is None:
                return pickle.dumps((result, len(batch), None, None))
            number, error = failure
            return pickle.dumps((result, number, _portable(error), "".join(traceback.format_exception(error))))
        except Exception as error:  # noqa: BLE001
            return pickle.dumps((None, 0, _portable(error), traceback.format_exc()))


def _up_to_failure(
    preprocess: Callable[[Sequence[Any]], Any], batch: Sequence[Any]
) -> tuple[Any, tuple[int, Exception] | None]:
    """What the function makes of a batch, or of the items before the first that it fails at, which is told of."""
    try:
        return preprocess(batch), None
    except Exception as error:
        for number, item in enumerate(batch):
            try:
                preprocess([item])
            except Exception as its_own:  # noqa: BLE001
                return (preprocess(batch[:number]) if number else None), (number, its_own)
        # Each by itself is well: it is the batch that is at fault, such as its size.
        raise error


def _portable(error: Exception) -> Exception:
    """The error, or one that says the same where it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _unchanged(data: Any) -> Any:
    return data
