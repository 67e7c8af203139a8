"""Documents that are hard to write: any text, any mentions, any identifier; and what is compared after a round trip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hf_corefel import AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.formats import Losses, find_writer, read_documents
from hf_corefel.formats.files import encoded

# Signs of the formats themselves, line ends of all kinds, marks that combine, emoji of several code points, letters
# without spaces between, characters that cannot be seen.
PIECES = [
    *(
        "Ada Lo",
        "Oslo",
        "she",
        "the fjord",
        "1984",
        "(a)",
        "|",
        "#",
        "# text = x",
        "\t",
        "\n",
        "\r\n",
        " ",
        "  ",
        ". ",
        "!",
    ),
    *("\\n", "\\", '"', "'", "<b>&amp;</b>", "-LRB-", "_", "-", "%2D", "a-b", "=", ";", "*", "T1", "@", "^^", "\u00a0"),
    *(
        "e\u0301",
        "🇳🇴",
        "👩\u200d👩\u200d👧",
        "👍🏽",
        "北京",
        "東京。",
        "שלום",
        "\u202e",
        "\u200b",
        "\u00ad",
        "\x0b",
        "\x85",
    ),
    *("\u2028", "\x1c", "\x00", "\x1b[2J", "exam-\nple", "\ufeff", "𝔸", "\u3000", "\ud83d "),
]
NAMES = [
    "Oslo",
    "Durham,_England",
    "A-B",
    "a|b",
    "(x)",
    "Q5 y",
    "Zoë_(名)",
    "50%",
    "%2D",
    'say_"x"',
    "a:b",
    "<i>",
    "a\\b",
    "~",
]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Gold documents of such pieces."""
    text = "".join(draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14)))
    places = st.integers(0, len(text) - 1)
    offsets = draw(st.lists(st.tuples(places, st.integers(1, 12)), max_size=8))
    spans = sorted({(begin, min(begin + length, len(text))) for begin, length in offsets})
    groups: dict[int, list[Mention]] = {}
    for span in spans:
        groups.setdefault(draw(st.integers(0, 2)), []).append(Mention(*span))
    names = draw(st.permutations(NAMES))
    linked = draw(st.lists(st.booleans(), min_size=3, max_size=3))
    clusters = [Cluster(tuple(mentions), names[c] if linked[c] else None) for c, mentions in groups.items()]
    return Document(
        text, id=draw(st.sampled_from(["d1", "a b", "#x", "a/b (c)", "x; part 001", "ø"])), clusters=clusters
    )


def content(kind: str, documents: Iterable[Document | AnnotatedDocument]) -> tuple[bytes, Losses]:
    """What a format writes of documents, and what it counts as lost."""
    losses = Losses()
    return b"".join(encoded(piece, losses) for piece in find_writer(kind).write(documents, losses)), losses


def round_trip(kind: str, documents: Sequence[Document | AnnotatedDocument], path: Path) -> tuple[list[Any], Losses]:
    """The documents that come back from a file of a format, and what it counts as lost."""
    data, losses = content(kind, documents)
    path.write_bytes(data)
    return list(read_documents(path, kind)), losses


def gold(document: Document | AnnotatedDocument) -> set[tuple[str | None, frozenset[tuple[int, int]]]]:
    """Clusters with their entities, in no order."""
    return {
        (cluster.entity, frozenset(mention.offsets for mention in cluster.mentions))
        for cluster in document.clusters or ()
    }
