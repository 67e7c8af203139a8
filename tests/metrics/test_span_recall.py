from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.metrics import SpanRecall, bootstrap_interval, span_recall

GOLD = [(0, 4), (6, 14), (16, 20), (28, 34)]
ENUMERATED = [(0, 4), (0, 5), (6, 14), (16, 20), (21, 26)]
KEPT = [(0, 4), (0, 5), (21, 26)]


def test_counts_and_scores() -> None:
    recall = span_recall(GOLD, ENUMERATED, KEPT)
    assert recall == SpanRecall(4.0, 3.0, 1.0)
    assert (recall.after_enumeration, recall.after_pruning) == (0.75, 0.25)
    assert recall.to_dict() == {"enumerated_span_recall": 0.75, "kept_span_recall": 0.25, "gold_spans": 4.0}


def test_arrays_and_lists_are_taken_and_repeated_spans_count_once() -> None:
    arrays = [np.array(spans, dtype=np.int32) for spans in (GOLD, ENUMERATED, KEPT)]
    lists = [[list(span) for span in spans] * 2 for spans in (GOLD, ENUMERATED, KEPT)]
    assert span_recall(*arrays) == span_recall(*lists) == SpanRecall(4.0, 3.0, 1.0)
    assert span_recall(np.zeros((0, 2), dtype=np.int64), arrays[1], arrays[2]) == SpanRecall()


def test_empty_sides() -> None:
    assert span_recall(GOLD, [], []) == SpanRecall(4.0, 0.0, 0.0)
    assert span_recall(GOLD, ENUMERATED, []) == SpanRecall(4.0, 3.0, 0.0)
    for enumerated, retained in ((ENUMERATED, KEPT), ([], [])):
        recall = span_recall([], enumerated, retained)
        assert recall == SpanRecall()
        assert set(recall.to_dict().values()) == {0.0}


def test_a_kept_span_must_have_been_enumerated() -> None:
    with pytest.raises(ValueError, match=r"retained: span \(1, 2\) is not among the enumerated spans"):
        span_recall(GOLD, ENUMERATED, [(6, 14), (3, 9), (1, 2)])


@pytest.mark.parametrize("spans", [[1, 2], [(1, 2, 3)], [("a", "b")], [(1,)]])
@pytest.mark.parametrize("name", ["gold", "enumerated", "retained"])
def test_what_is_no_span(name: str, spans: Any) -> None:
    sides: dict[str, Any] = {"gold": [], "enumerated": [], "retained": []}
    with pytest.raises(ValueError, match=rf"{name}: expected pairs of offsets \(begin, end\), got "):
        span_recall(**{**sides, name: spans})


spans = st.sets(st.tuples(st.integers(0, 4), st.integers(5, 9)))


@given(gold=spans, enumerated=spans, retained=spans)
def test_pruning_never_raises_recall(
    gold: set[tuple[int, int]], enumerated: set[tuple[int, int]], retained: set[tuple[int, int]]
) -> None:
    recall = span_recall(gold, enumerated, retained & enumerated)
    assert 0.0 <= recall.after_pruning <= recall.after_enumeration <= 1.0
    assert span_recall(gold, gold | enumerated, gold | enumerated).after_pruning == float(bool(gold))


def test_counts_add_up_and_have_intervals() -> None:
    right, wrong = span_recall(GOLD, GOLD, GOLD), span_recall(GOLD, GOLD, [])
    assert right + SpanRecall() == SpanRecall() + right == right
    assert (right + wrong).to_dict() == {"enumerated_span_recall": 1.0, "kept_span_recall": 0.5, "gold_spans": 8.0}
    low, high = bootstrap_interval([right, wrong] * 50, "kept_span_recall")
    assert (low, high) == pytest.approx((0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05), abs=0.015)
    assert bootstrap_interval([right, wrong] * 50, "enumerated_span_recall") == (1.0, 1.0)
    with pytest.raises(TypeError):
        right + 1  # type: ignore[operator]
