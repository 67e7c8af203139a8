from __future__ import annotations

from pathlib import Path

import pytest

from hf_corefel.corpora import CorpusError, read_brat
from hf_corefel.documents import AnnotatedLayers
from little_corpora import surfaces

TEXT = "Anna Berg of Oslo\nleft. She saw the city."


def write(folder: Path, *lines: str, name: str = "a", text: str = TEXT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / f"{name}.ann").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder / f"{name}.ann"


ANNA, OSLO = "T1\tPerson 0 9\tAnna Berg", "T2\tCity 13 17\tOslo"
SHE, CITY = "T3\tPerson 24 27\tShe", "T4\tCity 32 40\tthe city"
MENTIONS = (ANNA, OSLO, SHE, CITY)
CHAINS = {
    "events": ("E1\tCoref:T3 Antecedent:T1", "E2\tIDENT:T2 With:T4", "E3\tLives:T5 Where:T2", "T5\tLives 18 22\tleft"),
    "relations": ("R1\tCoref Arg1:T3 Arg2:T1", "R2\tLives Arg1:T3 Arg2:T2", "R3\tcoref Anaphora:T4 Antecedent:T2"),
    "equivalences": ("*\tEquiv T1 T3", "*\tEquiv T4 T2"),
    "lines of LitBank's tables": ("COREF\tT1\tAnna-0", "COREF\tT4\tOslo-1", "COREF\tT3\tAnna-0", "COREF\tT2\tOslo-1"),
}


@pytest.mark.parametrize("kind", CHAINS)
def test_clusters(tmp_path: Path, kind: str) -> None:
    (document,) = read_brat(write(tmp_path, *MENTIONS, "A1\tSure T1", "#1\tAnnotatorNotes T1\twhy", *CHAINS[kind]))
    assert (document.id, document.text) == ("a", TEXT)
    assert surfaces(document) == [(None, ["Anna Berg", "She"]), (None, ["Oslo", "the city"])]


def test_without_a_chain_every_mention_is_its_own_cluster(tmp_path: Path) -> None:
    path = write(tmp_path, *MENTIONS, "R1\tcop Arg1:T3 Arg2:T1")
    assert [len(cluster.mentions) for cluster in next(read_brat(path)).clusters or []] == [1, 1, 1, 1]
    (document,) = read_brat(path, relations=["COP"])
    assert surfaces(document)[0] == (None, ["Anna Berg", "She"])


def test_litbank_names_clusters_in_second_lines(tmp_path: Path) -> None:
    types = (line.replace("Person ", "PROP_PER ").replace("City ", "NOM_GPE ") for line in MENTIONS)
    names = ("T5\tANNA_BERG-0 0 9\tAnna Berg", "T6\tANNA_BERG-0 24 27\tShe", "T7\tOslo-7 32 40\tthe city")
    (document,) = read_brat(write(tmp_path, *types, *names, "R1\tcop Arg1:T4 Arg2:T2"))
    assert surfaces(document) == [(None, ["Anna Berg", "She"]), (None, ["Oslo"]), (None, ["the city"])]
    # Elsewhere a type may end in a number.
    (plain,) = read_brat(write(tmp_path / "other", "T1\tLevel-1 0 4\tAnna", "T2\tLevel-1 24 27\tShe"))
    assert surfaces(plain) == [(None, ["Anna"]), (None, ["She"])]


def test_links(tmp_path: Path) -> None:
    links = (
        "N1\tReference T2 Wikidata:Q585\tOslo",
        "N2\tReference T4 Wikipedia:Oslo\tOslo",
        "N3\tReference T1 GND:1:2\tAnna Berg",
        "N4\tReference T3 Wikipedia:534366\tAnna M. Berg",
    )
    (document,) = read_brat(write(tmp_path, *MENTIONS, *links, "*\tEquiv T2 T4"))
    # Of a cluster that is linked to two databases the first counts; a page number gives way to the title.
    assert surfaces(document) == [("GND:1:2", ["Anna Berg"]), ("Q585", ["Oslo", "the city"]), ("Anna_M._Berg", ["She"])]
    assert document.layers == AnnotatedLayers(links="some")
    (bare,) = read_brat(write(tmp_path / "bare", *MENTIONS))
    assert bare.layers == AnnotatedLayers(links=False)
    path = write(tmp_path, *MENTIONS, "*\tEquiv T2 T4", links[0], links[0].replace("T2", "T4").replace("Q585", "Q1"))
    with pytest.raises(CorpusError, match=r"a\.ann:7: cluster T2 is 'Q1' here and 'Q585' before; give it one entity"):
        list(read_brat(path))
    with pytest.warns(UserWarning, match="ignored: "):
        assert surfaces(next(read_brat(path, strict=False)))[1] == ("Q585", ["Oslo", "the city"])


def test_fragments(tmp_path: Path) -> None:
    lines = ("T1\tX 13 17;18 22\tOslo left", "T2\tX 0 4;13 17\tAnna Oslo", "T3\tX 24 27\tShe", "*\tEquiv T1 T2 T3")
    path = write(tmp_path, *lines)
    with pytest.warns(UserWarning, match=r"dropped: .*a\.ann: 1 mention of several fragments"):
        (document,) = read_brat(path)
    # Those on both sides of a line end are one; what is left out still joins the others.
    assert surfaces(document) == [(None, ["Oslo\nleft", "She"])]


