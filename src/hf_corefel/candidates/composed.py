"""Several sources as one knowledge base: first the exact ones, then weaker ones where those leave room."""

from __future__ import annotations

import itertools
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..documents import Document
from ..utils.files import locked
from .backends import backend_of, open_source, read_backend_config, save_knowledge_base, write_backend_config
from .entity_facts import canonical_name, entity_of, entity_type
from .errors import KnowledgeBaseError
from .hub import CONFIG_FILE, saved_place
from .proposals import Proposals, QuerySpans
from .protocols import CandidateSource, EntityStore, SurfaceSource

__all__ = ["ComposedKnowledgeBase", "Part", "fit_offset"]

# Seconds that a writer waits for another one.
_WAIT = 600.0


@dataclass(frozen=True)
class Part:
    """A source among others.

    Attributes:
        source: The source. One that is an `EntityStore`, too, brings entities of its own; any other proposes ids of the
            first part's.
        offset: What its scores are worth beside those of the others, added to their logarithms: 0 or less. `fit_offset`
            learns it.
        below: It is asked only about spans that have fewer candidates so far; None = about all that have room.

    Example:
        >>> from hf_corefel import KnowledgeBase
        >>> from hf_corefel.candidates import Part
        >>> Part(KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])]), offset=-0.5, below=1).offset
        -0.5
    """

    source: CandidateSource
    offset: float = 0.0
    below: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.source, CandidateSource):
            raise TypeError(f"source: {self.source!r} has no method propose(document, spans, limit)")
        if not -math.inf < self.offset <= 0:
            raise ValueError(f"offset: expected a number up to 0, got {self.offset!r}")
        if self.below is not None and self.below < 1:
            raise ValueError(f"below: expected at least 1, got {self.below!r}")


def fit_offset(scores: Iterable[float], right: int) -> float:
    """Return the offset with which a source's scores add up to how often it was right.

    >>> round(fit_offset([0.5, 0.5, 0.5, 0.5], right=1), 4)
    -0.6931

    Args:
        scores: The scores of all that it proposed for spans whose entity is known.
        right: How many of these proposals were that entity.

    Raises:
        ValueError: When nothing was proposed, or nothing was right: the source is of no use then.
    """
    total = float(sum(scores))
    if total <= 0 or right <= 0:
        raise ValueError(f"offset: cannot be learnt from scores of {total} in all and {right} right proposals")
    return min(0.0, math.log(right / total))


