"""Score a model end to end on the development documents of `training_corpora.py`, each under its own convention.

    python experiments/development_scores.py --model MODEL --documents corpora/dev.*.jsonl --out scores/

writes ``development_scores.json`` and, for each file, the predictions as ids and offsets. A corpus that is there
already is not annotated again; one that other documents, another model, knowledge base or limit made is refused. Links
to Wikidata items are compared by the items of the model's knowledge base.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

from stored_results import write_predictions

from hf_corefel import AnnotatedDocument, Document, load_pipeline
from hf_corefel.bulk.identities import identity_of_knowledge_base, identity_of_model
from hf_corefel.candidates import open_knowledge_base
from hf_corefel.candidates.entity_facts import wikidata_id
from hf_corefel.evaluation import score
from hf_corefel.evaluation.entity_maps import knowledge_base_map
from hf_corefel.formats import read_jsonl
from hf_corefel.metrics import document_decisions
from hf_corefel.metrics.calibration import is_wikidata_id
from hf_corefel.pipeline_corefel import CorefELPipeline
from hf_corefel.utils.files import sha256_of, whole_file

SCORES = "development_scores.json"
# The field of a corpus' scores that says what they were made of.
MADE_OF = "made_of"
EVERY_ALTERNATIVE = 1000


def main() -> None:
    """Annotate and score one file after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", help="folder or Hub id; the bundled checkpoint when left out")
    parser.add_argument("--knowledge-base", help="in place of the model's own")
    parser.add_argument("--documents", type=Path, nargs="+", required=True, help="files of documents with gold")
    parser.add_argument("--limit", type=int, help="only so many documents of each file")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    kb = None if arguments.knowledge_base is None else open_knowledge_base(arguments.knowledge_base)
    pipeline = load_pipeline(arguments.model, knowledge_base=kb)
    try:
        write_scores(pipeline, arguments.documents, arguments.out, limit=arguments.limit)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None


def write_scores(pipeline: CorefELPipeline, files: Sequence[Path], out: Path, *, limit: int | None = None) -> None:
    """Score the documents of files, and write scores and predictions into a folder; what is there stays.

    Raises:
        ValueError: When what is there is damaged, or of other documents, another model, knowledge base or limit, or a
            file has no document; before anything is annotated.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit: expected at least one document, got {limit}")
    out.mkdir(parents=True, exist_ok=True)
    path = out / SCORES
    scores = _scores_of(path)
    model = {
        "model": identity_of_model(pipeline.model.name_or_path or None, own_knowledge_base=False)
        or Path(pipeline.model.name_or_path).name,
        "knowledge_base": identity_of_knowledge_base(pipeline.processor.knowledge_base),
    }
    wanted: dict[str, tuple[Path, dict[str, Any]]] = {}
    for file in files:
        name, made_of = file.stem.removeprefix("dev."), {"documents": sha256_of(file), "limit": limit, **model}
        # Files of older versions do not say what they were made of.
        before = wanted[name][1] if name in wanted else scores.get(name, {}).get(MADE_OF, made_of)
        if other := [field for field, value in made_of.items() if before.get(field) != value]:
            raise ValueError(
                f"{file}: {path} has scores of {name} already, made of another {', '.join(other).replace('_', ' ')}; "
                "name another folder, or remove them"
            )
        if next(iter(read_jsonl(file)), None) is None:
            raise ValueError(f"{file}: there is no document")
        wanted[name] = file, made_of
    for name, (file, made_of) in wanted.items():
        if name in scores:
            continue
        scores[name], predicted = development_score(pipeline, list(read_jsonl(file))[:limit])
        scores[name][MADE_OF] = made_of
        write_predictions(out / f"{name}.jsonl.gz", predicted)
        with whole_file(path) as place:
            text = json.dumps(scores, indent=1, ensure_ascii=False, allow_nan=False)
            place.write_text(text + "\n", encoding="utf-8")
        print(name, json.dumps(scores[name]), flush=True)


def _scores_of(path: Path) -> dict[str, dict[str, Any]]:
    """What is stored; nothing where there is no file."""
    if not path.is_file():
        return {}
    try:
        scores = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: damaged ({error}); remove it and run it again") from error
    if not isinstance(scores, dict) or not all(isinstance(found, dict) for found in scores.values()):
        raise ValueError(f"{path}: expected an object of scores by corpus; remove it and run it again")
    return scores


def development_score(
    pipeline: CorefELPipeline, gold: Sequence[Document]
) -> tuple[dict[str, Any], list[AnnotatedDocument]]:
    """Return what is told of a corpus, fractions, and the predictions.

    Links are scored, and their calibration error is measured, where gold has links.
    """
    known = pipeline.processor.settings.mention_scopes or {}
    # An older model that does not know the scope is asked for its own: names, of any kind.
    scope = gold[0].mention_scope if gold[0].mention_scope in known else None
    texts = [Document(d.text, d.id, mention_scope=scope) for d in gold]
    predicted = []
    for text in texts:
        # Where gold names some entities only, the probability among entities counts, which takes that of NIL.
        predicted += pipeline.annotate([text], top_k=EVERY_ALTERNATIVE)
    kb = pipeline.processor.knowledge_base
    entities = [c.entity for d in gold for c in d.clusters or () if c.entity is not None]
    by_item = bool(entities) and all(map(is_wikidata_id, entities))
    same = knowledge_base_map(kb) if by_item else None
    found = score(gold, predicted, pipeline.processor, texts, entity_map=same)
    result: dict[str, Any] = {
        "documents": len(gold),
        "mention_scope": scope,
        "coreference": found["coreference"]["average_f1"],
        "mentions": found["coreference"]["mention"]["f1"],
    }
    if entities:
        wikidata = (lambda entity: wikidata_id(kb, entity)) if by_item else None
        links = document_decisions(gold, predicted, entity_map=same, wikidata=wikidata).links
        result |= {
            "interval_95": found.get("interval_95", {}),
            "el_m": found["entity_linking"]["el_m"]["f1"],
            "el_h": found["entity_linking"]["el_h"]["f1"],
            "hard_cases": found["hard_cases"],
            "candidate_recall": found["alias_table"]["candidate_recall_of_linked_mentions"],
        }
        # Where no link can be compared these are no numbers, which JSON lacks, as the tables take what is left out.
        measured = {"link_accuracy": links.accuracy, "link_calibration_error": links.calibration_error()}
        result |= {name: value for name, value in measured.items() if not math.isnan(value)}
    return result, predicted


if __name__ == "__main__":
    main()
