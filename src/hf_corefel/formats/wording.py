"""Annotations in words, for people: what is on the page and on the screen says the same."""

from __future__ import annotations

from collections.abc import Sequence

from ..documents import Cluster, Mention, Parent

__all__ = ["alternatives_line", "chain_line", "counts_line", "entity_label", "one_line", "probabilities_line"]

NIL = "NIL"
_NO_ENTITY = "no entity"


def one_line(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def entity_label(entity: str | None) -> str:
    """A title without its underscores; "NIL" for none."""
    return NIL if entity is None else one_line(entity.replace("_", " ")) or entity


def chain_line(mention: Mention, chain: Sequence[Parent]) -> str:
    """The evidence of a mention: ``Alliance → NATO → NATO (entity)``.

    Args:
        mention: The mention.
        chain: What `AnnotatedDocument.chain` gives for it.
    """
    steps = [one_line(mention.text or "")]
    for parent in chain:
        if parent.kind == "entity":
            steps.append(f"{entity_label(parent.entity)} (entity)")
        else:
            steps.append(_NO_ENTITY if parent.kind == "root" else one_line(parent.text or ""))
    return " → ".join(steps)


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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
