"""What the command shows a person: tables of clusters and of scores, and the progress bar."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from textwrap import wrap
from typing import Any, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ..documents import AnnotatedDocument, Chain, Cluster, Mention, Offsets
from ..formats.wording import alternatives_line, chain_line, counts_line, facts_line, first_warnings, more_warnings_line
from ..utils.characters import marked, printable
from .messages import writing_to_stdout

__all__ = [
    "LEGEND",
    "ProgressBar",
    "clusters_table",
    "document_heading",
    "make_console",
    "printable",
    "scores_table",
    "show",
    "show_document",
]

PIPED_WIDTH = 100
_ENTITY_WIDTH = 56
_NARROWEST_ENTITY = 24
# Above a table; a page and JSON have all.
_MOST_WARNINGS = 10
LEGEND = Text(
    "P: probability of the entity, or of NIL (nothing in the knowledge base).\n"
    "Mentions: offsets in code points, end exclusive (probability that the span is a mention).",
    style="dim",
)


def make_console(stream: TextIO | None = None) -> Console:
    """A console on ``stream``, by default standard output.

    On a terminal it follows the terminal; anywhere else it is 100 columns wide and free of control
    codes, so that what lands in a file or a pipe is the same on every machine.
    """
    stream = sys.stdout if stream is None else stream
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, width=PIPED_WIDTH, force_terminal=False, color_system=None, highlight=False)


def show(*parts: Text | Table, stream: TextIO | None = None) -> None:
    """Prints on ``stream``, by default standard output; off a terminal without the spaces that pad a last column."""
    console = make_console(stream)
    with writing_to_stdout() if stream is None else nullcontext():
        with nullcontext() if console.is_terminal else console.capture() as capture:
            for part in parts:
                # A long file name in a line of text stays in one piece.
                console.print(_Harmless(part), soft_wrap=isinstance(part, Text))
        if capture is not None:
            lines = capture.get().split("\n")
            print("\n".join(line.rstrip() for line in lines), end="", flush=True, file=stream)


class _Harmless:
    """What is shown, without characters that would command the terminal, for what nobody has made `printable`."""

    def __init__(self, part: Text | Table) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._part, options):
            if segment.control or segment.text == "\n" or segment.text.isprintable():
                yield segment
            else:
                yield Segment("\n".join(map(marked, segment.text.split("\n"))), segment.style)


def _mentions_cell(mentions: tuple[Mention, ...], chains: Mapping[Offsets, Chain]) -> Text:
    """One line a surface form, in order of first appearance, with all of its offsets; with evidence, one a mention."""
    places: dict[Any, tuple[str, list[str], str]] = {}
    for mention in mentions:
        place = f"{mention.begin}–{mention.end}"
        if mention.probability is not None:
            place += f" ({mention.probability:.2f})"
        surface, chain = printable(mention.text or ""), chains[mention.offsets]
        evidence = printable(chain_line(mention, chain))[len(surface) :] if chain else ""
        key = mention.offsets if chain else surface
        places.setdefault(key, (surface, [], evidence))[1].append(place)
    lines = [
        Text.assemble((surface, "bold"), " ", ", ".join(found), (evidence, "dim"))
        for surface, found, evidence in places.values()
    ]
    return Text("\n").join(lines)


def _entity_cell(cluster: Cluster, width: int) -> Text:
    lines = [Text("NIL", style="dim")] if cluster.entity is None else _folded(cluster.entity, "green", width)
    if cluster.entity is not None and cluster.url is not None:
        lines += _folded(cluster.url, "blue", width)
    if facts := facts_line(cluster):
        lines += _folded(facts, "dim", width)
    if others := alternatives_line(cluster):
        lines += [part for line in wrap(f"or {printable(others)}", width) for part in _folded(line, "dim", width)]
    return Text("\n").join(lines)


def _folded(text: str, style: str, width: int) -> list[Text]:
    """The text in lines of at most `width` columns, of which some characters take two."""
    lines, used = [""], 0
    for character in printable(text):
        columns = cell_len(character)
        if used + columns > width:
            lines.append("")
            used = 0
        lines[-1] += character
        used += columns
    return [Text(line, style=style) for line in lines]


def document_heading(name: str, document: AnnotatedDocument) -> Text:
    """``news.txt: 3 clusters, 7 mentions``."""
    return Text.assemble((printable(name), "bold"), f": {counts_line(document.clusters)}")


def show_document(document: AnnotatedDocument, stream: TextIO | None = None) -> None:
    """Prints heading, warnings, table and resolved text of a document."""
    name = "" if document.id is None else str(document.id)
    show(document_heading(name, document), *_warning_lines(document), Text(), stream=stream)
    if document.clusters:
        show(clusters_table(document, make_console(stream).width), Text(), stream=stream)
    if document.resolved_text is not None:
        lines = [printable(line) for line in document.resolved_text.splitlines()]
        show(Text("Resolved text", style="bold"), Text("\n".join(lines)), Text(), stream=stream)


def _warning_lines(document: AnnotatedDocument) -> list[Text]:
    shown, more = first_warnings(document.warnings, _MOST_WARNINGS)
    lines = [Text.assemble(("warning: ", "yellow"), printable(warning)) for warning in shown]
    return [*lines, Text(f"{more_warnings_line(more)}: --format json has all", style="yellow")] if more else lines


def clusters_table(document: AnnotatedDocument, width: int = PIPED_WIDTH) -> Table:
    """A row a cluster: entity and URL or NIL, probability, mentions with offsets and probabilities.

    Args:
        document: The annotated document.
        width: Columns of the screen, of which the mentions keep at least 40.
    """
    entity_width = min(_ENTITY_WIDTH, max(_NARROWEST_ENTITY, width - 40))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    # A URL that is broken over two lines cannot be clicked or copied: mentions give way instead.
    table.add_column("Entity", no_wrap=True)
    table.add_column("P", justify="right", no_wrap=True)
    table.add_column("Mentions", overflow="fold")
    chains = document.chains()
    for cluster in document.clusters:
        probability = "" if cluster.probability is None else f"{cluster.probability:.2f}"
        table.add_row(_entity_cell(cluster, entity_width), probability, _mentions_cell(cluster.mentions, chains))
    return table


def _rows(scores: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in scores.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{key} / ")
        else:
            yield f"{prefix}{key}", value


def scores_table(scores: Mapping[str, Any]) -> Table:
    """A row a number of a (nested) mapping: ``coreference / muc / f1   0.8123``."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("Score", overflow="fold")
    table.add_column("Value", justify="right", overflow="fold")
    for name, value in _rows(scores):
        table.add_row(Text(name), Text(f"{value:.4f}" if isinstance(value, float) else str(value)))
    return table


class ProgressBar:
    """A bar on standard error that steps aside while a result is printed.

    Rich would otherwise send what goes to standard output to standard error while its bar is shown,
    where a redirection to a file does not see it. Where standard error is no terminal there is no bar.
    """

    def __init__(self, description: str, total: int | None, *, shown: bool) -> None:
        console = Console(stderr=True)
        self._shown = shown and console.is_interactive
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not self._shown,
        )
        self._task = self._progress.add_task(description, total=total)

    @staticmethod
    def can_be_seen() -> bool:
        """Whether standard error is a terminal."""
        return Console(stderr=True).is_interactive

    def __enter__(self) -> ProgressBar:
        if self._shown:
            self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._shown:
            self._progress.stop()

    def advance(self) -> None:
        """One more is done."""
        self._progress.advance(self._task)

    def update(self, done: int, total: int) -> None:
        """``done`` of ``total`` are done."""
        self._progress.update(self._task, completed=done, total=total)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While inside, the bar is off the screen."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()
