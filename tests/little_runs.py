"""Files of runs for the tests of the queue: a tiny model of two heads, and two other ways to decode one."""

from __future__ import annotations

from typing import Any

BASE = {
    "table": "heads",
    "row": "global",
    "corpus": "tiny",
    "seed": 3,
    "encoder": "tiny",
    "encoder_config": {},
    "knowledge_base": "tiny",
    "training": {
        "num_train_epochs": 20,
        "per_device_train_batch_size": 1,
        "encoder_learning_rate": 5e-3,
        "task_learning_rate": 1e-2,
    },
    "config": {
        "head": "global",
        "mention_ffnn_size": 12,
        "pair_ffnn_size": 12,
        "entity_ffnn_size": 12,
        "max_span_words": 3,
        "max_candidates": 3,
        "window_size": 16,
        "span_keep_ratio": 0.5,
        "use_candidate_prior": True,
    },
    "parts": ["dev", "test"],
}
BY_RISK = {
    "base": "tiny-global-3",
    "table": "ablations",
    "row": "by risk",
    "weights_of": "tiny-global-3",
    "decoding": "min_bayes_risk",
    "parts": ["dev"],
}
FILES: dict[str, dict[str, Any]] = {
    "tiny-global-3": BASE,
    "tiny-local-3": {"base": "tiny-global-3", "row": "local", "change": {"config.head": "local"}},
    "tiny-by_risk-3": BY_RISK,
    "tiny-merged-3": {"base": "tiny-global-3", "row": "merged", "merges": ["tiny-global-3", "tiny-local-3"]},
    "tiny-by_marginals-3": {**BY_RISK, "row": "by marginals", "decoding": "marginals"},
}
