"""When the files of a corpus change, what was made of them is stale."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path

from ..version import __version__
from .locating import files_of
from .registry import CorpusSpec

__all__ = ["corpus_fingerprint"]


def corpus_fingerprint(data_dir: str | Path, spec: CorpusSpec) -> str:
    """A digest of the names, sizes and times of a corpus' files, and of the version of this package.

    `datasets` knows a local folder by its name only and would go on giving what it made of earlier files.

    Args:
        data_dir: The folder of the corpus, or its file.
        spec: What the corpus is.
    """
    folder = Path(data_dir)
    digest = sha1(__version__.encode(), usedforsecurity=False)
    for path in [folder] if folder.is_file() else files_of(folder, spec):
        stat = path.stat()
        digest.update(f"{path.relative_to(folder)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
