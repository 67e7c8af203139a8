from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, read_alias_jsonl


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


GOOD = '["Köln", [["Cologne", 0.75], ["1._FC_Köln", 0.25]]]'


def test_both_kinds_of_lines(tmp_path: Path) -> None:
    line = '{"surface": " Bonn ", "candidates": [{"entity": "Bonn", "prior": 1}]}'
    path = write(tmp_path / "aliases.jsonl", GOOD, "", line)
    assert list(read_alias_jsonl(path)) == [
        ("Köln", [("Cologne", 0.75), ("1._FC_Köln", 0.25)]),
        ("Bonn", [("Bonn", 1.0)]),
    ]
    kb = KnowledgeBase.from_jsonl(path, max_candidates=1, url_template=None)
    assert [candidate.entity for candidate in kb.candidates("Köln")] == ["Cologne"]
    assert kb.url("Bonn") is None


def test_a_count_leaves_a_part_for_something_else(tmp_path: Path) -> None:
    candidates = [{"entity": "A", "prior": 0.5}, {"entity": "B", "prior": 1}]
    counts = {"once": 1, "thrice": 3, "huge": 1e308, "tiny": 1e-308}
    lines = [
        json.dumps({"surface": surface, "count": count, "candidates": candidates}) for surface, count in counts.items()
    ]
    path = write(tmp_path / "aliases.jsonl", *lines, GOOD)

    def priors(**options: float) -> dict[str, list[float]]:
        kb = KnowledgeBase.from_jsonl(path, **options)
        return {surface: [candidate.prior for candidate in kb.candidates(surface)] for surface in [*counts, "Köln"]}

    rest = {"huge": [1, 0.5], "tiny": [0, 0], "Köln": [0.75, 0.25]}
    assert priors() == {"once": [0.5, 0.25], "thrice": [0.75, 0.375], **rest}
    assert priors(unseen=3) == {"once": [0.25, 0.125], "thrice": [0.5, 0.25], **rest}
    assert priors(unseen=0) == {**{surface: [1, 0.5] for surface in counts}, "Köln": [0.75, 0.25]}
    assert priors(unseen=1e308)["huge"] == [0.5, 0.25]
    with pytest.raises(KnowledgeBaseError, match="unseen: expected a number from 0 on, got -1"):
        priors(unseen=-1)


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "aliases.jsonl.gz"
    path.write_bytes(gzip.compress((GOOD + "\n").encode()))
    assert KnowledgeBase.from_jsonl(path).candidates("Köln")[0].entity == "Cologne"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not a line of JSON"),
        ('"Köln"', "expected .surface"),
        ('["Köln"]', "expected .surface"),
        ('[" ", [["A", 1]]]', "empty surface"),
        ('["\\u200b\\u00ad", [["A", 1]]]', "empty surface: '.u200b.xad' holds nothing that can be seen"),
        ('[5, [["A", 1]]]', "expected a string as surface"),
        ('["a", "bc"]', "surface 'a': expected pairs"),
        ('["a", 3]', "surface 'a': expected pairs"),
        ('["a", ["bc"]]', "surface 'a': expected a pair"),
        ('["a", [["A"]]]', "surface 'a': expected a pair"),
        ('["a", [["", 1]]]', "surface 'a': empty entity"),
        ('["a", [[null, 1]]]', "surface 'a': expected a string as entity"),
        ('["a", [["A\\u0000", 1]]]', "surface 'a': entity .* NUL"),
        ('["a\\u0000", []]', "surface .* NUL"),
        ('["\\ud800", []]', "no valid Unicode"),
        ('["a", [["A", 1.5]]]', "surface 'a', entity 'A': expected a prior between 0 and 1, got 1.5"),
        ('["a", [["A", -0.1]]]', "surface 'a', entity 'A': expected a prior"),
        ('["a", [["A", NaN]]]', "surface 'a', entity 'A': expected a prior"),
        ('["a", [["A", "0.5"]]]', "surface 'a', entity 'A': expected a prior"),
        ('["a", [["A", true]]]', "surface 'a', entity 'A': expected a prior"),
        ('["a", [["A", null]]]', "surface 'a', entity 'A': expected a prior"),
        ('{"surface": "a"}', "missing field 'candidates'"),
        ('{"surface": "a", "candidates": [], "x": 1}', "unknown field 'x'"),
        ('{"surface": "a", "candidates": {}}', "surface 'a': expected a list of candidates"),
        ('{"surface": "a", "candidates": [["A", 1]]}', "surface 'a': expected a candidate object"),
        ('{"surface": "a", "candidates": [{"entity": "A"}]}', "surface 'a': missing field 'prior'"),
        ('{"surface": "a", "candidates": [], "x": 1, "count": 1}', "the known fields are surface, candidates, count"),
        *(
            (
                f'{{"surface": "a", "candidates": [], "count": {count}}}',
                f"surface 'a': expected a count above 0, got {got}",
            )
            for count, got in {
                "0": "0",
                "-1": "-1",
                "NaN": "nan",
                "Infinity": "inf",
                '"3"': "'3'",
                "true": "True",
            }.items()
        ),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "aliases.jsonl", GOOD, "", line)
    with pytest.raises(KnowledgeBaseError, match=rf"aliases\.jsonl:3\b.*{message}"):
        KnowledgeBase.from_jsonl(path)


