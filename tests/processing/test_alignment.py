from __future__ import annotations

import numpy as np
import pytest

from hf_corefel.documents import AnnotatedLayers, Cluster, Mention
from hf_corefel.processing.alignment import Alignment, AlignmentReport, align_clusters
from hf_corefel.utils.gold_codes import FREE, LEFT_OUT, NOT_KNOWN

# Five spans; what the rows of candidates hold, by name.
OFFSETS = np.array([[0, 4], [0, 9], [5, 9], [10, 12], [13, 20]])
ENTITIES = ["Anna", "Berg", "Oslo"]
CANDIDATES = np.array([[0, -1], [0, 1], [1, -1], [-1, -1], [2, 0]])


def cluster(entity: str | None, *offsets: tuple[int, int]) -> Cluster:
    return Cluster(tuple(Mention(*each) for each in offsets), entity)


def align(*clusters: Cluster) -> Alignment:
    return align_clusters(clusters, OFFSETS, CANDIDATES, ENTITIES)


def report(**counts: int) -> AlignmentReport:
    return AlignmentReport(documents=1, **counts)


def test_gold_over_spans() -> None:
    aligned = align(cluster("Oslo", (13, 20)), cluster(None, (10, 12)), cluster("Anna", (0, 9), (0, 4)))
    assert aligned.clusters.tolist() == [2, 2, -1, 1, 0]
    assert aligned.entities.tolist() == [0, 0, -1, -1, 2]
    assert aligned.clusters.dtype == aligned.entities.dtype == np.int64
    # "Anna" within "Anna Berg": both have the entity, from which they hang together.
    assert aligned.report == report(mentions=4, linked_mentions=3, linked_clusters=2)


def test_no_gold() -> None:
    aligned = align()
    assert aligned.clusters.tolist() == aligned.entities.tolist() == [-1] * 5
    assert aligned.report == report()


def test_a_mention_that_is_no_span_is_left_out() -> None:
    aligned = align(cluster(None, (0, 4), (0, 20)), cluster("Oslo", (13, 20), (13, 19)))
    assert aligned.clusters.tolist() == [0, -1, -1, -1, 1]
    assert aligned.entities.tolist() == [-1, -1, -1, -1, 2]
    # The mention that is no span has no candidates either.
    assert aligned.report == report(
        mentions=4,
        mentions_not_enumerated=2,
        linked_mentions=2,
        linked_mentions_without_candidate=1,
        linked_clusters=1,
    )


def test_one_mention_with_the_entity_links_the_whole_cluster() -> None:
    aligned = align(cluster("Berg", (0, 4), (5, 9), (10, 12)))
    assert aligned.clusters.tolist() == [0, -1, 0, 0, -1]
    assert aligned.entities.tolist() == [1, -1, 1, 1, -1]
    assert aligned.report == report(
        mentions=3, linked_mentions=3, linked_mentions_without_candidate=2, linked_clusters=1
    )


@pytest.mark.parametrize(
    ("entity", "offsets", "missing"),
    [
        ("Unheard", (0, 4), 0),  # no candidate of any span
        ("Oslo", (0, 4), 0),  # a candidate of another span only
        ("Oslo", (13, 19), 1),  # its span is not enumerated
    ],
)
def test_an_entity_out_of_reach_is_trained_as_nil(entity: str, offsets: tuple[int, int], missing: int) -> None:
    aligned = align(cluster(entity, offsets, (10, 12)))
    assert aligned.entities.tolist() == [-1] * 5
    assert (aligned.clusters >= 0).sum() == 2 - missing
    assert aligned.report == report(
        mentions=2,
        mentions_not_enumerated=missing,
        linked_mentions=2,
        linked_mentions_without_candidate=2,
        linked_clusters=1,
        linked_clusters_unreachable=1,
    )


def test_two_clusters_of_one_entity_are_one() -> None:
    aligned = align(cluster(None, (10, 12)), cluster("Anna", (0, 4)), cluster("Anna", (13, 20), (0, 9)))
    assert aligned.clusters.tolist() == [1, 1, -1, 0, 1]
    assert aligned.entities.tolist() == [0, 0, -1, -1, 0]
    assert aligned.report.linked_clusters == 2


def test_two_clusters_of_one_entity_stay_apart_where_it_is_out_of_reach() -> None:
    aligned = align(cluster("Anna", (0, 4)), cluster("Anna", (10, 12)))
    assert aligned.clusters.tolist() == [0, -1, -1, 1, -1]
    assert aligned.entities.tolist() == [0, -1, -1, -1, -1]
    assert aligned.report.linked_clusters_unreachable == 1


