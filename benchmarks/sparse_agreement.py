"""How often a document's spans are decided alike when few pairs are scored, and when all are.

    python benchmarks/sparse_agreement.py DOCUMENTS.jsonl [--scope all] [--join 5] [--limit 20]

Each document, or so many joined to one, is annotated twice: with every pair of spans scored, and as a document that is
too long for that. Each retained span is decided about: it is no mention, or it is one with a parent in the tree, an
entity, and a cluster. Printed is how many are decided alike, of all retained spans and of mentions. One parent that
differs makes all spans of two clusters count as other clusters.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from hf_corefel import Document
from hf_corefel.configuration.reading_settings import ReadingSettings
from hf_corefel.pipeline_corefel import load_pipeline


def decisions(result: Any) -> dict[tuple[int, int], tuple[Any, Any, Any]]:
    """Return for each mention its parent, its entity and the mentions of its cluster."""
    found = {}
    for cluster in result["clusters"]:
        together = frozenset((mention["begin"], mention["end"]) for mention in cluster["mentions"])
        for mention in cluster["mentions"]:
            parent = tuple(sorted(mention["parent"].items()))
            found[mention["begin"], mention["end"]] = parent, cluster["entity"], together
    return found


def bounded(settings: ReadingSettings, spans: int) -> ReadingSettings:
    """Return settings by which up to so many spans are scored each with each, whatever the scope."""
    own = {"max_kept_spans", "max_partners"}
    scopes = {
        name: {field: value for field, value in fields.items() if field not in own}
        for name, fields in (settings.mention_scopes or {}).items()
    }
    return settings.replace(max_kept_spans=spans, mention_scopes=scopes or None)


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
    # A document of one span is long enough for few pairs, and none is too long for all; what is kept stays the same.
    settings = bounded(annotate.processor.settings, 100_000)
    few = bounded(settings, max(1, settings.min_kept_spans))
    if options.partners:
        few = few.replace(max_partners=options.partners)
    texts = [json.loads(line)["text"] for line in options.documents.read_text(encoding="utf-8").splitlines()]
    joined = ["\n\n".join(texts[n : n + options.join]) for n in range(0, len(texts), options.join)]
    spans = mentions = 0
    differ = dict.fromkeys(("parent", "entity", "cluster"), 0)
    for number, text in enumerate(joined[: options.limit]):
        document = Document(text, mention_scope=options.scope)
        annotate.processor.settings = settings
        spans += annotate.processor.encode(document).limit
        wanted = decisions(annotate(document, evidence=True))
        annotate.processor.settings = few
        found = decisions(annotate(document, evidence=True))
        either = wanted.keys() | found.keys()
        mentions += len(either)
        none = ("none",) * len(differ)
        here = {
            name: sum(wanted.get(m, none)[place] != found.get(m, none)[place] for m in either)
            for place, name in enumerate(differ)
        }
        differ = {name: count + here[name] for name, count in differ.items()}
        if any(here.values()):
            print(f"{number:4d}: {len(either)} mentions, {here} differ", flush=True)
    for what, total in (("spans", spans), ("mentions", mentions)):
        alike = ", ".join(f"{name} {100 - 100 * count / total:.3f} %" for name, count in differ.items())
        print(f"of {total} {what}, decided alike: {alike}", flush=True)


if __name__ == "__main__":
    main()
