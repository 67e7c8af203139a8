"""Train entity vectors with an encoder, and measure what they add to the links of a model that has frozen ones.

    python experiments/train_entity_vectors.py train --documents corpora/train.jsonl --knowledge-base KB \
        --encoder ENCODER --descriptions wiki_vital_en.jsonl.gz --links ppr_entities.jsonl.gz --out vectors/
    python experiments/train_entity_vectors.py evaluate --documents corpora/dev.dwie.jsonl corpora/dev.aida.jsonl \
        --descriptions wiki_vital_en.jsonl.gz --links ppr_entities.jsonl.gz --vectors vectors/

One encoder reads the text around a mention and, apart from it, the title and description of an entity; the right pairs
of a step are told from its other pairs and from other candidates of the mention (Wu et al., 2020, BLINK, §4.1). What
the trained vectors know beyond the model is what its links gain when their cosines are added to its log probabilities,
with the weight that is best on other documents.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize
from transformers import AutoModel, AutoTokenizer

# The scripts beside this one, also where this one is loaded by its path.
sys.path.insert(0, str(Path(__file__).parent))

from build_knowledge_base import texts_of_entities

from hf_corefel import Document, KnowledgeBase, load_pipeline
from hf_corefel.formats import read_jsonl

WORDS_AROUND = 32
CONTEXT_PIECES, ENTITY_PIECES = 96, 48
NAMED_CORPORA = ("dwie", "aida", "gum.entities", "wikipedia")
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
CONSTANT = "a constant"
NIL_COSINES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True)
class Context:
    """A mention with the words around it.

    Attributes:
        text: The words.
        begin: Where the mention begins in them, in code points.
        end: Where it ends.
    """

    text: str
    begin: int
    end: int


def context_of(text: str, begin: int, end: int) -> Context:
    """Return a mention with the `WORDS_AROUND` words on either side."""
    left, right = text[:begin].split(" ")[-WORDS_AROUND:], text[end:].split(" ")[:WORDS_AROUND]
    before = " ".join(left)
    return Context(before + text[begin:end] + " ".join(right), len(before), len(before) + end - begin)


class TwoSides(torch.nn.Module):
    """An encoder of mentions in their contexts and of entities.

    Attributes:
        encoder: The encoder of both.
        log_scale: What cosines are multiplied by, as a logarithm.
    """

    def __init__(self, folder: Path, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, trust_remote_code=False, use_safetensors=True)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(20.0)))
        self.texts = texts

    def mentions(self, contexts: Sequence[Context]) -> torch.Tensor:
        """Return unit vectors ``[M, H]``: the mean over the context and the mean over the mention, added."""
        inputs = self.tokenizer(
            [context.text for context in contexts],
            padding=True,
            truncation=True,
            max_length=CONTEXT_PIECES,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = inputs.pop("offset_mapping")
        begin, end = (torch.tensor([getattr(c, name) for c in contexts])[:, None] for name in ("begin", "end"))
        there = inputs["attention_mask"].bool()
        inside = there & (offsets[..., 0] < end) & (offsets[..., 1] > begin)
        # A context of very long words may be cut before its mention.
        inside = torch.where(inside.any(dim=1, keepdim=True), inside, there)
        hidden = self.encoder(**inputs).last_hidden_state.float()
        return normalize(normalize(mean(hidden, there), dim=-1) + normalize(mean(hidden, inside), dim=-1), dim=-1)

    def entities(self, names: Sequence[str]) -> torch.Tensor:
        """Return unit vectors ``[E, H]`` of titles and descriptions."""
        texts = [
            name.replace("_", " ") + (f" : {self.texts[name][:400]}" if name in self.texts else "") for name in names
        ]
        inputs = self.tokenizer(texts, padding=True, truncation=True, max_length=ENTITY_PIECES, return_tensors="pt")
        hidden = self.encoder(**inputs).last_hidden_state.float()
        return normalize(mean(hidden, inputs["attention_mask"].bool()), dim=-1)


def mean(hidden: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Return the mean ``[B, H]`` of the chosen pieces ``[B, T]`` of hidden states ``[B, T, H]``."""
    weights = chosen.float()
    return torch.einsum("bth,bt->bh", hidden, weights) / weights.sum(dim=1, keepdim=True)


