"""What a result holds beside clusters and links."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ..documents.plain_values import plain
from .entity_options import check_entity_id, check_types

__all__ = ["AnnotationOptions", "check_count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationOptions:
    """What a result holds beside clusters and links.

    Attributes:
        resolved_text: Whether documents get their `AnnotatedDocument.resolved_text`.
        evidence: Whether mentions get their `Mention.parent`, what they hang from in the decoded tree.
        top_k: How many `Cluster.alternatives` a cluster gets, at most: the entities, NIL among them, that any of its
            mentions may link to, by descending probability; equal ones by name, NIL first. 0 leaves them out.
        min_probability: A link that is less probable becomes NIL, with NIL's probabilities in place of the link's; a
            mention that is less probable (`Mention.probability`) is dropped, unless it was given. Both are named in
            the document's warnings, and nothing else of the result changes: a link is judged by all mentions of the
            decoded cluster, also those that are dropped. What constraints ask for stays.
        samples: How many clusterings of the whole document are drawn from the model (`AnnotatedDocument.samples`).
        clusterings: How many of the most probable clusterings of the whole document are searched, at most
            (`AnnotatedDocument.clusterings`). `min_probability` is not applied to them, nor to samples.
        seed: Makes the samples of a document the same each time; None draws from torch's own generator.
        id: What entities are called: ``"name"`` as in the knowledge base, ``"wikidata"`` by their Wikidata id, such as
            ``Q64``. Entities that have one id are one then: their clusters are one, and their probabilities are added.
            An entity without an id keeps its name; the document's warnings say how many do.
        types: Types of entities that are wanted (`hf_corefel.kb.COARSE_TYPES`), one or several; the clusters of all
            others are left out of the result, with those of NIL and of entities whose type is not known; None leaves
            all in. What the model reads and decides does not depend on it. Samples and clusterings lack these clusters
            too, and keep the probability of the whole.

    Raises:
        TypeError: When a value is of another type.
        ValueError: When a number is out of range.
    """

    resolved_text: bool = False
    evidence: bool = False
    top_k: int = 0
    min_probability: float = 0.0
    samples: int = 0
    clusterings: int = 0
    seed: int | None = None
    id: str = "name"
    types: str | Collection[str] | None = None

    def __post_init__(self) -> None:
        check_entity_id(self.id)
        for name in ("top_k", "samples", "clusterings", "seed", "min_probability"):
            # A number of numpy or torch is as good.
            object.__setattr__(self, name, plain(getattr(self, name)))
        object.__setattr__(self, "types", check_types(self.types))
        for name in ("resolved_text", "evidence"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}: expected True or False, got {getattr(self, name)!r}")
        for name in ("top_k", "samples", "clusterings"):
            check_count(name, getattr(self, name), least=0)
        if self.seed is not None:
            check_count("seed", self.seed, least=0)
            if self.seed >= 2**63:
                raise ValueError(f"seed: expected less than 2**63, got {self.seed}")
        number = isinstance(self.min_probability, int | float) and not isinstance(self.min_probability, bool)
        if not number:
            raise TypeError(f"min_probability: expected a number between 0 and 1, got {self.min_probability!r}")
        if not 0.0 <= self.min_probability <= 1.0:
            raise ValueError(f"min_probability: expected a number between 0 and 1, got {self.min_probability!r}")


def check_count(name: str, value: Any, *, least: int) -> None:
    """Raises unless an option is a whole number, also one of numpy, that is not too small."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected a whole number from {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected a whole number from {least}, got {value!r}")
