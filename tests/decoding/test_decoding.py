from __future__ import annotations

import pytest

from hf_corefel.decoding.clusters import DecodedCluster, clusters_from_parents


def decode(
    parents: list[int], candidate_rows: list[list[int]] | None = None, **changes: object
) -> list[DecodedCluster]:
    size = len(parents)
    arguments: dict[str, object] = {"mention": [1.0] * size, "mask": [True] * size, **changes}
    return clusters_from_parents(parents, candidate_rows or [[]] * size, **arguments)  # type: ignore[arg-type]


def test_chains_run_both_ways() -> None:
    # 4 is the root's child; 0 hangs from 3, 3 from 4, 2 from 0; 1 is on its own.
    assert decode([3, 5, 0, 4, 5]) == [DecodedCluster((0, 2, 3, 4), None), DecodedCluster((1,), None)]


def test_subtree_of_an_entity_is_a_linked_cluster() -> None:
    # Span 1 hangs from its second candidate and heads span 0.
    assert decode([1, 5, 3], [[7, 8], [8, 9], [7, 8]]) == [DecodedCluster((0, 1), 9), DecodedCluster((2,), None)]


def test_chains_to_the_same_entity_are_one_cluster() -> None:
    parents = [4, 6, 1]
    assert decode(parents, [[5, 9, 6], [1, 2, 5], []]) == [DecodedCluster((0, 1, 2), 5)]


def test_two_chains_to_the_root_are_two_clusters() -> None:
    assert decode([4, 4, 0, 1]) == [DecodedCluster((0, 2), None), DecodedCluster((1, 3), None)]


def test_only_weak_unlinked_singletons_are_dropped() -> None:
    parents = [5, 5, 6, 5, 3]
    candidate_rows = [[], [], [1], [], []]
    mention = [0.0, 0.5, -3.0, -2.0, -2.0]
    assert decode(parents, candidate_rows, mention=mention) == [
        DecodedCluster((1,), None),
        DecodedCluster((2,), 1),
        DecodedCluster((3, 4), None),
    ]
    assert decode(parents, candidate_rows, mention=mention, drop_unlinked_singletons=False) == [
        DecodedCluster((0,), None),
        DecodedCluster((1,), None),
        DecodedCluster((2,), 1),
        DecodedCluster((3, 4), None),
    ]


def test_masked_spans_and_spans_without_a_parent_are_no_mentions() -> None:
    assert decode([3, -1, 99], mask=[True, True, False]) == [DecodedCluster((0,), None)]


def test_nothing_gives_nothing() -> None:
    assert decode([]) == []


def test_long_chains_need_no_recursion() -> None:
    size = 5000
    assert decode([*range(1, size), size]) == [DecodedCluster(tuple(range(size)), None)]


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([1, 0, 3], "span 0 run in a circle"),
        ([0, 3, 3], "span 0 run in a circle"),
        ([3, 2, 1], "span 1 run in a circle"),
        ([6, 3, 3], "span 0 has the parent 6, which is no node"),
        ([-2, 3, 3], "span 0 has the parent -2, which is no node"),
        ([5, 3, 3], "span 0 has the parent 5, which is a padded candidate"),
        ([1, -1, 3], "span 0 has the parent 1, which is left out"),
    ],
)
def test_broken_parents_are_reported(parents: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(parents, [[4, -1], [4], [4]])


def test_a_masked_parent_is_reported() -> None:
    with pytest.raises(ValueError, match="span 0 has the parent 1, which is left out"):
        decode([1, 2], mask=[True, False])


@pytest.mark.parametrize("field", ["mention", "mask", "candidate_rows"])
def test_lengths_must_agree(field: str) -> None:
    arguments = {"candidate_rows": [[], []], "mention": [0.0, 0.0], "mask": [True, True], field: []}
    with pytest.raises(ValueError, match=rf"^{field}: expected 2 spans"):
        clusters_from_parents([2, 2], **arguments)  # type: ignore[arg-type]
