"""Small random documents for the tests of the heads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from hf_corefel.heads import EdgeScores, GoldClustering
from hf_corefel.heads.sparse_scores import SparseEdgeScores

MakeDocuments = Callable[..., tuple[EdgeScores, GoldClustering]]


def build_documents(
    lengths: list[int],
    candidates: int = 3,
    *,
    seed: int = 0,
    scale: float = 1.5,
    entities: int = 5,
    root_score: str = "paper",
    garbage: float = float("nan"),
) -> tuple[EdgeScores, GoldClustering]:
    """Documents with the given numbers of spans, float64; ``garbage`` stands wherever nobody may look.

    The gold is always possible: clusters are linked only to a candidate of one of their spans.
    """
    generator = torch.Generator().manual_seed(seed)
    documents, spans = len(lengths), max(lengths)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale

    mask = torch.arange(spans) < torch.tensor(lengths).unsqueeze(1)
    order = torch.rand(documents, spans, entities, generator=generator).argsort(dim=-1)
    candidate_rows = order[..., :candidates] + 10
    padding = torch.rand(documents, spans, candidates, generator=generator) < 0.4
    candidate_rows = candidate_rows.masked_fill(padding | ~mask.unsqueeze(-1), -1)
    both = mask.unsqueeze(2) & mask.unsqueeze(1)
    scores = EdgeScores(
        mention=normal(documents, spans).masked_fill(~mask, garbage),
        link=normal(documents, spans, candidates).masked_fill(candidate_rows < 0, garbage),
        candidate_rows=candidate_rows,
        pair=normal(documents, spans, spans).masked_fill(~both, garbage),
        mask=mask,
        root_pair=normal(documents, spans).masked_fill(~mask, garbage),
        nil=normal(documents, spans).masked_fill(~mask, garbage),
        root_score=root_score,
    )

    cluster_ids = torch.randint(-1, 3, (documents, spans), generator=generator)
    cluster_ids = cluster_ids.masked_fill(~mask, 0)  # a padded span may carry any gold: nobody looks
    gold_entities = torch.full((documents, spans), -1)
    for document, length in enumerate(lengths):
        used: set[int] = set()
        for cluster in range(2):  # cluster 2 stays NIL
            members = (cluster_ids[document, :length] == cluster).nonzero().flatten()
            reachable = sorted(set(candidate_rows[document, members].flatten().tolist()) - used - {-1})
            if reachable:
                gold_entities[document, members] = reachable[0]
                used.add(reachable[0])
    return scores, GoldClustering(cluster_ids, gold_entities)


@pytest.fixture
def make_documents() -> MakeDocuments:
    """`build_documents`."""
    return build_documents


def listed_edges(scores: EdgeScores) -> SparseEdgeScores:
    """All edges of the one document, in no particular order."""
    source, target = scores.pair_mask[0].nonzero(as_tuple=True)
    order = torch.randperm(len(source), generator=torch.Generator().manual_seed(0))
    source, target = source[order], target[order]
    assert scores.root_pair is not None and scores.nil is not None
    return SparseEdgeScores(
        mention=scores.mention[0],
        link=scores.link[0],
        candidate_rows=scores.candidate_rows[0],
        source=source,
        target=target,
        pair=scores.pair[0, source, target],
        root_pair=scores.root_pair[0],
        nil=scores.nil[0],
        root_score=scores.root_score,
    )
