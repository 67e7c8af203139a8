"""Results as other tools want them: lists, mentions in order, columns, data frames."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset

from hf_corefel import (
    RESULT_FEATURES,
    AnnotatedDocument,
    Cluster,
    CorefELPipeline,
    Document,
    DocumentError,
    Mention,
    to_columns,
    to_pandas,
)
from hf_corefel.documents.views import PlacedMention
from hf_corefel.pipeline_corefel import load_pipeline

TEXT = "Anna met Bo Moss. She left Moss."
ANNA = Cluster(
    (Mention(0, 4, None, 0.1, 0.2, 0.3), Mention(18, 21)),
    "Anna_Berg",
    0.9,
    "https://example.org/Anna",
    None,
    "Q1",
    "person",
)
BO = Cluster((Mention(9, 16), Mention(9, 11), Mention(27, 31)))
RESULT = AnnotatedDocument(TEXT, [ANNA, BO], "note")


@pytest.fixture(params=["object", "dict"])
def result(request: pytest.FixtureRequest) -> Any:
    """A result in both forms that the pipeline gives."""
    return RESULT if request.param == "object" else RESULT.to_dict()


def test_clusters_as_lists(result: Any) -> None:
    assert result.get_clusters() == [["Anna", "She"], ["Bo Moss", "Bo", "Moss"]]
    assert result.get_clusters(as_strings=False) == [[(0, 4), (18, 21)], [(9, 16), (9, 11), (27, 31)]]
    assert result.get_word_clusters() == [[(0, 1), (5, 6)], [(2, 4), (2, 3), (7, 8)]]


def test_mentions_in_the_order_of_the_text(result: Any) -> None:
    placed = list(result.iter_mentions())
    assert [(item.mention.offsets, item.number, item.entity) for item in placed] == [
        ((0, 4), 0, "Anna_Berg"),
        ((9, 11), 1, None),
        ((9, 16), 1, None),
        ((18, 21), 0, "Anna_Berg"),
        ((27, 31), 1, None),
    ]
    assert placed[0] == PlacedMention(RESULT.clusters[0].mentions[0], RESULT.clusters[0], 0)


def test_words_of_a_result(result: Any) -> None:
    words = result.word_map()
    assert [TEXT[begin:end] for begin, end in words.words] == TEXT.replace(".", " .").split()
    assert words.char_to_word(19) == 5


def test_an_empty_result_has_empty_views() -> None:
    empty = AnnotatedDocument("", []).to_dict()
    assert (empty.get_clusters(), empty.get_word_clusters(), list(empty.iter_mentions())) == ([], [], [])
    assert len(empty.word_map()) == 0 and len(empty.to_pandas()) == 0


def test_a_dict_that_is_no_result_any_more_says_so() -> None:
    changed = RESULT.to_dict()
    del changed["clusters"]
    with pytest.raises(DocumentError, match=r"^document 'note': missing field 'clusters'$"):
        changed.get_clusters()


def test_other_fields_are_no_news() -> None:
    """The warning was given when the document was read."""
    made = AnnotatedDocument(TEXT, [ANNA], extra={"title": "x"}).to_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.get_clusters() == [["Anna", "She"]]
        assert len(to_pandas([made, {**made, "label": 1}])) == 4


# Data frames ------------------------------------------------------------------------------------------

TYPES = {
    "document": "int64",
    "id": "string",
    "begin": "int64",
    "end": "int64",
    "text": "string",
    "cluster": "int64",
    "entity": "string",
    "url": "string",
    "wikidata": "string",
    "type": "string",
    "probability": "float64",
    "edge_probability": "float64",
    "link_probability": "float64",
    "cluster_probability": "float64",
}


def test_a_row_for_each_mention(result: Any) -> None:
    frame = result.to_pandas()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == TYPES
    assert frame["text"].tolist() == ["Anna", "Bo", "Bo Moss", "She", "Moss"]
    assert frame["cluster"].tolist() == [0, 1, 1, 0, 1]
    assert frame["entity"].fillna("NIL").tolist() == ["Anna_Berg", "NIL", "NIL", "Anna_Berg", "NIL"]
    first = frame.iloc[0].to_dict()
    assert first == {
        "document": 0,
        "id": "note",
        "begin": 0,
        "end": 4,
        "text": "Anna",
        "cluster": 0,
        "entity": "Anna_Berg",
        "url": "https://example.org/Anna",
        "wikidata": "Q1",
        "type": "person",
        "probability": 0.1,
        "edge_probability": 0.2,
        "link_probability": 0.3,
        "cluster_probability": 0.9,
    }
    assert frame["url"].isna().tolist() == [False, True, True, False, True]
    pd.testing.assert_frame_equal(frame, to_pandas([result]))
    pd.testing.assert_frame_equal(frame, to_pandas(result))


def test_many_results_in_one_frame() -> None:
    empty = AnnotatedDocument("", [])
    many = [empty, RESULT.to_dict(), empty.to_dict(), RESULT]
    frame = to_pandas(many)
    assert frame["document"].tolist() == [1] * 5 + [3] * 5
    assert frame.index.tolist() == list(range(10))
    pd.testing.assert_frame_equal(frame, to_pandas(iter(many)))
    rows = Dataset.from_list([{"clusters": RESULT.to_dict()["clusters"], "text": TEXT}], features=None)
    assert to_pandas(rows)["text"].tolist() == ["Anna", "Bo", "Bo Moss", "She", "Moss"]
    rows = Dataset.from_dict(to_columns(many, RESULT_FEATURES), features=RESULT_FEATURES)
    pd.testing.assert_frame_equal(to_pandas(rows).drop(columns="id"), frame.drop(columns="id"))
    pd.testing.assert_frame_equal(to_pandas(rows.to_pandas().to_dict("records")), to_pandas(rows))


@pytest.mark.parametrize(
    ("ids", "kind", "expected"),
    [
        ([3, 4], "Int64", [3, 4]),
        ([3, None], "Int64", [3, -1]),
        ([3, 2**63], "string", ["3", str(2**63)]),
        (["a", 4], "string", ["a", "4"]),
        ([None, None], "string", ["none", "none"]),
    ],
)
def test_ids_have_one_type(ids: list[Any], kind: str, expected: list[Any]) -> None:
    frame = to_pandas(AnnotatedDocument("Oslo", [Cluster((Mention(0, 4),))], identifier) for identifier in ids)
    assert str(frame["id"].dtype) == kind
    assert frame["id"].fillna(-1 if kind == "Int64" else "none").tolist() == expected


def test_frames_of_any_results_fit_together(tmp_path: Path) -> None:
    for number, part in enumerate([[], [AnnotatedDocument("Oslo", [Cluster((Mention(0, 4),))])], [RESULT]]):
        frame = to_pandas(part)
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == TYPES
        frame.to_parquet(tmp_path / f"{number}.parquet")
    assert len(pd.read_parquet(tmp_path)) == 6


def test_a_table_is_refused_with_what_to_give() -> None:
    with pytest.raises(TypeError, match=r'^results: .* got a DataFrame; give frame\.to_dict\("records"\)$'):
        to_pandas(pd.DataFrame([RESULT.to_dict()]))
    with pytest.raises(DocumentError, match="missing field 'clusters'"):
        to_pandas([{"text": "Oslo"}])


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_pandas needs pandas, .*`pip install pandas`"):
        to_pandas([])


def test_columns_of_what_differs() -> None:
    documents = [Document("Oslo", 3), RESULT, {"text": "x", "label": 1}]
    assert to_columns(documents) == {
        "id": [3, "note", None],
        "text": ["Oslo", TEXT, "x"],
        "clusters": [None, RESULT.to_dict()["clusters"], None],
        "warnings": [None, [], None],
        "label": [None, None, 1],
    }
    assert to_columns(documents, ["id", "spans"]) == {"id": [3, "note", None], "spans": [None] * 3}
    assert to_columns([]) == {} and to_columns([], ["text"]) == {"text": []}


# The pipeline -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def annotate(tiny_folder: Path) -> CorefELPipeline:
    return load_pipeline(tiny_folder)


def test_results_of_the_pipeline_have_the_views(annotate: CorefELPipeline, tiny_documents: list[Document]) -> None:
    texts = [document.text for document in tiny_documents]
    results: list[Any] = annotate(texts)
    assert [result.get_clusters() for result in results] == [
        [[mention["text"] for mention in cluster["mentions"]] for cluster in result["clusters"]] for result in results
    ]
    found: Any = annotate(texts[0])
    assert found.get_clusters(as_strings=False) == annotate.annotate(texts[:1])[0].get_clusters(as_strings=False)
    pd.testing.assert_frame_equal(to_pandas(annotate.annotate(texts)), to_pandas(annotate(texts)))
    assert to_pandas(annotate(iter(texts)))["document"].nunique() == len(texts)
