"""Documents at random are read as they were written, in every format that is written here in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import Document
from hf_corefel.corpora import CorpusError, detect_format, read_brat, read_conll2012, read_corefud, read_docred
from little_corpora import Source, clusters, sources, write_brat, write_conll2012, write_corefud, write_docred

FORMATS = {
    "conll2012": (write_conll2012, read_conll2012, "d.conll"),
    "corefud": (write_corefud, read_corefud, "d.conllu"),
    "docred": (write_docred, read_docred, "d.json"),
    "brat": (write_brat, read_brat, "d.ann"),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None)
@given(source=sources())
def test_documents_at_random(name: str, source: Source) -> None:
    write: Callable[[Path, Source], Path]
    read: Callable[..., Iterator[Document]]
    write, read, file = FORMATS[name]
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / file, source)
        assert detect_format(folder) == detect_format(path) == name
        (document,) = read(path)
    assert (document.id, document.text) == ("d", source.text)
    assert clusters(document) == source.expected(linked=name != "conll2012")
    tokens = [token for sentence in source.sentences for token in sentence]
    if name == "brat":
        assert document.words is None
    else:
        assert [document.text[begin:end] for begin, end in document.words or []] == tokens


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None)
@given(
    source=sources(),
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4), st.binary(max_size=3)), min_size=1, max_size=3),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_files(name: str, source: Source, edits: list[tuple[float, int, bytes]]) -> None:
    """They are read, or end in an error that names the file, and are left out where that is asked for."""
    write, read, file = FORMATS[name]
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / file, source)
        content = path.read_bytes()
        for where, cut, put in edits:
            at = int(where * len(content))
            content = content[:at] + put + content[at + cut :]
        path.write_bytes(content)
        lenient = list(read(path, strict=False))
        try:
            found, problem = list(read(path)), None
        except CorpusError as error:
            found, problem = lenient, error
    assert found == lenient
    assert problem is None or str(path.with_suffix("")) in str(problem)