def test_events_have_triggers_that_are_no_mentions(tmp_path: Path) -> None:
    lines = (
        "T5\tLeave 18 22\tleft",
        "E1\tLeave:T5 Who:T1",
        "T6\tSee 28 31\tsaw",
        "E2\tSee:T6",
        "T7\tGo 18 20\tle",
        "E3\tGo:T7",
    )
    (document,) = read_brat(write(tmp_path, ANNA, *lines, "R1\tCoref Arg1:E2 Arg2:E3"))
    assert surfaces(document) == [(None, ["Anna Berg"]), (None, ["le", "saw"])]


def test_mentions_at_one_place(tmp_path: Path) -> None:
    twice = ("T5\tLeader 0 9\tAnna Berg", "N1\tReference T5 Wikidata:Q1\tAnna Berg", "*\tEquiv T1 T3")
    (document,) = read_brat(write(tmp_path, ANNA, SHE, *twice))
    assert surfaces(document) == [("Q1", ["Anna Berg", "She"])]
    path = write(tmp_path, ANNA, SHE, CITY, *twice, "*\tEquiv T5 T4")
    with pytest.warns(UserWarning, match=r"a\.ann:4: cluster T5 has a mention at the place of one of cluster T1"):
        (document,) = read_brat(path)
    assert surfaces(document) == [(None, ["Anna Berg", "She"]), ("Q1", ["the city"])]


def test_one_place_under_two_names_of_clusters(tmp_path: Path) -> None:
    lines = ("T1\tPROP_PER 0 9\tAnna Berg", "T2\tANNA-0 0 9\tAnna Berg", "T3\tBERG-1 0 9\tAnna Berg")
    with pytest.warns(
        UserWarning, match=r"a\.ann:3: cluster 'BERG-1' has a mention at the place of one of cluster 'ANNA"
    ):
        (document,) = read_brat(write(tmp_path, *lines))
    assert surfaces(document) == [(None, ["Anna Berg"])]


def test_nothing_is_annotated(tmp_path: Path) -> None:
    for name, text in (("a", TEXT), ("b", "")):
        write(tmp_path, name=name, text=text)
    assert [(document.text, document.clusters) for document in read_brat(tmp_path)] == [(TEXT, []), ("", [])]


def test_offsets_count_code_points_and_line_ends_as_they_are(tmp_path: Path) -> None:
    (document,) = read_brat(write(tmp_path, "T1\tCity 4 8\tOslo", text="𝔘\r\n\nOslo"))
    assert (document.text, surfaces(document)) == ("𝔘\r\n\nOslo", [(None, ["Oslo"])])


MALFORMED = {
    "surface": ("T1\tCity 13 17\tRome", "T1 has the text 'Rome', but 'Oslo' stands there in a.txt"),
    "range": ("T1\tCity 13 99\tOslo", "T1 is at 13..99 of a text of 41 characters"),
    "empty": ("T1\tCity 13 13\t", "T1 is at 13..13"),
    "offsets": ("T1\tCity 13-17\tOslo", "expected 'T1<tab>TYPE 0 5<tab>text', got 'T1<tab>City 13-17<tab>Oslo'"),
    "no tab": ("T1 City 13 17 Oslo", "expected an id, a tab and what it says"),
    "kind": ("Q1\tx", "expected an id such as T1"),
    "unknown": ("*\tEquiv T2 T9", "T9 is no mention of this file"),
    "unknown argument": ("R1\tCoref Arg1:T2 Arg2:T9", "T9 is no mention of this file"),
    "unknown name": ("COREF\tT9\tx-0", "T9 is no mention of this file"),
    "unknown link": ("N1\tReference T9 Wikipedia:Oslo\tOslo", "T9 is no mention of this file"),
    "no database": ("N1\tReference T2 Oslo\tOslo", "expected 'N1<tab>Reference T1 DATABASE:NAME<tab>text'"),
    "id": (OSLO, "T2 is the id of line 1 too"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_documents_name_their_line_or_are_left_out(tmp_path: Path, kind: str) -> None:
    line, message = MALFORMED[kind]
    write(tmp_path, OSLO, line)
    write(tmp_path, OSLO, name="b")
    with pytest.raises(CorpusError) as caught:
        list(read_brat(tmp_path))
    assert f"a.ann:2: {message}" in str(caught.value) and "strict=False" in str(caught.value)
    with pytest.warns(UserWarning, match="document skipped: "):
        assert [document.id for document in read_brat(tmp_path, strict=False)] == ["b"]


def test_files(tmp_path: Path) -> None:
    path = write(tmp_path / "dev", OSLO)
    assert [len(list(read_brat(place))) for place in (path, path.with_suffix(".txt"), path.parent, tmp_path)] == [1] * 4
    assert len(list(read_brat(tmp_path, "dev"))) == 1
    path.with_suffix(".txt").unlink()
    with pytest.raises(CorpusError, match=r"a\.txt: no such file, which has the text of a\.ann"):
        list(read_brat(path))
    path.unlink()
    path.with_suffix(".txt").write_bytes(b"x")
    with pytest.raises(CorpusError, match=r"a\.ann: no such file, which has the annotation of .*a\.txt"):
        list(read_brat(path.with_suffix(".txt")))
