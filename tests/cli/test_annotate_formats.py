"""`hf-corefel annotate`: its formats, where they go, and what it passes on to the pipeline."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from hf_corefel.cli import app
from hf_corefel.documents import Alternative, AnnotatedDocument, Cluster, Document, Mention, Parent
from hf_corefel.formats import format_of, read_jsonl, render_html
from hf_corefel.registration import ensure_registered

TEXT = "The Alliance waits for NATO."
NATO = "https://en.wikipedia.org/wiki/NATO"


def annotated(text: str, **asked: Any) -> AnnotatedDocument:
    """One cluster of two mentions in TEXT, with what was asked for; none in another text."""
    clusters = []
    if text == TEXT:
        parents = (
            (Parent("mention", 23, 27), Parent("entity", entity="NATO")) if asked.get("evidence") else (None, None)
        )
        mentions = Mention(4, 12, None, 0.9, 0.8, 0.7, parents[0]), Mention(23, 27, None, 1.0, 0.9, 0.8, parents[1])
        options = (Alternative("NATO", 0.75), Alternative(None, 0.25)) if asked.get("top_k") else None
        known = ("Q7184", "organization") if asked.get("id") else (None, None)
        clusters = [Cluster(mentions, "NATO", 0.75, NATO, options, *known)]
    resolved = "The Alliance waits for NATO!" if asked.get("resolved_text") else None
    return AnnotatedDocument(text, clusters, warnings=list(asked.get("warnings", ())), resolved_text=resolved)


class FakePipeline:
    """Remembers how it was made and called."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.calls: list[tuple[Any, dict[str, Any]]] = []
        self.documents: list[Document] = []
        self.warnings: list[str] = []

    def load_pipeline(self, model: str | None = None, **options: Any) -> FakePipeline:
        if options.get("device") == "moon":
            raise RuntimeError("no such device")
        self.made.append({"model": model, **options})
        return self

    def __call__(self, inputs: list[Document], batch_size: int | None = None, **asked: Any) -> list[dict[str, Any]]:
        self.calls.append(([document.text for document in inputs], asked))
        self.documents += inputs
        if any(document.text == "broken" for document in inputs):
            raise ValueError("document: too broken")
        asked = {**asked, "warnings": self.warnings}
        return [{**annotated(document.text, **asked).to_dict(), "id": document.id} for document in inputs]


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakePipeline]:
    ensure_registered()  # with the real module, which the other tests need
    fake = FakePipeline()
    module = ModuleType("hf_corefel.pipeline_corefel")
    module.load_pipeline = fake.load_pipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT, encoding="utf-8")
    Path("b.txt").write_text("Nothing.", encoding="utf-8")
    Path("broken.txt").write_text("broken", encoding="utf-8")
    return fake


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["annotate", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def expected(name: str, **asked: Any) -> AnnotatedDocument:
    document = annotated(Path(name).read_text(encoding="utf-8"), **asked)
    document.id = name
    return document


ON_A_PAGE = {"evidence": True, "top_k": 3}


def test_json_lines_and_json(pipeline: FakePipeline) -> None:
    documents = [expected("a.txt").to_dict(), expected("b.txt").to_dict()]
    for arguments in (("--json",), ("--format", "jsonl"), ("--format", "jsonl", "--json")):
        status, out, err = run("a.txt", "b.txt", *arguments)
        assert (status, err) == (0, "")
        assert [json.loads(line) for line in out.splitlines()] == documents
    status, out, _ = run("a.txt", "b.txt", "--format", "json")
    assert json.loads(out) == documents
    assert len(out.splitlines()) > 10, "to be read by people too"
    assert json.loads(run("b.txt", "--format", "json")[1]) == documents[1:]


def test_page(pipeline: FakePipeline) -> None:
    status, out, err = run("a.txt", "b.txt", "--format", "html")
    assert (status, err) == (0, "")
    assert out == render_html([expected("a.txt", **ON_A_PAGE), expected("b.txt", **ON_A_PAGE)])
    assert "Alliance → NATO → NATO (entity)" in out
    assert [asked for _, asked in pipeline.calls] == [ON_A_PAGE, ON_A_PAGE]
    run("a.txt", "--format", "html", "--no-evidence", "--top-k", "1")
    assert pipeline.calls[-1][1] == {"evidence": False, "top_k": 1}


def test_tables_with_evidence_alternatives_and_the_resolved_text(pipeline: FakePipeline) -> None:
    pipeline.warnings = ["12 words were masked"]
    status, out, err = run("a.txt", "--evidence", "--top-k", "2", "--resolved-text")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (status, err) == (0, "hf-corefel: a.txt: warning: 12 words were masked\n")
    assert lines[:2] == ["a.txt: 1 cluster, 2 mentions", "warning: 12 words were masked"]
    assert "NATO 0.75 Alliance 4–12 (0.90) → NATO → NATO (entity)" in lines
    assert f"{NATO} NATO 23–27 (1.00) → NATO (entity)" in lines
    assert "or NIL 0.25" in lines
    assert lines[lines.index("Resolved text") + 1] == "The Alliance waits for NATO!"
    assert run("a.txt", "--format", "text", "--quiet")[2] == ""


def test_ids_and_types_reach_the_pipeline_and_are_shown(pipeline: FakePipeline) -> None:
    status, out, err = run("a.txt", "--id", "wikidata", "--types", "person, place,person")
    assert (status, err) == (0, "")
    assert "organization · Q7184" in out
    assert pipeline.calls == [([TEXT], {"id": "wikidata", "types": ("person", "place")})]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *((name, ()) for name in ("out.jsonl", "out.jsonl.gz", "out.json", "out.html", "out.txt", "any")),
        *(("any", ("--format", "jsonl")), ("out.txt", ("--json",))),
    ],
)
def test_one_file_in_the_format_that_its_name_says(
    pipeline: FakePipeline, name: str, arguments: tuple[str, ...]
) -> None:
    status, out, _ = run("a.txt", "b.txt", "--output", name, *arguments)
    assert (status, out) == (0, "")
    written = Path(name).read_bytes()
    if name == "out.html":
        assert written.decode() == render_html([expected("a.txt", **ON_A_PAGE), expected("b.txt", **ON_A_PAGE)])
    elif name == "out.json":
        assert json.loads(written) == [expected("a.txt").to_dict(), expected("b.txt").to_dict()]
    elif name.startswith("out.jsonl") or arguments:
        lines = (gzip.decompress(written) if name.endswith(".gz") else written).splitlines()
        assert [AnnotatedDocument.from_dict(json.loads(line)) for line in lines] == [
            expected("a.txt"),
            expected("b.txt"),
        ]
    else:
        assert written.decode().startswith("a.txt: 1 cluster, 2 mentions\n")
        assert "\nb.txt: 0 clusters, 0 mentions\n" in written.decode()


