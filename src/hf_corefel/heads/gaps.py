"""What gaps in the annotation mean for the pruner, and for heads that do not know of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from torch import Tensor
from torch.nn import functional

from ..documents import AnnotatedLayers
from ..utils.gold_codes import FREE, LEFT_OUT, NOT_KNOWN
from .base import Head
from .edge_scores import EdgeScores, GoldClustering

__all__ = [
    "describe_left_out",
    "loss_of_what_is_known",
    "mention_targets",
    "pruner_loss",
    "retain_given",
    "without_what_is_not_learnt",
]


def describe_left_out(head: Head, name: str, layers: Iterable[AnnotatedLayers]) -> list[str]:
    """Return a sentence for each reason why a head learns nothing from some of its documents but their mentions.

    Args:
        head: The head.
        name: What it is called.
        layers: What is annotated in each of the documents.
    """
    reasons = Counter(reason for each in layers if (reason := head.reason_to_leave_out(each)) is not None)
    return [
        f"the head {name} learns nothing but mentions from {number} document{'s' if number > 1 else ''}: {reason}"
        for reason, number in reasons.items()
    ]


def mention_targets(clusters: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return which spans are mentions, as the pruner's target, and of which spans that is known.

    Args:
        clusters: ``[B, S]`` gold clusters of all spans, or codes of `hf_corefel.utils.gold_codes`.
        mask: ``[B, S]``, False on padding.

    Returns:
        The targets ``[B, S]``, float32, and the mask ``[B, S]`` without spans that may be mentions of a kind that is
        not annotated.
    """
    is_mention = (clusters >= 0) | (clusters == NOT_KNOWN)
    return is_mention.float(), mask & (clusters != FREE) & (clusters != LEFT_OUT)


def pruner_loss(logits: Tensor, clusters: Tensor, mask: Tensor) -> Tensor:
    """Return the mean over documents of the summed cross-entropies of spans that are known to be mentions or none.

    Args:
        logits: ``[B, S]`` mention scores of all spans.
        clusters: ``[B, S]`` gold clusters, or codes of `hf_corefel.utils.gold_codes`.
        mask: ``[B, S]``, False on padding.
    """
    target, known = mention_targets(clusters, mask)
    losses = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return (losses * known).sum() / len(losses)


def loss_of_what_is_known(head: Head, scores: EdgeScores, gold: GoldClustering) -> Tensor:
    """Return a head's loss, float32, on the part of gold that is annotated and that its trees can reach.

    Args:
        head: The head.
        scores: Its scores.
        gold: Gold of the retained spans, as it is annotated.
    """
    scores, gold = without_what_is_not_learnt(head, scores, gold.within(scores.mask))
    gold, _ = gold.restrict_to_reachable(scores.candidate_rows, scores.mask)
    return head.loss(scores, gold.restrict_to_connected(scores)).float()


def retain_given(keep_all: Tensor, clusters: Tensor, given: Tensor | None = None) -> Tensor:
    """Let the pruner retain the annotated mentions where nothing is known of other spans.

    Training would else leave out those that the pruner misses, and there are few: one pronoun and two names.

    Args:
        keep_all: ``[B]``, True where the spans are given mentions.
        clusters: ``[B, S]`` gold clusters, or codes.
        given: ``[B]``, True where nothing is known of other spans although none is there, so that no code shows it.

    Returns:
        The same, or where there is such a document ``[B, S]``, True for each span that is retained.
    """
    left_out = (clusters == LEFT_OUT).any(dim=1)
    given = (left_out if given is None else left_out | given).unsqueeze(1)
    if not bool(given.any()):
        return keep_all
    return keep_all.unsqueeze(1) | (given & ((clusters >= 0) | (clusters == NOT_KNOWN)))


def without_what_is_not_learnt(
    head: Head, scores: EdgeScores, gold: GoldClustering
) -> tuple[EdgeScores, GoldClustering]:
    """Mask spans that take no part in the loss, and documents with gaps for a head that does not know of any.

    Args:
        head: The head.
        scores: Its scores.
        gold: Their gold.
    """
    out = gold.left_out
    if not head.learns_from_gaps:
        gaps = GoldClustering(gold.cluster_ids.masked_fill(out, -1), gold.entity_rows).has_gaps
        out = out | gaps.unsqueeze(1)
    if not bool(out.any()):
        return scores, gold
    mask = scores.mask & ~out
    return replace(scores, mask=mask), gold.within(mask)
