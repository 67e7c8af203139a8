"""``hf-corefel kb`` with files and folders that are not what they should be: one line that names them, no traceback."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hf_corefel.cli import app
from hf_corefel.kb import KnowledgeBase, readers

GOOD = '["Alliance", [["NATO", 0.75], ["Greens", 0.25]]]\n'


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["kb", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def refused(*arguments: object) -> str:
    """What a command says that must refuse: one line."""
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (1, "", 1), (status, out, err)
    assert err.startswith("hf-corefel: cannot ")
    assert len(err) < 1000 + 2 * max(len(str(argument)) for argument in arguments)
    return err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, with the table ``good.jsonl``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.jsonl").write_text(GOOD)
    return tmp_path


@pytest.fixture
def saved(here: Path) -> Path:
    KnowledgeBase.build([("Alliance", [("NATO", 0.5)])], vectors={"NATO": np.ones(4)}).save_pretrained("saved")
    return here / "saved"


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_cut_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(GOOD.encode() * 1000)[:-20])


def make_damaged_gzip(path: Path) -> None:
    data = bytearray(gzip.compress(os.urandom(5000)))
    data[2000:2100] = bytes(100)
    path.write_bytes(data)


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "loop.jsonl": (make_loop, "loop.jsonl: "),
    "folder.jsonl": (Path.mkdir, "folder.jsonl: a folder, not a file"),
    f"{'x' * 300}.jsonl": (lambda path: None, "File name too long"),
    "missing.jsonl": (lambda path: None, "missing.jsonl: file not found"),
    "cut.jsonl.gz": (make_cut_gzip, "cut.jsonl.gz: unreadable after line"),
    "damaged.jsonl.gz": (make_damaged_gzip, "damaged.jsonl.gz: unreadable after line 0"),
    "plain.jsonl.gz": (lambda path: path.write_text(GOOD), "plain.jsonl.gz: unreadable after line 0"),
    "empty.jsonl": (Path.touch, "empty.jsonl: the file holds no rows"),
    "blank.jsonl": (lambda path: path.write_text("\n \n\n"), "blank.jsonl: the file holds no rows"),
    "empty.jsonl.gz": (lambda path: path.write_bytes(gzip.compress(b"")), "empty.jsonl.gz: the file holds no rows"),
    "latin.jsonl": (lambda path: path.write_bytes(b'["\xe9", []]\n'), "latin.jsonl: unreadable after line 0"),
    "deep.jsonl": (lambda path: path.write_text("[" * 10**6 + "\n"), "deep.jsonl:1: not a line of JSON"),
    "deep_objects.jsonl": (lambda path: path.write_text('{"a":' * 10**5 + "\n"), "deep_objects.jsonl:1: not a line"),
    "\x1b[31m\udcff.jsonl": (lambda path: path.write_text("["), ":1: not a line of JSON"),
}


@pytest.mark.parametrize("option", ["--aliases", "--counts", "--entities", "--wikipedia2vec"])
@pytest.mark.parametrize("name", FILES)
def test_files_that_are_none(here: Path, option: str, name: str) -> None:
    make, message = FILES[name]
    make(here / name)
    more = ["--aliases", "good.jsonl"] if option in ("--entities", "--wikipedia2vec") else []
    said = refused("build", *more, option, name, "--out", "out")
    # Other readers find something else wrong with the same lines.
    assert (message if option == "--aliases" else ": ") in said
    assert not os.path.lexists("out")


HUGE = "9" * 400
LONG = "9" * 5000
BAD_ROWS = {
    f'["x", [["A", {HUGE}]]]': "expected a prior between 0 and 1, got 999",
    f'["x", [["A", -{HUGE}]]]': "expected a prior between 0 and 1, got -999",
    f'["x", [["A", {LONG}]]]': "not a line of JSON",
    '["x", [["A", 1e999]]]': "expected a prior between 0 and 1, got inf",
    '["x", [["A", NaN]]]': "expected a prior between 0 and 1, got nan",
    '["x", [["A", -0.1]]]': "expected a prior between 0 and 1, got -0.1",
    '["x", [["A", "0.5"]]]': "expected a prior between 0 and 1, got '0.5'",
    '["x", [["A", null]]]': "expected a prior between 0 and 1, got None",
    '["x", [["\\ud800", 0.5]]]': "entity '\\ud800' is no valid Unicode",
    '["\\udfff", [["A", 0.5]]]': "surface '\\udfff' is no valid Unicode",
    '["x", [["A\\u0000B", 0.5]]]': "holds a NUL character",
    '["x", [["", 0.5]]]': "empty entity",
    '[" ", [["A", 0.5]]]': "empty surface",
    '["x", {"A": 0.5}]': "expected a pair [entity, prior], got 'A'",
    f'["x", {"[" * 400}{"]" * 400}]': "expected a pair [entity, prior]",
    f'"{"y" * 100_000}"': "expected [surface, [[entity, prior], ...]] or an object, got 'yyy",
    f'["x", [["{"y" * 100_000}", 2]]]': "expected a prior between 0 and 1, got 2",
    f'{{"surface": "x", "candidates": [], "{"y" * 100_000}": 1}}': "unknown field 'yyy",
}


@pytest.mark.parametrize("row", BAD_ROWS, ids=range(len(BAD_ROWS)))
def test_alias_rows(here: Path, row: str) -> None:
    Path("bad.jsonl").write_text(GOOD + row + "\n")
    said = refused("build", "--aliases", "bad.jsonl", "--out", "out")
    assert "cannot build out: bad.jsonl:2" in said
    assert BAD_ROWS[row] in said


@pytest.mark.parametrize("count", [HUGE, f"-{HUGE}", "inf", "nan", "-1", "0", "1e309", "one", ""])
def test_counts(here: Path, count: str) -> None:
    Path("bad.tsv").write_text(f"x\tA\t1\nx\tB\t{count}\n")
    assert "bad.tsv:2: expected a count above 0" in refused("build", "--counts", "bad.tsv", "--out", "out")


def test_counts_that_add_up_to_infinity_keep_their_shares(here: Path) -> None:
    Path("large.tsv").write_text("x\tA\t1e308\nx\tB\t1e308\nx\tC\t5e307\ny\tA\t5e-324\n")
    assert run("build", "--counts", "large.tsv", "--unseen", "0", "--out", "out")[0] == 0
    kb = KnowledgeBase.from_pretrained("out")
    assert {c.entity: round(c.prior, 6) for c in kb.candidates("x")} == {"A": 0.4, "B": 0.4, "C": 0.2}
    assert kb.candidates("y")[0].prior == 1
    Path("large.tsv").write_text("x\tA\t1e308\nx\tA\t1e308\n")
    assert "the counts add up to more than a float holds" in refused("build", "--counts", "large.tsv", "--out", "new")


def test_tables_without_candidates(here: Path) -> None:
    Path("none.jsonl").write_text('["x", []]\n')
    said = refused("build", "--aliases", "none.jsonl", "--out", "out")
    assert "no surface has a candidate in none.jsonl; nothing was saved" in said
    # One empty file among others is a mistake too.
    Path("empty.tsv").touch()
    assert "empty.tsv: the file holds no rows" in refused(
        "build", "--aliases", "good.jsonl", "--counts", "empty.tsv", "--out", "out"
    )
    assert not Path("out").exists()


def test_a_line_without_end(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file can hold a line that takes all memory; the limit is said with its name."""
    with gzip.open("long.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(GOOD.encode() + b'["')
        for _ in range(20):
            file.write(b"a" * 1_000_000)
    said = refused("build", "--aliases", "long.jsonl.gz", "--out", "out")
    assert "long.jsonl.gz:2: longer than the limit of 16,777,216 bytes a line (MAX_LINE_BYTES)" in said
    monkeypatch.setattr(readers, "MAX_LINE_BYTES", len(GOOD))
    assert run("build", "--aliases", "good.jsonl", "--out", "out")[0] == 0
    # Also where the limit cuts a character.
    for end in (b"", b"x"):
        Path("cut.jsonl").write_bytes(GOOD.encode() + b'["' + end + "é".encode() * len(GOOD) + b'", []]\n')
        assert "cut.jsonl:2: longer than the limit" in refused("build", "--aliases", "cut.jsonl", "--out", "out")


HUGE_ARRAY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999, 9999), }"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an array of numpy"),
        (b"\x93NUMPY\x01\x00\x76\x00{'descr': (((((((((", "not an array of numpy"),
        (b"PK\x03\x04" + bytes(40), "not an array of numpy"),
        (HUGE_ARRAY, "not an array of numpy"),
    ],
)
def test_vectors_of_end2end_neural_el(here: Path, content: bytes, message: str) -> None:
    data = here / "data"
    data.mkdir()
    (data / "prob_yago_crosswikis_wikipedia_p_e_m.txt").write_text("Oslo\t5\t7,0.5,Oslo\n")
    (data / "wiki_name_id_map.txt").write_text("Oslo\t7\n")
    (data / "nnid2wikiid.txt").write_text("1\t7\n")
    (data / "ent_vecs.npy").write_bytes(content)
    assert message in refused("build", "--end2end-neural-el", data, "--out", "out")
    np.save(data / "ent_vecs.npy", np.ones((1, 3), dtype=np.float32))
    (data / "nnid2wikiid.txt").write_text(f"{LONG}\t7\n")
    assert "nnid2wikiid.txt:1: expected a nnid" in refused("build", "--end2end-neural-el", data, "--out", "out")
    (data / "nnid2wikiid.txt").write_text("1\t7\n")
    (data / "prob_yago_crosswikis_wikipedia_p_e_m.txt").write_text("Oslo\t1\t7,9,Oslo\t8,1e308,Bergen\n")
    assert "expected a prior between 0 and 1" in refused("build", "--end2end-neural-el", data, "--out", "out")
    (data / "prob_yago_crosswikis_wikipedia_p_e_m.txt").unlink()
    (data / "prob_yago_crosswikis_wikipedia_p_e_m.txt").mkdir()
    assert "a folder, not a file" in refused("build", "--end2end-neural-el", data, "--out", "out")


