from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable

import pytest
import torch

from hf_corefel.decoding.clusters import clusters_from_parents
from hf_corefel.heads import EdgeScores, GoldClustering, LocalHead

MakeDocuments = Callable[..., tuple[EdgeScores, GoldClustering]]


def choices(scores: EdgeScores) -> list[dict[int, float]]:
    """Probability of each parent of each span of a one-document batch, written out."""
    size = scores.num_spans
    rows = []
    for span in range(size):
        row = {size: 0.0}
        row |= {parent: scores.span_to_span[0, parent, span].item() for parent in range(span)}
        row |= {
            size + 1 + k: value
            for k, value in enumerate(scores.candidate_scores[0, span].tolist())
            if scores.candidate_rows[0, span, k] >= 0
        }
        total = sum(math.exp(value) for value in row.values())
        rows.append({parent: math.exp(value) / total for parent, value in row.items()})
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_entity_probabilities_agree_with_enumeration(make_documents: MakeDocuments, seed: int) -> None:
    scores, _ = make_documents([4], seed=seed)
    rows = choices(scores)
    expected: list[dict[int | None, float]] = [defaultdict(float) for _ in rows]
    for parents in itertools.product(*rows):
        probability = math.prod(row[parent] for row, parent in zip(rows, parents, strict=True))
        for cluster in clusters_from_parents(
            parents, scores.candidate_rows[0].tolist(), [1.0] * 4, [True] * 4, drop_unlinked_singletons=False
        ):
            for span in cluster.spans:
                expected[span][cluster.entity_row] += probability
    edges, entities = LocalHead().marginals(scores)
    for span, row in enumerate(rows):
        got = [
            *edges.span_to_span[0, :, span].tolist(),
            edges.root[0, span].item(),
            *edges.candidate_probabilities[0, span].tolist(),
        ]
        assert got == pytest.approx([row.get(parent, 0.0) for parent in range(len(got))], abs=1e-12)
        assert entities.nil[0, span].item() == pytest.approx(expected[span][None], abs=1e-12)
        found = dict(zip(entities.entity_rows[0].tolist(), entities.probability[0, span].tolist(), strict=True))
        for entity, probability in found.items():
            assert probability == pytest.approx(expected[span][entity], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_loss_is_the_log_probability_of_the_gold_choices(make_documents: MakeDocuments, seed: int) -> None:
    scores, gold = make_documents([5], seed=seed)
    cluster_ids, links = gold.cluster_ids[0].tolist(), gold.entity_rows[0].tolist()
    expected = 0.0
    for span, row in enumerate(choices(scores)):
        right = {earlier for earlier in range(span) if cluster_ids[earlier] == cluster_ids[span] >= 0}
        ids = scores.candidate_rows[0, span].tolist()
        if cluster_ids[span] >= 0 and links[span] in set(ids) - {-1}:
            right.add(6 + ids.index(links[span]))
        expected -= math.log(sum(row[parent] for parent in right or {5}))
    assert LocalHead().loss(scores, gold).item() == pytest.approx(expected, abs=1e-10)


def test_decoding_takes_the_most_probable_choice(make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([9], seed=5)
    expected = [max(row, key=lambda parent: row[parent]) for row in choices(scores)]
    assert LocalHead().decode(scores).parents[0].tolist() == expected


def test_ties_go_to_the_span_itself_then_candidates_then_the_leftmost_antecedent() -> None:
    scores = EdgeScores(
        mention=torch.zeros(1, 4),
        link=torch.tensor([[[0.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 1.0]]]),
        candidate_rows=torch.tensor([[[1, 2], [1, 2], [1, 2], [-1, -1]]]),
        pair=torch.tensor([[[0.0, 1.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 0.0, 2.0], [9.0, 9.0, 9.0, 0.0]]]),
        mask=torch.ones(1, 4, dtype=torch.bool),
    )
    assert LocalHead().decode(scores).parents.tolist() == [[4, 5, 6, 0]]


def test_half_precision_scores_give_a_float32_loss(make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([6])
    loss = LocalHead().loss(scores.to(torch.bfloat16), gold)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(LocalHead().loss(scores, gold).item(), abs=0.3)
