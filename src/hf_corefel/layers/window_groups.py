"""Which windows an encoder reads together, so that little of what it reads is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["grouped"]

# Subwords that a call takes at most, if it takes several windows: what it computes then stays in a processor's cache.
_MOST = 1024
# Subwords of padding that a call may have: to read them costs about as much as a call more.
_PADDING = 64


def grouped(lengths: Sequence[int], *, padded: bool = True) -> Iterator[list[int]]:
    """Yield numbers of windows that are read together, the longest first, each group's longest first.

    Args:
        lengths: Subwords of each window.
        padded: Whether windows of different lengths may go together.

    Example:
        >>> list(grouped([30, 400, 32, 380]))
        [[1, 3], [2, 0]]
    """
    group: list[int] = []
    padding = 0
    for window in sorted(range(len(lengths)), key=lambda window: -lengths[window]):
        if group:
            longest = lengths[group[0]]
            padding += longest - lengths[window]
            if padding > (_PADDING if padded else 0) or (padded and longest * (len(group) + 1) > _MOST):
                yield group
                group, padding = [], 0
        group.append(window)
    if group:
        yield group
