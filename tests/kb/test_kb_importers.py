"""Files of other projects: counts, Wikipedia2Vec text, and what end2end_neural_el ships."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_corefel.documents import Candidate
from hf_corefel.kb import End2EndFiles, KnowledgeBase, KnowledgeBaseError, read_p_e_m, read_wikipedia2vec_text
from hf_corefel.kb.importers import read_wiki_names


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def found(kb: KnowledgeBase, surface: str) -> dict[str, float]:
    return {candidate.entity: candidate.prior for candidate in kb.candidates(surface)}


# Counts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["counts.tsv", "counts.tsv.gz"])
def test_counts(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "Paris\tParis\t6\nParis\tParis_Hilton\t1\n\n Paris \tParis_Hilton\t1\nÖ\tÖ\t2\n")
    for kb in (KnowledgeBase.from_counts(path, unseen=2), KnowledgeBase.from_counts(str(path), unseen=2.0)):
        assert found(kb, "Paris") == pytest.approx({"Paris": 0.6, "Paris_Hilton": 0.2})
        assert found(kb, "Ö") == {"Ö": 0.5}
    kb = KnowledgeBase.from_counts(path, unseen=0, url_template=None)
    assert (found(kb, "Paris"), found(kb, "Ö")) == ({"Paris": 0.75, "Paris_Hilton": 0.25}, {"Ö": 1.0})
    assert kb.url("Paris") is None


def test_blanks_around_an_entity_make_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "counts.tsv", "a\tA \t3\na\t A\t3\na\tA\t3\n")
    assert found(KnowledgeBase.from_counts(path, unseen=0), "a") == {"A": 1.0}
    with pytest.raises(KnowledgeBaseError, match=r"counts\.tsv:1, surface 'a': empty entity"):
        KnowledgeBase.from_counts(write(path, "a\t \t3\n"))
    listed = [("a", "A ", 3), ("a", " A", 3), ("a", "A", 3)]
    assert found(KnowledgeBase.from_counts(listed, unseen=0), "a") == {"A": 1.0}
    for blank in (" ", "\t", "\u3000"):
        with pytest.raises(KnowledgeBaseError, match="empty entity"):
            KnowledgeBase.from_counts([("a", blank, 3)])
        with pytest.raises(KnowledgeBaseError, match="empty entity"):
            KnowledgeBase.build([("a", [(blank, 1.0)])])


def test_what_was_seen_more_often_is_surer() -> None:
    kb = KnowledgeBase.from_counts([("once", "X", 1), ("twice", "X", 2), ("often", "X", 999)])
    assert [kb.candidates(surface)[0].prior for surface in ("once", "twice", "often")] == pytest.approx(
        [1 / 2, 2 / 3, 0.999]
    )


@pytest.mark.parametrize("unseen", [-0.5, float("nan"), float("inf"), "1", None, True])
def test_what_is_no_mass_for_something_else(unseen: Any) -> None:
    with pytest.raises(KnowledgeBaseError, match="unseen: expected a number from 0 on"):
        KnowledgeBase.from_counts([("a", "X", 1)], unseen=unseen)


@pytest.mark.parametrize(
    ("count", "unseen", "priors"),
    [(1e308, 1.0, [1 / 2, 1 / 2]), (1e308, 1e308, [1 / 3, 1 / 3]), (5e-324, 1.0, [0, 0]), (1.0, 1e308, [0, 0])],
)
def test_counts_at_the_ends_of_floats(count: float, unseen: float, priors: list[float]) -> None:
    kb = KnowledgeBase.from_counts([("a", "X", count), ("a", "Y", count)], unseen=unseen)
    assert [candidate.prior for candidate in kb.candidates("a")] == pytest.approx(priors)


def test_counts_of_one_surface_in_several_forms_add_up() -> None:
    counts = [("New York", "City", 1), ("New\nYork", "City", 2), ("New\u00a0York\u200b", "State", 1)]
    assert found(KnowledgeBase.from_counts(counts, unseen=0), "New\tYork") == {"City": 0.75, "State": 0.25}
    with pytest.raises(KnowledgeBaseError, match=r"counts\[0\]: empty surface: '.xad' holds nothing that can be seen"):
        KnowledgeBase.from_counts([("\u00ad", "X", 1)])


def test_counts_of_a_program() -> None:
    kb = KnowledgeBase.from_counts([("a", "X", 1), ("a", "Y", 3), ("a", "X", 4)], max_candidates=1, unseen=0)
    assert found(kb, "a") == {"X": 0.625}
    with pytest.raises(KnowledgeBaseError, match=r"counts\[1\], surface 'b': expected a count above 0, got 0"):
        KnowledgeBase.from_counts([("a", "X", 1), ("b", "X", 0)])


@pytest.mark.parametrize("name", ["counts.tsv", "counts.tsv.gz"])
def test_a_byte_order_mark_is_no_part_of_the_first_surface(tmp_path: Path, name: str) -> None:
    kb = KnowledgeBase.from_counts(write(tmp_path / name, "\ufeffParis\tParis\t6\n"))
    assert list(kb.surfaces()) == ["Paris"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("A", "B", "3"), r"counts\[1\], surface 'A': expected a number as count, got '3'"),
        (("A", "B", True), r"counts\[1\], surface 'A': expected a number as count, got True"),
        (("A", "B"), r"counts\[1\]: expected a triple \(surface, entity, count\), got \('A', 'B'\)"),
        (("A", ("B", 3)), r"counts\[1\]: expected a triple"),
        ("A\t3", r"counts\[1\]: expected a triple \(surface, entity, count\), got 'A\\t3'"),
        ((1, "B", 3), r"counts\[1\]: expected a string as surface, got 1"),
        (("A", None, 3), r"counts\[1\]: expected a string as entity, got None"),
    ],
)
def test_what_is_no_triple_of_counts_is_named(row: Any, message: str) -> None:
    with pytest.raises(KnowledgeBaseError, match=message):
        KnowledgeBase.from_counts([("a", "X", 1), row])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\tX", "expected surface, entity and count"),
        ("a\tX\t1\t2", "expected surface, entity and count"),
        ("a\tX\tmany", "expected a count above 0, got 'many'"),
        ("a\tX\t-1", "expected a count above 0"),
        ("a\tX\tinf", "expected a count above 0"),
        ("\tX\t1", "empty surface"),
        ("a\t\t1", "empty entity"),
    ],
)
def test_bad_counts_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "counts.tsv", f"a\tX\t1\n{line}\n")
    with pytest.raises(KnowledgeBaseError, match=rf"counts\.tsv:2.*{message}"):
        KnowledgeBase.from_counts(path)


# Wikipedia2Vec --------------------------------------------------------------------------------------

WORD2VEC = "4 3\nthe 9 9 9\nENTITY/New_York_City 0.5 -1.0 0.25\nENTITY/C++ 1 2 3\nENTITY 7 8 9\n"
DEFAULT = "the\t9 9 9\nENTITY/New York City\t0.5 -1.0 0.25\nENTITY/C++\t1 2 3\n"
GLOVE = WORD2VEC.partition("\n")[2]


@pytest.mark.parametrize("text", [WORD2VEC, DEFAULT, GLOVE])
@pytest.mark.parametrize("name", ["model.txt", "model.txt.gz"])
def test_wikipedia2vec(tmp_path: Path, text: str, name: str) -> None:
    path = write(tmp_path / name, text)
    names, vectors = read_wikipedia2vec_text(path)
    assert names == ["New_York_City", "C++"]
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[0.5, -1.0, 0.25], [1, 2, 3]]
    kb = KnowledgeBase.from_wikipedia2vec_text(path, vector_format="float32")
    assert kb.candidates("New York City") == [Candidate("New_York_City", 1.0)]
    assert kb.vector_for("C++").tolist() == [1, 2, 3]
    assert (kb.num_entities, kb.num_surfaces) == (2, 2)


def test_wikipedia2vec_with_aliases(tmp_path: Path) -> None:
    path = write(tmp_path / "model.txt", WORD2VEC)
    rows = ((surface, iter([(entity, 0.5)])) for surface, entity in [("NYC", "New_York_City"), ("Mars", "Mars")])
    kb = KnowledgeBase.from_wikipedia2vec_text(path, rows, descriptions={"Mars": "a planet"})
    assert sorted(kb.entities()) == ["Mars", "New_York_City"]
    assert kb.has_vector([kb.entity_id("Mars"), kb.entity_id("New_York_City")]).tolist() == [False, True]
    assert kb.candidates("C++") == []
    assert found(kb, "NYC") == {"New_York_City": 0.5}


def test_names_with_blanks_are_those_with_underscores(tmp_path: Path) -> None:
    path = write(tmp_path / "model.txt", WORD2VEC)
    asked = ["New York City", "New_York_City", "C++", "Mars", "Red Planet"]
    with pytest.warns(UserWarning, match=r"it has no vector of 2 of 5 entities, such as 'Mars'"):
        names, vectors = read_wikipedia2vec_text(path, asked)
    assert names == asked[:3] and vectors[0].tolist() == vectors[1].tolist() == [0.5, -1.0, 0.25]
    kb = KnowledgeBase.from_wikipedia2vec_text(path, [("NYC", [("New York City", 0.5)])])
    assert kb.has_vector([kb.entity_id("New York City")]).all()  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ENTITY/B 1 2", ":3: entity 'B': expected 3 values, got 2"),
        ("ENTITY/B 1 2 x", ":3: entity 'B': a value is no number"),
        ("ENTITY/B", ":3: entity 'B': expected 3 values, got 0"),
        ("ENTITY/ 1 2 3", ":3: entity '': expected 3 values"),
    ],
)
def test_bad_vectors_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "model.txt", f"2 3\nENTITY/A 1 2 3\n{line}\n")
    with pytest.raises(KnowledgeBaseError, match=rf"model\.txt{message}"):
        KnowledgeBase.from_wikipedia2vec_text(path)


def test_the_header_says_the_width(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match=r"model\.txt:2: entity 'A': expected 4 values, got 3"):
        read_wikipedia2vec_text(write(tmp_path / "model.txt", "1 4\nENTITY/A 1 2 3\n"))
    with pytest.raises(KnowledgeBaseError, match=r"model\.txt: no line begins with ENTITY/"):
        read_wikipedia2vec_text(write(tmp_path / "model.txt", "1 3\nword 1 2 3\n"))
    with pytest.raises(KnowledgeBaseError, match="file not found"):
        read_wikipedia2vec_text(tmp_path / "other.txt")


# end2end_neural_el ----------------------------------------------------------------------------------

P_E_M = """\
Merkel\t120\t72671,0.875,Angela_Merkel\t99,0.25,Max_Merkel\t5,0.125,Merkel,_Texas\t
Texas\t3000\t5,0.5,Merkel,_Texas\t404,0.5,No_longer_there
Nobody\t2\t404,1.0,No_longer_there
"""
NAMES = "Angela Merkel\t72671\nMax Merkel\t99\nMerkel, Texas\t5\n"
NNIDS = "1\t1\n2\t5\n3\t72671\n4\t404\n"
VECTORS = np.arange(16, dtype=np.float32).reshape(4, 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Laid out as its authors ship it."""
    data = tmp_path / "data"
    write(data / "basic_data" / "prob_yago_crosswikis_wikipedia_p_e_m.txt", P_E_M)
    write(data / "basic_data" / "wiki_name_id_map.txt", NAMES)
    write(data / "entities" / "wikiid2nnid" / "nnid2wikiid.txt", NNIDS)
    (data / "entities" / "ent_vecs").mkdir()
    np.save(data / "entities" / "ent_vecs" / "ent_vecs.npy", VECTORS)
    return data


