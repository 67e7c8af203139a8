from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.documents import AnnotatedDocument, Candidate, Cluster, Document, DocumentError, Mention
from hf_corefel.metrics import (
    HardCases,
    PrecisionRecallF1,
    Scores,
    evaluate,
    score_clusters,
    score_document,
    score_documents,
)

AUTHORS = json.loads((Path(__file__).parents[1] / "data" / "authors_metrics.json").read_text(encoding="utf-8"))
TEXT = "The Alliance met. NATO talks in Oslo 🇳🇴 went on; Oslo slept."


def cluster(entity: str | None, *surfaces: str, text: str = TEXT, skip: int = 0) -> Cluster:
    """A cluster of the first occurrences of the surfaces, or the later ones from ``skip`` on."""
    begins = [text.index(surface, skip) for surface in surfaces]
    return Cluster(tuple(Mention(b, b + len(s)) for b, s in zip(begins, surfaces, strict=True)), entity)


ALLIANCE, NATO, OSLO = "Alliance", "NATO", "Oslo"
GOLD = [cluster("NATO", ALLIANCE, NATO), Cluster((Mention(32, 36), Mention(49, 53)), "Oslo")]


def gold_document(**fields: Any) -> Document:
    return Document(TEXT, **{"clusters": GOLD, **fields})


def test_perfect_prediction() -> None:
    scores = evaluate([gold_document(id="a")], [AnnotatedDocument(TEXT, GOLD[::-1], id="a")])
    assert {key: value for key, value in scores.items() if value != 1.0} == {
        "hard_case_accuracy": 0.0,
        "hard_cases": 0.0,
        "singleton_cluster_accuracy": 0.0,
        "singleton_clusters": 0.0,
        "multi_mention_clusters": 2.0,
    }
    json.dumps(scores, allow_nan=False)


def test_a_wrong_link_costs_linking_and_not_coreference() -> None:
    predicted = AnnotatedDocument(TEXT, [cluster("Allianz", ALLIANCE, NATO), GOLD[1]])
    scores = evaluate([gold_document()], [predicted])
    assert scores["coref_f1"] == scores["mention_f1"] == 1.0
    assert (scores["el_mention_precision"], scores["el_mention_recall"], scores["el_mention_f1"]) == (0.5, 0.5, 0.5)
    assert scores["el_hard_f1"] == scores["el_soft_f1"] == 0.5


def test_keys_are_complete_and_flat() -> None:
    names = ("mention", "muc", "b_cubed", "ceaf_e", "ceaf_m", "lea", "el_mention", "el_hard", "el_soft")
    expected = {f"{name}_{part}" for name in names for part in ("precision", "recall", "f1")}
    kinds = ("singleton", "multi_mention", "one_surface", "several_surfaces")
    expected |= {f"{kind}_{part}" for kind in kinds for part in ("cluster_accuracy", "clusters")}
    assert set(evaluate([], [])) == expected | {"coref_f1", "hard_case_accuracy", "hard_cases"}
    assert set(evaluate([], []).values()) == {0.0}


def test_counts_are_added_before_dividing() -> None:
    """Two mentions right of two, and one of four: 3/6, where the mean of the documents would be 5/8."""
    text = "a b c d"
    gold = [Document(text, clusters=[Cluster((Mention(0, 1), Mention(2, 3)), "E")])]
    gold.append(Document(text, clusters=[Cluster(tuple(Mention(i, i + 1) for i in (0, 2, 4, 6)), "E")]))
    predicted = [AnnotatedDocument(text, list(gold[0].clusters or []))]
    predicted.append(AnnotatedDocument(text, [Cluster((Mention(0, 1),), "E")]))
    assert evaluate(gold, predicted)["el_mention_recall"] == 0.5


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [([], []), (GOLD, []), ([], GOLD)],
    ids=["both empty", "nothing predicted", "nothing to find"],
)
def test_empty_sides_score_zero(gold: list[Cluster], predicted: list[Cluster]) -> None:
    scores = evaluate([gold_document(clusters=gold)], [AnnotatedDocument(TEXT, predicted)])
    assert {value for key, value in scores.items() if not key.endswith("_clusters")} == {0.0}
    assert scores["multi_mention_clusters"] == float(len(gold))


