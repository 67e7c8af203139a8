"""Takes pictures of the page that the command makes of the demo's text, for the README: `make page`.

Needs Chromium or a browser of its family. The pictures show the page in light and in dark, with the evidence of the
mention that has the longest way to its entity.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hf_corefel import AnnotatedDocument, Mention
from hf_corefel.formats import write_html
from hf_corefel.pipeline_corefel import load_pipeline

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images"
TEXT = ROOT / "examples" / "data" / "news.txt"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
SIZE = 1280, 1000
# The name of a picture, and what Chromium calls the scheme.
SCHEMES = {"page.png": 1, "page_dark.png": 0}


def annotated() -> AnnotatedDocument:
    """The demo's text, as ``hf-corefel annotate examples/data/news.txt --format html`` has it."""
    (document,) = load_pipeline().annotate([TEXT.read_text(encoding="utf-8")], evidence=True, top_k=3)
    return replace(document, id=TEXT.name)


def pointed_at(document: AnnotatedDocument) -> Mention | None:
    """A linked mention of the first half of the text: by preference one that follows another name, far from its entity.

    Further down the page would have to be scrolled.
    """

    def interest(mention: Mention) -> tuple[bool, int, int]:
        chain = document.chain(mention)
        return chain[0].text not in (None, mention.text), len(chain), -mention.begin

    linked = (cluster for cluster in document.clusters if cluster.entity is not None)
    early = [m for cluster in linked for m in cluster.mentions if m.parent and m.end <= len(document.text) / 2]
    return max(early, key=interest, default=None)


def browser() -> str:
    """The browser to use: the environment's ``BROWSER``, or the first that is installed.

    Raises:
        FileNotFoundError: When there is none.
    """
    found = next(filter(None, map(shutil.which, (os.environ.get("BROWSER", ""), *BROWSERS))), None)
    if found is None:
        raise FileNotFoundError(f"no browser: install one of {', '.join(BROWSERS)}, or name yours in BROWSER")
    return found


def commands(program: str, page: Path, fragment: str, folder: Path) -> Iterator[list[str]]:
    """How the browser takes each picture, without a window."""
    for name, scheme in SCHEMES.items():
        yield [
            program,
            "--headless",
            "--no-sandbox",  # which containers lack; the page is ours and has no script
            "--disable-gpu",
            "--hide-scrollbars",
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--screenshot={folder / name}",
            f"{page.as_uri()}{fragment}",
        ]


def main() -> int:
    """Takes the pictures; returns the exit status."""
    program, document = browser(), annotated()
    mention = pointed_at(document)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        write_html(page, [document])
        fragment = "" if mention is None else f"#d1-m{mention.begin}-{mention.end}"
        for command in commands(program, page, fragment, FOLDER):
            subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
