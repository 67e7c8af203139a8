"""What other precisions and ONNX cost in F1 and gain in time, on documents that were not trained on.

    python benchmarks/quantised_models.py dwie/annos_with_content
    python benchmarks/quantised_models.py dwie/annos_with_content float32 int8 "onnx, int8"

The kinds that are named, or all, read each of the development documents of DWIE's training split in turn, so that what
else the machine does meets all of them, on one thread; time is the process's, beside that of the first.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from hf_corefel import Document
from hf_corefel.corpora.dwie import development_split, read_dwie
from hf_corefel.documents import AnnotatedDocument
from hf_corefel.evaluation import score
from hf_corefel.onnx_graphs import export_onnx
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline


def quantized(name: str) -> CorefELPipeline:
    """Returns the pipeline of a model that a library quantises while it is loaded."""
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig
    from transformers import BitsAndBytesConfig, TorchAoConfig

    configurations: dict[str, Callable[[], Any]] = {
        "activations": lambda: TorchAoConfig(Int8DynamicActivationInt8WeightConfig()),
        "weights": lambda: TorchAoConfig(Int8WeightOnlyConfig()),
        "bitsandbytes": lambda: BitsAndBytesConfig(load_in_8bit=True),
    }
    return load_pipeline(model_kwargs={"quantization_config": configurations[name]()})


def of_torch() -> CorefELPipeline:
    """Returns the pipeline of a model that torch quantises afterwards."""
    annotate = load_pipeline()
    quantize = torch.ao.quantization.quantize_dynamic
    annotate.model = quantize(annotate.model, {torch.nn.Linear}, dtype=torch.qint8)
    return annotate


def in_onnx(dtype: str) -> CorefELPipeline:
    """Returns the pipeline of graphs that are exported first."""
    annotate = load_pipeline()
    folder = Path(tempfile.mkdtemp()) / "exported"
    return load_pipeline(export_onnx(annotate.model, annotate.processor, folder, dtype=dtype), backend="onnx")


KINDS: dict[str, Callable[[], CorefELPipeline]] = {
    "float32": load_pipeline,
    "bfloat16": lambda: load_pipeline(dtype="bfloat16"),
    "int8": lambda: load_pipeline(dtype="int8"),
    "onnx, float32": lambda: in_onnx("float32"),
    "onnx, int8": lambda: in_onnx("int8"),
    "torchao, weights and activations": lambda: quantized("activations"),
    "torchao, weights": lambda: quantized("weights"),
    "bitsandbytes, 8 bits": lambda: quantized("bitsandbytes"),
    "torch, dynamic": of_torch,
}


def main() -> None:
    """Prints a line for every kind."""
    torch.set_num_threads(1)
    gold = development_split(list(read_dwie(sys.argv[1], "train", strict=False)))[1]
    texts = [Document(document.text, document.id, mention_scope="named") for document in gold]
    words = sum(len(document.text.split()) for document in texts)
    pipelines = {name: KINDS[name]() for name in sys.argv[2:] or KINDS}
    spent = dict.fromkeys(pipelines, 0.0)
    found: dict[str, list[AnnotatedDocument]] = {name: [] for name in pipelines}
    for annotate in pipelines.values():
        annotate(texts[0])
    for text in texts:
        for name, annotate in pipelines.items():
            start = time.process_time()
            result = annotate(text)
            spent[name] += time.process_time() - start
            found[name].append(AnnotatedDocument.from_dict(result))
    first = next(iter(spent.values()))
    print(f"{'weights':34s} coref F1    EL_m    EL_h  time  words/s")
    for name, annotate in pipelines.items():
        scores = score(gold, found[name], annotate.processor)
        linking = scores["entity_linking"]
        values = scores["coreference"]["average_f1"], linking["el_m"]["f1"], linking["el_h"]["f1"]
        line = " ".join(f"{100 * value:7.2f}" for value in values)
        print(f"{name:34s} {line} {spent[name] / first:6.2f} {words / spent[name]:7.0f}", flush=True)


if __name__ == "__main__":
    main()
