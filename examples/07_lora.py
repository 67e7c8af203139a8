"""Fine-tune the bundled checkpoint with LoRA on thirty short documents, in about a minute on one core.

    python examples/07_lora.py --output_dir runs/lora --num_train_epochs 3 --per_device_train_batch_size 4 \
        --encoder_learning_rate 5e-4 --save_strategy no --report_to none

The documents are about medicines that no model has heard of, and are made up here. The adapter is an eighth of the
model, and is loaded like one: ``hf-corefel annotate notes.txt --model runs/lora/final``. Every field of
`CorefELTrainingArguments` is an option. Needs PEFT: ``pip install 'hf-corefel[peft]'``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from peft import LoraConfig, get_peft_model
from transformers import HfArgumentParser, set_seed

from hf_corefel import (
    Cluster,
    CorefELModel,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
    Mention,
    bundled_checkpoint,
    load_pipeline,
)
from hf_corefel.metrics import evaluate

SENTENCES = (
    "{drug} was given to forty patients of {place}.",
    "Half of them slept better with {drug}, doctors said.",
    "At {place}, {drug} is now taken with food.",
    "Nobody at {place} would say what {drug} costs.",
    "{place} ordered more {drug} before the winter.",
)


@dataclass
class ScriptArguments:
    model: str = field(default_factory=bundled_checkpoint, metadata={"help": "A saved model."})
    rank: int = field(default=8, metadata={"help": "Rank of the adapter."})


def make_document(number: int, chance: random.Random) -> Document:
    """A few sentences about a medicine and a hospital, with gold clusters."""
    drug = "".join(chance.choice(part) for part in (("zel", "mor", "tav", "ruc"), "aeo", ("min", "dor"), ("ex", "ine")))
    place = chance.choice(("Aldmoor", "Brackwell", "Carrowby", "Dunholt")) + chance.choice((" Clinic", " Infirmary"))
    text, mentions = "", {drug: [], place: []}
    for sentence in chance.sample(SENTENCES, 3):
        begin = len(text)
        text += sentence.format(drug=drug, place=place) + " "
        for name, found in mentions.items():
            if name in text[begin:]:
                found.append(Mention(text.index(name, begin), text.index(name, begin) + len(name)))
    clusters = [Cluster(tuple(found)) for found in mentions.values() if found]
    return Document(text.rstrip(), id=f"note-{number}", clusters=clusters)


def score(model: str, documents: list[Document]) -> float:
    """F1 of the clusters that a saved model finds in the texts."""
    texts = [Document(document.text, id=document.id) for document in documents]
    return evaluate(documents, load_pipeline(model).annotate(texts))["coref_f1"]


def main() -> None:
    arguments, training = HfArgumentParser((ScriptArguments, CorefELTrainingArguments)).parse_args_into_dataclasses()
    set_seed(training.seed)
    chance = random.Random(training.seed)
    documents = [make_document(number, chance) for number in range(40)]
    train, test = documents[:30], documents[30:]

    model = CorefELModel.from_pretrained(arguments.model)
    processor = CorefELProcessor.from_pretrained(arguments.model)
    # The encoder gets an adapter; the small layers on top of it are trained, and saved, as they are.
    lora = LoraConfig(
        r=arguments.rank,
        lora_alpha=2 * arguments.rank,
        target_modules=["query", "key", "value"],
        modules_to_save=["spans", "pruner", "pairs", "entities"],
    )
    adapted = get_peft_model(model, lora)
    adapted.print_trainable_parameters()
    trainer = CorefELTrainer(adapted, training, processor, train_dataset=train)
    trainer.train()
    adapter = str(Path(training.output_dir) / "final")
    trainer.save_model(adapter)
    print(f"coreference F1 on {len(test)} other documents: {score(arguments.model, test):.2f} before, ", end="")
    print(f"{score(adapter, test):.2f} with the adapter in {adapter}")


if __name__ == "__main__":
    main()
