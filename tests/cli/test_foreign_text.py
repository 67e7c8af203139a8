"""What a document, a name or an argument holds cannot command the terminal, and reaches files and pipes as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

from hf_corefel.cli.messages import complain, harmless
from hf_corefel.cli.rendering import show

# A control character of each kind, a bidirectional override and an isolate, a joiner, a tag, a lone surrogate.
FOREIGN = "\x1b[2J\x07\x7f\x85\x9b31m\u202e\u2066\u200d\ufeff\U000e0041\u2028\udc80"
TEXT = f"Name{FOREIGN}and 😀 \u0928\u093f end"
# What terminals need for colours and layout, and nothing else that cannot be seen.
STYLES = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|[\r\n]")


def unseen(shown: str) -> set[str]:
    return {char for char in STYLES.sub("", shown) if not char.isprintable()}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_on_a_terminal_and_in_a_pipe(commands: Callable[..., Any], tmp_path: Path, encoding: str) -> None:
    document = {"text": TEXT, "id": f"id{FOREIGN}"}
    (tmp_path / "in.jsonl").write_text(json.dumps(document) + "\n")
    kinds = ("jsonl", "json", "html", "text")
    cases = [
        {"arguments": ["annotate", "in.jsonl", "--format", kind], "terminal": terminal, "encoding": encoding}
        for terminal in (True, False)
        for kind in kinds
    ]
    done = commands(*cases)
    assert [command.status for command in done] == [0] * len(cases), done
    shown, piped = (dict(zip(kinds, (command.out for command in part), strict=True)) for part in (done[:4], done[4:]))
    for kind, out in shown.items():
        assert not unseen(out), kind
    for out in (shown, piped):
        for found in (json.loads(out["jsonl"]), json.loads(out["json"])[0]):
            assert (found["text"], found["id"]) == (TEXT, document["id"])
    if encoding == "utf-8":
        assert "\u202e" in piped["jsonl"] and "😀" in piped["jsonl"] and "😀" in shown["jsonl"]


def test_messages(commands: Callable[..., Any], tmp_path: Path) -> None:
    name = f"no{FOREIGN}\nhf-corefel: all is well"
    (tmp_path / "a.txt").write_text("one")
    cases: list[list[str]] = [
        *(["annotate", name], ["annotate", "a.txt", "-o", f"{name}/x.jsonl"], ["annotate", "a.txt", "-o", f"x.{name}"]),
        *(["annotate", "a.txt", "--format", name], ["annotate", "a.txt", "--top-k", name], ["annotate", f"--{name}"]),
        *(["corpus", "stats", name], ["corpus", name], [name], [f"--{name}"]),
        *(["annotate", "a.txt", "--knowledge-base", name], ["kb", "info", name], ["kb", "add", name, "--entity", name]),
    ]
    for case, command in zip(cases, commands(*({"arguments": case} for case in cases)), strict=True):
        assert command.status in (1, 2), case
        assert not unseen(command.err + command.out), case
        assert "\nhf-corefel: all is well" not in command.err, case
        assert "Traceback" not in command.err, (case, command.err)


def test_message_is_one_line_and_not_endless(capsys: pytest.CaptureFixture[str]) -> None:
    complain(f"a\n\x1b{'b' * 100_000}")
    err = capsys.readouterr().err
    assert err.startswith(r"hf-corefel: a\n\x1bbbb") and err.endswith("b … (100,003 characters)\n")
    assert len(err) < 2100
    assert harmless("Zürich 😀") == "Zürich 😀"


def test_tables_that_nobody_made_printable(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("Name")
    table.add_row(Text("x\x1b[2Jy"))
    show(Text("head\x9bing\nsecond"), table)
    out = capsys.readouterr().out
    assert not unseen(out)
    assert "head\N{REPLACEMENT CHARACTER}ing\nsecond\n" in out and "x\N{REPLACEMENT CHARACTER}[2Jy" in out
