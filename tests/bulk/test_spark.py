"""Spark's ``mapInPandas`` on a local master gives the pipeline's own results, and leaves the other columns as they are.

Skipped without pyspark and Java, as in CI (half a gigabyte); frames as Spark makes them are in `test_engines.py`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.bulk import annotate_frames

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="needs the package pyspark"),
    pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="needs Java"),
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "4",
        "spark.executorEnv.OMP_NUM_THREADS": "1",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_map_in_pandas(spark: Any, one_thread: None, tiny_folder: Path) -> None:
    from pyspark.sql.types import StringType, StructField, StructType

    from hf_corefel import load_pipeline

    schema = "number bigint, body string, mentions array<array<int>>, made timestamp, price decimal(5,2), note bigint"
    rows = [
        (
            number,
            None if number == 5 else f"Anna Berg met Carl Moss in Oslo. Norway won {number} times.",
            [[0, 9], [14, 23]] if number % 2 else None,
            datetime(2024, 1, 1 + number),
            Decimal("1.25"),
            None if number % 3 else number,
        )
        for number in range(20)
    ]
    frame = spark.createDataFrame(rows, schema).repartition(4)
    wanted = StructType([*frame.schema, StructField("result", StringType()), StructField("error", StringType())])
    annotate = partial(annotate_frames, text_column="body", model=str(tiny_folder), parameters={"types": ["person"]})
    found = sorted(frame.mapInPandas(annotate, wanted).collect(), key=lambda row: row["number"])
    assert [tuple(row)[:6] for row in found] == rows
    pipeline = load_pipeline(tiny_folder)
    for row in found:
        if row["body"] is None:
            assert row["result"] == "" and "text" in row["error"]
        else:
            document = {"text": row["body"], **({"mentions": row["mentions"]} if row["mentions"] else {})}
            assert (json.loads(row["result"]), row["error"]) == (pipeline(document, types=["person"]), "")
