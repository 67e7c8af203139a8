from __future__ import annotations

from pathlib import Path

import pytest

from hf_corefel.corpora import CorpusError, detect_format, read_corefud, read_gum
from hf_corefel.documents import AnnotatedLayers
from little_corpora import surfaces


def row(number: int | str, form: str, misc: str = "_", pos: str = "NOUN") -> str:
    return "\t".join((str(number), form, "_", pos, "_", "_", "_", "_", "_", misc))


def document(name: str, *rows: str) -> str:
    return "\n".join([f"# newdoc id = {name}", *rows, "", ""])


def write(path: Path, *documents: str, fields: str = "eid-etype-head-other") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# global.Entity = {fields}\n" + "".join(documents), encoding="utf-8")
    return path


# "Anna, says Berg, came [and she] left. Berg's": a mention of two parts, empty nodes, and a word of two.
ROWS = (
    row(1, "Anna", "Entity=(e1-person-1-new(e2[1/2]-person-1-", "PROPN"),
    row(2, "says", "Entity=e2[1/2])e1)"),
    row(3, "Berg", "Entity=(e2[2/2])(e4-person-1-", "PROPN"),
    row("3.1", "_", "Entity=(e1-person-1-)"),
    row(4, "left", "Entity=e4)"),
    row("5-6", "Berg's"),
    row(5, "Berg", "Entity=(e1--1-x,y:z)", "PROPN"),
    row("5.1", "she", "Entity=(e3-person-1-"),
    row(6, "'s"),
    row("6.1", "_", "Entity=e3)"),
    row(7, "hat", "Bridge=e1<e3:part|Entity=(e5-object-1-)|SplitAnte=e1<e5,e3<e5"),
)


def test_parts_and_empty_nodes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", document("d", *ROWS))
    with pytest.warns(UserWarning, match="dropped") as caught:
        (read,) = read_corefud(path)
    assert read.text == "Anna says Berg left Berg's hat"
    assert read.layers == AnnotatedLayers(links=False)
    assert [read.text[b:e] for b, e in read.words or []] == ["Anna", "says", "Berg", "left", "Berg", "'s", "hat"]
    # The mention of e4 ends at a word behind an empty node; that of e3 begins and ends at such, and has one word.
    assert surfaces(read) == [
        (None, ["Anna says", "Berg"]),
        (None, ["Berg left"]),
        (None, ["'s"]),
        (None, ["hat"]),
    ]
    assert [str(warning.message) for warning in caught] == [
        f"dropped: {path}: d: 1 mention of empty nodes only, which are no words of the text",
        f"dropped: {path}: d: 1 mention of several parts",
    ]


@pytest.mark.parametrize(
    ("fields", "opening"),
    [
        ("eid-etype-head-minspan-infstat-link-identity", "e1-person-1-1-new-coref-Anna_B%2E"),
        ("eid-identity", "e1-Anna_B%2E"),
        ("GRP-etype-infstat-salience-centering-minspan-link-identity", "e1-person-new-nnnnn-cf1-1-coref-Anna_B%2E"),
    ],
)
def test_the_header_names_the_fields(tmp_path: Path, fields: str, opening: str) -> None:
    path = write(tmp_path / "a.conllu", document("d", row(1, "Anna", f"Entity=({opening})", "PROPN")), fields=fields)
    (read,) = read_corefud(path)
    assert surfaces(read) == [("Anna_B.", ["Anna"])]
    assert read.layers == AnnotatedLayers(links="some")
    assert detect_format(path) == ("gum" if fields.startswith("GRP") else "corefud")
    if fields.startswith("GRP"):
        assert list(read_gum(path)) == [read]