@pytest.mark.parametrize("values", ["1 nan", "1 inf", "1 1e60", "1 x", "1", LONG])
def test_vectors_of_wikipedia2vec(here: Path, values: str) -> None:
    Path("w2v.txt").write_text(f"ENTITY/NATO 1 2\nENTITY/Oslo {values}\n")
    assert "w2v.txt:2: entity 'Oslo'" in refused("build", "--wikipedia2vec", "w2v.txt", "--out", "out")
    Path("w2v.txt").write_text(f"2 {LONG}\nENTITY/NATO 1 2\n")
    assert "w2v.txt:1: expected a number of dimensions" in refused(
        "build", "--wikipedia2vec", "w2v.txt", "--out", "out"
    )


def outputs(here: Path) -> list[str]:
    (here / "file").write_text("mine")
    make_loop(here / "loop")
    return ["file", "file/below", "loop", "loop/below", "/dev/full", "/proc/none", "x" * 300, f"{'y/' * 3000}z"]


def test_outputs_that_cannot_be_written(saved: Path, here: Path) -> None:
    for out in outputs(here):
        said = refused("build", "--aliases", "good.jsonl", "--out", out)
        # Of a name that is over-long, a message shows the beginning.
        assert said.startswith(f"hf-corefel: cannot build {out}: "[:500])
        refused("add", "saved", "--entity", "X", "--surface", "x", "--out", out)
    assert (here / "file").read_text() == "mine"
    assert KnowledgeBase.from_pretrained("saved").candidates("x") == []