def linked_mentions(documents: Iterator[Document], kb: KnowledgeBase) -> list[tuple[Context, str, list[str]]]:
    """Return the linked mentions of the corpora of names: context, entity, and other candidates of the surface."""
    found = []
    for document in documents:
        if str(document.id).partition(":")[0] not in NAMED_CORPORA:
            continue
        for cluster in document.clusters or []:
            if cluster.entity is None or kb.entity_id(cluster.entity) is None:
                continue
            for mention in cluster.mentions:
                surface = document.text[mention.begin : mention.end]
                others = [c.entity for c in kb.candidates(surface) if c.entity != cluster.entity]
                found.append((context_of(document.text, mention.begin, mention.end), cluster.entity, others))
    return found


def train(arguments: argparse.Namespace) -> None:
    """Train by contrast with the other entities of a step and with one other candidate of each mention."""
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    generator = np.random.default_rng(arguments.seed)
    kb = KnowledgeBase.from_pretrained(arguments.knowledge_base)
    documents = (document for path in arguments.documents for document in read_jsonl(path))
    pairs = linked_mentions(documents, kb)
    # Entities that are everywhere would otherwise be most of what is learnt.
    names, of, counts = np.unique([entity for _, entity, _ in pairs], return_inverse=True, return_counts=True)
    weights = counts[of] ** -0.5
    model = TwoSides(arguments.encoder, texts_of_entities(arguments)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, arguments.learning_rate, arguments.steps)
    print(f"{len(pairs)} linked mentions of {len(names)} entities", flush=True)
    started, total = time.time(), 0.0
    for step in range(1, arguments.steps + 1):
        rows = generator.choice(len(pairs), arguments.batch_size, replace=False, p=weights / weights.sum())
        contexts, right, others = zip(*(pairs[row] for row in rows), strict=True)
        hard = [generator.choice(listed) for listed in others if listed]
        columns = list(dict.fromkeys([*right, *map(str, hard)]))
        with torch.autocast("cpu", torch.bfloat16):
            cosines = model.mentions(contexts) @ model.entities(columns).T
        place = torch.tensor([columns.index(entity) for entity in right])
        loss = cross_entropy(cosines.float() * model.log_scale.exp(), place)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 25 == 0:
            print(f"step {step}: loss {total / 25:.3f}, {time.time() - started:.0f} s", flush=True)
            total = 0.0
    arguments.out.mkdir(parents=True, exist_ok=True)
    model.encoder.save_pretrained(arguments.out)
    model.tokenizer.save_pretrained(arguments.out)


@dataclass
class Decision:
    """A cluster that the model found among gold mentions, with what it may be linked to.

    Attributes:
        document: Number of its document.
        gold: The entities of its mentions, None for NIL.
        entities: What it may be linked to.
        log_probabilities: ``[A]`` what the model says of these.
        cosines: By the name of an encoder, ``[A]`` the mean cosine of the mentions to these; NaN for NIL.
    """

    document: int
    gold: list[str | None]
    entities: list[str | None]
    log_probabilities: np.ndarray
    cosines: dict[str, np.ndarray]


def decisions(documents: Sequence[Document], sides: Mapping[str, TwoSides], pipeline: Any) -> list[Decision]:
    """Let the model cluster and link gold mentions, and compare these with the entities that it thinks of."""
    found: list[Decision] = []
    vectors: dict[str, dict[str, torch.Tensor]] = {name: {} for name in sides}
    for number, document in enumerate(documents):
        gold = {m.offsets: cluster.entity for cluster in document.clusters or [] for m in cluster.mentions}
        asked = replace(document, mentions=sorted(gold), clusters=None, annotated=None)
        (result,) = pipeline.annotate([asked], top_k=50)
        for cluster in result.clusters:
            alternatives = cluster.alternatives or ()
            names = [alternative.entity for alternative in alternatives]
            contexts = [context_of(document.text, *mention.offsets) for mention in cluster.mentions]
            cosines = {
                name: np.array(mean_cosines(model, vectors[name], contexts, names)) for name, model in sides.items()
            }
            # Whatever there is to know of entities beside that they are none of NIL.
            cosines[CONSTANT] = np.array([np.nan if name is None else 0.5 for name in names])
            said = np.log([max(alternative.probability, 1e-9) for alternative in alternatives])
            found.append(Decision(number, [gold.get(m.offsets) for m in cluster.mentions], names, said, cosines))
    return found


