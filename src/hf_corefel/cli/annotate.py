"""``hf-corefel annotate``: texts and documents in, clusters with entities out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..bulk import sources
from ..documents import AnnotatedDocument, Document, DocumentError
from ..documents.extra_fields import ExtraFields
from ..formats.jsonl import MAX_LINE_BYTES
from .bulk import Job, means_job, run_job
from .inputs import InputFormat, Reading, UnreadableInputError, count_documents
from .messages import TRACEBACK_VARIABLE, complain, fail, warnings_as_messages
from .notices import WarningNotices, seen_together
from .options import (
    BackendOption,
    DtypeOption,
    KnowledgeBaseOption,
    MaxKeptSpansOption,
    ModelOption,
    OutputFormatOption,
    QuietOption,
    RevisionOption,
    TokenOption,
    TrustOption,
    chosen_format,
    computed_by,
    hub_access,
    knowledge_base_folder,
)
from .outputs import Output, UnwritableOutputError
from .rendering import ProgressBar
from .silence import silent_transformers

__all__ = ["EntityId", "MentionScope", "annotate", "load_or_fail"]


class EntityId(StrEnum):
    """`decoding.entity_options.ENTITY_IDS` as choices."""

    NAME = "name"
    WIKIDATA = "wikidata"


class MentionScope(StrEnum):
    """`documents.MENTION_SCOPES` as choices."""

    NAMED = "named"
    ALL = "all"
    ENTITIES = "entities"


class Engine(StrEnum):
    """`bulk.job.ENGINES` as choices."""

    LOCAL = "local"
    RAY = "ray"


# Words of a document unless told otherwise.
MAX_DOCUMENT_WORDS = 100_000
# What a page shows at a mention, unless told otherwise.
_ON_A_PAGE = {"evidence": True, "top_k": 3}


def annotate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="UTF-8 files: a text each, or documents (.jsonl, .parquet), also .gz and .zst; - is standard input; "
            "folders of these; datasets (ORG/NAME, datasets:FOLDER).",
        ),
    ],
    kind: OutputFormatOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|DIR",
            help="A file for all, or a folder (DIR/) for a file a document, or for shards of many documents.",
        ),
    ] = None,
    input_kind: Annotated[
        InputFormat | None,
        typer.Option(
            "--input-format", help="A text a file, a document a line or a row; what the name says if left out."
        ),
    ] = None,
    model: ModelOption = None,
    revision: RevisionOption = None,
    token: TokenOption = None,
    knowledge_base: KnowledgeBaseOption = None,
    trust_remote_code: TrustOption = False,
    mention_scope: Annotated[
        MentionScope | None,
        typer.Option(
            help="Mentions to look for: names of entities, names with demonyms, roles and dates (named), or all with "
            "pronouns; the model's default if left out."
        ),
    ] = None,
    evidence: Annotated[
        bool | None,
        typer.Option("--evidence/--no-evidence", help="What each mention hangs from; a page shows it by default."),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=0, help="Alternatives a cluster, NIL among them; 3 by default on a page, else 0.")
    ] = None,
    resolved_text: Annotated[
        bool, typer.Option("--resolved-text", help="Also the text with the names of its clusters for mentions.")
    ] = False,
    min_probability: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Less probable links become NIL, such mentions are dropped.")
    ] = None,
    entity_id: Annotated[
        EntityId | None,
        typer.Option(
            "--id", help="What entities are called: as in the knowledge base, or by their Wikidata ids where known."
        ),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE,…",
            help="Only clusters of entities of these types, such as person,place; others are left out.",
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Where the model runs: cpu, cuda, cuda:1, mps …")] = None,
    backend: BackendOption = None,
    dtype: DtypeOption = None,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Documents that the model reads at once; 1 by default, for shards see --pack."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Shards of results: processes that annotate, each with one thread; 1 by default."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Shards: go on where an earlier run of the same command was stopped.")
    ] = False,
    engine: Annotated[
        Engine | None,
        typer.Option(
            help="Shards: processes of this machine, or actors of Ray in the cluster of RAY_ADDRESS, or in one that is "
            "started here."
        ),
    ] = None,
    shard_size: Annotated[int | None, typer.Option(min=1, help="Shards: documents of each; 1,000 by default.")] = None,
    compress: Annotated[bool, typer.Option("--compress", help="Shards: JSON lines as .jsonl.gz.")] = False,
    pack: Annotated[
        bool | None,
        typer.Option(
            "--pack/--no-pack",
            help="Shards: read --batch-size (16) documents of similar length at once, which changes the last digits of "
            "probabilities; by default on a GPU only.",
        ),
    ] = None,
    text_column: Annotated[str, typer.Option(help="The column of the texts, in tables and datasets.")] = "text",
    split: Annotated[str, typer.Option(help="The part of a dataset to read.")] = "train",
    max_document_words: Annotated[
        int, typer.Option(min=1, help="A longer document is reported, and the others are done.")
    ] = MAX_DOCUMENT_WORDS,
    max_kept_spans: MaxKeptSpansOption = None,
    max_line_bytes: Annotated[
        int, typer.Option(min=1, help="Bytes of a text, or of a line of documents when decompressed; likewise.")
    ] = MAX_LINE_BYTES,
    quiet: QuietOption = False,
) -> None:
    """Annotate texts: clusters of mentions, each with its entity or NIL.

    A line of a .jsonl file is an object with "text", and what is known of it already: "id", "mentions", "candidates" …
    Its other fields are carried over to lines of JSON as they are.
    Many documents go into shards in a folder, with a manifest, by one or more worker processes (--workers), and a run
    that was stopped goes on with --resume.
    A file or line that cannot be read or annotated is named on standard error, the others are done all the same,
    and the exit status is 1.
    """
    if files.count(sources.STDIN) > 1:
        fail("-: standard input can be read once; name it once")
    reading = Reading(kind=input_kind, max_bytes=max_line_bytes, text_column=text_column, split=split)
    asked = {"workers": workers, "resume": resume or None, "engine": engine, "shard_size": shard_size, "pack": pack}
    asked = {name: value for name, value in {**asked, "compress": compress or None}.items() if value is not None}
    as_job = means_job(output, files, input_kind, asked, formatted=kind is not None or as_json)
    kind = "jsonl" if as_job and kind is None else _format(kind, as_json, output)
    parameters: dict[str, Any] = {
        **(_ON_A_PAGE if kind == "html" else {}),
        **{name: value for name, value in (("evidence", evidence), ("top_k", top_k)) if value is not None},
        **({"resolved_text": True} if resolved_text else {}),
        **({} if min_probability is None else {"min_probability": min_probability}),
        **({} if max_kept_spans is None else {"max_kept_spans": max_kept_spans}),
        **({} if mention_scope is None else {"mention_scope": mention_scope.value}),
        **({} if entity_id is None else {"id": entity_id.value}),
        **({} if types is None else {"types": _types(types)}),
    }
    access = {**hub_access(revision, token), **computed_by(backend, dtype)}
    if trust_remote_code:
        access["trust_remote_code"] = True
    if as_job:
        many = Job(files, str(output), kind, model, knowledge_base, device, access, parameters, reading)
        run_job(many, asked, batch_size=batch_size, max_document_words=max_document_words, quiet=quiet)
        return
    try:
        target = Output(kind, output, files, legend=not quiet)
        notices = WarningNotices(quiet=quiet, shown=kind == "text" and output is None and seen_together())
        total = None if quiet or not ProgressBar.can_be_seen() else count_documents(files, input_kind)
        with ProgressBar("Annotating", total, shown=total != 1 and not quiet) as progress:
            job = _Job(
                lambda: load_or_fail(model, device, knowledge_base, access, quiet=quiet),
                parameters,
                progress,
                max_document_words,
                notices,
                quiet=quiet,
            )
            extra = ExtraFields(job.warn)
            items = (item for name in files for item in sources.read_documents(name, reading, extra))
            target.take(job.run(items, batch_size or 1))
        notices.finish()
        if target.losses:
            job.warn(target.losses.message(kind))
    except UnwritableOutputError as error:
        fail(f"cannot write {error}")
    if not job.begun:
        fail(f"nothing to annotate: {', '.join(files)} holds no document")
    if job.failed:
        raise typer.Exit(1)


def _types(listed: str) -> tuple[str, ...] | None:
    """The types of a list with commas; raises on the command line what names those that there are."""
    from ..decoding.entity_options import check_types

    try:
        return check_types([name.strip() for name in listed.split(",") if name.strip()])
    except ValueError as error:
        raise typer.BadParameter(str(error).removeprefix("types: "), param_hint="--types") from error


def _format(kind: str | None, as_json: bool, output: str | None) -> str:
    if as_json and kind not in (None, "jsonl"):
        fail(f"--json is the same as --format jsonl; leave it out beside --format {kind}")
    return "jsonl" if as_json else chosen_format(kind, output, default="text")


def load_or_fail(
    model: str | None, device: str | None, knowledge_base: str | None, access: dict[str, Any], *, quiet: bool
) -> Callable[..., Any]:
    """The pipeline on the bundled checkpoint or on ``model``; leaves with status 1 when it cannot be loaded."""
    from safetensors import SafetensorError

    from ..candidates import open_knowledge_base
    from ..pipeline_corefel import load_pipeline

    placed: dict[str, Any] = {**access} if device is None else {**access, "device": device}
    if knowledge_base is not None:
        try:
            folder = knowledge_base_folder(knowledge_base, token=access.get("token"))
            placed["knowledge_base"] = open_knowledge_base(folder)
        except (OSError, ValueError) as error:
            fail(f"cannot read the knowledge base {knowledge_base}: {error}")
    try:
        with warnings_as_messages(quiet=quiet), silent_transformers():
            pipeline: Callable[..., Any] = load_pipeline(model, **placed)
    # torch says in several ways that there is no such device.
    except (ImportError, OSError, TypeError, ValueError, RuntimeError, AssertionError, SafetensorError) as error:
        where = "" if device is None else f" on the device {device}"
        name = "of the package" if model is None else model or repr(model)
        fail(f"cannot load the model {name}{where}: {error or type(error).__name__}")
    return pipeline


class _Job:
    """Annotates documents with one model, which is loaded when the first one is there.

    Attributes:
        begun: Whether there was a document, or anything that could not be read.
        failed: Whether any document could not be read or annotated.
    """

    def __init__(
        self,
        load: Callable[[], Callable[..., Any]],
        parameters: dict[str, Any],
        progress: ProgressBar,
        max_document_words: int,
        notices: WarningNotices,
        *,
        quiet: bool,
    ) -> None:
        self._load, self._parameters, self._progress, self._notices = load, parameters, progress, notices
        self._max_document_words, self._quiet = max_document_words, quiet
        self._pipeline: Callable[..., Any] | None = None
        self.begun = self.failed = False

    def run(self, items: Iterable[Document | UnreadableInputError], batch_size: int) -> Iterator[AnnotatedDocument]:
        """The results in the order of the items, without those that failed; the bar is off the screen meanwhile."""
        # Brings along more than a command that is only asked for help needs.
        from ..processing import check_length

        batch: list[Document] = []
        for item in items:
            self.begun = True
            if isinstance(item, UnreadableInputError):
                self._fail(f"cannot read {item}")
                continue
            try:
                # Before it is in a batch, which it would cost a second try.
                check_length(item, self._max_document_words)
            except DocumentError as error:
                self._fail(f"cannot annotate {item.id}: {error}")
                continue
            batch.append(item)
            if len(batch) == batch_size:
                yield from self._annotated(batch)
                batch = []
        yield from self._annotated(batch)

    def _annotated(self, batch: Sequence[Document]) -> Iterator[AnnotatedDocument]:
        if not batch:
            return
        if self._pipeline is None:
            self._pipeline = self._load()
        try:
            with warnings_as_messages(quiet=self._quiet):
                found = self._pipeline(batch, batch_size=len(batch), **self._parameters)
        except Exception as error:
            # RuntimeError is also how torch says that memory ran out: the next one may be smaller.
            foreseen = isinstance(error, ValueError | RuntimeError | MemoryError | OSError)
            if not foreseen and os.environ.get(TRACEBACK_VARIABLE):
                raise
            if len(batch) > 1:
                # Each alone, so that a bad one costs no other.
                for one in batch:
                    yield from self._annotated([one])
            else:
                reason = str(error) if foreseen and str(error) else f"{type(error).__name__} {error}".rstrip()
                hint = "" if foreseen else f"; set {TRACEBACK_VARIABLE}=1 to see where it comes from"
                self._fail(f"cannot annotate {batch[0].id}: {reason}{hint}")
            return
        for source, data in zip(batch, found, strict=True):
            document = AnnotatedDocument.from_dict(data)
            if source.extra:
                document = replace(document, extra=source.extra)
            with self._progress.aside():
                yield document
                self._notices.take(document)
            self._progress.advance()

    def warn(self, message: str) -> None:
        """Prints a warning, unless quiet; the bar is off the screen meanwhile."""
        if not self._quiet:
            with self._progress.aside():
                complain(f"warning: {message}")

    def _fail(self, message: str) -> None:
        self.failed = True
        with self._progress.aside():
            complain(message)
        self._progress.advance()
