"""Formats of other packages at the command line, and conversion between any two."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from forked_python import run_python
from format_documents import content, gold
from hf_corefel import Cluster, Document, Mention
from hf_corefel.cli import app
from hf_corefel.cli.outputs import Output
from hf_corefel.formats import FORMATS, format_of, read_documents, read_jsonl, write_jsonl

TEXT = "Ada Lo met Bo in Oslo. She left."
GUEST = """
from hf_corefel import Cluster, Document, Mention
from hf_corefel.formats import Writer


class Words(Writer):
    title = "a mention a line"
    suffixes = (".mentions",)
    streams = True

    def write(self, documents, losses):
        for document in documents:
            lines = [document.text]
            for number, cluster in enumerate(document.clusters or ()):
                losses.count("links", cluster.entity is not None)
                lines += [f"{number} {m.begin} {m.end}" for m in cluster.mentions]
            yield "\\n".join([*lines, "", ""])

    def read(self, path):
        for block in path.read_text(encoding="utf-8").split("\\n\\n")[:-1]:
            text, *lines = block.split("\\n")
            groups = {}
            for line in lines:
                number, begin, end = map(int, line.split())
                groups.setdefault(number, []).append(Mention(begin, end))
            yield Document(text, clusters=[Cluster(tuple(group)) for group in groups.values()])


class Plain:
    # No Writer at all: what is optional has its defaults.
    suffixes = [".plain"]

    def write(self, documents, losses):
        for document in documents:
            yield document.text
"""


def example() -> Document:
    clusters = [Cluster((Mention(0, 6), Mention(23, 26))), Cluster((Mention(17, 21),), "Oslo")]
    return Document(TEXT, id="d1", clusters=clusters)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package of a guest, beside a folder of documents in which the command runs."""
    monkeypatch.chdir(tmp_path)
    write_jsonl("in.jsonl", [example()])
    package = tmp_path / "site"
    info = package / "guest-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "guest_format.py").write_text(GUEST)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[hf_corefel.formats]\nmentions = guest_format:Words\nplain = guest_format:Plain\nlost = no_such:Format\n"
    )
    return package


@pytest.fixture
def registered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The guest's formats in this process."""
    monkeypatch.syspath_prepend(str(folder))
    import guest_format

    FORMATS.register("mentions", guest_format.Words())
    FORMATS.register("plain", guest_format.Plain)
    yield
    FORMATS.unregister("mentions")
    FORMATS.unregister("plain")
    sys.modules.pop("guest_format")


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_a_registered_format_is_written_and_read_by_name_and_by_ending(registered: None) -> None:
    lost = "hf-corefel: warning: mentions files cannot hold all of it; left out or changed: links (1)\n"
    assert run("convert", "in.jsonl", "out.mentions") == (0, "", lost)
    assert Path("out.mentions").read_text() == f"{TEXT}\n0 0 6\n0 23 26\n1 17 21\n\n"
    assert run("convert", "in.jsonl", "out.mentions.gz", "--quiet") == (0, "", "")
    assert gzip.decompress(Path("out.mentions.gz").read_bytes()) == Path("out.mentions").read_bytes()
    assert run("convert", "in.jsonl", "-", "--format", "mentions", "-q")[1] == Path("out.mentions").read_text()
    assert run("convert", "in.jsonl", "each/", "--format", "mentions", "-q")[0] == 0
    assert Path("each/d1.mentions").read_text() == Path("out.mentions").read_text()
    assert run("convert", "out.mentions", "back.jsonl") == (0, "", "")
    (back,) = read_jsonl("back.jsonl")
    assert gold(back) == {(None, mentions) for _, mentions in gold(example())}
    assert run("convert", "in.jsonl", "out.plain") == (0, "", "") and Path("out.plain").read_text() == TEXT
    status, _, err = run("convert", "out.plain", "back.jsonl")
    assert status == 1 and "out.plain: plain is written only; formats that can be read are json" in err
    status, _, err = run("convert", "in.jsonl", "out.plain.gz")
    assert status == 1 and "files of the format plain are not compressed" in err and "mentions" in err


