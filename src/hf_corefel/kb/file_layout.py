"""The files of a knowledge base, and the arrays in each."""

from __future__ import annotations

from .storage import ENTITY_TRIE_FILE, FALLBACK_TRIE_FILE, REDIRECT_TRIE_FILE, SURFACE_TRIE_FILE
from .tables import ALIASES_FILE, FALLBACK_FILE, PROJECTION_FILE, REDIRECTS_FILE, TEXTS, VECTORS_FILE, fact_file

__all__ = ["ARRAYS", "NUMBERS", "TRIES"]

NUMBERS = {
    "offsets": ("u4", "u8"),
    "ids": ("u4",),
    "int32": ("i4",),
    "float": ("f4",),
    "bytes": ("u1",),
    "vectors": ("i1", "f2", "f4"),
}
_TEXT_ARRAYS = {"offsets": ("offsets", 1), "text": ("bytes", 1)}
# The arrays of each file, called as the fields of their table, with the numbers that they hold and how many axes.
ARRAYS: dict[str, dict[str, tuple[str, int]]] = {
    ALIASES_FILE: {"offsets": ("offsets", 1), "entity_ids": ("ids", 1), "priors": ("float", 1)},
    VECTORS_FILE: {
        "rows": ("int32", 1),
        "codes": ("vectors", 2),
        "scales": ("float", 1),
        "mean": ("float", 1),
        "std": ("float", 1),
    },
    **{fact_file(name): _TEXT_ARRAYS for name in TEXTS},
    PROJECTION_FILE: {"mean": ("float", 1), "components": ("float", 2), "offset": ("float", 1)},
    fact_file("types"): {"codes": ("bytes", 1)},
    fact_file("links"): {"counts": ("int32", 1)},
    REDIRECTS_FILE: {"targets": ("ids", 1)},
    FALLBACK_FILE: {"offsets": ("offsets", 1), "rows": ("ids", 1)},
}
TRIES = (ENTITY_TRIE_FILE, SURFACE_TRIE_FILE, FALLBACK_TRIE_FILE, REDIRECT_TRIE_FILE)
