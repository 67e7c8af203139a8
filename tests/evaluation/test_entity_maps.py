"""Entity maps of files and of knowledge bases, and the end-to-end evaluation with them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hf_corefel import AnnotatedDocument, Document, KnowledgeBase
from hf_corefel.candidates import ComposedKnowledgeBase
from hf_corefel.cli import app
from hf_corefel.evaluation import candidate_share, evaluate_corpus, open_entity_map, read_entity_map, score
from hf_corefel.pipeline_corefel import load_pipeline
from little_corpora import Source, write_corefud, write_docred

# The text that the tiny model knows best; who Carl Moss is, this gold does not say.
WORDS = [
    line.split() for line in ("Anna Berg met Carl Moss in Oslo .", "Berg praised Moss .", "Then she left the city .")
]


def source(anna: str, oslo: str) -> Source:
    berg, moss, city = [(0, 0, 1), (1, 0, 0), (2, 1, 1)], [(0, 3, 4), (1, 2, 2)], [(0, 6, 6), (2, 3, 4)]
    return Source(WORDS, [(anna, berg), (None, moss), (oslo, city)])


NEW, OLD, CODES = source("Anna_Berg", "Oslo"), source("Anna_Lind", "Christiania"), source("Q1", "Q585")


@pytest.fixture
def knowledge_base(tiny_encyclopaedia: Callable[..., KnowledgeBase]) -> KnowledgeBase:
    return tiny_encyclopaedia(redirects={"Anna_Lind": "Anna_Berg", "Christiania": "Kristiania", "Kristiania": "Oslo"})


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "Anna_Lind\tAnna_Berg\n\nChristiania\tKristiania\r\nKristiania\tOslo",
        '{"old": "Anna Lind", "new": "Anna_Berg"}\n["Christiania", "Kristiania"]\nKristiania\tOslo\n',
    ],
    ids=["tsv", "jsonl"],
)
def test_files_of_names(tmp_path: Path, text: str) -> None:
    packed = tmp_path / "names.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (write(tmp_path / "names", text), packed, str(packed)):
        entities = open_entity_map(path)
        assert entities is not None
        assert [entities(name) for name in ("Anna Lind", "Christiania", "Oslo", "X")] == [
            "Anna_Berg",
            "Oslo",
            "Oslo",
            "X",
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nb\ta\n", "names lead in a loop, a → b → a; leave one of the lines out"),
        ("a\tb\na\tc\n", "'a' leads to two entities, 'b' and 'c'; leave one of the lines out"),
        ("a\tb\nc\n", ":2: expected an old name, a tab and the new name, .* got 'c'"),
        ("a\t\n", ":1: expected an old name, a tab and the new name"),
        ("a\tb\tc\n", ":1: expected an old name"),
        ('{"old": "a"}\n', ":1: expected an old name"),
        ('{"old": "a", "new": 3}\n', ":1: expected an old name"),
        ("[[[\n", ":1: expected an old name"),
    ],
)
def test_malformed_files_are_named_with_their_lines(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"names.tsv:.*{message}" if message[0] != ":" else f"names.tsv{message}"):
        read_entity_map(write(tmp_path / "names.tsv", text))


def test_files_that_are_no_text_are_named(tmp_path: Path) -> None:
    for name, data in (("a.tsv", b"\xff\xfe\x00"), ("a.gz", b"no gzip"), ("b.gz", gzip.compress(b"a\tb\n" * 99)[:-9])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=f"{name}: no text in UTF-8, or damaged"):
            read_entity_map(tmp_path / name)
    with pytest.raises(ValueError, match="missing"):
        open_entity_map(tmp_path / "missing")
    assert open_entity_map(None) is None


def test_knowledge_bases_know_redirects_and_ids(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    knowledge_base.save_pretrained(tmp_path / "kb")
    for given in (knowledge_base, tmp_path / "kb", str(tmp_path / "kb"), ComposedKnowledgeBase([knowledge_base])):
        entities = open_entity_map(given)
        assert entities is not None
        oslo = ("Oslo", "Christiania", "Kristiania", "Q585", "wikidata:Q585")
        assert [entities(name) for name in oslo] == ["Oslo"] * 5
        unknown = ("Q9", "wikidata:Q9", "Nowhere", "Moss_(town)")
        assert [entities(name) for name in unknown] == ["Q9", "Q9", "Nowhere", "Moss_(town)"]


def test_entities_of_one_id_are_one(tiny_encyclopaedia: Callable[..., KnowledgeBase]) -> None:
    twins = tiny_encyclopaedia(wikidata={"Oslo": "Q585", "Oslo_(band)": "Q585"}, links={"Oslo_(band)": 1, "Oslo": 9})
    entities = open_entity_map(twins)
    assert entities is not None
    assert {entities(name) for name in ("Oslo", "Oslo_(band)", "Q585")} == {"Oslo"}


def test_names_with_blanks_and_names_that_are_ids(tmp_path: Path) -> None:
    kb = KnowledgeBase.build([("x", [("Ada Lo", 0.5), ("wikidata:Q7", 0.5)])], wikidata={"Ada Lo": "Q8"})
    kb.save_pretrained(tmp_path)
    entities = open_entity_map(tmp_path)
    assert entities is not None
    assert entities("Ada Lo") == entities("Ada_Lo") == entities("Q8") == entities("wikidata:Q8") == "Ada_Lo"
    assert entities("Q7") == entities("wikidata:Q7") == "Q7"


def test_files_and_knowledge_bases_one_after_the_other(knowledge_base: KnowledgeBase, tmp_path: Path) -> None:
    names = write(tmp_path / "names.tsv", "The_capital\tChristiania\n")
    entities = open_entity_map([names, knowledge_base])
    assert entities is not None and entities("The capital") == "Oslo"


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[Source, Callable[[Path, Source], Path]], Path]:
    """Writes a corpus of one document."""

    def make(given: Source, writer: Callable[[Path, Source], Path]) -> Path:
        folder = tmp_path / f"corpus-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        writer(folder / ("x.json" if writer is write_docred else "x.conllu"), given)
        return folder

    return make


@pytest.mark.parametrize("writer", [write_docred, write_corefud], ids=["docred", "corefud"])
@pytest.mark.parametrize(("gold", "changed"), [(OLD, 2), (CODES, 2), (NEW, 0)], ids=["titles", "codes", "names"])
def test_old_titles_and_ids_score_as_the_new_titles(
    gold: Source,
    changed: int,
    writer: Any,
    corpus: Any,
    knowledge_base: KnowledgeBase,
    tiny_folder: Path,
    tmp_path: Path,
) -> None:
    expected = evaluate_corpus(corpus(NEW, writer), model=tiny_folder, split="all")
    assert expected["entity_linking"]["el_m"]["f1"] > 0.5
    given = corpus(gold, writer)
    names = write(tmp_path / "names", "Anna_Lind\tAnna_Berg\nQ1\tAnna_Berg\nChristiania\tOslo\nQ585\tOslo\n")
    predictions = tmp_path / "predictions.jsonl"
    for entity_map in (names, knowledge_base):
        options = {"entity_map": entity_map, "predictions": predictions}
        scores = evaluate_corpus(given, model=tiny_folder, split="all", **options)
        assert scores.pop("entity_map") == {
            "gold_links": 2,
            "gold_links_changed": changed,
            "predicted_links": 3,
            "predicted_links_changed": 0,
        }
        assert scores == expected
        links = [cluster["entity"] for cluster in json.loads(predictions.read_text())["clusters"]]
        assert list(filter(None, links)) == ["Anna_Berg", "Carl_Moss", "Oslo"], "predictions keep their names"
    if changed:
        without = evaluate_corpus(given, model=tiny_folder, split="all")
        assert without["entity_linking"]["el_m"]["f1"] == 0.0
        assert without["alias_table"]["candidate_recall_of_linked_mentions"] == 0.0
        assert without["coreference"] == expected["coreference"] and "entity_map" not in without


def test_predictions_in_ids_are_mapped_too(
    corpus: Any, tiny_folder: Path, knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    knowledge_base.save_pretrained(tmp_path / "kb")
    folder, options = corpus(OLD, write_docred), {"model": tiny_folder, "knowledge_base": tmp_path / "kb"}
    plain, by_id = (
        evaluate_corpus(folder, split="all", entity_map=tmp_path / "kb", loading={"id": id}, **options)
        for id in ("name", "wikidata")
    )
    assert by_id.pop("entity_map")["predicted_links_changed"] == 3
    assert plain.pop("entity_map")["predicted_links_changed"] == 0
    assert by_id == plain and plain["entity_linking"]["el_m"]["recall"] > 0.5


def test_candidates_of_one_name_count_once(tiny_folder: Path, tiny_documents: list[Document]) -> None:
    processor = load_pipeline(tiny_folder).processor
    (document,) = tiny_documents[:1]
    names = {"Anna_Berg": "Q1", "Bergen": "Q1", "Berg_(painter)": "Q1"}
    plain, *mapped = (
        candidate_share([document], processor, entity_map=each) for each in (None, open_entity_map(names), names)
    )
    assert mapped == [plain, plain]
    predicted = [AnnotatedDocument(document.text, document.clusters or [], document.id)]
    by_dict = score([document], predicted, processor, entity_map=names)
    assert by_dict == score([document], predicted, processor, entity_map=open_entity_map(names))


def test_the_command_takes_maps_and_names_what_is_wrong(
    corpus: Any, tiny_folder: Path, knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    folder, out = corpus(CODES, write_docred), tmp_path / "scores.json"
    knowledge_base.save_pretrained(tmp_path / "kb")
    names = write(tmp_path / "names.tsv", "x\ty\n")
    command = ["evaluate", str(folder), "--split", "all", "--model", str(tiny_folder), "--out", str(out)]
    done = CliRunner().invoke(app, [*command, "--entity-map", str(names), "--entity-map", str(tmp_path / "kb")])
    assert done.exit_code == 0 and "entity_map / gold_links_changed" in done.stdout
    scores = json.loads(out.read_text())
    assert scores["entity_map"]["gold_links_changed"] == 2 and scores["entity_linking"]["el_m"]["recall"] > 0.5
    write(names, "a\tb\nb\ta\n")
    done = CliRunner().invoke(app, [*command, "--entity-map", str(names)])
    assert done.exit_code == 1 and f"{names}: names lead in a loop, a → b → a" in " ".join(done.stderr.split())
    done = CliRunner().invoke(app, [*command, "--entity-map", str(tmp_path / "nowhere")])
    assert done.exit_code == 1 and "nowhere: there is no such file, and no knowledge base" in done.stderr
    with pytest.raises(ValueError, match=r"nowhere\.tsv: there is no such file, and no knowledge base"):
        open_entity_map(tmp_path / "nowhere.tsv")


def test_no_map_is_written_over(corpus: Any, tiny_folder: Path, tmp_path: Path) -> None:
    names = write(tmp_path / "names.tsv", "x\ty\n")
    with pytest.raises(ValueError, match=r"out: .*names\.tsv: that is a file"):
        evaluate_corpus(corpus(NEW, write_docred), model=tiny_folder, split="all", entity_map=names, out=names)