def test_end2end(folder: Path) -> None:
    kb = KnowledgeBase.from_end2end_neural_el(folder, vector_format="float32")
    assert found(kb, "Merkel") == {"Angela_Merkel": 0.875, "Max_Merkel": 0.25, "Merkel,_Texas": 0.125}
    assert found(kb, "Texas") == {"Merkel,_Texas": 0.5}
    assert kb.candidates("Nobody") == []
    assert sorted(kb.entities()) == ["Angela_Merkel", "Max_Merkel", "Merkel,_Texas"]
    # The file counts from 1, as Torch for Lua does; its row 1 stands for unknown entities.
    assert kb.vector_for("Merkel,_Texas").tolist() == VECTORS[1].tolist()
    assert kb.vector_for("Angela_Merkel").tolist() == VECTORS[2].tolist()
    assert not kb.has_vector([kb.entity_id("Max_Merkel") or 0])[0]
    assert len(KnowledgeBase.from_end2end_neural_el(folder, max_candidates=1).candidates("Merkel")) == 1


def test_rows_that_are_counted_from_0(folder: Path) -> None:
    write(folder / "entities" / "wikiid2nnid" / "nnid2wikiid.txt", "0\t1\n1\t5\n2\t72671\n")
    kb = KnowledgeBase.from_end2end_neural_el(folder, vector_format="float32")
    assert kb.vector_for("Merkel,_Texas").tolist() == VECTORS[1].tolist()
    assert kb.vector_for("Angela_Merkel").tolist() == VECTORS[2].tolist()


