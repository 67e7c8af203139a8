"""Whole clusterings of a document: the one that fulfils constraints, draws, and the most probable ones."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch

from ..documents import Cluster, Clustering, Constraints, DocumentError, LinkGroup, Mention, Offsets
from ..heads import EdgeScores, Head, Posterior
from ..processing_corefel import EncodedDocument
from ..trees import SpanningTreeDistribution
from ..trees.arborescence import IntArray
from .best_clusterings import ClusteringWeights, Parts, best_clusterings
from .clusters import DecodedCluster, clusters_by_name, clusters_from_parents
from .constrained_draws import constrained_draws
from .constrained_tree import (
    LIMIT,
    NIL,
    UNKNOWN,
    ConstraintSearch,
    SpanGroup,
    UnfinishedSearchError,
    best_constrained_tree,
    holds,
)
from .named_weights import Named, NamedWeights
from .nesting import DecodedSpans, namesakes, without_nested

__all__ = ["ConstraintPlan", "WholeClusterings", "structure_distribution"]

DRAWS = 5_000
"""Most trees of a document that are drawn for samples under constraints, most of which may break them."""

_STARTS = 64
"""How many draws the search for clusterings begins with."""

_LEAST = -745.0
"""Log of the smallest number above 0 in double precision."""

ConstraintPairs = tuple[list[SpanGroup], set[tuple[int, int]]]
"""Groups of spans that belong together, and pairs of groups that do not."""


@dataclass(frozen=True)
class ConstraintPlan:
    """Constraints of one document, checked.

    Attributes:
        constraints: As they were given.
        groups: Mentions that belong together.
        apart: Pairs of groups that do not.
    """

    constraints: Constraints
    groups: list[LinkGroup]
    apart: set[tuple[int, int]]


def structure_distribution(head: Head, scores: EdgeScores, posterior: Posterior, name: str) -> SpanningTreeDistribution:
    """Return the distribution of a head over the parents of all spans.

    That of a head that lets each span choose for itself, among what stands before it, is the product of its choices;
    every combination of these is a tree.

    Args:
        head: The head.
        scores: Its scores.
        posterior: What it makes of them; a distribution that it holds is taken as it is.
        name: Its name, for the message.

    Raises:
        ValueError: If the head has no such distribution.
    """
    if isinstance(held := getattr(posterior, "distribution", None), SpanningTreeDistribution):
        return held
    if (own := getattr(head, "distribution", None)) is not None:
        distribution: SpanningTreeDistribution = own(scores)
        return distribution
    edges = posterior.marginals.edges
    if edges.span_to_span.tril().any():
        raise ValueError(
            f"head {name!r} has no distribution over whole clusterings, which samples, clusterings and constraints "
            "need; give it a method `distribution`, as the global head has"
        )
    chances = torch.cat(
        (edges.span_to_span.mT, edges.root.unsqueeze(-1), edges.candidate_probabilities), dim=-1
    ).double()
    # Where a chance is too small to be told from none, but there is an edge, constraints may still need it.
    exists = head.parent_scores(scores).to(chances.device) > -torch.inf
    weights = chances.log().clamp(min=_LEAST).masked_fill(~exists, -torch.inf)
    n = scores.num_spans
    ids = scores.candidate_rows.masked_fill(~scores.candidate_mask, -1)
    return SpanningTreeDistribution(
        weights[..., n],
        weights[..., :n].mT,
        weights[..., n + 1 :],
        ids.to(weights.device),
        scores.mask.to(weights.device),
    )


class WholeClusterings:
    """The clusterings of one document of a batch.

    Args:
        document: The document.
        distribution: Of the batch, over parents.
        weights: ``[N, N+1+K]`` what each parent counts for, see `Head.parent_scores`.
        b: Number of the document in the batch.
        offsets: ``[N]`` code points of the retained spans, empty for padding.
        mention: ``[N]`` mention scores.
        nested: Pairs of retained spans of which one contains the other: twins, and others; the longer one first. And
            the code points of spans of which no two mentions may share one; empty where they may.
        head: Name of the head.
        plan: The document's constraints.
        names: What each entity is called; those of one name are one. As the document says when None.
    """

    def __init__(
        self,
        document: EncodedDocument,
        distribution: SpanningTreeDistribution,
        weights: torch.Tensor,
        b: int,
        offsets: Sequence[Offsets],
        mention: Sequence[float],
        nested: tuple[list[list[int]], list[list[int]], list[list[int]]],
        head: str,
        plan: ConstraintPlan | None,
        names: Sequence[str] | None = None,
    ) -> None:
        self._names = document.entities if names is None else names
        self._document, self._plan, self._head = document, plan, head
        # Padding stands at the end.
        n = int(distribution.mask[b].sum())
        size = distribution.root.shape[1]
        self._size, self._offsets, self._mention = n, list(offsets[:n]), list(mention[:n])
        self._twins, self._parts, exclusive = nested
        self._exclusive = exclusive[:n]
        self._one = SpanningTreeDistribution(
            distribution.root[b : b + 1, :n].detach().cpu(),
            distribution.span_to_span[b : b + 1, :n, :n].detach().cpu(),
            distribution.candidate_scores[b : b + 1, :n].detach().cpu(),
            distribution.candidate_rows[b : b + 1, :n].cpu(),
        )
        self._counts = torch.cat((weights[:n, :n], weights[:n, size:]), dim=-1)
        self._groups, self._apart = self._spans_of(plan)
        self.required = {span for group in self._groups for span in group.spans}
        # Those whose entity is asked for, by name.
        self.required_links = {span for group in self._groups if group.entity >= 0 for span in group.spans}
        self.separate = {span for pair in self._apart for number in pair for span in self._groups[number].spans}

    def _spans_of(self, plan: ConstraintPlan | None) -> tuple[list[SpanGroup], set[tuple[int, int]]]:
        if plan is None:
            return [], set()
        place = {offsets: span for span, offsets in enumerate(self._offsets)}
        rows = {entity: row for row, entity in enumerate(self._document.entities)}
        groups = []
        for group in plan.groups:
            entity = UNKNOWN if not group.is_fixed else NIL if group.entity is None else rows[group.entity]
            groups.append(SpanGroup(tuple(sorted(place[mention] for mention in group.mentions)), entity))
        return groups, set(plan.apart)

    @cached_property
    def _weights(self) -> ClusteringWeights:
        return ClusteringWeights(self._one.graphs[0])

    @property
    def _ids(self) -> IntArray:
        return self._weights.graph.candidate_rows

    @cached_property
    def _by_name(self) -> NamedWeights:
        return NamedWeights(self._weights, self._names, self.separate)

    @cached_property
    def constrained(self) -> tuple[list[int], bool]:
        """The parents of the best tree that fulfils the constraints, and whether it is known to be the best.

        Raises:
            DocumentError: If there is none, or none was found; the message names the constraints.
        """
        parents, is_best, _ = self._search
        spans = self._tidied(parents) or self._tidy(parents, given=True)
        return spans.parents, is_best

    @cached_property
    def _search(self) -> tuple[IntArray, bool, ConstraintPairs]:
        """The same before the rules for nested mentions leave any out, with what was searched for in the end."""
        groups, apart = list(self._groups), set(self._apart)
        for again in itertools.count():
            try:
                # A round for each clash of nested mentions must not take as long as the first.
                limit = max(LIMIT >> again, LIMIT // 8)
                found = best_constrained_tree(self._weights.columns, self._ids, groups, apart, limit)
            except UnfinishedSearchError as error:
                self._refuse_nested(groups)
                raise DocumentError(f"{self._says('found no clustering that fulfils')}: {error}") from error
            if found is None:
                self._refuse_nested(groups)
                nested = " A phrase and its own part cannot be linked." if len(apart) > len(self._apart) else ""
                raise DocumentError(
                    f"{self._says('no clustering fulfils')}; the head {self._head!r} knows no edges that would.{nested}"
                )
            parents, is_best = found
            clashes = self._nested_together(parents)
            if not clashes:
                return parents, is_best, (groups, apart)
            for pair in clashes:
                self._refuse_nested(groups, [pair])
                numbers = [self._group_of(span, groups) for span in pair]
                apart.add((min(numbers), max(numbers)))
        raise AssertionError("the rounds do not end")

    def _refuse_nested(self, groups: list[SpanGroup], pairs: Sequence[Sequence[int]] | None = None) -> None:
        """Raise `DocumentError` where constraints link a phrase and its own part: of any pair, or of these."""
        for pair in self._parts if pairs is None else pairs:
            if any(set(pair) <= set(group.spans) for group in groups):
                one, other = (self._named(span) for span in pair)
                raise DocumentError(
                    f"{self._document.document.name}: constraints link {one} and {other}, of which one is a part of "
                    "the other; this model forbids it (forbid_nested)"
                )

    @property
    def constrained_clusters(self) -> tuple[list[int], list[DecodedCluster]]:
        """The parents of that tree, and its clusters."""
        parents, _ = self.constrained
        spans = DecodedSpans(parents, self._ids.tolist(), self._mention, [True] * self._size)
        return parents, self._clusters(spans, self.separate)

    @staticmethod
    def _group_of(span: int, groups: list[SpanGroup]) -> int:
        """The number of a span's group, which is made where it has none."""
        for g, group in enumerate(groups):
            if span in group.spans:
                return g
        groups.append(SpanGroup((span,)))
        return len(groups) - 1

    def _says(self, verdict: str) -> str:
        assert self._plan is not None
        return f"{self._document.document.name}: {verdict} the constraints {self._plan.constraints.to_dict()}"

    def _named(self, span: int) -> str:
        begin, end = self._offsets[span]
        return f"{self._document.document.text[begin:end]!r} {begin}..{end}"

    def _decoded(self, parents: IntArray) -> DecodedSpans:
        n = self._size
        return DecodedSpans(parents.tolist(), self._ids.tolist(), self._mention, [True] * n, self._exclusive)

    def _nested_together(self, parents: IntArray) -> list[list[int]]:
        """The pairs of a phrase and its part in one cluster, but for namesakes."""
        spans = self._decoded(parents)
        same = namesakes(spans, self._parts)
        return [pair for pair in self._parts if spans.top(pair[0]) == spans.top(pair[1]) and pair not in same]

    def _tidy(self, parents: IntArray, given: bool = False) -> DecodedSpans:
        """A tree by the rules for nested mentions; what the linking head takes for no mention is left out."""
        spans = self._decoded(parents)
        links_alone = self._head == "standalone_linking"
        alone = -1 if links_alone else self._size
        if links_alone:
            spans.parents = [-1 if parent == self._size else parent for parent in spans.parents]
        given = given or self._document.keep_all
        without_nested(spans, self._twins, self._parts, self._counts, alone, given=given, fixed=self.required)
        return spans

    def _tidied(self, parents: IntArray, by_name: bool = False) -> DecodedSpans | None:
        """A tree by the rules for nested mentions; None where it does not fulfil the constraints then."""
        spans = self._tidy(parents)
        if not self._fulfilled(spans, by_name):
            # What hung from one of two twins was moved to the other; so both stay, as given ones do.
            spans = self._tidy(parents, given=True)
        return spans if self._fulfilled(spans, by_name) else None

    def _clusters(self, spans: DecodedSpans, separate: Collection[int]) -> list[DecodedCluster]:
        clusters = clusters_from_parents(spans.parents, spans.candidate_rows, spans.mention, spans.mask)
        return complete_clusters(
            clusters_by_name(clusters, self._names, separate),
            range(self._size) if self._document.keep_all else self.required,
        )

    def _fulfilled(self, spans: DecodedSpans, by_name: bool) -> bool:
        """Whether clusters fulfil the constraints, those of one name as one or not."""
        if not self._groups:
            return True
        tops = [spans.top(n) if spans.parents[n] >= 0 else (False, n) for n in range(self._size)]
        if by_name:
            return holds(self._by_name.tops(tops), self._by_name.groups(self._groups), self._apart)
        return holds(tops, self._groups, self._apart)

    def samples(self, count: int, generator: torch.Generator | None) -> list[Clustering]:
        """Draw clusterings, from those that fulfil the constraints.

        Raises:
            DocumentError: If there are constraints that too few draws fulfil.
        """
        drawn: list[Clustering] = []
        for parents in self._draws(count, generator):
            spans = self._tidied(parents)
            if spans is not None:
                _, chance = self._by_name.joined(self._weights.of_tree(parents))
                drawn.append(self._result(self._clusters(spans, self.separate), chance))
                if len(drawn) == count:
                    return drawn
        if len(drawn) == count:
            return drawn
        raise DocumentError(
            f"{self._document.document.name}: only {len(drawn)} of {DRAWS} draws fulfil the constraints, but {count} "
            "samples were asked for; ask for fewer, or for clusterings, which are searched"
        )

    def _draws(self, count: int, generator: torch.Generator | None) -> Iterator[IntArray]:
        if not self._groups:
            yield from self._one.sample(count, generator=generator)[:, 0].numpy()
            return
        search = ConstraintSearch(self._weights.columns, self._ids, self._groups, self._apart)
        seed = int(torch.randint(2**63 - 1, (), generator=generator))
        yield from constrained_draws(search, DRAWS, np.random.default_rng(seed))

    def clusterings(self, count: int) -> list[Clustering]:
        """The most probable clusterings that a search finds, among those that fulfil the constraints."""
        ways = [True]
        if self._by_name.differ and self._groups and self._search[2][1]:
            # What constraints keep apart may have two entities of one name.
            ways.append(False)
        # Several may be the same by the rules for nested mentions.
        is_final = len(ways) == 1 and not (self._twins or self._parts or self._exclusive)
        results: dict[Named, tuple[list[DecodedCluster], float]] = {}
        seen: set[Parts] = set()
        for by_name in ways:
            for parts, chance, clusters in self._found(count, by_name):
                if parts not in seen:
                    seen.add(parts)
                    name = self._by_name.of(clusters)
                    first, before = results.get(name, (clusters, -np.inf))
                    results[name] = first, float(np.logaddexp(before, chance))
                if len(results) > count and is_final:
                    break
        ranked = sorted(results.values(), key=lambda item: -item[1])[:count]
        return [self._result(clusters, chance) for clusters, chance in ranked]

    def _found(self, count: int, by_name: bool) -> Iterator[tuple[Parts, float, list[DecodedCluster]]]:
        """Clusterings of the search, their log-probabilities, and what the rules for nested mentions make of them."""
        weights = self._by_name.weights if by_name else self._weights
        if self._groups:
            # Before the rules for nested mentions, which leave mentions out.
            trees = [self._search[0]]
        else:
            trees = [tree for tree in self._one.topk(count + 4).parents[:, 0].numpy() if (tree >= 0).all()]
        trees += list(self._one.sample(_STARTS, generator=torch.Generator().manual_seed(0))[:, 0].numpy())
        starts = [weights.of_tree(tree) for tree in trees]
        for parts, _ in best_clusterings(weights, starts, count, partial(self._part_groups_hold, by_name=by_name)):
            spans = self._tidied(weights.best_tree(parts), by_name)
            if spans is not None:
                yield *self._by_name.joined(parts), self._clusters(spans, () if by_name else self.separate)

    def _part_groups_hold(self, parts: Parts, by_name: bool) -> bool:
        if not self._groups:
            return True
        tops: list[tuple[bool, int]] = [(False, -1)] * self._size
        for spans, entity in parts:
            for span in spans:
                tops[span] = (False, min(spans)) if entity is None else (True, entity)
        groups, apart = self._search[2]
        return holds(tops, self._by_name.groups(groups) if by_name else groups, apart)

    def _result(self, decoded: list[DecodedCluster], chance: float) -> Clustering:
        text, entities = self._document.document.text, self._document.entities
        clusters = []
        for cluster in decoded:
            places = sorted(self._offsets[span] for span in cluster.spans)
            mentions = tuple(Mention(begin, end, text[begin:end]) for begin, end in places)
            clusters.append(Cluster(mentions, None if cluster.entity_row is None else entities[cluster.entity_row]))
        clusters.sort(key=lambda cluster: cluster.mentions[0].offsets)
        return Clustering(tuple(clusters), min(chance, 0.0))


def complete_clusters(clusters: list[DecodedCluster], required: Sequence[int] | set[int]) -> list[DecodedCluster]:
    """Return the clusters with those mentions, each as one without entity, that must be in the result and are not."""
    held = {span for cluster in clusters for span in cluster.spans}
    alone = [DecodedCluster((span,), None) for span in required if span not in held]
    return sorted([*clusters, *alone], key=lambda cluster: cluster.spans)
