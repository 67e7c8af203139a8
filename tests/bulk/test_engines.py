"""Engines that hand out batches get the pipeline's own results, with one schema."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.bulk import Annotator, BulkError, ColumnAnnotator, annotate_frames

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


@pytest.mark.parametrize("processes", [None, 2])
def test_datasets_map(tiny_folder: Path, expected: list[Any], processes: int | None) -> None:
    from datasets import Dataset

    annotate = ColumnAnnotator(text_column="body", model=str(tiny_folder))
    mapped = Dataset.from_dict(COLUMNS).map(annotate, batched=True, batch_size=1, num_proc=processes)
    check({name: mapped[name][:] for name in mapped.column_names}, expected)


def test_what_is_loaded_stays_here_and_what_is_given_goes_along() -> None:
    annotator = Annotator(pipeline=len, say=print)
    annotator._loaded = print
    copy = pickle.loads(pickle.dumps(annotator))
    assert (copy.pipeline, copy._loaded, copy.say) == (len, None, None)
