"""What numpy, torch, pandas, Arrow and others hand over is read as what it stands for, and comes out plain."""

from __future__ import annotations

import enum
import json
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from hf_corefel import AnnotatedDocument, Candidate, Cluster, Document, DocumentError, Mention, Turn
from hf_corefel.documents.extra_fields import ExtraFields, ExtraFieldWarning
from hf_corefel.documents.plain_values import advice, plain

TEXT = "Anna Berg met Carl Moss. She left."


class Scope(enum.StrEnum):
    NAMED = "named"


class Number(enum.IntEnum):
    SEVEN = 7


PLAIN = [
    (np.int64(7), 7),
    (np.uint8(7), 7),
    (np.array(7), 7),
    (torch.tensor(7), 7),
    (torch.tensor(7, dtype=torch.int32), 7),
    (pa.scalar(7), 7),
    (Number.SEVEN, 7),
    (np.float32(0.5), 0.5),
    (np.float64(0.5), 0.5),
    (torch.tensor(0.5, dtype=torch.bfloat16), 0.5),
    (torch.tensor(0.5, requires_grad=True), 0.5),
    (np.bool_(True), True),
    (torch.tensor(True), True),
    (np.str_("x"), "x"),
    (np.array("x"), "x"),
    (pa.scalar("x"), "x"),
    (Scope.NAMED, "named"),
    (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
    (torch.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
    (pd.Series([1, 2], index=["a", "b"]), [1, 2]),
    (pd.Index(["a"]), ["a"]),
    (pa.chunked_array([[1], [2]]), [1, 2]),
    (pd.NA, None),
    (pd.NaT, None),
    (np.ma.masked, None),
    (pa.scalar(None), None),
    (pa.scalar(None, pa.string()), None),
]


@pytest.mark.parametrize(("value", "expected"), PLAIN, ids=[f"{type(v).__name__}-{e}" for v, e in PLAIN])
def test_plain(value: Any, expected: Any) -> None:
    made = plain(value)
    assert made == expected and type(made) is type(expected)
    assert json.dumps(made) == json.dumps(expected)


def test_what_is_plain_or_unknown_stays_itself() -> None:
    rows = datasets.Dataset.from_dict({"text": ["a"]})
    for value in ([1], (1,), {"a": 1}, deque([1]), b"x", object(), rows, rows["text"], pd.DataFrame({"a": [1]})):
        assert plain(value) is value


INTEGERS: list[Callable[[int], Any]] = [np.int32, np.int64, np.uint16, np.array, torch.tensor, pa.scalar]


@pytest.mark.parametrize("number", INTEGERS, ids=lambda made: getattr(made, "__name__", "scalar"))
def test_integers_of_others_are_offsets_and_ids(number: Callable[[int], Any]) -> None:
    row = {
        "id": number(7),
        "text": TEXT,
        "words": [[number(0), number(4)]],
        "mentions": [(number(0), number(9)), Mention(number(14), number(23))],
        "candidates": [{"begin": number(0), "end": number(9), "candidates": [{"entity": number(5), "prior": 1}]}],
        "clusters": [{"entity": number(42), "mentions": [{"begin": number(0), "end": number(9)}]}],
        "speakers": [{"begin": number(0), "end": number(24), "speaker": number(1)}],
    }
    document = Document.from_dict(row)
    assert document == Document(
        TEXT,
        7,
        words=[(0, 4)],
        mentions=[(0, 9), (14, 23)],
        candidates={(0, 9): [Candidate("5", 1.0)]},
        clusters=[Cluster((Mention(0, 9, "Anna Berg"),), "42")],
        speakers=[Turn(0, 24, "1")],
    )
    built = Document(
        np.str_(TEXT),
        number(7),
        spans=np.array([[0, 9]]),  # type: ignore[arg-type]
        candidates={(np.int64(0), np.int16(9)): [Candidate(np.str_("A"), np.float32(0.5))]},
        clusters=[Cluster((Mention(number(0), number(9), np.str_("Anna Berg"), np.float32(0.5)),), np.str_("A"))],
    )
    for made in (document, built):
        assert_plain(made.to_dict())
        assert json.loads(json.dumps(made.to_dict())) == made.to_dict()
        assert Document.from_dict(made.to_dict()) == made


def assert_plain(value: Any) -> None:
    if isinstance(value, dict | list):
        assert type(value) in (dict, list)
        for part in value.values() if isinstance(value, dict) else value:
            assert_plain(part)
    else:
        assert type(value) in (str, int, float, type(None)), type(value)


@pytest.mark.parametrize(
    "pairs",
    [
        np.array([[0, 9], [14, 23]]),
        torch.tensor([[0, 9], [14, 23]]),
        [np.array([0, 9]), torch.tensor([14, 23])],
        ((0, 9), (14, 23)),
        deque([[0, 9], [14, 23]]),
        pd.Series([(0, 9), (14, 23)]),
        pa.array([[0, 9], [14, 23]]),
        [{"begin": 0, "end": 9, "text": "Anna Berg", "probability": 0.5}, {"begin": 14, "end": 23}],
        [{"entity_group": "PER", "word": "Anna Berg", "start": np.int64(0), "end": 9}, {"start": 14, "end": 23}],
    ],
)
def test_pairs_of_offsets(pairs: Any) -> None:
    assert Document.from_dict({"text": TEXT, "mentions": pairs}) == Document(TEXT, mentions=[(0, 9), (14, 23)])
    assert Document(TEXT, spans=pairs).spans == [(0, 9), (14, 23)]


@pytest.mark.parametrize("empty", [np.array([]), np.empty((0, 2), int), torch.empty(0, 2), pd.Series([], dtype=object)])
def test_no_pairs_are_no_mentions(empty: Any) -> None:
    assert Document.from_dict({"text": TEXT, "mentions": empty, "clusters": empty}) == Document(
        TEXT, mentions=[], clusters=[]
    )


@pytest.mark.parametrize("value", [True, np.True_, torch.tensor(True), np.float64(1.0), torch.tensor(1.0), "1", b"1"])
def test_what_is_no_integer_is_refused(value: Any) -> None:
    with pytest.raises(DocumentError, match=r"^document\.mentions\[0\]\.end: expected an integer code-point offset"):
        Document(TEXT, mentions=[(0, value)])
    if not isinstance(value, str):
        with pytest.raises(DocumentError, match=r"^document\.id: expected a string, an integer or None"):
            Document(TEXT, id=value)
        with pytest.raises(DocumentError, match=r"clusters\[0\]\.entity: expected a non-empty string"):
            Document(TEXT, clusters=[Cluster((Mention(0, 4),), value)])


NOTHING = [None, float("nan"), np.float64("nan"), np.float32("nan"), pd.NA, pd.NaT, pa.scalar(None), np.array(np.nan)]


@pytest.mark.parametrize("nothing", NOTHING, ids=[repr(value) for value in NOTHING])
def test_what_is_missing_in_a_table_is_not_given(nothing: Any) -> None:
    fields = ("id", "words", "mentions", "spans", "candidates", "clusters", "mention_scope", "speakers")
    assert Document.from_dict({"text": TEXT, **dict.fromkeys(fields, nothing)}) == Document(TEXT)
    assert Document(TEXT, nothing) == Document(TEXT)
    mention = {"begin": 0, "end": 4, "text": nothing, "parent": nothing}
    read = AnnotatedDocument.from_dict(
        {
            "text": TEXT,
            "clusters": [{"entity": nothing, "url": nothing, "alternatives": nothing, "mentions": [mention]}],
            "warnings": nothing,
            "resolved_text": nothing,
        }
    )
    assert read == AnnotatedDocument(TEXT, [Cluster((Mention(0, 4),))])


@pytest.mark.parametrize("nothing", NOTHING[1:], ids=[repr(value) for value in NOTHING[1:]])
def test_a_missing_text_says_what_to_do(nothing: Any) -> None:
    message = r"^document 3\.text: expected a string, got a missing value \(\w+\); leave the row out, or give an empty"
    with pytest.raises(DocumentError, match=message):
        Document.from_dict({"id": 3, "text": nothing})


GOLD = {
    "id": 5,
    "text": TEXT,
    "mentions": [[0, 9], [14, 23]],
    "clusters": [
        {"entity": "Anna_Berg", "mentions": [{"begin": 0, "end": 9}, {"begin": 25, "end": 28}]},
        {"entity": None, "mentions": [{"begin": 14, "end": 23}]},
    ],
}


@pytest.mark.parametrize("form", [None, "numpy", "torch", "pandas frame", "arrow"])
def test_rows_of_tables_in_every_form(form: str | None) -> None:
    rows = datasets.Dataset.from_list([GOLD, {"id": 6, "text": "Oslo", "mentions": None, "clusters": []}])
    if form == "pandas frame":
        read = rows.to_pandas().to_dict("records")
    elif form == "arrow":
        read = rows.data.table.to_pylist()
    else:
        read = list(rows if form is None else rows.with_format(form))
    documents = [Document.from_dict(row) for row in read]
    assert documents == [Document.from_dict(GOLD), Document("Oslo", 6, clusters=[])]
    for document in documents:
        assert_plain(document.to_dict())


def test_integers_of_a_column_with_gaps() -> None:
    frame = pd.DataFrame({"id": pd.array([1, None], dtype="Int64"), "text": ["Anna", "Berg"]})
    assert [Document.from_dict(row).id for row in frame.to_dict("records")] == [1, None]


# Other columns ----------------------------------------------------------------------------------------


def test_other_fields_are_kept_aside_and_named() -> None:
    row = {"text": TEXT, "title": np.str_("Note"), 3: np.int64(4), "mention": [[0, 9]], "Id": 1}
    with pytest.warns(ExtraFieldWarning) as caught:
        document = Document.from_dict(row)
    assert [str(warning.message) for warning in caught] == [
        "fields that are kept aside and not read, as a document does not have them: 'title', '3', 'mention' (did you "
        "mean 'mentions'?), 'Id' (did you mean 'id'?)"
    ]
    assert caught[0].filename == __file__
    assert document.extra == {"title": "Note", "3": 4, "mention": [[0, 9]], "Id": 1}
    assert document.mentions is None
    assert document.to_dict() == {"text": TEXT, **document.extra}


def test_a_result_does_not_take_what_an_earlier_one_said() -> None:
    made = AnnotatedDocument("Anna", [], extra={"warnings": ["old"], "resolved_text": "old", "title": "Note"})
    assert made.to_dict() == {"text": "Anna", "clusters": [], "warnings": [], "title": "Note"}


def test_no_more_names_than_a_reader_reads() -> None:
    said: list[str] = []
    extra = ExtraFields(said.append)
    for number in range(1000):
        Document.from_dict({"text": "", f"{'x' * 1000}{number}": 0}, extra=extra)
        Document.from_dict({"text": "", f"y{number}": 0}, extra=extra)
    extra.say()
    extra.say()
    assert len(said) == 1 and len(said[0]) < 2000 and said[0].endswith("'y9' and maybe others")


def test_known_fields_are_named_nowhere() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Document.from_dict(GOLD)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"Text": "x"}, "document: missing field 'text'; is it 'Text'?"),
        ({"texts": "x"}, "document: missing field 'text'; is it 'texts'?"),
        ({"text": ["x", "y"]}, "document.text: expected a string, got list; give its items one by one"),
        ({"id": ["a"], "text": ["x"]}, "document.text: expected a string, got list; give its items one by one"),
        ({"text": np.array(["x"])}, "document.text: expected a string, got ndarray; give its items one by one"),
        (
            {"text": "x", "clusters": [{"mention": []}]},
            "clusters[0]: unknown field 'mention' (did you mean 'mentions'?)",
        ),
        (pd.Series({"text": "x"}), "document: expected an object with fields, got Series; give row.to_dict()"),
        (pd.DataFrame({"text": ["x"]}), 'got DataFrame; give frame["text"].tolist() or frame.to_dict("records")'),
        (pa.table({"text": ["x"]}), 'got Table; give table["text"].to_pylist() or table.to_pylist()'),
    ],
)
def test_what_is_no_row_says_what_to_give(data: Any, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Document.from_dict(data)
    assert message in str(caught.value)
    if isinstance(data, pd.DataFrame | pa.Table):
        with pytest.raises(DocumentError, match=r"^document\.text: expected a string, got \w+; give "):
            Document(data)  # type: ignore[arg-type]


def test_tables_that_are_not_installed_are_known_by_name() -> None:
    def library(name: str, *methods: str) -> Any:
        return type(name, (), {"__module__": "polars.frame", **dict.fromkeys(methods, lambda self: [])})()

    assert advice(library("DataFrame", "to_dicts")) == '; give frame["text"].to_list() or frame.to_dicts()'
    assert advice(library("LazyFrame", "collect")).startswith('; give frame.collect()["text"].to_list() or')
    assert advice(library("DataFrame", "to_dicts"), rows=True) == "; give frame.to_dicts()"
    assert plain(library("Series", "to_list")) == []
