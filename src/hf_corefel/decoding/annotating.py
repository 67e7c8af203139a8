"""From the model's output to `AnnotatedDocument`s with probabilities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..documents import Alternative, AnnotatedDocument, Cluster, Clustering, Mention, Parent
from ..heads import Decoding, EdgeScores, HeadMarginals, Posterior
from ..modeling_corefel import CorefELModel, CorefELOutput
from ..processing_corefel import EncodedDocument
from ..resolving import resolve_text
from .clusters import DecodedCluster, clusters_by_name, clusters_from_parents, same_rows
from .entity_options import check_entity_id, check_types
from .nesting import DecodedSpans, nesting_rules, without_nested
from .whole_clusterings import ConstraintPlan, WholeClusterings, complete_clusters, structure_distribution

__all__ = ["AnnotationOptions", "annotate_batch", "check_count", "decode_batch", "unread_document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationOptions:
    """What a result holds beside clusters and links.

    Attributes:
        resolved_text: Whether documents get their `AnnotatedDocument.resolved_text`.
        evidence: Whether mentions get their `Mention.parent`, what they hang from in the decoded tree.
        top_k: How many `Cluster.alternatives` a cluster gets, at most: the entities, NIL among them, that any of its
            mentions may link to, by descending probability; equal ones by name, NIL first. 0 leaves them out.
        min_probability: A link that is less probable becomes NIL, with NIL's probabilities in place of the link's; a
            mention that is less probable (`Mention.probability`) is dropped, unless it was given. Both are named in
            the document's warnings, and nothing else of the result changes: a link is judged by all mentions of the
            decoded cluster, also those that are dropped. What constraints ask for stays.
        samples: How many clusterings of the whole document are drawn from the model (`AnnotatedDocument.samples`).
        clusterings: How many of the most probable clusterings of the whole document are searched, at most
            (`AnnotatedDocument.clusterings`). `min_probability` is not applied to them, nor to samples.
        seed: Makes the samples of a document the same each time; None draws from torch's own generator.
        id: What entities are called: ``"name"`` as in the knowledge base, ``"wikidata"`` by their Wikidata id, such as
            ``Q64``. Entities that have one id are one then: their clusters are one, and their probabilities are added.
            An entity without an id keeps its name; the document's warnings say how many do.
        types: Types of entities that are wanted (`hf_corefel.kb.COARSE_TYPES`), one or several; the clusters of all
            others are left out of the result, with those of NIL and of entities whose type is not known; None leaves
            all in. What the model reads and decides does not depend on it. Samples and clusterings lack these clusters
            too, and keep the probability of the whole.

    Raises:
        TypeError: When a value is of another type.
        ValueError: When a number is out of range.
    """

    resolved_text: bool = False
    evidence: bool = False
    top_k: int = 0
    min_probability: float = 0.0
    samples: int = 0
    clusterings: int = 0
    seed: int | None = None
    id: str = "name"
    types: str | Collection[str] | None = None

    def __post_init__(self) -> None:
        check_entity_id(self.id)
        object.__setattr__(self, "types", check_types(self.types))
        for name in ("resolved_text", "evidence"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}: expected True or False, got {getattr(self, name)!r}")
        for name in ("top_k", "samples", "clusterings"):
            check_count(name, getattr(self, name), least=0)
        if self.seed is not None:
            check_count("seed", self.seed, least=0)
            if self.seed >= 2**63:
                raise ValueError(f"seed: expected less than 2**63, got {self.seed}")
        number = isinstance(self.min_probability, int | float) and not isinstance(self.min_probability, bool)
        if not number:
            raise TypeError(f"min_probability: expected a number between 0 and 1, got {self.min_probability!r}")
        if not 0.0 <= self.min_probability <= 1.0:
            raise ValueError(f"min_probability: expected a number between 0 and 1, got {self.min_probability!r}")


def check_count(name: str, value: Any, *, least: int) -> None:
    """Raises unless an option is a whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected a whole number from {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected a whole number from {least}, got {value!r}")


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
        _Annotator(document, names[b], output, *found, b, url, options, wholes[b]).annotate(clusters[b])
        for b, document in enumerate(documents)
    ]


def unread_document(document: EncodedDocument, options: AnnotationOptions) -> AnnotatedDocument:
    """Return the result of a document without a word, which the model does not read: it has one clustering."""
    source = document.document
    result = AnnotatedDocument(source.text, [], source.id, list(document.warnings), extra=source.extra)
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


