from __future__ import annotations

from pathlib import Path

import pytest

from hf_corefel import Document
from hf_corefel.corpora import CorpusError, read_aida

WIKI = "http://en.wikipedia.org/wiki/"


def nil(token: str, tag: str, surface: str) -> str:
    return "\t".join((token, tag, surface, "--NME--"))


def linked(token: str, tag: str, surface: str, title: str, *freebase: str) -> str:
    return "\t".join((token, tag, surface, title.replace("'", "\\u0027"), WIKI + title, "123", *freebase))


HARBOUR = [
    "-DOCSTART- (1 HARBOUR)",
    linked("Port", "B", "Port of Bergen", "Bergen_Harbour", "/m/01"),
    linked("of", "I", "Port of Bergen", "Bergen_Harbour", "/m/01"),
    linked("Bergen", "I", "Port of Bergen", "Bergen_Harbour", "/m/01"),
    nil("Holt", "B", "Holt"),
    linked("Bergen", "B", "Bergen", "Bergen"),
    "",
    "",
    nil("Mira", "B", "Mira Holt"),
    nil("Holt", "I", "Mira Holt"),
    nil("Holt", "B", "Holt"),
    "likes",
    linked("it", "B", "it", "Bergen"),
    ".",
    "",
]
TESTA = ["-DOCSTART- (947testa TENNIS (MEN))", linked("Rosa", "B", "Rosa", "Rosa_D%27Or,_Jr.", "/m/02"), ""]
TESTB = ["-DOCSTART- (1163testb 'n)", "Nothing", "here"]


def write(folder: Path, *lines: str) -> Path:
    path = folder / "AIDA-YAGO2-dataset.tsv"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def clusters(document: Document) -> list[tuple[str | None, list[str]]]:
    return [(c.entity, [m.text or "" for m in c.mentions]) for c in document.clusters or []]


def test_text_words_and_clusters(tmp_path: Path) -> None:
    (document,) = read_aida(write(tmp_path, *HARBOUR))
    assert document.id == "1 HARBOUR"
    assert document.text == "Port of Bergen Holt Bergen\nMira Holt Holt likes it ."
    assert [document.text[begin:end] for begin, end in document.words or []] == document.text.split()
    assert clusters(document) == [
        ("Bergen_Harbour", ["Port of Bergen"]),
        (None, ["Holt"]),
        ("Bergen", ["Bergen", "it"]),
        (None, ["Mira Holt"]),
        (None, ["Holt"]),
    ]
    assert [m.offsets for c in document.clusters or [] for m in c.mentions][:3] == [(0, 14), (15, 19), (20, 26)]
    assert document.candidates == {} and document.mentions is None


def test_nil_mentions_of_one_surface_may_be_one_cluster(tmp_path: Path) -> None:
    (document,) = read_aida(write(tmp_path, *HARBOUR), nil_clusters="surfaces")
    assert [surfaces for entity, surfaces in clusters(document) if entity is None] == [["Holt", "Holt"], ["Mira Holt"]]
    with pytest.raises(ValueError, match="nil_clusters must be 'singletons' or 'surfaces'; got 'none'"):
        next(read_aida(tmp_path, nil_clusters="none"))  # type: ignore[arg-type]


def test_the_title_is_unquoted(tmp_path: Path) -> None:
    (document,) = read_aida(write(tmp_path, *TESTA))
    assert clusters(document) == [("Rosa_D'Or,_Jr.", ["Rosa"])]
    line = linked("Rosa", "B", "Rosa", "Rosa%20Or").replace("http:", "https:")
    (document,) = read_aida(write(tmp_path, TESTA[0], line))
    assert clusters(document) == [("Rosa_Or", ["Rosa"])]


def test_splits(tmp_path: Path) -> None:
    path = write(tmp_path, *HARBOUR, *TESTA, *TESTB)

    def names(split: str) -> list[str | None]:
        return [document.id for document in read_aida(path, split)]

    assert names("train") == ["1 HARBOUR"]
    assert names("testa") == ["947testa TENNIS (MEN)"]
    assert names("testb") == ["1163testb 'n"]
    assert names("all") == names("train") + names("testa") + names("testb")
    with pytest.raises(ValueError, match="split must be one of train, testa, testb, all; got 'dev'"):
        names("dev")


def test_the_folder_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"AIDA-YAGO2-dataset\.tsv: no such file; AIDA's own tool"):
        next(read_aida(tmp_path))
    write(tmp_path, *TESTB)
    assert [d.text for d in read_aida(str(tmp_path))] == ["Nothing here"]


