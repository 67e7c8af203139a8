"""Annotate texts: clusters of mentions, each with an entity or NIL.

    python examples/01_annotate.py examples/data/news.txt

With ``--out`` the annotation is also kept as JSON lines, which `hf_corefel.formats.read_jsonl` reads.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from transformers import pipeline

import hf_corefel  # noqa: F401  registers the task
from hf_corefel import Document
from hf_corefel.formats import write_jsonl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="UTF-8 text files")
    parser.add_argument("--model", help="folder or Hub id; the bundled checkpoint when left out")
    parser.add_argument("--out", type=Path, help="keep the annotation there, as JSON lines")
    options = parser.parse_args()

    annotate = pipeline("coref-el", model=options.model)
    documents = annotate.annotate([Document(file.read_text(encoding="utf-8"), id=str(file)) for file in options.files])
    for document in documents:
        print(f"{document.id}: {len(document.clusters)} clusters")
        for cluster in document.clusters:
            mentions = ", ".join(f"{mention.text} {mention.begin}–{mention.end}" for mention in cluster.mentions)
            print(f"  {cluster.entity or 'NIL'} ({cluster.probability:.2f}): {mentions}")
    if options.out is not None:
        write_jsonl(options.out, documents)


if __name__ == "__main__":
    main()
