"""Heads that read a list of all edges say what they say of the scores of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from hf_corefel.heads import EdgeScores, GlobalHead, LocalHead, StandaloneCorefHead, StandaloneLinkingHead
from hf_corefel.heads.sparse_tree import SparseTree

from .conftest import listed_edges

HEADS = [
    GlobalHead(),
    GlobalHead(edge_activation="arsinh"),
    GlobalHead(root_score="original"),
    LocalHead(),
    StandaloneCorefHead(),
    StandaloneLinkingHead(),
]


def _named(head: Any) -> str:
    settings = (str(getattr(head, name)) for name in ("edge_activation", "root_score") if hasattr(head, name))
    return "-".join((type(head).__name__, *settings))


@pytest.mark.parametrize("head", HEADS, ids=_named)
@pytest.mark.parametrize("seed", range(6))
def test_as_on_the_scores_of_all_pairs(head: Any, seed: int, make_documents: Callable[..., Any]) -> None:
    scores, _ = make_documents([9], seed=seed, root_score=getattr(head, "root_score", "paper"))
    if seed % 2:
        forbidden = torch.zeros_like(scores.pair, dtype=torch.bool)
        forbidden[0, 2, 5] = forbidden[0, 5, 2] = True
        scores.forbidden = forbidden
    size = scores.num_spans
    posterior, found = head.posterior(scores), head.sparse_posterior(listed_edges(scores))
    parents = posterior.decoding.parents[0].numpy()
    np.testing.assert_array_equal(found.parents, parents)
    edges, entities = posterior.marginals
    columns = torch.cat([edges.span_to_span[0].T, edges.root[0][:, None], edges.candidate_probabilities[0]], dim=1)
    weights = head.parent_scores(scores)[0].numpy()
    for choice in range(columns.shape[1]):
        wanted = np.full(size, choice)
        np.testing.assert_allclose(found.edge_probabilities(wanted), columns[:, choice].numpy(), atol=1e-7)
        np.testing.assert_allclose(found.parent_scores(np.arange(size), wanted), weights[:, choice], atol=1e-12)
    left_out = found.edge_probabilities(np.full(size, -1))
    np.testing.assert_allclose(left_out, edges.root[0].numpy(), atol=1e-7)
    linked, nil = found.entity_probabilities()
    np.testing.assert_allclose(nil, entities.nil[0].numpy(), atol=1e-6)
    for column, row in enumerate(entities.entity_rows[0].tolist()):
        listed = [of_span.get(row, 0.0) for of_span in linked]
        np.testing.assert_allclose(listed, entities.probability[0, :, column].numpy(), atol=1e-6)
    assert found.approximations == []


@pytest.mark.parametrize(
    ("between", "left_out", "wanted"),
    [(0.0, 0.0, []), (2.0, 0.0, ["2.0 edges"]), (0.0, 0.5, ["weak edges"]), (2.0, 0.5, ["2.0 edges", "weak edges"])],
)
def test_a_warning_says_what_is_approximate(between: float, left_out: float, wanted: list[str]) -> None:
    """Blocks are named where spans were cut into some, and not where edges were left out only."""
    nothing = np.zeros(0, dtype=np.int64)
    tree = SparseTree(np.zeros((2, 1)), np.zeros((2, 0), dtype=np.int64), nothing, nothing, np.zeros(0))
    tree.__dict__["marginals"] = SimpleNamespace(between_blocks=between, left_out=left_out)
    assert len(tree.approximations) == len(wanted)
    for said, part in zip(tree.approximations, wanted, strict=True):
        assert "are approximate: " in said and part in said and ("blocks" in said) == ("edges are expected" in said)


def test_only_heads_that_were_made_for_it_read_lists() -> None:
    class Changed(GlobalHead):
        def posterior(self, scores: EdgeScores) -> Any:
            return super().posterior(scores)

    class Same(GlobalHead):
        pass

    class Scoring(LocalHead):
        own_scores = ("more",)

    assert all(head.reads_edge_lists for head in (*HEADS, Same()))
    assert not Changed().reads_edge_lists and not Scoring().reads_edge_lists
