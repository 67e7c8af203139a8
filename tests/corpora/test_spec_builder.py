"""The builders that are made from the registry: rows, splits, configurations, caches and exports of four formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest

import hf_corefel
from hf_corefel import Document
from hf_corefel.corpora import CORPORA, CorpusError, read_brat, read_conll2012, read_corefud, read_docred
from hf_corefel.corpora.builders import CorpusBuilder
from hf_corefel.corpora.exporting import export_corpus
from hf_corefel.corpora.spec_builder import builder_of
from little_corpora import Source, write_brat, write_conll2012, write_corefud, write_docred
from script_loading import load_script

SOURCE = Source([["Anna", "saw", "Oslo"], ["She", "left"]], [("Q1", [(0, 0, 0), (1, 0, 0)]), (None, [(0, 2, 2)])])
FORMATS: dict[
    str, tuple[Callable[[Path, Source], Path], Callable[..., Iterator[Document]], Callable[..., Any], str]
] = {
    "conll2012": (write_conll2012, read_conll2012, hf_corefel.load_conll2012, "conll"),
    "corefud": (write_corefud, read_corefud, hf_corefel.load_corefud, "conllu"),
    "docred": (write_docred, read_docred, hf_corefel.load_docred, "json"),
    "brat": (write_brat, read_brat, hf_corefel.load_brat, "ann"),
}


@pytest.fixture(params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def corpus(name: str, tmp_path: Path) -> Path:
    """A corpus with the splits train and dev."""
    write, _, _, end = FORMATS[name]
    folder = tmp_path / name
    folder.mkdir()
    for split in ("train", "dev"):
        write(folder / f"x-{split}.{end}", SOURCE)
    return folder


def documents(rows: Any) -> list[Document]:
    return [Document.from_dict(row) for row in rows]


def test_rows_and_splits_are_those_of_the_reader(name: str, corpus: Path, tmp_path: Path) -> None:
    _, read, load, _ = FORMATS[name]
    built = load(corpus, cache_dir=tmp_path / "cache")
    assert list(built) == ["train", "validation"]
    assert documents(built["validation"]) == list(read(corpus, "dev"))
    assert documents(built["train"])[0].clusters
    assert documents(load(corpus.parent, split="train", streaming=True)) == list(read(corpus, "train"))
    assert documents(hf_corefel.load_corpus(corpus, split="train", cache_dir=tmp_path)) == list(read(corpus, "train"))


def test_without_splits_all_is_the_split_train(name: str, tmp_path: Path) -> None:
    write, read, load, end = FORMATS[name]
    file = write(tmp_path / f"x.{end}", SOURCE)
    for place in (tmp_path, file):
        built = load(place, cache_dir=tmp_path / "cache")
        assert {split: documents(rows) for split, rows in built.items()} == {"train": list(read(file))}
    with pytest.raises(ValueError, match="validation"):
        load(tmp_path, split="validation", cache_dir=tmp_path / "cache")


def test_a_changed_corpus_is_read_anew(name: str, corpus: Path, tmp_path: Path) -> None:
    write, _, load, end = FORMATS[name]
    assert load(corpus, split="train", cache_dir=tmp_path)[0]["text"] == SOURCE.text
    write(corpus / f"x-train.{end}", Source([["Bergen", "is", "elsewhere"]], []))
    assert load(corpus, split="train", cache_dir=tmp_path)[0]["text"] == "Bergen is elsewhere"


def test_malformed_files_raise_the_readers_error_or_are_left_out(name: str, corpus: Path, tmp_path: Path) -> None:
    _, _, load, end = FORMATS[name]
    path = corpus / f"x-train.{end}"
    text = path.read_text(encoding="utf-8")
    broken = {"docred": ('"sent_id": 0', '"sent_id": 9'), "brat": ("\tAnna", "\tRome")}.get(name, ("(", "((("))
    path.write_text(text.replace(*broken), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"x-train.*strict=False"):
        load(corpus, cache_dir=tmp_path)
    with pytest.warns(UserWarning, match=r"document skipped: .*x-train"):
        built = load(corpus, strict=False, cache_dir=tmp_path)
    assert {split: len(rows) for split, rows in built.items()} == {"train": 0, "validation": 1}


def test_the_script_exports_for_load_dataset(name: str, corpus: Path, tmp_path: Path) -> None:
    script = load_script(f"dataset_scripts/{name}.py")
    (builder,) = (
        kind for kind in vars(script).values() if isinstance(kind, type) and kind.__module__ == script.__name__
    )
    out = tmp_path / "out"
    assert script.main(builder, ["--data-dir", str(corpus), "--out", str(out)]) == 0
    exported = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    _, read, _, _ = FORMATS[name]
    assert documents(exported["validation"]) == list(read(corpus, "dev"))
    parts = export_corpus(name, corpus, tmp_path / "again")
    assert [part.split for part in parts][:2] == ["train", "validation"]
    card = (out / "README.md").read_text(encoding="utf-8")
    assert f"# {CORPORA[name].title}" in card and "| train | 1 |" in card
    assert ("language:" in card) == (name == "docred")


def test_configurations(tmp_path: Path) -> None:
    names = {name: [config.name for config in builder_of(name).BUILDER_CONFIGS] for name in CORPORA}
    assert names["corefud"] == ["all", "named"]
    assert names["brat"] == names["docred"] == names["conll2012"] == ["default"]
    assert all(issubclass(builder_of(name), CorpusBuilder) for name in CORPORA)
    write_corefud(tmp_path / "x.conllu", SOURCE)
    named = hf_corefel.load_corpus(tmp_path, config="named", split="train", cache_dir=tmp_path / "cache")
    assert named[0]["clusters"] == []


def test_brat_takes_the_names_of_relations(tmp_path: Path) -> None:
    path = write_brat(tmp_path / "x.ann", SOURCE)
    path.write_text(path.read_text(encoding="utf-8").replace("Coref", "Mine"), encoding="utf-8")
    counts = [
        len(hf_corefel.load_brat(tmp_path, relations=names, split="train", cache_dir=tmp_path / "c")[0]["clusters"])
        for names in (["Coref"], ["mine"])
    ]
    assert counts == [3, 2]


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown corpus 'gums'; known are .*; did you mean 'gum'\?"):
        hf_corefel.load_corpus(tmp_path, corpus="gums")
    with pytest.raises(CorpusError, match="no corpus that is known here"):
        hf_corefel.load_corpus(tmp_path)


def test_no_document_is_lost_for_the_name_of_its_file(name: str, tmp_path: Path) -> None:
    write, read, load, end = FORMATS[name]
    # Of DocRED a split is one file.
    others = ("the_test_of_time",) if name == "docred" else ("oslo", "the_test_of_time")
    for stem in (*others, "x-dev"):
        write(tmp_path / f"{stem}.{end}", SOURCE)
    built = load(tmp_path, cache_dir=tmp_path / "cache")
    assert {split: len(rows) for split, rows in built.items()} == {"train": len(others), "validation": 1}
    # Whether the others belong to it nobody knows.
    write(tmp_path / f"train_accident.{end}", SOURCE)
    with pytest.warns(UserWarning, match=rf"files are in no split, .* such as {others[0]}\.{end}; split 'all' takes"):
        assert len(list(read(tmp_path, "train"))) == 1
    assert len(list(read(tmp_path, "all"))) == len(others) + 2
    with pytest.raises(ValueError, match="'all' takes every file"):
        list(read(tmp_path, "test"))


def test_files_in_folders_of_no_split_are_named(name: str, tmp_path: Path) -> None:
    write, read, load, end = FORMATS[name]
    for folder in ("", "train", "batch2", "batch2/dev", ".old"):
        (tmp_path / folder).mkdir(exist_ok=True)
        write(tmp_path / folder / f"{folder[-3:]}x.{end}", SOURCE)
    (tmp_path / "batch2" / "notes.json").write_text("{}", encoding="utf-8")
    example = re.escape(str(Path("batch2", "ch2x")))
    message = rf"files in folders that are named after no split are not read \(2, such as {example}\.{end}\); move them"
    for split, number in {"all": 2, "train": 1}.items():
        with pytest.warns(UserWarning, match=message):
            assert len(list(read(tmp_path, split))) == number
    with pytest.warns(UserWarning, match=message):
        assert len(load(tmp_path, split="train", cache_dir=tmp_path / "cache")) == 1


def test_rows_have_wikidata_ids(tmp_path: Path) -> None:
    (tmp_path / "oslo.txt").write_text("Oslo", encoding="utf-8")
    lines = ["T1\tMention 0 4\tOslo", "N1\tReference T1 Wikipedia:Oslo\tOslo", "N2\tReference T1 Wikidata:Q585\tOslo"]
    (tmp_path / "oslo.ann").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = hf_corefel.load_brat(tmp_path, split="train", cache_dir=tmp_path / "cache")
    assert [cluster["wikidata"] for cluster in rows[0]["clusters"]] == ["Q585"]
    assert documents(rows) == list(read_brat(tmp_path))