def test_line_ends_byte_order_mark_and_separators_inside_tokens(tmp_path: Path) -> None:
    path = tmp_path / "AIDA-YAGO2-dataset.tsv"
    path.write_bytes("\ufeff-DOCSTART- (1 X)\r\na\u2028b\r\n\r\nc\r\n".encode())
    (document,) = read_aida(path)
    assert document.text == "a\u2028b\nc"


def test_a_document_without_tokens(tmp_path: Path) -> None:
    first, second = read_aida(write(tmp_path, "-DOCSTART- (1 X)", "", "-DOCSTART- (2)", "a"))
    assert (first.text, first.clusters, second.id, second.text) == ("", [], "2", "a")


MALFORMED = [
    ("Oslo\tB\tOslo", "expected 1, 4, 6 or 7 columns, got 3"),
    (linked("Oslo", "B", "Oslo", "Oslo", "/m/1", "more"), "expected 1, 4, 6 or 7 columns, got 8"),
    (nil("Oslo", "E", "Oslo"), "expected B or I in column 2, got 'E'"),
    (nil("Oslo", "I", "Oslo"), "I continues no mention 'Oslo'"),
    ("Oslo\tB\tOslo\tOslo", "expected a Wikipedia URL in column 5 and an id in column 6, or --NME-- in column 4"),
    (linked("Oslo", "B", "Oslo", "Oslo").replace("Oslo\thttp", "--NME--\thttp"), "or nothing after column 4"),
    (linked("Oslo", "B", "Oslo", "Oslo").replace("wikipedia.org", "example.org"), "expected a Wikipedia URL in col"),
    (nil("Oslo", "B", "Bergen"), "column 3 has the mention 'Bergen', its tokens are 'Oslo'"),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED)
def test_malformed_lines_say_where_or_lose_their_mention(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, "-DOCSTART- (1 X)", nil("Mira", "B", "Mira"), "", line, "end", "", *TESTA)
    with pytest.raises(CorpusError, match=rf"dataset\.tsv:4: .*{message}"):
        list(read_aida(path))
    with pytest.warns(UserWarning, match=rf"mention dropped: .*dataset\.tsv:4: .*{message}"):
        document, other = read_aida(path, strict=False)
    assert document.text == "Mira\nOslo end"
    assert clusters(document) == [(None, ["Mira"])]
    assert other == next(read_aida(path, "testa"))


def test_a_mention_that_goes_on_differently_is_lost_as_a_whole(tmp_path: Path) -> None:
    lines = [nil("Mira", "B", "Mira Holt"), linked("Holt", "I", "Mira Holt", "Mira_Holt"), nil("Rosa", "B", "Rosa")]
    path = write(tmp_path, "-DOCSTART- (1 X)", *lines)
    with pytest.raises(CorpusError, match=r":3: I continues no mention 'Mira Holt' with these columns"):
        list(read_aida(path))
    with pytest.warns(UserWarning, match="mention dropped"):
        (document,) = read_aida(path, strict=False)
    assert document.text == "Mira Holt Rosa"
    assert clusters(document) == [(None, ["Rosa"])]


def test_a_line_without_a_token(tmp_path: Path) -> None:
    path = write(tmp_path, "-DOCSTART- (1 X)", "a", "\tB\tOslo\t--NME--", "b")
    with pytest.raises(CorpusError, match=":3: no token in"):
        list(read_aida(path))
    with pytest.warns(UserWarning, match=":3: no token in"):
        assert [d.text for d in read_aida(path, strict=False)] == ["a b"]


@pytest.mark.parametrize("start", ["-DOCSTART-", "-DOCSTART- (x EU)", "-DOCSTART- (1testc EU)", "-DOCSTART- (1 EU"])
def test_a_malformed_beginning(tmp_path: Path, start: str) -> None:
    path = write(tmp_path, start, "lost", "", *TESTB)
    with pytest.raises(CorpusError, match=r"dataset\.tsv:1: expected '-DOCSTART- \(number"):
        list(read_aida(path))
    with pytest.warns(UserWarning, match="document skipped"):
        assert [d.id for d in read_aida(path, strict=False)] == ["1163testb 'n"]


def test_a_token_before_the_first_document(tmp_path: Path) -> None:
    path = write(tmp_path, "", "stray", *TESTB)
    with pytest.raises(CorpusError, match=r":2: a token before the first -DOCSTART- line"):
        list(read_aida(path))
    with pytest.warns(UserWarning, match=":2: a token before"):
        assert [d.text for d in read_aida(path, strict=False)] == ["Nothing here"]


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    path = write(tmp_path, *TESTB)
    path.write_bytes(path.read_bytes() + b"Universit\xe9\n")
    with pytest.raises(CorpusError, match=r":4: not UTF-8 \(byte 0xe9 at position 9\)"):
        list(read_aida(path, strict=False))
