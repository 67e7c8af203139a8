"""Do pronouns find the name they stand for? Recall of pronoun → named entity."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..documents import AnnotatedDocument, Document
from .counts import ratio
from .evaluation import matched

__all__ = ["PRONOUNS", "PronounRecall", "pronoun_recall"]

# English personal, possessive and reflexive pronouns of the third person: whoever hears "he" asks who that is.
PRONOUNS = frozenset(
    {
        *("he", "him", "his", "himself"),
        *("she", "her", "hers", "herself"),
        *("it", "its", "itself"),
        *("they", "them", "their", "theirs", "themselves", "themself"),
    }
)


@dataclass(frozen=True, slots=True)
class PronounRecall:
    """Counts of pronouns whose gold cluster has a name, which add up over documents.

    Attributes:
        pronouns: All of them.
        resolved: Those that are predicted to be in a cluster with a name of their gold cluster.
        linked: Those whose gold cluster has an entity.
        linked_right: Those of them whose predicted cluster has that entity.

    Example:
        >>> from hf_corefel.metrics import PronounRecall
        >>> (PronounRecall(pronouns=2, resolved=1) + PronounRecall(pronouns=2, resolved=2)).resolved
        3
    """

    pronouns: int = 0
    resolved: int = 0
    linked: int = 0
    linked_right: int = 0

    def __add__(self, other: PronounRecall) -> PronounRecall:
        return PronounRecall(
            self.pronouns + other.pronouns,
            self.resolved + other.resolved,
            self.linked + other.linked,
            self.linked_right + other.linked_right,
        )

    def to_dict(self) -> dict[str, float]:
        """Counts and the two recalls, between 0 and 1; 0 where there is nothing to find."""
        return {
            "pronouns": self.pronouns,
            "resolved_to_a_name": ratio(self.resolved, self.pronouns),
            "pronouns_of_linked_clusters": self.linked,
            "linked_to_the_entity": ratio(self.linked_right, self.linked),
        }


def pronoun_recall(
    gold: Sequence[Document], names: Sequence[Collection[tuple[int, int]]], predicted: Sequence[AnnotatedDocument]
) -> PronounRecall:
    """Counts over documents.

    Args:
        gold: Documents with clusters of all mentions.
        names: Of each of them the offsets of the mentions that are names.
        predicted: The predictions, in the same order.

    Raises:
        ValueError: When a document lacks gold clusters, or its prediction or names are not at the same place: the
            numbers of documents, the ids (if both are given) or the texts differ.
    """
    counts = [0, 0, 0, 0]
    if len(names) != len(gold):
        raise ValueError(f"names: expected those of each of {len(gold)} documents, got {len(names)}")
    for (document, prediction), named in zip(matched(gold, predicted), names, strict=True):
        cluster_of = {mention.offsets: cluster for cluster in prediction.clusters for mention in cluster.mentions}
        for cluster in document.clusters or []:
            wanted = {mention.offsets for mention in cluster.mentions} & set(named)
            if not wanted:
                continue
            for mention in cluster.mentions:
                if document.text[mention.begin : mention.end].lower() not in PRONOUNS:
                    continue
                found = cluster_of.get(mention.offsets)
                counts[0] += 1
                counts[1] += found is not None and any(other.offsets in wanted for other in found.mentions)
                if cluster.entity is not None:
                    counts[2] += 1
                    counts[3] += found is not None and found.entity == cluster.entity
    return PronounRecall(*counts)