def test_a_document_without_spans() -> None:
    aligned = align_clusters([cluster("Anna", (0, 4))], np.empty((0, 2), int), np.empty((0, 3), int), [])
    assert aligned.clusters.shape == aligned.entities.shape == (0,)
    assert aligned.report.mentions_not_enumerated == aligned.report.linked_clusters_unreachable == 1


def test_reports_add_up() -> None:
    total = AlignmentReport(1, 2, 3, 4, 5, 6, 7, 8) + AlignmentReport(10, 20, 30, 40, 50, 60, 70, 80)
    assert total == AlignmentReport(11, 22, 33, 44, 55, 66, 77, 88)
    assert list(total.to_dict().values()) == [11, 22, 33, 44, 55, 66, 77, 88]
    assert AlignmentReport(**total.to_dict()) == total


@pytest.mark.parametrize(
    ("entity", "offsets", "cut_off"),
    [
        (None, [(0, 4), (0, 9)], 1),
        (None, [(0, 4), (5, 9)], 0),
        (None, [(0, 4), (0, 9), (5, 9)], 1),
        # By way of a third mention no edge between the two is needed.
        (None, [(0, 4), (0, 9), (13, 20)], 0),
        ("Anna", [(0, 4), (0, 9)], 0),
        # Only "Anna Berg" and what lies within it, the latter alone with the entity.
        ("Berg", [(0, 4), (0, 9)], 1),
        ("Oslo", [(0, 4), (0, 9)], 1),
    ],
)
def test_mentions_within_others_of_their_cluster(
    entity: str | None, offsets: list[tuple[int, int]], cut_off: int
) -> None:
    assert align(cluster(entity, *offsets)).report.mentions_cut_off == cut_off
    # Two spellings of one mention may hang from one another.
    cores = np.zeros_like(OFFSETS)
    aligned = align_clusters([cluster(entity, *offsets)], OFFSETS, CANDIDATES, ENTITIES, cores)
    assert aligned.report.mentions_cut_off == 0


GOLD = [cluster("Anna", (0, 4), (0, 9)), cluster("Anna", (13, 20)), cluster(None, (5, 9))]


@pytest.mark.parametrize(
    ("layers", "clusters", "entities"),
    [
        # Clusters of one entity are one, and the fourth span is no gold mention.
        ({}, [0, 0, 2, -1, 0], [0, 0, -1, -1, 0]),
        # That no link is annotated is to be seen of every span, also of those that are no mentions.
        ({"links": False}, [0, 0, 2, -1, 1], [NOT_KNOWN] * 5),
        ({"links": "some"}, [0, 0, 2, -1, 0], [0, 0, NOT_KNOWN, -1, 0]),
        ({"clusters": False}, [0, 0, NOT_KNOWN, -1, 0], [0, 0, -1, -1, 0]),
        ({"clusters": False, "links": "some"}, [0, 0, NOT_KNOWN, -1, 0], [0, 0, NOT_KNOWN, -1, 0]),
        ({"clusters": False, "links": False}, [NOT_KNOWN] * 3 + [-1, NOT_KNOWN], [NOT_KNOWN] * 5),
        ({"mentions": "named"}, [0, 0, 2, FREE, 0], [0, 0, -1, -1, 0]),
        ({"mentions": "given"}, [0, 0, 2, LEFT_OUT, 0], [0, 0, -1, -1, 0]),
    ],
)
def test_layers_that_are_not_annotated(layers: dict[str, object], clusters: list[int], entities: list[int]) -> None:
    aligned = align_clusters(GOLD, OFFSETS, CANDIDATES, ENTITIES, layers=AnnotatedLayers.from_dict(layers))
    assert (aligned.clusters.tolist(), aligned.entities.tolist()) == (clusters, entities)


def test_names_are_all_there_is_where_names_are_wanted() -> None:
    layers = AnnotatedLayers(mentions="named")
    aligned = align_clusters(GOLD, OFFSETS, CANDIDATES, ENTITIES, layers=layers, names_only=True)
    assert aligned.clusters.tolist() == align(*GOLD).clusters.tolist()


def test_mentions_of_an_entity_out_of_reach_are_one_cluster_too() -> None:
    """They corefer, whatever they are linked to and whatever is annotated."""
    gold = [cluster("Bergen", (0, 4)), cluster("Bergen", (5, 9)), cluster("Oslo", (13, 20))]
    aligned = align_clusters(gold, OFFSETS, CANDIDATES, ENTITIES, layers=AnnotatedLayers(clusters=False))
    assert aligned.clusters.tolist() == [0, -1, 0, -1, 1]
    assert aligned.entities.tolist() == [-1, -1, -1, -1, 2]
