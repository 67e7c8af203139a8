"""Memory of a training step of the bundled model on one artificial document, by its words.

    python benchmarks/training_memory.py
    python benchmarks/training_memory.py --max-document-words 1000 --scope all 500 5000

Documents of more words than the limit are cut, see `hf_corefel.training.cutting`. Each length runs two steps in a
process of its own, on one thread; memory is the most that the process ever held, the libraries (some 0.5 GiB), weights,
gradients and the optimizer's state included. With ``--evaluate`` the document is evaluated instead, uncut. Not on
Windows, which does not tell.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile

LENGTHS = (500, 1_000, 2_000, 5_000, 30_000)
NAMES = ["Merkel", "Macron", "Berlin", "Paris", "NATO", "Bundestag", "Poland", "Warsaw", "Brussels", "Germany"]
FILLER = ["the", "minister", "said", "that", "talks", "about", "a", "plan", "for", "next", "year", "would", "go", "on"]


def artificial(length: int, scope: str):  # type: ignore[no-untyped-def]
    """A document of names and filler with one gold cluster a name; a sentence has 17 words and its full stop."""
    from hf_corefel import Cluster, Document, Mention

    chance = random.Random(0)
    text, members = "", {}
    for place in range(length):
        word = chance.choice(NAMES if chance.random() < 0.15 else FILLER) if place % 18 != 17 else "."
        text += word if word == "." or not text else f" {word}"
        if word in NAMES:
            members.setdefault(word, []).append(Mention(len(text) - len(word), len(text)))
    clusters = [Cluster(tuple(mentions), name) for name, mentions in members.items()]
    return Document(text, id=f"artificial-{length}", clusters=clusters, mention_scope=scope)


def measure(length: int, options: argparse.Namespace) -> tuple[float, int]:
    """GiB that this process held at most, and the parts that the document was cut into."""
    import torch

    from hf_corefel import (
        CorefELModel,
        CorefELProcessor,
        CorefELTrainer,
        CorefELTrainingArguments,
        bundled_checkpoint,
    )

    torch.set_num_threads(1)
    model = CorefELModel.from_pretrained(bundled_checkpoint())
    processor = CorefELProcessor.from_pretrained(bundled_checkpoint())
    documents = [artificial(length, options.scope)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = CorefELTrainingArguments(
            folder, max_steps=2, per_device_train_batch_size=1, max_document_words=options.max_document_words,
            use_cpu=True, save_strategy="no", report_to="none", disable_tqdm=True,
        )  # fmt: skip
        data = {"eval_dataset" if options.evaluate else "train_dataset": documents}
        trainer = CorefELTrainer(model, arguments, processor, **data)
        trainer.evaluate() if options.evaluate else trainer.train()
    unit = 2**30 if sys.platform == "darwin" else 2**20
    parts = 1 if options.evaluate else len(trainer.train_dataset)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, parts


def main() -> None:
    """Runs every length and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--max-document-words", type=int, default=2_000)
    parser.add_argument("--scope", choices=("named", "all"), default="named")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        print(json.dumps(measure(options.lengths[0], options)))
        return
    print("  words  parts    memory")
    for length in options.lengths:
        command = [sys.executable, __file__, str(length), "--in-process", "--scope", options.scope]
        command += ["--max-document-words", str(options.max_document_words)] + ["--evaluate"] * options.evaluate
        result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        memory, parts = json.loads(result.stdout.splitlines()[-1])
        print(f"{length:7d} {parts:6d} {memory:6.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
