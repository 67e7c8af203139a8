"""What it takes to begin: imports, loading, the first text from the shell, memory, and the knowledge base."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pipeline_ratios import encoder_alone
from timing import Row, best, child, text

from hf_corefel import KnowledgeBase
from hf_corefel.pipeline_corefel import load_pipeline

IMPORTS = "import torch; from transformers import AutoModel, AutoTokenizer, BertModel, Pipeline, PreTrainedModel"
LOAD = "from hf_corefel import load_pipeline; load_pipeline()"
SHORT = "Angela Merkel met Barack Obama in Berlin. The chancellor praised him."


def starting(rounds: int = 3) -> Iterator[Row]:
    """Yield the figures of fresh processes, beside one that imports what transformers has of them."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "short.txt")
        place.write_text(SHORT, encoding="utf-8")
        kinds = {
            "import": ("-c", IMPORTS),
            "light": ("-c", "import hf_corefel"),
            "load": ("-c", LOAD),
            "annotate": ("-m", "hf_corefel.cli", "annotate", str(place)),
        }
        runs = [{name: child(code) for name, code in kinds.items()} for _ in range(rounds)]
    least = {name: np.min([run[name] for run in runs], axis=0) for name in kinds}
    beside = "importing torch and transformers' classes"
    for name, what, target in (
        ("light", "`import hf_corefel`", ""),
        ("load", "importing and loading a pipeline", ""),
        ("annotate", "`hf-corefel annotate` on a short text", "≤ 1.15"),
    ):
        yield Row("e", f"{what}, time", beside, float(least[name][0] / least["import"][0]), target)
    for name, what in (("load", "a loaded pipeline"), ("annotate", "`hf-corefel annotate` on a short text")):
        yield Row("e", f"{what}, memory", beside, float(least[name][1] / least["import"][1]))


def knowledge_base() -> Iterator[Row]:
    """Yield the figures of the bundled knowledge base."""
    pipeline = load_pipeline()
    base, document = pipeline.processor.knowledge_base, text(600)
    encoded = pipeline.processor.encode(document)
    surfaces = [document[begin:end] for begin, end in encoded.spans.offsets.tolist()]
    folder = Path(pipeline.model.name_or_path, "knowledge_base")
    times = best(
        {
            "lookup": lambda: base.lookup(surfaces),
            "open": lambda: KnowledgeBase.from_pretrained(folder) if folder.is_dir() else None,
            "encode": lambda: pipeline.processor.encode(document),
            "encoder": encoder_alone(pipeline, [document]),
        },
        5,
    )
    beside = "the encoder on the same text"
    spans = f"{len(surfaces):,} spans of 600 words"
    yield Row("f", f"looking up the {spans}", beside, times["lookup"] / times["encoder"])
    yield Row("f", f"all that comes before the model, {spans}", beside, times["encode"] / times["encoder"])
    yield Row("f", "opening the bundled knowledge base", beside, times["open"] / times["encoder"])
