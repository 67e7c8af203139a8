"""What quantised weights cost in F1 and gain in time, on documents that were not trained on.

    python benchmarks/quantised_models.py dwie/annos_with_content

Each kind runs by itself over the development documents of DWIE's training split, on one thread; time is the process's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig
from transformers import BitsAndBytesConfig, TorchAoConfig

from hf_corefel import Document
from hf_corefel.corpora.dwie import development_split, read_dwie
from hf_corefel.evaluation import score
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline


def quantized(configuration: Any) -> CorefELPipeline:
    """Returns the pipeline of a model that is quantised while it is loaded."""
    return load_pipeline(model_kwargs={"quantization_config": configuration})


def of_torch() -> CorefELPipeline:
    """Returns the pipeline of a model that torch quantises afterwards."""
    annotate = load_pipeline()
    quantize = torch.ao.quantization.quantize_dynamic
    annotate.model = quantize(annotate.model, {torch.nn.Linear}, dtype=torch.qint8)
    return annotate


KINDS: dict[str, Callable[[], CorefELPipeline]] = {
    "single precision": load_pipeline,
    "torchao, weights and activations": lambda: quantized(TorchAoConfig(Int8DynamicActivationInt8WeightConfig())),
    "torchao, weights": lambda: quantized(TorchAoConfig(Int8WeightOnlyConfig())),
    "bitsandbytes, 8 bits": lambda: quantized(BitsAndBytesConfig(load_in_8bit=True)),
    "torch, dynamic": of_torch,
}


def main() -> None:
    """Prints a line for every kind."""
    torch.set_num_threads(1)
    gold = development_split(list(read_dwie(sys.argv[1], "train", strict=False)))[1]
    texts = [Document(document.text, document.id) for document in gold]
    print(f"{'weights':34s} coref F1    EL_m    EL_h     time")
    for name, load in KINDS.items():
        annotate = load()
        start = time.process_time()
        predicted = annotate.annotate(texts)
        spent = time.process_time() - start
        scores = score(gold, predicted, annotate.processor)
        linking = scores["entity_linking"]
        values = scores["coreference"]["average_f1"], linking["el_m"]["f1"], linking["el_h"]["f1"]
        print(f"{name:34s} {' '.join(f'{100 * value:7.2f}' for value in values)} {spent:7.1f}s", flush=True)


if __name__ == "__main__":
    main()
