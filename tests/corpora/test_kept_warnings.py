"""What was warned of while a dataset was built is said again by whoever finds it in the cache."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

import hf_corefel
from hf_corefel import Document
from hf_corefel.corpora import CORPORA, CorpusError, CorpusSpec
from hf_corefel.corpora.kept_warnings import recorded_warnings
from hf_corefel.formats import FormatLossWarning


def article(name: str, text: str = "Oslo") -> str:
    mention = {"begin": 0, "end": 4, "text": text, "concept": 0}
    concepts = [{"concept": 0, "link": "Oslo"}]
    return json.dumps({"id": name, "content": "Oslo", "tags": ["train"], "mentions": [mention], "concepts": concepts})


def write(folder: Path) -> Path:
    """Two articles, the second of which is malformed."""
    folder.mkdir()
    (folder / "DW_1.json").write_text(article("DW_1"), encoding="utf-8")
    (folder / "DW_2.json").write_text(article("DW_2", "Rome"), encoding="utf-8")
    return folder


def test_every_load_says_what_is_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "dwie")
    for _ in range(3):
        with pytest.warns(UserWarning, match=r"mention dropped: .*DW_2\.json: mentions\[0\]") as caught:
            hf_corefel.load_dwie(folder, strict=False, cache_dir=tmp_path / "cache")
        assert [warning.filename for warning in caught] == [__file__]
    assert len(list((tmp_path / "cache").rglob("*-train.arrow"))) == 1, "it was read once"
    # Once the corpus is in order there is nothing to say.
    (folder / "DW_2.json").write_text(article("DW_2"), encoding="utf-8")
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hf_corefel.load_dwie(folder, strict=False, cache_dir=tmp_path / "cache")


def test_they_keep_their_kind(tmp_path: Path) -> None:
    def read(path: Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
        yield Document("Oslo", 1, clusters=[])

    CORPORA.register("mine", CorpusSpec("mine", "Mine", Path.is_dir, {}, read))
    for _ in range(2):
        with pytest.warns(FormatLossWarning, match="ids that are numbers"):
            hf_corefel.load_corpus(tmp_path, corpus="mine", cache_dir=tmp_path / "cache")


def test_a_load_that_fails_says_what_it_has_met(tmp_path: Path) -> None:
    def read(path: Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
        warnings.warn("the first is odd", stacklevel=2)
        yield Document("Oslo", "a", clusters=[])
        raise CorpusError("the second is none")

    CORPORA.register("mine", CorpusSpec("mine", "Mine", Path.is_dir, {}, read))
    with pytest.warns(UserWarning, match="the first is odd"), pytest.raises(CorpusError, match="the second is none"):
        hf_corefel.load_corpus(tmp_path, corpus="mine", cache_dir=tmp_path / "cache")


def test_other_warnings_are_shown_as_ever() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with recorded_warnings() as kept:
            warnings.warn("one", stacklevel=1)
            warnings.warn("one", stacklevel=1)
            warnings.warn("old", FutureWarning, stacklevel=1)
            thread = Thread(target=lambda: warnings.warn("another thread's", stacklevel=1))
            thread.start()
            thread.join()
        warnings.warn("afterwards", stacklevel=1)
    assert kept == {"one": "UserWarning"}
    assert [str(warning.message) for warning in caught] == ["old", "another thread's", "afterwards"]
