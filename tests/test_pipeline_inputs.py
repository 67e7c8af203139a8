"""Everything that other tools hand the pipeline: columns, arrays, datasets, generators; and what it refuses."""

from __future__ import annotations

import inspect
import itertools
import json
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from datasets import Dataset, DatasetDict
from torch.utils.data import ConcatDataset, IterableDataset, Subset
from transformers.pipelines.pt_utils import KeyDataset, KeyPairDataset

from hf_corefel import AnnotatedDocument, Candidate, Cluster, CorefELPipeline, Document, DocumentError, Mention
from hf_corefel.documents.extra_fields import ExtraFieldWarning
from hf_corefel.formats import read_jsonl, write_jsonl
from hf_corefel.pipeline_corefel import load_pipeline
from hf_corefel.pipelines.handed_over import LazyResults


@pytest.fixture(scope="module")
def annotate(tiny_folder: Path) -> CorefELPipeline:
    return load_pipeline(tiny_folder)


def test_a_candidate_that_no_knowledge_base_could_have_is_named(annotate: CorefELPipeline) -> None:
    odd = Document("Oslo won.", id="d2", candidates={(0, 4): [Candidate("X\ud800", 0.5)]})
    with pytest.raises(
        DocumentError, match=r"document 'd2'.candidates: entity of 0..4: 'X\\ud800' is no valid Unicode"
    ):
        annotate(["Oslo.", odd])


@pytest.fixture(scope="module")
def texts(tiny_documents: list[Document]) -> list[str]:
    return [document.text for document in tiny_documents]


@pytest.fixture(scope="module")
def echo(tiny_folder: Path) -> Any:
    """A pipeline whose model is left out: one cluster a document, of its first word."""

    def found(batch: list[Document], **options: Any) -> list[AnnotatedDocument]:
        clusters = [[Cluster((Mention(0, len(d.text.split()[0])),))] if d.text.strip() else [] for d in batch]
        return [AnnotatedDocument(d.text, c, d.id, extra=d.extra) for d, c in zip(batch, clusters, strict=True)]

    pipe: Any = load_pipeline(tiny_folder)
    pipe.preprocess, pipe.forward, pipe.postprocess = (lambda batch, **options: batch), (lambda batch: batch), found
    return pipe


class Stream(IterableDataset[str]):
    """A dataset of torch that has neither length nor items."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


class Endless(torch.utils.data.Dataset[str]):
    """A dataset whose items never end: only its length says where it stops."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> str:
        return self._texts[index % len(self._texts)]


