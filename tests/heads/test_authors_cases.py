"""Losses and decodings as the original research code computes them, on its own random inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel.decoding.clusters import clusters_from_parents
from hf_corefel.heads import EdgeScores, GlobalHead, GoldClustering, Head, LocalHead

CASES = json.loads((Path(__file__).parents[1] / "data" / "authors_loss_decode.json").read_text(encoding="utf-8"))
HEADS: dict[str, Head] = {"mtt": GlobalHead("arsinh"), "local": LocalHead()}


def tensors(case: dict[str, Any], kind: str) -> tuple[EdgeScores, GoldClustering]:
    """Edge scores that add up to the matrix of the case, with Φp = ±1 by its list of positive spans."""
    spans = case["n_spans"]
    matrix = torch.tensor(case["scores"], dtype=torch.float64)
    first = 1 if kind == "mtt" else 0
    width = matrix.shape[1] - first - spans
    candidate_rows = torch.full((spans, width), -1)
    for span, candidates in enumerate(case["candidates"]):
        candidate_rows[span, : len(candidates)] = torch.tensor(candidates, dtype=torch.long)
    mention = torch.full((spans,), -1.0, dtype=torch.float64)
    mention[case["spans_with_positive_pruner"]] = 1.0
    pair = matrix[:, first + width :].T - mention.unsqueeze(1) - mention.unsqueeze(0)
    scores = EdgeScores(
        mention=mention.unsqueeze(0),
        link=(matrix[:, first : first + width] - mention.unsqueeze(1)).unsqueeze(0),
        candidate_rows=candidate_rows.unsqueeze(0),
        pair=pair.unsqueeze(0),
        mask=torch.ones(1, spans, dtype=torch.bool),
        root_pair=(matrix[:, 0] - mention).unsqueeze(0),
    )
    cluster_ids = [-1 if cluster is None else cluster for cluster in case["gold_cluster_of_span"]]
    links = {int(cluster): entity for cluster, entity in case["gold_link_of_cluster"].items()}
    entities = [-1 if links.get(cluster) is None else links[cluster] for cluster in cluster_ids]
    gold = GoldClustering(torch.tensor([cluster_ids]), torch.tensor([entities]))
    reachable, _ = gold.restrict_to_reachable(scores.candidate_rows, scores.mask)
    return scores, reachable


def selected(kind: str) -> list[Any]:
    return [pytest.param(kind, case, id=f"{kind}-{number}") for number, case in enumerate(CASES[kind])]


ALL = [*selected("mtt"), *selected("local")]


@pytest.mark.parametrize(("kind", "case"), ALL)
def test_loss(kind: str, case: dict[str, Any]) -> None:
    scores, gold = tensors(case, kind)
    assert HEADS[kind].loss(scores, gold).item() == pytest.approx(case["loss"], abs=1e-8, rel=0)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize(("kind", "case"), ALL)
def test_decoding(kind: str, case: dict[str, Any], filtered: bool) -> None:
    scores, _ = tensors(case, kind)
    clusters = clusters_from_parents(
        HEADS[kind].decode(scores).parents[0].tolist(),
        scores.candidate_rows[0].tolist(),
        scores.mention[0].tolist(),
        scores.mask[0].tolist(),
        drop_unlinked_singletons=filtered,
    )
    expected = case["decode_filtered" if filtered else "decode_no_filter"]
    assert [list(cluster.spans) for cluster in clusters] == expected["clusters"]
    links = [
        [span, cluster.entity_row] for cluster in clusters for span in cluster.spans if cluster.entity_row is not None
    ]
    assert sorted(links) == expected["links"]