def test_named_mentions(tmp_path: Path) -> None:
    rows = (
        row(1, "the", "Entity=(e1-person-3-(e2-person-2,3-"),
        row(2, "Berg", "", "PROPN"),
        row(3, "man", "Entity=e2)e1)"),
        row(4, "Berg", "Entity=(e1-person-1-)", "PROPN"),
    )
    path = write(tmp_path / "a.conllu", document("d", *rows[:1], row(2, "Berg", "_", "PROPN"), *rows[2:]))
    with pytest.warns(UserWarning, match="cluster e1 has a mention at the place of one of cluster e2"):
        (everything,) = read_corefud(path)
    assert surfaces(everything) == [(None, ["the Berg man"]), (None, ["Berg"])]
    (named,) = read_corefud(path, mention_scope="named")
    assert surfaces(named) == [(None, ["the Berg man"]), (None, ["Berg"])]
    bare = write(tmp_path / "b.conllu", document("d", row(1, "Berg", "Entity=(e1)", "PROPN")), fields="eid-etype")
    assert surfaces(next(read_corefud(bare))) == [(None, ["Berg"])]
    with pytest.raises(CorpusError, match=r"b\.conllu:3: named mentions need the field head or minspan"):
        list(read_corefud(bare, mention_scope="named"))


MALFORMED = {
    "unclosed": ("Entity=(e1-x-1-", r"the mention \(e1 is not closed"),
    "unopened": ("Entity=e1)", r"e1\) closes no mention; open it with \(e1"),
    "unreadable": ("Entity=e1", r"unreadable brackets in Entity=e1;"),
    "no id": ("Entity=(-x-1-)", r"expected eid-etype-head-other, got '\(-x-1-\)'"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_documents_name_their_line_or_are_left_out(tmp_path: Path, kind: str) -> None:
    misc, message = MALFORMED[kind]
    good = document("b", row(1, "Oslo", "Entity=(e1-place-1-)"))
    path = write(tmp_path / "a.conllu", document("a", row(1, "x", misc)), good)
    with pytest.raises(CorpusError, match=rf"a\.conllu:3: {message}.*strict=False"):
        list(read_corefud(path))
    with pytest.warns(UserWarning, match=rf"document skipped: .*a\.conllu:3: {message}"):
        assert [read.id for read in read_corefud(path, strict=False)] == ["b"]


def test_a_document_whose_lines_are_malformed_takes_no_other_with_it(tmp_path: Path) -> None:
    good = row(1, "Oslo", "Entity=(e1-place-1-)")
    path = write(tmp_path / "a.conllu", document("a", "1\tOslo"), document("b", good), "# newdoc\n", good, "\n")
    with pytest.raises(CorpusError, match=r"a\.conllu:3: expected 10 columns, got 2"):
        list(read_corefud(path))
    with pytest.warns(UserWarning, match=r"document skipped: .*:3: expected 10 columns"):
        assert [read.id for read in read_corefud(path, strict=False)] == ["b", "a"]


def test_a_document_without_sentences_gives_its_name_to_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", document("empty"), document("b", row(1, "Oslo", "Entity=(e1-place-1-)")))
    assert [read.id for read in read_corefud(path)] == ["b"]


def test_entities_that_differ_and_a_missing_header(tmp_path: Path) -> None:
    rows = (row(1, "Oslo", "Entity=(e1-Oslo)"), row(2, "it", "Entity=(e1-Bergen)"))
    path = write(tmp_path / "a.conllu", document("d", *rows), fields="eid-identity")
    with pytest.raises(CorpusError, match=r"a\.conllu:4: cluster e1 is 'Bergen' here and 'Oslo' before"):
        list(read_corefud(path))
    with pytest.warns(UserWarning, match="ignored: "):
        (read,) = read_corefud(path, strict=False)
    assert surfaces(read) == [("Oslo", ["Oslo", "it"])]
    bare = tmp_path / "b.conllu"
    bare.write_text(document("d", *rows), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"b\.conllu:2: Entity= without a '# global\.Entity = eid-etype-head-other'"):
        list(read_corefud(bare))


def test_splits_and_masked_texts(tmp_path: Path) -> None:
    for split in ("train", "dev"):
        write(tmp_path / f"xx_y-corefud-{split}.conllu", document(split, row(1, "Oslo")), document("m", row(1, "____")))
    with pytest.warns(UserWarning, match="m is masked, its text has to be fetched"):
        assert [read.id for read in read_corefud(tmp_path, "dev")] == ["dev"]
    with pytest.raises(ValueError, match="split 'test'"):
        list(read_corefud(tmp_path, "test"))
    with pytest.raises(ValueError, match="mention_scope must be 'all' or 'named'"):
        list(read_corefud(tmp_path, mention_scope="some"))  # type: ignore[arg-type]
