"""Mentions that share characters, where the scope forbids it: which one stays, and what becomes of its cluster."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import CorefELConfig, CorefELPipeline, Document
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.decoding.clusters import clusters_from_parents
from hf_corefel.decoding.nesting import DecodedSpans, drop_overlapping
from hf_corefel.layers.nesting import exclusive_offsets

ROOT = 4  # of four spans; 5 is a span's first candidate
TEXT = "Anna Berg of Oslo Bank met Moss. Oslo Bank and Berg are old."


def dropped(
    parents: list[int],
    places: list[tuple[int, int]],
    entities: list[list[int]] | None = None,
    mention: list[float] | None = None,
    fixed: tuple[int, ...] = (),
) -> list[int]:
    size = len(parents)
    spans = DecodedSpans(parents, entities or [[]] * size, mention or [1.0] * size, [True] * size)
    spans.exclusive = places
    drop_overlapping(spans, fixed, size)
    return spans.parents


def test_one_with_an_entity_goes_before_a_longer_one() -> None:
    # "Suffolk", "Suffolk, UK", "UK" and one that touches none.
    places = [(0, 7), (0, 11), (9, 11), (11, 15)]
    assert dropped([5, ROOT, 5, ROOT], places, [[1], [], [2], []]) == [5, -1, 5, ROOT]
    assert dropped([ROOT, ROOT, ROOT, ROOT], places) == [-1, ROOT, -1, ROOT]


def test_of_equal_lengths_the_more_probable_one_stays_then_the_first() -> None:
    places = [(0, 4), (2, 6), (8, 9), (9, 10)]
    assert dropped([ROOT] * 4, places, mention=[1.0, 2.0, 1.0, 1.0]) == [-1, ROOT, ROOT, ROOT]
    assert dropped([ROOT] * 4, places) == [ROOT, -1, ROOT, ROOT]


def test_what_hung_from_it_stays_together() -> None:
    # 1 is left out for 0; 2 and 3 hang from it, and it from the root, an entity, or a span.
    places = [(0, 9), (2, 4), (10, 11), (12, 13)]
    assert dropped([ROOT, ROOT, 1, 1], places) == [ROOT, -1, ROOT, 2]
    entities = [[8], [7], [], [7]]
    assert dropped([5, 5, 1, 1], places, entities) == [5, -1, 3, 5]
    assert dropped([ROOT, 2, ROOT, 1], places) == [ROOT, -1, ROOT, 2]


def test_an_entity_that_no_other_of_the_cluster_has_is_not_lost() -> None:
    places = [(0, 9), (2, 4), (10, 11), (12, 13)]
    assert dropped([5, 5, 1, ROOT], places, [[8], [7], [], []]) == [5, 5, 1, ROOT]


def test_what_constraints_ask_for_stays() -> None:
    places = [(0, 9), (2, 4), (10, 11), (12, 13)]
    assert dropped([ROOT] * 4, places, fixed=(1,)) == [-1, ROOT, ROOT, ROOT]
    assert dropped([ROOT] * 4, places, fixed=(0, 1)) == [ROOT] * 4


def test_what_is_no_mention_stands_in_nobodys_way() -> None:
    places = [(0, 9), (2, 4), (10, 11), (12, 13)]
    assert dropped([ROOT] * 4, places, mention=[-1.0, 1.0, 1.0, 1.0]) == [ROOT] * 4  # 0 is no cluster by itself
    assert dropped([ROOT] * 4, [(0, 0)] * 4) == [ROOT] * 4


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_clusters_lose_mentions_and_nothing_else(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 7))
    entities = [data.draw(st.lists(st.integers(0, 2), max_size=2, unique=True)) for _ in range(size)]
    padded = [[*ids, *[-1] * (2 - len(ids))] for ids in entities]
    parents = [
        data.draw(st.sampled_from([*range(n), size, *(size + 1 + k for k in range(len(entities[n])))]))
        for n in range(size)
    ]
    begins = [data.draw(st.integers(0, 8)) for _ in range(size)]
    places = [(begin, begin + data.draw(st.integers(1, 4))) for begin in begins]
    mention = [data.draw(st.floats(0.1, 2)) for _ in range(size)]
    spans = DecodedSpans(list(parents), padded, mention, [True] * size)
    spans.exclusive = places
    drop_overlapping(spans, (), size)
    tensors = padded, mention, [True] * size
    before, after = (clusters_from_parents(chosen, *tensors) for chosen in (parents, spans.parents))
    left = {n for cluster in after for n in cluster.spans}
    kept = [tuple(n for n in cluster.spans if n in left) for cluster in before]
    assert sorted(filter(None, kept)) == sorted(cluster.spans for cluster in after)
    entity = {n: cluster.entity_row for cluster in before for n in cluster.spans}
    assert all(entity[cluster.spans[0]] == cluster.entity_row for cluster in after)
    for one in left:
        for other in left - {one}:
            overlap = places[one][0] < places[other][1] and places[other][0] < places[one][1]
            # Both stay only where one is the last that has its cluster's entity.
            assert not overlap or any(entity[n] is not None for n in (one, other))


def test_offsets_of_the_scopes_that_forbid_it() -> None:
    characters = torch.arange(12).view(2, 3, 2)
    index, mask = torch.tensor([[0, 2], [1, 0]]), torch.tensor([[True, True], [True, False]])
    assert exclusive_offsets([False, False], torch.tensor([0, 1]), None, index, mask) is None
    found = exclusive_offsets([False, True], torch.tensor([0, 1]), characters, index, mask)
    assert found is not None and found.tolist() == [[[0, 0], [0, 0]], [[8, 9], [0, 0]]]
    found = exclusive_offsets([True], None, characters, index, mask)
    assert found is not None and found.tolist() == [[[0, 1], [4, 5]], [[8, 9], [0, 0]]]
    with pytest.raises(ValueError, match="span_characters: needed with forbid_overlaps"):
        exclusive_offsets([True], None, None, index, mask)


def test_a_scope_decides_for_itself() -> None:
    scopes: dict[str, dict[str, Any]] = {"all": {"forbid_overlaps": False}, "named": {}}
    assert CorefELConfig(forbid_overlaps=True, mention_scopes=scopes).exclusive_scopes == [True, False]
    assert CorefELConfig(mention_scopes={"entities": {"forbid_overlaps": True}, **scopes}).exclusive_scopes == [
        False,
        False,
        True,
    ]
    assert CorefELConfig(forbid_overlaps=True).exclusive_scopes == [True]
    with pytest.raises(ValueError, match=r"forbid_overlaps.* must be True or False"):
        CorefELConfig(mention_scopes={"named": {"forbid_overlaps": 1}})


@pytest.mark.parametrize("head", HEADS)
def test_no_result_has_overlapping_mentions(
    tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], head: str
) -> None:
    counts = {}
    for forbid in (False, True):
        model = tiny_model(3, head=head, span_keep_ratio=2.0, forbid_overlaps=forbid)
        annotate = CorefELPipeline(model, tiny_processor(model.config), task="coref-el", device="cpu")
        options = {"samples": 3, "clusterings": 2, "seed": 1} if head == "global" else {}
        result = annotate(TEXT, **options)
        structures = [result, *result.get("samples", []), *result.get("clusterings", [])]
        places = [
            sorted((m["begin"], m["end"]) for cluster in one["clusters"] for m in cluster["mentions"])
            for one in structures
        ]
        counts[forbid] = sum(a[1] > b[0] for found in places for a, b in pairwise(found))
        given = [(0, 4), (0, 9), (5, 9)]
        listed = annotate(Document(TEXT, mentions=given))["clusters"]
        assert sorted((m["begin"], m["end"]) for c in listed for m in c["mentions"]) == given
    assert counts[True] == 0
    # This one links few spans, none of which overlap here.
    assert counts[False] > 0 or head == "standalone_linking"
