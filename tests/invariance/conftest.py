"""A random model and the bundled checkpoint, and documents on which they find several clusters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor
from hf_corefel.pipeline_corefel import load_pipeline

sys.path.insert(0, str(Path(__file__).parent))  # for the tests here and for the processes that they start

from invariance_tools import EVERY_INPUT

# Each of these holds several clusters for its model, and begins the documents that are drawn.
ANCHORS = {
    "random": "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Anna Berg left Oslo, and Moss met Berg again.",
    "bundled": (
        "Chancellor Angela Merkel flew from Berlin to Paris on Monday. In Paris, Merkel met President Emmanuel Macron. "
        "Macron thanked Merkel, and Merkel returned to Berlin."
    ),
}
SENTENCES = {
    "random": [
        "Anna Berg visited Bergen.",
        "The mayor of Oslo met Berg.",
        "Moss praised Norway.",
        "Norway won again, the coach said.",
        "She left the old harbour yesterday.",
        "Carl Moss spoke to many people.",
        "Berg, the new minister, met Moss in Bergen.",
        "He lost.",
        "Oslo.",
    ],
    "bundled": [
        "The German government rejected the plan, a spokesman said in Berlin.",
        "Macron had asked the European Union for patience.",
        "NATO soldiers from Poland and Germany left Afghanistan last week.",
        "Poland wants NATO to stay, Prime Minister Beata Szydlo said in Warsaw.",
        "She did not say when.",
        "Barack Obama and Angela Merkel spoke on the phone for an hour.",
        "In Washington, Obama told reporters that the United States would not pay.",
        "Nothing else is known.",
        "“Brussels must listen,” wrote the Süddeutsche Zeitung — twice.",
    ],
}


SEED = 9


def _random_pipeline(tiny_model: Callable[..., CorefELModel], processor: Callable[..., Any]) -> CorefELPipeline:
    """A random model with every part that a configuration can ask for, which takes most spans for mentions."""
    model = tiny_model(
        seed=SEED,
        window_overlap=5,
        span_keep_ratio=0.8,
        **EVERY_INPUT,
        mention_scopes={"named": {}, "all": {"max_span_words": 4, "span_keep_ratio": 1.0}},
        scope_embedding_size=4,
    )
    with torch.no_grad():
        model.pruner.ffnn.layers[-1].bias += 1.0
        model.entities.ffnn.layers[-1].bias += 14.0
        # Inputs that start without influence. The draws must not depend on the tests that ran before.
        draws = torch.Generator().manual_seed(SEED)
        for late in (model.pairs.match, *model.pairs.meaning.values(), model.entities.support):
            torch.nn.init.normal_(late.weight, generator=draws)
    return CorefELPipeline(model, processor(model.config))


@pytest.fixture(scope="session", params=["random", "bundled"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def annotate(
    kind: str, tiny_model: Callable[..., CorefELModel], tiny_processor: Callable[[Any], CorefELProcessor]
) -> CorefELPipeline:
    return load_pipeline() if kind == "bundled" else _random_pipeline(tiny_model, tiny_processor)


@pytest.fixture(scope="session")
def anchor(kind: str) -> str:
    return ANCHORS[kind]


@pytest.fixture(scope="session")
def sentences(kind: str) -> list[str]:
    return SENTENCES[kind]
