"""What a surface falls back on when the table does not have it: surfaces that differ from it in form only."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import marisa_trie
import numpy as np

from .checking import check_ids, check_offsets, refuse
from .errors import KnowledgeBaseError
from .normal_form import folded_form, normal_form
from .storage import find_keys, offsets_of

__all__ = [
    "FALLBACK_DISCOUNT",
    "Fallback",
    "FallbackIndex",
    "build_fallback_index",
    "check_fallback",
    "fold",
    "fold_all",
]

Fallback = Literal["none", "casefold", "normalized"]
# What the priors of a surface are worth that only looks like the one asked for: it is a weaker key.
FALLBACK_DISCOUNT = 0.5

# After a word only: a surface that is nothing but an apostrophe stays what it is.
_POSSESSIVE = re.compile(r"(?<=\w)(?:'s|(?<=s)')$")


def check_fallback(fallback: object, where: str = "fallback") -> Fallback:
    """Returns the name of a fallback.

    Raises:
        KnowledgeBaseError: When it is none.
    """
    for known in get_args(Fallback):
        if fallback == known:
            return known
    raise KnowledgeBaseError(f"{where}: expected one of {', '.join(get_args(Fallback))}, got {fallback!r}")


def fold(surface: str, fallback: Fallback) -> str:
    """Return the form that surfaces share which a fallback takes for the same.

    ``casefold`` is the normal form without letter case. ``normalized`` also leaves out diacritics and a possessive at
    the end: ``BEYONCÉ’s`` becomes ``beyonce``.
    """
    if fallback == "none":
        return normal_form(surface)
    folded = folded_form(surface)
    if fallback == "casefold":
        return folded
    if not folded.isascii():
        marked = unicodedata.normalize("NFKD", folded)
        folded = unicodedata.normalize("NFC", "".join(c for c in marked if unicodedata.category(c) != "Mn"))
    return _POSSESSIVE.sub("", normal_form(folded))


def fold_all(surfaces: Sequence[str], fallback: Fallback) -> list[str]:
    """Return what `fold` gives for many surfaces in normal form, quickly where lower case is all that they need."""
    if fallback == "none":
        return list(surfaces)
    endings = ("'s", "'", "'S") if fallback == "normalized" else ()
    return [
        surface.lower() if surface.isascii() and not surface.endswith(endings) else fold(surface, fallback)
        for surface in surfaces
    ]


@dataclass(frozen=True, slots=True)
class FallbackIndex:
    """Which surfaces of a table have a folded form.

    Attributes:
        fallback: How surfaces are folded.
        keys: A `marisa_trie.Trie` that numbers the F folded forms.
        offsets: uint32 or uint64 [F+1], where the surfaces of a form begin and end.
        rows: uint32, the numbers of the surfaces in their table, ascending within a form.
        num_surfaces: A, above all those numbers.
        file: Where the arrays come from, for messages.
    """

    fallback: Fallback
    keys: Any
    offsets: np.ndarray
    rows: np.ndarray
    num_surfaces: int
    file: str = "fallback.safetensors"

    def find(self, keys: Sequence[str]) -> np.ndarray:
        """Return the numbers int64 [M] of M folded forms, for `rows_of`; -1 = no surface has it."""
        return find_keys(self.keys, keys)

    def rows_of(self, number: int) -> list[int]:
        """Return the surfaces of a folded form, as their numbers; none for the form -1.

        Raises:
            KnowledgeBaseError: When they cannot be right: the file is damaged.
        """
        if number < 0:
            return []
        # In Python's numbers: forms are asked for one by one, where numpy's checks take longer than all the rest.
        begin, end = int(self.offsets[number]), int(self.offsets[number + 1])
        if not begin <= end <= len(self.rows):
            refuse(self.file, "offsets", f"{begin}..{end} is no part of 0..{len(self.rows)}")
        rows: list[int] = self.rows[begin:end].tolist()
        if rows and max(rows) >= self.num_surfaces:
            refuse(self.file, "rows", f"{max(rows)} is outside 0..{self.num_surfaces - 1}")
        return rows

    def check(self) -> None:
        """Read it all.

        Raises:
            KnowledgeBaseError: When a value cannot be right: the file is damaged.
        """
        check_offsets(self.offsets, len(self.rows), self.file)
        check_ids(self.rows, 0, self.num_surfaces, self.file, "rows")

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays by the names that they have in a file."""
        yield "offsets", self.offsets
        yield "rows", self.rows


def build_fallback_index(surfaces: Any, fallback: Fallback) -> FallbackIndex:
    """Groups the surfaces of a table by their folded forms.

    Args:
        surfaces: The `marisa_trie.Trie` that numbers the A surfaces.
        fallback: How to fold them. "none" is for tables of before normal forms: it groups only those surfaces that
            are not in normal form.
    """
    folded = [fold(surface, fallback) for surface in map(surfaces.restore_key, range(len(surfaces)))]
    if fallback == "none":
        folded = ["" if form == surfaces.restore_key(row) else form for row, form in enumerate(folded)]
    # Trie() would take an empty form for a key; no surface should fall back on it.
    keys = marisa_trie.Trie(form for form in folded if form)
    get = keys.get
    numbers = np.fromiter((get(form, -1) if form else -1 for form in folded), dtype=np.int64, count=len(folded))
    rows = np.argsort(numbers, kind="stable")
    rows = rows[np.count_nonzero(numbers < 0) :]
    lengths = np.bincount(numbers[rows], minlength=len(keys))
    return FallbackIndex(fallback, keys, offsets_of(lengths), rows.astype(np.uint32), len(surfaces))
