"""The README shows what the program does."""

from __future__ import annotations

import ast
import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from script_loading import load_script

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\b[01]\.\d\d\b")


@pytest.fixture(scope="module")
def updater() -> ModuleType:
    return load_script("scripts/update_readme.py")


def test_demo_prints_what_the_readme_shows(updater: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    output = updater.demo_output()
    shown = updater.block(README, updater.DEMO)
    printed = updater.block(updater.with_block(README, updater.DEMO, output), updater.DEMO)
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown)
    # Another processor or release of torch may round the second decimal the other way.
    assert [float(n) for n in NUMBER.findall(printed)] == pytest.approx(
        [float(n) for n in NUMBER.findall(shown)], abs=0.0101
    )
    assert "Angela_Merkel" in shown


def test_results_are_those_of_the_bundled_checkpoint(updater: ModuleType) -> None:
    scores = json.loads(updater.SCORES.read_text(encoding="utf-8"))
    shown = updater.block(README, updater.RESULTS)
    more = json.loads(updater.MORE_SCORES.read_text(encoding="utf-8"))
    assert shown == updater.results_table(scores, more)
    assert {run["corpus"] for run in more} == {"DWIE", "AIDA", "GUM"}
    assert f"{scores['coreference']['average_f1']:.1%}" in shown


def test_with_block_replaces_the_block_and_nothing_else(updater: ModuleType) -> None:
    changed = updater.with_block(README, updater.DEMO, "new output  \nsecond line\n\n")
    assert updater.block(changed, updater.DEMO) == "new output\nsecond line\n"
    assert updater.with_block(changed, updater.DEMO, updater.block(README, updater.DEMO)) == README
    with pytest.raises(ValueError, match=r"README\.md needs exactly one"):
        updater.block(README.replace("<!-- demo:end -->", ""), updater.DEMO)


def test_links_into_the_repository_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r'src="([^"]+)"', README)
    local = [target for target in targets if not target.startswith("http")]
    assert "docs/images/graph.png" in local
    assert [target for target in local if not (ROOT / target).exists()] == []


def test_make_targets_named_in_the_readme_exist() -> None:
    named = set(re.findall(r"`?\bmake ([a-z]+)\b`?", "\n".join(re.findall(r"```sh\n(.*?)```", README, re.S))))
    assert {"demo", "test"} <= named
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert named <= targets


def test_python_blocks_use_names_that_the_package_exports() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(blocks) >= 3
    imports = [
        (node.module, alias.name)
        for block in blocks
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    ]
    ours = [(module, name) for module, name in imports if module.split(".")[0] == "hf_corefel"]
    assert ours
    missing = [(module, name) for module, name in ours if not hasattr(importlib.import_module(module), name)]
    assert missing == []
