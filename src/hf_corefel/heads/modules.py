"""Which groups of parameters a head scores with, and where they are in the model."""

from __future__ import annotations

from ..configuration_corefel import HEAD_MODULES

__all__ = ["ENTITIES", "ENTITY_ROOT", "NIL", "PAIRS", "PAIR_ROOT", "PREFIXES", "modules_of"]

PAIRS, ENTITIES, PAIR_ROOT, ENTITY_ROOT, NIL = HEAD_MODULES
# Where their parameters are. The root and NIL vectors belong to a scorer.
PREFIXES = {
    PAIRS: "pairs",
    ENTITIES: "entities",
    PAIR_ROOT: "pairs.root",
    ENTITY_ROOT: "entities.root",
    NIL: "entities.nil",
}


def modules_of(head: str, root_score: str) -> set[str]:
    """Names of the parameter groups that `head` scores with."""
    if head == "standalone_coref":
        return {PAIRS}
    if head == "standalone_linking":
        return {ENTITIES, NIL}
    if head == "local":
        return {PAIRS, ENTITIES}
    return {PAIRS, ENTITIES, PAIR_ROOT if root_score == "paper" else ENTITY_ROOT}