def test_folders_that_are_none(saved: Path, here: Path) -> None:
    (here / "empty").mkdir()
    for folder in (*outputs(here), "empty", "\x1b[2J\udcff", "missing"):
        refused("info", folder)
        refused("info", folder, "--verify", "--json")
        refused("lookup", folder, "x")
        refused("add", folder, "--entity", "X", "--surface", "x")
    assert sorted(os.listdir("empty")) == []


CONFIGS = ["", "[]", "{}", "[" * 10**5, '{"a":' * 10**5, "\0", '{"format_version": 1e999}']
CONFIGS.append(f'{{"format_version": {LONG}}}')


@pytest.mark.parametrize("content", CONFIGS, ids=range(len(CONFIGS)))
def test_configurations(saved: Path, content: str) -> None:
    (saved / "kb_config.json").write_text(content)
    for command in (["info", saved], ["lookup", saved, "x"], ["add", saved, "--entity", "X"]):
        assert "kb_config.json" in refused(*command)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("files", None),
        ("files", {}),
        ("files", {"tables.safetensors": "tables.safetensors"}),
        ("files", {"tables.safetensors": {"name": "../../etc/passwd", "bytes": 1, "checksum": ""}}),
        ("files", {"tables.safetensors": {"name": "\ud800", "bytes": 1, "checksum": ""}}),
        ("provenance", {"deep": json.loads("[" * 400 + "]" * 400)}),
        ("provenance", {"text": "\ud800"}),
        ("url_template", "\ud800{entity}"),
        ("num_entities", 10**30),
        ("fallback", ["casefold"]),
        ("projection", "x"),
        ("fingerprint", None),
    ],
)
def test_fields_of_configurations(saved: Path, field: str, value: object) -> None:
    config = json.loads((saved / "kb_config.json").read_text())
    (saved / "kb_config.json").write_text(json.dumps({**config, field: value}))
    assert "kb_config.json" in refused("lookup", saved, "Alliance")


def test_arguments(saved: Path) -> None:
    for prior in ("nan", "inf", "-1", "2", "1e999"):
        assert "expected a prior" in refused("add", saved, "--entity", "X", "--surface", "x", "--prior", prior)
    add = ("add", saved, "--surface", "x", "--entity")
    assert "is no valid Unicode" in refused(*add, "\udcff")
    assert "empty entity" in refused(*add, "")
    assert "Wikidata id of 'X'" in refused(*add, "X", "--wikidata", "42")
    assert "no valid Unicode" in refused(*add, "X", "--description", "\udcff")
    assert "no valid Unicode" in refused(*add, "X", "--url", "\udcff")
    assert "empty surface" in refused("add", saved, "--entity", "X", "--surface", " ")
    status, out, err = run("lookup", saved, "\udcff", "\x1b[2J", "Alliance", "--limit", 10**15)
    assert (status, err, "NATO" in out, "\x1b" in out) == (0, "", True, False)


def test_a_file_whose_name_is_no_text(here: Path) -> None:
    Path("good.jsonl").rename("\udcff.jsonl")
    assert run("build", "--aliases", "\udcff.jsonl", "--out", "out")[0] == 0
    assert KnowledgeBase.from_pretrained("out").provenance == {"files": ["\N{REPLACEMENT CHARACTER}.jsonl"]}


def test_a_folder_that_may_not_be_read(saved: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may read and write everything")
    saved.chmod(0o500)
    try:
        assert "Permission denied" in refused("add", saved, "--entity", "X", "--surface", "x")
        (saved / "tables.safetensors").chmod(0)
        assert "Permission denied" in refused("lookup", saved, "x")
    finally:
        saved.chmod(0o700)
