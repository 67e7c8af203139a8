from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

import hf_corefel
from hf_corefel import Document
from hf_corefel.corpora import CorpusError, development_split, read_aida, read_aida_plus, read_dwie, read_gum
from hf_corefel.corpora.builders import AidaBuilder, DwieBuilder, GumBuilder, document_features

TEXT = "Anna Berg lives in Oslo. Berg likes Oslo."
AIDA = """-DOCSTART- (1 HARBOUR)
Bergen\tB\tBergen\tBergen\thttp://en.wikipedia.org/wiki/Bergen\t5
Holt\tB\tHolt\t--NME--
Holt\tB\tHolt\t--NME--

-DOCSTART- (947testa TENNIS)
Rosa\tB\tRosa\tRosa\thttp://en.wikipedia.org/wiki/Rosa\t6

-DOCSTART- (1163testb NOTHING)
Nothing
"""


def article(name: str, split: str = "train") -> dict[str, Any]:
    def mention(begin: int, end: int, concept: int, **more: Any) -> dict[str, Any]:
        return {"begin": begin, "end": end, "text": TEXT[begin:end], "concept": concept, **more}

    oslo = {"candidates": ["Oslo", "Oslo_(band)"], "scores": [0.75, 0.25]}
    return {
        "id": name,
        "content": TEXT,
        "tags": ["all", split],
        "mentions": [mention(0, 9, 0), mention(19, 23, 1, **oslo), mention(25, 29, 0), mention(36, 40, 1, **oslo)],
        "concepts": [{"concept": 0, "link": None}, {"concept": 1, "link": "Oslo"}],
    }


