"""What is stored of a run: predictions as ids and offsets, counts of every metric a document, cost and versions.

No text is stored, and no gold: the counts (of what was right, predicted and annotated in each document) are all that
tables, curves and intervals are made from.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_corefel import AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.metrics import Scores, score_document

__all__ = [
    "RESULTS",
    "SHARES",
    "SIZES",
    "PartCounts",
    "document_counts",
    "is_stored",
    "read_counts",
    "read_predictions",
    "read_record",
    "write_counts",
    "write_prediction_rows",
    "write_predictions",
    "write_record",
]

RESULTS = Path(__file__).parent / "results"
RECORD = "run.json"

# Linked clusters by their number of mentions: the least of each group.
SIZES = (1, 2, 3, 5, 9)
# Gold linked clusters by the share of their mentions whose own candidates have the entity: the most of each group.
SHARES = (0.0, 0.5, 0.999, 1.0)
_SIDES = ("precision_numerator", "precision_denominator", "recall_numerator", "recall_denominator")


@dataclass(frozen=True)
class PartCounts:
    """Counts of a part of a corpus.

    Attributes:
        documents: Ids of the documents.
        names: Names of the counts.
        numbers: The counts, float64 [documents, names].
    """

    documents: list[str]
    names: list[str]
    numbers: NDArray[np.float64]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self.numbers[:, self.names.index(name)]


def document_counts(
    gold: Document, predicted: AnnotatedDocument, candidates: dict[tuple[int, int], set[str]]
) -> dict[str, float]:
    """Return the counts of one document by name.

    Args:
        gold: The document with its clusters.
        predicted: What was found in its text.
        candidates: The entities that the text of each gold mention may stand for.
    """
    scores = score_document(gold, predicted, candidates=lambda document, mention: candidates[mention.offsets])
    counts = _named(scores)
    links = [_keys(clusters) for clusters in (gold.clusters or [], predicted.clusters)]
    found = links[0] & links[1]
    for kind, several in (("found", found), ("predicted", links[1]), ("gold", links[0])):
        for least, group in zip(SIZES, _by_size(several), strict=True):
            counts[f"size_{least}_{kind}"] = float(group)
    for most in SHARES:
        counts[f"share_{most:g}_found"] = counts[f"share_{most:g}_gold"] = 0.0
    linked = having = 0
    for mentions, entity in links[0]:
        known = sum(entity in candidates[mention] for mention in mentions)
        linked, having = linked + len(mentions), having + known
        group = next(most for most in SHARES if known / len(mentions) <= most)
        counts[f"share_{group:g}_found"] += float((mentions, entity) in found)
        counts[f"share_{group:g}_gold"] += 1.0
    counts["linked_mentions"], counts["linked_mentions_with_candidate"] = float(linked), float(having)
    return counts


def _named(scores: Scores) -> dict[str, float]:
    counts = {f"{name}_{side}": getattr(c, side) for name, c in scores.counts.items() for side in _SIDES}
    counts |= {"hard_correct": float(scores.hard_cases.correct), "hard_total": float(scores.hard_cases.total)}
    for kind in ("singleton", "multi_mention", "one_surface", "several_surfaces"):
        share = getattr(scores.clusters, kind)
        counts |= {f"{kind}_found": share.found, f"{kind}_gold": share.total}
    return counts


def _keys(clusters: Sequence[Cluster]) -> set[tuple[frozenset[tuple[int, int]], str]]:
    return {(frozenset(m.offsets for m in c.mentions), c.entity) for c in clusters if c.entity is not None}


def _by_size(clusters: Iterable[tuple[frozenset[tuple[int, int]], str]]) -> list[int]:
    numbers = [0] * len(SIZES)
    for mentions, _ in clusters:
        numbers[max(i for i, least in enumerate(SIZES) if len(mentions) >= least)] += 1
    return numbers


# Files ------------------------------------------------------------------------------------------------


def write_counts(path: Path, documents: Sequence[str], counts: Sequence[dict[str, float]]) -> None:
    """Write the counts of a part, gzipped JSON; the same counts make the same bytes."""
    names = list(counts[0])
    rows = [[_short(row[name]) for name in names] for row in counts]
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    head = json.dumps({"names": names, "documents": list(documents)}, ensure_ascii=False)
    _write(path, f'{head[:-1]}, "counts": [\n{lines}\n]}}\n')


def _short(value: float) -> float | int:
    return int(value) if value == int(value) else round(value, 6)


def read_counts(path: Path) -> PartCounts:
    """Read what `write_counts` wrote.

    Raises:
        ValueError: When the file is missing or damaged; the message names it.
    """
    with _naming(path):
        content = json.loads(gzip.decompress(path.read_bytes()))
        documents, names = content["documents"], content["names"]
        numbers = np.array(content["counts"], dtype=np.float64).reshape(len(documents), len(names))
        return PartCounts(documents, names, numbers)


def write_predictions(path: Path, documents: Sequence[AnnotatedDocument]) -> None:
    """Write predictions without text, gzipped JSON lines.

    Of each document its id, of each cluster its entity, the probability of that, and its mentions as begin, end and
    probability.
    """
    write_prediction_rows(path, (document.to_dict() for document in documents))


def write_prediction_rows(path: Path, documents: Iterable[Mapping[str, Any]]) -> None:
    """As `write_predictions`, of predictions as the dicts that files of them hold."""
    lines = []
    for document in documents:
        clusters = [
            [
                cluster["entity"],
                _rounded(cluster.get("probability")),
                [[m["begin"], m["end"], _rounded(m.get("probability"), 2)] for m in cluster["mentions"]],
            ]
            for cluster in document["clusters"]
        ]
        row = {"id": document.get("id"), "clusters": clusters}
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    _write(path, "".join(f"{line}\n" for line in lines))


def _rounded(probability: float | None, digits: int = 3) -> float | None:
    return None if probability is None else round(probability, digits)


def read_predictions(path: Path, texts: Mapping[str, str]) -> list[AnnotatedDocument]:
    """Read what `write_predictions` wrote.

    Args:
        path: The file.
        texts: The texts of the documents, by their ids as strings.

    Raises:
        ValueError: When the file is missing or damaged, or there is no text of a document; the message names it.
    """
    documents = []
    with _naming(path):
        for line in gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]:
            row = json.loads(line)
            clusters = [
                Cluster(tuple(Mention(b, e, probability=p) for b, e, p in mentions), entity, probability)
                for entity, probability, mentions in row["clusters"]
            ]
            if (text := texts.get(str(row["id"]))) is None:
                raise ValueError(f"the corpus has no document {row['id']!r}")
            documents.append(AnnotatedDocument(text, clusters, row["id"]))
    return documents


def _write(path: Path, text: str) -> None:
    # Without the time of writing, so that the same results make the same file.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write what was run, where and at what cost."""
    (folder / RECORD).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read what `write_record` wrote; None where there is nothing.

    Raises:
        ValueError: When the file is damaged; the message names it.
    """
    path = folder / RECORD
    if not is_stored(folder):
        return None
    with _naming(path):
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(record[field], dict) for field in ("run", "cost")):
            raise ValueError("expected objects in the fields run and cost")
        return record


def is_stored(folder: Path) -> bool:
    """Return whether a folder has the record of a run, whatever is in it."""
    return (folder / RECORD).is_file()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file of a run where it is missing or holds something else."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"{path}: missing; remove the folder and run it again") from None
    except (ValueError, LookupError, TypeError, EOFError, RecursionError, gzip.BadGzipFile, zlib.error) as error:
        why = f"damaged, or of other documents ({type(error).__name__}: {error})"
        raise ValueError(f"{path}: {why}; remove the folder and run it again") from error
