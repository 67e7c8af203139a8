"""Stops a job at each of its steps, goes on with it, and says how the folder looked; a program of its own, which forks.

A step is an operation below the folder that changes it; see `kb_stopping`. `stop_at_every_step` starts it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyarrow.parquet import read_table

from hf_corefel.bulk import annotate_many
from hf_corefel.documents import AnnotatedDocument, Document
from kb_stopping import fork, limit, stop_at

_SIZES = (0, 1, 100, 400, 700, 900, 1200)
DOCUMENTS = [{"id": f"d{number}", "text": "error" if number == 4 else f"text {number}" * 9} for number in range(10)]


def stop_at_every_step(folder: Path, how: str, kind: str) -> list[list[str]]:
    """Run a job once for each of its steps, stopped there, and then go on with it.

    Args:
        folder: A folder that is filled and emptied.
        how: ``kill``, ``interrupt``, ``full``, ``cut`` or ``cut-kill``; see `kb_stopping.stop_at_every_step`.
        kind: The format of the shards.

    Returns:
        For each stop: its place, what was wrong with the files that it left, and what with those at the end.
    """
    command = [sys.executable, __file__, str(folder), how, kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    return [list(found) for found in json.loads(done.stdout)]


def annotate(documents: Sequence[Document], batch_size: int | None = None) -> list[dict[str, Any]]:
    if documents[0].text == "error":
        raise ValueError("this text is an error")
    return [dict(AnnotatedDocument(document.text, [], document.id).to_dict()) for document in documents]


def run(folder: Path, kind: str) -> None:
    annotate_many(DOCUMENTS, folder, workers=0, pipeline=annotate, format=kind, shard_size=4, resume=True)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wrong_with(folder: Path, whole: dict[str, bytes]) -> str:
    """What is wrong with the files under their final names: there is none that an uninterrupted run has not."""
    if not folder.exists():
        return ""
    found = {name: data for name, data in content(folder).items() if not name.startswith(".") and ".part-" not in name}
    journal = found.pop("manifest.journal", b"")
    differing = [name for name, data in found.items() if whole.get(name) != data]
    # Its last line may be cut, which a later run mends.
    shards = [json.loads(line) for line in journal[: journal.rfind(b"\n") + 1].splitlines()[1:]]
    missing = [shard["file"] for shard in shards if shard["file"] not in found]
    return f"differing {differing}, missing {missing}" if differing or missing else ""


def ids_in(name: str, data: bytes) -> list[str]:
    if name.endswith(".parquet"):
        return [str(identifier) for identifier in read_table(io.BytesIO(data))["id"].to_pylist()]
    if "jsonl" not in name:
        return []
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return [json.loads(line)["id"] for line in data.splitlines()]


def main(folder: Path, how: str, kind: str) -> None:
    os.fsync = lambda descriptor: None
    run(folder, kind)
    whole = content(folder)
    listed = [identifier for name, data in whole.items() for identifier in ids_in(name, data)]
    assert sorted(listed) == sorted(document["id"] for document in DOCUMENTS)
    found = []
    for step in _SIZES if how.startswith("cut") else range(1, 1000):
        shutil.rmtree(folder)

        def action(step: int = step) -> None:
            limit(step, how) if how.startswith("cut") else stop_at(folder, step, how)
            run(folder, kind)

        ended = fork(action) == 0
        problem = wrong_with(folder, whole)
        status = fork(lambda: run(folder, kind))
        names = sorted(set(content(folder)) ^ set(whole))
        after = "" if content(folder) == whole else f"exit status {status}, other files: {names}"
        found.append((f"{how} {step}", problem, after))
        if ended and not how.startswith("cut"):
            break
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
