"""End-to-end evaluation on a corpus: the public pipeline on the text alone, gold only afterwards."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..candidates import open_knowledge_base
from ..candidates.document_candidates import entities_of_span
from ..corpora import CORPORA, CorpusSpec, MentionScope, corpus_files, detect_format, read_gold, read_texts
from ..documents import AnnotatedDocument, Document, Mention
from ..formats import read_jsonl, write_jsonl
from ..metrics import (
    EntityMap,
    MappedLinks,
    Scores,
    SpanRecall,
    bootstrap_interval,
    pronoun_recall,
    score_documents,
    span_recall,
)
from ..metrics.entity_map import entity_map_from
from ..pipeline_corefel import CorefELPipeline, load_pipeline
from ..pipelines.reading import retained_spans
from ..processing.alignment import align_clusters
from ..processing_corefel import CorefELProcessor
from ..utils.files import FileIdentity, file_identity, overwrites, whole_file
from .entity_maps import AnyEntityMap, open_entity_map

__all__ = [
    "TableShare",
    "candidate_share",
    "check_outputs",
    "evaluate_corpus",
    "predict",
    "read_predictions",
    "recall_of_spans",
    "score",
]

# Gold clusters with an entity, by size and by the number of their surface forms (the paper's Table 3).
_CLUSTERS = ("singleton", "multi_mention", "one_surface", "several_surfaces")
_INTERVALS = ("coref_f1", "el_mention_f1", "el_hard_f1")

Progress = Callable[[int, int], None]
_AnyDocument = TypeVar("_AnyDocument", Document, AnnotatedDocument)


def evaluate_corpus(
    data_dir: str | Path,
    *,
    split: str = "test",
    corpus_format: str | None = None,
    model: str | Path | None = None,
    knowledge_base: str | Path | None = None,
    loading: Mapping[str, Any] | None = None,
    mention_scope: str | None = None,
    given_mentions: bool = False,
    limit: int | None = None,
    max_kept_spans: int | None = None,
    out: str | Path | None = None,
    predictions: str | Path | None = None,
    progress: Progress | None = None,
    trust_remote_code: bool = False,
    entity_map: AnyEntityMap | Sequence[AnyEntityMap] | None = None,
) -> dict[str, Any]:
    """Scores a model on a corpus of the registry (`hf_corefel.corpora.CORPORA`), told by its files.

    The texts are annotated and the predictions written to a file; then gold is read, and the file scored.

    Args:
        data_dir: The corpus as its authors ship it, with texts.
        split: ``train``, ``test``, ``all``, or another that the corpus has; AIDA's ``testb`` is its ``test``.
        corpus_format: The name of the corpus in the registry; told by its files when None.
        model: A saved model; the bundled checkpoint when None.
        knowledge_base: A saved one in place of the model's own; a folder or Hub id.
        loading: Further arguments of `load_pipeline`, such as ``revision``, ``token``, ``device`` or ``dtype``.
        mention_scope: Which mentions the model looks for, and gold has where the corpus has both, as GUM: ``named``,
            ``all`` or ``entities``. When None what the corpus annotates, of GUM ``named``, whatever the model's default
            is; a model that knows scopes is told so.
        given_mentions: Gives the model the offsets of the gold mentions, and asks for clusters and links only.
        limit: Only that many texts; one whose annotation is malformed counts too, but is not scored.
        max_kept_spans: Most spans of a document that the model keeps; its own bound when None.
        out: Also writes the scores there, as JSON.
        predictions: Where the predictions go, one JSON object a line; a temporary file when None.
        progress: Called with the documents done and their number.
        trust_remote_code: Whether code that the model's files name is run; it is refused when False.
        entity_map: Which names of entities mean one thing, for gold links, predicted ones and candidates: a file of old
            names and new ones, a knowledge base with redirects and Wikidata ids, or several; see `open_entity_map`.
            None compares names as they are.

    Returns:
        Micro scores over the documents as fractions, 95 % bootstrap intervals over documents, what the alias
        table gives away (see `candidate_share`), the recall of spans (see `recall_of_spans`), of GUM with all mentions
        that of pronouns, and with an entity map how many links it has given another name. The predictions keep theirs.

    Raises:
        ValueError: When ``out`` or ``predictions`` lies in a folder that does not exist, is a file of the corpus, the
            model or the knowledge base, or both are the same.
        FileBusyError: When another process is writing one of them.
    """
    maps = entity_map if isinstance(entity_map, Sequence) and not isinstance(entity_map, str) else [entity_map]
    map_files = [each for each in maps if isinstance(each, str | Path)]
    check_outputs({"out": out, "predictions": predictions}, (data_dir, model, knowledge_base, *map_files))
    same = open_entity_map(entity_map)
    kb = None if knowledge_base is None else open_knowledge_base(knowledge_base)
    loading = {"max_kept_spans": max_kept_spans, "trust_remote_code": trust_remote_code, **(loading or {})}
    pipeline = load_pipeline(model, knowledge_base=kb, **loading)
    corpus = corpus_format or detect_format(data_dir)
    spec = CORPORA[corpus]
    kinds, mention_scope = _scopes(spec, mention_scope, pipeline.processor)

    def read(texts: Sequence[Document], kinds: MentionScope = kinds) -> list[Document]:
        # Gold lacks malformed articles whose text is there, so the limit is that of the texts.
        wanted = _by_key(texts)
        found = _by_key(read_gold(data_dir, split, mention_scope=kinds, corpus_format=corpus))
        return [document for key, document in found.items() if key in wanted]

    texts = [
        replace(document, mention_scope=mention_scope)
        for document in islice(read_texts(data_dir, split, corpus_format=corpus), limit)
    ]
    if given_mentions:
        given = _by_key(read(texts))
        texts = [replace(text, mentions=_offsets(given[key])) for key, text in _by_key(texts).items() if key in given]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(predictions) if predictions is not None else Path(folder) / "predictions.jsonl"
        predict(pipeline, texts, path, progress)
        gold = read(texts)
        kept = _by_key(gold)
        texts = [text for key, text in _by_key(texts).items() if key in kept]
        predicted = [document for key, document in _by_key(read_predictions(path)).items() if key in kept]
    if warned := [document for document in predicted if document.warnings]:
        text = f"{len(warned)} of {len(predicted)} documents were annotated with warnings"
        warnings.warn(f"{text}; the first, {warned[0].id}: {warned[0].warnings[0]}", stacklevel=2)
    scores = {
        "corpus": spec.title,
        "split": split,
        "mention_scope": kinds,
        "given_mentions": given_mentions,
        **score(gold, predicted, pipeline.processor, texts, **({} if same is None else {"entity_map": same})),
    }
    if not given_mentions:
        recall = recall_of_spans(pipeline, gold, texts, max_kept_spans=max_kept_spans)
        scores["span_recall"] = {"enumerated": recall.after_enumeration, "kept": recall.after_pruning}
    if "named" in spec.scopes and kinds == "all" and len(spec.scopes) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not every treebank says which word is a mention's head
            named = _by_key(read(texts, "named"))
        if named.keys() >= kept.keys():
            names = [_offsets(named[key]) for key in kept]
            if same is not None:
                gold, predicted = list(map(same.document, gold)), list(map(same.document, predicted))
            scores["pronouns"] = pronoun_recall(gold, names, predicted).to_dict()
    if out is not None:
        with whole_file(out) as place:
            place.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    return scores


def _scopes(spec: CorpusSpec, wanted: str | None, processor: CorefELProcessor) -> tuple[MentionScope, str | None]:
    """Which mentions gold has, and the scope that the model is told, None for its own."""
    first = spec.scopes[0]
    if wanted is None:
        known = processor.settings.mention_scopes or {}
        return ("all" if first == "all" else "named"), (first if first in known else None)
    if wanted not in spec.scopes:
        text = f"{spec.title} has {' and '.join(spec.scopes)} mentions annotated, and the model looks for {wanted} ones"
        warnings.warn(f"{text}; leave mention_scope out to score what is annotated", stacklevel=3)
    return ("all" if wanted == "all" else "named"), wanted


def check_outputs(outputs: dict[str, str | Path | None], inputs: Sequence[str | Path | None]) -> None:
    """Raise `ValueError` unless files can be written, and replace neither what is read nor one another.

    Args:
        outputs: What is written, by what messages call it; None is not written.
        inputs: Files and folders that are read, and names of models on the Hub.
    """
    wanted = {name: Path(file) for name, file in outputs.items() if file is not None}
    taken = {identity for each in inputs if each is not None for identity in _files_of(Path(each))} if wanted else set()
    places: set[str] = set()
    for name, file in wanted.items():
        if not os.path.isdir(file.parent):
            raise ValueError(f"{name}: {file}: there is no folder {file.parent}; make it first")
        if file.is_dir():
            raise ValueError(f"{name}: {file}: that is a folder; name a file in it")
        if overwrites(file, taken):
            raise ValueError(f"{name}: {file}: that is a file of the corpus or the model; choose another name")
        if not file.exists() or file.is_file():
            place = os.path.realpath(file)
            if place in places:
                raise ValueError(f"{name}: {file}: that is where {' and '.join(wanted)} both go; choose another name")
            places.add(place)


def _files_of(path: Path) -> Iterator[FileIdentity]:
    """The files of a corpus, or of a folder of a model; none for the name of a model on the Hub."""
    if path.is_file() or not path.is_dir():
        files: Iterable[Path] = [path]
    else:
        files = corpus_files(path) or path.rglob("*")
    for file in files:
        identity = file_identity(file)
        if identity is not None:
            yield identity


def _by_key(documents: Iterable[_AnyDocument]) -> dict[tuple[str | int | None, str, int], _AnyDocument]:
    """Documents by id, text and number, for files of one name in several folders have one id."""
    seen: Counter[tuple[str | int | None, str]] = Counter()
    found = {}
    for document in documents:
        name: tuple[str | int | None, str] = (document.id, document.text)
        found[*name, seen[name]] = document
        seen[name] += 1
    return found


def _offsets(document: Document) -> list[tuple[int, int]]:
    return sorted(mention.offsets for cluster in document.clusters or [] for mention in cluster.mentions)


def predict(
    pipeline: CorefELPipeline, documents: Sequence[Document], path: Path, progress: Progress | None = None
) -> None:
    """Annotates documents one by one into a file of JSON lines; see `write_jsonl`."""

    def annotated() -> Iterator[AnnotatedDocument]:
        for i, document in enumerate(documents):
            yield from pipeline.annotate([document])
            if progress is not None:
                progress(i + 1, len(documents))

    write_jsonl(path, annotated())


def recall_of_spans(
    pipeline: CorefELPipeline,
    gold: Sequence[Document],
    texts: Sequence[Document] | None = None,
    *,
    max_kept_spans: int | None = None,
) -> SpanRecall:
    """How many gold mentions are among the spans that the model looks at, and among those that it keeps.

    Args:
        pipeline: The pipeline.
        gold: The documents with their clusters.
        texts: What the pipeline reads of them, as in `predict`; the text alone when None.
        max_kept_spans: Most spans of a document that the model keeps; its own bound when None.
    """
    total = SpanRecall()
    for document, text in zip(gold, texts or _texts_of(gold), strict=True):
        mentions = _offsets(document)
        whole = pipeline.model.reads_long_documents
        output = pipeline.forward(pipeline.preprocess([text], max_kept_spans=max_kept_spans, whole=whole))
        offsets = output["encoded"][0].spans.offsets.tolist()
        retained = [s for found in output["outputs"] for s in retained_spans(found)]
        total += span_recall(mentions, offsets, [offsets[s] for s in retained if s >= 0])
    return total


def read_predictions(path: str | Path) -> list[AnnotatedDocument]:
    """Reads what `predict` wrote."""
    return list(read_jsonl(path, AnnotatedDocument))


def _texts_of(documents: Sequence[Document]) -> list[Document]:
    return [Document(document.text, document.id) for document in documents]


def score(
    gold: Sequence[Document],
    predicted: Sequence[AnnotatedDocument],
    processor: CorefELProcessor,
    texts: Sequence[Document] | None = None,
    *,
    entity_map: EntityMap | Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The scores that `evaluate_corpus` returns, of predictions in the order of the gold documents."""
    kb, limit = processor.knowledge_base, processor.settings.max_candidates
    entity_map = entity_map_from(entity_map)

    def candidates(document: Document, mention: Mention) -> set[str]:
        return entities_of_span(kb, document, mention.offsets, limit)

    parts = score_documents(gold, predicted, candidates=candidates, entity_map=entity_map)
    total = sum(parts, Scores()).to_dict()
    share = candidate_share(gold, processor, texts, entity_map=entity_map)
    result: dict[str, Any] = {
        "documents": len(gold),
        "coreference": {
            "average_f1": total["coref_f1"],
            **{name: _prf(total, name) for name in ("muc", "b_cubed", "ceaf_e", "ceaf_m", "lea", "mention")},
        },
        "entity_linking": {
            name: _prf(total, key) for name, key in (("el_m", "el_mention"), ("el_h", "el_hard"), ("el_s", "el_soft"))
        },
        "linked_clusters_found": {name: total[f"{name}_cluster_accuracy"] for name in _CLUSTERS},
        "hard_cases": {"accuracy": total["hard_case_accuracy"], "mentions": int(total["hard_cases"])},
        "alias_table": share.to_dict(),
    }
    if entity_map is not None:
        sides: dict[str, Iterable[Document | AnnotatedDocument]] = {"gold": gold, "predicted": predicted}
        counts = {side: sum(map(entity_map.count, documents), MappedLinks()) for side, documents in sides.items()}
        result["entity_map"] = {
            f"{side}_links{kind}": number
            for side, count in counts.items()
            for kind, number in (("", count.links), ("_changed", count.changed))
        }
    if len(parts) > 1:
        intervals = {key: bootstrap_interval(parts, key) for key in _INTERVALS}
        result["interval_95"] = {key: f"{low:.4f} – {high:.4f}" for key, (low, high) in intervals.items()}
    return result


