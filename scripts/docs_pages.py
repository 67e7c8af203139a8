"""Runs the Python of the documentation's pages and writes what it prints into them: `make readme`.

Every ``python`` block of a page is run, in order and in one namespace; what a block prints stands in the ``text``
block right after it.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Its test runs it with a small encoder, and its output on a Hub of the test's.
TUTORIAL = DOCS / "tutorials" / "own_data.md"
# Its test writes the head of the page into a package and uses it from new processes.
HEAD_GUIDE = DOCS / "extend" / "head.md"
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block of Python and what the page says that it prints; None when the page shows nothing."""

    code: str
    output: str | None


def blocks(page: str) -> list[Block]:
    """The Python blocks of a page, in order."""
    return [Block(match["code"], match["output"]) for match in _BLOCK.finditer(page)]


def runnable_pages() -> list[Path]:
    """The pages with Python blocks that are run as they stand.

    The tutorial has a test of its own, and so has the guide to heads, whose head is installed as a package there.
    """
    pages = sorted(path for path in DOCS.rglob("*.md") if path not in (TUTORIAL, HEAD_GUIDE))
    return [path for path in pages if blocks(path.read_text(encoding="utf-8"))]


def run(page: str, name: str) -> Iterator[str]:
    """Runs the blocks of a page in an empty folder that it may fill; gives what each prints.

    Raises:
        Exception: Whatever a block raises; its traceback names the page and the number of the block.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    path = list(sys.path)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for number, block in enumerate(blocks(page), start=1):
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(block.code, f"{name}, block {number}", "exec"), names)
            yield printed.getvalue()
    sys.path[:] = path  # a page may import what it wrote


def with_outputs(page: str, outputs: list[str]) -> str:
    """The page with what its blocks printed."""
    printed = iter(outputs)

    def block(match: re.Match[str]) -> str:
        output = next(printed)
        return f"```python\n{match['code']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return _BLOCK.sub(block, page)


def main() -> int:
    """Updates the pages; returns the exit status."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    for path in runnable_pages():
        page = path.read_text(encoding="utf-8")
        path.write_text(with_outputs(page, list(run(page, path.name))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
