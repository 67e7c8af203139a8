"""Annotations in words, for people: what is on the page and on the screen says the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ..documents import Cluster, Mention, Parent

__all__ = [
    "alternatives_line",
    "chain_line",
    "counts_line",
    "entity_label",
    "facts_line",
    "first_warnings",
    "more_warnings_line",
    "one_line",
    "probabilities_line",
]

NIL = "NIL"
_NO_ENTITY = "no entity"
# What is said of a mention is as short for one that hangs from a thousand others, or from a page of text.
_MOST_STEPS = 6
_LONGEST_STEP = 80


def one_line(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def entity_label(entity: str | None) -> str:
    """A title without its underscores; "NIL" for none."""
    return NIL if entity is None else one_line(entity.replace("_", " ")) or entity


def facts_line(cluster: Cluster) -> str:
    """``person · Q567``: the type and the Wikidata id of a cluster's entity, of what is known."""
    return " · ".join(fact for fact in (cluster.type, cluster.wikidata) if fact and fact != cluster.entity)


def chain_line(mention: Mention, chain: Sequence[Parent]) -> str:
    """The evidence of a mention: ``Alliance → NATO → NATO (entity)``.

    Of a long chain the first steps and the last: ``she → her → she → … 90 more … → Ada (entity)``.

    Args:
        mention: The mention.
        chain: What `AnnotatedDocument.chain` gives for it.
    """
    steps: list[Parent | str] = [*islice(chain, _MOST_STEPS)]
    if len(chain) > _MOST_STEPS:
        steps[_MOST_STEPS - 2 :] = [f"… {len(chain) - _MOST_STEPS + 1} more …", chain[-1]]
    return " → ".join([one_line(mention.text or ""), *map(_step, steps)])


def _step(step: Parent | str) -> str:
    if isinstance(step, str):
        return step
    if step.kind == "entity":
        return f"{entity_label(step.entity)} (entity)"
    if step.kind == "root":
        return _NO_ENTITY
    surface = one_line(step.text or "")
    return surface if len(surface) <= _LONGEST_STEP else f"{surface[: _LONGEST_STEP - 1]}…"


def probabilities_line(mention: Mention) -> str:
    """``mention 0.99 · edge 0.87 · link 0.95``, of what there is."""
    named = (
        ("mention", mention.probability),
        ("edge", mention.edge_probability),
        ("link", mention.link_probability),
    )
    return " · ".join(f"{name} {value:.2f}" for name, value in named if value is not None)


def alternatives_line(cluster: Cluster) -> str:
    """``NATO 0.21 · NIL 0.08``: the alternatives to what the cluster has, without those that would read 0.00."""
    others = [
        item for item in cluster.alternatives or () if item.entity != cluster.entity and item.probability >= 0.005
    ]
    return " · ".join(f"{entity_label(item.entity)} {item.probability:.2f}" for item in others)


def counts_line(clusters: Sequence[Cluster]) -> str:
    """``3 clusters, 7 mentions``."""
    return f"{_count(len(clusters), 'cluster')}, {_count(sum(len(c.mentions) for c in clusters), 'mention')}"


def first_warnings(warnings: Sequence[str], most: int) -> tuple[list[str], int]:
    """Return the warnings that are shown at once, and the number of the others: none or at least two."""
    return (list(warnings), 0) if len(warnings) <= most + 1 else (list(warnings[:most]), len(warnings) - most)


def more_warnings_line(number: int) -> str:
    """``37 more warnings``."""
    return f"{number:,} more warnings"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
