"""CoNLL-2012 columns: what scorers of coreference read.

A line has, with tabs between: name of the document, part, number of the word in its sentence, word, part of speech,
parse, lemma, frameset, sense, speaker, named entity, coreference. What nobody knows here is ``-`` or ``*``. The
coreference column numbers the clusters in brackets: ``(3`` opens a mention, ``3)`` closes one, ``(3)`` is one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..documents import AnnotatedLayers, Document
from ..documents.word_map import WordMap
from .columns import CHANGED_TURNS, Columns, changed_turns, columns_of, one_field
from .writer import AnyDocument, Losses, Writer, count_layers, count_losses, name_in

__all__ = ["Conll2012"]

# What stands for no speaker.
_NOBODY = ("-", "_", "*")


class Conll2012(Writer):
    """CoNLL-2012 columns: words and clusters, no links."""

    title = "CoNLL-2012 columns"
    suffixes = (".conll", ".conll2012", ".v4_gold_conll", ".v4_auto_conll")
    streams = True

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        for number, document in enumerate(documents, start=1):
            count_losses(document, losses, {"words", "speakers", "annotated"})
            # Where links were annotated, they are counted themselves.
            links = document.layers.links if isinstance(document, Document) else False
            count_layers(document, losses, AnnotatedLayers(links=links))
            yield _block(document, number, losses)

    def read(self, path: Path) -> Iterator[AnyDocument]:
        from ..corpora.conll2012 import read_conll2012

        return read_conll2012(path)


def _block(document: AnyDocument, number: int, losses: Losses) -> str:
    columns = columns_of(document, losses)
    name = one_field(name_in(document, number), "_", losses, "names of documents with white space")
    if name.startswith("#"):
        losses.count("names of documents that begin with #")
        name = f"_{name}"
    speakers = _speakers(document, columns, losses)
    surfaces = [
        one_field(document.text[begin:end], "_", losses, "words with white space") for begin, end in columns.words
    ]
    losses.count("texts with other white space than one blank between words", " ".join(surfaces) != document.text)
    characters = sum(not character.isspace() for character in document.text)
    in_words = sum(not character.isspace() for begin, end in columns.words for character in document.text[begin:end])
    losses.count("characters that are part of no word", characters - in_words)
    lines = [f"#begin document ({name}); part 000"]
    for begin, end in columns.sentences:
        for position in range(begin, end):
            fields = name, "0", str(position - begin), surfaces[position], "-", "*", "-", "-", "-"
            lines.append("\t".join([*fields, speakers[position], "*", _brackets(columns, position)]))
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


def _brackets(columns: Columns, position: int) -> str:
    closing = [f"{c})" for c in columns.closing.get(position, ())]
    opening = [f"({c}" for c in columns.opening.get(position, ())]
    single = [f"({c})" for c in columns.single.get(position, ())]
    return "|".join([*opening, *single, *closing]) or "-"


def _speakers(document: AnyDocument, columns: Columns, losses: Losses) -> list[str]:
    """The speaker of each word: that of the innermost turn; ``-`` for none."""
    speakers = ["-"] * len(columns.words)
    words = WordMap(columns.words)
    turns = []
    for turn in (document.speakers or []) if isinstance(document, Document) else []:  # outer ones come first
        name = one_field(turn.speaker, "_", losses, "names of speakers with white space")
        first, last = words.chars_to_words(turn.begin, turn.end)
        speakers[first:last] = [name] * (last - first)
        turns.append((first, last, name))
    pieces = [(n, n + 1, None if name in _NOBODY else name) for n, name in enumerate(speakers)]
    losses.count(CHANGED_TURNS, changed_turns(turns, pieces))
    return speakers
