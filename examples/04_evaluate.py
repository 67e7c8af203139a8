"""Score a model on gold documents in JSON lines, from the texts alone.

    python examples/04_evaluate.py test.jsonl --model runs/mine/final --out predictions.jsonl

For DWIE in its official files there is `hf-corefel evaluate path/to/DWIE`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from hf_corefel import Document, Mention
from hf_corefel.formats import read_jsonl, write_jsonl
from hf_corefel.metrics import Scores, bootstrap_interval, score_documents
from hf_corefel.pipeline_corefel import load_pipeline

NAMES = {
    "coref_f1": "coreference: mean F1 of MUC, B³, CEAFₑ",
    "el_mention_f1": "entity linking by mention: F1",
    "el_hard_f1": "entity linking by cluster: F1",
    "hard_case_accuracy": "mentions that only their cluster can link: accuracy",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, help="documents with gold clusters, .jsonl or .jsonl.gz")
    parser.add_argument("--model", help="folder or Hub id; the bundled checkpoint when left out")
    parser.add_argument("--out", type=Path, help="keep the predictions there, as JSON lines")
    options = parser.parse_args()

    gold = list(read_jsonl(options.documents))
    pipeline = load_pipeline(options.model)
    # Text, id and mention scope: what else a document gives (mentions, candidates) would make the task easier.
    # The mention scope says what to look for; a model without scopes looks for what it was trained on.
    known = pipeline.processor.settings.scope_names
    scopes = [document.mention_scope if document.mention_scope in known else None for document in gold]
    texts = [Document(d.text, d.id, mention_scope=scope) for d, scope in zip(gold, scopes, strict=True)]
    predicted = pipeline.annotate(texts)
    if options.out is not None:
        write_jsonl(options.out, predicted)

    kb, limit = pipeline.processor.knowledge_base, pipeline.model.config.max_candidates

    def candidates(document: Document, mention: Mention) -> set[str]:
        surface = document.text[mention.begin : mention.end]
        return {candidate.entity for candidate in kb.candidates(surface, limit)}

    parts = score_documents(gold, predicted, candidates=candidates)
    scores = sum(parts, Scores()).to_dict()
    print(f"{len(gold)} documents (95 % intervals by bootstrap over documents)")
    for key, name in NAMES.items():
        low, high = bootstrap_interval(parts, key)
        print(f"{scores[key]:.3f} [{low:.3f}, {high:.3f}]  {name}")


if __name__ == "__main__":
    main()
