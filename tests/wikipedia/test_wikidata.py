from __future__ import annotations

import bz2
import gzip
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_corefel.wikipedia import units
from hf_corefel.wikipedia.problems import Problem, WikipediaError
from hf_corefel.wikipedia.units import lines_of, split
from hf_corefel.wikipedia.wikidata import Item, coarse_type, read_items


def statement(qid: str | None, rank: str = "normal", numeric: bool = False) -> dict[str, Any]:
    if qid is None:
        return {"mainsnak": {"snaktype": "novalue", "property": "P31"}, "rank": rank}
    value: dict[str, Any] = {"entity-type": "item", "numeric-id": int(qid[1:])} if numeric else {"id": qid}
    return {"mainsnak": {"snaktype": "value", "property": "P31", "datavalue": {"value": value}}, "rank": rank}


def item(
    qid: str,
    label: str | None = None,
    *,
    title: str | None = None,
    description: str | None = None,
    classes: Sequence[Any] = (),
) -> dict[str, Any]:
    texts = {"labels": label, "descriptions": description}
    return {
        "type": "item",
        "id": qid,
        **{name: {"en": {"language": "en", "value": text}} if text else [] for name, text in texts.items()},
        "aliases": [],
        "claims": {"P31": [statement(entry) if isinstance(entry, str) else entry for entry in classes]}
        if classes
        else [],
        "sitelinks": {"enwiki": {"site": "enwiki", "title": title}} if title else [],
    }


def read(path: Path, entities: list[Any], language: str = "en") -> tuple[list[Item], list[Problem]]:
    lines = [entity if isinstance(entity, str) else json.dumps(entity) for entity in entities]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    problems: list[Problem] = []
    return list(read_items(path, language, on_problem=problems.append)), problems


def test_items_of_a_dump(tmp_path: Path) -> None:
    douglas = item("Q42", "Douglas Adams", title="Douglas Adams", description="English writer", classes=["Q5"])
    douglas["aliases"] = {
        "en": [{"language": "en", "value": "DNA"}, {"language": "en", "value": "Douglas N. Adams"}],
        "mul": [{"language": "mul", "value": "DNA"}, {"language": "mul", "value": "D. Adams"}],
    }
    items, problems = read(tmp_path / "wikidata.json", [douglas, item("Q1"), {"type": "property", "id": "P31"}])
    assert not problems
    assert items == [
        Item(
            "Q42", "Douglas Adams", "Douglas Adams", ["DNA", "Douglas N. Adams", "D. Adams"], "English writer", "person"
        ),
        Item("Q1", None, "", [], "", None),
    ]


def test_another_language_and_labels_of_all_languages(tmp_path: Path) -> None:
    cologne = item("Q365", "Cologne", title="Cologne", description="city in Germany")
    cologne["labels"]["de"] = {"value": "Köln"}
    cologne["descriptions"]["de"] = {"value": "Stadt in Deutschland"}
    cologne["sitelinks"]["dewiki"] = {"title": "Köln"}
    cologne["sitelinks"]["zh_min_nanwiki"] = {"title": "Köln"}
    merkel = item("Q567", None)
    merkel["labels"] = {"mul": {"language": "mul", "value": "Angela Merkel"}}
    found, _ = read(tmp_path / "a.json", [cologne, merkel], "de")
    assert found[0] == Item("Q365", "Köln", "Köln", [], "Stadt in Deutschland", "place")
    assert found[1].label == "Angela Merkel"
    assert read(tmp_path / "a.json", [cologne], "zh-min-nan")[0][0].title == "Köln"


def test_control_characters_and_halves_of_characters(tmp_path: Path) -> None:
    found, problems = read(tmp_path / "a.json", [item("Q1", "A\x07B \ud800", title="\U0001f600\n")])
    assert not problems and (found[0].label, found[0].title) == ("A B", "\U0001f600")


def test_types_by_class_then_by_description(tmp_path: Path) -> None:
    entities = [
        item("Q1", classes=[statement("Q5", "deprecated"), statement("Q515")]),
        item("Q2", classes=[statement("Q6256", numeric=True)]),
        item("Q3", classes=[statement(None), "Q999999999"], description="1984 film by Somebody"),
        item("Q4", classes=[statement("Q5", "deprecated")]),
        item("Q5", classes=["Q4167410"], description="Wikimedia disambiguation page"),
    ]
    items, problems = read(tmp_path / "a.json", entities)
    assert not problems
    assert [found.type for found in items[:4]] == ["place", "place", "work", None]
    assert [found.is_entity for found in items] == [True, True, True, True, False]
    assert coarse_type(["Q999999999", "Q43229", "Q5"]) == "person" and coarse_type([]) is None


