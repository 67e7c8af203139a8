"""Runs the notebooks of ``examples/notebooks`` and keeps what they show in them: `make readme`.

MkDocs takes the pages of the notebooks from here, too: a page with ``<!-- notebook:NAME -->`` shows the notebook there.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "notebooks"
_PLACE = re.compile(r"^<!-- notebook:(\w+) -->$", re.M)
# Every showing of a result has an id of its own; in a file they are numbered, so that it changes with its content only.
_ID = re.compile(r"\bcorefel-[0-9a-f]{12}\b")
_SECONDS = 300

Notebook = dict[str, Any]


def notebooks() -> list[Path]:
    """The notebooks' files, by name."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    """The notebook of a file."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def write(path: Path, notebook: Notebook) -> None:
    """Writes a notebook as Jupyter does."""
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(notebook: Notebook) -> Notebook:
    """A notebook with what its cells show when a Jupyter kernel runs them in an empty folder, see `shown`.

    Raises:
        nbclient.exceptions.CellExecutionError: When a cell fails; the message has its code and traceback.
    """
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    node = nbformat.reads(json.dumps(notebook), as_version=4)
    nbformat.validate(node)
    # Through files that only this user may read, not through ports of the machine.
    config = Config(ConnectionFileMixin={"transport": "ipc"})
    client = NotebookClient(node, kernel_name="python3", timeout=_SECONDS, record_timing=False, config=config)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as settings, chdir(folder):
        client.execute(env={**os.environ, "IPYTHONDIR": settings})
    done: Notebook = json.loads(nbformat.writes(node))
    names: dict[str, str] = {}
    for cell in _code(done):
        cell["outputs"] = shown(cell["outputs"], names)
    done["metadata"] = notebook["metadata"]
    return done


def shown(outputs: list[dict[str, Any]], names: dict[str, str]) -> list[dict[str, Any]]:
    """What a cell shows: printed text and results, as HTML where they have it; messages on standard error are none.

    Args:
        outputs: The cell's outputs.
        names: Numbered ids of the results that were shown before; those of these are added.
    """

    def named(text: str | list[str]) -> list[str]:
        def name(match: re.Match[str]) -> str:
            return names.setdefault(match[0], f"corefel-{len(names) + 1:012}")

        return _ID.sub(name, "".join(text)).splitlines(keepends=True)

    kept: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            text = named(output["text"])
            if kept and "text" in kept[-1]:
                # A busy machine sends what a cell prints in several parts.
                kept[-1]["text"] += text
            else:
                kept.append({**output, "text": text})
        elif output["output_type"] in ("execute_result", "display_data"):
            data = output["data"]
            kind = "text/html" if "text/html" in data else "text/plain"
            kept.append({**output, "data": {kind: named(data[kind])}})
    return kept


def markdown(notebook: Notebook) -> str:
    """The notebook as a page: its texts, its code, and below each block what it shows."""
    return "\n\n".join(_parts(notebook))


def _parts(notebook: Notebook) -> Iterator[str]:
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            continue
        yield f"```python\n{source}\n```"
        for output in cell["outputs"]:
            if "text" in output:
                yield f"```text\n{''.join(output['text']).rstrip()}\n```"
            elif "text/html" in output["data"]:
                yield f"<div>\n{''.join(output['data']['text/html'])}\n</div>"
            else:
                yield f"```text\n{''.join(output['data']['text/plain']).rstrip()}\n```"


def _code(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def on_page_markdown(text: str, **unused: Any) -> str:
    """Called by MkDocs for every page."""
    return _PLACE.sub(lambda match: markdown(read(FOLDER / f"{match[1]}.ipynb")), text)


def main() -> int:
    """Updates the notebooks; returns the exit status."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    for path in notebooks():
        write(path, run(read(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
