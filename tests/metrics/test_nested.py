from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hf_corefel.metrics import Scores, bootstrap_interval, evaluate_nested, read_nested, score_clusters

GOLD = [{"mentions": [[0, 4], [20, 22]], "entity": "Oslo"}, {"mentions": [[9, 13]], "entity": ""}]
TEXT = "Oslo met Hans, whom it likes."


def test_reading_gives_one_form() -> None:
    given: Any = (
        [{"mentions": np.array([[0, 4], [20, 22]]), "entity": "Oslo"}, {"mentions": ((9, 13),), "entity": None}],
    )
    read = read_nested(given, "references")
    assert read == [GOLD]
    assert all(type(offset) is int for cluster in read[0] for mention in cluster["mentions"] for offset in mention)
    assert read_nested([[], [{"mentions": [], "entity": "A"}]], "x") == [[], [{"mentions": [], "entity": "A"}]]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (None, r"x: expected a list of documents, got None"),
        ({"mentions": []}, r"x: expected a list of documents, got \{'mentions': \[\]\}"),
        ([GOLD, "text"], r"x\[1\]: expected a list of clusters, got 'text'"),
        ([GOLD[0]], r"x\[0\]: expected a list of clusters, got \{"),
        ([[[[0, 1]]]], r"x\[0\]\[0\]: expected a dict with the fields 'mentions' and 'entity', got \[\[0, 1\]\]"),
        ([[{"mentions": []}]], r"x\[0\]\[0\]: expected a dict with .* got the fields \['mentions'\]"),
        ([[{"mentions": [], "link": ""}]], r"got the fields \['link', 'mentions'\]"),
        ([[{"mentions": [], "entity": 3.5}]], r"x\[0\]\[0\]\['entity'\]: expected a string, '' for NIL, got 3.5"),
        ([[{"mentions": 3, "entity": ""}]], r"x\[0\]\[0\]\['mentions'\]: expected a list of \[begin, end\], got 3"),
        ([[{"mentions": [0, 1], "entity": ""}]], r"\['mentions'\]\[0\]: expected \[begin, end\], got 0"),
        ([[{"mentions": [[0, 1, 2]], "entity": ""}]], r"expected \[begin, end\], two integers, got \[0, 1, 2\]"),
        ([[{"mentions": [[0, 1.5]], "entity": ""}]], r"expected \[begin, end\], two integers, got \[0, 1.5\]"),
        ([[{"mentions": [[0, True]], "entity": ""}]], r"expected \[begin, end\], two integers, got \[0, True\]"),
        (
            [[], [GOLD[1], {"mentions": [[0, 4], [9, 13]], "entity": ""}]],
            r"x\[1\]\[1\]\['mentions'\]: \[9, 13\] is already in cluster 0; a mention has one cluster",
        ),
        ([[{"mentions": [[0, 4], [0, 4]], "entity": ""}]], r"\[0, 4\] is already in cluster 0"),
        ([[{"mentions": [[0, 2**70]], "entity": ""}]], r"x\[0\]\[0\]\['mentions'\]\[0\]: expected .* of 64 bits"),
        ([[{"mentions": [], "entity": "a\ud800"}]], r"x\[0\]\[0\]\['entity'\]: 'a\\ud800' is no valid Unicode"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(documents: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_nested(documents, "x")


def test_messages_stay_short() -> None:
    with pytest.raises(ValueError) as caught:
        read_nested({str(i): "x" * 1000 for i in range(1000)}, "predictions")
    assert len(str(caught.value)) < 300


def test_scores_are_those_of_plain_clusters() -> None:
    mentions = [[(0, 4), (20, 22)], [(9, 13)]]
    gold: Any = [(mentions[0], "Oslo"), (mentions[1], None)]
    predicted: Any = [(mentions[0], "Oslo")]
    surfaces = {(0, 4): "Oslo", (20, 22): "it", (9, 13): "Hans"}
    expected = score_clusters(gold, predicted, {(0, 4): {"Oslo"}, (20, 22): set[str]()}.get, surfaces.get)
    got = evaluate_nested([GOLD[:1]], [GOLD], candidates=[[[["Oslo"], []], None]], texts=[TEXT])
    assert got == expected.to_dict()
    assert (got["hard_case_accuracy"], got["several_surfaces_cluster_accuracy"]) == (1.0, 1.0)
    assert evaluate_nested([], []) == Scores().to_dict()


@pytest.mark.parametrize("candidates", [None, [None], [[None, None]], [[[None, ["Oslo"]], None]], [[[[], []], [[]]]]])
def test_unknown_candidates_make_no_hard_case(candidates: Any) -> None:
    assert evaluate_nested([GOLD], [GOLD], candidates=candidates)["hard_cases"] == 0.0


def test_surfaces_of_tokens() -> None:
    references = [[{"mentions": [[0, 2], [3, 5]], "entity": "New_York"}], [{"mentions": [[0, 1]], "entity": "A"}]]
    scores = evaluate_nested(references, references, texts=[["New", "York", ",", "New", "York"], None])
    assert (scores["one_surface_clusters"], scores["several_surfaces_clusters"]) == (1.0, 0.0)
    scores = evaluate_nested(references, references, texts=[["New", "York", ",", "NEW", "York"], ["Anna"]])
    assert (scores["one_surface_clusters"], scores["several_surfaces_clusters"]) == (1.0, 1.0)


def test_span_recall_and_intervals() -> None:
    spans = [[[0, 4], [9, 13], [9, 14]], [[0, 4], [9, 13], [20, 22]]]
    kept = [[[0, 4]], spans[1]]
    scores = evaluate_nested(
        [GOLD, []],
        [GOLD, GOLD],
        enumerated_spans=spans,
        kept_spans=kept,
        intervals=["el_hard_recall", "kept_span_recall"],
        confidence=0.9,
        resamples=200,
        seed=5,
    )
    assert scores["enumerated_span_recall"] == pytest.approx(5 / 6)
    assert (scores["kept_span_recall"], scores["gold_spans"]) == (pytest.approx(4 / 6), 6.0)
    assert (scores["kept_span_recall_low"], scores["kept_span_recall_high"]) == pytest.approx((1 / 3, 1.0))
    pairs: Any = [([(0, 4), (20, 22)], "Oslo"), ([(9, 13)], None)]
    parts = [score_clusters(pairs, pairs), score_clusters(pairs, [])]
    expected = bootstrap_interval(parts, "el_hard_recall", confidence=0.9, resamples=200, seed=5)
    assert (scores["el_hard_recall_low"], scores["el_hard_recall_high"]) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"predictions": []}, "0 predictions but 1 references; they are matched by position"),
        ({"candidates": []}, "candidates: expected a list with an item a document, 1 of them, got 0"),
        ({"candidates": [[None]]}, r"candidates\[0\]: expected a list with an item a cluster of the reference, 2 of"),
        ({"candidates": [[[["Oslo"]], None]]}, r"candidates\[0\]\[0\]: expected a list with an item a mention"),
        ({"candidates": [[["Oslo", []], None]]}, r"candidates\[0\]\[0\]\[0\]: expected a list of entities, got 'Oslo'"),
        *(
            ({"candidates": [[[[each], []], None]]}, r"candidates\[0\]\[0\]\[0\]: expected a list of entities, got \[")
            for each in (["Oslo", 0.5], ("Oslo", ["x"]), {"entity": "Oslo"})
        ),
        ({"candidates": [[[[1], []], None]]}, r"candidates\[0\]\[0\]\[0\]: expected a list of entities, got \[1\]"),
        ({"texts": TEXT}, "texts: expected a list with an item a document, got 'Oslo"),
        ({"texts": [3]}, r"texts\[0\]: expected a string or a list of tokens, got 3"),
        (
            {"texts": [TEXT[:21]]},
            r"references\[0\]\[0\]: offsets 20..22 are no span of texts\[0\], which has 21 code p",
        ),
        ({"texts": [["Oslo"]]}, r"offsets 0..4 are no span of texts\[0\], which has 1 tokens"),
        ({"kept_spans": [[]]}, "enumerated_spans and kept_spans: give both or neither"),
        ({"enumerated_spans": [[]]}, "enumerated_spans and kept_spans: give both or neither"),
        ({"enumerated_spans": [[]], "kept_spans": []}, "kept_spans: expected a list with an item a document, 1 of"),
        (
            {"enumerated_spans": [[1]], "kept_spans": [[]]},
            r"enumerated_spans\[0\]\[0\]: expected \[begin, end\], got 1",
        ),
        ({"intervals": ["f2"]}, "intervals: unknown score 'f2'; the known ones are coref_f1, "),
        ({"intervals": ["kept_span_recall"]}, "intervals: unknown score 'kept_span_recall'"),
        ({"intervals": [["coref_f1"]]}, r"intervals: unknown score \['coref_f1'\]"),
        ({"intervals": "coref_f1"}, "intervals: expected a list of keys of the result, got 'coref_f1'"),
        ({"intervals": ["coref_f1"], "confidence": 2.0}, "confidence: expected a number between 0 and 1"),
        ({"predictions": [], "references": [], "intervals": ["coref_f1"]}, "a bootstrap needs at least one document"),
    ],
)
def test_bad_arguments(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate_nested(**{"predictions": [GOLD], "references": [GOLD], **changes})
