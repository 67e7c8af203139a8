"""Recall of pronouns."""

from __future__ import annotations

import pytest

from hf_corefel import AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.metrics import PronounRecall, pronoun_recall

#       0         1         2         3         4
#       0123456789012345678901234567890123456789012345
TEXT = "Anna Berg left. She said it rained on her car."
ANNA, SHE, IT, HER, CAR = Mention(0, 9), Mention(16, 19), Mention(25, 27), Mention(38, 41), Mention(38, 45)
GOLD = Document(TEXT, clusters=[Cluster((ANNA, SHE, HER), "Anna_Berg"), Cluster((IT,)), Cluster((CAR,))])
NAMES = [{ANNA.offsets}]


def count(*clusters: Cluster) -> PronounRecall:
    return pronoun_recall([GOLD], NAMES, [AnnotatedDocument(TEXT, list(clusters))])


def test_only_pronouns_of_named_clusters_count() -> None:
    assert count() == PronounRecall(2, 0, 2, 0)
    assert count().to_dict() == {
        "pronouns": 2,
        "resolved_to_a_name": 0.0,
        "pronouns_of_linked_clusters": 2,
        "linked_to_the_entity": 0.0,
    }


def test_a_pronoun_is_resolved_by_a_name_and_linked_by_its_entity() -> None:
    assert count(Cluster((ANNA, SHE, HER), "Anna_Berg")) == PronounRecall(2, 2, 2, 2)
    assert count(Cluster((ANNA, SHE), "Someone"), Cluster((HER,), "Anna_Berg")) == PronounRecall(2, 1, 2, 1)
    # Pronouns among themselves lead to no name.
    assert count(Cluster((ANNA,), "Anna_Berg"), Cluster((SHE, HER))) == PronounRecall(2, 0, 2, 0)


def test_counts_add_up_over_documents() -> None:
    right = AnnotatedDocument(TEXT, [Cluster((ANNA, SHE, HER))])
    both = pronoun_recall([GOLD, GOLD], NAMES * 2, [right, AnnotatedDocument(TEXT, [])])
    assert both == PronounRecall(2, 2, 2, 0) + PronounRecall(2, 0, 2, 0)
    assert both.to_dict()["resolved_to_a_name"] == 0.5
    assert PronounRecall().to_dict()["resolved_to_a_name"] == 0.0


def test_results_of_other_documents_are_refused() -> None:
    other = AnnotatedDocument("Oslo is old.", [])
    for predicted, message in (([other], "the prediction is of a different text"), ([], "1 gold documents but 0 pred")):
        with pytest.raises(ValueError, match=message):
            pronoun_recall([GOLD], NAMES, predicted)
    with pytest.raises(ValueError, match="names: expected those of each of 1 documents, got 2"):
        pronoun_recall([GOLD], NAMES * 2, [AnnotatedDocument(TEXT, [])])
