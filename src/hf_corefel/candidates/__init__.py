"""Where candidates come from: sources that propose entities for spans, and stores that know about them.

The alias table (`hf_corefel.kb.KnowledgeBase`) is one of them; what others define stands beside it, is composed with
it, and is saved and loaded by the name of its backend. Imports no torch.
"""

from __future__ import annotations

from .backends import BACKENDS, open_knowledge_base, read_backend_config, write_backend_config
from .composed import ComposedKnowledgeBase, Part, fit_offset
from .proposals import Proposals, QuerySpans
from .protocols import CandidateSource, EntityStore, KnowledgeBackend, NamedEntities, SurfaceSource

__all__ = [
    "BACKENDS",
    "CandidateSource",
    "ComposedKnowledgeBase",
    "EntityStore",
    "KnowledgeBackend",
    "NamedEntities",
    "Part",
    "Proposals",
    "QuerySpans",
    "SurfaceSource",
    "fit_offset",
    "open_knowledge_base",
    "read_backend_config",
    "write_backend_config",
]
