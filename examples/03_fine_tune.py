"""Fine-tune a coreference and entity-linking model on documents with gold clusters.

From an encoder:

    python examples/03_fine_tune.py --encoder path/or/hub-id --knowledge_base kb/ --data_dir dwie/ \
        --output_dir runs/mine --num_train_epochs 5 --encoder_learning_rate 5e-5

From a checkpoint: give ``--model`` instead of ``--encoder``; weights whose shape ``--config`` changes begin anew.
``--aida_dir`` and ``--gum_dir`` add those corpora, GUM under the mention scope ``all``, which ``--config`` has to name;
``--documents`` adds gold documents of your own, as JSON lines.
``--teacher`` names a model to learn from beside the gold; ``--teacher_cache`` a folder where what it says of the
documents is written once, and read in every epoch and the next run. ``--documents`` may then hold texts without gold.
Every field of `CorefELTrainingArguments` is an option; ``--config '{"head": "local"}'`` sets fields of `CorefELConfig`.
Every tenth training article is the development set.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import torch
from transformers import AutoTokenizer, HfArgumentParser, set_seed
from transformers.trainer_utils import get_last_checkpoint

from hf_corefel import (
    CorefELModel,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
    KnowledgeBase,
)
from hf_corefel.configuration.fields import READING_FIELDS
from hf_corefel.corpora import development_split, read_aida, read_dwie, read_gum
from hf_corefel.formats import read_jsonl
from hf_corefel.training import LiveTeacher, cache_teacher
from hf_corefel.training.cutting import cut_document


@dataclass
class ScriptArguments:
    data_dir: str = field(metadata={"help": "Folder of DWIE articles in the official JSON, with content."})
    aida_dir: str | None = field(default=None, metadata={"help": "Folder of AIDA CoNLL-YAGO, to train on it too."})
    gum_dir: str | None = field(default=None, metadata={"help": "Folder of GUM, to train on all its mentions too."})
    dwie_copies: int = field(default=1, metadata={"help": "How often an epoch has the DWIE articles."})
    max_words: list[int] = field(
        default_factory=lambda: [600],
        metadata={"help": "GUM's documents are cut after that many words; an epoch has them once for each number."},
    )
    documents: str | None = field(
        default=None,
        metadata={"help": "File of further gold documents to train on, .jsonl[.gz] of Document.to_dict()."},
    )
    encoder: str | None = field(default=None, metadata={"help": "AutoModel id or folder to start from."})
    model: str | None = field(default=None, metadata={"help": "CorefELModel id or folder to start from."})
    knowledge_base: str | None = field(default=None, metadata={"help": "Folder of a saved KnowledgeBase."})
    config: str = field(default="{}", metadata={"help": "Fields of CorefELConfig, as JSON."})
    encoder_config: str = field(default="{}", metadata={"help": "Fields of the encoder's own config, as JSON."})
    teacher: str | None = field(default=None, metadata={"help": "CorefELModel id or folder to learn from."})
    teacher_cache: str | None = field(
        default=None,
        metadata={"help": "Folder of what the teacher says; --teacher is not needed where it is all there."},
    )
    train_on_all: bool = field(default=False, metadata={"help": "Train on the development articles too."})
    limit: int | None = field(default=None, metadata={"help": "Use only that many training articles."})
    trainable: list[str] = field(
        default_factory=list,
        metadata={"help": "Train only the weights whose names begin so, such as entities; all when left out."},
    )
    half_precision: bool = field(default=False, metadata={"help": "Store the final weights as float16."})


def load(arguments: ScriptArguments) -> tuple[CorefELModel, CorefELProcessor]:
    """The model to start from and its processor."""
    fields = json.loads(arguments.config)
    if arguments.model is not None:
        kb = KnowledgeBase.from_pretrained(arguments.knowledge_base) if arguments.knowledge_base else None
        reading = {name: value for name, value in fields.items() if name in READING_FIELDS}
        processor = CorefELProcessor.from_pretrained(arguments.model, knowledge_base=kb, **reading)
        if "head" in fields:
            # A calibration belongs to the head that it was fitted for.
            fields = {"calibration": None, **fields}
        # Fields that change the shape of a weight make it begin anew; transformers names those.
        model = CorefELModel.from_pretrained(arguments.model, ignore_mismatched_sizes=True, **fields)
        if "mention_scopes" in fields:
            take_scopes(model, processor, arguments.model)
        return model, processor
    if arguments.encoder is None or arguments.knowledge_base is None:
        raise SystemExit("give --model, or --encoder and --knowledge_base")
    kb = KnowledgeBase.from_pretrained(arguments.knowledge_base)
    model = CorefELModel.from_encoder(
        arguments.encoder,
        encoder_kwargs=json.loads(arguments.encoder_config),
        entity_vector_size=kb.vector_size,
        **fields,
    )
    tokenizer = AutoTokenizer.from_pretrained(arguments.encoder, trust_remote_code=False)
    return model, CorefELProcessor(tokenizer, kb, model.config)


@torch.no_grad()
def take_scopes(model: CorefELModel, processor: CorefELProcessor, name: str) -> None:
    """Give the mention scopes that the model of a name has their vectors, and new ones that of its first scope."""
    before, known = CorefELModel.from_pretrained(name), CorefELProcessor.from_pretrained(name).settings.scope_names
    if before.spans.scope is None or model.spans.scope is None:
        return
    for row, scope in enumerate(processor.settings.scope_names):
        source = known.index(scope) if scope in known else 0
        model.spans.scope.weight[row] = before.spans.scope.weight[source]


def split(arguments: ScriptArguments, scopes: Sequence[str]) -> tuple[list[Document], list[Document]]:
    """Training and development documents, under the scope of what their corpora annotate if the model has scopes."""
    names = "named" if "named" in scopes else None
    articles = read_dwie(arguments.data_dir, "train", strict=False)
    documents = [replace(document, mention_scope=names) for document in islice(articles, arguments.limit)]
    train, development = development_split(documents)
    train = (documents if arguments.train_on_all else train) * arguments.dwie_copies
    if arguments.aida_dir:
        # NIL mentions of one surface are taken for one thing: left apart, they would teach that names never corefer.
        articles = read_aida(arguments.aida_dir, "train", nil_clusters="surfaces", strict=False)
        train += [replace(document, mention_scope=names) for document in islice(articles, arguments.limit)]
    if arguments.gum_dir:
        for document in islice(read_gum(arguments.gum_dir, "train", strict=False), arguments.limit):
            for words in arguments.max_words:
                train += cut_document(replace(document, mention_scope="all"), words)[0]
    if arguments.documents:
        train += list(read_jsonl(arguments.documents))[: arguments.limit]
    return train, development


def record(
    arguments: ScriptArguments, training: CorefELTrainingArguments, train: Sequence[Document]
) -> dict[str, object]:
    """What a reader needs to know where a checkpoint comes from, taken before training starts."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    before = Path(arguments.model or "") / "training_record.json"
    earlier = json.loads(before.read_text(encoding="utf-8")) if arguments.model and before.is_file() else {}
    return {
        "command": ["python", *sys.argv],
        "commit": git.stdout.strip() or None,
        "seed": training.seed,
        # Of the earlier training too: what the model has seen stays seen.
        "train_ids": sorted({*(str(each.id) for each in train if each.id is not None), *earlier.pop("train_ids", ())}),
        "started_from": earlier or None,
        "trained_on_development": arguments.train_on_all,
        "versions": {name: version(name) for name in ("torch", "transformers", "hf-corefel")},
    }


