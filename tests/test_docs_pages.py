"""The documentation shows what the program does."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from script_loading import load_script

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NUMBER = re.compile(r"\b\d+\.\d+\b")


def load(name: str) -> ModuleType:
    return load_script(f"scripts/{name}.py")


PAGES, HOOKS = load("docs_pages"), load("docs_hooks")
# It trains a dozen models.
SLOW = {"how_to/hyperparameter_search.md"}
NAMES = [path.relative_to(DOCS).as_posix() for path in PAGES.runnable_pages()]
RUNNABLE = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in NAMES]


@pytest.mark.parametrize("name", RUNNABLE)
def test_pages_print_what_they_show(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    printed = list(PAGES.run(page, name))
    shown = [block.output or "" for block in PAGES.blocks(page)]
    assert [NUMBER.sub("#", text) for text in printed] == [NUMBER.sub("#", text) for text in shown]
    # Another processor or release of torch may round the second decimal the other way.
    found = [[float(n) for text in texts for n in NUMBER.findall(text)] for texts in (printed, shown)]
    assert found[0] == pytest.approx(found[1], abs=0.0101)


def test_the_quick_tour_and_the_guides_are_run() -> None:
    guides = {path.relative_to(DOCS).as_posix() for path in (DOCS / "how_to").glob("*.md")}
    # What talks to the Hub is run by the tests of the Hub; compiling takes minutes, and has tests of its own.
    doors = {path.relative_to(DOCS).as_posix() for path in (DOCS / "extend").glob("*.md")}
    assert doors - {"extend/head.md"} <= set(NAMES) and len(doors) == 5
    assert {"quick_tour.md", *guides} - {"how_to/hub.md", "how_to/compile_and_export.md"} <= set(NAMES)


def test_outputs_are_written_after_their_blocks() -> None:
    page = "a\n\n```python\nprint(1)\n```\n\n```text\nold\n```\n\nb\n\n```python\nx = 1\n```\n\n```sh\nls\n```\n"
    assert [(block.code, block.output) for block in PAGES.blocks(page)] == [("print(1)\n", "old\n"), ("x = 1\n", None)]
    updated = PAGES.with_outputs(page, list(PAGES.run(page, "page")))
    assert updated == page.replace("old", "1")
    assert PAGES.with_outputs(updated, ["1\n", ""]) == updated


def test_an_error_names_the_page_and_the_block() -> None:
    page = "```python\nx = 0\n```\n\n```python\n1 / x\n```\n"
    with pytest.raises(ZeroDivisionError) as raised:
        list(PAGES.run(page, "broken.md"))
    assert raised.traceback[-1].path == "broken.md, block 2" or "broken.md, block 2" in str(raised.traceback[-1])


def test_results_are_those_of_the_bundled_checkpoint() -> None:
    scores = json.loads(HOOKS.SCORES.read_text(encoding="utf-8"))
    results = HOOKS.on_page_markdown((DOCS / "results.md").read_text(encoding="utf-8"), page=None)
    for section, name in (("entity_linking", "el_m"), ("entity_linking", "el_h"), ("coreference", "b_cubed")):
        values = scores[section][name]
        row = f"| {values['precision']:.1%} | {values['recall']:.1%} | {values['f1']:.1%} |"
        assert row in results, name
    assert f"| {scores['coreference']['average_f1']:.1%} |" in results
    large = json.loads((HOOKS.LARGE_MODEL / "test_scores.json").read_text(encoding="utf-8"))
    assert f"| {large['coreference']['average_f1']:.1%} |" in results and HOOKS.LARGE not in results
    report = json.loads(HOOKS.CALIBRATION_REPORT.read_text(encoding="utf-8"))
    error = report["before"]["dev.aida"]["links"]["expected_calibration_error"]
    assert re.search(rf"\| dev.aida \| links \| [\d,]+ \| [\d.]+% \| {100 * error:.1f} \|", results)
    config = json.loads((HOOKS.SCORES.parent / "config.json").read_text(encoding="utf-8"))
    assert config["calibration"] == report["calibration"], "measured under what is bundled"
    kept = report["after"]["dev.aida"]["links"]["risk_coverage"][0]
    assert f"{kept['coverage']:.0%} kept, {kept['risk']:.1%} wrong" in results
    leaks = HOOKS.on_page_markdown((DOCS / "data" / "corpora.md").read_text(encoding="utf-8"))
    assert f"{scores['alias_table']['gold_share_of_spans_with_candidates']:.0%} of the spans" in leaks
    assert "<!-- scores" not in results + leaks


def test_configuration_page_lists_every_field() -> None:
    page = HOOKS.on_page_markdown((DOCS / "reference" / "configuration.md").read_text(encoding="utf-8"))
    assert HOOKS.CONFIGURATION not in page
    assert "| `span_keep_ratio` | `0.2` | in (0, 5] | processor | The pruner keeps" in page
    assert all(page.count(f"| `{name}` | ") == 1 for name in HOOKS.FIELDS)


def test_every_score_of_the_checkpoint_is_shown_under_a_plain_name() -> None:
    scores = json.loads(HOOKS.SCORES.read_text(encoding="utf-8"))
    results = HOOKS.filled((DOCS / "results.md").read_text(encoding="utf-8"))
    for section in ("coreference", "entity_linking"):
        assert {name for name, values in scores[section].items() if isinstance(values, dict)} <= HOOKS._NAMES.keys()
    for section in ("linked_clusters_found", "span_recall"):
        for name, value in scores.get(section, {}).items():
            assert f"| {HOOKS._PARTS[section][name]} | {value:.1%} |" in results


def test_scores_that_a_file_lacks_are_left_out() -> None:
    perfect = {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    old = {"coreference": {"average_f1": 1.0, "muc": perfect}, "entity_linking": {"el_m": perfect}}
    assert HOOKS.parts(old) == ""
    assert HOOKS.all_scores(old).count("\n| ") == 2
    new = {
        "coreference": {**old["coreference"], "ceaf_m": perfect, "lea": perfect},
        "entity_linking": {**old["entity_linking"], "el_s": perfect},
        "linked_clusters_found": {"several_surfaces": 0.25},
        "span_recall": {"enumerated": 0.987, "kept": 0.9},
    }
    shown = HOOKS.all_scores(new) + "\n" + HOOKS.parts(new)
    for row in ("CEAFₘ | 100.0%", "LEA | 100.0%", "several surface forms, found exactly | 25.0%", "keeps | 90.0%"):
        assert row in shown, row
    assert not re.search(r"\b(ceaf_m|lea|el_s|span_recall|kept)\b", shown)


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"^ +- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_tests_and_targets_named_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", text)
    assert len(named) > 30
    assert [path for path, _ in named if not (ROOT / path).exists()] == []
    assert [
        (path, test) for path, test in named if test and f"def {test}(" not in (ROOT / path).read_text(encoding="utf-8")
    ] == []
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert "matrix" in text and set(re.findall(r"\bmake ([a-z]+)\b", text)) <= targets


def test_every_corpus_module_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "corpora.md").read_text(encoding="utf-8")
    modules = {path.stem for path in (ROOT / "src" / "hf_corefel" / "corpora").glob("*.py")}
    # How files are parsed and cached is nobody's business but theirs.
    modules -= {"__init__", "conllu", "fingerprint", "kept_warnings", "rows"}
    assert modules == {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)$", page, re.M)}


def test_the_reference_documents_modules_that_exist() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    modules = re.findall(r"^::: (\S+)$", pages, re.M)
    assert len(modules) > 30
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    assert missing == []
