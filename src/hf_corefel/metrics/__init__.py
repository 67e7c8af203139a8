"""Scores of coreference and entity linking: pure functions on plain data.

`evaluate` compares whole documents; the single metrics work on any clusters of hashable mentions, so
that they are of use without the rest of the package. All scores are fractions between 0 and 1, all
counts add up over documents ("micro"), and 0/0 is 0 as in the CoNLL reference scorer.
"""

from .bootstrap import Addable, Interval, bootstrap_interval
from .calibration import Decisions, DocumentDecisions, ReliabilityBin, RiskAtCoverage, document_decisions
from .clusters import ClusterAccuracy, cluster_accuracy
from .coreference import b_cubed, ceaf_e, ceaf_m, lea, mention_detection, muc
from .counts import PrecisionRecallF1, Share
from .entity_map import EntityMap, MappedLinks
from .evaluation import Scores, evaluate, score_clusters, score_document, score_documents
from .linking import HardCases, el_hard, el_mention, el_soft, hard_cases
from .nested import evaluate_nested, read_nested, read_nested_pairs
from .pronouns import PRONOUNS, PronounRecall, pronoun_recall
from .spans import SpanRecall, span_recall

__all__ = [
    "PRONOUNS",
    "Addable",
    "ClusterAccuracy",
    "Decisions",
    "DocumentDecisions",
    "EntityMap",
    "HardCases",
    "Interval",
    "MappedLinks",
    "PrecisionRecallF1",
    "PronounRecall",
    "ReliabilityBin",
    "RiskAtCoverage",
    "Scores",
    "Share",
    "SpanRecall",
    "b_cubed",
    "bootstrap_interval",
    "ceaf_e",
    "ceaf_m",
    "cluster_accuracy",
    "document_decisions",
    "el_hard",
    "el_mention",
    "el_soft",
    "evaluate",
    "evaluate_nested",
    "hard_cases",
    "lea",
    "mention_detection",
    "muc",
    "pronoun_recall",
    "read_nested",
    "read_nested_pairs",
    "score_clusters",
    "score_document",
    "score_documents",
    "span_recall",
]
