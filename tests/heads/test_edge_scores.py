from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from hf_corefel.heads import EdgeScores, GoldClustering, document_entities

INF = float("inf")


def small(**changes: object) -> EdgeScores:
    values: dict[str, object] = {
        "mention": torch.tensor([[1.0, 2.0, 100.0]]),
        "link": torch.tensor([[[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]]]),
        "candidate_rows": torch.tensor([[[7, 8], [9, -1], [7, 8]]]),
        "pair": torch.tensor([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]]]),
        "mask": torch.tensor([[True, True, False]]),
        "root_pair": torch.tensor([[1000.0, 2000.0, 3000.0]]),
    }
    return EdgeScores(**{**values, **changes})  # type: ignore[arg-type]


def test_edges_are_the_sums_of_the_paper() -> None:
    scores = small()
    # Row = parent, column = child: 1 + 2 + Φc(parent, child).
    torch.testing.assert_close(
        scores.span_to_span, torch.tensor([[[-INF, 3.2, -INF], [3.4, -INF, -INF], [-INF, -INF, -INF]]])
    )
    torch.testing.assert_close(scores.candidate_scores, torch.tensor([[[11.0, 21.0], [32.0, -INF], [-INF, -INF]]]))
    torch.testing.assert_close(scores.root, torch.tensor([[1001.0, 2002.0, -INF]]))


def test_original_root_score_has_no_mention_term() -> None:
    torch.testing.assert_close(small(root_score="original").root, torch.tensor([[1000.0, 2000.0, -INF]]))


def test_root_needs_root_pair() -> None:
    with pytest.raises(ValueError, match=r"^root_pair: "):
        _ = small(root_pair=None).root


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mention", torch.zeros(3)),
        ("link", torch.zeros(1, 3)),
        ("link", torch.zeros(1, 2, 2)),
        ("candidate_rows", torch.zeros(1, 3, 1, dtype=torch.long)),
        ("pair", torch.zeros(1, 3, 2)),
        ("mask", torch.ones(2, 3, dtype=torch.bool)),
        ("root_pair", torch.zeros(1, 4)),
        ("nil", torch.zeros(1, 3, 1)),
        ("root_score", "learned"),
    ],
)
def test_bad_fields_are_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: expected"):
        small(**{field: value})


def test_masked_values_are_not_read_and_get_no_gradient() -> None:
    nan = math.nan
    mention = torch.tensor([[1.0, 2.0, nan]], requires_grad=True)
    link = torch.tensor([[[10.0, 20.0], [30.0, nan], [nan, nan]]], requires_grad=True)
    pair = torch.tensor([[[nan, 0.2, nan], [0.4, nan, nan], [nan, nan, nan]]], requires_grad=True)
    root_pair = torch.tensor([[0.0, 0.0, nan]], requires_grad=True)
    scores = small(mention=mention, link=link, pair=pair, root_pair=root_pair)
    total = (scores.span_to_span.exp().sum() + scores.candidate_scores.exp().sum() + scores.root.exp().sum()).log()
    total.backward()
    assert torch.isfinite(total)
    assert link.grad is not None
    assert pair.grad is not None
    assert mention.grad is not None
    assert root_pair.grad is not None
    assert mention.grad[0, 2] == 0
    assert root_pair.grad[0, 2] == 0
    assert link.grad[0, 1, 1] == 0
    assert (link.grad[0, 2] == 0).all()
    assert (pair.grad != 0).nonzero().tolist() == [[0, 0, 1], [0, 1, 0]]


def test_types_are_converted_together() -> None:
    half = small().to(torch.bfloat16)
    assert {half.mention.dtype, half.link.dtype, half.pair.dtype, half.root.dtype} == {torch.bfloat16}
    assert half.nil is None
    assert half.candidate_rows.dtype == torch.int64
    assert half.mask.dtype == torch.bool
    assert half.at_least_float32().pair.dtype == torch.float32
    assert small().to(torch.float64).at_least_float32().pair.dtype == torch.float64


def test_without_candidates_only_drops_candidates() -> None:
    scores = small()
    bare = scores.without_candidates()
    assert bare.candidate_scores.shape == (1, 3, 0)
    assert bare.num_candidates == 0
    assert bare.num_spans == 3
    assert bare.pair is scores.pair


def test_unreachable_clusters_become_nil_and_are_counted() -> None:
    candidate_rows = torch.tensor([[[1, 2], [3, -1], [4, 5], [6, -1], [1, -1]]])
    mask = torch.tensor([[True, True, True, True, False]])
    # Cluster 0 reaches entity 3 by its second span, cluster 4 wants an entity that only a pruned
    # span has, cluster 9 is NIL, and the padded span repeats cluster 4.
    gold = GoldClustering(torch.tensor([[0, 0, 4, 9, 4]]), torch.tensor([[3, 3, 1, -1, 1]]))
    reachable, count = gold.restrict_to_reachable(candidate_rows, mask)
    assert count == 1
    assert reachable.cluster_ids.tolist() == [[0, 0, 4, 9, -1]]
    assert reachable.entity_rows.tolist() == [[3, 3, -1, -1, -1]]
    assert gold.entity_rows.tolist() == [[3, 3, 1, -1, 1]]


def test_unreachable_clusters_are_counted_once_a_document() -> None:
    gold = GoldClustering(torch.tensor([[0, 0, 1], [0, 0, 0]]), torch.tensor([[3, 3, 4], [3, 3, 3]]))
    nothing = torch.full((2, 3, 2), -1)
    reachable, count = gold.restrict_to_reachable(nothing, torch.ones(2, 3, dtype=torch.bool))
    assert count == 3
    assert (reachable.entity_rows == -1).all()


def test_spans_outside_clusters_have_no_entity() -> None:
    gold = GoldClustering(torch.tensor([[-1, 2]]), torch.tensor([[7, 8]]))
    candidate_rows = torch.tensor([[[7, -1], [8, -1]]])
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert gold.within(mask).entity_rows.tolist() == [[-1, 8]]
    assert gold.correct_candidates(candidate_rows).tolist() == [[[False, False], [True, False]]]
    restricted, count = gold.restrict_to_reachable(candidate_rows, mask)
    assert restricted.entity_rows.tolist() == [[-1, 8]]
    assert count == 0


def test_entities_of_a_document_are_sorted_and_indexed() -> None:
    candidate_rows = torch.tensor([[[5, 4], [4, -1], [9, 9]], [[7, 1], [-1, -1], [3, 2]]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    entities, index = document_entities(candidate_rows, mask)
    assert entities.tolist() == [[4, 5, -1, -1], [1, 2, 3, 7]]
    real = (candidate_rows >= 0) & mask.unsqueeze(-1)
    assert torch.equal(entities.gather(1, index.flatten(1)).view_as(candidate_rows)[real], candidate_rows[real])
    assert (index[~real] == 0).all()


def test_entities_of_documents_without_candidates() -> None:
    entities, index = document_entities(torch.full((2, 3, 2), -1), torch.ones(2, 3, dtype=torch.bool))
    assert entities.shape == (2, 0)
    assert index.shape == (2, 3, 2)


def test_scores_are_a_plain_dataclass() -> None:
    assert dataclasses.replace(small(), root_score="original").root_score == "original"
