"""Metrics of joint coreference resolution and entity linking, as a module of ``evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import evaluate

from hf_corefel.metrics import evaluate_nested, read_nested_pairs

_DESCRIPTION = """
Scores documents whose mentions are grouped into clusters, each with one entity or none (NIL). Coreference: MUC, B³,
CEAF_e, CEAF_m, LEA and the mean F1 of the first three. Entity linking: of mentions (EL_m), of whole clusters (EL_h),
of shares of clusters (EL_s). Beyond these: accuracy on clusters of one and of several mentions, on clusters of one and
of several surface forms, on hard cases (mentions whose own candidates lack their entity), and recall of spans.
Counts are added over documents, then divided; 0/0 is 0.
"""

_CITATION = """
@inproceedings{zaporojets-etal-2022-towards,
    title = "Towards Consistent Document-level Entity Linking: Joint Models for Entity Linking and Coreference Resolution",
    author = "Zaporojets, Klim and Deleu, Johannes and Jiang, Yiwei and Demeester, Thomas and Develder, Chris",
    booktitle = "Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics (Volume 2: Short Papers)",
    year = "2022",
    url = "https://aclanthology.org/2022.acl-short.88/"
}
@inproceedings{pradhan-etal-2014-scoring,
    title = "Scoring Coreference Partitions of Predicted Mentions: A Reference Implementation",
    author = "Pradhan, Sameer and Luo, Xiaoqiang and Recasens, Marta and Hovy, Eduard and Ng, Vincent and Strube, Michael",
    booktitle = "Proceedings of the 52nd Annual Meeting of the Association for Computational Linguistics (Volume 2: Short Papers)",
    year = "2014",
    url = "https://aclanthology.org/P14-2006/"
}
"""  # noqa: E501

_KWARGS_DESCRIPTION = """
Args:
    predictions: list of documents. A document is a list of clusters
        {"mentions": [[begin, end], ...], "entity": "Oslo"}, where the entity is "" for NIL. A mention is two integers
        (code points or tokens) that are the same on both sides. Documents without clusters and clusters without
        mentions are allowed; a mention is in one cluster. Results of the pipeline, its generator, rows of the corpora,
        Document and AnnotatedDocument are taken as they are: of them the clusters are read, and ids and texts that
        differ between the two sides are refused.
    references: list of gold documents of the same form, in the same order.
    candidates: optional, for hard cases. candidates[d][c][m] lists the candidate entities of the m-th mention of
        references[d][c]; None at any level means that they are not known.
    texts: optional, for clusters by surface forms. The text of each document (or its list of tokens, where offsets
        count tokens); None for a document leaves it out.
    enumerated_spans, kept_spans: optional, for span recall. For each document [begin, end] of all spans that were
        looked at, and of those that were kept.
    entity_map: optional, which names of entities mean one thing: a dict of old names to new ones, a file with lines of
        an old name, a tab and the new name, or a folder of a knowledge base, whose redirects and Wikidata ids count.
        Links of both sides and candidates are compared by the names that it gives; without it as they are.
    intervals: optional, keys of the result to give bootstrap intervals over documents for.
    confidence, resamples, seed: of the intervals; 0.95, 1000 and 0 when not given.

Returns:
    dict of floats. Scores are fractions between 0 and 1.
    coref_f1: mean F1 of MUC, B³ and CEAF_e.
    mention_*, muc_*, b_cubed_*, ceaf_e_*, ceaf_m_*, lea_*: precision, recall and f1.
    el_mention_* (EL_m), el_hard_* (EL_h), el_soft_* (EL_s): precision, recall and f1.
    hard_case_accuracy, hard_cases: the accuracy and the number of mentions it stands on; 0 without candidates.
    singleton_cluster_accuracy, singleton_clusters, multi_mention_cluster_accuracy, multi_mention_clusters: share of
        gold linked clusters found with exactly their mentions and entity, and their number.
    one_surface_cluster_accuracy, one_surface_clusters, several_surfaces_cluster_accuracy, several_surfaces_clusters:
        the same by surface forms; 0 without texts.
    enumerated_span_recall, kept_span_recall, gold_spans: only with spans.
    <key>_low, <key>_high: only for the keys in intervals.

Examples:

    >>> import evaluate
    >>> import hf_corefel
    >>> coref_el = evaluate.load(hf_corefel.metric_path())
    >>> gold = [[{"mentions": [[0, 4], [20, 22]], "entity": "Oslo"}, {"mentions": [[9, 13]], "entity": ""}]]
    >>> found = [[{"mentions": [[0, 4], [20, 22]], "entity": "Oslo"}]]
    >>> scores = coref_el.compute(predictions=found, references=gold)
    >>> scores["el_hard_f1"], scores["muc_f1"], round(scores["mention_recall"], 4)
    (1.0, 1.0, 0.6667)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class CorefEL(evaluate.Metric):
    """Thin wrapper: the numbers are those of ``hf_corefel.metrics``."""

    def _info(self) -> evaluate.MetricInfo:
        document = [{"mentions": [[datasets.Value("int64")]], "entity": datasets.Value("string")}]
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({"predictions": document, "references": document}),
            homepage="https://aclanthology.org/2022.acl-short.88/",
            reference_urls=["https://aclanthology.org/2022.acl-short.88/", "https://aclanthology.org/P14-2006/"],
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Adds documents; what is wrong with them is said here and nothing is added then."""
        # Arrow's own complaints print the whole batch and do not say where in it the fault is.
        predicted, gold = read_nested_pairs(predictions, references)
        super().add_batch(predictions=predicted, references=gold, **kwargs)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Adds one document."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def _compute(self, *, predictions: Any, references: Any, entity_map: Any = None, **kwargs: Any) -> dict[str, float]:
        if isinstance(entity_map, str | Path):
            # Brings along more than the scores need.
            from hf_corefel.evaluation import open_entity_map

            entity_map = open_entity_map(entity_map)
        return evaluate_nested(predictions, references, entity_map=entity_map, **kwargs)
