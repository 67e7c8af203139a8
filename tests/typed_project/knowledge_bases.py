"""Build a knowledge base, ask it, change it."""

from __future__ import annotations

from typing import assert_type

import numpy as np

from hf_corefel import Candidate, KnowledgeBase, load_pipeline
from hf_corefel.kb import KnowledgeBaseError

kb = KnowledgeBase.build(
    [("Oslo", [("Oslo", 0.9), ("Oslo_(band)", 0.1)])],
    vectors={"Oslo": np.zeros(8, dtype=np.float32)},
    descriptions={"Oslo": "The capital of Norway."},
    fallback="casefold",
)
assert_type(kb.candidates("Oslo"), list[Candidate])
assert_type(kb.candidates("Oslo")[0].prior, float)
assert_type(kb.description("Oslo"), str | None)
assert_type(kb.entity_id("Oslo"), int | None)
assert_type(kb.add("Bergen", ["Bergen"], description="A city.", prior=0.5), int)
assert_type(len(list(kb.entities())), int)
try:
    kb.remove("Bergen")
except KnowledgeBaseError as error:
    print(error)
kb.save_pretrained("kb")
assert_type(KnowledgeBase.from_pretrained("kb"), KnowledgeBase)
load_pipeline(knowledge_base=kb)
load_pipeline(knowledge_base="kb")
