"""The heads, as tests of what all of them do take them, and what their documents hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hf_corefel.heads import (
    EdgeScores,
    GlobalHead,
    GoldClustering,
    Head,
    LocalHead,
    StandaloneCorefHead,
    StandaloneLinkingHead,
)

__all__ = ["EVERY", "FLOATS", "MakeDocuments", "every_head"]

MakeDocuments = Callable[..., tuple[EdgeScores, GoldClustering]]
FLOATS = ("mention", "link", "pair", "root_pair", "nil")
EVERY: list[Head] = [GlobalHead(), GlobalHead("arsinh"), LocalHead(), StandaloneCorefHead(), StandaloneLinkingHead()]
every_head = pytest.mark.parametrize("head", EVERY, ids=["global", "arsinh", "local", "coref", "linking"])
