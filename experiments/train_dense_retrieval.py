"""Train and measure dense retrieval: a projection of span vectors to entity vectors, for spans that no table lists.

    python experiments/train_dense_retrieval.py encode --data-dir path/to/DWIE --aida path/to/AIDA --cache cache/

    python experiments/train_dense_retrieval.py train --cache cache/ --retriever retriever/
    python experiments/train_dense_retrieval.py compose --cache cache/ --retriever retriever/ --below 1 --out kb/
    python experiments/train_dense_retrieval.py evaluate --data-dir path/to/DWIE --retriever retriever/ --below 1

The cache holds numbers only: span vectors of the frozen model, ids of entities, offsets. Each document is a file, so
that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from hf_corefel import Document, KnowledgeBase, bundled_checkpoint, load_pipeline
from hf_corefel.candidates import ComposedKnowledgeBase, Part, QuerySpans, fit_offset
from hf_corefel.candidates.dense import DenseRetriever, SpanProjection, unit_vectors
from hf_corefel.candidates.vector_index import ExactIndex
from hf_corefel.corpora import development_split, read_aida, read_dwie
from hf_corefel.evaluation import score
from hf_corefel.layers.enumerated import SpanTensors, score_spans
from hf_corefel.modeling_corefel import CorefELModel
from hf_corefel.processing_corefel import CorefELProcessor


def documents(arguments: argparse.Namespace) -> Iterator[tuple[str, Document]]:
    """Yield the documents with the names of their parts: development first, for it is what is measured."""
    train, dev = development_split(list(read_dwie(arguments.data_dir, "train", strict=False)))
    parts = {"dev": dev, "dwie": train, "aida": list(read_aida(arguments.aida, "train"))}
    for part, each in parts.items():
        for document in each:
            yield part, document


def named_if_known(processor: CorefELProcessor) -> str | None:
    """Return the mention scope of DWIE and AIDA where the model has scopes."""
    return "named" if "named" in processor.settings.scope_names else None


@torch.no_grad()
def encode(arguments: argparse.Namespace) -> None:
    """Write vectors of gold mentions, for development of all kept spans too, with what the table gives them."""
    torch.set_num_threads(1)
    model = CorefELModel.from_pretrained(arguments.model).float().eval()
    processor = CorefELProcessor.from_pretrained(arguments.model)
    kb = processor.knowledge_base
    arguments.cache.mkdir(parents=True, exist_ok=True)
    started, done = time.time(), 0
    for number, (part, document) in enumerate(documents(arguments)):
        file = arguments.cache / f"{part}.{number:05}.safetensors"
        if file.exists():
            continue
        encoded = processor.encode(replace(document, mention_scope=named_if_known(processor)))
        aligned = encoded.align()
        tensors = processor.collate([encoded])
        subwords = model.encoder(tensors["input_ids"], tensors["attention_mask"], tensors["subword_positions"])
        names = ("span_begin", "span_end", "span_width", "span_cases", "span_mask", "mention_scope")
        scores, vectors_at = score_spans(model.spans, model.pruner, subwords, SpanTensors(*(tensors[n] for n in names)))
        chosen = [tensors[n] for n in ("span_begin", "span_end", "span_mask", "span_limits", "keep_all")]
        kept = model.pruner.select(scores, *chosen)[0].numpy()
        gold = np.flatnonzero(aligned.clusters >= 0)
        rows = np.union1d(kept, gold) if part == "dev" else gold
        if not len(rows):
            continue
        vectors = vectors_at(torch.from_numpy(rows)[None], torch.ones(1, len(rows), dtype=torch.bool))[0]
        # The entity of a mention is its cluster's, -1 for NIL and for what the base does not know, -2 for no mention.
        entity_of = np.full(len(encoded.spans), -2, dtype=np.int64)
        place = {tuple(offsets): row for row, offsets in enumerate(encoded.spans.offsets.tolist())}
        for cluster in document.clusters or []:
            known = None if cluster.entity is None else kb.entity_id(cluster.entity)
            for mention in cluster.mentions:
                if mention.offsets in place:
                    entity_of[place[mention.offsets]] = -1 if known is None else known
        candidates = (
            np.where(encoded.candidate_rows[rows] < 0, -1, encoded.entity_ids[encoded.candidate_rows[rows].clip(0)])
            if len(encoded.entity_ids)
            else np.full((len(rows), encoded.candidate_rows.shape[1]), -1)
        )
        content = {
            "vectors": vectors.numpy().astype(np.float16),
            "rows": rows,
            "offsets": encoded.spans.offsets[rows],
            "kept": np.isin(rows, kept),
            "entities": entity_of[rows],
            "candidates": candidates.astype(np.int64),
            "log_priors": encoded.log_priors[rows],
        }
        save_file({name: np.ascontiguousarray(value) for name, value in content.items()}, file)
        done += 1
        if done % 20 == 0:
            print(f"{part} {number}: {done} documents in {time.time() - started:.0f} s", flush=True)


@dataclass
class Spans:
    """Gold mentions of some documents, or their kept spans.

    Attributes:
        vectors: ``[S, G]`` span vectors.
        entities: ``[S]`` ids of their entities, -1 for NIL, -2 for no mention.
        candidates: ``[S, K]`` ids that the alias table gives them.
        kept: ``[S]`` whether the pruner kept them.
    """

    vectors: np.ndarray
    entities: np.ndarray
    candidates: np.ndarray
    kept: np.ndarray

    def take(self, rows: np.ndarray) -> Spans:
        """Return some of the spans."""
        return Spans(self.vectors[rows], self.entities[rows], self.candidates[rows], self.kept[rows])


def read_cache(folder: Path, parts: Sequence[str]) -> Spans:
    """Return what `encode` wrote of some parts."""
    files = [load_file(file) for part in parts for file in sorted(folder.glob(f"{part}.*.safetensors"))]
    return Spans(*(np.concatenate([file[name] for file in files]) for name in Spans.__annotations__))


class Projection(torch.nn.Module):
    """The `SpanProjection` while it is trained."""

    def __init__(self, spans: int, hidden: int, entities: int, dropout: float) -> None:
        super().__init__()
        self.hidden, self.output = torch.nn.Linear(spans, hidden), torch.nn.Linear(hidden, entities)
        self.dropout = torch.nn.Dropout(dropout)
        self.log_scale = torch.nn.Parameter(torch.tensor([3.0]))

    def forward(self, spans: torch.Tensor) -> torch.Tensor:
        """Return unit vectors ``[S, D]``."""
        hidden = self.dropout(torch.relu(self.hidden(self.dropout(spans))))
        return torch.nn.functional.normalize(self.output(hidden), dim=-1)

    def finished(self) -> SpanProjection:
        """Return the projection as it is used."""
        layers = (self.hidden.weight, self.hidden.bias, self.output.weight, self.output.bias, self.log_scale.exp())
        return SpanProjection(*(value.detach().numpy() for value in layers))


def hard_negatives(index: ExactIndex, queries: np.ndarray, spans: Spans, count: int) -> np.ndarray:
    """Return what is near or listed, and is not the entity: ids ``[S, count + K]``, -1 where it is the entity."""
    near = np.concatenate([index.search(queries, count)[0], spans.candidates], axis=1)
    return np.where(near == spans.entities[:, None], -1, near)


def train(arguments: argparse.Namespace) -> None:
    """Train by contrast with the other entities of a batch, with near ones, and with those that the table lists."""
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    kb = KnowledgeBase.from_pretrained(arguments.model)
    ids = kb.ids_with_vectors()
    table = np.zeros((kb.num_ids, kb.vector_size), dtype=np.float32)
    table[ids] = unit_vectors(kb.vectors(ids))
    entity_vectors, index = torch.from_numpy(table), ExactIndex(ids, table[ids])
    gold = read_cache(arguments.cache, ("dwie", "aida"))
    gold = gold.take(np.flatnonzero(gold.entities >= 0))
    dev = read_cache(arguments.cache, ("dev",))
    dev = dev.take(np.flatnonzero(dev.entities >= 0))
    seen = np.isin(dev.entities, gold.entities)
    # Entities that are everywhere would otherwise be most of what is learnt.
    frequency = np.bincount(gold.entities, minlength=kb.num_ids)[gold.entities]
    weight = torch.from_numpy(frequency**-0.5).double()
    model = Projection(gold.vectors.shape[1], arguments.hidden, kb.vector_size, arguments.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.learning_rate, weight_decay=0.01)
    steps = len(gold.entities) // arguments.batch_size
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, arguments.learning_rate, arguments.epochs * steps)
    vectors, entities = torch.from_numpy(gold.vectors), torch.from_numpy(gold.entities)
    for epoch in range(arguments.epochs):
        started = time.time()
        model.eval()
        with torch.no_grad():
            queries = torch.cat([model(part.float()) for part in vectors.split(4096)]).numpy()
        negatives = torch.from_numpy(hard_negatives(index, queries, gold, arguments.negatives if epoch else 0))
        model.train()
        order, total = torch.multinomial(weight, steps * arguments.batch_size), 0.0
        for rows in order.split(arguments.batch_size):
            found = model(vectors[rows].float())
            right = entities[rows]
            same = (right[None] == right[:, None]) & ~torch.eye(len(rows), dtype=torch.bool)
            # A cosine of -2, which no two vectors have, is as good as none.
            in_batch = (found @ entity_vectors[right].T).masked_fill(same, -2.0)
            hard = negatives[rows]
            near = torch.einsum("bd,bnd->bn", found, entity_vectors[hard.clamp(min=0)]).masked_fill(hard < 0, -2.0)
            logits = torch.cat([in_batch, near], dim=1) * model.log_scale.exp()
            loss = torch.nn.functional.cross_entropy(logits, torch.arange(len(rows)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        model.eval()
        found = index.search(model.finished()(dev.vectors), 16)[0]
        hits, listed = found == dev.entities[:, None], (dev.candidates == dev.entities[:, None]).any(axis=1)
        near = hits.any(axis=1)
        print(
            f"epoch {epoch}: loss {total / steps:.3f}, scale {model.log_scale.exp().item():.1f}, dev: @1 "
            f"{hits[:, 0].mean():.1%}, recall@16 dense {near.mean():.1%} (unseen entities {near[~seen].sum()} of "
            f"{(~seen).sum()}), table {listed.mean():.1%}, either {(near | listed).mean():.1%}, "
            f"{time.time() - started:.0f} s",
            flush=True,
        )
    DenseRetriever(kb, model.finished()).save_pretrained(arguments.retriever)


def learned_nothing(retriever: DenseRetriever, spans: Spans) -> float:
    """Return the cosine of "none of them" that makes what mentions stand for, an entity or NIL, most likely."""
    spans = spans.take(np.flatnonzero(spans.entities > -2))
    ids = retriever.store.ids_with_vectors()
    index = ExactIndex(ids, unit_vectors(retriever.store.vectors(ids)))
    found, cosines = index.search(retriever.projection(spans.vectors), retriever.most)
    right = np.where(found == spans.entities[:, None], cosines, -np.inf).max(axis=1)
    # What is not found is as good as NIL.
    known = np.isfinite(right)

    def likelihood(nothing: float) -> float:
        logits = np.concatenate([cosines, np.full((len(found), 1), nothing)], axis=1) * retriever.projection.scale
        gold = np.where(known, right, nothing) * retriever.projection.scale
        return float((gold - np.logaddexp.reduce(logits, axis=1)).sum())

    return float(max(np.arange(0, 1, 0.01), key=likelihood))


def learned_offset(retriever: DenseRetriever, spans: Spans, below: int | None) -> float:
    """Return what the retriever's scores are worth for mentions with fewer than so many candidates in the table."""
    asked = spans.entities > -2
    if below is not None:
        asked &= (spans.candidates >= 0).sum(axis=1) < below
    spans = spans.take(np.flatnonzero(asked))
    nowhere = np.zeros((len(spans.entities), 2), dtype=np.int64)
    found = retriever.propose(Document(""), QuerySpans(nowhere, nowhere, spans.vectors.astype(np.float32)), 16)
    new = (found.entity_ids >= 0) & (found.entity_ids[:, :, None] != spans.candidates[:, None]).all(axis=2)
    right = int((new & (found.entity_ids == spans.entities[:, None])).sum())
    print(f"below {below}: {asked.sum()} mentions, {(spans.entities >= 0).sum()} of them linked, {right} found")
    return fit_offset(found.scores[new].tolist(), right)


