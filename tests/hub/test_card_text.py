"""Names and records of others in a card are text: no code, no markup, no metadata."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from hypothesis import given
from hypothesis import strategies as st

from hf_corefel import CorefELConfig
from hf_corefel.hub import CardFacts, model_card, model_card_of_folder, point_card_to, publish
from hf_corefel.hub.card_text import code_block, plain_text, python_literal, shell_command
from hf_corefel.utils.characters import printable

from .test_model_card import KNOWLEDGE_BASE, RECORD, SCORES

HOSTILE = [
    'x"); import os; os.system("touch /tmp/x")#',
    "x\n```\n\n<script>alert(1)</script>\n\n```python\nimport os",
    "<!-- use:end --> <img src=x onerror=alert(1)> <!-- use:begin -->",
    "[here](javascript:alert(1)) ![x](https://example.org/x.png)",
    "`code` **bold** | cell | $x$ ~~gone~~ &lt;b&gt;",
    "x\n---\nlicense: mit\n---\n# Heading",
    "a\x1b[31mred\x9b31m\u202ereversed\u2066",
    "\\",
    "'",
    '"""',
    "{{ template }} {% x %}",
]
ANYTHING = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))


def code_of(card: str) -> str:
    """The Python of a card's one block of it."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", card, re.DOTALL | re.MULTILINE)
    return block


@given(ANYTHING)
def test_a_literal_is_the_string_and_printable_of_ascii(text: str) -> None:
    literal = python_literal(text)
    assert ast.literal_eval(literal) == text
    assert literal.isascii() and literal.isprintable()
    assert not set("<>`") & set(literal)


@given(st.lists(ANYTHING, min_size=1))
def test_a_command_has_just_its_arguments(arguments: list[str]) -> None:
    command = shell_command(list(arguments))
    assert shlex.split(command) == [printable(argument) for argument in arguments]
    assert command.isprintable()


@given(ANYTHING)
def test_a_block_ends_where_it_should(text: str) -> None:
    first, *inside, last = code_block(printable(text), "sh").split("\n")
    assert first == f"{last}sh" and set(last) == {"`"}
    assert last not in "\n".join(inside)


@given(ANYTHING)
def test_plain_text_is_printable_with_all_markup_escaped(text: str) -> None:
    shown = plain_text(text)
    assert shown.isprintable() and "\n" not in shown
    # What is left when escaped characters are taken out can begin nothing.
    assert not re.search(r"[\\`*\[\]<>|~$&]", re.sub(r"\\[!-/:-@\[-`{-~]", "", shown))
    assert not shown.startswith(("#", "+", "-", "="))
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown) == printable(text)


def test_ordinary_text_is_left_alone() -> None:
    for text in ("acme/my-model_v1.2", "task_learning_rate", '{"head": "global"}', "0.9000 – 0.9200", "step 1 (best)"):
        assert plain_text(text) == text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_repository_is_a_string_of_the_code(hostile: str) -> None:
    plain = model_card(CorefELConfig(), repo_id="acme/mine")
    card = model_card(CorefELConfig(), repo_id=hostile)
    for text in (card, point_card_to(plain, hostile), point_card_to(point_card_to(plain, hostile), hostile)):
        calls = [node for node in ast.walk(ast.parse(code_of(text))) if isinstance(node, ast.Call)]
        assert len(calls) == 2
        (model,) = [ast.literal_eval(word.value) for call in calls for word in call.keywords]
        assert model == hostile
        lines = text.split("\n")
        assert lines.count("<!-- use:begin -->") == lines.count("<!-- use:end -->") == 1
    assert ModelCard(card).data.license is None
    assert len(card.split("\n")) == len(plain.split("\n"))


def fairness_of(name: str) -> dict[str, Any]:
    """What is measured of pronouns and names, in which a group has the given name."""
    count, facts = {"right": 1, "total": 2}, ("found", "joined", "linked")
    groups = {name: dict.fromkeys(facts, count), "other": {fact: {"right": 2, "total": 2} for fact in facts}}
    jobs = {"by_pronoun": {name: count}, "answered": {name: count}}
    alone = dict.fromkeys(("usual", "unusual", "he_and_she_alike"), count)
    gap = {kind: {"f1": 0.5} for kind in ("all", "masculine", "feminine")}
    return {
        "jobs": {**jobs, **alone},
        "names": {"by_gender": groups, "by_origin": groups},
        "gap": {**gap, "rows": 3, "feminine_over_masculine": None},
    }


def test_how_people_are_treated_is_told() -> None:
    section = model_card(CorefELConfig(), fairness=fairness_of("he")).partition("## Pronouns, jobs and names")[2]
    assert "| pronoun joined with the right one | 50.0% he |" in section
    assert (
        "| a stranger's whole name is a mention | 50.0% he / 100.0% other; by origin 50% (he) to 100% (other) |"
        in section
    )
    assert "| GAP, 3 paragraphs: F1 | 50.0% all / 50.0% masculine / 50.0% feminine |" in section
    assert "| GAP: feminine F1 over masculine | not defined |" in section
    assert "Pronouns, jobs" not in model_card(CorefELConfig())
    without = model_card(CorefELConfig(), fairness={**fairness_of("he"), "gap": None})
    assert "| GAP" not in without and "linked to somebody |" in without


def development_of(name: str) -> dict[str, Any]:
    """What is measured on development documents of a corpus of the given name, and of one without links."""
    found = {"documents": 3, "mention_scope": name, "mentions": 0.9, "coreference": 0.8}
    links = {"el_m": 0.7, "el_h": 0.6, "candidate_recall": 0.5, "link_calibration_error": 0.04}
    return {name: {**found, **links}, "novels": {**found, "mention_scope": None}}


def test_development_documents_are_told_of() -> None:
    card = model_card(CorefELConfig(), corpora=development_of("all"))
    section = card.partition("## Scores on development documents of several corpora")[2]
    assert "| all, all | 3 | 90.0% | 80.0% | 70.0% | 60.0% | 50.0% | 4.0% |" in section
    assert "| novels | 3 | 90.0% | 80.0% |  |  |  |  |" in section
    assert "several corpora" not in model_card(CorefELConfig())


@pytest.mark.parametrize("hostile", HOSTILE)
def test_records_beside_a_model_are_text(tiny_folder: Path, tmp_path: Path, hostile: str) -> None:
    (tmp_path / "config.json").symlink_to(tiny_folder / "config.json")
    scores = {**SCORES, "corpus": hostile, "split": hostile, "interval_95": {"coref_f1": hostile}}
    record = {
        **RECORD,
        "command": ["python", hostile, "--name", hostile],
        "commit": hostile,
        "versions": {hostile: hostile},
        "hyper_parameters": {hostile: hostile, "nested": [hostile]},
        "weights_averaged_over": [hostile],
    }
    more = [{**SCORES, "corpus": hostile, "table": hostile, "mention_scope": hostile}]
    files = {"test_scores": scores, "training_record": record, "more_scores": more, "fairness": fairness_of(hostile)}
    files["development_scores"] = development_of(hostile)
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    facts = {"title": hostile, "base_model": hostile, "license": hostile, "language": hostile, "datasets": [hostile]}
    card = model_card_of_folder(tmp_path, facts=CardFacts(**facts), repo_id="acme/mine")  # type: ignore[arg-type]
    harmless = card_like(card, hostile)
    header, body = card.split("\n---\n", 1)
    data = ModelCard(card).data
    assert data.eval_results[0].dataset_name == printable(hostile)
    assert (data.license, data.base_model) == (printable(hostile), printable(hostile))
    assert header.count("\n---") == 0
    without_code = re.sub(r"^(`{3,}).*?^\1$", "", body, flags=re.DOTALL | re.MULTILINE)
    without_escapes = re.sub(r"\\[!-/:-@\[-`{-~]", "", without_code.replace("<!-- use:", "").replace("-->", ""))
    assert not re.search(r"<[a-zA-Z/!]|\]\(|\*\*bold|~~", without_escapes.replace("**What leaks.**", ""))
    assert [line for line in body.split("\n") if line.startswith("## ")] == harmless
    assert all(character.isprintable() or character == "\n" for character in card)


def card_like(card: str, hostile: str) -> list[str]:
    """The headings that the card should have."""
    corpus = plain_text(hostile)
    return [
        "## How to use",
        "## Intended use",
        "## What it is made of",
        "## Training",
        f"## Scores on {corpus} {corpus}, end to end",
        "## Scores on other corpora and in other ways",
        "## Scores on development documents of several corpora",
        "## Pronouns, jobs and names",
        "## Limitations",
        "## Citation",
    ]


@pytest.mark.parametrize("repo_id", [HOSTILE[0], "", "a/b/c", "acme/x y", "-x", "acme/..", "acme/`x`"])
def test_nothing_is_published_under_a_name_that_is_none(tiny_folder: Path, repo_id: str) -> None:
    with pytest.raises(ValueError, match=r"[Rr]epo id"):
        publish(tiny_folder, repo_id)


def test_numbers_of_records_are_numbers(tmp_path: Path, tiny_folder: Path) -> None:
    (tmp_path / "config.json").symlink_to(tiny_folder / "config.json")
    (tmp_path / "knowledge_base").mkdir()
    for name, content in (
        ("test_scores.json", {**SCORES, "documents": HOSTILE[0]}),
        ("test_scores.json", {**SCORES, "hard_cases": {"accuracy": 0.5, "mentions": "<b>"}}),
        ("knowledge_base/kb_config.json", {**KNOWLEDGE_BASE, "num_surfaces": "<b>"}),
        ("more_scores.json", [{**SCORES, "coreference": {"average_f1": "<b>"}}]),
        ("development_scores.json", {"x": {**development_of("x")["x"], "el_m": "<b>"}}),
        ("fairness.json", {**fairness_of("x"), "gap": {"rows": "<b>"}}),
        ("fairness.json", {**fairness_of("x"), "jobs": {"usual": {"right": "<b>", "total": 1}}}),
    ):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(ValueError, match=rf"{tmp_path}/{name}: not what this package writes there"):
            model_card_of_folder(tmp_path)
        (tmp_path / name).unlink()
