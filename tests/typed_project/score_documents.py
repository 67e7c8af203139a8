"""Read corpora, score, test whether a difference is one."""

from __future__ import annotations

from typing import assert_type

import hf_corefel
from hf_corefel import AnnotatedDocument, Document, load_pipeline, metric_path
from hf_corefel.corpora import CorpusError, corpus_statistics, read_dwie, read_gum
from hf_corefel.metrics import PrecisionRecallF1, bootstrap_interval, evaluate, muc, score_documents
from hf_corefel.trees import SpanningTreeDistribution

gold = list(read_dwie("dwie", split="test"))
assert_type(gold, list[Document])
assert_type(list(read_gum("gum")), list[Document])
predicted = load_pipeline().annotate(gold)
assert_type(predicted, list[AnnotatedDocument])
scores = evaluate(gold, predicted)
assert_type(scores, dict[str, float])
assert_type(scores["avg_f1"], float)
assert_type(muc([["a", "b"]], [["a"]]), PrecisionRecallF1)
print(bootstrap_interval(score_documents(gold, predicted), "avg_f1"), corpus_statistics(gold).to_dict())
assert_type(metric_path(), str)
assert_type(hf_corefel.metrics.evaluate(gold, predicted), dict[str, float])
assert_type(hf_corefel.corpora.CorpusError("no"), CorpusError)
assert_type(hf_corefel.trees.SpanningTreeDistribution, type[SpanningTreeDistribution])
