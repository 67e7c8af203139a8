"""Tables to read: what ``hf-corefel annotate`` shows, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO

from .writer import AnyDocument, Losses, Writer, as_result

__all__ = ["Tables"]


class Tables(Writer):
    """A table of clusters a document, for people, 100 columns wide."""

    title = "tables"
    suffixes = (".txt",)

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[str]:
        del losses  # it shows what there is, for people
        # Brings rich along, which only the command needs.
        from ..cli.rendering import show_document

        for document in documents:
            shown = StringIO()
            show_document(as_result(document), shown)
            yield shown.getvalue()