BAD_LINES = {
    "no JSON": '{"id": "Q1", ',
    "no mapping": "[1]",
    "a number": "7",
    "no id": "{}",
    "an id that is no text": '{"id": 5}',
    "labels that are none": '{"id": "Q1", "labels": {"en": "Oslo"}}',
    "a label that is no text": '{"id": "Q1", "labels": {"en": {"value": null}}}',
    "claims that are none": '{"id": "Q1", "claims": {"P31": [7]}}',
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_left_out_by_its_number(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "wikidata.json"
    items, problems = read(path, [item("Q1", "One"), BAD_LINES[kind], item("Q2", "Two")])
    assert [found.label for found in items] == ["One", "Two"]
    assert [(problem.kind, problem.where) for problem in problems] == [("bad_line", f"{path}, line 3")]
    assert problems[0].message.endswith("it is left out")


@pytest.mark.parametrize("suffix", ["bz2", "gz", "cut"])
def test_packed_and_truncated_dumps(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "wikidata"
    lines = b",\n".join(json.dumps(item(f"Q{number}", f"L{number}")).encode() for number in range(1, 4001))
    pack = bz2.compress if suffix == "bz2" else gzip.compress
    packed = pack(b"[\n" + lines + b"\n]\n")
    path.write_bytes(packed[: len(packed) // 2] if suffix == "cut" else packed)
    problems: list[Problem] = []
    qids = [found.qid for found in read_items(path, on_problem=problems.append)]
    assert qids == [f"Q{number}" for number in range(1, len(qids) + 1)]
    assert ([problem.kind for problem in problems] == ["truncated"]) == (suffix == "cut")
    assert len(qids) == 4000 or suffix == "cut"


def test_items_without_an_article_may_be_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "wikidata.json"
    read(path, [item("Q1", "One"), item("Q2", "Two", title="Two"), item("Q3", "enwiki"), "{}"])
    problems: list[Problem] = []
    found = read_items(path, only_with_article=True, on_problem=problems.append)
    assert [item.qid for item in found] == ["Q2"] and not problems


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.integers(0, 90), min_size=1, max_size=20),
    parts=st.integers(1, 30),
    packing=st.sampled_from(["plain", "streams", "stream"]),
    cuts=st.lists(st.integers(0, 1500), max_size=8),
)
def test_every_line_is_in_exactly_one_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lengths: list[int], parts: int, packing: str, cuts: list[int]
) -> None:
    monkeypatch.setattr(units, "SMALLEST_PART", 1)
    lines = [f"{number} {'x' * length}".encode() for number, length in enumerate(lengths)]
    text = b"\n".join(lines)
    pieces = [text[start:end] for start, end in itertools.pairwise([0, *sorted(cuts), len(text)])]
    path = tmp_path / "lines"
    path.write_bytes(
        {"plain": text, "stream": bz2.compress(text), "streams": b"".join(map(bz2.compress, pieces))}[packing]
    )
    found = [line for unit in split([path], parts) for _, line in lines_of(unit, pytest.fail)]
    assert found == lines


def test_units_of_a_single_stream_hold_all_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "SMALLEST_PART", 1)
    path = tmp_path / "wikidata.json.bz2"
    lines = b",\n".join(json.dumps(item(f"Q{number}", f"L{number}" * 40)).encode() for number in range(1, 2001))
    path.write_bytes(bz2.compress(b"[\n" + lines + b"\n]\n", 1))
    parted = split([path], 6)
    assert len(parted) == 6
    assert [found.qid for unit in parted for found in read_items(unit)] == [f"Q{number}" for number in range(1, 2001)]


def test_what_is_no_wikidata_dump_is_said(tmp_path: Path) -> None:
    path = tmp_path / "enwiki.json"
    path.write_text("<mediawiki>\n")
    with pytest.raises(WikipediaError, match=r"enwiki\.json: has no line that is an entity of Wikidata"):
        list(read_items(path))