def _prf(scores: dict[str, float], name: str) -> dict[str, float]:
    return {part: scores[f"{name}_{part}"] for part in ("precision", "recall", "f1")}


@dataclass(frozen=True)
class TableShare:
    """What an alias table knows of a corpus.

    Attributes:
        spans_with_candidates: Candidate spans of the texts that have an entity in the table.
        gold_mentions_among_them: How many of these are gold mentions. A table made from a corpus' mentions
            gives mentions away: the nearer the share is to 1, the less finding them means.
        linked_mentions: Gold mentions with an entity.
        with_gold_candidate: How many of these have it among their own candidates.

    Example:
        >>> from hf_corefel.evaluation import TableShare
        >>> TableShare(100, 29, 40, 36).to_dict()["candidate_recall_of_linked_mentions"]
        0.9
    """

    spans_with_candidates: int
    gold_mentions_among_them: int
    linked_mentions: int
    with_gold_candidate: int

    def to_dict(self) -> dict[str, float]:
        return {
            "gold_share_of_spans_with_candidates": self.gold_mentions_among_them / max(1, self.spans_with_candidates),
            "candidate_recall_of_linked_mentions": self.with_gold_candidate / max(1, self.linked_mentions),
        }


def candidate_share(
    gold: Sequence[Document],
    processor: CorefELProcessor,
    texts: Sequence[Document] | None = None,
    *,
    entity_map: EntityMap | Mapping[str, str] | None = None,
) -> TableShare:
    """Counts over documents how far having candidates gives away being a mention, and the table's recall.

    Args:
        gold: The documents with their clusters.
        processor: Looks spans up.
        texts: What the processor reads of them; the text alone when None, without a corpus' own candidate lists.
        entity_map: Which names of entities mean one thing; None compares them as they are.
    """
    counts, entity_map = [0, 0, 0, 0], entity_map_from(entity_map)
    for document, text in zip(gold, texts or _texts_of(gold), strict=True):
        encoded = processor.encode(text)
        rows, names = encoded.candidate_rows, encoded.entities
        if entity_map is not None:
            document, (rows, names) = entity_map.document(document), _rows_by_name(rows, map(entity_map, names))
        aligned = align_clusters(document.clusters or [], encoded.spans.offsets, rows, names)
        having = {tuple(o) for o in encoded.spans.offsets[(encoded.candidate_rows >= 0).any(axis=1)].tolist()}
        mentions = {m.offsets: c.entity for c in document.clusters or [] for m in c.mentions}
        linked = aligned.report.linked_mentions
        counts[0] += len(having)
        counts[1] += sum(offsets in mentions for offsets in having)
        counts[2] += linked
        counts[3] += linked - aligned.report.linked_mentions_without_candidate
    return TableShare(*counts)


def _rows_by_name(rows: np.ndarray, names: Iterable[str]) -> tuple[np.ndarray, list[str]]:
    """Candidates with one row for all entities of one name, and the names of these rows."""
    numbers: dict[str, int] = {}
    # Behind the last stands padding, which is -1.
    row_of = np.array([*(numbers.setdefault(name, len(numbers)) for name in names), -1])
    return row_of[rows], list(numbers)
