"""Link to entities of your own: build a knowledge base from an alias table and annotate with it.

    python examples/02_own_knowledge_base.py --aliases examples/data/aliases.jsonl --out my-knowledge-base \
        --text examples/data/news.txt

A line of the table is ``[surface, [[entity, prior], ...]]``. Entities that the model's knowledge base has keep their
vectors, so the model knows them; others get a fixed random draw, and the model can tell them by their priors only. With
``--encoder`` all vectors are made from titles and descriptions instead, for a model that is then trained on them
(03_fine_tune.py).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from transformers import AutoModel, AutoTokenizer, pipeline

from hf_corefel import KnowledgeBase, bundled_checkpoint
from hf_corefel.kb import read_alias_jsonl
from hf_corefel.kb.entity_vectors import vectors_from_titles
from hf_corefel.pipeline_corefel import load_pipeline


def build(aliases: Path, descriptions: dict[str, str], encoder: str | None, known: KnowledgeBase) -> KnowledgeBase:
    """The knowledge base of an alias table, with vectors from an encoder or from another knowledge base."""
    entities = sorted({entity for row in read_alias_jsonl(aliases) for entity, _ in row.candidates})
    if encoder is not None:
        model = AutoModel.from_pretrained(encoder, trust_remote_code=False, use_safetensors=True)
        tokenizer = AutoTokenizer.from_pretrained(encoder, trust_remote_code=False)
        vectors = vectors_from_titles(entities, model, tokenizer, descriptions=descriptions, show_progress=False)
    else:
        found = sum(known.entity_id(entity) is not None for entity in entities)
        print(f"{found} of {len(entities)} entities have a vector in the model's knowledge base")
        # The unknown ones are drawn by the rule of the model's own knowledge base.
        vectors = entities, np.stack([known.vector_for(entity) for entity in entities])
    return KnowledgeBase.from_jsonl(aliases, vectors=vectors, descriptions=descriptions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aliases", type=Path, required=True, help="alias table, .jsonl or .jsonl.gz")
    parser.add_argument("--descriptions", type=Path, help="JSON object: entity to text")
    parser.add_argument("--encoder", help="folder or Hub id of an encoder that makes the vectors")
    parser.add_argument("--model", default=bundled_checkpoint(), help="folder or Hub id of a trained model")
    parser.add_argument("--text", type=Path, help="annotate this file with the new knowledge base")
    parser.add_argument("--out", type=Path, required=True, help="folder of the knowledge base")
    options = parser.parse_args()
    if options.encoder and options.text:
        parser.error("--text: the model was not trained on vectors of --encoder; train on them first (03_fine_tune.py)")

    descriptions = {}
    if options.descriptions is not None:
        descriptions = json.loads(options.descriptions.read_text(encoding="utf-8"))
    annotate = load_pipeline(options.model)
    kb = build(options.aliases, descriptions, options.encoder, annotate.processor.knowledge_base)
    kb.save_pretrained(options.out)
    print(kb)
    if options.text is None:
        return
    with_kb = pipeline("coref-el", model=options.model, knowledge_base=KnowledgeBase.from_pretrained(options.out))
    for cluster in with_kb(options.text.read_text(encoding="utf-8"))["clusters"]:
        if cluster["entity"] is not None:
            print(f"{cluster['entity']} ({cluster['probability']:.2f}):", *(m["text"] for m in cluster["mentions"]))


if __name__ == "__main__":
    main()
