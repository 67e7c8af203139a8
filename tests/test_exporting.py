"""``torch.export``: one graph of the forward pass, for documents of other lengths than the one it was made with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim, export, load, save

from forked_python import run_python
from hf_corefel.pipeline_corefel import load_pipeline

# Two documents of two windows and more: a size of one would be taken for a constant.
EXAMPLES = ["Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city. " * 2, "Moss left Bergen."]
OTHERS = [
    ["Berg"],
    ["Anna Berg said Norway won.", "Oslo , Bergen and Moss .", "the queen"],
    ["The mayor of Bergen met the coach. The coach said many people visited Bergen. " * 5],
]


def exported(model: Any, batch: Any) -> Any:
    """A model's graph in which every size may be another."""
    sizes = {name: dict.fromkeys(range(value.dim()), Dim.AUTO) for name, value in batch.items()}
    with torch.no_grad():
        return export(model, (), kwargs=dict(batch), dynamic_shapes=sizes)


def check_equal(model: Any, program: Any, batch: Any) -> None:
    """Check that a graph keeps the model's spans and gives them the model's scores."""
    with torch.no_grad():
        expected, found = model(**batch), program(**batch)
    assert torch.equal(found["retained"], expected.retained)
    real = expected.retained >= 0
    pairs = real.unsqueeze(1) & real.unsqueeze(2)
    assert set(found) == set(expected)
    for name, value in expected.items():
        # What stands on padding means nothing.
        place = pairs if value.shape[: pairs.dim()] == pairs.shape else real
        place = place if value.shape[: place.dim()] == place.shape else slice(None)
        # A graph adds in another order, which single precision shows.
        torch.testing.assert_close(found[name][place], value[place], rtol=1e-4, atol=1e-4, msg=name)


def test_an_exported_model_reads_other_documents(
    tiny_trained: Callable[[str], Any], tiny_processor: Callable[..., Any]
) -> None:
    model = tiny_trained("global")
    processor = tiny_processor(model.config)
    program = exported(model, processor(EXAMPLES)).module()
    for texts in (EXAMPLES, *OTHERS):
        check_equal(model, program, processor(texts))


@pytest.mark.slow
@pytest.mark.parametrize("head", ["standalone_coref", "standalone_linking", "local"])
def test_all_heads_are_exported(
    tiny_trained: Callable[[str], Any], tiny_processor: Callable[..., Any], head: str
) -> None:
    test_an_exported_model_reads_other_documents(lambda _: tiny_trained(head), tiny_processor)


LOADED = """
import sys, torch, hf_corefel
from hf_corefel import CorefELModel
program, inputs, expected = torch.export.load(sys.argv[1]).module(), *torch.load(sys.argv[2])
found = program(**inputs)
assert torch.equal(found["retained"], expected["retained"])
torch.testing.assert_close(found["link"], expected["link"], rtol=1e-6, atol=1e-6)
"""


@pytest.mark.slow
def test_the_bundled_model_is_exported_saved_and_loaded(tmp_path: Path) -> None:
    annotate = load_pipeline()
    text = (
        "Chancellor Angela Merkel spoke to reporters in Berlin on Monday, her office said. The government of Poland "
        "will send a minister to Moscow next week. Barack Obama thanked the chancellor. "
    )
    graph = exported(annotate.model, annotate.processor([text * 12, text]))
    others = [[text], ["Berlin"], [text * 3, text * 30, "Obama met Putin."]]
    for texts in others:
        check_equal(annotate.model, graph.module(), annotate.processor(texts))
    save(graph, tmp_path / "model.pt2")
    batch = annotate.processor(others[0])
    with torch.no_grad():
        torch.save((dict(batch), dict(annotate.model(**batch))), tmp_path / "batch.pt")
    done = run_python("-c", LOADED, str(tmp_path / "model.pt2"), str(tmp_path / "batch.pt"))
    assert done.returncode == 0, done.stderr
    check_equal(annotate.model, load(tmp_path / "model.pt2").module(), batch)
