"""Probabilities that mean what they say: how far they are off on annotated documents, and what puts them right."""

from __future__ import annotations

from .fitting import fit_calibration
from .measuring import annotate_read, calibrated, measure
from .picture import reliability_picture
from .reading import ReadDocument, read_documents
from .report import CalibrationReport, calibrate_corpora

__all__ = [
    "CalibrationReport",
    "ReadDocument",
    "annotate_read",
    "calibrate_corpora",
    "calibrated",
    "fit_calibration",
    "measure",
    "read_documents",
    "reliability_picture",
]