def mean_cosines(
    model: TwoSides, vectors: dict[str, torch.Tensor], contexts: Sequence[Context], names: Sequence[str | None]
) -> list[float]:
    """Return the mean cosine of some mentions to each entity, NaN for NIL; vectors of new entities are added."""
    new = sorted({name for name in names if name is not None} - set(vectors))
    for begin in range(0, len(new), 64):
        vectors.update(zip(new[begin : begin + 64], model.entities(new[begin : begin + 64]), strict=True))
    query = torch.cat([model.mentions(contexts[i : i + 64]) for i in range(0, len(contexts), 64)]).mean(dim=0)
    return [math.nan if name is None else float(vectors[name] @ query) for name in names]


def right(made: Sequence[Decision], name: str, weight: float, nil_cosine: float) -> np.ndarray:
    """Return for each cluster how many of its mentions have the right entity or NIL."""
    counts = []
    for each in made:
        cosines = np.where(np.isnan(each.cosines[name]), nil_cosine, each.cosines[name])
        chosen = each.entities[int(np.argmax(each.log_probabilities + 20 * weight * cosines))]
        counts.append(sum(entity == chosen for entity in each.gold))
    return np.array(counts)


def gain(made: Sequence[Decision], name: str, folds: int = 5) -> dict[str, Any]:
    """Return the share of mentions that are right without and with the cosines, whose weight other documents choose."""
    fold = np.array([each.document % folds for each in made])
    table = {(weight, nil): right(made, name, weight, nil) for weight in WEIGHTS for nil in NIL_COSINES}
    mentions = sum(len(each.gold) for each in made)
    with_cosines, chosen = 0, []
    for number in range(folds):
        best = max(table, key=lambda key: (table[key][fold != number].sum(), -key[0]))
        chosen.append(best)
        with_cosines += int(table[best][fold == number].sum())
    best = max(table, key=lambda key: (table[key].sum(), -key[0]))
    return {
        "mentions": mentions,
        "right one among them": sum(sum(entity in each.entities for entity in each.gold) for each in made) / mentions,
        "model": int(table[0.0, 0.0].sum()) / mentions,
        "with cosines": with_cosines / mentions,
        "with the weight that is best on the same documents": int(table[best].sum()) / mentions,
        "weights and cosines of NIL": chosen,
    }


@torch.no_grad()
def evaluate(arguments: argparse.Namespace) -> None:
    """Print for each file what the vectors of each encoder add, and what a constant in their place does."""
    torch.set_num_threads(1)
    pipeline = load_pipeline(arguments.model)
    texts = texts_of_entities(arguments)
    sides = {str(folder): TwoSides(folder, texts).eval() for folder in arguments.vectors}
    for path in arguments.documents:
        made = decisions(list(read_jsonl(path))[: arguments.limit], sides, pipeline)
        for name in (CONSTANT, *sides):
            print(path.stem, name, json.dumps(gain(made, name)), flush=True)


def main() -> None:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("train", "evaluate"))
    parser.add_argument("--documents", type=Path, nargs="+", required=True, help="files of documents with gold")
    parser.add_argument("--knowledge-base", help="folder or Hub id, for the other candidates of a mention")
    parser.add_argument("--encoder", type=Path, help="folder of the encoder to begin with")
    parser.add_argument("--descriptions", type=Path, metavar="FILE", help='{"entity", "text"} lines, .jsonl[.gz]')
    parser.add_argument("--links", type=Path, metavar="FILE", help='{"entity", "links"} lines, .jsonl[.gz]')
    parser.add_argument("--out", type=Path, help="folder of the trained encoder")
    parser.add_argument("--vectors", type=Path, nargs="+", help="folders of encoders to compare")
    parser.add_argument("--model", help="folder or Hub id; the bundled checkpoint when left out")
    parser.add_argument("--limit", type=int, help="only so many documents of each file")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=3e-5)
    parser.add_argument("--seed", type=int, default=13)
    arguments = parser.parse_args()
    {"train": train, "evaluate": evaluate}[arguments.step](arguments)


if __name__ == "__main__":
    main()
