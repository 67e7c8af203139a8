from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.metrics import PrecisionRecallF1, b_cubed, ceaf_e, ceaf_m, lea, mention_detection, muc

DATA = Path(__file__).parents[1] / "data"
SCORER_CASES = json.loads((DATA / "coref_metrics.json").read_text(encoding="utf-8"))
AUTHORS = json.loads((DATA / "authors_metrics.json").read_text(encoding="utf-8"))
METRICS = {"muc": muc, "b_cubed": b_cubed, "ceafm": ceaf_m, "ceafe": ceaf_e}
ALL_METRICS = [mention_detection, muc, b_cubed, ceaf_e, ceaf_m, lea]


def spans(clusters: list[list[Any]]) -> list[list[Any]]:
    return [[tuple(mention) for mention in cluster] for cluster in clusters]


def total(metric: Any, documents: list[tuple[Any, Any]]) -> PrecisionRecallF1:
    return sum((metric(spans(gold), spans(predicted)) for gold, predicted in documents), PrecisionRecallF1())


@pytest.mark.parametrize("case", SCORER_CASES, ids=lambda case: case["kind"])
def test_agrees_with_the_reference_scorer(case: dict[str, Any]) -> None:
    documents = [(document["gold"], document["pred"]) for document in case["documents"]]
    for name, metric in METRICS.items():
        expected = case["expected"][name]
        counts = total(metric, documents)
        got = {
            "recall_num": counts.recall_numerator,
            "recall_den": counts.recall_denominator,
            "precision_num": counts.precision_numerator,
            "precision_den": counts.precision_denominator,
        }
        assert got == {key: pytest.approx(expected[key], rel=1e-12, abs=1e-12) for key in got}, name
        for key in ("precision", "recall", "f1"):
            # The scorer cuts percentages off after two decimals.
            assert -1e-9 <= 100 * getattr(counts, key) - expected[key] < 0.01 + 1e-9, (name, key)


@pytest.mark.parametrize("case", SCORER_CASES, ids=lambda case: case["kind"])
def test_mention_counts_agree_with_the_reference_scorer(case: dict[str, Any]) -> None:
    counts = total(mention_detection, [(document["gold"], document["pred"]) for document in case["documents"]])
    expected = case["expected"]["mentions"]
    assert counts == PrecisionRecallF1(
        expected["correct"], expected["predicted"], expected["correct"], expected["gold"]
    )


def check_authors(counts: PrecisionRecallF1, expected: list[float]) -> None:
    assert [counts.precision, counts.recall, counts.f1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", AUTHORS["cases"])
def test_agrees_with_the_authors_on_single_documents(case: dict[str, Any]) -> None:
    pair = [([mentions for mentions, _ in case["gold"]], [mentions for mentions, _ in case["pred"]])]
    for name, metric in (("MUC", muc), ("B3", b_cubed), ("CEAFe", ceaf_e)):
        check_authors(total(metric, pair), case["scores"][name])


def test_agrees_with_the_authors_on_the_micro_average() -> None:
    pairs = [
        ([mentions for mentions, _ in case["gold"]], [mentions for mentions, _ in case["pred"]])
        for case in AUTHORS["cases"]
    ]
    for name, metric in (("MUC", muc), ("B3", b_cubed), ("CEAFe", ceaf_e)):
        check_authors(total(metric, pairs), AUTHORS["micro_over_all_cases"][name])


@pytest.mark.parametrize("case", AUTHORS["dwie_cluster_scenarios"], ids=lambda case: case["scenario"])
def test_agrees_with_the_cluster_scenarios_of_dwie(case: dict[str, Any]) -> None:
    for name, metric in (("MUC", muc), ("B3", b_cubed), ("CEAFe", ceaf_e)):
        check_authors(metric(case["gold"], case["pred"]), case[name])


def test_lea_of_the_example_in_its_paper() -> None:
    counts = lea([["a", "b", "c"], ["d", "e", "f", "g"]], [["a", "b"], ["c", "d"], ["f", "g", "h", "i"]])
    assert counts.recall == pytest.approx((3 * 1 / 3 + 4 * 1 / 6) / 7)
    assert counts.precision == pytest.approx((2 * 1 + 2 * 0 + 4 * 1 / 6) / 8)


def test_lea_finds_a_singleton_only_as_a_singleton() -> None:
    assert lea([["a"], ["b"]], [["a"], ["b", "c"]]) == PrecisionRecallF1(1.0, 3.0, 1.0, 2.0)


@pytest.mark.parametrize("metric", ALL_METRICS)
def test_nothing_earns_nothing(metric: Any) -> None:
    for gold, predicted in (([], []), ([["a", "b"]], []), ([], [["a", "b"]]), ([[]], [[]])):
        counts = metric(gold, predicted)
        assert (counts.precision, counts.recall, counts.f1) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("metric", ALL_METRICS)
@pytest.mark.parametrize("side", ["gold", "predicted"])
def test_a_mention_in_two_clusters_is_an_error(metric: Any, side: str) -> None:
    clusters = {"gold": [["a"]], "predicted": [["a"]], side: [["a", "b"], ["c", "b"]]}
    with pytest.raises(ValueError, match=f"{side} clusters: mention 'b' is in two clusters"):
        metric(clusters["gold"], clusters["predicted"])


labels = st.dictionaries(st.integers(0, 9), st.integers(0, 4))


def grouped(assignment: dict[int, int]) -> list[list[int]]:
    return [[m for m, label in assignment.items() if label == c] for c in sorted(set(assignment.values()))]


@pytest.mark.parametrize("metric", ALL_METRICS)
@given(gold=labels, predicted=labels)
def test_exchanging_the_sides_exchanges_precision_and_recall(
    metric: Any, gold: dict[int, int], predicted: dict[int, int]
) -> None:
    forth, back = metric(grouped(gold), grouped(predicted)), metric(grouped(predicted), grouped(gold))
    assert forth.precision == pytest.approx(back.recall)
    assert forth.recall == pytest.approx(back.precision)
    assert 0.0 <= forth.f1 <= 1.0 + 1e-12


@pytest.mark.parametrize("metric", [mention_detection, b_cubed, ceaf_e, ceaf_m, lea])
@given(gold=labels)
def test_the_gold_annotation_itself_is_perfect(metric: Any, gold: dict[int, int]) -> None:
    assert metric(grouped(gold), grouped(gold)[::-1]).f1 == pytest.approx(1.0 if gold else 0.0)


@pytest.mark.parametrize("other", [1, None, (0.0, 0.0, 0.0, 0.0)])
def test_counts_add_to_counts_only(other: Any) -> None:
    with pytest.raises(TypeError):
        PrecisionRecallF1() + other
