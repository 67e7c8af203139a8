"""The part of a knowledge base that is changed at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .errors import KnowledgeBaseError
from .lazy_vectors import checked_vectors
from .normal_form import normal_form
from .number_tables import check_links, check_type
from .overlay import Addition, edit_add, edit_remove, edit_remove_surface
from .readers import check_key, check_surfaces, shown
from .saved import SavedKnowledgeBase
from .tables import TEXTS
from .text_table import check_wikidata, encode_text

__all__ = ["ADDED_FIELDS", "ChangingKnowledgeBase"]

# What `add` takes beside the name of an entity.
ADDED_FIELDS = (
    "surfaces", "description", "vector", "prior", "wikidata", "url", "type", "links", "redirects"
)  # fmt: skip


class ChangingKnowledgeBase(SavedKnowledgeBase):
    """Takes entities in and gives them up. Use `KnowledgeBase`."""

    def add(
        self,
        entity: str,
        surfaces: Iterable[str] | Mapping[str, float | None] = (),
        *,
        description: str | None = None,
        vector: np.ndarray | Sequence[float] | None = None,
        prior: float | Mapping[str, float | None] | None = None,
        wikidata: str | None = None,
        url: str | None = None,
        type: str | None = None,
        links: int | None = None,
        redirects: Iterable[str] = (),
    ) -> int:
        """Adds an entity, or more to one that is known; the next look-up finds it.

        Each call takes longer the more was changed since it was opened: for many use `add_all`.

        Args:
            entity: Its name.
            surfaces: What it may be called; or by surface its prior, where `prior` says none.
            description: What it is.
            vector: Its vector [D]. When there is none, and the entity has none yet, `vectorizer` makes one from name
                and description; without a vectorizer it gets the draw of its name, see `vectors`.
            prior: p(entity | surface), of all surfaces or by surface. None stands for 1, or, for a surface with n
                candidates already, for 1 / (n + 1). The priors of other entities stay. Of two the higher stands.
            wikidata: Its Wikidata id, such as ``Q42``.
            url: Where readers find it.
            type: Its coarse type, one of `COARSE_TYPES`.
            links: How many links lead to it.
            redirects: Old and other titles of it. What is itself an entity's name is none.

        Returns:
            Its id.

        Raises:
            KnowledgeBaseError: When a name, prior, text or vector is none that `build` would take, or a prior is
                given of what is none of the surfaces.
        """
        [added] = self._take(
            [
                self._addition(
                    entity,
                    surfaces,
                    description=description,
                    vector=vector,
                    prior=prior,
                    wikidata=wikidata,
                    url=url,
                    type=type,
                    links=links,
                    redirects=redirects,
                )
            ]
        )
        return added

    def add_all(self, entities: Iterable[Mapping[str, Any]], *, places: Sequence[str] | None = None) -> list[int]:
        """Adds many entities, or more to ones that are known, all of them or none.

        Args:
            entities: For each the keyword arguments of `add`, its name as ``entity``.
            places: How messages call each, such as the line of a file.

        Returns:
            Their ids.

        Raises:
            KnowledgeBaseError: As `add` does; the message begins with the place, as ``entities[3]``, and nothing
                was added.
        """
        additions = []
        for place, given in enumerate(entities):
            unknown = sorted(set(given) - {"entity", *ADDED_FIELDS})
            try:
                if unknown or "entity" not in given:
                    wrong = f"unknown field {shown(unknown[0])}" if unknown else "missing field 'entity'"
                    raise KnowledgeBaseError(f"{wrong}; the known fields are entity, {', '.join(ADDED_FIELDS)}")
                additions.append(self._addition(**given))
            except KnowledgeBaseError as error:
                where = f"entities[{place}]" if places is None else places[place]
                raise KnowledgeBaseError(f"{where}: {error}") from error
        return self._take(additions)

    def _addition(
        self,
        entity: str,
        surfaces: Iterable[str] | Mapping[str, float | None] = (),
        *,
        description: str | None = None,
        vector: np.ndarray | Sequence[float] | None = None,
        prior: float | Mapping[str, float | None] | None = None,
        wikidata: str | None = None,
        url: str | None = None,
        type: str | None = None,
        links: int | None = None,
        redirects: Iterable[str] = (),
    ) -> Addition:
        """What is to be added, once it is checked."""
        entity = check_key(entity, "add", "entity")
        rows = [(self._spellings(key)[0], given) for key, given in check_surfaces(entity, surfaces, prior)]
        if wikidata is not None:
            check_wikidata(wikidata, entity)
        texts = {"descriptions": description, "wikidata": wikidata, "urls": url}
        for name, text in texts.items():
            if text is not None:
                encode_text(text, entity, TEXTS[name])
        facts: dict[str, Any] = {
            **texts,
            "types": None if type is None else check_type(type, entity),
            "links": None if links is None else check_links(links, entity),
        }
        titles = [redirects] if isinstance(redirects, str) else redirects
        others = [check_key(title, "add", "title that leads to the entity") for title in titles]
        code = None if vector is None else self._tables.vectors.encode(entity, np.asarray(vector))
        return Addition(entity, rows, facts, code, others)

    def _take(self, additions: list[Addition]) -> list[int]:
        additions = self._with_vectors(additions)
        with self._changes.lock:
            state = edit_add(self._tables, self._changes.state, additions)
            self._changes.state = state
        ids = [state.entity_id(self._tables, addition.entity) for addition in additions]
        return [entity_id for entity_id in ids if entity_id is not None]

    def remove(self, entity: str) -> None:
        """Removes an entity; surfaces that have no other go with it. Its id and name stay readable.

        Each call takes longer the more was changed since it was opened: for many use `remove_all`.

        Raises:
            KnowledgeBaseError: When there is no such entity.
        """
        self.remove_all([entity])

    def remove_all(self, entities: Iterable[str]) -> None:
        """Removes many entities as `remove` does, all of them or none.

        Raises:
            KnowledgeBaseError: When one is unknown; nothing was removed then.
        """
        listed = [entities] if isinstance(entities, str) else list(entities)
        with self._changes.lock:
            self._changes.state = edit_remove(self._tables, self._changes.state, listed)

    def remove_surface(self, surface: str) -> None:
        """Removes a surface, however it is written; its entities stay.

        Raises:
            KnowledgeBaseError: When no entity has it.
        """
        spellings = self._spellings(normal_form(surface))
        with self._changes.lock:
            self._changes.state = edit_remove_surface(self._tables, self._changes.state, spellings)

    def _with_vectors(self, additions: list[Addition]) -> list[Addition]:
        """Additions with what the vectorizer gives for entities that have no vector of their own."""
        if self.vectorizer is None or self.vector_size == 0 or self.lazy_vectors:
            return additions
        texts: dict[str, str | None] = {}
        given = {addition.entity for addition in additions if addition.vector is not None}
        for addition in additions:
            name, text = addition.entity, addition.facts["descriptions"]
            known = self.entity_id(name)
            if name not in given and (known is None or not self.has_vector([known])[0]):
                texts[name] = text if text is not None else texts.get(name, self.description(name))
        if not texts:
            return additions
        made = checked_vectors(self.vectorizer(list(texts), list(texts.values())), len(texts), self.vector_size)
        codes = {name: self._tables.vectors.encode(name, row) for name, row in zip(texts, made, strict=True)}
        return [
            replace(addition, vector=codes[addition.entity]) if addition.entity in codes else addition
            for addition in additions
        ]
