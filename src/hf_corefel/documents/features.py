"""Schemas of documents and results in Arrow: for `datasets`, Parquet files and tables of pyarrow.

A column has one type. Where nobody says which, it is that of the first rows, and 1,000 texts without a mention make a
column of empty lists of nothing, which takes no mention afterwards. With these schemas all tables, and all shards of
one, have the same types. What a row lacks within its lists (a ``url``, ``alternatives`` that nobody asked for) is null;
`AnnotatedDocument.from_dict` and `Document.from_dict` read nulls as what is absent, so rows come back as they were.
"""

from __future__ import annotations

from datasets import Features, Value

__all__ = ["DOCUMENT_FEATURES", "LAYERS", "RESULT_FEATURES", "result_features"]

_WHOLE, _STRING, _NUMBER = Value("int64"), Value("string"), Value("float64")
_OFFSETS = [[_WHOLE]]
_PARENT = {"kind": _STRING, "begin": _WHOLE, "end": _WHOLE, "text": _STRING, "entity": _STRING}
_MENTION = {
    "begin": _WHOLE,
    "end": _WHOLE,
    "text": _STRING,
    "probability": _NUMBER,
    "edge_probability": _NUMBER,
    "link_probability": _NUMBER,
    "parent": _PARENT,
}
_CLUSTERS = [
    {
        "entity": _STRING,
        "probability": _NUMBER,
        "url": _STRING,
        "wikidata": _STRING,
        "type": _STRING,
        "mentions": [_MENTION],
        "alternatives": [{"entity": _STRING, "probability": _NUMBER, "wikidata": _STRING}],
    }
]

# Links may be true, false or "some", and a column has one type; `Document.from_dict` reads "True" as true.
LAYERS = {"mentions": _STRING, "clusters": Value("bool"), "links": _STRING}

_CLUSTERINGS = [{"clusters": _CLUSTERS, "log_probability": _NUMBER}]


def result_features(
    *,
    id: str | None = None,
    resolved_text: bool = False,
    word_offsets: bool = False,
    samples: bool = False,
    clusterings: bool = False,
) -> Features:
    """Return the columns of results: those that every one has, and those of what was given or asked for.

    Args:
        id: Type of the column ``id``, ``"string"`` or ``"int64"``, for results of documents with ids; without it when
            None.
        resolved_text: With the column ``resolved_text``, for results that were asked for it.
        word_offsets: With the column ``word_offsets``, for results of texts that were split into words.
        samples: With the column ``samples``, for results that were asked for them.
        clusterings: With the column ``clusterings``, likewise.
    """
    optional = {"resolved_text": _STRING} if resolved_text else {}
    return Features(
        ({} if id is None else {"id": Value(id)})
        | {"text": _STRING, "clusters": _CLUSTERS, "warnings": [_STRING]}
        | optional
        | ({"word_offsets": _OFFSETS} if word_offsets else {})
        | ({"samples": _CLUSTERINGS} if samples else {})
        | ({"clusterings": _CLUSTERINGS} if clusterings else {})
    )


# A text without an id has a result without one: null in its place would overwrite the ids that a dataset has.
RESULT_FEATURES = result_features()

DOCUMENT_FEATURES = Features(
    {
        "id": _STRING,
        "text": _STRING,
        "words": _OFFSETS,
        "mentions": _OFFSETS,
        "spans": _OFFSETS,
        "candidates": [
            {"begin": _WHOLE, "end": _WHOLE, "candidates": [{"entity": _STRING, "prior": _NUMBER}]},
        ],
        "clusters": _CLUSTERS,
        "mention_scope": _STRING,
        "speakers": [{"begin": _WHOLE, "end": _WHOLE, "speaker": _STRING}],
        "annotated": LAYERS,
    }
)