@pytest.mark.parametrize("name", ["out.json.gz", "out.html.gz", "out.txt.gz", "out.gz"])
def test_only_formats_that_stream_are_compressed(pipeline: FakePipeline, name: str) -> None:
    status, out, err = run("a.txt", "--output", name)
    kind = format_of(name) or "text"
    fix = f"files of the format {kind} are not compressed; choose a name without .gz, or one of jsonl, "
    assert (status, out) == (1, "") and err.startswith(f"hf-corefel: cannot write {name}: {fix}")
    assert not Path(name).exists()
    assert run("a.txt", "--output", name, "--format", "jsonl")[0] == 0
    assert [document.id for document in read_jsonl(name, AnnotatedDocument)] == ["a.txt"]


@pytest.mark.parametrize("name", ["out.csv", "out.md", "out.conll9"])
def test_an_ending_that_says_nothing_is_no_table(pipeline: FakePipeline, name: str) -> None:
    status, out, err = run("a.txt", "--output", name)
    assert (status, out) == (1, "")
    assert err.startswith(f"hf-corefel: cannot tell what to write from the ending of {name}: end it in .txt, .json, ")
    assert all(suffix in err for suffix in (".jsonl", ".html", ".conll", ".conllu", ".ttl", ".parquet", ".spacy"))
    assert not Path(name).exists()
    assert run("a.txt", "--output", name, "--format", "text")[0] == 0
    assert Path(name).read_text(encoding="utf-8").startswith("a.txt: 1 cluster")
    # A dot in the name of a folder says nothing.
    assert run("a.txt", "--output", "v1.2/")[0] == 0
    assert [path.name for path in Path("v1.2").iterdir()] == ["a.txt"]


