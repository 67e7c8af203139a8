from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.metrics import HardCases, PrecisionRecallF1, el_hard, el_mention, el_soft, hard_cases

DATA = Path(__file__).parents[1] / "data"
CASES = json.loads((DATA / "el_metrics.json").read_text(encoding="utf-8"))
AUTHORS = json.loads((DATA / "authors_metrics.json").read_text(encoding="utf-8"))
METRICS = {"el_mention": el_mention, "el_hard": el_hard, "el_soft": el_soft}

Linked = list[tuple[list[Any], str | None]]


def read(clusters: list[dict[str, Any]]) -> Linked:
    return [([tuple(mention) for mention in cluster["mentions"]], cluster["link"]) for cluster in clusters]


def read_authors(clusters: list[Any]) -> Linked:
    return [([tuple(mention) for mention in mentions], link) for mentions, link in clusters]


def total(metric: Any, documents: list[tuple[Linked, Linked]]) -> PrecisionRecallF1:
    return sum((metric(gold, predicted) for gold, predicted in documents), PrecisionRecallF1())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
@pytest.mark.parametrize("name", METRICS)
def test_agrees_with_the_original_evaluator(case: dict[str, Any], name: str) -> None:
    counts = total(METRICS[name], [(read(document["gold"]), read(document["pred"])) for document in case["documents"]])
    got = {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1}
    assert got == pytest.approx(case["expected"][name], abs=1e-9)


@pytest.mark.parametrize("case", AUTHORS["cases"])
def test_agrees_with_the_authors_on_single_documents(case: dict[str, Any]) -> None:
    for name, metric in (("EL_m", el_mention), ("EL_h", el_hard)):
        counts = metric(read_authors(case["gold"]), read_authors(case["pred"]))
        assert [counts.precision, counts.recall, counts.f1] == pytest.approx(case["scores"][name], abs=1e-9)


def test_agrees_with_the_authors_on_the_micro_average() -> None:
    pairs = [(read_authors(case["gold"]), read_authors(case["pred"])) for case in AUTHORS["cases"]]
    for name, metric in (("EL_m", el_mention), ("EL_h", el_hard)):
        counts = total(metric, pairs)
        expected = AUTHORS["micro_over_all_cases"][name]
        assert [counts.precision, counts.recall, counts.f1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("metric", METRICS.values())
def test_nil_and_empty_clusters_are_not_scored(metric: Any) -> None:
    gold: Linked = [(["a", "b"], None), ([], "E"), (["c"], "F")]
    predicted: Linked = [(["a", "b"], None), ([], "E"), (["c"], "F")]
    assert metric(gold, predicted) == PrecisionRecallF1(1.0, 1.0, 1.0, 1.0)
    assert metric(gold[:2], predicted[:2]) == PrecisionRecallF1()


@pytest.mark.parametrize("metric", METRICS.values())
def test_nothing_earns_nothing(metric: Any) -> None:
    linked: Linked = [(["a"], "E")]
    for gold, predicted in (([], []), (linked, []), ([], linked), ([(["a"], None)], linked)):
        counts = metric(gold, predicted)
        assert (counts.precision, counts.recall, counts.f1) == (0.0, 0.0, 0.0)


# "Alliance" is listed for an insurer only; "NATO" later in the same cluster has the entity.
CANDIDATES: dict[Any, set[str] | None] = {"Alliance": {"Allianz"}, "NATO": {"NATO", "Nato,_Italy"}, "Kallas": set()}


@pytest.mark.parametrize(
    ("predicted", "correct"),
    [
        ([(["Alliance", "NATO"], "NATO")], 1),
        ([(["Alliance"], "NATO"), (["NATO"], None)], 1),  # only the mention counts, not its cluster
        ([(["Alliance"], "Allianz"), (["NATO"], "NATO")], 0),
        ([(["Alliance", "NATO"], None)], 0),
        ([(["the Alliance", "NATO"], "NATO")], 0),  # the span must be exact
        ([], 0),
    ],
)
def test_hard_cases(predicted: Linked, correct: int) -> None:
    counts = hard_cases([(["Alliance", "NATO"], "NATO")], predicted, CANDIDATES.get)
    assert counts == HardCases(correct, 1)
    assert counts.accuracy == float(correct)


@pytest.mark.parametrize(
    "gold",
    [
        [(["Alliance"], "NATO")],  # no other mention has the entity
        [(["Alliance", "Kallas"], "NATO")],
        [(["NATO"], "NATO")],  # its own candidates have it
        [(["Alliance", "NATO"], None)],  # NIL
        [(["unknown", "NATO"], "NATO")],  # candidates not known
        [(["Alliance"], "NATO"), (["NATO"], "NATO")],  # the other mention is in another cluster
        [],
    ],
)
def test_what_is_no_hard_case(gold: Linked) -> None:
    counts = hard_cases(gold, gold, CANDIDATES.get)
    assert counts == HardCases(0, 0)
    assert counts.accuracy == 0.0


def test_a_mention_without_any_candidate_is_a_hard_case() -> None:
    gold: Linked = [(["NATO", "Kallas", "Alliance"], "NATO")]
    assert hard_cases(gold, [(["Kallas"], "NATO")], CANDIDATES.get) == HardCases(1, 2)
