"""A corpus that the package does not know, added from outside, works wherever the package's own do."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from datasets.exceptions import DatasetGenerationError
from typer.testing import CliRunner

import hf_corefel
from hf_corefel import Cluster, Document, DocumentError, Mention
from hf_corefel.cli import app
from hf_corefel.corpora import CORPORA, CorpusError, CorpusSpec, corpus_files, detect_format, read_gold, read_texts
from hf_corefel.corpora.exporting import export_corpus
from hf_corefel.corpora.fingerprint import corpus_fingerprint
from hf_corefel.corpora.locating import find_corpus
from hf_corefel.evaluation import evaluate_corpus

# A reader of GAP (Webster et al., 2018): a pronoun and two names a line, one of which may be the pronoun's.
GAP = """
import csv
from hf_corefel import Cluster, Document, DocumentError, Mention
from hf_corefel.corpora import CorpusError, CorpusSpec

SPLITS = {"train": "development", "validation": "validation", "test": "test"}


def read_gap(path, split="all", *, strict=True):
    if split not in (*SPLITS.values(), "all"):
        raise ValueError(f"split must be one of {', '.join(SPLITS.values())}, all; got {split!r}")
    files = sorted(path.glob("gap-*.tsv" if split == "all" else f"gap-{split}.tsv")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path}: no file of the split {split!r}")
    for file in files:
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\\t", quoting=csv.QUOTE_NONE):
                yield document(row, f"{file}: {row['ID']}")


def document(row, where):
    pronoun, a, b = (Mention(int(row[f"{name}-offset"]), int(row[f"{name}-offset"]) + len(row[name]))
                     for name in ("Pronoun", "A", "B"))
    hers = a if row["A-coref"] == "TRUE" else b if row["B-coref"] == "TRUE" else None
    groups = [[mention, pronoun] if mention is hers else [mention] for mention in (a, b)]
    groups += [] if hers else [[pronoun]]
    clusters = [Cluster(tuple(sorted(group, key=lambda mention: mention.offsets))) for group in groups]
    return Document(row["Text"], row["ID"], clusters=clusters)


def is_gap(path):
    files = sorted(path.glob("gap-*.tsv")) if path.is_dir() else [path]
    return bool(files) and files[0].suffix == ".tsv" and files[0].open("rb").read(12) == b"ID\\tText\\tPron"


SPEC = CorpusSpec("gap", "GAP", is_gap, SPLITS, read_gap, files=("gap-*.tsv",), expects="gap-*.tsv", scopes=("all",))
"""
HEADER = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL"]
ROW = ["x-1", "Anna Berg met Moss before she left.", "she", "26", "Anna Berg", "0", "TRUE", "Moss", "14", "FALSE", "-"]


@pytest.fixture
def gap(tmp_path: Path) -> Path:
    """A little corpus in GAP's form."""
    folder = tmp_path / "gap"
    folder.mkdir()
    for split, names in {"development": ("x-1", "x-2"), "test": ("x-3",)}.items():
        rows = [HEADER, *([name, *ROW[1:]] for name in names)]
        (folder / f"gap-{split}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture
def guest() -> Iterator[ModuleType]:
    """The module of another package, whose corpus is registered."""
    module = ModuleType("gap_corpus")
    exec(GAP, module.__dict__)
    CORPORA.register("gap", module.SPEC)
    yield module
    CORPORA.unregister("gap")


def test_readers_and_statistics(guest: ModuleType, gap: Path) -> None:
    assert detect_format(gap.parent) == detect_format(gap / "gap-test.tsv") == "gap"
    assert corpus_files(gap) == [gap / "gap-development.tsv", gap / "gap-test.tsv"]
    assert [d.id for d in read_gold(gap, "train")] == [d.id for d in read_texts(gap, "development")] == ["x-1", "x-2"]
    assert [document.clusters for document in read_texts(str(gap.parent))] == [None] * 3
    result = CliRunner().invoke(app, ["corpus", "stats", str(gap), "--split", "test", "--json"])
    counts = json.loads(result.stdout)
    assert (counts["format"], counts["documents"], counts["nil_clusters"], counts["nil_mentions"]) == ("gap", 1, 2, 3)
    assert "gap-test.tsv" not in CliRunner().invoke(app, ["corpus", "stats", str(gap), "--format", "gap"]).stderr


def test_datasets_and_export(guest: ModuleType, gap: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    built = hf_corefel.load_corpus(gap, cache_dir=cache)
    rows = {split: [Document.from_dict(row) for row in dataset] for split, dataset in built.items()}
    assert rows == {"train": list(read_gold(gap, "development")), "test": list(read_gold(gap, "test"))}
    streamed = hf_corefel.load_corpus(gap, corpus="gap", split="test", streaming=True, cache_dir=cache)
    assert [row["id"] for row in streamed] == ["x-3"]
    # What is changed makes the cache stale.
    (gap / "gap-validation.tsv").write_text("\t".join(HEADER) + "\n" + "\t".join(ROW) + "\n", encoding="utf-8")
    assert list(hf_corefel.load_corpus(gap, cache_dir=cache)) == ["train", "validation", "test"]
    parts = export_corpus("gap", gap, tmp_path / "out")
    assert [(part.config, part.split, part.statistics.documents) for part in parts] == [
        ("default", "train", 2),
        ("default", "validation", 1),
        ("default", "test", 1),
    ]
    assert "# GAP" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_evaluate(guest: ModuleType, gap: Path, tiny_folder: Path, tmp_path: Path) -> None:
    scores = evaluate_corpus(gap, model=tiny_folder)
    assert (scores["corpus"], scores["documents"], scores["mention_scope"]) == ("GAP", 1, "all")
    arguments = ["evaluate", str(gap.parent), "--model", str(tiny_folder), "--format", "gap", "--split", "train", "-q"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "scores.json")])
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "scores.json").read_text())["documents"] == 2
    with pytest.raises(ValueError, match="that is a file of the corpus or the model"):
        evaluate_corpus(gap, model=tiny_folder, out=gap / "gap-test.tsv")


