"""How often a document's spans are decided alike when few pairs are scored, and when all are.

    python benchmarks/sparse_agreement.py DOCUMENTS.jsonl [--scope all] [--join 5] [--limit 20]

Each document, or so many joined to one, is annotated twice: with every pair of spans scored, and as a document that is
too long for that. A decision is what a span is: no mention, or a mention with its entity and the other mentions of its
cluster. Printed are the decisions that are equal, of all retained spans and of mentions: of the entity, and of the
whole cluster.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from hf_corefel import Document
from hf_corefel.pipeline_corefel import load_pipeline


def decisions(result: Any) -> dict[tuple[int, int], tuple[str | None, frozenset[tuple[int, int]]]]:
    """Return for each mention its entity and the mentions of its cluster."""
    found = {}
    for cluster in result["clusters"]:
        together = frozenset((mention["begin"], mention["end"]) for mention in cluster["mentions"])
        found.update(dict.fromkeys(together, (cluster["entity"], together)))
    return found


def main() -> None:
    """Prints a line a document and the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("--scope", help="which mentions are wanted")
    parser.add_argument("--join", type=int, default=1, help="documents that are joined to one")
    parser.add_argument("--limit", type=int, help="documents that are annotated, after joining")
    parser.add_argument("--partners", type=int, help="spans that each one is scored with; as the model says by default")
    options = parser.parse_args()
    torch.set_num_threads(1)
    annotate = load_pipeline()
    settings = annotate.processor.settings
    # One span is as long as a document may be for the scores of all pairs; what is kept stays the same.
    few = settings.replace(max_kept_spans=max(1, settings.min_kept_spans))
    if options.partners:
        few = few.replace(max_partners=options.partners)
    texts = [json.loads(line)["text"] for line in options.documents.read_text(encoding="utf-8").splitlines()]
    joined = ["\n\n".join(texts[n : n + options.join]) for n in range(0, len(texts), options.join)]
    spans = mentions = entities = clusters = 0
    for number, text in enumerate(joined[: options.limit]):
        document = Document(text, mention_scope=options.scope)
        annotate.processor.settings = settings
        retained = annotate.processor.encode(document).limit
        wanted = decisions(annotate(document))
        annotate.processor.settings = few
        found = decisions(annotate(document))
        either = wanted.keys() | found.keys()
        none = (None, frozenset[tuple[int, int]]())
        other_entity = sum(wanted.get(m, ("none", 0))[0] != found.get(m, ("none", 0))[0] for m in either)
        other_cluster = sum(wanted.get(m, none) != found.get(m, none) for m in either)
        spans, mentions = spans + retained, mentions + len(either)
        entities, clusters = entities + other_entity, clusters + other_cluster
        if other_cluster:
            print(f"{number:4d}: {len(either)} mentions; {other_entity} entities and {other_cluster} clusters differ")
    for name, count in (("spans", spans), ("mentions", mentions)):
        print(
            f"of {count:6d} {name:8s} decided alike: {100 - 100 * entities / count:.3f} % (mention and entity), "
            f"{100 - 100 * clusters / count:.3f} % (and the whole cluster)"
        )


if __name__ == "__main__":
    main()
