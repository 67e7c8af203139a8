"""Engines that hand out batches get the pipeline's own results, with one schema."""

from __future__ import annotations

import importlib.util
import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hf_corefel.bulk import Annotator, BulkError, ColumnAnnotator, annotate_frames
from hf_corefel.bulk.engines import _kept

COLUMNS = {
    "id": ["a", "b", "c"],
    "body": ["Anna Berg met Carl Moss in Oslo.", None, "Norway won."],
    "other": [[1], [2], [3]],
}


@pytest.fixture
def expected(one_thread: None, tiny_folder: Path) -> list[Any]:
    from hf_corefel import load_pipeline

    annotate = load_pipeline(tiny_folder)
    return [annotate({"id": id, "text": text}) for id, text in (("a", COLUMNS["body"][0]), ("c", COLUMNS["body"][2]))]


def check(columns: Any, expected: list[Any]) -> None:
    assert list(columns) == [*COLUMNS, "result", "error"]
    assert list(columns["id"]) == COLUMNS["id"] and [list(item) for item in columns["other"]] == COLUMNS["other"]
    first, second, third = columns["result"]
    assert [json.loads(first), second, json.loads(third)] == [expected[0], "", expected[1]]
    none, error, nothing = columns["error"]
    assert (none, nothing) == ("", "") and "text" in error


def test_columns_and_frames(tiny_folder: Path, expected: list[Any]) -> None:
    import numpy as np
    import pandas as pd

    annotate = ColumnAnnotator(text_column="body", model=str(tiny_folder))
    check(annotate(COLUMNS), expected)
    # As arrays of numpy, and as frames.
    check(annotate({name: np.array(values, dtype=object) for name, values in COLUMNS.items()}), expected)
    frames = [pd.DataFrame(COLUMNS)] * 2
    for found in annotate_frames(iter(frames), text_column="body", model=str(tiny_folder)):
        check(found, expected)
    with pytest.raises(BulkError, match="there is no column 'text'"):
        ColumnAnnotator()(COLUMNS)
    with pytest.raises(BulkError, match="there is a column 'error' already"):
        ColumnAnnotator(text_column="body")({**COLUMNS, "error": ["", "", ""]})


def test_frames_as_spark_makes_them(tiny_folder: Path, expected: list[Any]) -> None:
    """Arrow's batches as pandas: gaps make floats of whole numbers, lists are arrays, and batches may be empty."""
    import pandas as pd
    import pyarrow as pa

    columns = {
        "id": pa.array([7, None, 9], pa.int64()),
        "text": [COLUMNS["body"][0], None, COLUMNS["body"][2]],
        "mentions": pa.array([None, None, [[0, 6]]], pa.list_(pa.list_(pa.int32()))),
        "made": pa.array([0, None, 1], pa.timestamp("us")),
        "bytes": [b"a", None, b"\xff"],
        "flag": [True, None, False],
    }
    batch = pa.RecordBatch.from_pydict(columns)
    frames = [batch.to_pandas(), batch.slice(0, 0).to_pandas(), batch.to_pandas()]
    before = [frame.copy() for frame in frames]
    _kept.cache_clear()
    options: dict[str, Any] = {"model": str(tiny_folder), "parameters": {"types": ["person", "place"]}}
    found = list(annotate_frames(iter(frames), **options)) + list(annotate_frames(iter(frames[:1]), **options))
    for frame, given in zip(found, [*before, before[0]], strict=True):
        pd.testing.assert_frame_equal(frame.drop(columns=["result", "error"]), given)
        assert len(frame) in (0, 3)
    first, second, third = found[0]["result"]
    assert (json.loads(first)["id"], second, json.loads(third)["id"]) == (7, "", 9)
    assert "text" in found[0]["error"][1] and list(found[3]["error"]) == list(found[0]["error"])
    assert _kept.cache_info().misses == 1, "a process loads the pipeline once"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the package ray")
def test_map_batches(tiny_folder: Path, expected: list[Any]) -> None:
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        rows = [{name: values[number] for name, values in COLUMNS.items()} for number in range(3)]
        options = {"text_column": "body", "model": str(tiny_folder)}
        actors = ray.data.ActorPoolStrategy(size=2)
        mapped = ray.data.from_items(rows).map_batches(
            ColumnAnnotator, fn_constructor_kwargs=options, batch_size=1, compute=actors
        )
        found = sorted(mapped.take_all(), key=lambda row: row["id"])
    finally:
        ray.shutdown()
    check({name: [row[name] for row in found] for name in found[0]}, expected)


@pytest.mark.parametrize("processes", [None, 2])
def test_datasets_map(tiny_folder: Path, expected: list[Any], processes: int | None) -> None:
    from datasets import Dataset

    annotate = ColumnAnnotator(text_column="body", model=str(tiny_folder))
    mapped = Dataset.from_dict(COLUMNS).map(annotate, batched=True, batch_size=1, num_proc=processes)
    check({name: mapped[name][:] for name in mapped.column_names}, expected)


@pytest.mark.parametrize("text", ["One.", None])
def test_a_single_row_is_said_to_be_one(text: str | None) -> None:
    with pytest.raises(BulkError, match=r"got a single row; pass batched=True to Dataset\.map"):
        ColumnAnnotator(pipeline=len)({"id": "a", "text": text})


def test_a_slip_in_a_parameter_is_said_at_once() -> None:
    with pytest.raises(BulkError, match="min_probability: expected a number between 0 and 1, got 2"):
        ColumnAnnotator(parameters={"min_probability": 2})
    with pytest.raises(BulkError, match="takes no parameter 'anything'"):
        ColumnAnnotator(pipeline=SimpleNamespace(task="coref-el"), parameters={"anything": 2})
    with pytest.raises(BulkError, match="batch_size is said of single calls of the pipeline, not of all"):
        ColumnAnnotator(parameters={"batch_size": 2})
    # What can be read once is told to every document.
    parameters = Annotator(parameters={"types": iter(["person"]), "top_k": None, "num_workers": 0}).parameters
    assert parameters == {"types": ("person",), "num_workers": 0}
    assert Annotator(pipeline=len, parameters={"anything": 2}).parameters == {"anything": 2}


def test_what_is_loaded_stays_here_and_what_is_given_goes_along() -> None:
    annotator = Annotator(pipeline=len, say=print)
    annotator._loaded = print
    copy = pickle.loads(pickle.dumps(annotator))
    assert (copy.pipeline, copy._loaded, copy.say) == (len, None, None)
