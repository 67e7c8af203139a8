"""What mypy says of users' scripts, those of `typed_project`; and that results are what their types say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NotRequired, Required, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import hf_corefel
from hf_corefel import Candidate, Cluster, CorefELPipeline, Document, Mention, Turn
from hf_corefel.documents.types import AlternativeResult, ClusterResult, DocumentData, DocumentResult, MentionResult
from hf_corefel.pipeline_corefel import load_pipeline

PROJECT = Path(__file__).parents[1] / "typed_project"
ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
# What mypy made of torch and the package stays there, for seconds instead of half a minute the next time.
CACHE = ROOT / ".mypy_cache" / "typed_project"
_ERROR = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+)(:\d+)?: error: .*\[(?P<code>[a-z-]+)\]$", re.M)
# Rooms of the package whose `__all__` users import from.
ROOMS = (
    "corpora",
    "decoding",
    "evaluation",
    "formats",
    "heads",
    "hub",
    "kb",
    "layers",
    "metrics",
    "processing",
    "resolving",
    "training",
    "trees",
)


def public_names() -> str:
    """A script that takes every public name of the package and its rooms, by import and as an attribute."""
    modules = {"hf_corefel": hf_corefel, **{f"hf_corefel.{room}": getattr(hf_corefel, room) for room in ROOMS}}
    # Two rooms may have a name each.
    lines = [
        f"from {name} import {public} as {name.replace('.', '_')}_{public}"
        for name, module in modules.items()
        for public in module.__all__
    ]
    return "\n".join(["import hf_corefel", *lines, *(f"hf_corefel.{name}" for name in hf_corefel.__all__)]) + "\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """What mypy says of each script, by line.

    The package is found on the interpreter's path, as an installed one is, which takes its ``py.typed``.
    """
    names = tmp_path_factory.mktemp("names") / "public_names.py"
    names.write_text(public_names(), encoding="utf-8")
    scripts = [*sorted(PROJECT.glob("*.py")), names]
    options = ["--config-file", str(PROJECT / "mypy.ini"), "--cache-dir", str(CACHE)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, scripts)],
        cwd=names.parent,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "MYPYPATH": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, f"{done.stdout}\n{done.stderr}"
    by_script: dict[str, dict[int, str]] = {script.name: {} for script in scripts}
    for match in _ERROR.finditer(done.stdout):
        by_script[Path(match["file"]).name][int(match["line"])] = match["code"]
    return by_script


def test_scripts_of_users_pass_strict_checks(found: dict[str, dict[int, str]]) -> None:
    assert "annotate_texts.py" in found and "public_names.py" in found
    assert {name: errors for name, errors in found.items() if errors and name != "mistakes.py"} == {}


def test_every_mistake_is_found(found: dict[str, dict[int, str]]) -> None:
    lines = enumerate((PROJECT / "mistakes.py").read_text(encoding="utf-8").splitlines(), start=1)
    expected = {number: line.partition("# E: ")[2] for number, line in lines if "# E: " in line}
    assert len(expected) > 20
    assert found["mistakes.py"] == expected


# Results are what their types say -----------------------------------------------------------------------


def assert_is(value: Any, kind: Any, where: str = "value") -> None:
    """Fails unless a value is of a type: a `TypedDict` and all within it, a list, a union, a literal or a class."""
    origin = get_origin(kind)
    if origin in (Required, NotRequired):
        assert_is(value, get_args(kind)[0], where)
    elif is_typeddict(kind):
        hints = get_type_hints(kind)
        assert isinstance(value, dict), where
        assert kind.__required_keys__ <= set(value) <= set(hints), f"{where}: {sorted(value)}"
        for name, part in value.items():
            assert_is(part, hints[name], f"{where}[{name!r}]")
    elif origin is list:
        assert type(value) is list, where
        for number, item in enumerate(value):
            assert_is(item, get_args(kind)[0], f"{where}[{number}]")
    elif origin is Literal:
        assert value in get_args(kind), f"{where}: {value!r}"
    elif get_args(kind):
        literals = [each for part in get_args(kind) if get_origin(part) is Literal for each in get_args(part)]
        assert type(value) in get_args(kind) or value in literals, f"{where}: {value!r}"
    else:
        assert type(value) is kind, f"{where}: {value!r}"


@pytest.fixture
def annotate(tiny_folder: Path, tiny_encyclopaedia: Callable[..., Any]) -> CorefELPipeline:
    return load_pipeline(tiny_folder, knowledge_base=tiny_encyclopaedia())


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"evidence": True, "top_k": 9, "resolved_text": True, "samples": 1, "clusterings": 1},
        {"min_probability": 1.0},
    ],
    ids=str,
)
def test_results_have_the_keys_of_their_types(
    annotate: CorefELPipeline, tiny_documents: list[Document], parameters: dict[str, Any]
) -> None:
    texts = [*(document.text for document in tiny_documents), "", " ", Document("Oslo", id=3), Document("Oslo", id="a")]
    results = annotate(texts, **parameters)
    assert any(result["clusters"] for result in results) or parameters == {"min_probability": 1.0}
    for result in results:
        assert_is(result, DocumentResult)
        assert_is(json.loads(json.dumps(result)), DocumentResult)
    seen = {key for result in results for cluster in result["clusters"] for key in cluster}
    if parameters.get("evidence"):
        assert seen == set(ClusterResult.__annotations__)
        mentions = [m for result in results for cluster in result["clusters"] for m in cluster["mentions"]]
        listed = [item for result in results for cluster in result["clusters"] for item in cluster["alternatives"]]
        assert {key for item in listed for key in item} == set(AlternativeResult.__annotations__)
        assert {key for mention in mentions for key in mention} == set(MentionResult.__annotations__)
        (in_words,) = annotate([["Anna", "Berg"]], is_split_into_words=True)
        assert_is(in_words, DocumentResult)
        assert {key for result in (*results, in_words) for key in result} == set(DocumentResult.__annotations__)


def test_documents_have_the_keys_of_their_type() -> None:
    full = Document(
        "Anna Berg met Moss.",
        id="a",
        words=[(0, 4), (5, 9)],
        mentions=[(0, 9)],
        candidates={(0, 9): [Candidate("Anna_Berg", 0.5)]},
        clusters=[Cluster((Mention(0, 9),), "Anna_Berg"), Cluster((Mention(14, 18),))],
        mention_scope="all",
        speakers=[Turn(0, 9, "Moss")],
        annotated={"mentions": "given", "links": "some"},
    )
    spans = Document("Oslo", spans=[(0, 4)])
    for document in (full, spans, Document("")):
        assert_is(document.to_dict(), DocumentData)
    assert set(full.to_dict()) | set(spans.to_dict()) == set(DocumentData.__annotations__)
    assert DocumentData.__required_keys__ == {"text"}


def test_types_say_at_run_time_which_keys_are_required() -> None:
    assert DocumentResult.__required_keys__ == {"text", "clusters", "warnings"}
    assert DocumentResult.__optional_keys__ == {"id", "resolved_text", "word_offsets", "samples", "clusterings"}
    assert ClusterResult.__optional_keys__ == {"url", "wikidata", "type", "alternatives"}
    assert AlternativeResult.__optional_keys__ == {"wikidata"}
    assert MentionResult.__optional_keys__ == {"parent"}
