"""Reliability, calibration error, and risk against coverage: by hand, and for any decisions."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel import Alternative, AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.documents import Clustering
from hf_corefel.metrics import Decisions, EntityMap, ReliabilityBin, document_decisions

some_decisions = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=40).map(
    lambda pairs: Decisions(np.array([p for p, _ in pairs]), np.array([r for _, r in pairs]))
)


def test_error_and_tables_by_hand() -> None:
    decisions = Decisions(np.array([0.95, 0.85, 1.0, 0.15]), np.array([True, False, True, False]))
    # Bins: [0.1, 0.2) has 0.15 wrong; [0.8, 0.9) 0.85 wrong; [0.9, 1.0] 0.95 and 1.0 right.
    assert decisions.calibration_error() == pytest.approx((0.15 + 0.85 + 2 * 0.025) / 4)
    assert decisions.bins()[9] == ReliabilityBin(0.9, 1.0, 2, pytest.approx(0.975), 1.0)
    assert decisions.bins()[0].count == 0 and math.isnan(decisions.bins()[0].accuracy)
    assert decisions.confidence == pytest.approx(0.7375) and decisions.accuracy == 0.5
    kept = {each.threshold: (each.coverage, each.risk) for each in decisions.risk_coverage([0.0, 0.85, 0.9, 1.0])}
    assert kept == {0.0: (1.0, 0.5), 0.85: (0.75, pytest.approx(1 / 3)), 0.9: (0.5, 0.0), 1.0: (0.25, 0.0)}
    # Risks after 1.0, 0.95, 0.85, 0.15: 0, 0, 1/3, 1/2.
    assert decisions.area_under_risk_coverage() == pytest.approx((1 / 3 + 1 / 2) / 4)


def test_equal_probabilities_share_their_risk() -> None:
    one = Decisions(np.array([0.5, 0.5]), np.array([True, False]))
    other = Decisions(np.array([0.5, 0.5]), np.array([False, True]))
    assert one.area_under_risk_coverage() == other.area_under_risk_coverage() == 0.5


@given(some_decisions)
def test_error_is_bounded_and_at_least_the_difference_of_the_means(decisions: Decisions) -> None:
    error = decisions.calibration_error()
    assert abs(decisions.accuracy - decisions.confidence) - 1e-9 <= error <= 1.0
    assert sum(each.count for each in decisions.bins()) == len(decisions)
    assert decisions.calibration_error(1) == pytest.approx(abs(decisions.accuracy - decisions.confidence))


@given(some_decisions)
def test_coverage_falls_and_all_is_kept_at_zero(decisions: Decisions) -> None:
    table = decisions.risk_coverage()
    assert table[0].coverage == 1.0 and table[0].risk == pytest.approx(1.0 - decisions.accuracy)
    assert all(a.coverage >= b.coverage for a, b in pairwise(table))
    assert 0.0 <= decisions.area_under_risk_coverage() <= 1.0
    json.dumps(decisions.to_dict(), allow_nan=False)


def test_true_probabilities_have_the_error_of_chance() -> None:
    random = np.random.default_rng(1)
    probabilities = random.random(2000)
    decisions = Decisions(probabilities, random.random(2000) < probabilities)
    assert decisions.calibration_error() < 2 * decisions.calibration_error_by_chance() < 0.06


def test_nothing_is_no_number() -> None:
    empty = Decisions()
    assert math.isnan(empty.calibration_error()) and math.isnan(empty.area_under_risk_coverage())
    assert empty.to_dict()["expected_calibration_error"] is None
    assert len(empty + Decisions(np.array([0.5]), np.array([True]))) == 1


@pytest.mark.parametrize(
    ("probabilities", "right", "message"),
    [([0.5], [], "right: expected one value"), ([1.5], [True], "from 0 to 1"), ([math.nan], [True], "from 0 to 1")],
)
def test_bad_decisions_are_refused(probabilities: Any, right: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Decisions(probabilities, right)


# "Anna met Bo. Anna left Oslo."
TEXT = "Anna met Bo. Anna left Oslo."
ANNA, BO, AGAIN, OSLO = Mention(0, 4), Mention(9, 11), Mention(13, 17), Mention(23, 27)


def found(mention: Mention, probability: float) -> Mention:
    return Mention(mention.begin, mention.end, probability=probability, link_probability=0.1)


RESULT = AnnotatedDocument(
    TEXT,
    [
        Cluster((found(ANNA, 0.9), found(AGAIN, 0.8)), "Anna_Berg", 0.6, alternatives=(Alternative(None, 0.25),)),
        Cluster((found(OSLO, 0.7),), "Oslo", 0.5),
    ],
    samples=[
        Clustering((Cluster((ANNA, AGAIN), "Anna_Berg"),), -1.0),
        Clustering((Cluster((ANNA,)), Cluster((AGAIN,))), -1.0),
        Clustering((), -1.0),
        Clustering((Cluster((ANNA, AGAIN)), Cluster((OSLO,))), -1.0),
    ],
)


def decisions_of(clusters: list[Cluster], **annotated: Any) -> dict[str, tuple[list[float], list[bool]]]:
    gold = Document(TEXT, clusters=clusters, **annotated)
    parts = vars(document_decisions([gold], [RESULT]))
    return {name: (each.probabilities.tolist(), each.right.tolist()) for name, each in parts.items()}


def test_decisions_of_a_document() -> None:
    assert decisions_of([Cluster((ANNA, AGAIN), "Anna_Berg"), Cluster((BO,))]) == {
        "links": ([0.6, 0.6], [True, True]),
        "links_found": ([0.6, 0.6, 0.5], [True, True, False]),
        "mentions": ([0.9, 0.8, 0.7], [True, True, False]),
        "antecedents": ([0.5], [True]),
    }


def test_wrong_entity_nil_and_cluster() -> None:
    found = decisions_of([Cluster((ANNA,), "Anna_Moss"), Cluster((AGAIN,)), Cluster((OSLO,), "Oslo")])
    assert found["links"] == ([0.6, 0.6, 0.5], [False, False, True])
    assert found["antecedents"] == ([0.5], [False])


def test_what_is_not_annotated_gives_no_decision() -> None:
    gold = [Cluster((ANNA, AGAIN), "Anna_Berg"), Cluster((OSLO,))]
    without_links = decisions_of(gold, annotated={"links": False})
    assert without_links["links"] == without_links["links_found"] == ([], [])
    assert without_links["antecedents"] == ([0.5], [True])
    assert decisions_of(gold, annotated={"clusters": False})["antecedents"] == ([], [])
    assert decisions_of(gold, annotated={"mentions": "given"})["mentions"] == ([], [])
    assert decisions_of(gold, annotated={"mentions": "named"})["mentions"] == ([], [])
    # Whether a link that gold lacks is wrong is known where gold has all.
    for annotated in ({"mentions": "given"}, {"mentions": "named"}, {"links": "some"}):
        assert decisions_of(gold, annotated=annotated)["links_found"] == ([], [])
    complete = Document(TEXT, clusters=gold, annotated={"mentions": "named"}, mention_scope="named")
    assert document_decisions([complete], [RESULT]).links_found.right.tolist() == [True, True, False]
    of_names = decisions_of(gold, annotated={"mentions": "named"}, mention_scope="named")
    assert of_names["mentions"] == ([0.9, 0.8, 0.7], [True, True, True])


def test_of_some_links_the_probability_is_among_entities() -> None:
    found = decisions_of([Cluster((ANNA, AGAIN), "Anna_Berg"), Cluster((OSLO,))], annotated={"links": "some"})
    assert found["links"] == ([pytest.approx(0.8)] * 2, [True, True])  # 0.6 / (1 - 0.25), and nothing of Oslo


def test_names_are_compared_by_the_map_and_ids_where_they_are_known() -> None:
    gold = Document(TEXT, clusters=[Cluster((ANNA, AGAIN), "Q1"), Cluster((OSLO,), "Q585")])
    same = EntityMap({"Anna_Berg": "Q1"})
    ids = {"Q1": "Q1", "Anna_Berg": "Q1"}
    links = document_decisions([gold], [RESULT], entity_map=same, wikidata=ids.get).links
    assert links.right.tolist() == [True, True]  # Oslo has no id here, which is no mistake
    assert document_decisions([gold], [RESULT], entity_map=same).links.right.tolist() == [True, True, False]


def test_names_that_are_ids_are_known_without_a_knowledge_base_that_says_so() -> None:
    """By the map, and where a knowledge base calls entities by their ids."""
    gold = Document(TEXT, clusters=[Cluster((ANNA, AGAIN), "Q1"), Cluster((OSLO,), "Q585")])
    by_id = AnnotatedDocument(TEXT, [Cluster((ANNA, AGAIN), "Q1", 0.6), Cluster((OSLO,), "wikidata:Q2", 0.5)])

    def nothing(entity: str) -> None:
        return None

    assert document_decisions([gold], [by_id], wikidata=nothing).links.right.tolist() == [True, True, False]
    mapped = document_decisions([gold], [RESULT], entity_map={"Anna_Berg": "Q1", "Oslo": "Q2"}, wikidata=nothing)
    assert mapped.links.right.tolist() == [True, True, False]
    # Its own name has no id, but the one that the map gives it has.
    renamed = document_decisions(
        [gold], [RESULT], entity_map={"Oslo": "Oslo_(city)"}, wikidata={"Oslo_(city)": "Q2"}.get
    )
    assert renamed.links.right.tolist() == [False]
    names = Document(TEXT, clusters=[Cluster((OSLO,), "Q_1")])
    assert len(document_decisions([names], [RESULT], entity_map={"Oslo": "Q_1"}, wikidata=nothing).links) == 1


def test_links_that_are_known_in_part_need_alternatives() -> None:
    gold = Document(TEXT, clusters=[Cluster((OSLO,), "Oslo")], annotated={"links": "some"})
    with pytest.raises(ValueError, match=r"links are annotated in part, .* annotate with a high top_k"):
        document_decisions([gold], [RESULT])
    # Where no decision is made of it, nothing is asked for.
    assert not len(document_decisions([gold], [AnnotatedDocument(TEXT, [Cluster((ANNA,), "Oslo", 0.5)])]).links)


def test_results_of_other_documents_are_refused() -> None:
    one, other = (Document(TEXT, id=name, clusters=[Cluster((ANNA,), name)]) for name in ("one", "other"))
    results = [AnnotatedDocument(TEXT, each.clusters or [], each.id) for each in (other, one)]
    with pytest.raises(ValueError, match="document 'one': the prediction at its place is of document 'other'"):
        document_decisions([one, other], results)
    with pytest.raises(ValueError, match="2 gold documents but 1 predictions; they are matched by position"):
        document_decisions([one, other], results[:1])
    with pytest.raises(ValueError, match="the prediction is of a different text"):
        document_decisions([one], [AnnotatedDocument("Oslo is old.", [])])


def test_documents_without_gold_are_refused() -> None:
    with pytest.raises(ValueError, match=r"clusters: missing"):
        document_decisions([Document(TEXT, id="mine")], [RESULT])
