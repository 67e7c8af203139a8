"""Keep what a model that is too large for the package did: its scores, its predictions and how it was trained.

    python experiments/record_model.py --model runs/teacher/final --data-dir path/to/DWIE --aida path/to/AIDA \
        --gum path/to/GUM --development corpora/dev.*.jsonl --out experiments/models/mpnet-base

writes ``test_scores.json`` (DWIE test, end to end), ``more_scores.json`` (AIDA testb and GUM test), what
`development_scores.py` writes, ``training_record.json`` without the ids of the documents, and the predictions as ids
and offsets. What is there already is not made again. The weights stay where they are; ``hf-corefel publish`` sends
them to the Hub.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

import development_scores
from bundle_checkpoint import OTHER_TESTS, scored, without_folders

from hf_corefel import load_pipeline


def main() -> None:
    """Scores the model on what is asked for, and writes all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the trained model and its processor")
    parser.add_argument("--data-dir", type=Path, required=True, help="DWIE in its official JSON, with content")
    parser.add_argument("--aida", type=Path, help="AIDA CoNLL-YAGO")
    parser.add_argument("--gum", type=Path, help="GUM")
    parser.add_argument(
        "--development", type=Path, nargs="*", default=[], help="development documents of `training_corpora.py`"
    )
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    record = json.loads((arguments.model / "training_record.json").read_text(encoding="utf-8"))
    (out / "training_record.json").write_text(json.dumps(short_record(record), indent=1) + "\n", encoding="utf-8")
    if arguments.development:
        development_scores.write_scores(load_pipeline(arguments.model), arguments.development, out)
    _write(out / "test_scores.json", lambda: scored(arguments.model, arguments.data_dir, out / "dwie.test.jsonl.gz"))
    runs = [
        (out / f"{name}.jsonl.gz", place, options)
        for name, (corpus, options) in OTHER_TESTS.items()
        if (place := getattr(arguments, corpus)) is not None
    ]
    if runs:
        _write(
            out / "more_scores.json",
            lambda: [scored(arguments.model, corpus, path, **options) for path, corpus, options in runs],
        )


def short_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return how a model was trained, without folders, with numbers of documents in place of their ids."""
    record = dict(record)
    ids = record.pop("train_ids", None)
    if record.get("started_from"):
        record = {**record, "started_from": short_record(record["started_from"])}
    return {**without_folders(record), **({"train_documents": len(ids)} if ids is not None else {})}


def _write(path: Path, measure: Any) -> None:
    """Writes what is measured, unless it is there."""
    if not path.is_file():
        path.write_text(json.dumps(measure(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
