"""The second half of reading a long document: candidates, links, and some pairs of its retained spans are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..candidates import KnowledgeBackend
from ..heads import ENTITIES, ENTITY_ROOT, NIL, PAIR_ROOT, PAIRS
from ..heads.sparse_scores import SparseEdgeScores
from ..layers.entities import expected_entities
from ..layers.enumerated import log_odds
from ..layers.pair_list import CandidateTable, WordTable, matches_between, score_pair_list
from ..layers.relations import relations_between
from ..modeling_corefel import CorefELModel
from ..pipelines.retrieval import wants_span_vectors, with_late_candidates
from ..processing_corefel import CorefELProcessor, EncodedDocument
from .nested_pairs import NestedPairs, nested_pairs
from .partners import PartnerKeys, choose_pairs
from .reading import ReadSpans, read_spans

__all__ = ["LongOutput", "read_long_document"]


@dataclass(frozen=True)
class LongOutput:
    """What a model makes of a long document.

    Attributes:
        document: The document, with the candidates that it was read with.
        retained: ``[N]`` numbers of the retained spans in reading order.
        scores: Their edges, before calibration.
        nested: Which of them contain others.
        exclusive: Code points ``[N, 2]`` of them where no two mentions may share one; None where they may.
    """

    document: EncodedDocument
    retained: np.ndarray
    scores: SparseEdgeScores
    nested: NestedPairs
    exclusive: np.ndarray | None


@torch.no_grad()
def read_long_document(model: CorefELModel, processor: CorefELProcessor, document: EncodedDocument) -> LongOutput:
    """Read a document whose spans are too many to be scored each with each.

    Args:
        model: The model, in evaluation mode; its head reads lists of edges (`Head.reads_edge_lists`).
        processor: What encoded the document.
        document: The document, with its entities' vectors.
    """
    read = read_spans(model, processor, document, log_odds(model.config.min_mention_probability))
    if wants_span_vectors(processor):
        document = _with_proposals(processor.knowledge_base, document, read, processor.settings.max_candidates)
    retained = read.retained
    config, needs = model.config, model.head.needs
    device = read.vectors.device
    spans = read.vectors.unsqueeze(0)
    rows = torch.from_numpy(document.candidate_rows[retained]).to(device).unsqueeze(0)
    priors = torch.from_numpy(document.log_priors[retained]).to(device).unsqueeze(0)
    vectors = torch.from_numpy(document.entity_vectors).to(device).unsqueeze(0)
    mention = read.mention
    link = mention.new_zeros(rows.shape[1:])
    root_pair = nil = None
    if ENTITIES in needs:
        inputs = spans, rows, priors, vectors
        link = model.entities(*inputs, mention.unsqueeze(0))[0]
        nil = model.entities(*inputs, of_vector="nil")[0] if NIL in needs else None
        root_pair = model.entities(*inputs, of_vector="root")[0] if ENTITY_ROOT in needs else None
    nested = nested_pairs(document, retained, config.forbid_nested)
    early = late = torch.zeros(0, dtype=torch.int64)
    pair = mention.new_zeros(0)
    if PAIRS in needs:
        expected = expected_entities(rows, priors, vectors) if config.use_pair_entities else None
        early, late = _pairs_to_score(document, retained, mention)
        early, late = nested.without_forbidden(early, late)
        early, late = early.to(device), late.to(device)
        scorer = _PairInputs(model, document, retained, rows[0], priors[0])
        forward, backward = score_pair_list(
            model.pairs,
            read.vectors,
            early,
            late,
            expected_embeddings=None if expected is None else expected[0],
            matches=scorer.matches if config.use_pair_matches else None,
            relations=scorer.relations,
            antecedents_only=model.head.antecedents_only,
            order=read.order,
        )
        pair = torch.cat((forward, backward)) if not model.head.antecedents_only else forward
        if PAIR_ROOT in needs:
            root_pair = model.pairs(spans, expected_embeddings=expected, of_root=True)[0]
    both = not model.head.antecedents_only
    scores = SparseEdgeScores(
        mention=_readable(mention),
        link=_readable(link),
        candidate_rows=rows[0].cpu(),
        source=(torch.cat((early, late)) if both else early).cpu(),
        target=(torch.cat((late, early)) if both else late).cpu(),
        pair=_readable(pair),
        root_pair=None if root_pair is None else _readable(root_pair),
        nil=None if nil is None else _readable(nil),
        root_score=config.root_score,
    )
    exclusive = document.spans.offsets[retained] if config.exclusive_scopes[document.scope] else None
    return LongOutput(document, retained, scores, nested, exclusive)


def _readable(values: Tensor) -> Tensor:
    """Scores in float32 at least, on the CPU."""
    return values.to(torch.promote_types(values.dtype, torch.float32)).cpu()


def _pairs_to_score(document: EncodedDocument, retained: np.ndarray, mention: Tensor) -> tuple[Tensor, Tensor]:
    table = WordTable.of(
        torch.from_numpy(document.word_forms),
        torch.from_numpy(document.spans.word[retained]),
        torch.from_numpy(document.spans.width[retained]),
    )
    keys = PartnerKeys(
        words=table.forms.numpy(),
        entities=document.candidate_rows[retained],
        definitions=document.definitions[retained],
        persons=document.speakers[retained, 1],
        mention=mention.float().cpu().numpy(),
    )
    early, late = choose_pairs(keys, document.max_partners)
    return torch.from_numpy(early), torch.from_numpy(late)


class _PairInputs:
    """The features of pairs, made for some at a time."""

    def __init__(
        self, model: CorefELModel, document: EncodedDocument, retained: np.ndarray, rows: Tensor, priors: Tensor
    ) -> None:
        def tensor(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values).to(rows.device)

        spans = document.spans
        self._config = model.config
        self._words = WordTable.of(
            tensor(document.word_forms), tensor(spans.word[retained]), tensor(spans.width[retained])
        )
        self._candidates = CandidateTable.of(rows, priors)
        self._labels = {
            "definitions": tensor(document.definitions[retained]),
            "speakers": tensor(document.speakers[retained]),
        }

    def matches(self, one: Tensor, other: Tensor) -> Tensor:
        return matches_between(self._words, self._candidates, one, other)

    def relations(self, one: Tensor, other: Tensor) -> Mapping[str, Tensor]:
        return relations_between(self._config, self._labels, one, other)


def _with_proposals(
    knowledge_base: KnowledgeBackend, document: EncodedDocument, read: ReadSpans, limit: int
) -> EncodedDocument:
    """The document with what its knowledge base proposes for the retained spans by their vectors."""
    vectors = read.vectors.float().cpu().numpy()
    return with_late_candidates(knowledge_base, document, read.retained, vectors, limit)
