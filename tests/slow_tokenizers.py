"""Tokenizers without a fast class, by the names of either generation of transformers."""

from __future__ import annotations

import importlib
from typing import Any


def slow_bert() -> Any:
    """Return the slow class of BERT's tokenizer."""
    try:
        module = importlib.import_module("transformers.models.bert.tokenization_bert_legacy")
    except ModuleNotFoundError:
        return importlib.import_module("transformers.models.bert.tokenization_bert").BertTokenizer
    return module.BertTokenizerLegacy
