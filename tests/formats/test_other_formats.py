"""Formats of other projects: what is written comes back, or is counted as lost, whatever the text."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from format_documents import content, documents, gold, round_trip
from hf_corefel import Alternative, AnnotatedDocument, Cluster, Document, Mention, Parent
from hf_corefel.documents import Clustering, DocumentError, Turn
from hf_corefel.formats import FORMATS, FormatLossWarning, Losses, Writer, find_writer, read_documents, write_documents
from hf_corefel.formats.files import encoded

TEXT = "Ada Lo met Dr. Bo in Oslo.\n\nShe left\tOslo!  👍🏽 Bye, Ada."
URL = "https://en.wikipedia.org/wiki/Oslo"
any_documents = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def at(surface: str, number: int = 0, **more: float) -> Mention:
    """A mention of TEXT by its surface."""
    begin = -1
    for _ in range(number + 1):
        begin = TEXT.index(surface, begin + 1)
    return Mention(begin, begin + len(surface), **more)


def example() -> Document:
    """Nested mentions, singletons, a link, and none that cuts a word."""
    people = Cluster((at("Ada Lo"), at("She"), at("Ada", 1)))
    places = Cluster((at("Oslo"), at("Oslo", 1)), "Durham,_A-B", url=URL)
    return Document(TEXT, id="d1", clusters=[people, Cluster((at("Ada Lo met Dr. Bo"),)), Cluster((at("Bo"),)), places])


@pytest.mark.parametrize("kind", ["json", "jsonl", "corefud", "label_studio", "parquet", "docbin"])
def test_text_clusters_and_links_come_back(tmp_path: Path, kind: str) -> None:
    if kind == "docbin":
        pytest.importorskip("spacy")
    source = [example(), Document("Nothing here.", id="d2", clusters=[])]
    found, losses = round_trip(kind, source, tmp_path / "file")
    assert [(item.id, item.text) for item in found] == [("d1", TEXT), ("d2", "Nothing here.")]
    assert [gold(item) for item in found] == [gold(item) for item in source]
    assert bool(losses) is (kind in ("corefud", "label_studio")), "the URL has no place there"


def test_words_and_clusters_come_back_from_conll2012(tmp_path: Path) -> None:
    (found,), losses = round_trip("conll2012", [example()], tmp_path / "file.conll")
    written, read = example().word_map(), found.word_map()
    assert [TEXT[b:e] for b, e in written.words] == [found.text[b:e] for b, e in read.words]
    in_words = [
        {frozenset(words.chars_to_words(*m.offsets) for m in cluster.mentions) for cluster in item.clusters or ()}
        for item, words in ((example(), written), (found, read))
    ]
    assert in_words[0] == in_words[1]
    assert losses["links of clusters"] == 1 and losses["URLs of entities"] == 1
    assert losses["texts with other white space than one blank between words"] == 1
    # "She" begins a sentence; none ends within a mention, though one might after "Dr.".
    assert "\n\nd1\t0\t0\tShe\t" in (tmp_path / "file.conll").read_text()
    assert "\n\nd1\t0\t0\tBo\t" not in (tmp_path / "file.conll").read_text()


def test_brat_folder_comes_back(tmp_path: Path) -> None:
    with pytest.warns(FormatLossWarning, match=r"URLs of entities \(2\)"):
        assert write_documents(tmp_path / "out", iter([example(), example()]), "brat") == 2
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["d1-2.ann", "d1-2.txt", "d1.ann", "d1.txt"]
    found = list(read_documents(tmp_path / "out", "brat"))
    assert [(item.text, gold(item)) for item in found] == [(TEXT, gold(example()))] * 2


def test_two_mentions_of_a_cluster_that_cross_cannot_both_be_brackets(tmp_path: Path) -> None:
    text = "the old king of Norway"
    source = Document(text, clusters=[Cluster((Mention(0, 12), Mention(4, 22))), Cluster((Mention(8, 15),))])
    for kind in ("conll2012", "corefud"):
        (found,), losses = round_trip(kind, [source], tmp_path / "file")
        assert losses["mentions that cross another one of their cluster"] == 1
        assert gold(found) == {(None, frozenset({(0, 12)})), (None, frozenset({(8, 15)}))}


def test_given_words_are_the_columns(tmp_path: Path) -> None:
    words = ["New York", "is", "-", "b\tg"]
    source = Document.from_words(words, id="d", clusters=[Cluster((Mention(0, 8),))])
    (found,), losses = round_trip("conll2012", [source], tmp_path / "a")
    assert [found.text[b:e] for b, e in found.words] == ["New_York", "is", "-", "b_g"]
    assert losses["words with white space"] == 2
    (found,), losses = round_trip("corefud", [source], tmp_path / "b")
    assert [found.text[b:e] for b, e in found.words] == ["New York", "is", "-", "b g"]


@pytest.mark.parametrize("kind", ["json", "jsonl", "corefud", "conll2012", "label_studio", "parquet", "docbin", "brat"])
@given(data=st.data())
@any_documents
def test_any_document_comes_back_or_is_counted(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    if kind == "docbin":
        pytest.importorskip("spacy")
    source = data.draw(documents())
    if kind == "brat":
        files = find_writer("brat").files(source, losses := Losses())
        for suffix, text in files.items():
            (tmp_path / f"x{suffix}").write_bytes(encoded(text, losses))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (found,) = read_documents(tmp_path / "x.ann", "brat")
    else:
        read, losses = round_trip(kind, [source], tmp_path / "file")
        if not read:  # the reader says that a text of underscores is masked
            assert losses["texts without a word"] == 1 or ("_" in source.text and not re.search(r"[^\W_]", source.text))
            return
        (found,) = read
    number = sum(len(cluster.mentions) for cluster in source.clusters or ())
    dropped = sum(
        count for name, count in losses.items() if name.startswith("mentions") and "which is left out" not in name
    )
    assert sum(len(cluster.mentions) for cluster in found.clusters or ()) == number - dropped
    if kind != "conll2012":
        assert len(found.text) == len(source.text)
        assert found.text == source.text or losses
        # Nothing becomes another one's: each cluster that comes back is part of one that was there, with its entity.
        if kind == "brat":  # where line breaks at the ends of a mention are left out
            assert gold(found) == gold(source) or losses
        else:
            for entity, mentions in gold(found):
                assert any(mentions <= others and same(entity, other) for other, others in gold(source))
        if not dropped and kind != "brat":
            assert len(found.clusters or ()) == len(source.clusters or ())


def same(read: str | None, written: str | None) -> bool:
    """Whether an identifier came back; blanks may be underscores."""
    return read == written or (written is not None and read == written.replace(" ", "_"))


def test_what_results_say_is_counted_or_kept(tmp_path: Path) -> None:
    mentions = (
        Mention(0, 3, None, 0.9, 0.8, 0.7, Parent("root")),
        Mention(28, 31, None, 0.9, 0.8, 0.7, Parent("mention", 0, 3)),
    )
    cluster = Cluster(mentions, "Ada", 0.7, URL, (Alternative("Ada", 0.7), Alternative(None, 0.3)))
    result = AnnotatedDocument(TEXT, [cluster], 7, ["odd"], "text", {"row": 1}, [(0, 3), (28, 31)])
    wanted = {
        "ids that are numbers, which become text (1)": ("conll2012", "corefud", "nif", "parquet"),
        "links of clusters (1)": ("conll2012",),
        "URLs of entities (1)": ("conll2012", "corefud", "label_studio"),
        "probabilities (7)": ("conll2012", "corefud", "label_studio", "docbin"),
        "probabilities (5)": ("nif",),
        "alternatives of clusters (2)": ("conll2012", "corefud", "nif", "label_studio", "docbin"),
        "parents of mentions (2)": ("conll2012", "corefud", "nif", "label_studio", "docbin"),
        "warnings (1)": ("conll2012", "corefud", "nif", "label_studio", "docbin"),
        "other fields (1)": ("conll2012", "corefud", "nif", "label_studio", "docbin", "parquet"),
        "given splits into words (1)": ("nif", "label_studio"),
    }
    for kind in ("conll2012", "corefud", "nif", "label_studio", "docbin", "parquet"):
        if kind == "docbin":
            pytest.importorskip("spacy")
        _, losses = content(kind, [result])
        said = losses.message(kind)
        assert {name for name, kinds in wanted.items() if kind in kinds} == {name for name in wanted if name in said}
    (found,), _ = round_trip("parquet", [result], tmp_path / "x.parquet")
    assert found == AnnotatedDocument(TEXT, [cluster], "7", ["odd"], "text", {}, [(0, 3), (28, 31)])
    (found,), losses = round_trip("jsonl", [result], tmp_path / "x.jsonl")
    assert found == result and not losses


KNOWN = Cluster((Mention(0, 6), Mention(28, 31)), "Ada_Lo", wikidata="Q7", type="person")


@pytest.mark.parametrize("kind", ["json", "jsonl", "label_studio", "parquet", "docbin"])
def test_ids_and_types_come_back(tmp_path: Path, kind: str) -> None:
    if kind == "docbin":
        pytest.importorskip("spacy")
    found, losses = round_trip(kind, [Document(TEXT, clusters=[KNOWN]), example()], tmp_path / "file")
    assert [(c.entity, c.wikidata, c.type) for c in found[0].clusters] == [("Ada_Lo", "Q7", "person")]
    assert {(c.wikidata, c.type) for c in found[1].clusters} == {(None, None)}
    assert not losses["Wikidata ids of entities"] and not losses["types of entities"]


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        ("conll2012", {"Wikidata ids of entities", "types of entities", "links of clusters"}),
        ("corefud", {"Wikidata ids of entities", "types of entities"}),
        ("nif", {"types of entities"}),
    ],
)
def test_ids_and_types_without_a_place_are_counted(kind: str, lost: set[str]) -> None:
    _, losses = content(kind, [Document(TEXT, clusters=[KNOWN])])
    assert dict(losses.items()).items() >= dict.fromkeys(lost, 1).items()
    assert {name for name, _ in losses.items() if name.endswith("entities")} == lost - {"links of clusters"}
    # An entity that is called by its id has lost none.
    named = replace(KNOWN, entity="Q7", type=None)
    assert not content(kind, [Document(TEXT, clusters=[named])])[1]["Wikidata ids of entities"]


def test_brat_names_the_item_of_wikidata_too(tmp_path: Path) -> None:
    others = [Cluster((at("Oslo"),), "Q585", url="https://www.wikidata.org/wiki/Q585", wikidata="Q585")]
    others.append(Cluster((at("Bo"),), "Bo", url="https://www.wikidata.org/wiki/Q9", wikidata="Q9"))
    with pytest.warns(FormatLossWarning, match=r"types of entities \(1\)"):
        write_documents(tmp_path / "out", [Document(TEXT, id="d", clusters=[KNOWN, *others])], "brat")
    lines = [line.split("\t")[:2] for line in (tmp_path / "out" / "d.ann").read_text().splitlines() if line[0] == "N"]
    links = ["T1 Wikipedia:Ada_Lo", "T2 Wikipedia:Ada_Lo", "T3 Wikidata:Q585", "T4 Wikipedia:Bo"]
    links += ["T1 Wikidata:Q7", "T2 Wikidata:Q7", "T4 Wikidata:Q9"]
    assert lines == [[f"N{number}", f"Reference {link}"] for number, link in enumerate(links, start=1)]
    (found,) = read_documents(tmp_path / "out", "brat")
    assert {(c.entity, c.wikidata) for c in found.clusters} == {("Ada_Lo", "Q7"), ("Q585", None), ("Bo", "Q9")}


def test_nif_has_both_identifiers(tmp_path: Path) -> None:
    data, _ = content("nif", [Document(TEXT, clusters=[replace(KNOWN, url=URL)])])
    assert data.decode().count(f"itsrdf:taIdentRef <{URL}> , <http://www.wikidata.org/entity/Q7>") == 2
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data=data, format="turtle")
    links = graph.objects(predicate=rdflib.URIRef("http://www.w3.org/2005/11/its/rdf#taIdentRef"))
    assert sorted(map(str, links)) == ["http://www.wikidata.org/entity/Q7"] * 2 + [URL] * 2


def test_results_of_before_ids_still_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = {"text": "Oslo", "warnings": [], "clusters": [{"entity": "Oslo", "mentions": [{"begin": 0, "end": 4}]}]}
    row["clusters"][0]["alternatives"] = [{"entity": "Oslo", "probability": 1.0}]  # type: ignore[index]
    (tmp_path / "old.jsonl").write_text(json.dumps(row) + "\n")
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "old.parquet")
    for name in ("old.jsonl", "old.parquet"):
        (found,) = read_documents(tmp_path / name)
        assert found.clusters == [Cluster((Mention(0, 4, "Oslo"),), "Oslo", alternatives=(Alternative("Oslo", 1.0),))]


@pytest.mark.parametrize("kind", ["jsonl", "conll2012", "corefud", "nif"])
def test_each_document_is_written_before_the_next_is_asked_for(kind: str) -> None:
    asked: list[int] = []

    def stream() -> Iterator[Document]:
        for number in range(3):
            asked.append(number)
            yield example()

    pieces = find_writer(kind).write(stream(), Losses())
    for number, piece in enumerate(pieces, start=1):
        assert piece and len(asked) == number
    assert find_writer(kind).streams


def test_conllu_through_the_library_of_that_name() -> None:
    conllu = pytest.importorskip("conllu")
    data, _ = content("corefud", [example()])
    sentences = conllu.parse(data.decode())
    assert sentences[0].metadata["newdoc id"] == "d1"
    assert sentences[0].metadata["text"] == "Ada Lo met Dr. Bo in Oslo."
    assert [token["form"] for token in sentences[0]][:3] == ["Ada", "Lo", "met"]
    assert sentences[0][0]["misc"]["Entity"] == "(d1e2--1(d1e1--1"


def test_corefud_through_udapi(tmp_path: Path) -> None:
    pytest.importorskip("udapi")
    from udapi.core.document import Document as UdapiDocument

    data, _ = content("corefud", [example(), example()])
    (tmp_path / "x.conllu").write_bytes(data)
    entities = UdapiDocument(str(tmp_path / "x.conllu")).coref_entities
    assert len(entities) == 8, "clusters of two documents are no one's twice"
    found = {frozenset(" ".join(word.form for word in m.words) for m in entity.mentions) for entity in entities}
    assert found == {
        frozenset({"Ada Lo", "She", "Ada"}),
        frozenset({"Ada Lo met Dr . Bo"}),
        frozenset({"Bo"}),
        frozenset({"Oslo"}),
    }
    links = {m.other["identity"] for entity in entities for m in entity.mentions if m.other["identity"]}
    assert links == {"Durham%2C_A%2DB"}


NIF = "http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#"


@given(source=documents())
@any_documents
def test_nif_through_rdflib(source: Document) -> None:
    rdflib = pytest.importorskip("rdflib")
    data, losses = content("nif", [source, source])
    graph = rdflib.Graph().parse(data=data, format="turtle")
    nif, links = rdflib.Namespace(NIF), rdflib.URIRef("http://www.w3.org/2005/11/its/rdf#taIdentRef")
    contexts = list(graph.subjects(rdflib.RDF.type, nif.Context))
    text = re.sub("[\ud800-\udfff]", "\ufffd", source.text)
    assert [str(graph.value(context, nif.isString)) for context in contexts] == [text] * 2
    for context in contexts:
        groups: dict[str, set[tuple[int, int]]] = {}
        for phrase in graph.subjects(nif.referenceContext, context):
            begin, end = (int(graph.value(phrase, name)) for name in (nif.beginIndex, nif.endIndex))
            assert str(graph.value(phrase, nif.anchorOf)) == text[begin:end]
            groups.setdefault(str(graph.value(phrase, links)), set()).add((begin, end))
        assert sorted(map(sorted, groups.values())) == sorted(sorted(mentions) for _, mentions in gold(source))
        linked = [name for name in groups if not name.startswith("http://aksw.org/notInWiki/")]
        assert len(linked) == sum(entity is not None for entity, _ in gold(source))
    assert set(dict(losses.items())) <= {"lone surrogates"}


def test_nif_has_the_url_of_an_entity() -> None:
    data, _ = content("nif", [example()])
    assert data.decode().count(f"itsrdf:taIdentRef <{URL}>") == 2


def test_parquet_has_the_types_of_results(tmp_path: Path) -> None:
    import pyarrow.parquet as pq
    from datasets import Dataset

    from hf_corefel.documents.features import RESULT_FEATURES, result_features

    without = AnnotatedDocument("Nothing.", [])
    assert write_documents(tmp_path / "a.parquet", [without] * 3) == 3
    assert pq.read_schema(tmp_path / "a.parquet").equals(RESULT_FEATURES.arrow_schema)
    assert write_documents(tmp_path / "b.parquet", [AnnotatedDocument("x", [], f"d{n}") for n in range(600)]) == 600
    table = Dataset.from_parquet(str(tmp_path / "b.parquet"), cache_dir=str(tmp_path / "cache"))
    assert table.features == result_features(id="string") and table[599]["id"] == "d599"
    assert pq.ParquetFile(tmp_path / "b.parquet").num_row_groups == 3, "no more than 256 results are in memory at once"


@pytest.mark.parametrize("kind", ["label_studio", "brat"])
def test_what_is_known_of_clusters_without_an_entity_is_counted(kind: str, tmp_path: Path) -> None:
    source = Document(TEXT, "d", clusters=[replace(KNOWN, entity=None)])
    lost = r"Wikidata ids of clusters without an entity \(1\)"
    with pytest.warns(FormatLossWarning, match=lost) as caught:
        write_documents(tmp_path / "out", [source], kind)
    assert re.search(r"types of (clusters without an entity|entities) \(1\)", str(caught[0].message))


def test_rows_of_documents_are_documents(tmp_path: Path) -> None:
    from datasets import Dataset

    source = Document(
        "Ada met Bo. Hi there!", "a", [(0, 3), (4, 7), (8, 11), (12, 21)], speakers=[Turn(12, 21, "Ada")],
        clusters=[Cluster((Mention(0, 3),), "Ada")], annotated={"mentions": "given"},
    )  # fmt: skip
    Dataset.from_list([source.to_dict()]).to_parquet(str(tmp_path / "gold.parquet"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_documents(tmp_path / "gold.parquet")) == [source]
    Dataset.from_list([{"text": "Oslo"}, {"text": None}]).to_parquet(str(tmp_path / "bad.parquet"))
    with pytest.raises(DocumentError, match=r"bad\.parquet: row 1: .*text"):
        list(read_documents(tmp_path / "bad.parquet"))


def test_a_number_as_id_is_counted_once() -> None:
    _, losses = content("parquet", [AnnotatedDocument("ab", [], id=5)])
    assert [name for name, _ in losses.items()] == ["ids that are numbers, which become text"]


def test_what_contains_itself_is_refused(tmp_path: Path) -> None:
    whole: list[object] = [float("nan")]
    whole.append(whole)
    with pytest.raises(ValueError, match="Circular reference"):
        write_documents(tmp_path / "x.jsonl", [Document("a", extra={"x": whole})])


def test_spacy_reads_docbin(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import DocBin

    write_documents(tmp_path / "x.spacy", [example()])
    (doc,) = DocBin().from_disk(tmp_path / "x.spacy").get_docs(spacy.blank("en").vocab)
    assert doc.text == TEXT and next(sentence.text.strip() for sentence in doc.sents) == "Ada Lo met Dr. Bo in Oslo."
    assert [span.text for span in doc.spans["coref_clusters_1"]] == ["Ada Lo", "She", "Ada"]
    assert [(ent.text, ent.kb_id_) for ent in doc.ents] == [
        ("Ada Lo met Dr. Bo", ""),
        ("Oslo", "Durham,_A-B"),
        ("She", ""),
        ("Oslo", "Durham,_A-B"),
        ("Ada", ""),
    ]


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind not in ("text", "html", "nif", "brat")])
def test_files_that_are_none_of_the_format_are_named(tmp_path: Path, kind: str) -> None:
    if kind == "docbin":
        pytest.importorskip("spacy")
    for content_ in (b"\x00\xff nothing", b'{"a": 1}\n', b"[1]"):
        (tmp_path / "x").write_bytes(content_)
        with pytest.raises(ValueError, match="x"):
            list(read_documents(tmp_path / "x", kind))


def test_whole_clusterings_are_counted_where_they_are_lost(tmp_path: Path) -> None:
    clusters = (Cluster((Mention(0, 4),), "Oslo"),)
    result = AnnotatedDocument("Oslo is old.", list(clusters), samples=[Clustering(clusters, -0.5)])
    with pytest.warns(FormatLossWarning, match=r"samples of clusterings \(1\)"):
        write_documents(tmp_path / "a.parquet", [result])


def test_documents_are_taken_as_the_pipeline_gives_them(tmp_path: Path) -> None:
    document = AnnotatedDocument("Oslo is old.", [Cluster((Mention(0, 4),), "Oslo")])
    assert write_documents(tmp_path / "a.jsonl", [document.to_dict()]) == 1  # type: ignore[list-item]
    assert list(read_documents(tmp_path / "a.jsonl")) == [document]
    with pytest.raises(TypeError, match="documents: expected documents or results, got str"):
        write_documents(tmp_path / "b.jsonl", ["Oslo is old."])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected several of them, such as a list; got one AnnotatedDocument"):
        write_documents(tmp_path / "b.jsonl", document)  # type: ignore[arg-type]


def test_what_has_no_method_to_write_is_refused_at_once() -> None:
    class Nothing(Writer):
        suffixes = (".nothing",)

    for item in (Nothing, Nothing()):
        with pytest.raises(TypeError, match="has no method write"):
            FORMATS.register("nothing", item)


@pytest.mark.parametrize(
    ("text", "words", "mention"),
    [
        ("in 東京都", [(0, 2), (2, 4), (4, 5), (5, 6)], (5, 6)),
        ("a b c d", [(0, 1), (1, 3), (3, 5), (5, 7)], (1, 3)),
        ("In New York.", [(0, 2), (2, 6), (6, 11), (11, 12)], (2, 11)),
    ],
)
def test_words_that_begin_with_a_blank_keep_the_text(
    tmp_path: Path, text: str, words: list[tuple[int, int]], mention: tuple[int, int]
) -> None:
    pytest.importorskip("spacy")
    source = Document(text, words=words, clusters=[Cluster((Mention(*mention),), "To")])
    write_documents(tmp_path / "file.spacy", [source])
    (found,) = read_documents(tmp_path / "file.spacy")
    assert found.text == text
    assert gold(found) == gold(source)


def test_nil_of_documents_whose_addresses_end_alike_differ() -> None:
    people = [Cluster((Mention(0, 4),))]
    sources = [Document("Anna left.", id=f"http://{name}/story", clusters=people) for name in ("a.org/x", "b.org/y")]
    text = "".join(map(str, find_writer("nif").write(sources, Losses())))
    assert len(set(re.findall(r"notInWiki/[^>]*", text))) == 2


def test_what_stays_in_a_folder_is_said(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_documents(
            tmp_path / "brat", [Document("a", id="1", clusters=[]), Document("b", id="2", clusters=[])], "brat"
        )
    with pytest.warns(UserWarning, match="2 files of other documents stay there, such as 2.ann"):
        write_documents(tmp_path / "brat", [Document("a", id="1", clusters=[])], "brat")


def test_ids_beyond_64_bits_become_text(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    with pytest.warns(FormatLossWarning, match="ids beyond 64 bits"):
        write_documents(tmp_path / "file.spacy", [Document("a", id=2**70, clusters=[])])
    assert [item.id for item in read_documents(tmp_path / "file.spacy")] == [str(2**70)]