def write(folder: Path, *articles: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for each in articles:
        (folder / f"{each['id']}.json").write_text(json.dumps(each), encoding="utf-8")
    return folder


@pytest.fixture
def dwie(tmp_path: Path) -> Path:
    train = [article(f"DW_{number}") for number in range(1, 13)]
    write(tmp_path / "dwie" / "annos_with_content", *train, article("DW_99", "test"))
    return tmp_path / "dwie"


@pytest.fixture
def aida(tmp_path: Path) -> Path:
    folder = tmp_path / "aida"
    for split, name in (("train", "a"), ("testa", "b"), ("testb", "c")):
        write(folder / split, article(name))
    (folder / "AIDA-YAGO2-dataset.tsv").write_text(AIDA, encoding="utf-8")
    return folder


@pytest.fixture
def gum(tmp_path: Path) -> Path:
    folder = tmp_path / "gum"
    (folder / "dep").mkdir(parents=True)
    entity = "Entity=(1-place-new-nnnnn-cf1-1-coref-{})"
    lines = {"a": ("Oslo", "PROPN", "Oslo"), "b": ("She", "PRON", ""), "c": ("Rosa", "PROPN", "Rosa"), "d": ("____",)}
    for name, (form, *more) in lines.items():
        pos, identity = more or ("NOUN", "")
        misc = entity.format(identity) if identity else "Entity=(1-person-giv-nnnnn-cf1-1-coref)"
        row = "\t".join(("1", form, "_", pos, "_", "_", "_", "_", "_", misc))
        (folder / "dep" / f"GUM_{name}.conllu").write_text(
            f"# newdoc id = GUM_{name}\n# text = {form}\n{row}\n\n", encoding="utf-8"
        )
    (folder / "splits.md").write_text(
        "## dev\n\n* GUM_c\n\n## test\n\n* GUM_b\n\n## train\n\n* GUM_a\n* GUM_d\n", encoding="utf-8"
    )
    return folder


def documents(rows: Any) -> list[Document]:
    return [Document.from_dict(row) for row in rows]


def sizes(built: Any) -> dict[str, int]:
    return {split: len(documents(rows)) for split, rows in built.items()}


def test_dwie_has_its_own_splits_and_the_documents_of_the_reader(dwie: Path, tmp_path: Path) -> None:
    built = hf_corefel.load_dwie(dwie, cache_dir=tmp_path / "cache")
    assert isinstance(built, datasets.DatasetDict)
    assert sizes(built) == {"train": 12, "test": 1}
    assert documents(built["train"]) == list(read_dwie(dwie, "train"))
    assert documents(built["test"]) == list(read_dwie(dwie, "test"))
    nil, oslo = built["test"][0]["clusters"]
    assert nil["entity"] is None and oslo["entity"] == "Oslo"
    assert oslo["mentions"] == [{"begin": 19, "end": 23, "text": "Oslo"}, {"begin": 36, "end": 40, "text": "Oslo"}]


def test_the_development_split_is_the_documented_one(dwie: Path, tmp_path: Path) -> None:
    built = hf_corefel.load_dwie(dwie, dev_split=True, cache_dir=tmp_path)
    train, held_back = development_split(list(read_dwie(dwie, "train")))
    # Sorted as strings: DW_1, DW_10, DW_11, DW_12, DW_2, …; positions 0 and 10.
    assert [document.id for document in held_back] == ["DW_1", "DW_8"]
    assert documents(built["validation"]) == held_back
    assert documents(built["train"]) == train
    assert [row["id"] for row in built["test"]] == ["DW_99"]


def test_candidates_are_a_column_where_asked_for(dwie: Path, tmp_path: Path) -> None:
    plain = hf_corefel.load_dwie(dwie, split="test", cache_dir=tmp_path)
    assert plain.column_names == ["id", "text", "clusters"]
    given = hf_corefel.load_dwie(dwie, split="test", candidates=True, cache_dir=tmp_path)
    assert documents(given) == list(read_dwie(dwie, "test", candidates=True))
    assert given[0]["candidates"][1] == {
        "begin": 19,
        "end": 23,
        "candidates": [{"entity": "Oslo", "prior": 0.75}, {"entity": "Oslo_(band)", "prior": 0.25}],
    }


def test_aida(aida: Path, tmp_path: Path) -> None:
    built = hf_corefel.load_aida(aida, cache_dir=tmp_path)
    for split, part in (("train", "train"), ("validation", "testa"), ("test", "testb")):
        assert documents(built[split]) == list(read_aida(aida, part))
    assert built["train"][0]["words"] == [[0, 6], [7, 11], [12, 16]]
    assert (built["test"][0]["text"], built["test"][0]["clusters"]) == ("Nothing", [])
    joined = hf_corefel.load_aida(aida, split="train", nil_clusters="surfaces", cache_dir=tmp_path)
    assert documents(joined) == list(read_aida(aida, "train", nil_clusters="surfaces")) != documents(built["train"])


def test_aida_plus(aida: Path, tmp_path: Path) -> None:
    built = hf_corefel.load_aida_plus(aida, cache_dir=tmp_path)
    for split, part in (("train", "train"), ("validation", "testa"), ("test", "testb")):
        assert documents(built[split]) == list(read_aida_plus(aida, part))
    given = hf_corefel.load_aida_plus(aida, split="test", candidates=True, cache_dir=tmp_path)
    assert documents(given) == list(read_aida_plus(aida, "testb", candidates=True))


def test_gum(gum: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="GUM_d is masked"):
        built = hf_corefel.load_gum(gum, cache_dir=tmp_path)
    assert sizes(built) == {"train": 1, "validation": 1, "test": 1}
    assert documents(built["validation"]) == list(read_gum(gum, "dev"))
    assert len(built["test"][0]["clusters"]) == 1
    with pytest.warns(UserWarning, match="GUM_d is masked"):
        named = hf_corefel.load_gum(gum, mention_scope="named", cache_dir=tmp_path)
    assert documents(named["test"]) == list(read_gum(gum, "test", mention_scope="named"))
    assert named["test"][0]["clusters"] == []


def test_streaming_gives_the_same_rows_and_writes_nothing(dwie: Path, aida: Path, gum: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    built = hf_corefel.load_dwie(dwie, streaming=True, cache_dir=cache)
    assert isinstance(built, datasets.IterableDatasetDict)
    assert documents(built["train"]) == list(read_dwie(dwie, "train"))
    held_back = hf_corefel.load_dwie(dwie, split="validation", dev_split=True, streaming=True, cache_dir=cache)
    assert isinstance(held_back, datasets.IterableDataset)
    assert [row["id"] for row in held_back] == ["DW_1", "DW_8"]
    assert documents(hf_corefel.load_aida(aida, split="train", streaming=True, cache_dir=cache)) == list(
        read_aida(aida, "train")
    )
    assert documents(hf_corefel.load_aida_plus(aida, split="test", streaming=True, cache_dir=cache)) == list(
        read_aida_plus(aida, "testb")
    )
    assert documents(hf_corefel.load_gum(gum, split="test", streaming=True, cache_dir=cache)) == list(
        read_gum(gum, "test")
    )
    assert [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


@pytest.mark.parametrize("streaming", [False, True])
def test_features_are_typed(dwie: Path, tmp_path: Path, streaming: bool) -> None:
    built = hf_corefel.load_dwie(dwie, split="test", candidates=True, streaming=streaming, cache_dir=tmp_path)
    assert built.features == document_features(candidates=True)
    fields = {field.name: str(field.type) for field in built.features.arrow_schema}
    assert fields["text"] == "string"
    assert "begin: int64" in fields["clusters"] and "prior: double" in fields["candidates"]


def test_every_builder_has_its_configurations_and_says_what_it_is() -> None:
    names = {b: [c.name for c in b.BUILDER_CONFIGS] for b in (DwieBuilder, AidaBuilder, GumBuilder)}
    assert list(names.values()) == [["official", "development"], ["aida_plus", "aida"], ["all", "named"]]
    for builder, configs in names.items():
        for config in configs:
            info = builder(config_name=config).info
            assert info.features["clusters"] and info.license and info.homepage.startswith("https://")
            assert "@" in info.citation and info.description
    columns = ["id", "text", "words", "clusters", "speakers", "annotated"]
    assert list(GumBuilder(config_name="all").info.features) == columns


def test_a_changed_corpus_is_read_anew(dwie: Path, tmp_path: Path) -> None:
    assert len(hf_corefel.load_dwie(dwie, split="test", cache_dir=tmp_path)) == 1
    write(dwie / "annos_with_content", article("DW_98", "test"))
    assert len(hf_corefel.load_dwie(dwie, split="test", cache_dir=tmp_path)) == 2


def test_a_split_of_which_nothing_is_there_is_empty(dwie: Path, tmp_path: Path) -> None:
    (dwie / "annos_with_content" / "DW_99.json").unlink()
    built = hf_corefel.load_dwie(dwie, cache_dir=tmp_path)
    assert sizes(built) == {"train": 12, "test": 0}
    assert built["test"].features == built["train"].features
    assert sizes({"test": hf_corefel.load_dwie(dwie, split="test", streaming=True, cache_dir=tmp_path)}) == {"test": 0}


def test_malformed_files_raise_the_readers_error_or_are_left_out(dwie: Path, tmp_path: Path) -> None:
    broken = article("DW_5")
    broken["mentions"][1]["text"] = "Rome"
    write(dwie / "annos_with_content", broken)
    with pytest.raises(CorpusError, match=r"DW_5.json: mentions\[1\]: text 'Rome'"):
        hf_corefel.load_dwie(dwie, cache_dir=tmp_path)
    with pytest.raises(CorpusError, match=r"DW_5.json"):
        list(hf_corefel.load_dwie(dwie, split="train", streaming=True, cache_dir=tmp_path))
    with pytest.warns(UserWarning, match="dropped: .*DW_5"):
        built = hf_corefel.load_dwie(dwie, strict=False, cache_dir=tmp_path)
    assert sum(len(c["mentions"]) for row in built["train"] for c in row["clusters"]) == 12 * 4 - 1


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no DWIE articles"):
        hf_corefel.load_dwie(tmp_path, cache_dir=tmp_path)
    with pytest.raises(ValueError, match=r"GUM needs data_dir=the folder with splits\.md"):
        GumBuilder(cache_dir=str(tmp_path), config_name="all").download_and_prepare()
    with pytest.raises(ValueError, match="BuilderConfig"):
        hf_corefel.load_gum(tmp_path, mention_scope="some", cache_dir=tmp_path)  # type: ignore[arg-type]


def test_an_unknown_split(dwie: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="validation"):
        hf_corefel.load_dwie(dwie, split="validation", cache_dir=tmp_path)
    with pytest.raises(ValueError, match="validation"):
        hf_corefel.load_dwie(dwie, split="validation", streaming=True, cache_dir=tmp_path)


def test_importing_the_package_does_not_import_datasets() -> None:
    code = "import sys, hf_corefel.corpora; assert 'datasets' not in sys.modules; hf_corefel.load_gum; import datasets"
    environment = {**os.environ, "PYTHONPATH": str(Path(hf_corefel.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, env=environment)
