"""The scripts in ``dataset_scripts``: as loading scripts where `datasets` runs them, and as exporters everywhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import datasets
import pytest
from huggingface_hub import DatasetCard
from huggingface_hub.utils import filter_repo_objects

from forked_python import run_python
from hf_corefel import Document
from hf_corefel.corpora import CORPORA, CorpusSpec, exporting, read_aida, read_aida_plus, read_dwie, read_gum
from hf_corefel.corpora.spec_builder import builder_of
from script_loading import load_script

SCRIPTS = Path(__file__).resolve().parents[1] / "dataset_scripts"
RUNS_SCRIPTS = int(datasets.__version__.split(".")[0]) < 4
TEXT = "Anna Berg lives in Oslo."
AIDA = "-DOCSTART- (1 A)\nOslo\tB\tOslo\tOslo\thttp://en.wikipedia.org/wiki/Oslo\t5\n\n-DOCSTART- (947testa B)\nHi\n"


def script(name: str) -> ModuleType:
    return load_script(f"dataset_scripts/{name}.py")


def article(name: str, split: str, **changed: Any) -> dict[str, Any]:
    listed = {"candidates": ["Oslo"], "scores": [0.5]}
    mentions = [
        {"begin": 0, "end": 9, "text": "Anna Berg", "concept": 0},
        {"begin": 19, "end": 23, "text": "Oslo", "concept": 1, **listed},
    ]
    concepts = [{"concept": 0, "link": None}, {"concept": 1, "link": "Oslo"}]
    whole = {"id": name, "content": TEXT, "tags": ["all", split], "mentions": mentions, "concepts": concepts}
    return {**whole, **changed}


def write(folder: Path, *articles: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for each in articles:
        (folder / f"{each['id']}.json").write_text(json.dumps(each), encoding="utf-8")
    return folder


@pytest.fixture
def dwie(tmp_path: Path) -> Path:
    train = (article(f"DW_{number}", "train") for number in (1, 2, 3))
    return write(tmp_path / "dwie", *train, article("DW_9", "test"))


@pytest.fixture
def aida(tmp_path: Path) -> Path:
    (tmp_path / "aida").mkdir()
    (tmp_path / "aida" / "AIDA-YAGO2-dataset.tsv").write_text(AIDA, encoding="utf-8")
    return tmp_path / "aida"


@pytest.fixture
def gum(tmp_path: Path) -> Path:
    folder = tmp_path / "gum"
    (folder / "dep").mkdir(parents=True)
    row = "1\tOslo\t_\tPROPN\t_\t_\t_\t_\t_\tEntity=(1-place-new-nnnnn-cf1-1-coref-Oslo)"
    for name in "abc":
        text = f"# newdoc id = GUM_{name}\n# text = Oslo\n{row}\n\n"
        (folder / "dep" / f"GUM_{name}.conllu").write_text(text, encoding="utf-8")
    splits = "## dev\n\n* GUM_a\n\n## test\n\n* GUM_b\n\n## train\n\n* GUM_c\n"
    (folder / "splits.md").write_text(splits, encoding="utf-8")
    return folder


def documents(rows: Any) -> list[Document]:
    return [Document.from_dict(row) for row in rows]


def exported(out: Path, config: str | None, cache: Path) -> Any:
    return datasets.load_dataset(str(out), config, cache_dir=str(cache))


def test_dwie_is_exported_for_load_dataset(dwie: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert script("dwie").main(["--data-dir", str(dwie), "--out", str(out), "--candidates"]) == 0
    assert "official/train: 3 documents, 6 mentions" in capsys.readouterr().out
    default = exported(out, None, tmp_path / "cache")
    assert {split: len(rows) for split, rows in default.items()} == {"train": 3, "test": 1}
    assert documents(default["train"]) == list(read_dwie(dwie, "train", candidates=True))
    assert "begin: int64" in str(default["train"].features.arrow_schema.field("clusters").type)
    development = exported(out, "development", tmp_path / "cache")
    assert [row["id"] for row in development["validation"]] == ["DW_1"]
    assert [row["id"] for row in development["train"]] == ["DW_2", "DW_3"]


def test_parquet_files_carry_no_metadata_of_one_generation(dwie: Path, tmp_path: Path) -> None:
    parts = exporting.export_corpus(script("dwie").Dwie, dwie, tmp_path / "out")
    assert [part.path for part in parts][:2] == [f"official/{s}-00000-of-00001.parquet" for s in ("train", "test")]
    for part in parts:
        assert exporting.parquet.read_schema(tmp_path / "out" / part.path).metadata is None


def test_the_card(dwie: Path, tmp_path: Path) -> None:
    exporting.export_corpus(script("dwie").Dwie, dwie, tmp_path / "out")
    card = DatasetCard.load(tmp_path / "out" / "README.md")
    official, development = card.data.configs
    assert official == {
        "config_name": "official",
        "default": True,
        "data_files": [
            {"split": "train", "path": "official/train-00000-of-00001.parquet"},
            {"split": "test", "path": "official/test-00000-of-00001.parquet"},
        ],
    }
    assert [each["split"] for each in development["data_files"]] == ["train", "validation", "test"]
    assert (card.data.license, card.data.pretty_name, card.data.language) == ("other", "DWIE", ["en"])
    assert "| official | train | 3 | 3 | 3 | 3 | 3 |" in card.text
    assert "positions 0, 10, 20" in card.text and "© Deutsche Welle" in card.text and "@article" in card.text


def test_aida_exports_what_is_there(aida: Path, tmp_path: Path) -> None:
    main, cache = script("aida_plus").main, tmp_path / "cache"
    builder = script("aida_plus").AidaPlus
    assert main(builder, ["--data-dir", str(aida), "--out", str(tmp_path / "one")]) == 0
    plain = exported(tmp_path / "one", None, cache)
    assert documents(plain["train"]) == list(read_aida(aida, "train"))
    assert {split: len(rows) for split, rows in plain.items()} == {"train": 1, "validation": 1}  # no testb
    for split in ("train", "testa", "testb"):
        write(aida / split, article(split, split))
    assert main(builder, ["--data-dir", str(aida), "--out", str(tmp_path / "both")]) == 0
    both = exported(tmp_path / "both", "aida_plus", cache)
    assert documents(both["validation"]) == list(read_aida_plus(aida, "testa"))
    assert len(exported(tmp_path / "both", "aida", cache)["train"]) == 1


def test_gum_is_exported_in_chosen_configurations(gum: Path, tmp_path: Path) -> None:
    module, out = script("gum"), tmp_path / "out"
    assert module.main(module.Gum, ["--data-dir", str(gum), "--out", str(out), "--config", "named"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "named"]
    built = exported(out, None, tmp_path / "cache")
    assert documents(built["validation"]) == list(read_gum(gum, "dev", mention_scope="named"))


@pytest.mark.parametrize(
    ("name", "config", "split"),
    [("dwie", "development", "test"), ("aida_plus", "aida", "train"), ("gum", "all", "test")],
)
def test_as_loading_scripts(request: pytest.FixtureRequest, tmp_path: Path, name: str, config: str, split: str) -> None:
    data = request.getfixturevalue(name.removesuffix("_plus"))
    path = str(SCRIPTS / f"{name}.py")

    def load(**more: Any) -> Any:
        return datasets.load_dataset(
            path, config, data_dir=str(data), cache_dir=str(tmp_path / "cache"), trust_remote_code=True, **more
        )

    if RUNS_SCRIPTS:
        built = load()
        (document,) = documents(built[split])
        assert document.clusters
        assert documents(load(split=split, streaming=True)) == [document]
    else:
        with pytest.raises(RuntimeError, match="scripts are no longer supported"):
            load()


def test_malformed_files_end_with_a_message(dwie: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(dwie, article("DW_2", "train", content=TEXT.replace("Oslo", "Rome")))
    main, out = script("dwie").main, tmp_path / "out"
    assert main(["--data-dir", str(dwie), "--out", str(out)]) == 1
    message = capsys.readouterr().err
    assert "DW_2.json: mentions[1]" in message and "--lenient" in message
    with pytest.warns(UserWarning, match="dropped: .*DW_2"):
        assert main(["--data-dir", str(dwie), "--out", str(out), "--lenient", "--config", "official"]) == 0
    assert len(exported(out, None, tmp_path / "cache")["train"]) == 3


def last_message(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said behind the bars of progress."""
    return capsys.readouterr().err.splitlines()[-1]


