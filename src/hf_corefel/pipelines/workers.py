"""Batches of documents, preprocessed in other processes while the model reads the one before."""

from __future__ import annotations

import multiprocessing
import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

__all__ = ["preprocessed"]

# Batches that wait for each worker: one that it works on and one that is ready when it is done.
_AHEAD = 2


def preprocessed(batches: Iterable[Any], preprocess: Callable[[Any], Any], num_workers: int) -> Iterator[Any]:
    """Yield what a function makes of each batch, in their order.

    The batches are read in this process, one at a time and 2 × `num_workers` ahead of the one that is yielded, so that
    they may come from a generator that has no end. Workers are started when the first result is asked for, and end
    with the last one or when the generator is closed. They are started as `multiprocessing` starts processes: forked,
    or, where that is the start method, spawned with a pickle of the function.

    Args:
        batches: The batches. Where reading them fails, the results of all before come first.
        preprocess: The function. What it raises is raised here, after the results of the batches before.
        num_workers: Processes; 0 calls the function in this one when a result is asked for.

    Raises:
        RuntimeError: When this process is a worker of a pool, which may start no processes, or a worker was killed.
    """
    if num_workers == 0:
        yield from map(preprocess, batches)
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
            result, error, place = pickle.loads(data)
            if error is not None:
                raise error from RuntimeError(f"in a worker:\n{place}")
            yield result
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

    def __init__(self, preprocess: Callable[[Any], Any]) -> None:
        self._preprocess = preprocess

    def __getitem__(self, batch: Any) -> bytes:
        try:
            return pickle.dumps((self._preprocess(batch), None, None))
        except Exception as error:  # noqa: BLE001
            return pickle.dumps((None, _portable(error), traceback.format_exc()))


def _portable(error: Exception) -> Exception:
    """The error, or one that says the same where it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _unchanged(data: Any) -> Any:
    return data
