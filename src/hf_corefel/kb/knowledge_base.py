"""`KnowledgeBase`: which entities a surface form may stand for, and what is known about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..candidates.hub import DEFAULT_BACKEND
from .building import build_tables
from .changing import ChangingKnowledgeBase
from .combining import build_arguments
from .configuration_file import FORMAT_VERSION
from .errors import KnowledgeBaseError
from .fallback import Fallback, check_fallback
from .importers import (
    End2EndFiles,
    Scores,
    count_rows,
    end2end_vectors,
    read_counts,
    read_p_e_m,
    read_wiki_names,
    read_wikipedia2vec_text,
    title_rows,
)
from .lazy_vectors import Vectorizer
from .projection import Projection
from .readers import check_counts, read_alias_jsonl
from .selecting import of_type, select_entities, with_links
from .tables import check_metadata
from .vector_table import NamedVectors, VectorFormat

__all__ = ["DEFAULT_URL_TEMPLATE", "FORMAT_VERSION", "KnowledgeBase", "Vectorizer"]

DEFAULT_URL_TEMPLATE = "https://en.wikipedia.org/wiki/{entity}"


class KnowledgeBase(ChangingKnowledgeBase):
    """Alias table, entity vectors and descriptions.

    One that was loaded with `from_pretrained` is mapped into memory once it is checked: processes on one
    machine share its pages, and pickling it (for spawned workers) passes the folder's path and what was changed
    since. One that was just built behaves the same, vectors included (they are quantised when built), but is
    pickled with its arrays.

    Threads may share one, also while one of them adds or removes: a look-up sees what stood before or what
    stands after, and waits for nobody. Changes stay in memory until `save_pretrained`.

    An entity id is a number from 0 to `num_ids` - 1. Adding and removing change the id of no other entity;
    in another knowledge base, also in one that was saved after a change, it means nothing.

    Attributes:
        backend: The name of its kind in `hf_corefel.candidates.BACKENDS`.
        vectorizer: Makes the vectors of entities that are added without one, see `add`, and all that are lazy. It is
            not saved and does not travel with a pickle.

    Example:
        >>> from hf_corefel import KnowledgeBase
        >>> kb = KnowledgeBase.build([("Oslo", [("Oslo", 0.8), ("Oslo_(band)", 0.2)])])
        >>> [candidate.entity for candidate in kb.candidates("Oslo")]
        ['Oslo', 'Oslo_(band)']
    """

    backend = DEFAULT_BACKEND

    @classmethod
    def build(
        cls,
        aliases: Iterable[tuple[str, Iterable[tuple[str, float]]]],
        *,
        vectors: NamedVectors | None = None,
        descriptions: Mapping[str, str] | None = None,
        vector_format: VectorFormat = "int8",
        max_candidates: int | None = None,
        url_template: str | None = DEFAULT_URL_TEMPLATE,
        provenance: Mapping[str, Any] | None = None,
        wikidata: Mapping[str, str] | None = None,
        urls: Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
        links: Mapping[str, int] | None = None,
        redirects: Mapping[str, str] | None = None,
        fallback: Fallback = "casefold",
        projection: Projection | None = None,
        lazy_vectors: bool = False,
    ) -> KnowledgeBase:
        """Builds a knowledge base in memory.

        Surfaces are kept in normal form (`hf_corefel.kb.normal_form`). One that comes twice, or an entity that
        comes twice under a surface, is merged: the highest prior stands. Entities that only have a vector, a text,
        a type or links are kept.

        Args:
            aliases: Pairs of a surface and its (entity, prior) pairs, prior = p(entity | surface).
            vectors: Entity vectors, by name or as names and an array [V, D]. An entity without one gets
                a fixed draw from N(mean, std) of those given.
            descriptions: Texts by entity name; an empty one is none.
            vector_format: How vectors are stored: "int8" with one scale a vector, "float16" or "float32".
            max_candidates: Keep only the candidates with the highest priors; None keeps all.
            url_template: Where readers find an entity, with ``{entity}`` for its quoted name; None = nowhere.
            provenance: Anything JSON takes that says where the data come from.
            wikidata: Wikidata ids, such as ``Q42``, by entity name.
            urls: URLs of the entities that the template does not lead to, by entity name.
            types: Coarse types by entity name, each one of `COARSE_TYPES`.
            links: How many links lead to an entity, by its name.
            redirects: Old and other titles of entities, with the entity that each leads to, or a title that leads
                there. A title that is itself an entity's name leads to that entity.
            fallback: What surfaces without candidates fall back on, see `lookup`.
            projection: What makes entity vectors of an encoder's, for `hf_corefel.kb.entity_vectors.title_vectorizer`.
            lazy_vectors: An entity without a vector gets one when a document needs it first: the pipeline has the
                model's encoder make it of title and description, and keeps it beside the saved knowledge base. Without
                `vectors` and `projection`, these are of the kind and width of the model that it is used with.

        Raises:
            KnowledgeBaseError: When a surface or entity name is empty or holds a NUL, a prior is not
                between 0 and 1, a type or number of links is none, redirects go in a circle, or a vector has another
                width or is not finite; the message says where.
        """
        check_fallback(fallback)
        tables = build_tables(
            aliases,
            vectors=vectors,
            texts={"descriptions": descriptions or {}, "wikidata": wikidata or {}, "urls": urls or {}},
            vector_format=vector_format,
            max_candidates=max_candidates,
            url_template=url_template,
            provenance=provenance or {},
            types=types or {},
            links=links or {},
            redirects=redirects or {},
        )
        kb = cls(replace(tables, lazy_vectors=lazy_vectors), fallback=fallback)
        if projection is not None and lazy_vectors and kb.vector_size == 0:
            return kb.with_vectors_of(projection)
        return kb if projection is None else kb.with_projection(projection)

    @classmethod
    def from_jsonl(
        cls, path: str | Path, *, clip_priors: bool = False, unseen: float = 1.0, **build: Any
    ) -> KnowledgeBase:
        """Builds from an alias table in JSON lines, plain or ``.gz``.

        Args:
            path: Lines ``[surface, [[entity, prior], ...]]`` or
                ``{"surface": ..., "candidates": [{"entity": ..., "prior": ...}, ...]}``. The latter may have a
                ``"count"``, how often the surface was seen, which makes each prior count / (count + unseen) of what
                it is.
            clip_priors: Move finite priors outside 0..1 to the nearer bound instead of raising.
            unseen: How many times a surface that has a count may have stood for something that was not seen.
            **build: The keyword arguments of `build`.

        Raises:
            KnowledgeBaseError: As `build` does; the message names the file and the line.
        """
        return cls.build(read_alias_jsonl(path, clip_priors=clip_priors, unseen=unseen), **build)

    @classmethod
    def from_counts(
        cls, counts: str | Path | Iterable[tuple[str, str, float]], *, unseen: float = 1.0, **build: Any
    ) -> KnowledgeBase:
        """Builds from how often each surface stands for each entity.

        A prior is count / (total + unseen), with the total of the surface's counts: what was seen once is half sure.

        Args:
            counts: A tab-separated file of surface, entity and count, plain or ``.gz``, or such triples. Counts of
                one surface and entity are added up.
            unseen: How many more times a surface counts, for something that was not seen; 0 gives plain shares.
            **build: The keyword arguments of `build`.

        Raises:
            KnowledgeBaseError: When a line or a triple has another form; the message names the file and the line,
                or the place of the triple.
        """
        rows = read_counts(counts) if isinstance(counts, str | Path) else check_counts(counts)
        return cls.build(count_rows(rows, unseen), **build)

    @classmethod
    def from_wikipedia2vec_text(
        cls,
        path: str | Path,
        aliases: Iterable[tuple[str, Iterable[tuple[str, float]]]] | None = None,
        **build: Any,
    ) -> KnowledgeBase:
        """Builds with the entity vectors of a text file of Wikipedia2Vec.

        Args:
            path: What its ``save_text`` wrote, plain or ``.gz``; vectors of words are passed over.
            aliases: As `build` takes them; vectors of other entities are passed over. None makes every title the
                surface of its entity.
            **build: The other keyword arguments of `build`.

        Raises:
            KnowledgeBaseError: When a line has another form; the message names the file and the line.
        """
        rows = None if aliases is None else [(surface, list(pairs)) for surface, pairs in aliases]
        wanted = None if rows is None else {entity for _, pairs in rows for entity, _ in pairs}
        names, vectors = read_wikipedia2vec_text(path, wanted)
        return cls.build(title_rows(names) if rows is None else rows, vectors=(names, vectors), **build)

    @classmethod
    def from_end2end_neural_el(
        cls,
        files: str | Path | End2EndFiles,
        *,
        scores: Scores = "auto",
        strict: bool = True,
        unseen: float = 1.0,
        max_candidates: int | None = 30,
        **build: Any,
    ) -> KnowledgeBase:
        """Builds from the files of end2end_neural_el (Kolitsas et al., 2018), the inputs of the paper's AIDA+ runs.

        Args:
            files: A folder that has ``prob_yago_crosswikis_wikipedia_p_e_m.txt``, ``wiki_name_id_map.txt``,
                ``nnid2wikiid.txt`` and ``ent_vecs.npy`` in it or below it, or their paths.
            scores: What the scores of the p(e|m) file are: "prior", "count", or "auto" to see from the file.
            strict: Raise at a line of another form instead of passing over it with a warning.
            unseen: How many more times a surface with counts counts, for something that was not seen; 0 gives plain
                shares. Scores that are priors stay what they are.
            max_candidates: How many candidates a surface keeps; 30 is what end2end_neural_el keeps.
            **build: The other keyword arguments of `build`.

        Raises:
            KnowledgeBaseError: When a file is missing or a line has another form; the message names both.
        """
        found = files if isinstance(files, End2EndFiles) else End2EndFiles.find(files)
        names = read_wiki_names(found.wiki_name_id_map, strict=strict)
        build.setdefault("vectors", end2end_vectors(found.ent_vecs, found.nnid2wikiid, names))
        rows = read_p_e_m(found.p_e_m, names, scores=scores, strict=strict, unseen=unseen)
        return cls.build(rows, max_candidates=max_candidates, **build)

    @classmethod
    def merge(cls, *bases: KnowledgeBase) -> KnowledgeBase:
        """Builds one of several, in memory.

        Where they differ, the one that is named first is right: its description, Wikidata id, URL, type and number of
        links of an entity stand, and so do its redirects, URL template and fallback; the others fill in what it does
        not say. Of two priors of the same surface and entity the higher stands. Entities are the same when they have
        the same name, when one's name redirects to the other, or else when they have the same Wikidata id; the first
        one's name stands and the other leads to it. Vectors and projection are those of the first that has any;
        another one's vectors are taken only where they are as wide and both have the same projection, and a warning
        says where they are not.

        Raises:
            KnowledgeBaseError: When there is none.
        """
        return cls.build(**build_arguments([kb.merged() for kb in bases]))

    def subset(
        self,
        types: str | Iterable[str] | None = None,
        min_links: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> KnowledgeBase:
        """A smaller knowledge base in memory: the entities that fulfil all that is asked, and what is known of them.

        Surfaces without any of them are left out; vectors keep their codes.

        Args:
            types: Coarse types that they may have, each one of `COARSE_TYPES`.
            min_links: How many links lead to them at least. Where nothing says how many, that is none.
            ids: Names of theirs, titles that lead to them, or Wikidata ids such as ``Q42``.

        Raises:
            KnowledgeBaseError: When there are no types or links here, no such type, or no such entity.
        """
        whole = self.merged()
        tables = whole._tables
        kept = np.ones(tables.num_entities, dtype=bool)
        if types is not None:
            kept &= of_type(tables, types)
        if min_links is not None:
            kept &= with_links(tables, min_links)
        if ids is not None:
            listed = np.zeros(tables.num_entities, dtype=bool)
            listed[whole._find_all(ids)] = True
            kept &= listed
        other = type(self)(select_entities(tables, kept), fallback=self._fallback)
        other.vectorizer = self.vectorizer
        return other

    def _find_all(self, ids: Iterable[str]) -> list[int]:
        found, unknown = [], []
        for given in [ids] if isinstance(ids, str) else ids:
            name = self.find_entity(given)
            known = None if name is None else self.entity_id(name)
            if known is None:
                unknown.append(given)
            else:
                found.append(known)
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            raise KnowledgeBaseError(f"ids: {unknown[0]!r}{more} are no entities, titles or Wikidata ids here")
        return found

    def with_fallback(self, fallback: Fallback) -> KnowledgeBase:
        """The same knowledge base with another fallback: it shares the tables, and changes show in both."""
        other = type(self)(self._tables, changes=self._changes, fallback=fallback, indexes=self._indexes)
        self._share(other)
        return other

    def with_projection(self, projection: Projection) -> KnowledgeBase:
        """The same knowledge base, changes written in, with another projection.

        Raises:
            KnowledgeBaseError: When it gives vectors of another width.
        """
        if projection.vector_size != self.vector_size:
            raise KnowledgeBaseError(
                f"projection: it gives vectors of {projection.vector_size} numbers, those here have {self.vector_size}"
            )
        check_metadata(None, projection.info)
        other = type(self)(replace(self.merged()._tables, projection=projection), fallback=self._fallback)
        self._share_folders(other)
        other.vectorizer = self.vectorizer
        return other

    def merged(self) -> Self:
        """A knowledge base whose tables hold the changes, with ids of its own; this one when nothing was changed.

        Where something was changed, surfaces of before normal forms get theirs.

        Raises:
            KnowledgeBaseError: When a file that it was opened from is damaged.
        """
        other = super().merged()
        other.vectorizer = self.vectorizer
        return other