def test_documents_in_json_lines(pipeline: FakePipeline) -> None:
    known = {"id": "DW_1.5", "text": TEXT, "mentions": [[4, 12], [23, 27]], "mention_scope": "all"}
    lines = [json.dumps(known), "", json.dumps({"text": "Nothing."}), '{"text": "x", "mentions": [[0, 9]]}', "no JSON"]
    Path("in.jsonl").write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    Path("in.jsonl.gz").write_bytes(gzip.compress(json.dumps(known).encode()))
    status, out, err = run("in.jsonl", "a.txt", "in.jsonl.gz", "--json", "--batch-size", "2")
    assert status == 1
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["DW_1.5", "in.jsonl:3", "a.txt", "DW_1.5"]
    assert pipeline.documents[0] == Document.from_dict(known)
    first, second = err.splitlines()
    assert first.startswith("hf-corefel: cannot read in.jsonl:4: document.mentions[0]: ")
    assert second.startswith("hf-corefel: cannot read in.jsonl:5: no valid JSON: ")
    assert second.endswith("; say --input-format text for a file of plain text")
    # A file a document, named by its id.
    run("in.jsonl", "-o", "each/", "--json")
    assert sorted(path.name for path in Path("each").iterdir()) == ["DW_1.5.jsonl", "in.jsonl_3.jsonl"]
    # Taken for a text when one says so; and standard input for documents.
    run("in.jsonl", "--input-format", "text", "--json")
    assert pipeline.documents[-1].text == "\n".join(lines)
    result = CliRunner().invoke(
        app, ["annotate", "-", "--input-format", "jsonl", "--json"], input='{"text": "Nothing."}'
    )
    assert json.loads(result.stdout)["id"] == "-:1"


