"""Make training documents of a Wikipedia dump's links: what a link shows is a mention of the article that it leads to.

Links that show a name and lead to an entity of the knowledge base are taken. Nothing is known of other spans, nor which
mentions are coreferent, so a document has its links alone as gold: `Document.annotated` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from hf_corefel import Cluster, Document, KnowledgeBase, Mention
from hf_corefel.documents import AnnotatedLayers
from hf_corefel.wikipedia.dumps import Page, read_pages, read_site
from hf_corefel.wikipedia.site import Site
from hf_corefel.wikipedia.wikitext import Line, read_wikitext

NAMED_TYPES = frozenset({"person", "place", "organization", "work", "event", "product"})
MOST_WORDS = 250
LEAST_LINKS = 3


def anchored_documents(paths: Iterable[Path], kb: KnowledgeBase) -> Iterator[Document]:
    """Yield stretches of the articles of dumps, of at most `MOST_WORDS` words where paragraphs are no longer.

    Stretches with fewer than `LEAST_LINKS` usable links are left out; so are lists and tables.
    """
    for path in paths:
        site = read_site(path)
        for page in read_pages(path):
            if page.namespace == 0 and page.redirect is None:
                for number, stretch in enumerate(_stretches(page, site)):
                    document = _document(stretch, page.title, kb)
                    if sum(len(c.mentions) for c in document.clusters or ()) >= LEAST_LINKS:
                        yield replace(document, id=f"{page.title}-{number}")


def _stretches(page: Page, site: Site) -> Iterator[list[Line]]:
    """Yield runs of paragraphs."""
    stretch: list[Line] = []
    words = 0
    for line in read_wikitext(page.text, site, page.title).lines:
        if line.kind != "paragraph":
            continue
        count = len(line.text.split())
        if stretch and words + count > MOST_WORDS:
            yield stretch
            stretch, words = [], 0
        stretch.append(line)
        words += count
    if stretch:
        yield stretch


def _document(lines: list[Line], title: str, kb: KnowledgeBase) -> Document:
    """Return paragraphs as a text with its links, a cluster a link; the article's own name at its beginning is one."""
    clusters: list[Cluster] = []
    text = ""
    for line in lines:
        start = len(text) + 2 if text else 0
        text = f"{text}\n\n{line.text}" if text else line.text
        name = title.partition(" (")[0]
        if line.in_lead and line.text.startswith(f"{name} "):
            clusters.extend(_cluster(0, name, title, kb))
        position = start
        for link in line.links:
            # Links are in the order of the text, and what they show stands in it as it is given.
            begin = text.find(link.surface, position)
            if begin < 0:
                break
            position = begin + len(link.surface)
            clusters.extend(_cluster(begin, link.surface, link.target, kb))
    taken = sorted({c.mentions[0].begin: c for c in clusters}.values(), key=lambda c: c.mentions[0].begin)
    return Document(
        text,
        clusters=taken,
        mention_scope="entities",
        annotated=AnnotatedLayers(mentions="given", clusters=False, links=True),
    )


def _cluster(begin: int, surface: str, target: str, kb: KnowledgeBase) -> list[Cluster]:
    entity = kb.find_entity(target.replace(" ", "_"))
    # "philosophy" and "Cubism" lead to entities, too, but to none that the scope `entities` asks for.
    if entity is None or kb.type(entity) not in NAMED_TYPES or not any(word[:1].isupper() for word in surface.split()):
        return []
    return [Cluster((Mention(begin, begin + len(surface)),), entity)]
