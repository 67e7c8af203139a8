"""How many spans are retained: the ratio, its bounds, and long documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hf_corefel.configuration.reading_settings import ReadingSettings
from hf_corefel.processing.retention import Retention, choose_retention

SETTINGS = replace(
    ReadingSettings(), span_keep_ratio=0.25, min_kept_spans=4, max_kept_spans=10, max_partners=3
)  # 41 words want 11


@pytest.mark.parametrize(
    ("words", "spans", "asked", "limit", "partners", "warned"),
    [
        (2, 50, {}, 4, 0, ""),
        (38, 50, {}, 10, 0, ""),
        (41, 50, {}, 10, 0, "only the best 10 spans of this long document were kept instead of 11"),
        (41, 50, {"whole": True}, 11, 3, "each of the 11 spans of this long document was scored with 3 others"),
        (41, 12, {"whole": True, "bound": 6}, 6, 0, "only the best 6 spans of this long document were kept instead"),
        # There are no more spans than may stay, so none is dropped.
        (41, 10, {"whole": True}, 10, 0, ""),
        (41, 0, {}, 10, 0, ""),
        (2, 3, {"bound": 3}, 3, 0, ""),
        (2, 3, {"bound": 2}, 2, 0, "only the best 2 spans of this long document were kept instead of 3"),
        (0, 0, {"bound": 2}, 2, 0, ""),
        (41, 50, {"whole": True, "bound": 6}, 6, 0, "only the best 6 spans of this long document were kept"),
        (41, 50, {"bound": 20}, 11, 0, ""),
        (2, 12, {"given": True}, 4, 0, ""),
        (41, 12, {"given": True}, 10, 0, ""),
        (2, 12, {"given": True, "whole": True}, 4, 3, "each of the 12 spans"),
    ],
)
def test_retention(words: int, spans: int, asked: dict[str, Any], limit: int, partners: int, warned: str) -> None:
    options: dict[str, Any] = {"given": False, "bound": None, "whole": False, **asked}
    found = choose_retention(SETTINGS, words, spans, **options)
    assert found[:2] == (limit, partners)
    assert len(found.warnings) == bool(warned) and all(text.startswith(warned) for text in found.warnings)


def test_no_partners_no_long_documents() -> None:
    found = choose_retention(replace(SETTINGS, max_partners=0), 41, 50, given=False, bound=None, whole=True)
    assert isinstance(found, Retention) and found[:2] == (10, 0)