LISTS: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "deque": deque,
    "dict values": lambda texts: dict(enumerate(texts)).values(),
    "dict keys": lambda texts: dict.fromkeys(texts).keys(),
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "numpy strings": lambda texts: list(np.array(texts)),
    "Series": lambda texts: pd.Series(texts, index=range(5, 5 + len(texts))),
    "Series of Arrow strings": lambda texts: pd.Series(texts, dtype="string[pyarrow]"),
    "Index": pd.Index,
    "Arrow array": pa.array,
    "Arrow column": lambda texts: pa.table({"text": texts})["text"],
    "rows": lambda texts: Dataset.from_dict({"text": texts}),
    "column": lambda texts: Dataset.from_dict({"text": texts})["text"],
    "numpy column": lambda texts: Dataset.from_dict({"text": texts}).with_format("numpy")["text"],
    "batch": lambda texts: Dataset.from_dict({"text": texts})[:]["text"],
    "records": lambda texts: pd.DataFrame({"text": texts}).to_dict("records"),
}
STREAMS: dict[str, Callable[[list[str]], Any]] = {
    "generator": lambda texts: (text for text in texts),
    "iterator": iter,
    "map": lambda texts: map(str, texts),
    "chain": lambda texts: itertools.chain(texts),
    "stream of torch": Stream,
    "stream of rows": lambda texts: Dataset.from_dict({"text": texts}).to_iterable_dataset(),
    "column of a stream": lambda texts: (row["text"] for row in Dataset.from_dict({"text": texts})),
}
OF_TORCH: dict[str, Callable[[list[str]], Any]] = {
    "KeyDataset": lambda texts: KeyDataset(Dataset.from_dict({"text": texts}), "text"),
    "KeyDataset of rows": lambda texts: KeyDataset([{"text": text} for text in texts], "text"),
    "endless": Endless,
    "subset": lambda texts: Subset(Endless(["no", *texts]), range(1, 1 + len(texts))),
    "concatenation": lambda texts: ConcatDataset([Endless(texts[:1]), Endless(texts[1:])]),
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_what_has_a_length_gives_a_list(echo: Any, texts: list[str], make: Callable[[list[str]], Any]) -> None:
    found = echo(make(texts), batch_size=2)
    assert type(found) is list
    assert found == echo(texts, batch_size=2)
    assert json.loads(json.dumps(found)) == found
    assert all(type(result["text"]) is str for result in found)


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_what_has_none_gives_a_generator(echo: Any, texts: list[str], make: Callable[[list[str]], Any]) -> None:
    found = echo(make(texts), batch_size=2)
    assert inspect.isgenerator(found)
    assert list(found) == echo(texts, batch_size=2)
    assert list(echo.annotate(make(texts), batch_size=2)) == echo.annotate(texts, batch_size=2)


@pytest.mark.parametrize("make", OF_TORCH.values(), ids=OF_TORCH)
def test_datasets_of_torch_stream_and_have_a_length(
    echo: Any, texts: list[str], make: Callable[[list[str]], Any]
) -> None:
    expected = echo(texts, batch_size=2)
    found = echo(make(texts), batch_size=2)
    assert isinstance(found, LazyResults) and len(found) == len(texts)
    assert list(found) == expected
    assert list(found) == expected, "anew each time"
    assert next(iter(found)) == expected[0]


@pytest.mark.parametrize("empty", [[], (), np.array([]), pd.Series([], dtype=str), {}.keys()])
def test_nothing_gives_nothing(echo: Any, empty: Any) -> None:
    assert echo(empty) == echo.annotate(empty) == []
    assert list(echo(iter(empty))) == list(echo(item for item in empty)) == []


@pytest.mark.parametrize("kind", [np.str_, np.array, pa.scalar])
def test_one_text_of_another_library_is_one_text(echo: Any, texts: list[str], kind: Callable[[str], Any]) -> None:
    assert echo(kind(texts[0])) == echo(texts[0])
    with pytest.raises(TypeError, match="put a single one into a list"):
        echo.annotate(kind(texts[0]))


# Streaming --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_more_is_read_than_the_batch_of_the_result(echo: Any, size: int) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield f"Anna Berg met Carl Moss in Oslo {read} ."

    found = echo(endless(), batch_size=size)
    assert read == 0, "nothing before it is asked for"
    for number in range(1, 8):
        result = next(found)
        assert result["text"].endswith(f" {number} .")
        assert read == -(-number // size) * size
    found.close()


def test_batches_of_a_stream_are_as_large_as_asked(echo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(echo, "forward", lambda batch: sizes.append(len(batch)) or batch)
    monkeypatch.setattr(echo, "_batch_size", 4)
    many = ["Oslo"] * 9
    list(echo(iter(many)))
    list(echo(iter(many), batch_size=5))
    list(echo(KeyDataset([{"text": text} for text in many], "text"), batch_size=3))
    assert sizes == [4, 4, 1, 5, 4, 3, 3, 3]


def test_the_model_says_the_same_in_a_list_and_in_a_stream(annotate: Any, texts: list[str]) -> None:
    expected = annotate(texts, batch_size=2)
    assert sum(len(result["clusters"]) for result in expected) > 5
    for make in (iter, STREAMS["generator"], OF_TORCH["KeyDataset"], np.array):
        assert list(annotate(make(texts), batch_size=2)) == expected
    assert list(annotate.annotate(iter(texts), batch_size=2)) == annotate.annotate(texts, batch_size=2)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_an_error_in_a_stream_comes_after_the_results_before_it(echo: Any, texts: list[str], size: int) -> None:
    def broken() -> Iterator[str]:
        yield from texts
        raise OSError("the disk is gone")

    for make, error, message in (
        (lambda: iter([*texts, None, "Oslo"]), DocumentError, rf"^inputs\[{len(texts)}\]: expected a text"),
        (lambda: iter([*texts, {"id": 7}]), DocumentError, "^document 7: missing field 'text'$"),
        (broken, OSError, "the disk is gone"),
    ):
        found = echo(make(), batch_size=size)
        assert [next(found)["text"] for _ in texts] == texts
        with pytest.raises(error, match=message):
            next(found)
        assert list(found) == []
    with pytest.raises(DocumentError, match=rf"^inputs\[{len(texts)}\]"):
        echo([*texts, None, "Oslo"], batch_size=size)


def test_wrong_parameters_are_refused_before_anything_is_read(echo: Any) -> None:
    unread = iter(["Oslo"])
    for call in (echo, echo.annotate):
        with pytest.raises(TypeError, match="'treshold'"):
            call(unread, treshold=0.5)
        with pytest.raises(ValueError, match="batch_size"):
            call(unread, batch_size=0)
    assert list(unread) == ["Oslo"]


def _peak(make: Callable[[], Iterator[Any]]) -> int:
    tracemalloc.start()
    for _ in make():
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("number", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [iter, lambda texts: KeyDataset(texts, "text")], ids=["iterator", "KeyDataset"])
def test_a_stream_keeps_nothing_of_what_it_gave(echo: Any, number: int, make: Callable[[Any], Any]) -> None:
    class Texts:
        """Long texts that are made when they are asked for."""

        def __init__(self, length: int) -> None:
            self._length = length

        def __len__(self) -> int:
            return self._length

        def __getitem__(self, index: int) -> dict[str, str]:
            if index >= self._length:
                raise IndexError
            return {"text": f"{index} {'x' * 10_000}"}

    few = _peak(echo(make(Texts(100)), batch_size=8))
    assert _peak(echo(make(Texts(number)), batch_size=8)) < few + 500_000, f"{number * 10_000} bytes went through"


def _peak(results: Iterable[Any]) -> int:
    """Most bytes in use at once while the results are gone through."""
    tracemalloc.start()
    for _ in results:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


# Rows -------------------------------------------------------------------------------------------------


def test_other_columns_of_rows_are_named_once_and_change_nothing(echo: Any, texts: list[str]) -> None:
    rows = Dataset.from_dict({"id": range(len(texts)), "text": texts, "label": [1] * len(texts), "words_": texts})
    expected = echo([{"id": i, "text": text} for i, text in enumerate(texts)], batch_size=2)
    assert [result["id"] for result in expected] == [0, 1, 2]
    for make in (lambda: rows, lambda: list(rows), lambda: iter(rows), lambda: rows.with_format("torch")):
        with pytest.warns(ExtraFieldWarning) as caught:
            found = list(echo(make(), batch_size=2))
        assert found == expected
        assert [str(warning.message).rpartition("them: ")[2] for warning in caught] == [
            "'label', 'words_' (did you mean 'words'?)"
        ]
        assert caught[0].filename == __file__
    with pytest.warns(ExtraFieldWarning, match="'label', 'words_'"):
        assert echo(rows[0]) == expected[0]


def test_rows_may_differ_and_all_names_of_a_list_are_in_one_warning(echo: Any) -> None:
    rows = [{"text": "Oslo", "a1": 1}, {"text": "Oslo", "b1": 1}, {"text": "Oslo", "a1": 2}]
    with pytest.warns(ExtraFieldWarning, match="'a1', 'b1'$") as caught:
        echo(rows)
    assert len(caught) == 1


def test_mapping_a_dataset_keeps_its_columns(echo: Any, texts: list[str]) -> None:
    rows = Dataset.from_dict({"text": texts, "label": [1, 2, 3]})
    with pytest.warns(ExtraFieldWarning):
        mapped = rows.map(echo)
    assert mapped["label"][:] == [1, 2, 3]
    assert mapped.column_names == ["text", "label", "clusters", "warnings"]


def test_documents_keep_other_fields_on_the_way_from_file_to_file(
    annotate: Any, texts: list[str], tmp_path: Path
) -> None:
    lines = [{"id": n, "text": text, "url": f"u{n}", "warnings": ["old"]} for n, text in enumerate([*texts, ""])]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.warns(ExtraFieldWarning, match="'url', 'warnings'"):
        write_jsonl(tmp_path / "out.jsonl", annotate.annotate(read_jsonl(tmp_path / "in.jsonl"), batch_size=2))
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = annotate([*texts, ""], batch_size=2)
    assert written == [{**result, "id": n, "url": f"u{n}"} for n, result in enumerate(expected)]


# What is refused --------------------------------------------------------------------------------------

FRAME = pd.DataFrame({"text": ["Oslo", "Bergen"], "label": [1, 2]})
REFUSED = [
    (FRAME, r'got a DataFrame; give frame\["text"\]\.tolist\(\) or frame\.to_dict\("records"\)$'),
    (FRAME.iloc[:0], "got a DataFrame; give "),
    (pa.table({"text": ["Oslo"]}), r'got a Table; give table\["text"\]\.to_pylist\(\) or table\.to_pylist\(\)$'),
    (pa.table({"text": ["Oslo"]}).to_batches()[0], "got a RecordBatch; give table"),
    (FRAME.iloc[0], r"got a Series; give row\.to_dict\(\)$"),
    (next(FRAME.itertuples()), r"got a Pandas; give row\._asdict\(\)$"),
]


@pytest.mark.parametrize(("inputs", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_tables_and_their_rows_are_refused_with_what_to_give(echo: Any, inputs: Any, message: str) -> None:
    for call in (echo, echo.annotate):
        with pytest.raises(
            TypeError, match=f"^inputs: expected a text, a Document, its dict, or many of these; {message}"
        ):
            call(inputs)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (FRAME, r'got DataFrame; give frame\["text"\]\.tolist\(\)'),
        (FRAME.iloc[0], r"got Series; give row\.to_dict\(\)"),
        (next(FRAME.itertuples()), r"got Pandas; give row\._asdict\(\)"),
        (float("nan"), r"got a missing value \(float\); leave it out, or give an empty text"),
        (pd.NA, r"got a missing value \(NAType\); leave it out"),
        (["Oslo", "Bergen"], "got list$"),
        (FRAME.to_dict("list"), r"document\.text: expected a string, got list; give its items one by one"),
    ],
)
def test_items_are_refused_with_their_place_and_what_to_give(echo: Any, item: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=rf"^inputs\[1\]: .*{message}"):
        echo(["Oslo", item])


def test_a_batch_of_columns_and_splits_say_what_to_give(echo: Any) -> None:
    rows = Dataset.from_pandas(FRAME)
    with pytest.raises(DocumentError, match=r"^inputs: document\.text: expected a string, got \w+; give its items one"):
        echo(rows[:2])
    with pytest.raises(TypeError, match="give one of its splits \\('train'\\)"):
        echo(DatasetDict(train=rows))
    with pytest.warns(ExtraFieldWarning, match="'text_pair'$"):
        assert list(echo(KeyPairDataset(rows, "text", "label"))) == echo(FRAME["text"])


@pytest.mark.parametrize(("size", "workers"), [(1, 0), (4, 0), (2, 1)])
def test_what_preparing_shows_to_be_wrong_comes_after_the_results_before_it(
    annotate: Any, texts: list[str], size: int, workers: int
) -> None:
    given = [*texts[:3], "word " * 2000, texts[0]]
    found, read = annotate(iter(given), batch_size=size, num_workers=workers, max_document_words=1000), []
    with pytest.raises(DocumentError, match=r"^inputs\[3\]: document: more than 1,000 words") as caught:
        read.extend(result["text"] for result in found)
    assert read == texts[:3]
    with pytest.raises(DocumentError) as of_list:
        annotate(given, batch_size=size, num_workers=workers, max_document_words=1000)
    assert str(of_list.value) == str(caught.value)


def test_errors_of_one_of_many_documents_say_which(annotate: Any, texts: list[str]) -> None:
    unknown = {"entities": {(0, 4): "Nobody_X"}}
    with pytest.raises(DocumentError, match=r"^inputs\[1\]: document: constraints give .* the entity 'Nobody_X'"):
        annotate(texts[:2], constraints=[None, unknown])
    with pytest.raises(DocumentError, match=r"^inputs\[1\]: document: constraints: offsets 0\.\.9999 lie outside"):
        annotate(texts[:2], constraints=[None, {"must_link": [[(0, 9999), (0, 4)]]}])
    # Who gives one document, or one with an id, knows which it is.
    with pytest.raises(DocumentError, match=r"^document: more than 1 words"):
        annotate(texts[:1], max_document_words=1)
    with pytest.raises(DocumentError, match=r"^document 'b': more than 1 words"):
        annotate([Document("a", id="a"), Document(texts[0], id="b")], max_document_words=1)