def test_nothing_to_export_ends_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = write(tmp_path / "dwie", article("DW_1", "train", mentions={})), tmp_path / "out"
    with pytest.warns(UserWarning, match=r"skipped: .*DW_1\.json: field 'mentions'"):
        assert script("dwie").main(["--data-dir", str(data), "--out", str(out), "--lenient"]) == 1
    assert last_message(capsys) == f"{data}: no document could be exported"
    assert not out.exists()


@pytest.mark.parametrize("name", ["out", "out/below"])
def test_what_cannot_be_written_ends_with_a_message(
    dwie: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert script("dwie").main(["--data-dir", str(dwie), "--out", str(tmp_path / name)]) == 1
    message = last_message(capsys)
    assert str(tmp_path / name) in message and "--lenient" not in message
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_what_a_guest_cannot_read_ends_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def read(path: Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
        yield Document(json.loads("{"))

    CORPORA.register("mine", CorpusSpec("mine", "Mine", Path.is_dir, {}, read))
    arguments = ["--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]
    assert exporting.main(builder_of("mine"), arguments) == 1
    assert last_message(capsys).startswith("Expecting property name enclosed in double quotes")


def test_a_folder_without_the_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = script("aida_plus")
    assert module.main(module.AidaPlus, ["--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "no files of AIDA+ here; expected the folder with AIDA-YAGO2-dataset.tsv" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dwie", "gum"])
def test_nothing_to_do(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = script(name)
    arguments = ["--data-dir", str(tmp_path)]
    with pytest.raises(SystemExit) as caught:
        module.main(arguments) if name == "dwie" else module.main(module.Gum, arguments)
    assert caught.value.code == 2
    assert "--push-to-hub" in capsys.readouterr().err


@pytest.mark.parametrize("public", [False, True])
def test_pushing(gum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: bool) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []
    uploaded: list[str] = []

    class Api:
        def create_repo(self, name: str, **options: Any) -> SimpleNamespace:
            calls.append((name, options))
            return SimpleNamespace(repo_id=name)

        def repo_info(self, name: str, repo_type: str) -> SimpleNamespace:
            assert (name, repo_type) == ("me/gum", "dataset")
            return SimpleNamespace(private=not public)

        def upload_folder(self, **options: Any) -> None:
            assert options["repo_type"] == "dataset" and options["repo_id"] == "me/gum"
            folder = Path(options["folder_path"])
            files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
            uploaded.extend(filter_repo_objects(files, allow_patterns=options["allow_patterns"]))

    monkeypatch.setattr(exporting, "HfApi", Api)
    module = script("gum")
    out = tmp_path / "out"
    # What other runs and other corpora have left there is not this dataset.
    for other in ("named/test-00000-of-00001.parquet", "all/old.parquet", "secret/all/deep/x.parquet", "x/README.md"):
        (out / other).parent.mkdir(parents=True, exist_ok=True)
        (out / other).write_bytes(b"")
    arguments = ["--data-dir", str(gum), "--push-to-hub", "me/gum", "--config", "all", "--out", str(out)]
    assert module.main(module.Gum, [*arguments, *(["--public"] if public else [])]) == 0
    assert calls == [("me/gum", {"repo_type": "dataset", "private": not public, "exist_ok": True})]
    files = [f"all/{split}-00000-of-00001.parquet" for split in ("test", "train", "validation")]
    assert sorted(uploaded) == ["README.md", *files]


@pytest.fixture
def article_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/1"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"name": TEXT, "teaser": "", "text": ""}).encode() if found else b"")

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_download_and_export(article_server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    write(data / "annos", article("DW_1", "train", content=None), article("DW_2", "train", content=None))
    listed = [{"id": f"DW_{number}", "url": f"{article_server}/{number}", "hash": "0"} for number in (1, 2)]
    (data / "article_id_to_url.json").write_text(json.dumps(listed), encoding="utf-8")
    arguments = ["--data-dir", str(data), "--download", "--delay", "0", "--out", str(out), "--config", "official"]
    assert script("dwie").main(arguments) == 1
    shown = capsys.readouterr().out
    assert "[1] DW_1: changed (SHA-1" in shown and "[2] DW_2: failed (HTTP 404" in shown
    assert "0 complete, 1 changed, 0 mismatched, 1 failed, 0 pending" in shown
    assert "official/train: 1 documents, 2 mentions" in shown
    (document,) = documents(exported(out, None, tmp_path / "cache")["train"])
    assert document.text == f"{TEXT}\n\n"


def test_download_without_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert script("dwie").main(["--data-dir", str(tmp_path), "--download"]) == 1
    assert "article_id_to_url.json: no such file" in capsys.readouterr().err


def test_a_script_runs_as_a_program() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS.parent / "src")}
    done = run_python(str(SCRIPTS / "dwie.py"), "--help", env=environment)
    assert done.returncode == 0, done.stderr
    assert "--push-to-hub" in done.stdout and "--download" in done.stdout


def test_scripts_have_one_import_a_line() -> None:
    for path in SCRIPTS.glob("*.py"):
        imports = [
            line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(("import", "from"))
        ]
        assert imports and not any("," in line or "(" in line for line in imports)