def test_mentions_and_titles_have_normal_forms(folder: Path, tmp_path: Path) -> None:
    write(End2EndFiles.find(folder).p_e_m, "Tex\u00adas\u00a0State\t4\t5,3,Merkel, Texas\nTexas State\t4\t99,1,Max\n")
    kb = KnowledgeBase.from_end2end_neural_el(folder)
    assert found(kb, "Texas\nState") == pytest.approx({"Merkel,_Texas": 0.6, "Max_Merkel": 0.2})
    assert found(KnowledgeBase.from_end2end_neural_el(folder, unseen=0), "Texas State")["Merkel,_Texas"] == 0.75
    titles = write(tmp_path / "w2v.txt", "ENTITY/Côte_d’Ivoire 1 2\nENTITY/Schro\u0308der 3 4\n")
    kb = KnowledgeBase.from_wikipedia2vec_text(titles)
    # The names of entities are names, not surfaces, and stay as they are.
    assert found(kb, "Côte d'Ivoire") == {"Côte_d’Ivoire": 1.0}
    assert found(kb, "Schröder") == {"Schro\u0308der": 1.0}


def test_paths_of_files(folder: Path) -> None:
    files = End2EndFiles.find(folder)
    assert found(KnowledgeBase.from_end2end_neural_el(files), "Texas") == {"Merkel,_Texas": 0.5}
    write(folder / "old" / "ent_vecs.npy", "")
    with pytest.raises(KnowledgeBaseError, match=r"several files 'ent_vecs\.npy'"):
        KnowledgeBase.from_end2end_neural_el(folder)
    files.nnid2wikiid.unlink()
    with pytest.raises(KnowledgeBaseError, match=r"no file 'nnid2wikiid\.txt' in it or below it"):
        KnowledgeBase.from_end2end_neural_el(folder)


