"""Checks of values that come from a file: what is wrong is named with the file and the array."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from .errors import KnowledgeBaseError

__all__ = ["check_finite", "check_ids", "check_offsets", "check_priors", "check_slices", "refuse"]


def refuse(file: str, array: str, what: str) -> NoReturn:
    """Raise KnowledgeBaseError about an array of a file."""
    raise KnowledgeBaseError(f"{file}: array {array!r}: {what}; the file is damaged, build or fetch it again")


def check_slices(begins: np.ndarray, ends: np.ndarray, size: int, file: str, array: str = "offsets") -> None:
    """Raise KnowledgeBaseError unless each begin..end, int64 [M], lies in 0..`size` and goes forward."""
    bad = (begins < 0) | (ends < begins) | (ends > size)
    if bad.any():
        first = int(np.argmax(bad))
        refuse(file, array, f"{begins[first]}..{ends[first]} is no part of 0..{size}")


def check_offsets(offsets: np.ndarray, size: int, file: str) -> None:
    """Raise KnowledgeBaseError unless offsets [R+1] ascend from 0 to `size`."""
    if len(offsets) and (offsets[0] != 0 or offsets[-1] != size or (offsets[1:] < offsets[:-1]).any()):
        refuse(file, "offsets", f"they do not ascend from 0 to {size}")


def check_ids(ids: np.ndarray, least: int, count: int, file: str, array: str) -> None:
    """Raise KnowledgeBaseError unless every number is from `least` to `count` - 1."""
    if ids.size:
        for value in (int(ids.min()), int(ids.max())):
            if not least <= value < count:
                refuse(file, array, f"{value} is outside {least}..{count - 1}")


def check_priors(priors: np.ndarray, file: str) -> None:
    """Raise KnowledgeBaseError unless every prior is a number from 0 to 1."""
    good = (priors >= 0) & (priors <= 1)
    if not good.all():
        refuse(file, "priors", f"{priors[int(np.argmin(good))]} is no number from 0 to 1")


def check_finite(values: np.ndarray, file: str, array: str, *, least: float = -np.inf) -> None:
    """Raise KnowledgeBaseError unless every value is finite and at least `least`."""
    if values.dtype.kind == "f":
        good = np.isfinite(values) & (values >= least)
        if not good.all():
            refuse(file, array, f"it holds {values.ravel()[int(np.argmin(good))]}")
