"""The protocols: who proposes candidates, who knows about entities, and what is saved with a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np

from ..documents import Document
from .proposals import Proposals, QuerySpans

__all__ = ["CandidateSource", "EntityStore", "KnowledgeBackend", "NamedEntities", "SurfaceSource"]


@runtime_checkable
class EntityStore(Protocol):
    """What is known about entities. An entity has a name, and where the store numbers its entities, an id from 0 on.

    A store may also say of which type an entity is, where old titles lead, and which entity has an id: by the methods
    ``type``, ``canonical`` and ``entity_of``, as `hf_corefel.kb.KnowledgeBase` has them.

    Example:
        >>> from hf_corefel import KnowledgeBase
        >>> from hf_corefel.candidates import EntityStore
        >>> store: EntityStore = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])])
        >>> "Oslo" in store, store.url("Oslo")
        (True, 'https://en.wikipedia.org/wiki/Oslo')
    """

    @property
    def vector_size(self) -> int:
        """D, the width of the entity vectors, which a model is trained for."""
        ...

    def __contains__(self, entity: object) -> bool:
        """Whether a name is that of an entity of this store."""
        ...

    def entity_id(self, name: str) -> int | None:
        """Return the id of an entity; None when it has none, or is unknown here."""
        ...

    def entity_name(self, entity_id: int) -> str:
        """Return the name of an entity.

        Raises:
            IndexError: When no entity has that id.
        """
        ...

    def vectors(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Return the vectors float32 ``[*ids.shape, D]`` of entities by id; zeros for -1."""
        ...

    def vector_for(self, name: str) -> np.ndarray:
        """Return the vector float32 ``[D]`` of an entity by name, also of one that is unknown here."""
        ...

    def description(self, entity: str) -> str | None:
        """Return what is said of an entity; None when nothing is."""
        ...

    def url(self, entity: str) -> str | None:
        """Return where a reader finds an entity; None when nowhere."""
        ...

    def identifiers(self, entity: str) -> Mapping[str, str]:
        """Return what other catalogues call an entity, by catalogue: ``{"wikidata": "Q42"}``."""
        ...


@runtime_checkable
class CandidateSource(Protocol):
    """Proposes entities that spans may stand for.

    A source that has to know what the encoder makes of the spans says so by the class attribute
    ``needs_span_vectors = True``. All sources are asked about every span before anything is encoded; such a one is
    asked again by the pipeline once the spans are pruned, about those that were retained, with `QuerySpans.vectors`.

    Example:
        >>> from hf_corefel import KnowledgeBase
        >>> from hf_corefel.candidates import CandidateSource
        >>> isinstance(KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])]), CandidateSource)
        True
    """

    def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
        """Return candidates with a score each.

        Args:
            document: The document that the spans are in.
            spans: S spans.
            limit: K, how many candidates a span may have.
        """
        ...


@runtime_checkable
class SurfaceSource(CandidateSource, Protocol):
    """A source that can say of a name alone, wherever it stands, whether it has candidates.

    Long names, names over a line's end and those inside given mentions are looked for by it.

    Example:
        >>> from hf_corefel import KnowledgeBase
        >>> from hf_corefel.candidates import SurfaceSource
        >>> source: SurfaceSource = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])])
        >>> source.knows(["Oslo", "Nowhere"]).tolist()
        [True, False]
    """

    def knows(self, surfaces: Sequence[str]) -> np.ndarray:
        """Return whether names have candidates, bool ``[M]``."""
        ...


class KnowledgeBackend(EntityStore, CandidateSource, Protocol):
    """What `CorefELProcessor` takes as its knowledge base, saves beside the model, and loads by its name.

    `write_backend_config` writes the file that says which backend a folder is of; a class is found by that name in
    `hf_corefel.candidates.BACKENDS`, where its package registers it, and never in a checkpoint's folder.

    Attributes:
        backend: The name that it is registered by.

    Example:
        >>> from hf_corefel import KnowledgeBase
        >>> from hf_corefel.candidates import KnowledgeBackend, open_knowledge_base
        >>> KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])]).save_pretrained("cities")
        >>> knowledge: KnowledgeBackend = open_knowledge_base("cities")
        >>> knowledge.backend
        'alias_table'
    """

    backend: str

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder, with ``kb_config.json`` by `write_backend_config`."""
        ...

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Open a folder that `save_pretrained` wrote.

        Raises:
            OSError: When a file cannot be read.
            ValueError: When a file is damaged; the message names it.
        """
        ...


class NamedEntities:
    """An `EntityStore` whose entities are names without ids, for sources that make them up as they read.

    A class that inherits from it says which names are its own (``__contains__``), how wide its vectors are
    (``vector_size``) and, where zeros will not do, what they are (``vector_for``).

    Example:
        >>> from hf_corefel.candidates import NamedEntities
        >>> class Tickets(NamedEntities):
        ...     vector_size = 4
        ...
        ...     def __contains__(self, entity):
        ...         return str(entity).startswith("ticket:")
        >>> "ticket:OPS-1" in Tickets(), Tickets().vector_for("ticket:OPS-1").tolist()
        (True, [0.0, 0.0, 0.0, 0.0])
    """

    vector_size: int = 0

    def __contains__(self, entity: object) -> bool:
        return False

    def entity_id(self, name: str) -> int | None:
        return None

    def entity_name(self, entity_id: int) -> str:
        raise IndexError(f"entity id {entity_id}: entities of {type(self).__name__} have names only")

    def vectors(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        checked = np.asarray(ids)
        if checked.size and checked.max() >= 0:
            self.entity_name(int(checked.max()))
        return np.zeros((*checked.shape, self.vector_size), dtype=np.float32)

    def vector_for(self, name: str) -> np.ndarray:
        return np.zeros(self.vector_size, dtype=np.float32)

    def description(self, entity: str) -> str | None:
        return None

    def url(self, entity: str) -> str | None:
        return None

    def identifiers(self, entity: str) -> Mapping[str, str]:
        return {}
