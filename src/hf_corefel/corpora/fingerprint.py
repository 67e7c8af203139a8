"""When the files of a corpus change, what was made of them is stale."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path

from ..version import __version__

__all__ = ["corpus_fingerprint"]

_SUFFIXES = (".json", ".tsv", ".conllu", ".md")


def corpus_fingerprint(data_dir: str | Path) -> str:
    """A digest of the names, sizes and times of a corpus' files, and of the version of this package.

    `datasets` knows a local folder by its name only and would go on giving what it made of earlier files.

    Args:
        data_dir: The corpus; files in it and in its folders count, as deep as any corpus here has them.
    """
    folder = Path(data_dir)
    digest = sha1(__version__.encode(), usedforsecurity=False)
    files = [folder] if folder.is_file() else [*folder.glob("*"), *folder.glob("*/*")]
    for path in sorted(file for file in files if file.suffix in _SUFFIXES):
        stat = path.stat()
        digest.update(f"{path.relative_to(folder)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()
