"""``hf-corefel kb from-wikipedia`` and ``kb from-wikidata``: knowledge bases from dumps."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from .messages import complain, fail
from .options import QuietOption, knowledge_base_folder
from .rendering import printable, show

if TYPE_CHECKING:
    from ..kb import KnowledgeBase
    from ..wikipedia.base_building import Step

__all__ = ["from_wikidata", "from_wikipedia"]

_PROBLEMS = {
    "truncated": "places where a file or page ends too early",
    "damaged": "damaged parts of a file",
    "broken_xml": "pages of broken XML",
    "control_characters": "titles with control characters",
    "too_big": "pages that are too large",
    "no_title": "pages without a title",
    "bad_field": "pages whose number or namespace is no number",
    "self_redirect": "redirects to themselves",
    "not_wikitext": "pages of data or code",
    "bad_line": "lines that are not what the dump promises",
    "failed": "pages that could not be read",
}

OutOption = Annotated[Path, typer.Option("--out", metavar="KB", help="Where to save it.", show_default=False)]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Processes that read at once; as many as there are cores when left out.")
]
WorkDirOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Where finished work is kept, for a run that goes on after this one was stopped, or that chooses "
        "otherwise; KB.work when left out, and then it is removed at the end.",
        show_default=False,
    ),
]
MaxCandidatesOption = Annotated[int, typer.Option(min=1, help="Keep so many candidates of a surface.")]
VectorsOption = Annotated[
    str | None,
    typer.Option("--vectors-of", metavar="DIR", help="Take the vectors of a knowledge base or model, or bundled."),
]


def from_wikipedia(
    dump: Annotated[
        list[Path],
        typer.Argument(
            metavar="DUMP...",
            help="pages-articles of a Wikipedia, .xml, also .bz2, .gz or .zst; all parts of it. The multistream files "
            "are read by several processes at once.",
            show_default=False,
        ),
    ],
    out: OutOption,
    page_props: Annotated[
        Path | None, typer.Option(metavar="SQL", help="The dump of page_props, for Wikidata ids.", show_default=False)
    ] = None,
    wikidata: Annotated[
        Path | None,
        typer.Option(
            metavar="JSON", help="A dump of Wikidata, for labels, aliases, descriptions and types.", show_default=False
        ),
    ] = None,
    min_links: Annotated[int, typer.Option(min=0, help="Leave entities out that fewer links lead to.")] = 0,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Read only the first N pages.", show_default=False)
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="That of the dump, such as en, where it does not say.", show_default=False),
    ] = None,
    workers: WorkersOption = None,
    work_dir: WorkDirOption = None,
    max_candidates: MaxCandidatesOption = 30,
    vectors_of: VectorsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Build a knowledge base from a dump of Wikipedia.

    Titles, redirects, disambiguation pages and the texts of links become surfaces, with priors by how often each is a
    link to an entity, and a link at all. The same command goes on where one was that was stopped.
    """
    with _built(out, quiet=quiet) as tell:
        from ..wikipedia.from_dump import build_from_wikipedia

        report = build_from_wikipedia(
            dump,
            out,
            page_props=page_props,
            wikidata=wikidata,
            min_links=min_links,
            limit=limit,
            language=language,
            workers=workers,
            work_dir=work_dir,
            max_candidates=max_candidates,
            vectors_of=_vectors(vectors_of),
            stage=tell,
        )
    _show_report(out, report, quiet=quiet)


def from_wikidata(
    wikidata: Annotated[
        Path,
        typer.Argument(metavar="JSON", help="A dump of Wikidata, .json, also .bz2, .gz or .zst.", show_default=False),
    ],
    out: OutOption,
    language: Annotated[str, typer.Option(metavar="CODE", help="That of labels and aliases, such as en.")] = "en",
    workers: WorkersOption = None,
    work_dir: WorkDirOption = None,
    max_candidates: MaxCandidatesOption = 30,
    vectors_of: VectorsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Build a knowledge base from a dump of Wikidata alone.

    Titles, labels and aliases become surfaces. Nobody knows here how often each is used: a title counts most, then a
    label, then an alias.
    """
    with _built(out, quiet=quiet) as tell:
        from ..wikipedia.from_items import build_from_wikidata

        report = build_from_wikidata(
            wikidata,
            out,
            language=language,
            workers=workers,
            work_dir=work_dir,
            max_candidates=max_candidates,
            vectors_of=_vectors(vectors_of),
            stage=tell,
        )
    _show_report(out, report, quiet=quiet)


def _vectors(name: str | None) -> KnowledgeBase | None:
    from ..kb import KnowledgeBase

    return None if name is None else KnowledgeBase.from_pretrained(knowledge_base_folder(name))


@contextmanager
def _built(out: Path, *, quiet: bool) -> Iterator[Any]:
    """Show a bar while inside, and say what is wrong in one line; warnings are printed too, unless quiet."""
    bar = _Bar(shown=not quiet)
    try:
        with bar, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield bar.tell
    except (OSError, ValueError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is not None:
            reason = f"{os.fsdecode(error.filename)}: {error.strerror}"
        fail(f"cannot build {out}: {' '.join(reason.splitlines())}")
    except MemoryError:
        fail(f"cannot build {out}: it takes more memory than there is; try fewer --workers")
    for warning in [] if quiet else caught:
        complain(f"warning: {warning.message}")


class _Bar:
    """A bar on standard error, where that is a terminal: what is done, how much of it, pages a second, time left."""

    def __init__(self, *, shown: bool) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not (shown and console.is_interactive),
        )
        self._name: str | None = None
        self._task: Any = None
        self._begun = 0.0

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def tell(self, step: Step) -> None:
        """Show where the work is."""
        if step.name != self._name:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._name, self._begun = step.name, time.monotonic()
            self._task = self._progress.add_task(step.name, total=step.total or None, rate="")
        seconds = time.monotonic() - self._begun
        rate = f"{step.pages:,} pages, {step.pages / seconds:,.0f} a second" if step.pages and seconds > 0 else ""
        self._progress.update(self._task, completed=step.done, total=step.total or None, rate=rate)


def _show_report(out: Path, report: Mapping[str, Any], *, quiet: bool) -> None:
    read = report["read"]
    problems = {kind: found for kind, found in report["problems"].items() if found["count"]}
    if not quiet:
        for kind, found in problems.items():
            complain(f"warning: {found['count']:,} {_words(kind)}, such as {found['examples'][0]}")
    parts = [f"{count:,} {kind}" for kind, count in read.items()]
    lines = [
        Text(
            f"{printable(str(out))}: {report['entities']:,} entities, {report['surfaces']:,} surfaces, "
            f"{report['candidates']:,} candidates"
        ),
        Text(f"read: {', '.join(parts)}"),
    ]
    left_out = [f"{count:,} {what}" for what, count in report["left out"].items() if count]
    left_out += [f"{found['count']:,} {_words(kind)}" for kind, found in problems.items()]
    lines.append(Text(f"left out: {', '.join(left_out) or 'nothing'}; see {printable(str(out / 'report.json'))}"))
    show(*lines)


def _words(kind: str) -> str:
    """What messages call problems of a kind, after their number."""
    return _PROBLEMS.get(kind, f"of the kind {kind!r}")
