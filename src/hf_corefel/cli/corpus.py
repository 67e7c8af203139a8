"""``hf-corefel corpus``: what a corpus holds. No command here needs a model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from ..corpora import CORPORA, CandidateRecall, CorpusStatistics, corpus_statistics, detect_format, read_annotations
from .messages import complain, fail, say_json
from .options import EntityMapOption, map_place
from .rendering import show

__all__ = ["FormatOption", "corpus_app"]

FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help=f"The corpus' format, {', '.join(CORPORA)}; told by its files."),
]

corpus_app = typer.Typer(name="corpus", no_args_is_help=True, help="Look at a corpus in its official files.")


@corpus_app.command()
def stats(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A corpus as its authors ship it: a folder or a file.")],
    corpus_format: FormatOption = None,
    split: Annotated[str, typer.Option(help="A split of the corpus.")] = "all",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    entity_map: EntityMapOption = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Leave out what is malformed, with a warning.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors only: no warnings.")] = False,
) -> None:
    """Count clusters and mentions, linked and NIL, and how often a mention's own candidates have its entity.

    DWIE and AIDA+ are counted with or without their texts.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            name = corpus_format or detect_format(path)
            annotations = read_annotations(path, split, corpus_format=name, strict=not lenient)
            if entity_map:
                # Brings along more than counting needs.
                from ..evaluation import open_entity_map

                same = open_entity_map(list(map(map_place, entity_map)))
                annotations = map(same.document, annotations) if same is not None else annotations
            statistics = corpus_statistics(annotations)
    except (OSError, ValueError) as error:
        # What the readers call the option.
        fail(f"cannot read the corpus {path}: {str(error).replace('strict=False', '--lenient')}")
    if not quiet:
        for warning in caught:
            complain(f"warning: {warning.message}")
    if as_json:
        say_json({"format": name, "split": split, **statistics.to_dict()})
        return
    show(_heading(name, split, statistics), Text(), _counts_table(statistics))
    if statistics.candidates is not None:
        show(Text(), _recall_table(statistics.candidates))
    if (note := CORPORA[name].note) and not quiet:
        show(Text(), Text(note, style="dim"))


def _heading(name: str, split: str, statistics: CorpusStatistics) -> Text:
    """``dwie, split all: 802 documents, 556 with text: 480,000 words, 0.09 mentions a word``."""
    line = Text.assemble((name, "bold"), f", split {split}: {statistics.documents:,} documents, ")
    line.append(f"{statistics.texts:,} with text")
    density = statistics.mentions_per_word
    return line if density is None else line.append(f": {statistics.words:,} words, {density:.3f} mentions a word")


def _counts_table(statistics: CorpusStatistics) -> Table:
    linked = statistics.linked_clusters, statistics.linked_mentions
    nil = statistics.nil_clusters, statistics.nil_mentions
    rows = {"linked": linked, "NIL": nil, "all": (linked[0] + nil[0], linked[1] + nil[1])}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    table.add_column("Clusters", justify="right")
    table.add_column("Mentions", justify="right")
    for label, (clusters, mentions) in rows.items():
        table.add_row(label, f"{clusters:,}", f"{mentions:,}")
    return table


def _recall_table(recall: CandidateRecall) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("Linked mentions whose entity is")
    table.add_column("Mentions", justify="right")
    table.add_column("Share", justify="right")
    rows = {
        "among their own candidates": recall.listed,
        "the first of these": recall.first,
        "a candidate of any mention of the cluster": recall.in_cluster,
    }
    for label, number in rows.items():
        table.add_row(label, f"{number:,}", f"{100 * recall.share(number):.1f} %")
    return table
