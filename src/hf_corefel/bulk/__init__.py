"""Many documents: a job on one machine that survives being stopped, and the same function for other engines.

Imports nothing heavy.
"""

from __future__ import annotations

from .annotator import Annotator, BulkError, Failure
from .engines import ColumnAnnotator, annotate_frames
from .job import BulkReport, annotate_many
from .progress import JobProgress
from .unpacking import UnreadableInputError

__all__ = [
    "Annotator",
    "BulkError",
    "BulkReport",
    "ColumnAnnotator",
    "Failure",
    "JobProgress",
    "UnreadableInputError",
    "annotate_frames",
    "annotate_many",
]