def test_a_package_with_an_entry_point(gap: Path, tmp_path: Path) -> None:
    """In a process of its own, where nobody registers anything."""
    site = tmp_path / "site"
    facts = site / "gap_corpus-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "gap_corpus.py").write_text(GAP, encoding="utf-8")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: gap-corpus\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(
        "[hf_corefel.corpora]\ngap = gap_corpus:SPEC\nbroken = no_such_module:SPEC\n", encoding="utf-8"
    )
    source = Path(hf_corefel.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(site)))}
    command = [sys.executable, "-m", "hf_corefel.cli", "corpus", "stats", str(gap), "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(done.stdout)["documents"] == 3
    # A package that cannot be imported keeps nobody from the other corpora.
    assert "corpus 'broken': gap-corpus 1.0 offers it as no_such_module:SPEC" in done.stderr


def test_a_folder_that_two_claim_is_an_error_that_names_both(guest: ModuleType, gap: Path) -> None:
    second = CorpusSpec("gap2", "Other", guest.is_gap, {}, guest.read_gap, expects="gap-*.tsv too")
    CORPORA.register("gap2", second)
    try:
        message = r"gap: has the files of gap \(gap-\*\.tsv\) and gap2 \(gap-\*\.tsv too\); say which one is meant"
        for place in (gap, gap.parent):
            with pytest.raises(CorpusError, match=message):
                detect_format(place)
        assert find_corpus(gap.parent, "gap2") == ("gap2", gap)
        stats = CliRunner().invoke(app, ["corpus", "stats", str(gap), "--format", "gap2"])
        assert stats.stdout.startswith("gap2, split all: 3 documents")
        assert len(list(read_gold(gap, corpus_format="gap2"))) == 3
        assert hf_corefel.load_corpus(gap, corpus="gap2", split="train", cache_dir=gap / "cache").num_rows == 3
    finally:
        CORPORA.unregister("gap2")


def test_a_folder_that_none_claims_is_an_error_that_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.conll").write_text("nothing of the kind\n", encoding="utf-8")
    (tmp_path / "notes.json").write_text("[]", encoding="utf-8")
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CorpusError, match="no corpus that is known here") as caught:
        detect_format(tmp_path)
    assert all(f"{name} ({spec.expects})" in str(caught.value) for name, spec in CORPORA.items())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "other"}, r"corpus 'mine': its spec is named 'other'"),
        ({"scopes": ("some",)}, r"corpus 'mine': scopes has one or both of \('named', 'all'\); got \('some',\)"),
        (
            {"read_gold": lambda path: iter(())},
            r"is called as read_gold\(path, split, strict=…\), but: too many",
        ),
        ({"scopes": ("named", "all")}, r"read_gold\(path, split, strict=…, mention_scope=…\), but: got an unexpected"),
        ({"read_texts": lambda: iter(())}, r"read_texts is called as read_texts\(path, split\), but: too many"),
    ],
)
def test_what_is_no_corpus_is_refused_at_once(changes: dict[str, Any], message: str) -> None:
    def read(path: Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
        return iter(())

    fields: dict[str, Any] = {"name": "mine", "title": "Mine", "sniff": Path.is_dir, "splits": {}, "read_gold": read}
    with pytest.raises((TypeError, ValueError), match=message):
        CORPORA.register("mine", CorpusSpec(**{**fields, **changes}))
    with pytest.raises(TypeError, match="corpus 'mine': expected a CorpusSpec, got function"):
        CORPORA.register("mine", read)  # type: ignore[call-overload]
    assert "mine" not in CORPORA


def test_every_corpus_says_what_it_is() -> None:
    for name, spec in CORPORA.items():
        assert (spec.name, bool(spec.title), bool(spec.expects), bool(spec.files)) == (name, True, True, True)
        assert set(spec.splits) <= {"train", "validation", "test"}


def test_the_list_of_old_is_still_found() -> None:
    from hf_corefel import corpora

    with pytest.warns(DeprecationWarning, match=r"CORPUS_FORMATS is now the registry hf_corefel\.corpora\.CORPORA"):
        assert corpora.CORPUS_FORMATS[:4] == ("dwie", "aida", "aida_plus", "gum")


def test_a_guest_that_fails_keeps_nobody_from_the_rest(tmp_path: Path) -> None:
    def sniff(path: Path) -> bool:
        raise RuntimeError("no such luck")

    CORPORA.register("mine", CorpusSpec("mine", "Mine", sniff, {}, lambda path, split, strict: iter(())))
    (tmp_path / "a.conll").write_text("#begin document (a); part 000\na 0 0 Ada (1)\n\n#end document\n")
    with pytest.warns(UserWarning, match=r"corpus 'mine': its sniff failed on .*no such luck"):
        assert detect_format(tmp_path) == "conll2012"


# What a reader may raise on a document that is malformed: all but the last are kinds of ValueError.
BROKEN: dict[type[Exception], Callable[[], Any]] = {
    json.JSONDecodeError: lambda: json.loads("{"),
    DocumentError: lambda: Document("Oslo", clusters=[Cluster((Mention(0, 9),))]),
    UnicodeDecodeError: lambda: b"\xff".decode("utf-8"),
    ValueError: lambda: int("x"),
    FileNotFoundError: lambda: Path("no", "such", "file").read_bytes(),
    KeyError: lambda: {}["text"],
}


@pytest.mark.parametrize("error", BROKEN)
@pytest.mark.parametrize("strict", [True, False])
def test_no_split_is_lost_for_its_first_document(tmp_path: Path, error: type[Exception], strict: bool) -> None:
    def read(path: Path, split: str = "all", *, strict: bool = True) -> Iterator[Document]:
        if split == "development":
            raise ValueError("this corpus has no such split")
        yield Document("Oslo") if split == "test" else BROKEN[error]()

    splits = {"train": "training", "validation": "development", "test": "test"}
    CORPORA.register("mine", CorpusSpec("mine", "Mine", Path.is_dir, splits, read))
    with pytest.raises(DatasetGenerationError if error is KeyError else error):
        hf_corefel.load_corpus(tmp_path, corpus="mine", strict=strict, cache_dir=tmp_path / "cache")
    built = hf_corefel.load_corpus(tmp_path, corpus="mine", strict=strict, streaming=True)
    assert list(built) == ["train", "test"]
    assert [row["text"] for row in built["test"]] == ["Oslo"]
    with pytest.raises(error):
        list(built["train"])


def test_rows_are_made_anew_when_the_reader_of_a_guest_changes(
    gap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gap_reader_of_somebody.py").write_text(GAP, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("gap_reader_of_somebody")
    before = corpus_fingerprint(gap, module.SPEC)
    assert corpus_fingerprint(gap, module.SPEC) == before
    (tmp_path / "gap_reader_of_somebody.py").write_text(f"{GAP}MENDED = True\n", encoding="utf-8")
    assert corpus_fingerprint(gap, importlib.reload(module).SPEC) != before
