"""From what a model makes of a long document to its result with probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from ..decoding.annotation_options import AnnotationOptions
from ..decoding.clusters import clusters_from_parents
from ..decoding.nesting import DecodedSpans, without_nested
from ..decoding.result_maker import DecodedDocument, ListedLinks, ResultMaker
from ..decoding.whole_clusterings import complete_clusters
from ..documents import AnnotatedDocument
from ..heads.sparse_scores import SparsePosterior
from ..modeling_corefel import CorefELModel
from .scoring import LongOutput

__all__ = ["annotate_long_document"]


@torch.no_grad()
def annotate_long_document(
    model: CorefELModel,
    output: LongOutput,
    url: Callable[[str], str | None] = lambda entity: None,
    options: AnnotationOptions | None = None,
    name: Callable[[str], str] = lambda entity: entity,
) -> AnnotatedDocument:
    """Decode a long document and attach probabilities; see `hf_corefel.decoding.annotating.annotate_batch`.

    Args:
        model: The model that gave the output.
        output: Its output.
        url: Where a reader finds an entity.
        options: What else the result holds; samples and clusterings are for other documents.
        name: What an entity will be called.
    """
    document = output.document
    scores = model.calibration(output.scores)
    posterior = model.head.sparse_posterior(scores)
    rows: list[list[int]] = scores.candidate_rows.tolist()
    mention: list[float] = scores.mention.tolist()
    real = [True] * len(mention)
    spans = DecodedSpans(posterior.parents.tolist(), rows, mention, real)
    if output.exclusive is not None:
        spans.exclusive = output.exclusive.tolist()
    # A span without an entity begins a cluster, or is no mention to a head that finds none without one.
    alone = len(mention) if model.head.finds_nil else -1
    nested = output.nested.twins.tolist(), output.nested.parts.tolist()
    without_nested(spans, *nested, _Weights(posterior, len(mention)), alone, given=document.keep_all)
    clusters = clusters_from_parents(spans.parents, rows, mention, real, drop_unlinked_singletons=not document.keep_all)
    if document.keep_all:
        clusters = complete_clusters(clusters, list(range(len(mention))))
    names = [name(entity) for entity in document.entities]
    parents = np.array(spans.parents, dtype=np.int64)
    decoded = DecodedDocument(
        offsets=[tuple(offsets) for offsets in document.spans.offsets[output.retained].tolist()],
        found=torch.sigmoid(scores.mention).tolist(),
        edge=posterior.edge_probabilities(parents).clip(0.0, 1.0).tolist(),
        link=ListedLinks(*posterior.entity_probabilities(), names),
        parents=spans.parents,
        candidates=rows,
        warnings=posterior.approximations,
    )
    return ResultMaker(document, names, decoded, url, options or AnnotationOptions()).make(clusters)


class _Weights:
    """What parents count for, see `hf_corefel.decoding.nesting.Weights`.

    An edge that was not scored counts as the root's: it came about when a span was left out.

    Args:
        posterior: Knows the scores.
        size: N.
    """

    def __init__(self, posterior: SparsePosterior, size: int) -> None:
        self._posterior = posterior
        self._parents = posterior.parents.tolist()
        spans = np.arange(size)
        self._chosen = posterior.parent_scores(spans, np.maximum(posterior.parents, 0)).tolist()
        self._root = posterior.parent_scores(spans, np.full(size, size)).tolist()

    def __getitem__(self, edge: tuple[int, int]) -> float:
        span, parent = edge
        if parent == self._parents[span]:
            return float(self._chosen[span])
        if parent == len(self._root):
            return float(self._root[span])
        found = float(self._posterior.parent_scores(np.array([span]), np.array([parent]))[0])
        return found if found > -np.inf else float(self._root[span])