def test_the_average_is_that_of_the_authors() -> None:
    for case in AUTHORS["cases"]:
        scores = score_clusters(authors(case["gold"]), authors(case["pred"]))
        assert scores.coref_f1 == pytest.approx(case["scores"]["coref_avg_f1"], abs=1e-9)
    every = [score_clusters(authors(case["gold"]), authors(case["pred"])) for case in AUTHORS["cases"]]
    expected = AUTHORS["micro_over_all_cases"]["coref_avg_f1"]
    assert sum(every, Scores()).to_dict()["coref_f1"] == pytest.approx(expected, abs=1e-9)
    for scenario in AUTHORS["dwie_cluster_scenarios"]:
        gold, predicted = ([(mentions, None) for mentions in scenario[side]] for side in ("gold", "pred"))
        assert score_clusters(gold, predicted).coref_f1 == pytest.approx(scenario["coref_avg_f1"], abs=1e-9)


def authors(clusters: list[Any]) -> list[tuple[list[tuple[int, int]], str | None]]:
    return [([tuple(mention) for mention in mentions], link) for mentions, link in clusters]


def test_hard_cases_from_the_candidates_of_the_document() -> None:
    begin, later = TEXT.index(ALLIANCE), TEXT.index(NATO)
    listed = {
        (begin, begin + 8): [Candidate("Allianz", 0.9)],
        (later, later + 4): [Candidate("NATO", 1.0)],
    }
    right, wrong = AnnotatedDocument(TEXT, GOLD), AnnotatedDocument(TEXT, [GOLD[1]])
    document = gold_document(candidates=listed)
    scores = evaluate([document, document], [right, wrong])
    assert (scores["hard_case_accuracy"], scores["hard_cases"]) == (0.5, 2.0)


def test_hard_cases_from_a_function_replace_those_of_the_document() -> None:
    asked: list[tuple[str | None, str | None]] = []

    def candidates(document: Document, mention: Mention) -> set[str]:
        asked.append((document.id, mention.text))
        return {"NATO", "Oslo"} if mention.text != ALLIANCE else set()

    document = gold_document(id="x", candidates={(32, 36): [Candidate("Bergen", 1.0)]})
    scores = evaluate([document], [AnnotatedDocument(TEXT, GOLD)], candidates=candidates)
    assert (scores["hard_case_accuracy"], scores["hard_cases"]) == (1.0, 1.0)
    assert sorted(asked, key=str) == [("x", ALLIANCE), ("x", NATO), ("x", OSLO), ("x", OSLO)]


def test_ids_must_agree_when_both_are_given() -> None:
    with pytest.raises(DocumentError, match="document 'a': the prediction at its place is of document 'b'"):
        evaluate([gold_document(id="a")], [AnnotatedDocument(TEXT, GOLD, id="b")])
    for left, right in (("a", None), (None, "b"), (None, None)):
        scores = evaluate([gold_document(id=left)], [AnnotatedDocument(TEXT, GOLD, id=right)])
        assert scores["coref_f1"] == 1.0


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        (TEXT.replace("Oslo slept", "Oslo wakes"), "first difference at code point 54, lengths 60 and 60"),
        (TEXT + "\n", "first difference at code point 60, lengths 60 and 61"),
    ],
)
def test_texts_must_be_the_same(text: str, difference: str) -> None:
    with pytest.raises(
        DocumentError, match=rf"document 'a'\.text: the prediction is of a different text \({difference}"
    ):
        evaluate([gold_document(id="a")], [AnnotatedDocument(text, [], id="a")])


def test_gold_clusters_must_be_there() -> None:
    with pytest.raises(DocumentError, match=r"document 'a'\.clusters: missing"):
        score_document(Document(TEXT, id="a"), AnnotatedDocument(TEXT, []))


def test_as_many_predictions_as_documents() -> None:
    with pytest.raises(DocumentError, match="2 gold documents but 1 predictions"):
        score_documents([gold_document(), gold_document()], [AnnotatedDocument(TEXT, GOLD)])


def test_scores_add_up() -> None:
    one = score_clusters([(["a", "b"], "E")], [(["a", "b"], "E")], candidates={"a": {"E"}, "b": set[str]()}.get)
    both = one + one
    assert both.counts["muc"] == PrecisionRecallF1(2.0, 2.0, 2.0, 2.0)
    assert both.hard_cases == HardCases(2, 2)
    assert one + Scores() == Scores() + one == one
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]