class _Annotator:
    """Makes the result of document b of a batch."""

    def __init__(
        self,
        document: EncodedDocument,
        names: Sequence[str],
        output: CorefELOutput,
        scores: EdgeScores,
        decoding: Decoding,
        marginals: HeadMarginals,
        b: int,
        url: Callable[[str], str | None],
        options: AnnotationOptions,
        whole: WholeClusterings | None = None,
    ) -> None:
        assert output.retained is not None and output.candidate_rows is not None
        self._document, self._text = document, document.document.text
        self._url, self._options = url, options
        self._whole = whole
        self._required = frozenset() if whole is None else whole.required
        self._separate = frozenset() if whole is None else whole.separate
        self._offsets = _offsets_of(document, output.retained[b].tolist())
        self._found = torch.sigmoid(scores.mention[b]).tolist()
        self._edge = _edge_probabilities(decoding, marginals, b)
        self._names = names
        self._link = _LinkProbability(marginals, b, names)
        self._parents: list[int] = decoding.parents[b].tolist()
        self._candidates: list[list[int]] = output.candidate_rows[b].tolist()
        self._warnings = list(document.warnings)

    def annotate(self, decoded: list[DecodedCluster]) -> AnnotatedDocument:
        """The result, with its clusters, their mentions and what is said of them in reading order."""
        # Retained spans follow their pieces, which several spans may share, as two characters of Chinese do.
        ordered = [
            replace(cluster, spans=tuple(sorted(cluster.spans, key=self._offsets.__getitem__)))
            for cluster in clusters_by_name(decoded, self._names, self._separate)
        ]
        ordered.sort(key=lambda cluster: self._offsets[cluster.spans[0]])
        clusters = [cluster for item in ordered if (cluster := self._cluster(item)) is not None]
        # A cluster may have lost its first mention.
        clusters.sort(key=lambda cluster: cluster.mentions[0].offsets)
        if self._whole is not None and self._whole.required and not self._whole.constrained[1]:
            self._warnings.append(
                "the constraints are fulfilled, but maybe not in the best way: not all structures were searched"
            )
        source = self._document.document
        result = AnnotatedDocument(self._text, clusters, source.id, self._warnings, extra=source.extra)
        if self._options.resolved_text:
            result.resolved_text = resolve_text(result)
        if self._whole is not None:
            if count := self._options.samples:
                seed = self._options.seed
                generator = None if seed is None else torch.Generator().manual_seed(seed)
                result.samples = self._whole.samples(count, generator)
            if count := self._options.clusterings:
                result.clusterings = self._whole.clusterings(count)
        return result

    def _cluster(self, decoded: DecodedCluster) -> Cluster | None:
        """The cluster; None when all of its mentions are too improbable."""
        row, probability = decoded.entity_row, self._link.mean(decoded.spans, decoded.entity_row)
        least = self._options.min_probability
        if row is not None and probability < least and not self._required & set(decoded.spans):
            first = self._mention(decoded.spans[0], row)
            self._warnings.append(
                f"the link of {first.text!r} {first.begin}..{first.end} and its cluster to "
                f"{self._document.entities[row]!r} has probability {probability:.4f}, below min_probability {least}: "
                "it became NIL"
            )
            row, probability = None, self._link.mean(decoded.spans, None)
        mentions = [mention for n in decoded.spans if self._is_kept(n, mention := self._mention(n, row))]
        if not mentions:
            return None
        entity = None if row is None else self._document.entities[row]
        url = None if entity is None else self._url(entity)
        return Cluster(tuple(mentions), entity, probability, url, self._alternatives(decoded.spans))

    def _is_kept(self, n: int, mention: Mention) -> bool:
        assert mention.probability is not None
        if self._document.keep_all or n in self._required or mention.probability >= self._options.min_probability:
            return True
        self._warnings.append(
            f"the mention {mention.text!r} {mention.begin}..{mention.end} has probability {mention.probability:.4f}, "
            f"below min_probability {self._options.min_probability}: it was dropped"
        )
        return False

    def _mention(self, n: int, row: int | None) -> Mention:
        begin, end = self._offsets[n]
        probabilities = self._found[n], self._edge[n], self._link(n, row)
        parent = self._parent(n) if self._options.evidence else None
        return Mention(begin, end, self._text[begin:end], *probabilities, parent=parent)

    def _parent(self, n: int) -> Parent:
        """The decoded parent of retained span n (numbering of `heads.base`)."""
        parent, size = self._parents[n], len(self._parents)
        if 0 <= parent < size:
            begin, end = self._offsets[parent]
            return Parent("mention", begin, end, self._text[begin:end])
        if parent > size:
            return Parent("entity", entity=self._document.entities[self._candidates[n][parent - size - 1]])
        # A given mention that the linking head takes for none has no parent; like those of the root it is NIL.
        return Parent("root")

    def _alternatives(self, spans: Sequence[int]) -> tuple[Alternative, ...] | None:
        if not self._options.top_k:
            return None
        rows: list[int | None] = [None, *self._link.rows]
        listed = [
            Alternative(None if row is None else self._document.entities[row], self._link.mean(spans, row))
            for row in rows
        ]
        # An entity that no mention of the cluster can reach is no alternative.
        possible = [item for item in listed if item.probability > 0.0]
        possible.sort(key=lambda item: (-item.probability, item.entity or ""))
        return tuple(possible[: self._options.top_k])


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


class _LinkProbability:
    """P(the cluster of a span of document b links to an entity row, or to none)."""

    def __init__(self, marginals: HeadMarginals, b: int, names: Sequence[str]) -> None:
        entities = marginals.entities
        self._column = {row: e for e, row in enumerate(entities.entity_rows[b].tolist()) if row >= 0}
        self._same = same_rows(self._column, names)
        self._linked = entities.probability[b].clamp(0.0, 1.0).tolist()
        self._nil = entities.nil[b].clamp(0.0, 1.0).tolist()

    def __call__(self, span: int, entity: int | None) -> float:
        if entity is None:
            return self._nil[span]
        # At most one of the entities of one name is the cluster's.
        return min(1.0, sum(self._linked[span][self._column[row]] for row in self._same[entity]))

    @property
    def rows(self) -> list[int]:
        """The rows of the entities that are a candidate of any retained span, one for each name."""
        return [row for row, same in self._same.items() if row == same[0]]

    def mean(self, spans: Sequence[int], entity: int | None) -> float:
        """The mean over the spans of a cluster."""
        return sum(self(span, entity) for span in spans) / len(spans)
