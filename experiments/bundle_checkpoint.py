"""Copy a trained model into the package as its bundled checkpoint, with a card that says where it comes from.

    python experiments/bundle_checkpoint.py --model runs/bundled/final --data-dir path/to/DWIE --aida path/to/AIDA \
        --gum path/to/GUM --without-test-surfaces path/to/knowledge_base

The scores of the card are measured here, on the files as they are stored.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

import development_scores
import fairness
from stored_results import write_prediction_rows

from hf_corefel import CorefELModel, CorefELProcessor, bundled_checkpoint, load_pipeline
from hf_corefel.evaluation import evaluate_corpus
from hf_corefel.hub import BUNDLED, model_card_of_folder, save_fingerprint
from hf_corefel.kb import read_jsonl
from hf_corefel.kb.entity_vectors import fit_projection
from hf_corefel.processing_corefel import KNOWLEDGE_BASE_FOLDER

_LIMIT_MB = 110
_FILES = ("config.json", "model.safetensors", "processor_config.json", "training_record.json")
# Test parts beside DWIE's, as their predictions are called: the corpus, and how it is read.
OTHER_TESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "aida.test": ("aida", {}),
    "gum.test.named": ("gum", {"mention_scope": "named"}),
    "gum.test.all": ("gum", {"mention_scope": "all"}),
}
# The rest is measured and written here, also where the model was bundled before.
_SKIPPED = ("training_args.bin", "README.md", "fingerprint.json", "fairness.json", "*_scores.json")


def _without_folders(argument: str) -> str:
    """A path of the training machine by its last name only; the script's own path, and all else, as it is."""
    is_path = "/" in argument and not argument.startswith(("{", "examples/"))
    return Path(argument).name if is_path else argument


def without_folders(record: dict[str, Any]) -> dict[str, Any]:
    """A training record, and those of the runs that it started from, without the folders of the training machine."""
    earlier = record.get("started_from")
    return {
        **record,
        **({"command": [_without_folders(argument) for argument in record["command"]]} if "command" in record else {}),
        **({"started_from": without_folders(earlier)} if earlier else {}),
    }


def scored(model: Path, corpus: Path, predictions: Path | None = None, **options: Any) -> dict[str, Any]:
    """Return the scores of a model on the test part of a corpus, and keep its predictions as ids and offsets."""
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder, "predictions.jsonl")
        scores = evaluate_corpus(corpus, split="test", model=model, predictions=full, **options)
        if predictions is not None:
            with full.open(encoding="utf-8") as lines:
                write_prediction_rows(predictions, map(json.loads, lines))
    return scores


def _runs(arguments: argparse.Namespace) -> list[tuple[str | None, Path, dict[str, Any]]]:
    """How the predictions are called that are kept, and where and how the checkpoint is scored beside DWIE test."""
    dwie = arguments.data_dir
    hidden = {
        "knowledge_base": arguments.without_test_surfaces,
        "note": {"table": "without surfaces of test articles only"},
    }
    runs: list[tuple[str | None, Path, dict[str, Any]]] = [(None, dwie, hidden), (None, dwie, {"given_mentions": True})]
    for name, (corpus, options) in OTHER_TESTS.items():
        place = getattr(arguments, corpus)
        runs += [(name, place, dict(options)), (None, place, {**options, "given_mentions": True})]
    return runs


def _fit_projection(folder: Path, descriptions: Path | None) -> None:
    """Gives the knowledge base the map from the fine-tuned encoder's vectors to its own, for entities added later."""
    model, processor = CorefELModel.from_pretrained(folder).eval(), CorefELProcessor.from_pretrained(folder)
    kb = processor.knowledge_base
    texts = {} if descriptions is None else {data["entity"]: data["text"] for _, data in read_jsonl(descriptions)}
    projection = fit_projection(model.encoder.model, processor.tokenizer, kb, descriptions=texts)
    print("projection:", projection.info)
    kb.with_projection(projection).save_pretrained(folder / "with_projection")
    shutil.rmtree(folder / KNOWLEDGE_BASE_FOLDER)
    (folder / "with_projection").rename(folder / KNOWLEDGE_BASE_FOLDER)


def main() -> None:
    """Copies the files, writes scores, card and fingerprint, and checks the size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the trained model and its processor")
    parser.add_argument("--data-dir", type=Path, required=True, help="DWIE in its official JSON, with content")
    parser.add_argument("--aida", type=Path, required=True, help="AIDA CoNLL-YAGO")
    parser.add_argument("--gum", type=Path, required=True, help="GUM")
    parser.add_argument(
        "--without-test-surfaces", type=Path, required=True, help="knowledge base without DWIE's test-only surfaces"
    )
    parser.add_argument(
        "--development", type=Path, nargs="*", default=[], help="development documents of `training_corpora.py`"
    )
    parser.add_argument("--predictions", type=Path, help="folder for what is predicted of them and of test texts")
    parser.add_argument("--gap", type=Path, help="gap-development.tsv, to measure how pronouns and names are treated")
    parser.add_argument(
        "--descriptions",
        type=Path,
        help="texts of the entity vectors, .jsonl[.gz], to fit the map from the encoder to them anew",
    )
    arguments = parser.parse_args()
    for name in _FILES:
        if not (arguments.model / name).is_file():
            raise SystemExit(f"{arguments.model}: {name} is missing")
    target = Path(bundled_checkpoint())
    if arguments.model.resolve() == target.resolve():
        raise SystemExit(
            f"{arguments.model} is the bundled checkpoint, which is replaced; copy it to another folder first"
        )
    kept: Path | None = arguments.predictions
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(arguments.model, target, ignore=shutil.ignore_patterns(*_SKIPPED))
    record = json.loads((target / "training_record.json").read_text(encoding="utf-8"))
    record = without_folders(record)
    (target / "training_record.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["encoder_config"]["_name_or_path"] = Path(config["encoder_config"]["_name_or_path"]).name
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    if arguments.descriptions is not None:
        _fit_projection(target, arguments.descriptions)
    scores = scored(target, arguments.data_dir, kept and kept / "dwie.test.jsonl.gz")
    (target / "test_scores.json").write_text(json.dumps(scores, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    more = [
        {
            **options.pop("note", {}),
            **scored(target, corpus, kept and name and kept / f"{name}.jsonl.gz", **options),
        }
        for name, corpus, options in _runs(arguments)
    ]
    (target / "more_scores.json").write_text(json.dumps(more, indent=1) + "\n", encoding="utf-8")
    if arguments.development:
        folder = kept or Path(tempfile.mkdtemp())
        # It goes on where it was, but what is there may be another model's.
        (folder / development_scores.SCORES).unlink(missing_ok=True)
        development_scores.write_scores(load_pipeline(target), arguments.development, folder)
        shutil.copy(folder / development_scores.SCORES, target)
    if arguments.gap is not None:
        measured = fairness.measure(fairness.annotator(target), arguments.gap)
        text = json.dumps(measured, indent=1, ensure_ascii=False)
        (target / "fairness.json").write_text(text + "\n", encoding="utf-8")
    (target / "README.md").write_text(model_card_of_folder(target, facts=BUNDLED), encoding="utf-8")
    save_fingerprint(CorefELModel.from_pretrained(target), CorefELProcessor.from_pretrained(target), target)
    for path in target.rglob("*"):
        # safetensors writes files that only their owner can read.
        path.chmod(0o755 if path.is_dir() else 0o644)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) / 1e6
    print(f"{target}: {size:.1f} MB")
    if size > _LIMIT_MB:
        raise SystemExit(f"the checkpoint must stay under {_LIMIT_MB} MB")


if __name__ == "__main__":
    main()
