"""When the files of a corpus change, what was made of them is stale."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from hashlib import sha1
from pathlib import Path
from typing import Any

from ..version import __version__
from .locating import files_of
from .registry import CorpusSpec

__all__ = ["corpus_fingerprint"]


def corpus_fingerprint(data_dir: str | Path, spec: CorpusSpec) -> str:
    """A digest of the names, sizes and times of a corpus' files, the version of this package, and a guest's reader.

    `datasets` knows a local folder by its name only and would go on giving what it made of earlier files.

    Args:
        data_dir: The folder of the corpus, or its file.
        spec: What the corpus is.
    """
    folder = Path(data_dir)
    digest = sha1(__version__.encode(), usedforsecurity=False)
    digest.update(_source_of(spec.read_gold))
    for path in [folder] if folder.is_file() else files_of(folder, spec):
        stat = path.stat()
        # Names of files need not be valid Unicode.
        digest.update(
            f"{path.relative_to(folder)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode(errors="surrogatepass")
        )
    return digest.hexdigest()


def _source_of(reader: Callable[..., Any]) -> bytes:
    """The source of the module that a reader stands in; nothing of readers of this package, which has a version."""
    while isinstance(reader, partial):
        reader = reader.func
    module = inspect.getmodule(reader)
    if module is None or module.__name__.partition(".")[0] == __name__.partition(".")[0]:
        return b""
    for place in (module, reader):  # a notebook is a module without a file
        try:
            return inspect.getsource(place).encode()
        except (OSError, TypeError):
            continue
    return b""
