"""The most probable clusterings by the names of entities, and under constraints that nested mentions narrow down."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from hf_corefel import Constraints, CorefELPipeline, Document, DocumentError
from hf_corefel.decoding import whole_clusterings

# Two titles of a person, of a place, and of what is called Moss.
IDS = {
    "Anna_Berg": "Q1",
    "Berg_(painter)": "Q1",
    "Oslo": "Q585",
    "Oslo_(band)": "Q585",
    "Moss_(town)": "Q9",
    "Carl_Moss": "Q9",
}
TEXT = "Berg met Moss in Oslo. Berg won."
GIVEN = [(0, 4), (9, 13), (17, 21), (23, 27)]

Key = frozenset[tuple[frozenset[tuple[int, int]], str | None]]


def key_of(clustering: Any) -> Key:
    """What tells a clustering from others, with the clusters of one Wikidata id as one."""
    mentions: dict[Any, set[tuple[int, int]]] = defaultdict(set)
    for number, cluster in enumerate(clustering.clusters):
        entity = IDS.get(cluster.entity, cluster.entity)
        mentions[(number, None) if entity is None else (0, entity)] |= {m.offsets for m in cluster.mentions}
    return frozenset((frozenset(found), entity) for (_, entity), found in mentions.items())


def added(clusterings: Any) -> dict[Key, float]:
    """The probability of each clustering by Wikidata ids."""
    found: dict[Key, list[float]] = defaultdict(list)
    for clustering in clusterings:
        found[key_of(clustering)].append(math.exp(clustering.log_probability))
    return {key: math.fsum(chances) for key, chances in found.items()}


@pytest.fixture
def unsure(
    tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], tiny_encyclopaedia: Callable[..., Any]
) -> CorefELPipeline:
    """A model of random weights, whose entities share Wikidata ids."""
    model = tiny_model(seed=1, forbid_nested=False)
    processor = tiny_processor(model.config).with_knowledge_base(tiny_encyclopaedia(wikidata=IDS))
    return CorefELPipeline(model, processor, task="coref-el", device="cpu")


def annotated(pipeline: CorefELPipeline, constraints: Any = None, **options: Any) -> Any:
    return pipeline.annotate([Document(TEXT, mentions=GIVEN)], constraints=[constraints], **options)[0]


@pytest.mark.parametrize("linked", [[], GIVEN[:2]])
def test_entities_of_one_id_are_one_clustering(unsure: CorefELPipeline, linked: list[tuple[int, int]]) -> None:
    """Each is there once, with the probabilities of all that come to it."""
    # Of all clusterings by titles, since mentions under two titles of a thing are linked, too.
    expected = added(annotated(unsure, clusterings=2000).clusterings)
    assert math.fsum(expected.values()) == pytest.approx(1.0, abs=1e-4)
    if linked:
        expected = {key: chance for key, chance in expected.items() if any(set(linked) <= spans for spans, _ in key)}
    best = sorted(expected.values(), reverse=True)
    for count in (1, 4, 12):
        found = annotated(unsure, {"must_link": [linked]} if linked else None, clusterings=count, id="wikidata")
        assert len({key_of(clustering) for clustering in found.clusterings}) == count
        chances = [math.exp(clustering.log_probability) for clustering in found.clusterings]
        assert chances == pytest.approx([expected[key_of(c)] for c in found.clusterings], rel=2e-3)
        # The search may miss one under constraints, but not the best.
        sure = 1 if linked else count
        assert chances[:sure] == pytest.approx(best[:sure], rel=2e-3)


def test_an_entity_that_is_asked_for_may_go_by_another_title(unsure: CorefELPipeline) -> None:
    """Mentions under both titles are one cluster, and one clustering."""
    asked = {"entities": {GIVEN[0]: "Oslo"}, "must_link": [[GIVEN[0], GIVEN[2]]]}
    found = annotated(unsure, asked, clusterings=6, id="wikidata").clusterings
    assert len({key_of(clustering) for clustering in found}) == 6
    for clustering in found:
        (cluster,) = (c for c in clustering.clusters if c.entity == "Q585")
        assert {GIVEN[0], GIVEN[2]} <= {m.offsets for m in cluster.mentions}


def test_samples_have_the_probability_of_their_names(unsure: CorefELPipeline) -> None:
    chances = {
        key_of(clustering): clustering.log_probability
        for clustering in annotated(unsure, clusterings=2000, id="wikidata").clusterings
    }
    samples = annotated(unsure, samples=50, seed=2, id="wikidata").samples
    assert [s.log_probability for s in samples] == pytest.approx([chances[key_of(s)] for s in samples], rel=1e-9)


def test_two_titles_of_one_thing_may_be_kept_apart(unsure: CorefELPipeline) -> None:
    """Constraints may ask for that, and then it is found."""
    apart = {"cannot_link": [[GIVEN[0], GIVEN[3]]], "entities": {GIVEN[0]: "Anna_Berg", GIVEN[3]: "Berg_(painter)"}}
    result = annotated(unsure, apart, clusterings=3, id="wikidata")
    assert [c.entity for c in result.clusters].count("Q1") == 2
    assert len(result.clusterings) == 3
    for clustering in result.clusterings:
        assert {m.offsets for c in clustering.clusters if c.entity == "Q1" for m in c.mentions} >= {GIVEN[0], GIVEN[3]}
        assert [c.entity for c in clustering.clusters].count("Q1") == 2


@pytest.mark.parametrize("seed", [4, 5, 6, 7])
def test_constraints_that_nested_mentions_narrow_down(
    seed: int, tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]
) -> None:
    """Where a phrase and its part are linked to two others, these are no more in one cluster than they."""
    text = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."
    model = tiny_model(seed, forbid_nested=True, span_keep_ratio=0.8)
    annotate = CorefELPipeline(model, tiny_processor(model.config), task="coref-el", device="cpu")
    for linked in (
        [[(0, 9), (10, 13)], [(0, 4), (24, 26)]],
        [[(0, 9), (33, 37)], [(0, 4), (46, 50)]],
        [[(0, 9), (46, 50)], [(5, 9), (10, 13)]],
    ):
        found = annotate.annotate([text], constraints=[Constraints(must_link=linked)], clusterings=3)[0]
        assert len(found.clusterings) == 3
        for clustering in found.clusterings:
            clusters = [{m.offsets for m in cluster.mentions} for cluster in clustering.clusters]
            assert all(any(set(mentions) <= cluster for cluster in clusters) for mentions in linked)


def test_a_search_that_finds_nothing_says_so(unsure: CorefELPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_clusterings, "best_clusterings", lambda *_: [])
    result = annotated(unsure, {"must_link": [GIVEN[:2]]}, clusterings=2)
    assert result.clusterings == []
    assert result.warnings == ["clusterings: the search found none that fulfils the constraints"]


def test_what_cannot_be_is_still_refused(unsure: CorefELPipeline) -> None:
    with pytest.raises(DocumentError, match="cannot be linked"):
        annotated(unsure, {"must_link": [GIVEN[:2]], "cannot_link": [GIVEN[:2]]}, clusterings=2)
