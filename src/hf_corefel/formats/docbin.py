"""spaCy's ``DocBin``: documents with clusters as span groups and links as ``kb_id_``; needs the extra ``[spacy]``.

The tokens are the words that the model reads, and the white space between them, so that ``doc.text`` is the text. The
mentions of the first cluster are ``doc.spans["coref_clusters_1"]``, each with the entity in ``span.kb_id_``, and so on;
its URL, Wikidata id and type are in ``doc.spans["coref_clusters_1"].attrs``.
``doc.ents`` has the outermost mentions, for entities of spaCy do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..documents import Cluster, Document, DocumentError, Mention, Offsets
from .columns import columns_of
from .writer import AnyDocument, Losses, Writer, clusters_of, count_losses, without_surrogates

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

__all__ = ["CLUSTERS", "LABEL", "SpacyDocBin", "clusters_from", "import_spacy", "put_clusters"]

CLUSTERS = "coref_clusters_"
LABEL = "MENTION"
_FACTS = ("url", "wikidata", "type")
_CUT = "mentions that do not begin and end with tokens"


def import_spacy() -> Any:
    """Return the package.

    Raises:
        ImportError: When it is not installed; the message names the extra.
    """
    try:
        import spacy
    except ImportError as error:
        raise ImportError("spaCy is not installed; `pip install hf-corefel[spacy]` installs it") from error
    return spacy


class SpacyDocBin(Writer):
    """A file of spaCy documents."""

    title = "spaCy's DocBin"
    suffixes = (".spacy",)
    binary = True

    def write(self, documents: Iterable[AnyDocument], losses: Losses) -> Iterator[bytes]:
        """Yield the whole file at the end: it begins with what all documents share. Until then they are arrays."""
        spacy = import_spacy()
        from spacy.tokens import DocBin

        vocab = spacy.blank("xx").vocab
        attributes = ["SPACY", "SENT_START", "ENT_IOB", "ENT_TYPE", "ENT_KB_ID"]
        packed = DocBin(attrs=attributes, store_user_data=True)
        for document in documents:
            count_losses(document, losses, {"id", "entity", *_FACTS, "words"})
            packed.add(_doc(without_surrogates(document, losses), vocab, losses))
        yield packed.to_bytes()

    def read(self, path: Path) -> Iterator[AnyDocument]:
        """Yield gold documents, with the tokens that are no white space as words."""
        spacy = import_spacy()
        from spacy.tokens import DocBin

        try:
            packed = DocBin().from_disk(path)
        except OSError:
            raise
        except Exception as error:  # of several libraries, none of which says more than that it cannot be read
            raise DocumentError(f"{path}: no DocBin of spaCy: {error}") from error
        for doc in packed.get_docs(spacy.blank("xx").vocab):
            words = [(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
            name = doc.user_data.get("id")
            yield Document(doc.text, id=name, words=words, clusters=clusters_from(doc))


def _doc(document: AnyDocument, vocab: Vocab, losses: Losses) -> Doc:
    from spacy.tokens import Doc

    columns = columns_of(document, Losses())
    begins = {columns.words[begin][0] for begin, _ in columns.sentences}
    tokens = list(_tokens(document.text, columns.words))
    doc = Doc(
        vocab,
        words=[document.text[begin:end] for begin, end, _ in tokens],
        spaces=[space for *_, space in tokens],
        sent_starts=[begin in begins or number == 0 for number, (begin, _, _) in enumerate(tokens)],
    )
    if document.id is not None:
        too_large = isinstance(document.id, int) and abs(document.id) >= 2**63
        losses.count("ids beyond 64 bits, which become text", too_large)
        doc.user_data["id"] = str(document.id) if too_large else document.id
    losses.count(_CUT, put_clusters(doc, clusters_of(document), "strict")[0])
    return doc


def _tokens(text: str, words: list[Offsets]) -> Iterator[tuple[int, int, bool]]:
    """The words and what is between them, with whether a blank follows, which is no token then."""
    at = 0
    begins = {begin for begin, _ in words}
    for begin, end in [*words, (len(text), len(text))]:
        if at < begin:
            yield at, begin, False
        if begin < end:
            # A word that begins with the blank has it.
            blank = text[end : end + 1] == " " and end not in begins
            yield begin, end, blank
            at = end + blank


def put_clusters(
    doc: Doc, clusters: Iterable[Cluster], alignment_mode: str, *, set_ents: bool = True
) -> tuple[int, int]:
    """Put clusters into a document of spaCy: as span groups, and the outermost mentions as entities.

    Args:
        doc: The document, of the same text.
        clusters: Its clusters.
        alignment_mode: What becomes of a mention that cuts a token, as in ``Doc.char_span``: ``"strict"`` leaves it
            out, ``"expand"`` takes whole tokens, ``"contract"`` the tokens within.
        set_ents: Whether the outermost mentions become the entities.

    Returns:
        How many mentions are left out, because they cut a token or have the tokens of another one, and how many have
        other offsets now.
    """
    from spacy.util import filter_spans

    left_out = changed = number = 0
    taken: set[tuple[int, int]] = set()
    spans = []
    for key in [key for key in doc.spans if key.startswith(CLUSTERS)]:
        del doc.spans[key]
    for cluster in clusters:
        group = []
        for mention in cluster.mentions:
            entity = cluster.entity or ""
            span = doc.char_span(*mention.offsets, label=LABEL, kb_id=entity, alignment_mode=alignment_mode)
            if span is None or not len(span) or (span.start, span.end) in taken:
                left_out += 1
                continue
            changed += (span.start_char, span.end_char) != mention.offsets
            taken.add((span.start, span.end))
            group.append(span)
        if group:
            number += 1
            key = f"{CLUSTERS}{number}"
            doc.spans[key] = group
            facts = {name: getattr(cluster, name) for name in _FACTS}
            doc.spans[key].attrs.update({name: value for name, value in facts.items() if value is not None})
            spans += group
    if set_ents:
        doc.set_ents(filter_spans(spans), default="outside")
    return left_out, changed


def clusters_from(doc: Doc) -> list[Cluster]:
    """Return the clusters that `put_clusters` has put into a document of spaCy."""
    clusters = []
    for key in sorted((key for key in doc.spans if key.startswith(CLUSTERS)), key=lambda key: (len(key), key)):
        group = doc.spans[key]
        entity = next((span.kb_id_ for span in group if span.kb_id_), None)
        mentions = tuple(Mention(span.start_char, span.end_char) for span in group)
        if mentions:
            clusters.append(Cluster(mentions, entity, **{name: group.attrs.get(name) for name in _FACTS}))
    return clusters
