"""A few scales and offsets of the scores, fitted to annotated documents that the model was not trained on.

What is maximised is the mean log-likelihood of what gold knows, by the model's own probabilities:

- mentions: whether each retained span is one;
- links: the entity of each annotated mention, or that it has none, by its marginal over all trees;
- clusters: all clusters of a document at once, with their links (`Head.loss`); where not all links are known, the
  clusters alone, among trees without entities, for what is not known of links should not speak for any.

The last two are computed among the annotated mentions alone: how the annotation of a corpus chooses mentions, which
differs from corpus to corpus, is a matter of the first. Each corpus counts the same, whatever its size, and what it
does not annotate gives no term. Where gold names the entities of some clusters only, its links are compared among
entities: that no cluster is known to be NIL says nothing of NIL.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.nn import functional

from ..candidates.entity_facts import wikidata_id
from ..heads import ENTITIES, PAIRS, Calibration, EdgeScores, GoldClustering, Head
from ..heads.gaps import mention_targets
from ..metrics.calibration import has_wikidata_id, is_wikidata_id
from ..pipeline_corefel import CorefELPipeline
from ..processing.alignment import align_clusters
from ..utils.gold_codes import NOT_KNOWN
from .measuring import calibrated
from .reading import ReadDocument

__all__ = ["Evidence", "NothingToFitError", "check_only", "fit_calibration", "fit_to_evidence"]

# Log-scales and offsets are sought within these bounds.
_SCALE_BOUNDS = (math.log(0.05), math.log(20.0))
_OFFSET_BOUNDS = (-10.0, 10.0)
# How strongly values are drawn towards those that change nothing: log-scales, for corpora that say nothing of one of
# them; the offset more, since it changes what is decided, and corpora differ in what they count as NIL.
_PULL_OF_SCALES, _PULL_OF_OFFSET = 1e-3, 2e-2
_LEAST_PROBABILITY = 1e-9
_ENOUGH_MENTIONS = 600
# Of the differences that stand for derivatives, in log-scales and offsets.
_STEP = 1e-3


@dataclass(frozen=True)
class Evidence:
    """What gold knows of a document.

    Attributes:
        spans: Mention scores of the retained spans of which it is known whether they are mentions, ``[M]``.
        are_mentions: Whether they are, ``[M]``.
        scores: The scores of the annotated mentions.
        gold: Their clusters and links.
        linked: ``[L]`` the mentions of which the link is known.
        rows: ``[L]`` their entities, -1 for none.
        all_have_entity: Whether the link is known of mentions alone that have an entity, which makes NIL impossible.
        knows_all_links: Whether the link of every annotated mention is known; else clusters are compared without.
    """

    spans: Tensor
    are_mentions: Tensor
    scores: EdgeScores
    gold: GoldClustering
    linked: Tensor
    rows: Tensor
    all_have_entity: bool
    knows_all_links: bool


class NothingToFitError(ValueError):
    """No annotated mention is there that a calibration could be fitted to."""


def fit_calibration(
    pipeline: CorefELPipeline,
    corpora: Mapping[str, Sequence[ReadDocument]],
    *,
    one_scale: bool = False,
    only: Collection[str] = (),
    start: Calibration | None = None,
) -> Calibration:
    """Fit a calibration to annotated documents, which should be none of those that the model was trained on.

    Of each corpus the first documents are taken, until they have 600 annotated mentions: more do not change a few
    numbers, and take their time.

    Args:
        pipeline: The model that has read them; its own calibration plays no part, and it is not changed.
        corpora: Documents by the name of their corpus. Each corpus counts the same.
        one_scale: Whether one scale is fitted for all scores and no offset, which leaves the best tree as it is.
        only: The values of `Calibration` that are fitted, by their names; all when empty. The others change nothing.
        start: Where the search begins; a calibration that changes nothing when None.

    Raises:
        ValueError: When no mention is annotated that the model keeps, `Calibration` has no such value, or both
            `one_scale` and `only` are given.
    """
    check_only(only, one_scale)
    head = pipeline.model.head
    evidence = {name: list(_enough(pipeline, head, read)) for name, read in corpora.items()}
    if not any(bool(each.scores.mask.any()) for part in evidence.values() for each in part):
        raise NothingToFitError(
            "no annotated mention is among the spans that the model keeps, so nothing can be fitted"
        )
    return fit_to_evidence(head, evidence, one_scale=one_scale, only=only, start=start)


def check_only(only: Collection[str], one_scale: bool) -> None:
    """Raises unless all names are those of values, and one way of fitting is chosen."""
    known = Calibration().to_dict()
    for name in only:
        if name not in known:
            raise ValueError(f"only: a calibration has no {name!r}; it has {', '.join(known)}")
    if only and one_scale:
        raise ValueError("one_scale and only are two ways of fitting fewer values; leave one out")


def _enough(pipeline: CorefELPipeline, head: Head, read: Sequence[ReadDocument]) -> Iterator[Evidence]:
    """What gold knows of documents, until they have as many mentions as are needed."""
    mentions = 0
    for document in read:
        if mentions >= _ENOUGH_MENTIONS:
            return
        yield (found := _evidence(pipeline, head, document))
        mentions += int(found.scores.mask.sum())


def fit_to_evidence(
    head: Head,
    evidence: Mapping[str, Sequence[Evidence]],
    *,
    one_scale: bool = False,
    only: Collection[str] = (),
    start: Calibration | None = None,
) -> Calibration:
    """Fit a calibration to what gold knows of documents.

    Args:
        head: The head that makes probabilities of the scores.
        evidence: By the name of the corpus.
        one_scale: See `fit_calibration`.
        only: See there.
        start: Where the search begins.

    Raises:
        ValueError: When the head has none of the scores that are to be fitted.
    """
    if one_scale:
        return _fit_one_scale(head, evidence, start or Calibration())
    wanted = only or Calibration().to_dict()
    fitted = _fit_mentions(evidence) if "mention_scale" in wanted else Calibration()
    searched = [
        name
        for needed, names in ((PAIRS, ("pair_scale",)), (ENTITIES, ("link_scale", "nil_offset")))
        for name in names
        if needed in head.needs and name in wanted
    ]
    if not searched:
        if "mention_scale" not in wanted:
            raise ValueError(f"only: the head has no scores that {', '.join(only)} would change")
        return _rounded(fitted)
    pulls = np.array([_PULL_OF_SCALES if name.endswith("_scale") else _PULL_OF_OFFSET for name in searched])

    def loss(values: np.ndarray) -> float:
        return _loss(head, _with(fitted, searched, values), evidence) + float((pulls * values**2).sum())

    begin = (start or Calibration()).to_dict()
    found = minimize(
        loss,
        [math.log(begin[name]) if name.endswith("_scale") else begin[name] for name in searched],
        method="L-BFGS-B",
        bounds=[_SCALE_BOUNDS if name.endswith("_scale") else _OFFSET_BOUNDS for name in searched],
        options={"eps": _STEP, "ftol": 1e-5, "maxiter": 40},
    )
    return _rounded(_with(fitted, searched, found.x))


def _fit_one_scale(head: Head, evidence: Mapping[str, Sequence[Evidence]], start: Calibration) -> Calibration:
    """Fit one scale for all scores."""
    names = ("mention_scale", "pair_scale", "link_scale")

    def loss(values: np.ndarray) -> float:
        calibration = _with(Calibration(), names, np.repeat(values, len(names)))
        return _loss(head, calibration, evidence) + _PULL_OF_SCALES * float((values**2).sum())

    begin = [math.log(start.link_scale)]
    found = minimize(loss, begin, method="L-BFGS-B", bounds=[_SCALE_BOUNDS], options={"eps": _STEP, "ftol": 1e-5})
    return _rounded(_with(Calibration(), names, np.repeat(found.x, len(names))))


def _with(calibration: Calibration, names: Sequence[str], values: Sequence[float] | np.ndarray) -> Calibration:
    """The calibration with other values, scales of which are given by their logarithms."""
    changes = {
        name: math.exp(value) if name.endswith("_scale") else float(value)
        for name, value in zip(names, values, strict=True)
    }
    return replace(calibration, **changes)


def _rounded(calibration: Calibration) -> Calibration:
    """The calibration in numbers that a person can read; the digits that are left out say nothing."""
    # Adding zero makes 0.0 of -0.0.
    return Calibration(**{name: round(value, 4) + 0.0 for name, value in calibration.to_dict().items()})


def _fit_mentions(evidence: Mapping[str, Sequence[Evidence]]) -> Calibration:
    """Fit the scale of mentions (Guo et al. 2017): no tree takes part."""
    known = [
        (torch.cat([each.spans for each in part]), torch.cat([each.are_mentions for each in part]))
        for part in evidence.values()
        if part
    ]
    known = [(scores.double(), targets.double()) for scores, targets in known if len(scores)]
    if not known:
        return Calibration()

    def loss(values: np.ndarray) -> float:
        calibration = _with(Calibration(), ("mention_scale",), values)
        losses = [
            functional.binary_cross_entropy_with_logits(calibration.of_mentions(scores), targets).item()
            for scores, targets in known
        ]
        return sum(losses) / len(losses) + _PULL_OF_SCALES * float((values**2).sum())

    found = minimize(loss, np.zeros(1), method="L-BFGS-B", bounds=[_SCALE_BOUNDS])
    return _with(Calibration(), ("mention_scale",), found.x)


def _loss(head: Head, calibration: Calibration, evidence: Mapping[str, Sequence[Evidence]]) -> float:
    """The mean over corpora of what a mention costs: its link, where corpora know any, and its place in a cluster."""
    links, clusters = [], []
    for part in evidence.values():
        sums = np.zeros(4)
        for each in part:
            if len(each.gold.cluster_ids[0]):
                sums += _costs(head, calibration(each.scores), each)
        if sums[1]:
            links.append(sums[0] / sums[1])
        if sums[3]:
            clusters.append(sums[2] / sums[3])
    return sum(sum(costs) / len(costs) for costs in (links, clusters) if costs)


@torch.no_grad()
def _costs(head: Head, scores: EdgeScores, evidence: Evidence) -> tuple[float, int, float, int]:
    """What links cost and how many there are, what clusters cost and how many mentions they have."""
    link_cost, count = 0.0, len(evidence.linked)
    if count and head.links:
        entities = head.posterior(scores).marginals.entities
        columns = torch.searchsorted(_ascending(entities.entity_rows[0]), evidence.rows.clamp(min=0))
        columns = columns.clamp(max=max(entities.probability.shape[2] - 1, 0))
        linked, nil = entities.probability[0, evidence.linked], entities.nil[0, evidence.linked]
        found = linked.gather(1, columns.unsqueeze(1)).squeeze(1) if linked.shape[1] else torch.zeros_like(nil)
        right = torch.where(evidence.rows < 0, nil, found).double()
        if evidence.all_have_entity:
            right = right / (1.0 - nil.double()).clamp(min=_LEAST_PROBABILITY)
        link_cost = float(-right.clamp(min=_LEAST_PROBABILITY).log().sum())
    else:
        count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a document whose gold is impossible costs nothing
        bare = scores if evidence.knows_all_links else scores.without_candidates()
        cluster_cost = float(head.loss(bare, evidence.gold)) if evidence.knows_all_links or PAIRS in head.needs else 0.0
    return link_cost, count, cluster_cost, int(scores.mask.sum())


def _ascending(entity_rows: Tensor) -> Tensor:
    """Rows of entities with padding behind all others."""
    return entity_rows.masked_fill(entity_rows < 0, torch.iinfo(entity_rows.dtype).max)


def _evidence(pipeline: CorefELPipeline, head: Head, document: ReadDocument) -> Evidence:
    """What gold knows of a document, over the spans that the model has retained."""
    encoded, output = document.encoded, document.output
    with calibrated(pipeline.model, None):
        scores = pipeline.model.edge_scores(output)
    # Entities of one name are one.
    numbers = {name: n for n, name in enumerate(dict.fromkeys(document.entities))}
    row_of = np.array([*(numbers[name] for name in document.entities), -1])
    rows = row_of[encoded.candidate_rows]
    layers = document.gold.layers
    aligned = align_clusters(
        document.gold.clusters or [],
        encoded.spans.offsets,
        rows,
        list(numbers),
        encoded.cores,
        layers=layers,
        names_only=encoded.names_only,
    )
    entity_rows = _without_unknown_ids(pipeline, document, aligned.entities)
    assert output.retained is not None
    at = output.retained[0]
    clusters, entities = (torch.from_numpy(values)[at.clamp(min=0)] for values in (aligned.clusters, entity_rows))
    target, known = mention_targets(clusters.unsqueeze(0), scores.mask)
    spans, are_mentions = scores.mention[known], target[known]

    annotated = ((clusters >= 0) | (clusters == NOT_KNOWN)) & scores.mask[0]
    merged = torch.from_numpy(row_of)[scores.candidate_rows].masked_fill(scores.candidate_rows < 0, -1)
    scores = _of_spans(replace(scores, candidate_rows=merged), annotated)
    if not scores.own:
        clusters, entities = clusters[annotated], entities[annotated]
    gold = GoldClustering(clusters.unsqueeze(0), entities.unsqueeze(0)).within(scores.mask)
    gold, _ = gold.restrict_to_reachable(scores.candidate_rows, scores.mask)
    gold = gold.restrict_to_connected(scores)
    has_link = scores.mask & (gold.entity_rows != NOT_KNOWN)
    if some := layers.links == "some":
        has_link &= gold.entity_rows >= 0
    linked = has_link[0].nonzero().squeeze(1)
    linked_rows = gold.entity_rows[0, linked]
    # Where gold has an id that nothing can be compared with, a link is not known although it is annotated.
    complete = layers.links is True and not bool((scores.mask & (gold.entity_rows == NOT_KNOWN)).any())
    if not complete:
        # To know the links of linked clusters alone would say, if it counted, that hardly any is NIL.
        gold = _without_links(gold).restrict_to_connected(scores)
    return Evidence(spans, are_mentions, scores, gold, linked, linked_rows, some, complete)


def _without_links(gold: GoldClustering) -> GoldClustering:
    """The clusters alone; of spans whose cluster is not known either, nothing."""
    return GoldClustering(gold.cluster_ids, gold.entity_rows.masked_fill(gold.cluster_ids != NOT_KNOWN, -1))


def _of_spans(scores: EdgeScores, wanted: Tensor) -> EdgeScores:
    """The scores of some spans: without the others, or where a head has scores of its own, with these masked."""
    if scores.own:
        return replace(scores, mask=scores.mask & wanted)
    cut: dict[str, Any] = {name: value[:, wanted] for name in _OF_SPANS if (value := getattr(scores, name)) is not None}
    pairs = {name: value[:, wanted][:, :, wanted] for name in _OF_PAIRS if (value := getattr(scores, name)) is not None}
    return replace(scores, **cut, **pairs)


_OF_SPANS = ("mention", "link", "candidate_rows", "mask", "root_pair", "nil")
_OF_PAIRS = ("pair", "forbidden")


def _without_unknown_ids(pipeline: CorefELPipeline, document: ReadDocument, rows: np.ndarray) -> np.ndarray:
    """The entities of the spans, not known where gold has a Wikidata id of which no candidate can be compared.

    A knowledge base need not know the ids of its entities: the right one may be there without.
    """
    rows = rows.copy()
    place = {tuple(offsets): s for s, offsets in enumerate(document.encoded.spans.offsets.tolist())}
    knowledge_base = pipeline.processor.knowledge_base
    for cluster in document.gold.clusters or []:
        if cluster.entity is None or not is_wikidata_id(cluster.entity) or cluster.entity in document.entities:
            continue
        spans = [place[m.offsets] for m in cluster.mentions if m.offsets in place]
        listed = document.encoded.candidate_rows[spans]
        names = {(document.encoded.entities[row], document.entities[row]) for row in np.unique(listed[listed >= 0])}
        if not all(has_wikidata_id(*each, lambda entity: wikidata_id(knowledge_base, entity)) for each in names):
            rows[spans] = NOT_KNOWN
    return rows