def test_formats_of_an_installed_package(folder: Path, tiny_folder: Path) -> None:
    Path("text.txt").write_text("Anna Berg met Carl Moss in Oslo.")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), "COLUMNS": "400"}

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_python("-m", "hf_corefel.cli", *arguments, env=environment)

    done = command("annotate", "text.txt", "--model", str(tiny_folder), "-o", "out.mentions", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("out.mentions").read_text().startswith("Anna Berg met Carl Moss in Oslo.\n0 ")
    done = command("annotate", "--help")
    assert all(name in done.stdout for name in ("conll2012", "docbin", "mentions", "plain"))
    done = command("convert", "in.jsonl", "out", "--format", "lost")
    assert done.returncode == 2 and "guest 1.0 offers it as no_such:Format" in done.stderr
    done = command("convert", "in.jsonl", "out.mentions", "--format", "mentions", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")


def test_names_that_stand_for_nothing_are_answered_with_those_that_do(folder: Path) -> None:
    status, out, err = run("convert", "in.jsonl", "out.xyz")
    assert (status, out) == (1, "") and not Path("out.xyz").exists()
    assert all(suffix in err for suffix in (".conll", ".conllu", ".ttl", ".jsonl", ".spacy", ".parquet"))
    status, _, err = run("convert", "in.jsonl", "out", "--format", "conll")
    assert status == 2 and "conll2012" in err
    assert run("convert", "in.jsonl", "-") == (1, "", "hf-corefel: to standard output in which format? say --format\n")
    status, _, err = run("convert", "missing.jsonl", "out.conll")
    assert (status, err) == (1, "hf-corefel: cannot read missing.jsonl: No such file or directory\n")


def test_what_cannot_be_read_leaves_the_output_as_it_was(folder: Path) -> None:
    Path("bad.jsonl").write_text(json.dumps({"text": "fine"}) + '\n{"text": 5}\n')
    for name in ("out.conll", "out.jsonl", "out.html"):
        Path(name).write_text("earlier")
        status, _, err = run("convert", "bad.jsonl", name)
        assert status == 1 and err.startswith("hf-corefel: cannot read bad.jsonl:2: document.text: "), err
        assert Path(name).read_text() == "earlier"
    status, _, err = run("convert", "in.jsonl", "in.jsonl")
    assert status == 1 and "choose another name" in err
    assert gold(next(read_jsonl("in.jsonl"))) == gold(example())


def test_no_file_of_a_folder_is_written_over(folder: Path) -> None:
    assert run("convert", "in.jsonl", "corpus/", "--format", "brat") == (0, "", "")
    before = {path.name: path.read_bytes() for path in Path("corpus").iterdir()}
    status, _, err = run("convert", "corpus", "corpus/d1.ann", "--format", "jsonl")
    assert status == 1 and "choose another name" in err
    assert run("convert", "corpus", "corpus/", "--format", "brat") == (0, "", "")
    after = {path.name: path.read_bytes() for path in Path("corpus").iterdir()}
    assert after == {**before, "d1-2.ann": before["d1.ann"], "d1-2.txt": before["d1.txt"]}


def test_nothing_to_convert_is_said(folder: Path) -> None:
    Path("empty.jsonl").write_text("\n")
    Path("out.conll").write_text("earlier")
    assert run("convert", "empty.jsonl", "out.conll") == (
        1,
        "",
        "hf-corefel: nothing to convert: empty.jsonl holds no document\n",
    )
    assert Path("out.conll").read_text() == "earlier"
    status, _, err = run("convert", "in.jsonl", "out.conll", "--split", "test")
    assert status == 1 and "--split is for corpora" in err


def test_a_package_that_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    for target in ("out.spacy", "-"):
        status, _, err = run("convert", "in.jsonl", target, "--format", "docbin")
        assert status == 1 and err.endswith("spaCy is not installed; `pip install hf-corefel[spacy]` installs it\n")
        assert not Path("out.spacy").exists()


CHAINS = ["jsonl", "json", "corefud", "label_studio", "parquet", "docbin", "brat"]


@pytest.mark.parametrize("kind", CHAINS)
def test_conversion_there_and_back(folder: Path, kind: str) -> None:
    if kind == "docbin":
        pytest.importorskip("spacy")
    place = "there/" if kind == "brat" else "there"
    assert run("convert", "in.jsonl", place, "--format", kind) == (0, "", "")
    assert run("convert", place.rstrip("/"), "back.jsonl", "--from", kind) == (0, "", "")
    (back,) = read_documents("back.jsonl")
    assert (back.text, back.id, gold(back)) == (TEXT, "d1", gold(example()))


def test_a_corpus_is_found_by_its_files(folder: Path) -> None:
    assert run("convert", "in.jsonl", "corpus/", "--format", "brat") == (0, "", "")
    assert run("convert", "corpus", "out.conllu") == (0, "", "")
    assert run("convert", "corpus/d1.ann", "out.json") == (0, "", "")
    for name in ("out.conllu", "out.json"):
        (found,) = read_documents(name)
        assert gold(found) == gold(example())


def test_folders_of_files_need_a_folder(folder: Path) -> None:
    for target in ("in.jsonl", "x.ann"):
        status, _, err = run("convert", "in.jsonl", target, "--format", "brat")
        assert status == 1 and "brat is a folder of files; name a folder" in err, err
    status, _, err = run("convert", "in.jsonl", "-", "--format", "brat")
    assert status == 1 and "brat to standard output: it is a folder of files" in err
    assert run("convert", "in.jsonl", "new", "--format", "brat")[0] == 0
    assert sorted(path.name for path in Path("new").iterdir()) == ["d1.ann", "d1.txt"]


@pytest.mark.parametrize("name", ["x.conllu", "x.conll.gz", "x.ttl", "x.parquet", "x.spacy", "x.label_studio.json"])
def test_formats_that_stream_keep_what_is_finished_when_stopped(tmp_path: Path, name: str) -> None:
    kind = format_of(name)
    assert kind is not None
    if kind == "docbin":
        pytest.importorskip("spacy")

    def stopped() -> Iterator[Document]:
        yield example()
        raise KeyboardInterrupt

    (tmp_path / name).write_bytes(b"earlier")
    with pytest.raises(KeyboardInterrupt) as raised:
        Output(kind, str(tmp_path / name), []).take(stopped())
    assert (tmp_path / name).read_bytes() == b"earlier"
    part = tmp_path / f"{name}.part"
    assert part.exists() is (kind in ("corefud", "conll2012", "nif"))
    (note,) = raised.value.__notes__ if part.exists() else ["only"]
    assert "what was finished is in" in note or "only" in note
    if part.exists():
        kept = gzip.decompress(part.read_bytes()) if name.endswith(".gz") else part.read_bytes()
        assert kept == content(kind, [example()])[0]


@pytest.mark.parametrize("kind", ["conll2012", "corefud", "nif"])
def test_streams_are_compressed_alike(folder: Path, kind: str) -> None:
    assert run("convert", "in.jsonl", "plain", "--format", kind, "-q") == (0, "", "")
    assert run("convert", "in.jsonl", "packed.gz", "--format", kind, "-q") == (0, "", "")
    assert gzip.decompress(Path("packed.gz").read_bytes()) == Path("plain").read_bytes()
    if kind != "nif":
        assert run("convert", "packed.gz", "back.jsonl", "--from", kind) == (0, "", "")
        (back,) = read_jsonl("back.jsonl")
        assert len(back.clusters or ()) == 2


COLUMNS = " -" * 7
GOOD = f"#begin document (a); part 000\na 0 0 Ada{COLUMNS} (1)\na 0 1 left{COLUMNS} -\n\n#end document\n"
BROKEN = f"#begin document (b); part 000\nb 0 0 Bo{COLUMNS} (1\nb 0 1 left{COLUMNS} -\n\n#end document\n"


def test_what_is_malformed_in_a_corpus_ends_the_command_unless_it_may_be_left_out(folder: Path) -> None:
    Path("corpus").mkdir()
    Path("corpus/a.conll").write_text(GOOD + BROKEN)
    for source in ("corpus", "corpus/a.conll"):
        status, _, err = run("convert", source, "out.jsonl", "-q")
        assert status == 1 and "a.conll" in err and not Path("out.jsonl").exists()
    assert "--lenient" in run("convert", "corpus", "out.jsonl")[2]
    status, _, err = run("convert", "corpus", "out.jsonl", "--lenient")
    assert status == 0 and "warning" in err
    assert [document.id for document in read_jsonl("out.jsonl")] == ["a"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "plain"])
def test_damaged_files_are_named(damage: str, folder: Path) -> None:
    packed = gzip.compress(Path("in.jsonl").read_bytes() * 20)
    middle = len(packed) // 2
    flipped = packed[:middle] + bytes(255 - byte for byte in packed[middle : middle + 8]) + packed[middle + 8 :]
    Path("in2.jsonl.gz").write_bytes({"cut": packed[:40], "flipped": flipped, "plain": b"hello"}[damage])
    status, _, err = run("convert", "in2.jsonl.gz", "out.conll")
    assert status == 1 and "in2.jsonl.gz" in err and "fault of the program" not in err
    assert run("convert", "in.jsonl", "whole.parquet", "-q")[0] == 0
    whole = Path("whole.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    status, _, err = run("convert", "cut.parquet", "out.conll")
    assert status == 1 and "cut.parquet" in err and "fault of the program" not in err


def test_a_corpus_in_a_json_file_is_told_from_a_list_of_documents(folder: Path) -> None:
    mention = {"sent_id": 0, "pos": [0, 1], "name": "Ada", "type": "PER"}
    item = {"title": "t", "sents": [["Ada", "left"]], "vertexSet": [[mention]], "labels": []}
    Path("dev.json").write_text(json.dumps([item]))
    assert run("convert", "dev.json", "dev.jsonl") == (0, "", "")
    (document,) = read_jsonl("dev.jsonl")
    assert document.text == "Ada left" and gold(document) == {(None, frozenset({(0, 3)}))}