@pytest.mark.parametrize(("total", "priors"), [(7, [0.5, 0.25]), (1, [4 / 7, 2 / 7])])
def test_counts_in_place_of_priors(tmp_path: Path, total: int, priors: list[float]) -> None:
    path = write(tmp_path / "p_e_m.txt", f"a\t{total}\t1,4,X_(y)\t2,2,Z\n")
    assert [dict(row.candidates) for row in read_p_e_m(path)] == [pytest.approx({"X_(y)": priors[0], "Z": priors[1]})]
    whole = max(total, 6)
    assert [dict(row.candidates) for row in read_p_e_m(path, unseen=0)] == [
        pytest.approx({"X_(y)": 4 / whole, "Z": 2 / whole})
    ]
    with pytest.raises(KnowledgeBaseError, match=r"expected a prior between 0 and 1, got 4\.0"):
        list(read_p_e_m(path, scores="prior"))
    with pytest.raises(KnowledgeBaseError, match="scores: expected auto, prior or count"):
        list(read_p_e_m(path, scores="shares"))  # type: ignore[arg-type]


def test_titles_of_the_file_itself_and_counts_by_wish(tmp_path: Path) -> None:
    path = write(tmp_path / "p_e_m.txt", "a\t3\t1,1.0,New York\t2,1.0,Z,_with_comma\n")
    assert [row.candidates for row in read_p_e_m(path)] == [[("New_York", 1.0), ("Z,_with_comma", 1.0)]]
    assert [row.candidates for row in read_p_e_m(path, scores="count")] == [
        [("New_York", 0.25), ("Z,_with_comma", 0.25)]
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a", ":2: expected mention, total and candidates"),
        ("a\tx\t1,0.5,X", ":2, mention 'a': expected a total above 0, got 'x'"),
        ("a\t1\t1,0.5", ":2, mention 'a': expected id,score,title, got '1,0.5'"),
        ("a\t1\t1,half,X", ":2, mention 'a', candidate '1,half,X': expected a score from 0 on, got 'half'"),
        ("a\t1\t5,1.5,X", ":2, surface 'a', entity 'Merkel,_Texas': expected a prior between 0 and 1, got 1.5"),
        (" \t1\t5,1.0,X", ":2: empty surface"),
    ],
)
def test_bad_lines_of_p_e_m(folder: Path, line: str, message: str) -> None:
    path = folder / "basic_data" / "prob_yago_crosswikis_wikipedia_p_e_m.txt"
    write(path, f"Merkel\t120\t72671,0.875,Angela_Merkel\n{line}\n")
    with pytest.raises(KnowledgeBaseError, match=rf"p_e_m\.txt:2.*{message.partition(':2')[2]}"):
        KnowledgeBase.from_end2end_neural_el(folder)
    with pytest.warns(UserWarning, match=r"p_e_m\.txt: 1 lines were passed over; .*p_e_m\.txt:2"):
        kb = KnowledgeBase.from_end2end_neural_el(folder, strict=False)
    assert found(kb, "Merkel") == {"Angela_Merkel": 0.875}


