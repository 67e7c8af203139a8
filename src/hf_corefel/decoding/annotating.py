"""From the model's output to `AnnotatedDocument`s with probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..documents import AnnotatedDocument, Clustering
from ..heads import Decoding, EdgeScores, HeadMarginals, Posterior
from ..modeling_corefel import CorefELModel, CorefELOutput
from ..processing_corefel import EncodedDocument
from ..resolving import resolve_text
from .annotation_options import AnnotationOptions, check_count
from .clusters import DecodedCluster, clusters_from_parents
from .nesting import DecodedSpans, nesting_rules, without_nested
from .result_maker import BatchLinks, DecodedDocument, ResultMaker, hidden_fields
from .whole_clusterings import ConstraintPlan, WholeClusterings, complete_clusters, structure_distribution

__all__ = ["AnnotationOptions", "annotate_batch", "check_count", "decode_batch", "unread_document"]


def decode_batch(
    model: CorefELModel, output: CorefELOutput, given: Sequence[bool] | None = None
) -> tuple[Decoding, list[list[DecodedCluster]]]:
    """The best structure of every document: parents, and clusters of retained spans with rows of its entities.

    Args:
        model: The model that gave the output.
        output: Its output.
        given: Which of the documents bring their mentions; of these no mention is dropped.
    """
    scores = model.edge_scores(output)
    return _decode(model, output, scores, model.head.posterior(scores), given)


def _decode(
    model: CorefELModel, output: CorefELOutput, scores: EdgeScores, posterior: Posterior, given: Sequence[bool] | None
) -> tuple[Decoding, list[list[DecodedCluster]]]:
    """As `decode_batch`, of a posterior whose probabilities may be read too."""
    decoding = _without_nested(model, output, scores, posterior.decoding, given)
    tensors = decoding.parents, scores.candidate_rows, scores.mention, scores.mask
    rows = zip(*(tensor.tolist() for tensor in tensors), strict=True)
    clusters = [
        _all_in_clusters(*row) if is_given else clusters_from_parents(*row)
        for row, is_given in zip(rows, given or [False] * len(scores.mask), strict=True)
    ]
    return decoding, clusters


def _without_nested(
    model: CorefELModel, output: CorefELOutput, scores: EdgeScores, decoding: Decoding, given: Sequence[bool] | None
) -> Decoding:
    """The decoding by the rules of `decoding.nesting`; given mentions are taken apart, but none is left out."""
    rules = [nesting_rules(output, b) for b in range(len(decoding.parents))]
    if not any(any(pairs) for pairs in rules):
        return decoding
    parents = decoding.parents.clone()
    weights = model.head.parent_scores(scores)
    # A span without an entity begins a cluster, or is no mention to a head that finds none without one.
    alone = parents.shape[1] if model.head.finds_nil else -1
    for b, (twins, parts, exclusive) in enumerate(rules):
        if twins or parts or exclusive:
            tensors = parents, scores.candidate_rows, scores.mention, scores.mask
            spans = DecodedSpans(*(tensor[b].tolist() for tensor in tensors))
            spans.exclusive = exclusive
            without_nested(spans, twins, parts, weights[b], alone, given=given is not None and given[b])
            parents[b] = parents.new_tensor(spans.parents)
    return Decoding(parents)


def _all_in_clusters(
    parents: list[int], candidate_rows: list[list[int]], mention: list[float], mask: list[bool]
) -> list[DecodedCluster]:
    """As `clusters_from_parents` for given mentions: who gives one knows that it is one, so none is dropped."""
    clusters = clusters_from_parents(parents, candidate_rows, mention, mask, drop_unlinked_singletons=False)
    return complete_clusters(clusters, [n for n, real in enumerate(mask) if real])


@torch.no_grad()
def annotate_batch(
    model: CorefELModel,
    output: CorefELOutput,
    documents: list[EncodedDocument],
    url: Callable[[str], str | None] = lambda entity: None,
    options: AnnotationOptions | None = None,
    plans: Sequence[ConstraintPlan | None] | None = None,
    name: Callable[[str], str] = lambda entity: entity,
) -> list[AnnotatedDocument]:
    """Decodes a batch and attaches probabilities.

    Args:
        model: The model that gave the output.
        output: Its output on these documents.
        documents: The documents as they were encoded.
        url: Where a reader finds an entity.
        options: What else the results hold; nothing when None.
        plans: Constraints of each document; there are none when None.
        name: What an entity will be called. Entities of one name are one: the clusters that they have, their
            probabilities and their places among the alternatives; the result has the name in the knowledge base of the
            one that is linked to, or is the first.

    Raises:
        DocumentError: When constraints cannot be fulfilled.
        ValueError: When the head has no distribution over whole clusterings, and something needs one.
    """
    options = options or AnnotationOptions()
    scores = model.edge_scores(output)
    posterior = model.head.posterior(scores)
    decoding, clusters = _decode(model, output, scores, posterior, [document.keep_all for document in documents])
    names = [[name(entity) for entity in document.entities] for document in documents]
    wholes = _wholes(model, output, scores, posterior, documents, plans or [None] * len(documents), options, names)
    for b, whole in enumerate(wholes):
        if whole is not None and whole.required:
            _constrain(whole, decoding, clusters, b)
    found = scores, decoding, posterior.marginals
    return [
        ResultMaker(document, names[b], _decoded(document, names[b], output, *found, b), url, options, wholes[b]).make(
            clusters[b]
        )
        for b, document in enumerate(documents)
    ]


def unread_document(document: EncodedDocument, options: AnnotationOptions) -> AnnotatedDocument:
    """Return the result of a document without a word, which the model does not read: it has one clustering."""
    source = document.document
    said = [*document.warnings, *hidden_fields(source)]
    result = AnnotatedDocument(source.text, [], source.id, said, extra=source.extra)
    if options.resolved_text:
        result.resolved_text = resolve_text(result)
    if options.samples:
        result.samples = [Clustering((), 0.0)] * options.samples
    if options.clusterings:
        result.clusterings = [Clustering((), 0.0)]
    return result


def _wholes(
    model: CorefELModel,
    output: CorefELOutput,
    scores: EdgeScores,
    posterior: Posterior,
    documents: list[EncodedDocument],
    plans: Sequence[ConstraintPlan | None],
    options: AnnotationOptions,
    names: Sequence[Sequence[str]],
) -> list[WholeClusterings | None]:
    """The whole clusterings of each document where something asks for them."""
    if not (options.samples or options.clusterings or any(plans)):
        return [None] * len(documents)
    distribution = structure_distribution(model.head, scores, posterior, model.config.head)
    weights = model.head.parent_scores(scores).cpu()
    wholes: list[WholeClusterings | None] = []
    for b, (document, plan) in enumerate(zip(documents, plans, strict=True)):
        if plan is None and not (options.samples or options.clusterings):
            wholes.append(None)
            continue
        nested = nesting_rules(output, b)
        assert output.retained is not None
        offsets = _offsets_of(document, output.retained[b].tolist())
        mention = scores.mention[b].tolist()
        head = model.config.head
        whole = WholeClusterings(document, distribution, weights[b], b, offsets, mention, nested, head, plan, names[b])
        wholes.append(whole)
    return wholes


def _constrain(whole: WholeClusterings, decoding: Decoding, clusters: list[list[DecodedCluster]], b: int) -> None:
    """Put the structure that fulfils the constraints in the place of the best one of document b."""
    parents = decoding.parents[b]
    found, clusters[b] = whole.constrained_clusters
    size, n = len(parents), len(found)
    moved = [parent if parent < n else parent - n + size for parent in found]
    parents[:n] = parents.new_tensor(moved)


def _offsets_of(document: EncodedDocument, retained: list[int]) -> list[Any]:
    return [tuple(document.spans.offsets[s].tolist()) if s >= 0 else () for s in retained]


def _decoded(
    document: EncodedDocument,
    names: Sequence[str],
    output: CorefELOutput,
    scores: EdgeScores,
    decoding: Decoding,
    marginals: HeadMarginals,
    b: int,
) -> DecodedDocument:
    """What was decoded of document b of a batch."""
    assert output.retained is not None and output.candidate_rows is not None
    return DecodedDocument(
        offsets=_offsets_of(document, output.retained[b].tolist()),
        found=torch.sigmoid(scores.mention[b]).tolist(),
        edge=_edge_probabilities(decoding, marginals, b),
        link=BatchLinks(marginals, b, names),
        parents=decoding.parents[b].tolist(),
        candidates=output.candidate_rows[b].tolist(),
    )


def _edge_probabilities(decoding: Decoding, marginals: HeadMarginals, b: int) -> list[float]:
    """Probability of the decoded parent of each span of document b (numbering of `heads.base`)."""
    edges = marginals.edges
    by_parent = torch.cat(
        [edges.span_to_span[b].T, edges.root[b].unsqueeze(1), edges.candidate_probabilities[b]], dim=1
    )
    parents = decoding.parents[b]
    # A given mention that the linking head takes for none has NIL's probability, which stands in the root's column.
    parents = parents.masked_fill(parents < 0, len(parents)).unsqueeze(1)
    return by_parent.gather(1, parents.to(by_parent.device)).squeeze(1).clamp(0.0, 1.0).tolist()
