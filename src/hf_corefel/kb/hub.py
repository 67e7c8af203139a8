"""What is said on the Hub of a knowledge base that has a repository of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..candidates.hub import KNOWLEDGE_BASE_FOLDER, HubAccess, find_folder

if TYPE_CHECKING:
    from .saved import SavedKnowledgeBase

__all__ = ["KNOWLEDGE_BASE_FOLDER", "HubAccess", "find_folder", "knowledge_base_card"]


def knowledge_base_card(kb: SavedKnowledgeBase, repo_id: str) -> str:
    """Return the README.md of a repository that holds a knowledge base and nothing else."""
    from ..hub.card_text import plain_text, python_literal

    def sources(content: Mapping[str, Any]) -> Iterator[str]:
        for key, value in content.items():
            yield f"- {plain_text(key)}: {plain_text(value if isinstance(value, str) else str(value))}"

    return "\n".join(
        [
            "---",
            "library_name: hf-corefel",
            "tags:",
            "- knowledge-base",
            "- entity-linking",
            "- coref-el",
            "---",
            "",
            f"# {plain_text(repo_id)}",
            "",
            "A knowledge base for entity linking with hf-corefel: which entities a surface may stand for, how likely",
            "each is, and vectors of the entities.",
            "",
            "| | |",
            "|---|---|",
            f"| entities | {kb.num_entities:,} |",
            f"| surfaces | {kb.num_surfaces:,} |",
            f"| candidates | {kb.num_candidates:,} |",
            f"| width of the vectors | {kb.vector_size} |",
            f"| unknown surfaces fall back on | {plain_text(kb.fallback)} |",
            f"| fingerprint | {plain_text(kb.fingerprint)} |",
            "",
            "```python",
            "from hf_corefel import KnowledgeBase, load_pipeline",
            "",
            f"kb = KnowledgeBase.from_pretrained({python_literal(repo_id)})",
            f"annotate = load_pipeline(knowledge_base={python_literal(repo_id)})",
            "```",
            "",
            "A model takes it when its vectors are of the model's kind and width.",
            "",
            "## Sources",
            "",
            *(sources(kb.provenance) if kb.provenance else ["It does not say where its facts come from."]),
            "",
        ]
    )
