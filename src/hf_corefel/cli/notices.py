"""What the results of a run warn of, on standard error: a few lines a document, and a line for all of them."""

from __future__ import annotations

import sys
from collections import Counter

from ..documents import AnnotatedDocument
from ..formats.wording import first_warnings
from .messages import complain, on_terminal

__all__ = ["WarningNotices", "seen_together"]

# Of a document, and of a run: the others are counted, and stand in the results themselves.
_MOST_LINES = 3
_MOST_DOCUMENTS = 20
# The fields of the pipeline that a warning may name, which are options of the command.
_OPTIONS = {"max_kept_spans": "--max-kept-spans", "min_probability": "--min-probability"}


def seen_together() -> bool:
    """Whether standard output and standard error are one terminal: what both say would be read twice."""
    return on_terminal() and sys.stderr is not None and sys.stderr.isatty()


class WarningNotices:
    """Says what was dropped or changed, whatever the format of the results.

    Args:
        quiet: Says nothing.
        shown: Whether the results themselves show each warning to whoever reads standard error.
    """

    def __init__(self, *, quiet: bool, shown: bool) -> None:
        self._quiet, self._shown = quiet, shown
        self._documents = self._warned = self._warnings = self._unsaid = 0
        self._options: Counter[str] = Counter()

    def take(self, document: AnnotatedDocument) -> None:
        """Say what a document warns of, and count it."""
        self._documents += 1
        if not document.warnings:
            return
        self._warned += 1
        self._warnings += len(document.warnings)
        self._options.update(
            option for warning in document.warnings for name, option in _OPTIONS.items() if name in warning
        )
        said, more = first_warnings(document.warnings, _MOST_LINES)
        if self._warned > _MOST_DOCUMENTS:
            said, more = [], len(document.warnings)
        self._unsaid += more
        if not self._quiet and not self._shown:
            for warning in said:
                complain(f"{document.id}: warning: {warning}")

    def finish(self) -> None:
        """Say how many there were, unless that has been seen already."""
        if self._quiet or not (self._unsaid or self._warned > 1):
            return
        about = "".join(f", {number:,} of them about {option}" for option, number in self._options.most_common())
        complain(
            f"warning: {self._warned:,} of {self._documents:,} documents came with {self._warnings:,} warnings{about}; "
            "--format json or html shows each"
        )
