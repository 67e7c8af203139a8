"""The command on a fake pipeline: reading, rendering, progress, exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from hf_corefel.cli import app
from hf_corefel.cli.messages import warnings_as_messages
from hf_corefel.documents import AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.registration import ensure_registered
from hf_corefel.version import __version__

TEXT = "NATO met in Oslo. Ms Brandvik said\r\nthe Alliance, like NATO, would wait."
URL = "https://en.wikipedia.org/wiki/NATO"


def annotated(text: str, warnings: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a pipeline that knows TEXT returns; any other text has no mention."""
    clusters = []
    if text == TEXT:
        nato = (Mention(0, 4, probability=0.99), Mention(40, 48, probability=0.913), Mention(55, 59, probability=0.98))
        clusters = [
            Cluster(nato, "NATO", 0.974, URL),
            Cluster((Mention(12, 16, probability=0.97),), "Oslo", 0.88),
            Cluster((Mention(18, 29, probability=0.95),), None, 0.64),
        ]
    return AnnotatedDocument(text, clusters, warnings=list(warnings)).to_dict()


class FakePipelines:
    """Stands in for the module that loads models; remembers which were asked for."""

    def __init__(self) -> None:
        self.loaded: list[str | None] = []
        self.warnings: tuple[str, ...] = ()
        self.error: Exception | None = None

    def load_pipeline(self, model: str | None = None) -> Callable[..., list[dict[str, Any]]]:
        self.loaded.append(model)
        if self.error is not None:
            raise self.error
        return self.annotate

    def annotate(self, documents: list[Document], batch_size: int) -> list[dict[str, Any]]:
        assert len(documents) == batch_size
        if any(document.text == "broken" for document in documents):
            raise ValueError("document: too broken")
        return [{**annotated(document.text, self.warnings), "id": document.id} for document in documents]


@pytest.fixture
def pipelines(monkeypatch: pytest.MonkeyPatch) -> FakePipelines:
    ensure_registered()  # with the real module, which the other tests need
    fake = FakePipelines()
    module = ModuleType("hf_corefel.pipeline_corefel")
    module.load_pipeline = fake.load_pipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return fake


@pytest.fixture
def news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("news.txt").write_bytes(TEXT.encode())
    return "news.txt"


def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_table_shows_every_cluster_with_entity_probability_and_offsets(pipelines: FakePipelines, news: str) -> None:
    status, out, err = run("annotate", news)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "news.txt: 3 clusters, 5 mentions"
    assert [" ".join(line.split()) for line in lines[2:]] == [
        "Entity P Mentions",
        "─" * len(lines[3]),
        "NATO 0.97 NATO 0–4 (0.99), 55–59 (0.98)",
        f"{URL} Alliance 40–48 (0.91)",
        "Oslo 0.88 Oslo 12–16 (0.97)",
        "NIL 0.64 Ms Brandvik 18–29 (0.95)",
        "",
        "P: probability of the entity, or of NIL (nothing in the knowledge base).",
        "Mentions: offsets in code points, end exclusive (probability that the span is a mention).",
    ]
    assert pipelines.loaded == [None]