def freeze_all_but(model: CorefELModel, prefixes: tuple[str, ...]) -> None:
    """Leave only the weights whose names begin so to be trained; what is frozen costs no backward pass."""
    for name, weight in model.named_parameters():
        weight.requires_grad_(name.startswith(prefixes))
    if not any(weight.requires_grad for weight in model.parameters()):
        names = sorted({name.partition(".")[0] for name, _ in model.named_parameters()})
        raise SystemExit(f"--trainable: no weight begins with {', '.join(prefixes)}; there are {', '.join(names)}")


def teacher_of(arguments: ScriptArguments, training: CorefELTrainingArguments, train: Sequence[Document]) -> str | None:
    """Whom to learn from, once what it says is written down where that is wanted."""
    if arguments.teacher is None or arguments.teacher_cache is None:
        return arguments.teacher_cache or arguments.teacher
    teacher = LiveTeacher.from_pretrained(arguments.teacher)
    teacher.to(training.device)
    # The other processes wait for the first one for --ddp_timeout seconds, and then find all of it there.
    with training.main_process_first(local=False, desc="what the teacher says"):
        cache_teacher(
            teacher,
            train,
            arguments.teacher_cache,
            temperature=training.distillation_temperature,
            max_document_words=training.max_document_words,
            bf16=training.bf16,
        )
    return arguments.teacher_cache


def main() -> None:
    arguments, training = HfArgumentParser((ScriptArguments, CorefELTrainingArguments)).parse_args_into_dataclasses()
    set_seed(training.seed)
    model, processor = load(arguments)
    if arguments.trainable:
        freeze_all_but(model, tuple(arguments.trainable))
    train, development = split(arguments, processor.settings.scope_names)
    content = record(arguments, training, train)
    teacher = teacher_of(arguments, training, train)
    trainer = CorefELTrainer(model, training, processor, train_dataset=train, eval_dataset=development, teacher=teacher)
    print("gold within reach:", json.dumps(trainer.report_alignment(trainer.train_dataset).to_dict()))
    output = Path(training.output_dir)
    begun = output.is_dir() and get_last_checkpoint(str(output)) is not None
    trainer.train(resume_from_checkpoint=training.resume_from_checkpoint or begun)
    final = output / "final"
    if arguments.half_precision:
        model.to(torch.float16)
    # Gathers the model where the processes have parts of it, and saves the processor too. An evaluation would be too
    # early: --bf16_full_eval leaves the weights in half precision.
    trainer.save_model(str(final))
    if arguments.half_precision:
        model.to(torch.float32)
    scores = trainer.evaluate()
    if not trainer.is_world_process_zero():
        return
    content["development_scores"] = scores
    content["training"] = trainer.training_record()
    (final / "training_record.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: round(value, 4) for name, value in scores.items()}, indent=1))


if __name__ == "__main__":
    main()
