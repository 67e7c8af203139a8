"""The benchmark's path at a two-hundredth of its size, and how fast batches are there."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from hf_corefel.kb import KnowledgeBase
from script_loading import load_script

SURFACES, ENTITIES = 20_000, 4_000


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("benchmarks/knowledge_base.py")


def test_the_synthetic_table(script: ModuleType) -> None:
    table = list(script.rows(SURFACES, ENTITIES))
    assert table == list(script.rows(SURFACES, ENTITIES))
    surfaces = [surface for surface, _ in table]
    assert len(set(surfaces)) == SURFACES
    assert {entity for _, pairs in table for entity, _ in pairs} == {f"Entity_{i:07d}" for i in range(ENTITIES)}
    kb = KnowledgeBase.build(table)
    ids, priors = kb.lookup(surfaces)
    for row in range(0, SURFACES, 997):
        pairs = sorted(table[row][1], key=lambda pair: (-np.float32(pair[1]), pair[0]))
        assert [kb.entity_name(i) for i in ids[row] if i >= 0] == [entity for entity, _ in pairs]
        np.testing.assert_allclose(priors[row, : len(pairs)], [prior for _, prior in pairs], rtol=1e-6)


def test_the_benchmark(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(sys.modules["hf_corefel"].__file__ or "").parents[1]))
    keep = tmp_path / "kb"
    script.main(["--surfaces", str(SURFACES), "--entities", str(ENTITIES), "--keep", str(keep)])
    printed = capsys.readouterr().out
    assert f"surfaces                 {SURFACES:10,}" in printed
    assert "torch imported                   no" in printed
    figures = script.measure(keep, tmp_path / "kb.surfaces.txt")
    assert figures["open_s"] < 1
    assert figures["open_mb"] <= figures["all_mb"] < 50
    # A tenth of what is asked of the whole one, since other tests may run beside this one.
    assert figures["exact"] > 20_000
    assert figures["casefold"] > 10_000