@pytest.mark.parametrize("line", ["Title", "Title\tx1", "\t5", "A\tB\t5"])
def test_bad_lines_of_names(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "wiki_name_id_map.txt", f"A\t1\n{line}\n")
    with pytest.raises(KnowledgeBaseError, match=r"wiki_name_id_map\.txt:2: expected a title and its page id"):
        read_wiki_names(path)
    with pytest.warns(UserWarning, match="1 lines were passed over"):
        assert read_wiki_names(path, strict=False) == {"1": "A"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t1\n2\n", ":2: expected the numbers"),
        ("1\t1\nx\t2\n", ":2: expected the numbers"),
        ("1\t1\n5\t5\n", ":2: nnid 5"),
    ],
)
def test_bad_lines_of_nnids(folder: Path, text: str, message: str) -> None:
    write(folder / "entities" / "wikiid2nnid" / "nnid2wikiid.txt", text)
    with pytest.raises(KnowledgeBaseError, match=rf"nnid2wikiid\.txt{message}"):
        KnowledgeBase.from_end2end_neural_el(folder)


def test_bad_arrays(folder: Path) -> None:
    path = folder / "entities" / "ent_vecs" / "ent_vecs.npy"
    data = path.read_bytes()
    for damaged in (b"", b"text", data[:-5]):
        path.write_bytes(damaged)
        with pytest.raises(KnowledgeBaseError, match=r"ent_vecs\.npy: not an array of numpy"):
            KnowledgeBase.from_end2end_neural_el(folder)
    for array in (np.zeros(4), np.zeros((4, 4), dtype=np.int64)):
        np.save(path, array)
        with pytest.raises(KnowledgeBaseError, match=r"ent_vecs\.npy: expected one array \[V, D\] of floats"):
            KnowledgeBase.from_end2end_neural_el(folder)
    files = End2EndFiles.find(folder)
    with pytest.raises(KnowledgeBaseError, match="file not found"):
        KnowledgeBase.from_end2end_neural_el(files._replace(ent_vecs=folder / "none.npy"))
