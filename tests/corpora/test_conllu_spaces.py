"""White space of CoNLL-U as UDPipe writes it, and files that are compressed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hf_corefel.corpora import CorpusError
from hf_corefel.corpora.conllu import conllu_documents


def row(number: int, form: str, misc: str) -> str:
    return "\t".join([str(number), form, *"_" * 7, misc]) + "\n"


LINES = (
    "# newdoc id = d\n# text = Ada met\n"
    + row(1, "Ada", "SpacesBefore=\\n\\s")
    + row(2, "met", "SpacesAfter=\\t\\p\\\\n\\r\\n")
    + "\n# newpar\n# text = Bo.\n"
    + row(1, "Bo", "SpaceAfter=No")
    + row(2, ".", "SpacesAfter=\\s")
    + "\n# newpar\n# text = Hi\n"
    + row(1, "Hi", "_")
    + "\n"
)


def test_white_space_that_is_said_counts(tmp_path: Path) -> None:
    (tmp_path / "x.conllu").write_text(LINES, encoding="utf-8")
    (document,) = conllu_documents(tmp_path / "x.conllu")
    # A paragraph begins with a line feed only where nothing is said.
    assert document.text == "\n Ada met\t|\\n\r\nBo. Hi"
    assert [document.text[begin:end] for begin, end in document.words] == ["Ada", "met", "Bo", ".", "Hi"]


def test_compressed_files_are_read_and_damaged_ones_are_named(tmp_path: Path) -> None:
    packed = gzip.compress(LINES.encode())
    (tmp_path / "x.conllu.gz").write_bytes(packed)
    (document,) = conllu_documents(tmp_path / "x.conllu.gz")
    assert document.id == "d" and len(document.words) == 5
    for data in (packed[:-12], packed[:-8] + bytes(8), LINES.encode()):
        (tmp_path / "y.conllu.gz").write_bytes(data)
        with pytest.raises(CorpusError, match=r"y\.conllu\.gz: damaged gzip file"):
            list(conllu_documents(tmp_path / "y.conllu.gz"))
