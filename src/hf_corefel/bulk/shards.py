"""Shards: parts of the input, cut by number and length alone, and what a worker makes of each."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..documents import AnnotatedDocument, Document
from ..formats.json_text import json_text
from ..formats.parquet import Parquet
from ..formats.writer import Losses
from ..utils.files import sha256_of
from .annotator import Annotator, BulkError, Failure
from .inputs import Inputs
from .job_folder import ShardEntry, put_in_place

__all__ = ["FORMATS_OF_SHARDS", "Cut", "Shard", "ShardWorker", "cut", "cut_and_checked"]

# Endings of the files of results, by the names of their formats.
FORMATS_OF_SHARDS = {"jsonl": ".jsonl", "jsonl.gz": ".jsonl.gz", "parquet": ".parquet"}
# Characters of a shard, which is what a worker has in memory.
_MOST_CHARACTERS = 16_000_000
# Characters that are read at once: documents times the longest of them.
_MOST_AT_ONCE = 64_000
_ADDRESSES = re.compile(" at 0x[0-9a-fA-F]+")


class Shard(NamedTuple):
    """A part of the input: documents in their order, and failures in place of what could not be read."""

    number: int
    items: list[Document | Failure]
    digest: str


def cut(items: Iterable[Document | Failure], size: int) -> Iterator[Shard]:
    """Cut a stream into shards of so many documents, fewer where these are long; the same input gives the same ones."""
    number, characters, held = 0, 0, list[Document | Failure]()

    def ended() -> Shard:
        nonlocal number, characters, held
        digest = hashlib.blake2b(digest_size=16)
        for item in held:
            digest.update(_told(item).encode("utf-8", "surrogatepass"))
        shard = Shard(number, held, digest.hexdigest())
        number, characters, held = number + 1, 0, []
        return shard

    for item in items:
        length = len(item.text if isinstance(item, Document) else item.error)
        if held and characters + length > _MOST_CHARACTERS:
            yield ended()
        held.append(item)
        characters += length
        if len(held) == size:  # at once: a stream may wait long before it gives the next one
            yield ended()
    if held:
        yield ended()


def _told(item: Document | Failure) -> str:
    """The item in letters, which are the same in every process: without addresses of objects in its other fields."""
    told = repr(item)
    if " at 0x" in told and isinstance(item, Document) and " at 0x" in (extra := repr(item.extra)):
        return repr(replace(item, extra={})) + _ADDRESSES.sub("", extra)
    return told


class Cut(NamedTuple):
    """A shard that has been cut off.

    Attributes:
        shard: The shard.
        read: Documents of the input so far, those of the shard among them.
        fraction: How much of the input that is; None where nobody knows.
        is_done: Whether an earlier run has done it.
    """

    shard: Shard
    read: int
    fraction: float | None
    is_done: bool


def cut_and_checked(source: Inputs, size: int, known: Mapping[int, str], folder: Path) -> Iterator[Cut]:
    """Yield the shards of the inputs of a job, and compare them with those that are done.

    Args:
        source: The inputs.
        size: Documents of a shard.
        known: Hashes of the shards that are done, by their numbers.
        folder: The folder of the job, for messages.

    Raises:
        BulkError: When the inputs are not those that the job was begun with.
    """
    changed = f"{folder}: the inputs are not those that the job was begun with"
    number, read = -1, 0
    for shard in cut(source, size):
        number, read = shard.number, read + len(shard.items)
        if known.get(number, shard.digest) != shard.digest:
            raise BulkError(f"{changed}: the documents of shard {number} differ; name another folder")
        yield Cut(shard, read, source.fraction, number in known)
    if any(other > number for other in known):
        raise BulkError(f"{changed}: they end before shard {max(known)}; name another folder")


@dataclass
class ShardWorker:
    """Annotates a shard and writes its files; a worker process has one.

    Args:
        folder: The folder of the job.
        kind: The format of the results.
        annotator: Annotates documents.
        batch_size: How many documents are read at once, where they are at all.
        in_process: Whether it is in the process of the job itself, whose settings are left alone.
    """

    folder: Path
    kind: str
    annotator: Annotator
    batch_size: int
    in_process: bool
    _ready: bool = field(default=False, init=False)

    def __call__(
        self, shard: Shard, alone: Sequence[int], lost: Mapping[int, str], report: Callable[..., None]
    ) -> ShardEntry:
        """Annotate a shard and put its files in place.

        Args:
            shard: The shard.
            alone: Places of documents that are read by themselves, before the others.
            lost: Errors of documents that are not read, by their places.
            report: Told ``"reads"`` with the places of the documents that are read next, ``"read"`` with the numbers
                of those that have been, and of those that failed among them, and ``"says"`` with what is to be known.

        Raises:
            BulkError: When the pipeline cannot be loaded.
            OSError: When a file cannot be written.
        """
        if not self._ready:
            self._prepare(report)
        found = self._annotated(shard, alone, lost, report)
        report("writes")
        failures = [item.to_dict() for item in found if isinstance(item, Failure)]
        results = [item for item in found if not isinstance(item, Failure)]
        return self._written(shard, results, failures)

    def _prepare(self, report: Callable[..., None]) -> None:
        self.annotator.has_process = not self.in_process
        self.annotator.say = lambda message: report("says", message)
        self.annotator.load()
        self._ready = True

    def _annotated(
        self, shard: Shard, alone: Sequence[int], lost: Mapping[int, str], report: Callable[..., None]
    ) -> list[bytes | AnnotatedDocument | Failure]:
        found: dict[int, Any] = {}
        documents: dict[int, Document] = {}
        for place, item in enumerate(shard.items):
            if isinstance(item, Failure):
                found[place] = item
            elif place in lost:
                found[place] = Failure("" if item.id is None else item.id, lost[place])
            else:
                documents[place] = item
        if found:
            report("read", len(found), len(found))
        for pack in self._packs(documents, alone):
            report("reads", *pack)
            results = [self._encoded(result) for result in self.annotator([documents[place] for place in pack])]
            found.update(zip(pack, results, strict=True))
            report("read", len(pack), sum(isinstance(result, Failure) for result in results))
        return [found[place] for place in range(len(shard.items))]

    def _packs(self, documents: Mapping[int, Document], alone: Sequence[int]) -> Iterator[list[int]]:
        """The places of documents that are read at once: of similar length, the longest first."""
        yield from ([place] for place in alone if place in documents)
        rest = [place for place in documents if place not in set(alone)]
        if self.batch_size == 1 or not self.annotator.packs:
            yield from ([place] for place in rest)
            return
        rest.sort(key=lambda place: -len(documents[place].text))
        while rest:
            longest = max(1, len(documents[rest[0]].text))
            size = max(1, min(self.batch_size, _MOST_AT_ONCE // longest))
            yield rest[:size]
            rest = rest[size:]

    def _encoded(self, result: AnnotatedDocument | Failure) -> bytes | AnnotatedDocument | Failure:
        """A result as the line that it becomes, so that one that is no JSON costs no other."""
        if isinstance(result, Failure) or self.kind == "parquet":
            return result
        try:
            return (json_text(result.to_dict()) + "\n").encode("utf-8")
        except (TypeError, ValueError, RecursionError) as error:
            return Failure("" if result.id is None else result.id, f"the result cannot be written as JSON: {error}")

    def _written(self, shard: Shard, results: list[Any], failures: list[dict[str, Any]]) -> ShardEntry:
        name = f"part-{shard.number:06d}{FORMATS_OF_SHARDS[self.kind]}"
        failed = f"failed-{shard.number:06d}.jsonl"
        if failures:
            with put_in_place(self.folder / failed) as place:
                place.write_text("".join(json_text(failure) + "\n" for failure in failures), encoding="utf-8")
        else:
            (self.folder / failed).unlink(missing_ok=True)
        size, digest = 0, None
        if results:
            with put_in_place(self.folder / name) as place:
                self._write(place, results)
                size, digest = place.stat().st_size, sha256_of(place)
        else:
            (self.folder / name).unlink(missing_ok=True)
        return ShardEntry(
            shard.number,
            len(shard.items),
            len(failures),
            name if results else None,
            size,
            digest,
            failed if failures else None,
            shard.digest,
        )

    def _write(self, place: Path, results: list[Any]) -> None:
        if self.kind == "parquet":
            pieces: Iterable[bytes] = Parquet().write(results, Losses())
        else:
            data = b"".join(results)
            # Without a time and a name, so that the same results are the same bytes.
            pieces = [gzip.compress(data, mtime=0) if self.kind == "jsonl.gz" else data]
        with place.open("wb") as file:
            for piece in pieces:
                file.write(piece)
