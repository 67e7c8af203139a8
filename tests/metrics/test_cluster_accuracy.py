from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel.documents import AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.metrics import (
    ClusterAccuracy,
    Scores,
    Share,
    bootstrap_interval,
    cluster_accuracy,
    el_hard,
    evaluate,
    score_clusters,
    score_documents,
)

CASES = json.loads((Path(__file__).parents[1] / "data" / "el_metrics.json").read_text(encoding="utf-8"))

Linked = list[tuple[list[Any], str | None]]

GOLD: Linked = [
    (["a"], "A"),
    (["b"], "B"),
    (["c1", "c2"], "C"),
    (["d1", "d2", "d3"], "D"),
    (["n1", "n2"], None),
    (["n3"], None),
    ([], "E"),
]
SURFACES = {"a": "Anna", "b": "Berg", "c1": "Carl", "c2": " Carl\n", "d1": "Dora", "d2": "dora", "d3": "Dora"}


def test_clusters_are_counted_by_size_and_by_surfaces() -> None:
    counts = cluster_accuracy(GOLD, GOLD[::-1], SURFACES.get)
    assert counts == ClusterAccuracy(Share(2.0, 2.0), Share(2.0, 2.0), Share(3.0, 3.0), Share(1.0, 1.0))
    assert counts.to_dict() == {
        "singleton_cluster_accuracy": 1.0,
        "singleton_clusters": 2.0,
        "multi_mention_cluster_accuracy": 1.0,
        "multi_mention_clusters": 2.0,
        "one_surface_cluster_accuracy": 1.0,
        "one_surface_clusters": 3.0,
        "several_surfaces_cluster_accuracy": 1.0,
        "several_surfaces_clusters": 1.0,
    }


@pytest.mark.parametrize(
    ("predicted", "singleton", "multi_mention", "one_surface", "several_surfaces"),
    [
        ([(["a"], "A")], 1, 0, 1, 0),
        ([(["c2", "c1"], "C")], 0, 1, 1, 0),
        ([(["d3", "d1", "d2"], "D")], 0, 1, 0, 1),
        ([(["a"], "B")], 0, 0, 0, 0),  # wrong link
        ([(["a"], None)], 0, 0, 0, 0),
        ([(["d1", "d2"], "D")], 0, 0, 0, 0),  # a mention is missing
        ([(["c1", "c2", "x"], "C")], 0, 0, 0, 0),  # one too many
        ([(["c1"], "C"), (["c2"], "C")], 0, 0, 0, 0),  # every mention is right, the cluster is not
        ([(["n1", "n2"], "N"), (["n3"], "N")], 0, 0, 0, 0),  # NIL in gold is not scored
        ([], 0, 0, 0, 0),
    ],
)
def test_only_the_same_mentions_with_the_same_link_are_found(
    predicted: Linked, singleton: int, multi_mention: int, one_surface: int, several_surfaces: int
) -> None:
    counts = cluster_accuracy(GOLD, predicted, SURFACES.get)
    assert counts.singleton == Share(float(singleton), 2.0)
    assert counts.multi_mention == Share(float(multi_mention), 2.0)
    assert counts.one_surface == Share(float(one_surface), 3.0)
    assert counts.several_surfaces == Share(float(several_surfaces), 1.0)


def test_clusters_with_an_unknown_surface_are_in_neither_part() -> None:
    known = {**SURFACES, "d3": None, "a": None}
    counts = cluster_accuracy(GOLD, GOLD, known.get)
    assert (counts.singleton.total, counts.multi_mention.total) == (2.0, 2.0)
    assert (counts.one_surface, counts.several_surfaces) == (Share(2.0, 2.0), Share())
    without = cluster_accuracy(GOLD, GOLD)
    assert (without.one_surface, without.several_surfaces) == (Share(), Share())


