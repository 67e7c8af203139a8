"""Annotated documents written as texts with marks around their mentions."""

from __future__ import annotations

import re

from hf_corefel.documents import AnnotatedDocument, Cluster, Mention

MARK = re.compile(r"⟦(?P<number>\d)|⟧")


def marked(text: str, *entities: str | None) -> AnnotatedDocument:
    """``⟦0Angela Merkel⟧ said ⟦0she⟧ …``: mentions of cluster 0; a digit behind the bracket is no part of one."""
    plain, groups, opened, last = "", {}, [], 0
    for mark in MARK.finditer(text):
        plain += text[last : mark.start()]
        last = mark.end()
        if mark["number"] is not None:
            opened.append((int(mark["number"]), len(plain)))
        else:
            number, begin = opened.pop()
            groups.setdefault(number, []).append(Mention(begin, len(plain)))
    plain += text[last:]
    clusters = [
        Cluster(tuple(sorted(groups[number], key=lambda mention: mention.offsets)), entity)
        for number, entity in enumerate(entities)
        if number in groups
    ]
    return AnnotatedDocument(plain, clusters)
