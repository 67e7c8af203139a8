"""Makes sure that the tries of folders of versions 1 and 2, which have no checksums, are whole before they are used.

A damaged trie crashes the process that reads it, or keeps it busy for ever. Saving such a folder again makes it one of
the present version, which opens faster.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np

from .errors import KnowledgeBaseError
from .storage import require_file
from .tables import Arrays, fingerprint_of

__all__ = ["check_fingerprint", "rebuilt_trie"]

# How long reading all keys may take: seconds, and bytes of the file that one more second is for.
SECONDS = 20.0
_BYTES_A_SECOND = 1_000_000

# Runs in a process of its own, which may crash. argv: file, number of keys.
_READ_KEYS = """
import sys, marisa_trie
path, count = sys.argv[1], int(sys.argv[2])
trie = marisa_trie.Trie().mmap(path)
if len(trie) != count:
    sys.exit(f"it has {len(trie)} keys in place of {count}")
sys.stdout.buffer.write("\\0".join(trie.restore_key(number) for number in range(count)).encode())
"""


def check_fingerprint(
    folder: Path,
    saved: str,
    url_template: str | None,
    tries: Sequence[Path],
    files: Iterable[tuple[str, Arrays | None]],
) -> None:
    """Compare a folder of version 2 with its fingerprint, without opening its tries. Reads all of it.

    Args:
        folder: The folder, for the message.
        saved: The fingerprint that it was saved with.
        url_template: Where readers find entities.
        tries: The files of the tries of entities and of surfaces.
        files: The arrays as `Tables.files` gives them.

    Raises:
        KnowledgeBaseError: When a file is missing, or the fingerprint is another.
    """
    for path in tries:
        require_file(path)
    content = (np.fromfile(path, dtype=np.uint8).data for path in tries)
    if fingerprint_of(url_template, content, files) != saved:
        raise KnowledgeBaseError(
            f"{folder}: the tables do not have the fingerprint that they were saved with; the folder is damaged, or "
            "one of its files was replaced; build or fetch it again"
        )


def rebuilt_trie(path: Path, count: object) -> Any:
    """Return a trie in memory with the keys of one in a file that nothing vouches for.

    Another process reads the keys. A trie that is made of them numbers them as the file does, or the file is damaged.

    Args:
        path: The file.
        count: How many keys it should have.

    Raises:
        KnowledgeBaseError: When the file is missing or damaged, or its keys cannot be read in time.
    """
    require_file(path)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise KnowledgeBaseError(f"{path}: its number of keys is given as {count!r}")
    limit = SECONDS + path.stat().st_size / _BYTES_A_SECOND
    # -P: what lies in the current folder is not imported.
    command = [sys.executable, "-P", "-c", _READ_KEYS, str(path), str(count)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
        keys = done.stdout.decode("utf-8").split("\0") if count else []
    except subprocess.TimeoutExpired as error:
        raise KnowledgeBaseError(f"{path}: damaged: its keys could not be read in {limit:.0f} seconds") from error
    except UnicodeDecodeError as error:
        raise KnowledgeBaseError(f"{path}: damaged: it holds a key that is no UTF-8") from error
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or f"status {done.returncode}"
        raise KnowledgeBaseError(f"{path}: damaged, or no trie: its keys cannot be read ({reason})")
    trie = marisa_trie.Trie(keys)
    if len(trie) != count or any(trie.get(key, -1) != number for number, key in enumerate(keys)):
        raise KnowledgeBaseError(f"{path}: damaged: its keys are not in the order of a trie; build or fetch it again")
    return trie
