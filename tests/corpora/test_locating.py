"""A corpus is found in the folder that is named, or in the only one that holds it up to two levels below."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hf_corefel import load_aida, load_dwie, load_gum
from hf_corefel.corpora import (
    CorpusError,
    corpus_files,
    detect_format,
    read_aida,
    read_annotations,
    read_dwie,
    read_gold,
    read_gum,
    read_texts,
)
from hf_corefel.corpora.locating import find_corpus

ARTICLE = {"id": "DW_1", "content": "Oslo", "tags": ["all", "test"], "concepts": [], "mentions": []}
AIDA = "-DOCSTART- (1163testb X)\nOslo\n"
GUM = "# newdoc id = GUM_x\n# text = Oslo\n1\tOslo\t_\tPROPN\t_\t_\t_\t_\t_\t_\n\n"


def write(folder: Path, kind: str) -> Path:
    """The files of a corpus of one document with the text "Oslo", in the split test."""
    files = {
        "dwie": {"annos_with_content/DW_1.json": json.dumps(ARTICLE), "annos/DW_1.json": json.dumps(ARTICLE)},
        "aida": {"AIDA-YAGO2-dataset.tsv": AIDA},
        "aida_plus": {f"{part}/1.json": json.dumps(ARTICLE) for part in ("train", "testa", "testb")},
        "gum": {"dep/GUM_x.conllu": GUM, "splits.md": "## train\n## dev\n## test\n* GUM_x\n"},
    }[kind]
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", [".", "data", "official/release-1.0"])
@pytest.mark.parametrize("kind", ["dwie", "aida", "aida_plus", "gum"])
def test_every_reader_finds_the_corpus_of_a_clone(tmp_path: Path, kind: str, place: str) -> None:
    corpus = write(tmp_path / place, kind)
    for other in (".git/objects", "src/scripts", "docs"):
        (tmp_path / other).mkdir(parents=True)
    write(tmp_path / ".cache", kind)
    assert find_corpus(tmp_path) == (kind, corpus)
    assert detect_format(tmp_path) == kind
    assert [document.text for document in read_texts(tmp_path, "test")] == ["Oslo"]
    assert [document.text for document in read_gold(tmp_path, "test")] == ["Oslo"]
    assert len(list(read_annotations(tmp_path))) == (3 if kind == "aida_plus" else 1)
    assert corpus_files(tmp_path) == corpus_files(corpus) != []


def test_the_only_one_of_a_format_is_found_among_others(tmp_path: Path) -> None:
    for kind in ("dwie", "aida", "gum"):
        write(tmp_path / "corpora" / kind, kind)
    for read in (read_dwie, read_aida, read_gum):
        assert [document.text for document in read(tmp_path)] == ["Oslo"]
    with pytest.raises(CorpusError) as caught:
        detect_format(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: holds 3 corpora, corpora/aida (aida), corpora/dwie (dwie), corpora/gum (gum); "
        "name the folder of one of them"
    )


def test_several_of_a_format_are_named(tmp_path: Path) -> None:
    for n in range(7):
        write(tmp_path / f"v{n}", "gum")
    with pytest.raises(CorpusError, match=r"holds 7 corpora, v0 \(gum\), .*, v4 \(gum\) and 2 more; name"):
        list(read_gum(tmp_path))
    with pytest.raises(CorpusError, match="7 corpora"):
        load_gum(tmp_path)


def test_what_lies_too_deep_or_nowhere_is_not_found(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "c", "gum")
    with pytest.raises(CorpusError, match=r"no corpus that is known here; .*, there or up to two folders below"):
        detect_format(tmp_path)
    with pytest.raises(CorpusError, match=r"no CoNLL-U files \(\*\.conllu\) here"):
        list(read_gum(tmp_path))
    assert corpus_files(tmp_path) == []


def test_datasets_of_a_clone(tmp_path: Path) -> None:
    write(tmp_path / "DWIE" / "data", "dwie")
    write(tmp_path / "aida", "aida")
    cache = tmp_path / "cache"
    dwie = load_dwie(tmp_path / "DWIE", split="test", cache_dir=cache)
    aida = load_aida(tmp_path, split="test", cache_dir=cache)
    assert (dwie["text"][0], aida["text"][0]) == ("Oslo", "Oslo")
    # What is changed in the folder that was found makes the cache stale.
    (tmp_path / "DWIE/data/annos_with_content/DW_1.json").write_text(json.dumps({**ARTICLE, "content": "Bergen"}))
    assert load_dwie(tmp_path / "DWIE", split="test", cache_dir=cache)["text"][0] == "Bergen"