def composed(arguments: argparse.Namespace, kb: KnowledgeBase) -> ComposedKnowledgeBase:
    """Return the alias table with the retriever behind it."""
    retriever, offset = DenseRetriever.from_pretrained(arguments.retriever, store=kb), arguments.offset
    dev = read_cache(arguments.cache, ("dev",))
    retriever.nothing = learned_nothing(retriever, dev) if arguments.nothing is None else arguments.nothing
    retriever.least = arguments.least
    if offset is None:
        offset = learned_offset(retriever, dev, arguments.below)
    print(f"nothing {retriever.nothing:.2f}, least {retriever.least}, offset {offset:.2f}")
    return ComposedKnowledgeBase([kb, Part(retriever, offset, arguments.below)])


def compose(arguments: argparse.Namespace) -> None:
    """Save the alias table with the retriever behind it, as one knowledge base."""
    composed(arguments, KnowledgeBase.from_pretrained(arguments.model)).save_pretrained(arguments.out)


def evaluate(arguments: argparse.Namespace) -> None:
    """Score development end to end without and with retrieval: all of the table, and without development's own names.

    A table made of a corpus' mentions knows its names; what retrieval is for shows where it does not.
    """
    torch.set_num_threads(1)
    train, dev = development_split(list(read_dwie(arguments.data_dir, "train", strict=False)))
    scope = named_if_known(CorefELProcessor.from_pretrained(arguments.model))
    texts = [Document(document.text, document.id, mention_scope=scope) for document in dev]
    names = [
        {document.text[m.begin : m.end] for document in part for c in document.clusters or [] for m in c.mentions}
        for part in (train, dev)
    ]
    for table in ("all", "without development's names"):
        kb = KnowledgeBase.from_pretrained(arguments.model)
        if table != "all":
            for surface in sorted(names[1] - names[0]):
                if kb.candidates(surface, fallback="none"):
                    kb.remove_surface(surface)
        for way in ("table", "table and retrieval"):
            annotate = load_pipeline(arguments.model, knowledge_base=kb if way == "table" else composed(arguments, kb))
            started = time.time()
            found = list(annotate.annotate(texts))
            seconds = time.time() - started
            scores = score(dev, found, annotate.processor)
            figures = [f"coreference {scores['coreference']['average_f1']:.1%}"]
            for name, each in scores["entity_linking"].items():
                figures.append(f"{name} {each['precision']:.1%} / {each['recall']:.1%} / {each['f1']:.1%}")
            figures.append(f"hard {scores['hard_cases']['accuracy']:.1%}")
            print(f"{table} names; {way}: {', '.join(figures)}; {seconds:.0f} s", flush=True)


def main() -> None:
    """Do one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("encode", "train", "compose", "evaluate"))
    parser.add_argument("--model", default=bundled_checkpoint())
    parser.add_argument("--data-dir", type=Path, help="DWIE in its official JSON, with content")
    parser.add_argument("--aida", type=Path, help="AIDA CoNLL-YAGO, the file or its folder")
    parser.add_argument("--cache", type=Path, help="folder of the span vectors")
    parser.add_argument("--retriever", type=Path, help="folder of the trained retriever")
    parser.add_argument("--out", type=Path, help="folder of the composed knowledge base")
    parser.add_argument("--below", type=int, help="ask it about spans with fewer candidates; about all when left out")
    parser.add_argument("--offset", type=float, help="of its log scores; learnt on development when left out")
    parser.add_argument("--nothing", type=float, help="cosine of none of them; learnt on development when left out")
    parser.add_argument("--least", type=float, default=0.1, help="scores that are proposed")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--negatives", type=int, default=16, help="near entities a mention, beside the table's")
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=13)
    arguments = parser.parse_args()
    {"encode": encode, "train": train, "compose": compose, "evaluate": evaluate}[arguments.step](arguments)


if __name__ == "__main__":
    main()