def test_a_damaged_file_of_documents(pipeline: FakePipeline) -> None:
    lines = b"".join(b'{"text": "Nothing.", "id": "%d"}\n' % n for n in range(3000))
    whole = gzip.compress(lines)
    wrong_sum = whole[:-8] + bytes(4) + whole[-4:]
    for name, data, read in (
        ("cut.jsonl.gz", whole[: len(whole) // 2], True),
        ("sum.jsonl.gz", wrong_sum, True),
        ("bits.jsonl.gz", whole[:2000] + bytes(50) + whole[2050:], True),
        ("no.jsonl.gz", b"{}", False),
        ("latin.jsonl", b'{"text": "\xe4"}', False),
    ):
        Path(name).write_bytes(data)
        pipeline.documents.clear()
        status, _, err = run(name, "a.txt", "--json", "--batch-size", "100")
        assert status == 1 and f"hf-corefel: cannot read {name}:" in err
        # Flipped bits make lines of their own that are no documents.
        assert err.count("\n") == 1 or name.startswith("bits")
        # What stands before the damage is done, and so is the next file.
        assert pipeline.documents[-1].text == TEXT
        assert (len(pipeline.documents) > 1000) is read


def test_documents_from_a_pipe_are_read_once(pipeline: FakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes standard error for a terminal, so that there is a bar
    monkeypatch.setenv("TERM", "xterm")
    os.mkfifo("pipe.jsonl")
    writer = threading.Thread(target=lambda: Path("pipe.jsonl").write_text('{"text": "Nothing."}\n' * 3))
    writer.start()
    status, out, err = run("pipe.jsonl", "--json")
    writer.join(timeout=10)
    assert (status, len(out.splitlines())) == (0, 3)
    assert "Annotating" in err


def test_files_without_a_document_are_no_result(pipeline: FakePipeline) -> None:
    Path("empty.jsonl").write_text("\n\n")
    Path("out.json").write_text("earlier")
    message = "hf-corefel: nothing to annotate: empty.jsonl holds no document\n"
    assert run("empty.jsonl", "-o", "out.json") == (1, "", message)
    assert Path("out.json").read_text() == "earlier"


def test_any_id_has_a_file_of_its_own_in_a_folder(pipeline: FakePipeline) -> None:
    ids = ["x", "X", "x", "x-2", "", "-", "..", "a/b.c", "https://example.org/" + "k" * 300, "\u5317" * 200, None]
    lines = [json.dumps({"text": "Nothing.", "id": name}) for name in ids]
    Path("in.jsonl.bak").write_text("\n".join(lines), encoding="utf-8")
    status, _, err = run("in.jsonl.bak", "--input-format", "jsonl", "-o", "each/", "--json")
    assert (status, err) == (0, "")
    files = {path.name: next(read_jsonl(path, AnnotatedDocument)).id for path in Path("each").iterdir()}
    assert sorted(map(str, files.values())) == sorted([*(str(name) for name in ids[:-1]), "in.jsonl.bak:11"])
    assert len({name.casefold() for name in files}) == len(ids)
    assert files["a_b.c.jsonl"] == "a/b.c" and files["in.jsonl.bak_11.jsonl"] == "in.jsonl.bak:11"
    assert not any(name.startswith(".") for name in files)


def test_names_and_messages_cannot_move_the_cursor(pipeline: FakePipeline) -> None:
    Path("in.jsonl").write_text(json.dumps({"text": "broken", "id": "x\x1b[2Jy\nz"}) + "\n", encoding="utf-8")
    status, _, err = run("in.jsonl", "--json")
    assert status == 1 and "too broken" in err
    assert "\x1b" not in err and err.count("\n") == 1


def test_a_knowledge_base_in_place_of_the_models_own(pipeline: FakePipeline, tiny_knowledge_base: Any) -> None:
    tiny_knowledge_base.save_pretrained("mine")
    tiny_knowledge_base.save_pretrained("model/knowledge_base")
    for name in ("mine", "model"):
        assert run("a.txt", "--knowledge-base", name, "--json")[0] == 0
    assert [made["knowledge_base"].num_entities for made in pipeline.made] == [tiny_knowledge_base.num_entities] * 2
    status, out, err = run("a.txt", "--knowledge-base", "none", "--json")
    assert (status, out) == (1, "") and err.startswith("hf-corefel: cannot read the knowledge base none: ")


def test_a_folder_gets_a_file_a_text(pipeline: FakePipeline) -> None:
    Path("more").mkdir()
    Path("more/a.txt").write_text("Another.", encoding="utf-8")
    status, out, err = run("a.txt", "more/a.txt", "broken.txt", "-o", "new/pages/", "--format", "jsonl")
    assert (status, out) == (1, "")
    assert err == "hf-corefel: cannot annotate broken.txt: document: too broken\n"
    assert sorted(path.name for path in Path("new/pages").iterdir()) == ["a-2.jsonl", "a.jsonl"]
    (second,) = read_jsonl("new/pages/a-2.jsonl", AnnotatedDocument)
    assert (second.id, second.text) == ("more/a.txt", "Another.")
    # The folder of the inputs themselves, in their own format: none of them is replaced.
    assert run("a.txt", "b.txt", "-o", ".")[0] == 0
    assert Path("a.txt").read_text(encoding="utf-8") == TEXT
    assert Path("a-2.txt").read_text(encoding="utf-8").startswith("a.txt: 1 cluster")


def test_outputs_that_cannot_be_are_named_before_the_model_is_loaded(pipeline: FakePipeline) -> None:
    Path("file").write_text("x", encoding="utf-8")
    cases = {
        "a.txt": "cannot write a.txt: that is a file to read; choose another name",
        "no/such/out.html": "cannot write no/such/out.html: there is no folder no/such; make it first",
        "file/": "cannot write file/: File exists",
    }
    for target, message in cases.items():
        assert run("a.txt", "--output", target) == (1, "", f"hf-corefel: {message}\n")
    assert pipeline.made == []
    status, _, err = run("a.txt", "--json", "--format", "html")
    assert (status, err) == (1, "hf-corefel: --json is the same as --format jsonl; leave it out beside --format html\n")


def test_no_file_of_a_folder_that_is_read_is_written_over(pipeline: FakePipeline) -> None:
    folder = Path("texts", "below")
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(json.dumps({"id": "a", "text": TEXT}) + "\n", encoding="utf-8")
    before = (folder / "a.jsonl").read_bytes()
    error = "hf-corefel: cannot write texts/below/a.jsonl: that is a file to read; choose another name\n"
    assert run("texts", "-o", "texts/below/a.jsonl") == (1, "", error)
    assert run("texts", "-o", "texts/below/", "--format", "jsonl")[0] == 0
    assert (folder / "a.jsonl").read_bytes() == before and (folder / "a-2.jsonl").is_file()


def test_nothing_to_write_leaves_a_file_as_it_was(pipeline: FakePipeline) -> None:
    for name in ("old.jsonl", "old.html"):
        Path(name).write_text("old", encoding="utf-8")
        assert run("broken.txt", "missing.txt", "--output", name)[0] == 1
        assert Path(name).read_text(encoding="utf-8") == "old"


def test_options_reach_the_pipeline(pipeline: FakePipeline) -> None:
    options = ("--mention-scope", "all", "--min-probability", "0.5", "--top-k", "2", "--evidence", "--resolved-text")
    assert run("a.txt", *options, "--device", "cpu", "--model", "mine", "--json")[0] == 0
    assert pipeline.made == [{"model": "mine", "device": "cpu"}]
    assert pipeline.calls == [
        (
            [TEXT],
            {"mention_scope": "all", "min_probability": 0.5, "top_k": 2, "evidence": True, "resolved_text": True},
        )
    ]
    assert run("a.txt", "--json")[0] == 0
    assert pipeline.made[1] == {"model": None} and pipeline.calls[1][1] == {}


@pytest.mark.parametrize(
    "arguments",
    [
        *(("--top-k", "-1"), ("--min-probability", "2"), ("--min-probability", "high")),
        *(("--batch-size", "0"), ("--mention-scope", "some"), ("--format", "xml")),
        *(("--input-format", "xml"), ("--id", "title"), ("--types", "persons"), ("--types", ",")),
    ],
)
def test_bad_options_are_named(pipeline: FakePipeline, arguments: tuple[str, str]) -> None:
    status, out, err = run("a.txt", *arguments)
    assert (status, out) == (2, "")
    assert arguments[0] in err
    assert pipeline.made == []


def test_an_unknown_type_is_named_with_the_known_ones(pipeline: FakePipeline) -> None:
    said = " ".join(run("a.txt", "--types", "person,persons")[2].replace("│", " ").split())
    assert (
        "--types: there is no type 'persons' (did you mean 'person'?); the known ones are person, organization" in said
    )


def test_a_device_that_is_not_there(pipeline: FakePipeline) -> None:
    message = "hf-corefel: cannot load the model of the package on the device moon: no such device\n"
    assert run("a.txt", "--device", "moon") == (1, "", message)


def test_batches_and_a_bad_file_in_one_of_them(pipeline: FakePipeline) -> None:
    files = ["a.txt", "b.txt", "missing.txt", "broken.txt", "a.txt"]
    status, out, err = run(*files, "--batch-size", "2", "--json")
    assert status == 1
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["a.txt", "b.txt", "a.txt"]
    assert err.splitlines() == [
        "hf-corefel: cannot read missing.txt: No such file or directory",
        "hf-corefel: cannot annotate broken.txt: document: too broken",
    ]
    assert [call for call, _ in pipeline.calls] == [[TEXT, "Nothing."], ["broken", TEXT], ["broken"], [TEXT]]
    pipeline.calls.clear()
    assert run("a.txt", "broken.txt", "b.txt", "--batch-size", "3", "--json")[0] == 1
    # Together, then each alone.
    assert [call for call, _ in pipeline.calls] == [[TEXT, "broken", "Nothing."], [TEXT], ["broken"], ["Nothing."]]


@pytest.mark.parametrize("kind", ["json", "jsonl", "html"])
def test_progress_for_every_format(pipeline: FakePipeline, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes standard error for a terminal
    monkeypatch.setenv("TERM", "xterm")
    target = f"out.{kind}"
    assert "2/2" in run("a.txt", "b.txt", "--output", target)[2]
    assert "Annotating" not in run("a.txt", "--output", target)[2]
    assert run("a.txt", "b.txt", "--output", target, "--quiet")[2] == ""


def test_format_of_a_name() -> None:
    names = {
        "x.html": "html",
        "x.htm": "html",
        "X.JSON": "json",
        "x.jsonl.gz": "jsonl",
        "a.b.txt": "text",
    }
    assert {name: format_of(name) for name in names} == names
    assert format_of("x.csv") is None and format_of("json") is None


def test_real_model_writes_a_page(tiny_folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city.", encoding="utf-8")
    page = tmp_path / "page.html"
    status, out, err = run(
        str(text), "--model", str(tiny_folder), "-o", str(page), "--resolved-text", "--device", "cpu"
    )
    assert (status, out, err) == (0, "", "")
    written = page.read_text(encoding="utf-8")
    assert "she → " in written
    assert "Then Anna Berg left Oslo." in written


def test_other_fields_of_lines_are_carried_over_and_named_once(pipeline: FakePipeline) -> None:
    lines = [
        {"id": 7, "text": Path("a.txt").read_text(encoding="utf-8"), "url": "u", "score": [1, None]},
        {"text": Path("b.txt").read_text(encoding="utf-8"), "url": "v", "mention": [], "warnings": ["old"]},
        {"text": Path("b.txt").read_text(encoding="utf-8"), "url": "w"},
    ]
    for name in ("one.jsonl", "two.jsonl"):
        Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    status, out, err = run("one.jsonl", "two.jsonl", "--json")
    said = "hf-corefel: warning: fields that are kept aside and not read, as a document does not have them: "
    assert (status, err.splitlines()) == (
        0,
        [f"{said}'url', 'score'", f"{said}'mention' (did you mean 'mentions'?), 'warnings'"],
    )
    found = [json.loads(line) for line in out.splitlines()]
    assert [(item["id"], item["url"]) for item in found] == [
        *((7, "u"), ("one.jsonl:2", "v"), ("one.jsonl:3", "w")),
        *((7, "u"), ("two.jsonl:2", "v"), ("two.jsonl:3", "w")),
    ]
    assert found[0]["score"] == [1, None] and found[1]["mention"] == []
    assert [{**found[1], "id": "b.txt"}[name] for name in ("text", "clusters", "warnings")] == [
        expected("b.txt").to_dict()[name] for name in ("text", "clusters", "warnings")
    ]
    status, again, err = run("one.jsonl", "two.jsonl", "--json", "--quiet")
    assert (status, again, err) == (0, out, "")


def test_an_integer_id_names_files_and_tables(pipeline: FakePipeline) -> None:
    Path("one.jsonl").write_text(
        json.dumps({"id": 0, "text": Path("a.txt").read_text(encoding="utf-8")}) + "\n", encoding="utf-8"
    )
    assert run("one.jsonl")[1].startswith("0: ")
    assert run("one.jsonl", "--output", "out/", "--format", "html")[0] == 0
    assert "<h1>0</h1>" in Path("out/0.html").read_text(encoding="utf-8").replace("<bdi>", "").replace("</bdi>", "")