class ComposedKnowledgeBase:
    """Sources that propose one after the other, and what all of them know about entities.

    No candidate of an earlier source is displaced by a later one: those fill the places that are left. An entity that
    several stores have is the earliest one's.

    >>> from hf_corefel import Document, KnowledgeBase
    >>> cities = KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])])
    >>> bands = KnowledgeBase.build([("Oslo", [("Oslo_(band)", 0.5)])])
    >>> both, span = ComposedKnowledgeBase([cities, Part(bands, offset=-1.0)]), np.array([[0, 4]])
    >>> found = both.propose(Document("Oslo"), QuerySpans(span, span), limit=3)
    >>> [both.entity_name(i) for i in found.entity_ids[0] if i >= 0], found.scores[0].round(2).tolist()
    (['Oslo', 'Oslo_(band)'], [1.0, 0.18..., 0.0])

    Args:
        parts: The sources, the most exact one first; the first must be an `EntityStore` too.

    Raises:
        TypeError: When the first is no store.
        ValueError: When there is none, or stores have vectors of different widths. One whose vectors are lazy and have
            no width yet goes with any: the pipeline has them made as wide as the model's.
    """

    backend = "composed"

    def __init__(self, parts: Sequence[Part | CandidateSource]) -> None:
        self.parts = [part if isinstance(part, Part) else Part(part) for part in parts]
        if not self.parts:
            raise ValueError("parts: expected at least one source")
        if not isinstance(self.parts[0].source, EntityStore):
            raise TypeError(f"parts: the first, {type(self.parts[0].source).__name__}, must be an EntityStore as well")
        self.stores: list[EntityStore] = [part.source for part in self.parts if isinstance(part.source, EntityStore)]
        widths = {store.vector_size for store in self.stores if not _has_no_width_yet(store)}
        if len(widths) > 1:
            raise ValueError(f"parts: their entity vectors are {' and '.join(map(str, sorted(widths)))} wide")

    # Entities: id i of store s is s + i · stores, which stays the same when a store grows. ----------------

    @property
    def vector_size(self) -> int:
        """D, the width of the entity vectors."""
        return max(store.vector_size for store in self.stores)

    def __contains__(self, entity: object) -> bool:
        return any(entity in store for store in self.stores)

    def entity_id(self, name: str) -> int | None:
        """Return the id of an entity in the first store that has it; None when it has none there."""
        known = self._store_of(name).entity_id(name)
        return None if known is None else self._joint_id(self._store_of(name), known)

    def entity_name(self, entity_id: int) -> str:
        """Return the name of an entity.

        Raises:
            IndexError: When no entity has that id.
        """
        return self.stores[entity_id % len(self.stores)].entity_name(entity_id // len(self.stores))

    def vectors(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Return the vectors float32 ``[*ids.shape, D]`` of entities by id; zeros for -1."""
        return self._gather(ids, [store.vectors for store in self.stores])

    def vectors_so_far(self, ids: np.ndarray | Sequence[int]) -> np.ndarray:
        """Like `vectors`, but NaN for those that a store makes when they are needed and has not made yet."""
        return self._gather(ids, [getattr(store, "vectors_so_far", store.vectors) for store in self.stores])

    def _gather(
        self, ids: np.ndarray | Sequence[int], give: Sequence[Callable[[np.ndarray], np.ndarray]]
    ) -> np.ndarray:
        joint = np.asarray(ids)
        if len(self.stores) == 1:
            return give[0](joint)
        found = np.zeros((*joint.shape, self.vector_size), dtype=np.float32)
        for number, vectors in enumerate(give):
            own = (joint >= 0) & (joint % len(self.stores) == number)
            if not own.any():
                continue
            made = vectors(joint[own] // len(self.stores))
            if made.shape[-1] != self.vector_size:
                raise ValueError(
                    f"vectors: those of {self.stores[number]!r} are made by a model's encoder when they are needed; "
                    "read documents with load_pipeline(knowledge_base=...)"
                )
            found[own] = made
        return found

    def vector_for(self, name: str) -> np.ndarray:
        """Return the vector float32 ``[D]`` of an entity by name, of the first store that has it."""
        return self._store_of(name).vector_for(name)

    def description(self, entity: str) -> str | None:
        """Return what is said of an entity; None when nothing is."""
        return self._store_of(entity).description(entity)

    def url(self, entity: str) -> str | None:
        """Return where a reader finds an entity; None when nowhere."""
        return self._store_of(entity).url(entity)

    def identifiers(self, entity: str) -> Mapping[str, str]:
        """Return what other catalogues call an entity."""
        return self._store_of(entity).identifiers(entity)

    def type(self, entity: str) -> str | None:
        """Return the coarse type of an entity; None when it is not known."""
        return entity_type(self._store_of(entity), entity)

    def canonical(self, name: str) -> str:
        """Return a name that is an entity's, or else the entity that the first store redirects it to; else the name."""
        found = (canonical_name(store, name) for store in self.stores if name not in self)
        return next((entity for entity in found if entity != name), name)

    def entity_of(self, catalogue: str, identifier: str) -> str | None:
        """Return the entity that another catalogue calls so, of the first store that has it; None when none has."""
        found = (entity_of(store, catalogue, identifier) for store in self.stores)
        return next((entity for entity in found if entity is not None), None)

    def _store_of(self, name: str) -> EntityStore:
        return next((store for store in self.stores if name in store), self.stores[0])

    def _joint_id(self, store: EntityStore, entity_id: int) -> int:
        number = next(number for number, known in enumerate(self.stores) if known is store)
        return number + entity_id * len(self.stores)

    # Candidates -------------------------------------------------------------------------------------------

    @property
    def needs_span_vectors(self) -> bool:
        """Whether a part wants to be asked again once the document is encoded."""
        return any(_is_late(part.source) for part in self.parts)

    def knows(self, surfaces: Sequence[str]) -> np.ndarray:
        """Return whether names have candidates in a part that can say so, bool ``[M]``."""
        known = np.zeros(len(surfaces), dtype=bool)
        for part in self.parts:
            if isinstance(part.source, SurfaceSource):
                known |= part.source.knows(surfaces)
        return known

    def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
        """Return candidates of all parts.

        Raises:
            ValueError: When a part's answer is none; the message names it.
        """
        entity_ids, scores = np.full((len(spans), limit), -1), np.zeros((len(spans), limit), dtype=np.float32)
        numbers: dict[str, int] = {}
        for part in self.parts:
            count = (entity_ids != -1).sum(axis=1)
            rows = np.flatnonzero(count < (limit if part.below is None else min(part.below, limit)))
            if not len(rows):
                continue
            found = part.source.propose(document, spans.take(rows), limit)
            found.check(part.source, len(rows))
            ids = self._joint_ids(part.source, found, numbers)
            worth = found.scores if part.offset == 0 else found.scores * np.float32(math.exp(part.offset))
            for place in np.flatnonzero((ids != -1).any(axis=1)).tolist():
                row, filled = int(rows[place]), int(count[rows[place]])
                known = {-1, *entity_ids[row, :filled].tolist()}
                for entity_id, score in zip(ids[place].tolist(), worth[place].tolist(), strict=True):
                    if filled < limit and entity_id not in known:
                        known.add(entity_id)
                        entity_ids[row, filled], scores[row, filled] = entity_id, score
                        filled += 1
        return Proposals(entity_ids, scores, tuple(numbers))

    def _joint_ids(self, source: CandidateSource, found: Proposals, numbers: dict[str, int]) -> np.ndarray:
        """The ids of a part's candidates here; entities without an id are added to those that have a name only."""
        store = source if isinstance(source, EntityStore) else self.stores[0]
        joint = found.entity_ids.copy()
        for own in np.unique(joint).tolist():
            if own == -1 or (own >= 0 and store is self.stores[0] and len(self.stores) == 1):
                continue
            name = found.names[-2 - own] if own < 0 else store.entity_name(own)
            first = next((known for known in self.stores if known is store or name in known), store)
            known_id = first.entity_id(name)
            if known_id is None:
                joint[found.entity_ids == own] = -2 - numbers.setdefault(name, len(numbers))
            else:
                joint[found.entity_ids == own] = self._joint_id(first, known_id)
        return joint

    # Loading and saving -----------------------------------------------------------------------------------

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder with one folder for each part; one that is open from here may be saved here again.

        What is saved here already stays whole: each part is written to a folder of its own, the configuration then
        names the new ones in one step, and those that it named before are removed. Only a part that was opened from a
        folder in this one stays there, as whoever saves it alone would.

        Raises:
            ValueError: When no loader would find a part's class; nothing was written then.
        """
        for part in self.parts:
            backend_of(part.source)
        folder = saved_place(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # Without the lock, another process would take the same free names.
        with locked(folder / "parts", timeout=_WAIT):
            before = _saved_names(folder) or []
            names = _part_names(folder, [part.source for part in self.parts])
            new = [name for name in names if not os.path.lexists(folder / name)]
            described = [
                {"folder": name, "offset": part.offset, "below": part.below}
                for part, name in zip(self.parts, names, strict=True)
            ]
            try:
                # Parts that stay go last: before them, an error leaves all as it was.
                for part, name in sorted(zip(self.parts, names, strict=True), key=lambda pair: pair[1] not in new):
                    save_knowledge_base(part.source, folder / name)
                write_backend_config(folder, self.backend, parts=described)
            finally:
                # Whether the last step was taken or not, the configuration that is there says which are needed.
                needed = _saved_names(folder)
                if needed is not None:
                    _remove(folder, [name for name in (*before, *new) if name not in needed])

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """Open what `save_pretrained` wrote.

        Raises:
            KnowledgeBaseError: When a file is damaged, or no installed package offers the backend of a part.
        """
        path = Path(folder) / CONFIG_FILE
        described = read_backend_config(folder).get("parts")
        if not isinstance(described, list) or not described:
            raise KnowledgeBaseError(f"{path}: field 'parts': expected a list of objects, got {described!r}")
        parts: list[Part] = []
        for number, each in enumerate(described):
            try:
                place, offset, below = str(each["folder"]), float(each["offset"]), each["below"]
                if not _is_inside(place):
                    raise ValueError(f"{place!r} is no name of a folder in it")
                store: Any = parts[0].source if parts else None
                parts.append(Part(open_source(Path(folder) / place, store), offset, below))
            except (KeyError, TypeError) as error:
                raise KnowledgeBaseError(
                    f"{path}: field 'parts'[{number}]: expected folder, offset and below, got {each!r} ({error})"
                ) from error
            except KnowledgeBaseError:
                raise
            except ValueError as error:
                raise KnowledgeBaseError(f"{path}: field 'parts'[{number}]: {error}") from error
        return cls(parts)


def _saved_names(folder: Path) -> list[str] | None:
    """The folders of the parts that a composed knowledge base has there; None when its configuration is unreadable."""
    if not os.path.lexists(folder / CONFIG_FILE):
        return []
    try:
        config = read_backend_config(folder)
    except KnowledgeBaseError:
        return None
    parts = config.get("parts") if config["backend"] == ComposedKnowledgeBase.backend else None
    named = [each.get("folder") for each in parts if isinstance(each, dict)] if isinstance(parts, list) else []
    return [name for name in named if isinstance(name, str) and _is_inside(name)]


def _part_names(folder: Path, sources: Sequence[Any]) -> list[str]:
    """Where each part goes: where it was opened from, if that is in the folder; else to a name that is free there."""
    names: list[str] = []
    for number, source in enumerate(sources):
        home = getattr(source, "saved_folder", None)
        if isinstance(home, Path) and home.parent.resolve() == folder.resolve() and home.name not in names:
            names.append(home.name)
            continue
        possible = (f"{number}.{again}" if again else str(number) for again in itertools.count())
        names.append(next(name for name in possible if name not in names and not os.path.lexists(folder / name)))
    return names


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        # What another process holds open on Windows stays; nothing names it any more.
        shutil.rmtree(folder / name, ignore_errors=True)


def _is_inside(name: str) -> bool:
    """Whether a name is that of a folder directly inside another."""
    return Path(name).name == name and name not in ("", "..")


def _has_no_width_yet(store: EntityStore) -> bool:
    return store.vector_size == 0 and bool(getattr(store, "lazy_vectors", False))


def _is_late(source: CandidateSource) -> bool:
    return bool(getattr(source, "needs_span_vectors", False))
