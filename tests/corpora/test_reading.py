"""Gold and texts of any corpus by one call."""

from __future__ import annotations

from pathlib import Path

import pytest

from hf_corefel.corpora import CorpusError, read_gold, read_texts

AIDA = "\n".join(
    [
        "-DOCSTART- (1 OSLO)",
        "Rosa\tB\tRosa\t--NME--",
        "met",
        "Rosa\tB\tRosa\t--NME--",
        "-DOCSTART- (1163testb X)",
        "Nothing",
    ]
)
GUM = "\n".join(
    [
        "# newdoc id = GUM_x",
        "# global.Entity = GRP-etype-infstat-salience-centering-minspan-link-identity",
        "# text = Oslo waits",
        "1\tOslo\t_\tPROPN\t_\t_\t_\t_\t_\tEntity=(1-place-new-nnnnn-cf1-1-coref-Oslo)",
        "2\twaits\t_\tNOUN\t_\t_\t_\t_\t_\tEntity=(2-event-new-nnnnn-cf1-1-coref)",
        "",
        "",
    ]
)


def test_aida(tmp_path: Path) -> None:
    (tmp_path / "AIDA-YAGO2-dataset.tsv").write_text(AIDA + "\n")
    (train,) = read_gold(tmp_path, "train")
    # NIL mentions of one surface are one thing.
    assert [len(cluster.mentions) for cluster in train.clusters or []] == [2]
    (text,) = read_texts(tmp_path, "train")
    assert (text.text, text.words, text.clusters) == (train.text, train.words, None)
    assert [document.id for document in read_texts(tmp_path, "test")] == [d.id for d in read_gold(tmp_path, "testb")]
    assert list(read_gold(tmp_path, "validation")) == []


def test_gum(tmp_path: Path) -> None:
    (tmp_path / "dep").mkdir()
    (tmp_path / "dep" / "GUM_x.conllu").write_text(GUM)
    (tmp_path / "splits.md").write_text("## dev\n* GUM_x\n")
    counts = [
        len(document.clusters or [])
        for kinds in ("named", "all")
        for document in read_gold(tmp_path, "validation", mention_scope=kinds)  # type: ignore[arg-type]
    ]
    assert counts == [1, 2]
    (text,) = read_texts(tmp_path, "dev")
    assert (text.text, text.clusters) == ("Oslo waits", None)


def test_nothing_known(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no corpus that is known"):
        list(read_texts(tmp_path))
