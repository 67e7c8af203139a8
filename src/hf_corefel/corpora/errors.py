"""What every reader does with files that are not what their format says."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import error as ZlibError

__all__ = ["CorpusError", "numbered_lines", "raise_or_warn"]


class CorpusError(ValueError):
    """A corpus file is not what its format says; the message names the file and the place.

    Example:
        >>> from hf_corefel.corpora import CorpusError, read_gum
        >>> try:
        ...     list(read_gum("no/such/folder"))
        ... except (CorpusError, OSError) as error:
        ...     print(type(error).__name__)
        CorpusError
    """


def raise_or_warn(error: CorpusError, strict: bool, consequence: str = "skipped") -> None:
    """Raises the error, or warns of it and of what is done instead.

    Args:
        error: What is wrong.
        strict: Whether to raise.
        consequence: What a caller who does not want the error gets, for the warning.
    """
    if strict:
        # Official files have known blemishes, so whoever meets one should learn how to go on.
        hint = f"; strict=False warns of it and goes on ({consequence})"
        text = str(error)
        raise type(error)(text if "strict=False" in text else text + hint) from error.__cause__
    # Past this function, the reader and the generator that calls it.
    warnings.warn(f"{consequence}: {error}", stacklevel=4)


def numbered_lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """The lines of a UTF-8 file with their numbers from 1, without line ends; a byte order mark is left out.

    Only line feeds end a line: other separators of Unicode may be part of a token. A file that ends in ``.gz`` is
    decompressed.

    Raises:
        CorpusError: When a line is not UTF-8, or the compressed file is damaged.
        OSError: When the file cannot be read.
    """
    compressed = path.suffix.lower() == ".gz"
    with gzip.open(path) if compressed else path.open("rb") as file, _whole(path):
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{raw[error.start]:02x} at position {error.start}"
                raise CorpusError(f"{path}:{number}: not UTF-8 ({byte})") from error
            yield number, line.rstrip("\r\n")


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say of a compressed file that is damaged which one it is."""
    try:
        yield
    except (EOFError, ZlibError, gzip.BadGzipFile) as error:
        raise CorpusError(f"{path}: damaged gzip file: {error}") from error
