from __future__ import annotations

from pathlib import Path

import pytest

from hf_corefel import Turn
from hf_corefel.corpora import CorpusError, read_conll2012
from hf_corefel.documents import AnnotatedLayers
from little_corpora import surfaces

LITBANK = """#begin document (novel); part 0
novel\t0\t0\tThe\t_\t_\t_\t_\t_\t_\t_\t_\t(1
novel\t0\t1\tmayor\t_\t_\t_\t_\t_\t_\t_\t_\t
novel\t0\t2\tof\t_\t_\t_\t_\t_\t_\t_\t_\t_
novel\t0\t3\tOslo\t_\t_\t_\t_\t_\t_\t_\t_\t(0)|1)

novel\t0\t0\tShe\t_\t_\t_\t_\t_\t_\t_\t_\t(1)
novel\t0\t1\tleft\t_\t_\t_\t_\t_\t_\t_\t_\t
#end document
"""
# Two parts of a document, whose clusters have the same numbers, and a predicate with its own column in one sentence.
ONTONOTES = """#begin document (bc/x/00/x_0000); part 000
bc/x/00/x_0000   0   0   -LRB-  -LRB-  (TOP*   -   -   -   Anna_Berg   *   (ARG0*   -
bc/x/00/x_0000   0   1   We     PRP    *       -   -   -   Anna_Berg   *   *)       (7)
bc/x/00/x_0000   0   2   /.     .      *)      -   -   -   Anna_Berg   *   -

bc/x/00/x_0000   0   0   We     PRP    (TOP*   -   -   -   Anna_Berg   *   (7)
bc/x/00/x_0000   0   1   ?      .      *)      -   -   -   -           *   -

#end document
#begin document (bc/x/00/x_0000); part 001
bc/x/00/x_0000   1   0   They   PRP    (TOP*)  -   -   -   Carl        *   (7)

#end document
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_litbank(tmp_path: Path) -> None:
    (document,) = read_conll2012(write(tmp_path / "novel.conll", LITBANK))
    assert (document.id, document.text, document.speakers) == ("novel", "The mayor of Oslo\nShe left", None)
    assert [document.text[b:e] for b, e in document.words or []] == ["The", "mayor", "of", "Oslo", "She", "left"]
    assert surfaces(document) == [(None, ["The mayor of Oslo", "She"]), (None, ["Oslo"])]
    assert document.layers == AnnotatedLayers(links=False)


def test_ontonotes(tmp_path: Path) -> None:
    first, second = read_conll2012(write(tmp_path / "x.v4_gold_conll", ONTONOTES))
    assert (first.id, first.text) == ("bc/x/00/x_0000", "( We .\nWe ?")
    assert (second.id, second.text) == ("bc/x/00/x_0000_part_001", "They")
    # Clusters of one number in two parts are two.
    assert [surfaces(first), surfaces(second)] == [[(None, ["We", "We"])], [(None, ["They"])]]
    assert first.speakers == [Turn(0, 9, "Anna_Berg")]
    assert second.speakers == [Turn(0, 4, "Carl")]


def test_splits_are_the_names_of_files_or_folders(tmp_path: Path) -> None:
    write(tmp_path / "flat" / "dev.english.v4_gold_conll", LITBANK)
    write(tmp_path / "flat" / "train.english.v4_gold_conll", ONTONOTES)
    write(tmp_path / "deep" / "development" / "data" / "bc" / "x.v4_gold_conll", LITBANK)
    write(tmp_path / "deep" / "test" / "data" / "bc" / "y.v4_auto_conll", ONTONOTES)
    write(tmp_path / "deep" / "test" / "data" / "bc" / "y.v4_gold_conll", ONTONOTES)
    counts = {
        (folder, split): len(list(read_conll2012(tmp_path / folder, split)))
        for folder, splits in {"flat": ("train", "dev", "all"), "deep": ("dev", "test", "all")}.items()
        for split in splits
    }
    assert list(counts.values()) == [2, 1, 3, 1, 2, 3]
    with pytest.raises(ValueError, match=r"split 'test': .*flat has no file or folder that is named after it"):
        list(read_conll2012(tmp_path / "flat", "test"))
    with pytest.raises(ValueError, match="split must be one of train, dev, test, all; got 'testa'"):
        list(read_conll2012(tmp_path / "flat", "testa"))
    with pytest.raises(ValueError, match="split must be 'all' for a single file"):
        list(read_conll2012(tmp_path / "flat" / "dev.english.v4_gold_conll", "dev"))


def test_a_place_of_two_clusters_stays_with_the_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", LITBANK.replace("(0)|1)", "(0)|(0)|(2)|1)"))
    with pytest.warns(UserWarning, match=r"a\.conll:5: cluster 2 has a mention at the place of one of cluster 0"):
        (document,) = read_conll2012(path)
    assert surfaces(document) == [(None, ["The mayor of Oslo", "She"]), (None, ["Oslo"])]


MALFORMED = {
    "unclosed": (("(0)|1)", "(0)"), r":2: the mention \(1 is not closed; close it with \)"),
    "unopened": (("(0)|1)", "(0)|1)|3)"), r":5: last column: 3\) closes no mention; open it with \("),
    "no bracket": (("(0)|1)", "0"), r":5: last column: expected \(3, 3\) or \(3\), got '0'"),
    "columns": (("\t_\t_\t_\t_\t(1)", "\t(1)"), r":7: expected at least 12 columns between tabs or spaces, got 9"),
    "no word": (("\tShe\t", "\t\t"), r":7: column 4: the word is empty"),
    "no end": (("#end document\n", ""), r":1: the document has no '#end document' line"),
    "no name": (("(novel); part 0", ""), r":1: expected '#begin document \(NAME\); part 000'"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_documents_name_their_line_or_are_left_out(tmp_path: Path, kind: str) -> None:
    change, message = MALFORMED[kind]
    path = write(tmp_path / "a.conll", LITBANK.replace(*change) + LITBANK.replace("(novel)", "(other)"))
    with pytest.raises(CorpusError, match=rf"a\.conll{message}.*strict=False"):
        list(read_conll2012(path))
    with pytest.warns(UserWarning, match=rf"document skipped: .*a\.conll{message}") as caught:
        assert [document.id for document in read_conll2012(path, strict=False)] == ["other"]
    assert len(caught) == 1


def test_tokens_outside_of_documents_and_no_files(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conll", "x\t0\t0\tOslo\n" * 2 + LITBANK)
    with pytest.raises(CorpusError, match=r"a\.conll:1: a token outside of '#begin document' and '#end document'"):
        list(read_conll2012(path))
    with pytest.warns(UserWarning, match="a token outside") as caught:
        assert len(list(read_conll2012(path, strict=False))) == 1
    assert len(caught) == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"empty: no CoNLL-2012 files \(\*\.conll, "):
        list(read_conll2012(tmp_path / "empty"))
