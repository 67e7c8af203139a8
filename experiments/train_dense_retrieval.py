"""Train and measure dense retrieval: a projection of span vectors to entity vectors, for spans that no table lists.

    python experiments/train_dense_retrieval.py encode --data-dir path/to/DWIE --aida path/to/AIDA --cache cache/

The cache holds numbers only: span vectors of the frozen model, ids of entities, offsets. Each document is a file, so that
a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from hf_corefel import Document, bundled_checkpoint
from hf_corefel.corpora import development_split, read_aida, read_dwie
from hf_corefel.layers.enumerated import SpanTensors, score_spans
from hf_corefel.modeling_corefel import CorefELModel
from hf_corefel.processing_corefel import CorefELProcessor


def documents(arguments: argparse.Namespace) -> Iterator[tuple[str, Document]]:
    """Yield the documents with the names of their parts: development first, for it is what is measured."""
    train, dev = development_split(list(read_dwie(arguments.data_dir, "train", strict=False)))
    parts = {"dev": dev, "dwie": train, "aida": list(read_aida(arguments.aida, "train"))}
    for part, each in parts.items():
        for document in each:
            yield part, document


@torch.no_grad()
def encode(arguments: argparse.Namespace) -> None:
    """Write the vectors of gold mentions, for development of all spans that are kept, with what the table gives them."""
    torch.set_num_threads(1)
    model = CorefELModel.from_pretrained(arguments.model).float().eval()
    processor = CorefELProcessor.from_pretrained(arguments.model)
    kb = processor.knowledge_base
    arguments.cache.mkdir(parents=True, exist_ok=True)
    started, done = time.time(), 0
    for number, (part, document) in enumerate(documents(arguments)):
        file = arguments.cache / f"{part}.{number:05}.safetensors"
        if file.exists():
            continue
        encoded = processor.encode(document)
        aligned = encoded.align()
        tensors = processor.collate([encoded])
        pieces = model.encoder(tensors["input_ids"], tensors["attention_mask"], tensors["piece_positions"])
        names = ("span_begin", "span_end", "span_width", "span_cases", "span_mask", "mention_scope")
        scores, vectors_at = score_spans(model.spans, model.pruner, pieces, SpanTensors(*(tensors[n] for n in names)))
        chosen = [tensors[n] for n in ("span_begin", "span_end", "span_mask", "span_limits", "keep_all")]
        kept = model.pruner.select(scores, *chosen)[0].numpy()
        gold = np.flatnonzero(aligned.clusters >= 0)
        rows = np.union1d(kept, gold) if part == "dev" else gold
        if not len(rows):
            continue
        vectors = vectors_at(torch.from_numpy(rows)[None], torch.ones(1, len(rows), dtype=torch.bool))[0]
        # The entity of a mention is its cluster's, -1 for NIL and for what the base does not know, -2 for no mention.
        entity_of = np.full(len(encoded.spans), -2, dtype=np.int64)
        place = {tuple(offsets): row for row, offsets in enumerate(encoded.spans.offsets.tolist())}
        for cluster in document.clusters or []:
            known = None if cluster.entity is None else kb.entity_id(cluster.entity)
            for mention in cluster.mentions:
                if mention.offsets in place:
                    entity_of[place[mention.offsets]] = -1 if known is None else known
        candidates = np.where(
            encoded.candidates[rows] < 0, -1, encoded.entity_ids[encoded.candidates[rows].clip(0)]
        ) if len(encoded.entity_ids) else np.full((len(rows), encoded.candidates.shape[1]), -1)
        content = {
            "vectors": vectors.numpy().astype(np.float16),
            "rows": rows,
            "offsets": encoded.spans.offsets[rows],
            "kept": np.isin(rows, kept),
            "entities": entity_of[rows],
            "candidates": candidates.astype(np.int64),
            "log_priors": encoded.log_priors[rows],
        }
        save_file({name: np.ascontiguousarray(value) for name, value in content.items()}, file)
        done += 1
        if done % 20 == 0:
            print(f"{part} {number}: {done} documents in {time.time() - started:.0f} s", flush=True)


def main() -> None:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("encode",))
    parser.add_argument("--model", default=bundled_checkpoint())
    parser.add_argument("--data-dir", type=Path, help="DWIE in its official JSON, with content")
    parser.add_argument("--aida", type=Path, help="AIDA CoNLL-YAGO, the file or its folder")
    parser.add_argument("--cache", type=Path, required=True, help="folder of the span vectors")
    arguments = parser.parse_args()
    encode(arguments)


if __name__ == "__main__":
    main()
