"""Mentions within one another: which of twins stays, and where a phrase and its part are cut apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import Document
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.decoding.annotating import AnnotationOptions, annotate_batch
from hf_corefel.decoding.clusters import clusters_from_parents
from hf_corefel.decoding.nesting import DecodedSpans, cut_nested, drop_twins, namesakes

ROOT = 4  # of four spans; 5 is a span's first candidate


def decoded(parents: list[int], mention: list[float] | None = None, entities: list[list[int]] | None = None) -> Any:
    size = len(parents)
    return DecodedSpans(parents, entities or [[]] * size, mention or [1.0] * size, [True] * size)


def cut(spans: Any, pairs: list[tuple[int, int]], costs: dict[tuple[int, int], float] | None = None) -> list[int]:
    weights = torch.zeros(len(spans.parents), 2 * len(spans.parents) + 1)
    for (child, parent), cost in (costs or {}).items():
        weights[child, parent] = cost
    cut_nested(spans, pairs, weights, len(spans.parents))
    return spans.parents


def test_the_cheapest_edge_of_the_path_is_cut() -> None:
    # 0 and 1 both hang from 2, which hangs from 3: the path is 0-2-1, the edge above 2 is none of it.
    assert cut(decoded([2, 2, 3, ROOT]), [(0, 1)], {(0, 2): 5, (1, 2): 3, (2, 3): 1}) == [2, ROOT, 3, ROOT]
    assert cut(decoded([2, 2, 3, ROOT]), [(0, 1)], {(0, 2): 3, (1, 2): 5, (2, 3): 1}) == [ROOT, 2, 3, ROOT]


def test_what_hangs_from_the_cut_mention_goes_with_it() -> None:
    # 3 hangs from 2, 2 from 1, 1 from 0: cut in the middle, 3 stays with 2.
    assert cut(decoded([ROOT, 0, 1, 2]), [(0, 3)], {(1, 0): 5, (2, 1): 1, (3, 2): 4}) == [ROOT, 0, ROOT, 2]


def test_a_path_may_lead_over_the_entity() -> None:
    spans = decoded([5, 5, 1, ROOT], entities=[[7], [7], [], []])
    assert cut(spans, [(0, 2)], {(0, 5): 2, (1, 5): 1, (2, 1): 3}) == [5, ROOT, 1, ROOT]
    assert cut(decoded([5, 5, 1, ROOT], entities=[[7], [8], [], []]), [(0, 2)]) == [5, 5, 1, ROOT]


def test_of_equal_costs_the_later_mention_is_cut() -> None:
    assert cut(decoded([2, 2, ROOT, ROOT]), [(0, 1)], {(0, 2): 1, (1, 2): 1}) == [2, ROOT, ROOT, ROOT]


def test_what_is_apart_or_left_out_stays() -> None:
    assert cut(decoded([ROOT, ROOT, 0, -1]), [(0, 1), (2, 3)]) == [ROOT, ROOT, 0, -1]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_pair_is_in_one_cluster_afterwards(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 7))
    entities = [data.draw(st.lists(st.integers(0, 2), max_size=2, unique=True)) for _ in range(size)]
    parents: list[int] = []
    for n in range(size):
        choices = [*range(n), size, *(size + 1 + k for k in range(len(entities[n])))]
        parents.append(data.draw(st.sampled_from(choices)))
    order = data.draw(st.permutations(range(size)))
    shuffled = [0] * size
    for n, parent in enumerate(parents):
        shuffled[order[n]] = order[parent] if parent < size else parent
    listed = [entities[order.index(n)] for n in range(size)]
    padded = [[*ids, *[-1] * (2 - len(ids))] for ids in listed]
    numbers = st.integers(0, size - 1)
    pairs = [pair for pair in data.draw(st.lists(st.tuples(numbers, numbers), max_size=6)) if pair[0] != pair[1]]
    mention = [data.draw(st.floats(-2, 2)) for _ in range(size)]

    spans = DecodedSpans(list(shuffled), padded, mention, [True] * size)
    same = namesakes(spans, pairs)
    drop_twins(spans, [], same)
    drop_twins(spans, pairs[::2])
    weights = torch.rand(size, size + 3, generator=torch.Generator().manual_seed(0))
    cut_nested(spans, pairs, weights, size)
    clusters = clusters_from_parents(spans.parents, padded, mention, [True] * size, drop_unlinked_singletons=False)
    cluster_of = {n: c for c, cluster in enumerate(clusters) for n in cluster.spans}
    for one, other in pairs:
        assert one not in cluster_of or other not in cluster_of or cluster_of[one] != cluster_of[other]
    assert len(cluster_of) == size - spans.parents.count(-1)
    # A link is one that some mention of the cluster has itself.
    for cluster in clusters:
        assert cluster.entity_row is None or any(cluster.entity_row in listed[n] for n in cluster.spans)


def test_of_twins_the_one_with_company_stays_then_the_more_probable_then_the_longer() -> None:
    spans = decoded([ROOT, ROOT, 1, ROOT], [2.0, 1.0, 1.0, 1.0])
    drop_twins(spans, [(0, 1)])
    assert spans.parents == [-1, ROOT, 1, ROOT]
    spans = decoded([ROOT, ROOT, ROOT, ROOT], [1.0, 2.0, 1.0, 1.0])
    drop_twins(spans, [(0, 1)])
    assert spans.parents == [-1, ROOT, ROOT, ROOT]
    spans = decoded([ROOT, ROOT, ROOT, ROOT])
    drop_twins(spans, [(1, 0)])
    assert spans.parents == [-1, ROOT, ROOT, ROOT]
    spans = decoded([ROOT, 5, ROOT, ROOT], [3.0, 1.0, 1.0, 1.0], [[], [9], [], []])
    drop_twins(spans, [(0, 1)])
    assert spans.parents == [-1, 5, ROOT, ROOT]


def test_what_hung_from_the_twin_hangs_from_the_one_that_stays() -> None:
    spans = decoded([ROOT, 2, 0, 1], [1.0, 3.0, 1.0, 1.0])
    # 1 stays and was below 0: it takes its place, and 2 hangs from it.
    drop_twins(spans, [(0, 1)])
    assert spans.parents == [-1, ROOT, 1, 1]


def test_an_entity_is_not_lost_with_the_twin_that_has_it() -> None:
    # 0 hangs from entity 9, which is no candidate of 1: 0 stays, though 1 is more probable.
    spans = decoded([5, 2, 0, ROOT], [1.0, 3.0, 1.0, 1.0], [[9], [], [], []])
    drop_twins(spans, [(0, 1)])
    assert spans.parents == [5, -1, 0, ROOT]
    # Where it is one, as the second candidate, the edge is to that.
    spans = decoded([5, 2, 0, ROOT], [1.0, 3.0, 1.0, 1.0], [[9], [3, 9], [], []])
    drop_twins(spans, [(0, 1)])
    assert spans.parents == [-1, 6, 1, ROOT]


def test_a_twin_that_is_not_in_the_result_counts_for_nothing() -> None:
    spans = decoded([ROOT, ROOT, ROOT, ROOT], [-1.0, 2.0, 1.0, 1.0])
    drop_twins(spans, [(0, 1)])
    assert spans.parents == [ROOT] * 4


def test_of_three_twins_one_stays() -> None:
    spans = decoded([ROOT, 0, 1, ROOT], [1.0, 2.0, 3.0, 1.0])
    drop_twins(spans, [(0, 1), (0, 2), (1, 2)])
    assert spans.parents == [-1, -1, ROOT, ROOT]


def test_namesakes_have_the_entity_of_their_cluster_among_their_own() -> None:
    entities = [[7], [7, 8], [], [8]]
    spans = decoded([5, 0, 0, 5], [1.0, 2.0, 1.0, 1.0], entities)
    assert namesakes(spans, [(0, 1), (0, 2), (1, 3)]) == [(0, 1)]
    drop_twins(spans, [], [(0, 1)])
    assert spans.parents == [5, -1, 0, 5]


# The whole way -------------------------------------------------------------------------------------------

TEXT = "Anna Berg met the mayor of Oslo. Berg praised the mayor. The mayor of Oslo left, and Anna Berg's team won."


def _annotate(model: Any, processor: Any, document: Document) -> Any:
    batch = processor(document)
    with torch.no_grad():
        output = model(**batch.inputs)
    return annotate_batch(model, output, batch.documents, options=AnnotationOptions(evidence=True))[0]


def _contains(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("seed", range(4))
def test_no_result_holds_a_mention_and_its_part(
    tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], head: str, seed: int
) -> None:
    """Random models put anything into one cluster; evidence leads to mentions that are there."""
    sizes = {"head": head, "max_span_words": 5, "span_keep_ratio": 2.0}
    model = tiny_model(seed, **sizes)
    processor = tiny_processor(model.config)
    result = _annotate(model, processor, Document(TEXT))
    held = {mention.offsets for cluster in result.clusters for mention in cluster.mentions}
    for cluster in result.clusters:
        offsets = [mention.offsets for mention in cluster.mentions]
        assert not any(_contains(outer, inner) for outer in offsets for inner in offsets)
        for mention in cluster.mentions:
            assert mention.parent is not None
            assert mention.parent.offsets is None or mention.parent.offsets in held
            # The evidence ends at the cluster's entity, or at the root.
            last = result.chain(mention)[-1]
            assert last.entity == cluster.entity and last.kind == ("root" if cluster.entity is None else "entity")
    assert not result.warnings


@pytest.mark.parametrize("head", HEADS)
def test_given_mentions_all_stay(tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], head: str) -> None:
    model = tiny_model(1, head=head)
    mentions = [(0, 9), (0, 4), (5, 9), (14, 31), (18, 23), (27, 31), (46, 55), (50, 55)]
    result = _annotate(model, tiny_processor(model.config), Document(TEXT, mentions=mentions))
    assert sorted(m.offsets for c in result.clusters for m in c.mentions) == sorted(mentions)


def test_off_is_as_before(tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]) -> None:
    on, off = tiny_model(2, span_keep_ratio=2.0), tiny_model(2, span_keep_ratio=2.0, forbid_nested=False)
    processor = tiny_processor(on.config)
    inputs = processor(TEXT).inputs
    with torch.no_grad():
        one, other = on(**inputs), off(**inputs)
    assert torch.equal(one.pair, other.pair) and torch.equal(one.retained, other.retained)
    assert other.contains is None and off.edge_scores(other).forbidden is None
    assert one.contains.any() and on.edge_scores(one).forbidden.any()
    del inputs["span_cores"]
    off(**inputs)
    with pytest.raises(ValueError, match="span_cores"):
        on(**inputs)