def test_piped_table_has_no_colour_and_fits_its_width_whatever_the_terminal(
    pipelines: FakePipelines, news: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run("annotate", news)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    assert run("annotate", news)[1] == plain[1]
    assert "\x1b" not in plain[1]
    assert max(map(len, plain[1].splitlines())) <= 100
    assert [line for line in plain[1].splitlines() if line != line.rstrip()] == []


def test_control_characters_of_a_text_do_not_reach_the_terminal(pipelines: FakePipelines, tmp_path: Path) -> None:
    hostile = tmp_path / "[bold]\x1b[31m.txt"
    hostile.write_text("nothing here", encoding="utf-8")
    status, out, _ = run("annotate", str(hostile))
    assert status == 0
    assert "\x1b" not in out
    assert "[bold]\N{REPLACEMENT CHARACTER}[31m.txt: 0 clusters, 0 mentions" in out


def test_json_is_one_object_a_line_with_the_file_as_id(pipelines: FakePipelines, news: str) -> None:
    Path("empty.txt").write_text("", encoding="utf-8")
    status, out, _ = run("annotate", news, "empty.txt", "--json")
    first, second = map(json.loads, out.splitlines())
    assert status == 0
    assert (first["id"], second["id"]) == (news, "empty.txt")
    assert AnnotatedDocument.from_dict(first).clusters == AnnotatedDocument.from_dict(annotated(TEXT)).clusters
    assert second == {"id": "empty.txt", "text": "", "clusters": [], "warnings": []}


def test_line_ends_are_kept_and_a_byte_order_mark_is_not(pipelines: FakePipelines) -> None:
    status, out, _ = run("annotate", "-", "--json", stdin=b"\xef\xbb\xbf" + TEXT.encode())
    record = json.loads(out)
    assert status == 0
    assert record["id"] == "-"
    assert record["text"] == TEXT
    assert record["clusters"][0]["mentions"][1]["text"] == "Alliance"


def test_unreadable_files_are_named_with_the_reason_and_the_others_are_done(
    pipelines: FakePipelines, news: str
) -> None:
    Path("latin.txt").write_bytes(b"Universit\xe9")
    Path("folder").mkdir()
    Path("broken.txt").write_text("broken", encoding="utf-8")
    status, out, err = run("annotate", "missing.txt", "latin.txt", "folder", "broken.txt", news, "--json")
    assert status == 1
    assert [json.loads(line)["id"] for line in out.splitlines()] == [news]
    assert err.splitlines() == [
        "hf-corefel: cannot read missing.txt: No such file or directory",
        "hf-corefel: cannot read latin.txt: not UTF-8 text (byte 0xe9 at position 9)",
        "hf-corefel: cannot read folder: the folder holds no files",
        "hf-corefel: cannot annotate broken.txt: document: too broken",
    ]
    assert pipelines.loaded == [None], "one model serves all files"


def test_no_model_is_loaded_when_nothing_can_be_read(pipelines: FakePipelines, tmp_path: Path) -> None:
    assert run("annotate", str(tmp_path / "missing.txt"))[0] == 1
    assert pipelines.loaded == []


def test_warnings_are_shown_unless_quiet(pipelines: FakePipelines, news: str) -> None:
    pipelines.warnings = ("12 words were masked",)
    assert run("annotate", news)[2] == "hf-corefel: news.txt: warning: 12 words were masked\n"
    assert run("annotate", news, "--quiet")[2] == ""
    assert json.loads(run("annotate", news, "--json")[1])["warnings"] == ["12 words were masked"]


def test_progress_is_shown_on_stderr_for_several_files_only(
    pipelines: FakePipelines, news: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes standard error for a terminal
    monkeypatch.setenv("TERM", "xterm")
    status, out, err = run("annotate", news, news, "--json")
    assert status == 0
    assert "Annotating" in err
    assert "2/2" in err
    assert len(out.splitlines()) == 2
    assert "Annotating" not in run("annotate", news)[2]
    assert "Annotating" not in run("annotate", news, news, "--quiet")[2]


def test_model_option_and_a_model_that_cannot_be_loaded(pipelines: FakePipelines, news: str) -> None:
    assert run("annotate", news, "--model", "my/model")[0] == 0
    pipelines.error = OSError("no file named config.json")
    status, out, err = run("annotate", news, "--model", "other")
    assert (status, out) == (1, "")
    assert err == "hf-corefel: cannot load the model other: no file named config.json\n"
    assert pipelines.loaded == ["my/model", "other"]


class FakeEvaluation:
    """Stands in for the module that scores a corpus."""

    def __init__(self) -> None:
        self.calls: list[tuple[Path, dict[str, Any]]] = []

    def evaluate_corpus(self, data_dir: Path, **options: Any) -> dict[str, Any]:
        if not data_dir.is_dir():
            raise FileNotFoundError(f"no folder {data_dir}")
        progress = options.pop("progress")
        progress(1, 2)
        progress(2, 2)
        self.calls.append((data_dir, options))
        return {"documents": 2, "coreference": {"muc": {"f1": 0.81234}, "average": 0.5}, "linking": {"el_m": 1.0}}


@pytest.fixture
def evaluation(monkeypatch: pytest.MonkeyPatch) -> FakeEvaluation:
    fake = FakeEvaluation()
    module = ModuleType("hf_corefel.evaluation")
    module.evaluate_corpus = fake.evaluate_corpus  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return fake


def test_evaluate_prints_a_table_of_scores(evaluation: FakeEvaluation, tmp_path: Path) -> None:
    out_file = tmp_path / "scores.json"
    status, out, _ = run("evaluate", str(tmp_path), "--limit", "2", "--out", str(out_file))
    assert status == 0
    assert [line.split() for line in out.splitlines()][2:] == [
        ["documents", "2"],
        ["coreference", "/", "muc", "/", "f1", "0.8123"],
        ["coreference", "/", "average", "0.5000"],
        ["linking", "/", "el_m", "1.0000"],
    ]
    options = {"split": "test", "model": None, "limit": 2, "out": out_file, "predictions": None}
    unsaid = {"knowledge_base": None, "loading": {}, "mention_scope": None, "given_mentions": False}
    unsaid |= {"max_kept_spans": None, "corpus_format": None}
    assert evaluation.calls == [(tmp_path, {**options, **unsaid})]


def test_evaluate_names_what_is_wrong(evaluation: FakeEvaluation, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    status, out, err = run("evaluate", str(missing), "--quiet")
    assert (status, out) == (1, "")
    assert err == f"hf-corefel: cannot evaluate on {missing}: no folder {missing}\n"


def test_version_and_help() -> None:
    assert run("--version")[:2] == (0, f"hf-corefel {__version__}\n")
    status, out, _ = run("--help")
    assert status == 0
    assert "annotate" in out
    assert "evaluate" in out


def test_libraries_for_other_tasks_say_nothing(tiny_folder: Path, tmp_path: Path) -> None:
    """What quantises models tells of missing kernels when it is imported, which transformers does where it is there."""
    pytest.importorskip("torchao")
    (tmp_path / "text.txt").write_text("Anna Berg met Carl Moss.")
    command = [sys.executable, "-m", "hf_corefel.cli", "annotate", "text.txt", "--model", str(tiny_folder)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert "Anna_Berg" in done.stdout and done.stderr == ""


def test_warnings_for_programmers_are_none_for_users(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings_as_messages(quiet=False):
        for category in (ResourceWarning, DeprecationWarning, UserWarning):
            warnings.warn(f"a {category.__name__}", category, stacklevel=1)
    assert capsys.readouterr().err == "hf-corefel: warning: a UserWarning\n"
