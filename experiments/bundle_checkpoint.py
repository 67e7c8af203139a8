"""Copy a trained model into the package as its bundled checkpoint, with a card that says where it comes from.

    python experiments/bundle_checkpoint.py --model runs/bundled/final --scores runs/bundled/test_scores.json

``--scores`` is what ``hf-corefel evaluate … --model runs/bundled/final --out FILE`` wrote.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from hf_corefel import CorefELConfig, bundled_checkpoint

_LIMIT_MB = 80
_FILES = ("config.json", "model.safetensors", "processor_config.json", "training_record.json")
_SKIPPED = ("training_args.bin",)

CARD = """\
---
license: apache-2.0
language: en
library_name: hf-corefel
pipeline_tag: token-classification
tags: [coreference-resolution, entity-linking]
---

# MiniLM on DWIE

Coreference resolution and entity linking of English news as one structured prediction: a `CorefELModel` with the
`{head}` head on all-MiniLM-L6-v2 (6 layers, 384 wide, uncased), fine-tuned on the {train} training articles of DWIE
whose ids stand in `training_record.json`, with the command, seed and commit.

```python
import hf_corefel
from transformers import pipeline

annotate = pipeline("coref-el")  # this checkpoint is the default
```

## What it is made of

- `edge_activation="{edge_activation}"` (`arsinh` weighs an edge exp(asinh(score)), `none` exp(score)) and
  `root_score="{root_score}"`.
- Beyond the paper: letter-case embeddings of a span's first and last word, the log prior as an input of the entity
  scorer, and a pair product of rank {pair_product_dim}.
- Knowledge base: {surfaces} surfaces, {entities} entities, candidate lists published with DWIE plus entity titles;
  entity vectors are mean-pooled all-MiniLM-L6-v2 encodings of titles (and of the beginning of the Wikipedia
  lead where known), reduced to {vector_size} dimensions and stored as int8.
- Weights are stored as float16 and computed in float32. The scores below were measured on these files.

## Scores on DWIE test, end to end

From the text alone; fractions of 1, micro over {documents} documents, with 95 % bootstrap intervals over documents.

| | F1 | 95 % |
|---|---|---|
| coreference (mean of MUC, B³, CEAFₑ) | {coref:.4f} | {coref_interval} |
| entity linking by mention (EL_m) | {el_m:.4f} | {el_m_interval} |
| entity linking by cluster (EL_h) | {el_h:.4f} | {el_h_interval} |

Hard cases (the mention's own candidates lack the entity, another mention's have it): {hard:.4f} of {hard_mentions}
right.

**What leaks.** The alias table was made from the candidate lists of all DWIE articles, test included, so a span that
has candidates is often a mention: {share:.0%} of the test texts' spans with candidates are gold mentions. With a table
that was not made from this corpus, expect lower scores. {recall:.1%} of the linked test mentions have their entity
among their own candidates.

## Limits

News English of one broadcaster; named entities only; entities of the Wikipedia of about 2018. See the package's README.
"""


def card(config: CorefELConfig, record: dict[str, Any], kb: dict[str, Any], scores: dict[str, Any]) -> str:
    """The model card as text."""
    return CARD.format(
        head=config.head,
        edge_activation=config.edge_activation,
        root_score=config.root_score,
        pair_product_dim=config.pair_product_dim,
        train=len(record["train_ids"]),
        surfaces=f"{kb['num_surfaces']:,}",
        entities=f"{kb['num_entities']:,}",
        vector_size=kb["vector_size"],
        documents=scores["documents"],
        coref=scores["coreference"]["average_f1"],
        el_m=scores["entity_linking"]["el_m"]["f1"],
        el_h=scores["entity_linking"]["el_h"]["f1"],
        coref_interval=scores["interval_95"]["coref_f1"],
        el_m_interval=scores["interval_95"]["el_mention_f1"],
        el_h_interval=scores["interval_95"]["el_hard_f1"],
        hard=scores["hard_cases"]["accuracy"],
        hard_mentions=scores["hard_cases"]["mentions"],
        share=scores["alias_table"]["gold_share_of_spans_with_candidates"],
        recall=scores["alias_table"]["candidate_recall_of_linked_mentions"],
    )


def _without_folders(argument: str) -> str:
    """A path of the training machine by its last name only; the script's own path, and all else, as it is."""
    is_path = "/" in argument and not argument.startswith(("{", "examples/"))
    return Path(argument).name if is_path else argument


def main() -> None:
    """Copies the files, writes card and scores, and checks the size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the trained model and its processor")
    parser.add_argument("--scores", type=Path, required=True, help="scores on DWIE test, of exactly these files")
    arguments = parser.parse_args()
    for name in _FILES:
        if not (arguments.model / name).is_file():
            raise SystemExit(f"{arguments.model}: {name} is missing")
    target = Path(bundled_checkpoint())
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(arguments.model, target, ignore=shutil.ignore_patterns(*_SKIPPED))
    record = json.loads((target / "training_record.json").read_text(encoding="utf-8"))
    record["command"] = [_without_folders(argument) for argument in record["command"]]
    (target / "training_record.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    scores = json.loads(arguments.scores.read_text(encoding="utf-8"))
    kb = json.loads((target / "knowledge_base" / "kb_config.json").read_text(encoding="utf-8"))
    text = card(CorefELConfig.from_pretrained(target), record, kb, scores)
    (target / "README.md").write_text(text, encoding="utf-8")
    (target / "test_scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    for path in target.rglob("*"):
        # safetensors writes files that only their owner can read.
        path.chmod(0o755 if path.is_dir() else 0o644)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) / 1e6
    print(f"{target}: {size:.1f} MB")
    if size > _LIMIT_MB:
        raise SystemExit(f"the checkpoint must stay under {_LIMIT_MB} MB")


if __name__ == "__main__":
    main()
