"""Listed pairs are scored as all pairs are, with the same features."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hf_corefel.layers import PairScorer, pair_list
from hf_corefel.layers.labels import (
    NUM_DEFINITIONS,
    NUM_SPEAKERS,
    definition_features,
    definitions_between,
    speaker_features,
    speakers_between,
)
from hf_corefel.layers.matches import NUM_MATCHES, match_features
from hf_corefel.layers.pair_list import CandidateTable, WordTable, matches_between, score_pair_list


def _upper(count: int) -> tuple[Tensor, Tensor]:
    early, late = torch.triu_indices(count, count, offset=1)
    return early, late


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 9))
def test_matches_are_those_of_all_pairs(seed: int, count: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    forms = torch.randint(0, 5, (12,), generator=generator)
    first = torch.randint(0, 9, (count,), generator=generator)
    width = torch.randint(1, 4, (count,), generator=generator)
    rows = torch.rand(count, 6, generator=generator).argsort(dim=1)[:, :3]
    rows = rows.masked_fill(torch.rand(rows.shape, generator=generator) < 0.5, -1)
    priors = torch.rand(rows.shape, generator=generator).log()
    every = match_features(
        forms[None], first[None], width[None], rows[None], priors[None], torch.ones(1, count, dtype=torch.bool)
    )[0]
    early, late = _upper(count)
    some = matches_between(WordTable.of(forms, first, width), CandidateTable.of(rows, priors), early, late)
    torch.testing.assert_close(some, every[early, late], rtol=0, atol=1e-7)
    assert some[:, 1:].equal(every[early, late][:, 1:])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31))
def test_relations_are_those_of_all_pairs(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    mask, (early, late) = torch.ones(1, 8, dtype=torch.bool), _upper(8)
    labels = torch.randint(-1, 3, (8, 6), generator=generator)
    every = definition_features(labels[None], mask)[0]
    assert definitions_between(labels[early], labels[late]).float().equal(every[early, late])
    every = speaker_features(labels[None, :, :2], mask)[0]
    assert speakers_between(labels[early, :2], labels[late, :2]).float().equal(every[early, late])


def test_scores_are_those_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    relations = {"definitions": NUM_DEFINITIONS, "speakers": NUM_SPEAKERS}
    scorer = PairScorer(6, 5, 2, 0.0, 4, 3, with_root=False, use_matches=True, entity_size=4, relations=relations)
    for parameter in scorer.parameters():
        nn.init.normal_(parameter)
    count = 80
    spans, meanings = torch.randn(1, count, 6), torch.randn(1, count, 4)
    matches = torch.rand(1, count, count, NUM_MATCHES)
    features = {name: torch.rand(1, count, count, size) for name, size in relations.items()}
    for table in (matches, *features.values()):
        table.add_(table.transpose(1, 2).clone())
    every = scorer(spans, matches=matches, expected_embeddings=meanings, relations=features)[0]
    early, late = _upper(count)
    some = torch.randperm(len(early))[:2_000]
    early, late = early[some], late[some]
    inputs: dict[str, Any] = {
        "expected_embeddings": meanings[0],
        "matches": lambda one, other: matches[0, one, other],
        "relations": lambda one, other: {name: table[0, one, other] for name, table in features.items()},
    }
    for chunk in (pair_list._CHUNK, 77):
        monkeypatch.setattr(pair_list, "_CHUNK", chunk)
        forward, backward = score_pair_list(scorer, spans[0], early, late, **inputs)
        torch.testing.assert_close(forward, every[early, late], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(backward, every[late, early], rtol=1e-4, atol=1e-4)
    forward, backward = score_pair_list(scorer, spans[0], early, late, antecedents_only=True, **inputs)
    torch.testing.assert_close(forward, every[early, late], rtol=1e-4, atol=1e-4)
    assert not backward.any()
