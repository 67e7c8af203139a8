"""From the model's output to `AnnotatedDocument`s with probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .decoding import DecodedCluster, clusters_from_parents
from .documents import AnnotatedDocument, Cluster, Mention
from .heads import Decoding, HeadMarginals
from .modeling_corefel import CorefELModel, CorefELOutput
from .processing_corefel import EncodedDocument

__all__ = ["annotate_batch", "decode_batch"]


def decode_batch(
    model: CorefELModel, output: CorefELOutput, given: Sequence[bool] | None = None
) -> tuple[Decoding, list[list[DecodedCluster]]]:
    """The best structure of every document: parents, and clusters of kept spans with rows of its entities.

    Args:
        model: The model that gave the output.
        output: Its output.
        given: Which of the documents bring their mentions; of these no mention is dropped.
    """
    scores = model.edge_scores(output)
    decoding = model.head.decode(scores)
    tensors = decoding.parents, scores.entity_ids, scores.mention, scores.mask
    rows = zip(*(tensor.tolist() for tensor in tensors), strict=True)
    clusters = [
        _all_in_clusters(*row) if is_given else clusters_from_parents(*row)
        for row, is_given in zip(rows, given or [False] * len(scores.mask), strict=True)
    ]
    return decoding, clusters


def _all_in_clusters(
    parents: list[int], entity_ids: list[list[int]], mention: list[float], mask: list[bool]
) -> list[DecodedCluster]:
    """As `clusters_from_parents` for given mentions: who gives one knows that it is one, so none is dropped."""
    clusters = clusters_from_parents(parents, entity_ids, mention, mask, drop_unlinked_singletons=False)
    held = {span for cluster in clusters for span in cluster.spans}
    alone = [DecodedCluster((n,), None) for n, real in enumerate(mask) if real and n not in held]
    return sorted([*clusters, *alone], key=lambda cluster: cluster.spans)


@torch.no_grad()
def annotate_batch(
    model: CorefELModel,
    output: CorefELOutput,
    documents: list[EncodedDocument],
    url: Callable[[str], str | None] = lambda entity: None,
) -> list[AnnotatedDocument]:
    """Decodes a batch and attaches probabilities.

    Args:
        model: The model that gave the output.
        output: Its output on these documents.
        documents: The documents as they were encoded.
        url: Where a reader finds an entity.
    """
    decoding, clusters = decode_batch(model, output, [document.keep_all for document in documents])
    marginals = model.head.marginals(model.edge_scores(output))
    assert output.kept is not None and output.mention is not None
    found = torch.sigmoid(output.mention.float())
    results = []
    for b, document in enumerate(documents):
        kept = output.kept[b].tolist()
        link = _LinkProbability(marginals, b)
        edge = _edge_probabilities(decoding, marginals, b)
        text = document.document.text
        annotated = []
        for cluster in clusters[b]:
            mentions = []
            for n in cluster.spans:
                begin, end = document.spans.offsets[kept[n]].tolist()
                probabilities = float(found[b, n]), edge[n], link(n, cluster.entity_id)
                mentions.append(Mention(begin, end, text[begin:end], *probabilities))
            entity = None if cluster.entity_id is None else document.entities[cluster.entity_id]
            mean = sum(m.link_probability or 0.0 for m in mentions) / len(mentions)
            annotated.append(Cluster(tuple(mentions), entity, mean, None if entity is None else url(entity)))
        results.append(AnnotatedDocument(text, annotated, document.document.id, list(document.warnings)))
    return results


def _edge_probabilities(decoding: Decoding, marginals: HeadMarginals, b: int) -> list[float]:
    """Probability of the decoded parent of each span of document b (numbering of `heads.base`)."""
    edges = marginals.edges
    by_parent = torch.cat([edges.span_to_span[b].T, edges.root[b].unsqueeze(1), edges.candidates[b]], dim=1)
    parents = decoding.parents[b]
    # A given mention that the linking head takes for none has NIL's probability, which stands in the root's column.
    parents = parents.masked_fill(parents < 0, len(parents)).unsqueeze(1)
    return by_parent.gather(1, parents.to(by_parent.device)).squeeze(1).clamp(0.0, 1.0).tolist()


class _LinkProbability:
    """P(the cluster of a span of document b links to an entity row, or to none)."""

    def __init__(self, marginals: HeadMarginals, b: int) -> None:
        entities = marginals.entities
        self._column = {row: e for e, row in enumerate(entities.entity_ids[b].tolist()) if row >= 0}
        self._linked = entities.probability[b].clamp(0.0, 1.0).tolist()
        self._nil = entities.nil[b].clamp(0.0, 1.0).tolist()

    def __call__(self, span: int, entity: int | None) -> float:
        return self._nil[span] if entity is None else self._linked[span][self._column[entity]]