def test_empty_sides() -> None:
    nothing_found = cluster_accuracy(GOLD, [], SURFACES.get)
    assert nothing_found == ClusterAccuracy(Share(0.0, 2.0), Share(0.0, 2.0), Share(0.0, 3.0), Share(0.0, 1.0))
    for gold, predicted in (([], GOLD), ([], []), ([(["a"], None)], GOLD)):
        counts = cluster_accuracy(gold, predicted, SURFACES.get)
        assert counts == ClusterAccuracy()
        assert set(counts.to_dict().values()) == {0.0}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
def test_both_sizes_together_are_the_recall_of_the_original_evaluator(case: dict[str, Any]) -> None:
    total = ClusterAccuracy()
    for document in case["documents"]:
        gold, predicted = (
            [([tuple(m) for m in cluster["mentions"]], cluster["link"]) for cluster in document[side]]
            for side in ("gold", "pred")
        )
        total += cluster_accuracy(gold, predicted)
    assert (total.singleton + total.multi_mention).value == pytest.approx(case["expected"]["el_hard"]["recall"])


clusters = st.lists(
    st.tuples(st.lists(st.integers(0, 5), max_size=3), st.one_of(st.none(), st.sampled_from("AB"))), max_size=5
)


@given(gold=clusters, predicted=clusters, forms=st.lists(st.sampled_from(["x", "y"]), min_size=6, max_size=6))
def test_each_partition_adds_up_to_the_recall_of_clusters(gold: Linked, predicted: Linked, forms: list[str]) -> None:
    counts, whole = cluster_accuracy(gold, predicted, forms.__getitem__), el_hard(gold, predicted)
    expected = Share(whole.recall_numerator, whole.recall_denominator)
    assert counts.singleton + counts.multi_mention == expected
    assert counts.one_surface + counts.several_surfaces == expected


def test_documents_take_surfaces_from_the_gold_text() -> None:
    text = "Oslo, the city. Oslo again. Bergen."
    oslo = Cluster((Mention(0, 4), Mention(16, 20)), "Oslo")
    mixed = Cluster((Mention(0, 4), Mention(6, 14)), "Oslo")
    bergen = Cluster((Mention(28, 34),), "Bergen")
    gold = [Document(text, clusters=[oslo, bergen]), Document(text, clusters=[mixed])]
    scores = evaluate(gold, [AnnotatedDocument(text, [oslo]), AnnotatedDocument(text, [mixed, bergen])])
    assert (scores["one_surface_cluster_accuracy"], scores["one_surface_clusters"]) == (0.5, 2.0)
    assert (scores["several_surfaces_cluster_accuracy"], scores["several_surfaces_clusters"]) == (1.0, 1.0)
    assert (scores["singleton_cluster_accuracy"], scores["multi_mention_cluster_accuracy"]) == (0.0, 1.0)
    parts = score_documents(gold, [AnnotatedDocument(text, []), AnnotatedDocument(text, [mixed])])
    assert bootstrap_interval(parts, "multi_mention_cluster_accuracy") == (0.0, 1.0)


def test_counts_add_up() -> None:
    one = cluster_accuracy(GOLD, GOLD[:1], SURFACES.get)
    assert one + ClusterAccuracy() == ClusterAccuracy() + one == one
    assert (one + one).singleton == Share(2.0, 4.0)
    assert one.from_counts((one + one).to_counts()) == one + one
    for item in (one, Share(1.0, 2.0)):
        with pytest.raises(TypeError):
            item + 1  # type: ignore[operator]


def test_intervals() -> None:
    """Half of 100 documents right: the share has a standard error of 0.05."""
    right, wrong = (score_clusters(GOLD, predicted, surfaces=SURFACES.get) for predicted in (GOLD, []))
    parts: list[Scores] = [right, wrong] * 50
    for key in parts[0].clusters.to_dict():
        if not key.endswith("_accuracy"):
            continue
        low, high = bootstrap_interval(parts, key)
        assert (low, high) == pytest.approx((0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05), abs=0.015)
        assert bootstrap_interval([part.clusters for part in parts], key) == (low, high)
