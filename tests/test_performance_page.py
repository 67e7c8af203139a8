"""The page of ratios says what was measured, and the algorithm that ours is compared with gives the same losses."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from script_loading import ROOT, load_script

REPORT = load_script("benchmarks/report.py")


def test_the_page_is_what_the_stored_figures_give() -> None:
    stored = json.loads(REPORT.STORED.read_text(encoding="utf-8"))
    assert REPORT.PAGE.read_text(encoding="utf-8") == REPORT.page(stored), "run python benchmarks/report.py"


def test_every_figure_stands_on_the_page_once() -> None:
    row = {"group": "a", "what": "reading", "beside": "looking", "ratio": 1.2345, "target": "≤ 2"}
    stored = {"tables": {"a": [row], "f": [{**row, "ratio": 123.4}]}, "versions": dict.fromkeys(VERSIONS, "1")}
    page = REPORT.page(stored)
    assert page.count("| reading | looking | 1.23 | ≤ 2 |") == 1
    assert page.count("| reading | looking | 123 | ≤ 2 |") == 1
    assert page.count("\n## ") == 2 and "Losses" not in page


VERSIONS = ("python", "torch", "transformers")


@pytest.mark.parametrize("std", [0.5, 2.0])
def test_dense_determinants_give_our_loss(monkeypatch: pytest.MonkeyPatch, std: float) -> None:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    ratios = load_script("benchmarks/tree_ratios.py")
    for name in {"timing", "trees"} & (set(sys.modules) - before):
        monkeypatch.delitem(sys.modules, name)
    document = ratios.document(24, std)
    torch.testing.assert_close(ratios.dense_loss(document), ratios.our_loss(document).double(), rtol=1e-4, atol=1e-4)
