"""``hf-corefel kb add --from``, ``subset``, ``merge``, ``diff`` and what ``info`` says of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hf_corefel.cli import app
from hf_corefel.kb import KnowledgeBase


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["kb", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def refused(*arguments: object) -> str:
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (1, "", 1), (status, out, err)
    return err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sources = [
        {
            "name": "Wikipedia",
            "licence": "CC BY-SA 4.0",
            "url": "https://en.wikipedia.org",
            "entities": 2,
            "surfaces": 2,
        },
        {"name": "Wikidata", "licence": "CC0", "entities": 1000},
        {"name": "ours", "licence": "CC0"},
    ]
    kb = KnowledgeBase.build(
        [("Oslo", [("Oslo", 0.75), ("Oslo_(band)", 0.25)]), ("Ada", [("Ada_Lovelace", 1.0)])],
        vectors={"Oslo": np.ones(4)},
        types={"Oslo": "place", "Ada_Lovelace": "person"},
        links={"Oslo": 31, "Ada_Lovelace": 7},
        wikidata={"Oslo": "Q585"},
        redirects={"Christiania": "Oslo"},
        provenance={"made": "for a test", "sources": sources},
    )
    kb.save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_adding_a_file(folder: Path, tmp_path: Path) -> None:
    file = lines(
        tmp_path / "more.jsonl",
        {"entity": "Lamp", "surfaces": ["lamp", "Lamp 9"], "prior": 0.5, "type": "product", "links": 2},
        {"entity": "Oslo", "surfaces": {"Oslo": 0.875, "Tigerstaden": None}, "redirects": ["Kristiania"], "url": None},
        {"entity": "Lamp", "description": "a light", "vector": [1, 2, 3, 4], "wikidata": "Q9"},
    )  # fmt: skip
    status, out, err = run("add", folder, "--from", file)
    assert (status, err) == (0, "")
    assert out == f"added 1 entities, changed 1\n{folder}: 4 entities, 5 surfaces, 6 candidates, vectors of 4\n"
    kb = KnowledgeBase.from_pretrained(folder)
    assert [(c.entity, c.prior) for c in kb.candidates("Oslo")] == [("Oslo", 0.875), ("Oslo_(band)", 0.25)]
    assert [(c.entity, c.prior) for c in kb.candidates("Tigerstaden")] == [("Oslo", 1.0)]
    assert (kb.type("Lamp"), kb.links("Lamp"), kb.description("Lamp"), kb.wikidata("Lamp")) == (
        "product", 2, "a light", "Q9"
    )  # fmt: skip
    assert kb.redirect("Kristiania") == "Oslo"
    # Packed, and saved elsewhere.
    packed = tmp_path / "more.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert run("add", folder, "--from", packed, "--out", tmp_path / "other")[0] == 0
    assert "they say the same" in run("diff", folder, tmp_path / "other")[1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"entity": 5}, "more.jsonl:2: expected an object with the string 'entity'"),
        ([], "more.jsonl:2: expected an object"),
        ({"entity": "B", "surface": "b"}, "more.jsonl:2: unknown field 'surface'"),
        ({"entity": "B", "surfaces": "b"}, "more.jsonl:2: field 'surfaces': expected a list of strings"),
        ({"entity": "B", "surfaces": {"b": "1"}}, "more.jsonl:2: field 'surfaces'"),
        ({"entity": "B", "surfaces": ["b"], "prior": 2}, "more.jsonl:2: add, surface 'b'"),
        ({"entity": "B", "surfaces": {"b": 1}, "prior": 1}, "more.jsonl:2: field 'prior'"),
        ({"entity": "B", "surfaces": [" "]}, "more.jsonl:2: add: empty surface"),
        ({"entity": "B", "links": 1.5}, "more.jsonl:2: field 'links': expected a whole number"),
        ({"entity": "B", "links": -1}, "more.jsonl:2: links of 'B'"),
        ({"entity": "B", "type": "city"}, "more.jsonl:2: type of 'B'"),
        ({"entity": "B", "wikidata": "42"}, "more.jsonl:2: Wikidata id of 'B'"),
        ({"entity": "B", "redirects": "x"}, "more.jsonl:2: field 'redirects': expected a list of strings"),
        ({"entity": "B", "vector": [1]}, "more.jsonl:2: vector of entity 'B'"),
        ({"entity": "B", "vector": ["1"]}, "more.jsonl:2: field 'vector': expected a list of numbers"),
        ({"entity": ""}, "more.jsonl:2: add: empty entity"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_saved(folder: Path, tmp_path: Path, row: Any, message: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    file = lines(tmp_path / "more.jsonl", {"entity": "A", "surfaces": ["a"]}, row, {"entity": "C"})
    assert message in refused("add", folder, "--from", file)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_adding_cannot_be_told(folder: Path, tmp_path: Path) -> None:
    assert "give one of --entity and --from" in refused("add", folder)
    assert "give one of --entity and --from" in refused("add", folder, "--entity", "A", "--from", "x")
    assert "stands in the file" in refused("add", folder, "--from", "x", "--prior", "0.5")
    assert "x.jsonl: file not found" in refused("add", folder, "--from", tmp_path / "x.jsonl")
    assert "holds no rows" in refused("add", folder, "--from", lines(tmp_path / "none.jsonl"))


def test_a_subset(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "part"
    assert run("subset", folder, "--type", "place", "--type", "person", "--min-links", 8, "--out", out) == (
        0, f"{out}: 1 entities, 1 surfaces, 1 candidates, vectors of 4\n", ""
    )  # fmt: skip
    ids = tmp_path / "ids.txt"
    ids.write_text("Q585\n\nAda_Lovelace\n")
    assert run("subset", folder, "--ids", ids, "--out", out)[0] == 0
    assert sorted(KnowledgeBase.from_pretrained(out).entities()) == ["Ada_Lovelace", "Oslo"]
    ids.write_text("Christiania\nNobody\n")
    assert "'Nobody' are no entities" in refused("subset", folder, "--ids", ids, "--out", tmp_path / "none")
    status, _, err = run("subset", folder, "--ids", ids, "--skip-unknown", "--out", out)
    assert (status, "1 of 2 lines are unknown here" in err) == (0, True)
    assert list(KnowledgeBase.from_pretrained(out).entities()) == ["Oslo"]
    assert "no entity is left; nothing was saved" in refused(
        "subset", folder, "--type", "work", "--out", tmp_path / "none"
    )
    assert "say which with --type" in refused("subset", folder, "--out", tmp_path / "none")
    assert "expected one of person" in refused("subset", folder, "--type", "city", "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_merging_and_what_differs(folder: Path, tmp_path: Path) -> None:
    KnowledgeBase.build([("Lamp", [("Lamp", 1.0)]), ("Oslo", [("Oslo", 0.875)])]).save_pretrained(tmp_path / "mine")
    out = tmp_path / "both"
    status, shown, err = run("merge", folder, tmp_path / "mine", "--out", out)
    assert (status, shown, err) == (0, f"{out}: 4 entities, 3 surfaces, 4 candidates, vectors of 4\n", "")
    shown = run("diff", folder, out)[1]
    assert shown == (
        "1 entities added\n  Lamp\n1 surfaces added\n  Lamp\n1 surfaces changed\n  Oslo: Oslo 0.75 → 0.875\n"
    )
    told = json.loads(run("diff", out, folder, "--json")[1])
    assert told["entities_removed"] == ["Lamp"]
    assert told["surfaces_changed"] == {"Oslo": {"Oslo": [0.875, 0.75]}}
    assert run("diff", folder, folder)[1] == "they say the same\n"
    assert "expected two at least" in refused("merge", folder, "--out", tmp_path / "none")
    assert "file not found" in refused("merge", folder, tmp_path / "nothing", "--out", tmp_path / "none")
    help_text = " ".join(run("merge", "--help")[1].replace("│", " ").split())
    assert "Of two priors of the same surface and entity the higher stands." in help_text


def test_many_differences_are_counted(folder: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "more.jsonl", *({"entity": f"E{number:02}"} for number in range(25)))
    assert run("add", folder, "--from", file, "--out", tmp_path / "other")[0] == 0
    shown = run("diff", folder, tmp_path / "other")[1]
    assert shown.startswith("25 entities added\n  E00\n")
    assert shown.endswith("  E09\n  … and 15 more (--json has all)\n")


def test_info(folder: Path) -> None:
    facts = json.loads(run("info", folder, "--json")[1])
    assert facts["types"] == {"person": 1, "place": 1, "not known": 1}
    assert (facts["entities_with_links"], facts["redirects"], facts["vectors"]) == (2, 1, 1)
    assert facts["licences"] == ["CC BY-SA 4.0", "CC0"]
    assert [source["name"] for source in facts["sources"]] == ["Wikipedia", "Wikidata", "ours"]
    assert facts["content_fingerprint"] == KnowledgeBase.from_pretrained(folder).content_fingerprint
    shown = " ".join(run("info", folder)[1].split())
    assert "types person 1, place 1, not known 1" in shown
    assert (
        "sources Wikipedia, CC BY-SA 4.0, https://en.wikipedia.org, 2 entities, 2 surfaces Wikidata, CC0, 1,000"
        in shown
    )
    assert 'provenance {"made": "for a test"}' in shown


def test_types_and_links_of_a_file_of_entities(tmp_path: Path) -> None:
    aliases = lines(tmp_path / "aliases.jsonl", ["Oslo", [["Oslo", 1.0]]])
    entities = lines(
        tmp_path / "entities.jsonl",
        {"entity": "Oslo", "type": "place", "links": 31},
        {"entity": "Ada_Lovelace", "type": "person"},
    )
    out = tmp_path / "kb"
    assert run("build", "--aliases", aliases, "--entities", entities, "--out", out)[0] == 0
    kb = KnowledgeBase.from_pretrained(out)
    assert [(kb.type(name), kb.links(name)) for name in ("Oslo", "Ada_Lovelace")] == [("place", 31), ("person", None)]
    assert json.loads(run("lookup", out, "Oslo", "--json")[1])["candidates"][0]["type"] == "place"
    assert run("add", out, "--entity", "Oslo", "--type", "work")[0] == 0
    assert KnowledgeBase.from_pretrained(out).type("Oslo") == "work"
    for wrong in ({"type": "city"}, {"type": 5}, {"links": "3"}, {"links": True}, {"links": -1}):
        file = lines(tmp_path / "wrong.jsonl", {"entity": "Oslo", **wrong})
        assert next(iter(wrong)) in refused("build", "--aliases", aliases, "--entities", file, "--out", out)