def test_priors_can_be_clipped(tmp_path: Path) -> None:
    path = write(tmp_path / "aliases.jsonl", '["a", [["A", 1.0000001], ["B", -0.5], ["C", 0.5]]]')
    kb = KnowledgeBase.from_jsonl(path, clip_priors=True)
    assert [(c.entity, c.prior) for c in kb.candidates("a")] == [("A", 1.0), ("C", 0.5), ("B", 0.0)]
    write(path, '["a", [["A", Infinity]]]')
    with pytest.raises(KnowledgeBaseError, match="got inf"):
        KnowledgeBase.from_jsonl(path, clip_priors=True)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match=r"none\.jsonl: file not found"):
        KnowledgeBase.from_jsonl(tmp_path / "none.jsonl")
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'["K\xf6ln", []]\n')
    with pytest.raises(KnowledgeBaseError, match=r"latin\.jsonl: unreadable"):
        KnowledgeBase.from_jsonl(path)
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress((GOOD + "\n").encode())[:-12])
    with pytest.raises(KnowledgeBaseError, match=r"cut\.jsonl\.gz: unreadable"):
        KnowledgeBase.from_jsonl(path)
    path.write_bytes(GOOD.encode())
    with pytest.raises(KnowledgeBaseError, match=r"cut\.jsonl\.gz: unreadable"):
        KnowledgeBase.from_jsonl(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", []), ("  ", [("A", 1.0)])], r"aliases\[1\]: empty surface"),
        ([("a", [("A", 2.0)])], r"aliases\[0\], surface 'a', entity 'A'"),
        ([("a", [("A", math.inf)])], r"aliases\[0\], surface 'a', entity 'A'"),
        (["ab"], r"aliases\[0\]: expected a pair"),
    ],
)
def test_bad_rows_are_named(rows: list[object], message: str) -> None:
    with pytest.raises(KnowledgeBaseError, match=message):
        KnowledgeBase.build(rows)  # type: ignore[arg-type]


def test_numpy_priors_are_numbers() -> None:
    kb = KnowledgeBase.build([("a", [("A", np.float32(0.5))])])
    assert kb.candidates("a")[0].prior == 0.5


@pytest.mark.parametrize("text", [5, "\ud800"])
def test_bad_descriptions_are_named(text: object) -> None:
    with pytest.raises(KnowledgeBaseError, match="description of 'A'"):
        KnowledgeBase.build([], descriptions={"A": text})  # type: ignore[dict-item]


def test_rows_written_by_json_are_read_again(tmp_path: Path) -> None:
    rows = [["a\u2028b", [["A", 0.1]]], ["c", [["C", 1e-30]]]]
    path = write(tmp_path / "aliases.jsonl", *(json.dumps(row, ensure_ascii=False) for row in rows))
    assert [row.surface for row in read_alias_jsonl(path)] == ["a b", "c"]
