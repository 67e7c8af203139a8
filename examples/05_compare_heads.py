"""Train the four heads from one start on the same documents and compare their scores.

    python examples/05_compare_heads.py --train train.jsonl --dev dev.jsonl --output_dir runs/heads \
        --num_train_epochs 5

Every field of `CorefELTrainingArguments` is an option. Parameters that the start shares with a head are kept; the rest
is drawn anew from ``--seed``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from transformers import HfArgumentParser, set_seed

from hf_corefel import CorefELModel, CorefELProcessor, CorefELTrainer, CorefELTrainingArguments, bundled_checkpoint
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.formats import read_jsonl

COLUMNS = ("coref_f1", "el_mention_f1", "el_hard_f1")


@dataclass
class ScriptArguments:
    train: str = field(metadata={"help": "Training documents with gold clusters, .jsonl or .jsonl.gz."})
    dev: str = field(metadata={"help": "Development documents with gold clusters."})
    model: str = field(default=bundled_checkpoint(), metadata={"help": "Folder or Hub id to start from."})
    heads: list[str] = field(default_factory=lambda: list(HEADS), metadata={"help": "Which heads to compare."})


def main() -> None:
    arguments, training = HfArgumentParser((ScriptArguments, CorefELTrainingArguments)).parse_args_into_dataclasses()
    train, dev = list(read_jsonl(arguments.train)), list(read_jsonl(arguments.dev))
    rows = []
    for head in arguments.heads:
        set_seed(training.seed)
        folder = Path(training.output_dir) / head
        # A calibration belongs to the head that it was fitted for.
        model = CorefELModel.from_pretrained(arguments.model, head=head, calibration=None)
        processor = CorefELProcessor.from_pretrained(arguments.model)
        places = {"output_dir": str(folder)}
        if getattr(training, "logging_dir", None):
            # Transformers 4 has made one already, for all.
            places["logging_dir"] = str(Path(training.logging_dir) / head)
        settings = replace(training, **places)
        trainer = CorefELTrainer(model, settings, processor, train_dataset=train, eval_dataset=dev)
        trainer.train()
        trainer.save_model()
        scores = trainer.evaluate()
        rows.append((head, [scores[f"eval_{column}"] for column in COLUMNS]))
    print(f"{'head':20}", *(f"{column:>14}" for column in COLUMNS))
    for head, values in rows:
        print(f"{head:20}", *(f"{value:14.3f}" for value in values))


if __name__ == "__main__":
    main()
