"""What results warn of is seen, whatever their format and wherever they go."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hf_corefel.cli import notices
from hf_corefel.cli.notices import WarningNotices
from hf_corefel.cli.rendering import show_document
from hf_corefel.documents import AnnotatedDocument
from hf_corefel.formats import render_html
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

CAPPED = "only the best 3 spans were kept (max_kept_spans, --max-kept-spans on the command line)"
FORMATS = {"out.txt": "text", "out.json": "json", "out.jsonl": "jsonl", "out.html": "html"}


def warned(*warnings: str, name: str = "a") -> AnnotatedDocument:
    return AnnotatedDocument("Oslo", [], name, list(warnings))


def said(capsys: pytest.CaptureFixture[str], *documents: AnnotatedDocument, **options: bool) -> list[str]:
    found = WarningNotices(**{"quiet": False, "shown": False, **options})
    for document in documents:
        found.take(document)
    found.finish()
    return capsys.readouterr().err.splitlines()


def test_one_warning_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, warned(CAPPED)) == [f"hf-corefel: a: warning: {CAPPED}"]
    assert said(capsys, warned(), warned()) == []
    assert said(capsys, warned(CAPPED), warned(CAPPED), quiet=True) == []


def test_a_run_is_summed_up_with_the_options_that_matter(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, warned(CAPPED), warned(name="b"), warned("span 1..2 was dropped", CAPPED, name="c"))
    assert [line.split(":")[1] for line in lines] == [" a", " c", " c", " warning"]
    assert lines[-1] == (
        "hf-corefel: warning: 2 of 3 documents came with 3 warnings, 2 of them about --max-kept-spans; "
        "--format json or html shows each"
    )
    assert said(capsys, warned(CAPPED), warned(CAPPED), shown=True) == [
        "hf-corefel: warning: 2 of 2 documents came with 2 warnings, 2 of them about --max-kept-spans; "
        "--format json or html shows each"
    ]


@pytest.mark.parametrize(("documents", "each", "lines"), [(1, 300, 3), (200, 1, 20), (200, 300, 60)])
def test_lines_are_few_however_much_is_dropped(
    capsys: pytest.CaptureFixture[str], documents: int, each: int, lines: int
) -> None:
    found = said(capsys, *(warned(*["less probable than min_probability"] * each) for _ in range(documents)))
    assert len(found) == lines + 1
    assert f"{documents * each:,} of them about --min-probability" in found[-1]


def test_both_streams_on_one_terminal_say_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "on_terminal", lambda: True)
    assert not notices.seen_together()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert notices.seen_together()


def test_tables_and_pages_show_them(capsys: pytest.CaptureFixture[str]) -> None:
    show_document(warned(CAPPED, "<b>\x1b[31m"))
    assert capsys.readouterr().out.splitlines()[1:3] == [
        f"warning: {CAPPED}",
        "warning: <b>\N{REPLACEMENT CHARACTER}[31m",
    ]
    show_document(warned(*map(str, range(300))))
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:12] == [*(f"warning: {n}" for n in range(10)), "290 more warnings: --format json has all"]
    page = render_html([warned(), warned(*map(str, range(300)), name="b")])
    assert '1 of them with warnings, <a href="#d2">' in page
    assert all(f"<li><bdi>{n}</bdi></li>" in page for n in range(300))
    assert "<summary>295 more warnings</summary>" in page


@pytest.fixture(scope="module")
def capped(tiny_folder: Path) -> CorefELPipeline:
    return load_pipeline(tiny_folder, max_kept_spans=2)


def test_the_bound_holds_for_all_calls_or_one(capped: CorefELPipeline) -> None:
    text = "Anna Berg met Carl Moss in Oslo. She praised Carl Moss. Then she left Oslo."
    wanted = "max_kept_spans, --max-kept-spans on the command line"
    assert wanted in capped(text)["warnings"][0]
    assert capped(text, max_kept_spans=1000)["warnings"] == []
    assert [bool(found["warnings"]) for found in capped([text, "Oslo."], batch_size=2)] == [True, False]
    for value in (0, -1):
        with pytest.raises(ValueError, match="max_kept_spans: expected a whole number from 1"):
            capped(text, max_kept_spans=value)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_and_target_says_what_was_cut(
    commands: Callable[..., list[tuple[int, str, str]]], tmp_path: Path, name: str
) -> None:
    (tmp_path / "in.txt").write_text("warn", encoding="utf-8")
    to_file, to_stdout, quiet = commands(
        {"arguments": ["annotate", "in.txt", "-o", name, "--max-kept-spans", "3"]},
        {"arguments": ["annotate", "in.txt", "--format", FORMATS[name]]},
        {"arguments": ["annotate", "in.txt", "--format", FORMATS[name], "-q"]},
    )
    line = "hf-corefel: in.txt: warning: 12 words were masked\n"
    assert [found[::2] for found in (to_file, to_stdout, quiet)] == [(0, line), (0, line), (0, "")]
    for content in ((tmp_path / name).read_text(encoding="utf-8"), to_stdout[1], quiet[1]):
        assert "12 words were masked" in content
