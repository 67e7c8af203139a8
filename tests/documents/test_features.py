"""Results and documents in Arrow, by the libraries' own classes: one schema, whatever the first rows hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, Features, Value, concatenate_datasets, load_dataset

from hf_corefel import (
    DOCUMENT_FEATURES,
    RESULT_FEATURES,
    Alternative,
    AnnotatedDocument,
    Candidate,
    Cluster,
    CorefELPipeline,
    Document,
    Mention,
    Parent,
    Turn,
    to_columns,
)
from hf_corefel.documents.features import result_features
from hf_corefel.formats import write_jsonl
from hf_corefel.pipeline_corefel import load_pipeline

# More than what Dataset.map writes at once, whose types then stand.
EMPTY = 1_000


@pytest.fixture(scope="module", autouse=True)
def no_cache() -> Iterator[None]:
    """Mapped datasets go into temporary files."""
    enabled = datasets.is_caching_enabled()
    datasets.disable_caching()
    yield
    if enabled:
        datasets.enable_caching()


@pytest.fixture(scope="module")
def annotate(tiny_folder: Path) -> CorefELPipeline:
    return load_pipeline(tiny_folder)


@pytest.fixture(scope="module")
def texts(tiny_documents: list[Document]) -> list[str]:
    return [""] * EMPTY + [document.text for document in tiny_documents]


@pytest.fixture(scope="module")
def results(annotate: CorefELPipeline, texts: list[str]) -> list[dict[str, Any]]:
    return annotate(texts)


def read(rows: Any) -> list[dict[str, Any]]:
    """The results that rows of a table stand for."""
    return [AnnotatedDocument.from_dict(row).to_dict() for row in rows]


def assert_same(rows: Any, results: list[dict[str, Any]]) -> None:
    """Rows are the results but for rounding, which depends on what is annotated together."""

    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: rounded(part) for name, part in value.items()}
        if isinstance(value, list):
            return [rounded(part) for part in value]
        return round(value, 4) if isinstance(value, float) else value

    assert rounded(read(rows)) == rounded(results)


# Datasets of results ----------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [None, 2])
def test_mapping_texts_row_by_row(
    annotate: CorefELPipeline, texts: list[str], results: list[Any], processes: int | None
) -> None:
    rows = Dataset.from_dict({"text": texts})
    mapped = rows.map(lambda row: annotate(row["text"]), features=RESULT_FEATURES, num_proc=processes)
    assert mapped.features == RESULT_FEATURES
    assert_same(mapped, results)


@pytest.mark.parametrize("processes", [None, 2])
def test_mapping_batches_of_a_dataset_with_other_columns(
    annotate: CorefELPipeline, texts: list[str], results: list[Any], processes: int | None
) -> None:
    rows = Dataset.from_dict({"id": range(len(texts)), "text": texts, "label": ["x"] * len(texts)})
    features = Features({**rows.features, **RESULT_FEATURES})
    mapped = rows.map(
        lambda batch: to_columns(annotate(batch["text"])), batched=True, num_proc=processes, features=features
    )
    assert mapped.features == features
    assert mapped["id"][:] == list(range(len(texts))), "an id that a result does not have takes the place of none"
    assert_same(mapped.select_columns(list(RESULT_FEATURES)), results)


def test_mapping_documents_keeps_their_ids(annotate: CorefELPipeline, texts: list[str], results: list[Any]) -> None:
    rows = Dataset.from_dict({"id": range(len(texts)), "text": texts})
    mapped = rows.map(annotate, features=Features({**rows.features, **RESULT_FEATURES}))
    assert_same(mapped, [{"id": number, **result} for number, result in enumerate(results)])


@pytest.mark.parametrize("column", ["clusters", "warnings"])
def test_one_column_of_results(annotate: CorefELPipeline, texts: list[str], results: list[Any], column: str) -> None:
    rows = Dataset.from_dict({"text": texts})
    mapped = rows.map(
        lambda batch: {column: [result[column] for result in annotate(batch["text"])]},
        batched=True,
        features=Features({**rows.features, column: RESULT_FEATURES[column]}),
    )
    assert mapped.features[column] == RESULT_FEATURES[column]
    rest = {"clusters": [], "warnings": []}
    assert_same([{**rest, **row} for row in mapped], [{**result, **rest, column: result[column]} for result in results])


MAKERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": lambda results: Dataset.from_list(results, features=RESULT_FEATURES),
    "list, mentions first": lambda results: Dataset.from_list(results[::-1], features=RESULT_FEATURES).select(
        range(len(results) - 1, -1, -1)
    ),
    "columns": lambda results: Dataset.from_dict(to_columns(results), features=RESULT_FEATURES),
    "generator": lambda results: Dataset.from_generator(lambda: iter(results), features=RESULT_FEATURES),
    "frame": lambda results: Dataset.from_pandas(pd.DataFrame(results), features=RESULT_FEATURES),
    "Arrow": lambda results: Dataset(pa.Table.from_pylist(results, schema=RESULT_FEATURES.arrow_schema)),
    "cast": lambda results: Dataset.from_list(results).cast(RESULT_FEATURES),
    "parts": lambda results: concatenate_datasets(
        [Dataset.from_list(part, features=RESULT_FEATURES) for part in (results[:5], results[5:])]
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_datasets_of_results(results: list[Any], make: Callable[[list[Any]], Any]) -> None:
    made = make(results)
    assert made.features == RESULT_FEATURES
    assert read(made) == results
    assert read(made.to_iterable_dataset()) == results


def test_no_results_are_a_table_of_no_rows() -> None:
    made = Dataset.from_dict(to_columns([], RESULT_FEATURES), features=RESULT_FEATURES)
    assert (len(made), made.features) == (0, RESULT_FEATURES)


# Whatever a result may hold, in every form that tables have -------------------------------------------

TEXT = "Anna met Bo. She left."
FULL = AnnotatedDocument(
    TEXT,
    [
        Cluster(
            (
                Mention(0, 4, None, 0.1, 0.2, 0.3, Parent("entity", entity="Anna_Berg")),
                Mention(13, 16, None, 0.7, parent=Parent("mention", 0, 4)),
            ),
            "Anna_Berg",
            0.9,
            "https://example.org/Anna_Berg",
            (Alternative("Anna_Berg", 0.9), Alternative(None, 0.1)),
        ),
        Cluster((Mention(9, 11, parent=Parent("root")),)),
    ],
    warnings=["said"],
)
MIXED = [
    AnnotatedDocument("", []),
    FULL,
    AnnotatedDocument(TEXT, [Cluster((Mention(0, 4), Mention(13, 16)))]),
    AnnotatedDocument(TEXT, [Cluster((Mention(0, 4),), "Anna_Berg", 0.5, None, ())]),
]
FORMS: dict[str, Callable[[Dataset, Path], Any]] = {
    "rows": lambda rows, _: rows,
    "numpy rows": lambda rows, _: rows.with_format("numpy"),
    "frame": lambda rows, _: rows.to_pandas().to_dict("records"),
    "Arrow": lambda rows, _: rows.data.table.to_pylist(),
    "Parquet, pandas": lambda _, file: pd.read_parquet(file).to_dict("records"),
    "Parquet, nullable": lambda _, file: pd.read_parquet(file, dtype_backend="numpy_nullable").to_dict("records"),
    "Parquet, Arrow types": lambda _, file: pd.read_parquet(file, dtype_backend="pyarrow").to_dict("records"),
    "Parquet, pyarrow": lambda _, file: pq.read_table(file).to_pylist(),
    "Parquet, datasets": lambda _, file: load_dataset(
        "parquet", data_files=str(file), split="train", cache_dir=str(file.parent)
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_of_every_form_are_read_as_they_were(form: Callable[[Dataset, Path], Any], tmp_path: Path) -> None:
    rows = Dataset.from_list([result.to_dict() for result in MIXED], features=RESULT_FEATURES)
    rows.to_parquet(str(tmp_path / "results.parquet"))
    assert [AnnotatedDocument.from_dict(row) for row in form(rows, tmp_path / "results.parquet")] == MIXED


def test_ids_with_gaps_come_back_as_integers() -> None:
    """Pandas makes floats of them."""
    frame = pd.DataFrame([{"id": 7, "text": "Oslo", "clusters": []}, {"text": "Oslo", "clusters": []}])
    assert [AnnotatedDocument.from_dict(row).id for row in frame.to_dict("records")] == [7, None]
    assert [Document.from_dict(row).id for row in frame.to_dict("records")] == [7, None]


def test_what_was_asked_for_has_its_columns() -> None:
    made = AnnotatedDocument(TEXT, [], 7, resolved_text=TEXT, word_offsets=[(0, 4)])
    features = result_features(id="int64", resolved_text=True, word_offsets=True)
    assert list(features) == ["id", "text", "clusters", "warnings", "resolved_text", "word_offsets"]
    assert set(features) == set(made.to_dict())
    rows = Dataset.from_list([made.to_dict()], features=features)
    assert [AnnotatedDocument.from_dict(row) for row in rows] == [made]
    assert [AnnotatedDocument.from_dict(row) for row in rows.to_pandas().to_dict("records")] == [made]
    named = Features({**features, "id": Value("string")})
    assert named == result_features(id="string", resolved_text=True, word_offsets=True)


# Files ------------------------------------------------------------------------------------------------


def test_all_shards_have_one_schema(results: list[Any], tmp_path: Path) -> None:
    parts = [results[:3], results[-3:], results[EMPTY - 1 : EMPTY + 1]]
    for number, part in enumerate(parts):
        Dataset.from_list(part, features=RESULT_FEATURES).to_parquet(str(tmp_path / f"datasets-{number}.parquet"))
        file = tmp_path / f"pandas-{number}.parquet"
        pd.DataFrame(part).to_parquet(file, schema=RESULT_FEATURES.arrow_schema)
        table = pa.Table.from_pylist(part, schema=RESULT_FEATURES.arrow_schema)
        pq.write_table(table, tmp_path / f"arrow-{number}.parquet")
    files = sorted(tmp_path.glob("*.parquet"))
    assert len(files) == 9
    for file in files:
        assert pq.read_schema(file).equals(RESULT_FEATURES.arrow_schema), file.name
        assert Features.from_arrow_schema(pq.read_schema(file)) == RESULT_FEATURES
    loaded = load_dataset("parquet", data_files=[str(f) for f in files], split="train", cache_dir=str(tmp_path / "c"))
    assert loaded.features == RESULT_FEATURES
    assert read(loaded) == [result for part in parts for result in part] * 3


def test_lines_of_results_are_loaded_with_the_schema(results: list[Any], tmp_path: Path) -> None:
    """A line leaves out what a result does not have; the reader fills it in."""
    write_jsonl(tmp_path / "results.jsonl", [AnnotatedDocument.from_dict({"id": 3, **result}) for result in results])
    loaded = load_dataset(
        "json",
        data_files=str(tmp_path / "results.jsonl"),
        features=result_features(id="int64", resolved_text=True),
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert read(loaded) == [{"id": 3, **result} for result in results]


# Documents --------------------------------------------------------------------------------------------

DOCUMENTS = [
    Document(""),
    Document(TEXT, words=[], mentions=[], clusters=[], speakers=[]),
    Document(
        TEXT,
        "a",
        words=[(0, 4), (5, 8)],
        mentions=[(0, 4)],
        candidates={(0, 4): [Candidate("Anna_Berg", 0.1)], (9, 11): []},
        clusters=FULL.clusters,
        mention_scope="all",
        speakers=[Turn(13, 16, "Anna")],
    ),
    Document(TEXT, "b", spans=[(0, 4)], clusters=[Cluster((Mention(0, 4),))]),
]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_documents_of_every_form(form: Callable[[Dataset, Path], Any], tmp_path: Path) -> None:
    rows = Dataset.from_dict(to_columns(DOCUMENTS, DOCUMENT_FEATURES), features=DOCUMENT_FEATURES)
    rows.to_parquet(str(tmp_path / "documents.parquet"))
    assert pq.read_schema(tmp_path / "documents.parquet").equals(DOCUMENT_FEATURES.arrow_schema)
    assert [Document.from_dict(row) for row in form(rows, tmp_path / "documents.parquet")] == DOCUMENTS


def test_documents_that_come_one_by_one() -> None:
    made = Dataset.from_generator(
        lambda: (document.to_dict() for document in [Document("")] * EMPTY + DOCUMENTS), features=DOCUMENT_FEATURES
    )
    assert made.features == DOCUMENT_FEATURES
    assert [Document.from_dict(row) for row in made][EMPTY:] == DOCUMENTS


def test_lines_of_documents_are_loaded_with_the_schema(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "documents.jsonl", DOCUMENTS)
    loaded = load_dataset(
        "json",
        data_files=str(tmp_path / "documents.jsonl"),
        features=DOCUMENT_FEATURES,
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert [Document.from_dict(row) for row in loaded] == DOCUMENTS


def test_every_field_has_a_column() -> None:
    """A field that is added to documents or results is added to their schemas as well."""
    from dataclasses import fields

    assert {field.name for field in fields(Document)} - {"extra"} == set(DOCUMENT_FEATURES)
    asked = result_features(id="string", resolved_text=True, word_offsets=True, samples=True, clusterings=True)
    assert {field.name for field in fields(AnnotatedDocument)} - {"extra"} == set(asked)
    schema = RESULT_FEATURES.arrow_schema
    cluster = schema.field("clusters").type.value_type
    mention = cluster.field("mentions").type.value_type
    alternative = cluster.field("alternatives").type.value_type
    for kind, struct in (
        (Cluster, cluster),
        (Mention, mention),
        (Parent, mention.field("parent").type),
        (Alternative, alternative),
    ):
        assert {field.name for field in fields(kind)} == {struct.field(i).name for i in range(struct.num_fields)}
