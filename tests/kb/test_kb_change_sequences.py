"""Any sequence of changes leaves what a knowledge base built from the outcome would be."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hf_corefel.kb import KnowledgeBase
from hf_corefel.kb.fallback import Fallback

ENTITIES = [f"E{i}" for i in range(6)]
SURFACES = ["a", "A", "Á", "b", "b's", "B", "c"]
FALLBACKS: list[Fallback] = ["none", "casefold", "normalized"]
entities = st.sampled_from(ENTITIES)
priors = st.sampled_from([0.125, 0.25, 0.5, 1.0])
vectors = st.sampled_from([None, *range(1, 4)])
tables = st.dictionaries(st.sampled_from(SURFACES), st.dictionaries(entities, priors, min_size=1), max_size=5)


def vector_of(number: int) -> np.ndarray:
    return np.arange(4) * number - 1.5


class Changes(RuleBasedStateMachine):
    """A knowledge base and plain dicts that say what it should hold."""

    @initialize(table=tables)
    def build(self, table: dict[str, dict[str, float]]) -> None:
        self.table = {surface: dict(row) for surface, row in table.items()}
        self.vectors = {"E0": 1, "Other": 2}
        self.texts = {"E0": "first"}
        self.known = {"Other", "E0"} | {entity for row in table.values() for entity in row}
        self.kb = self.fresh()

    def fresh(self) -> KnowledgeBase:
        return KnowledgeBase.build(
            [(surface, row.items()) for surface, row in self.table.items()],
            vectors={name: vector_of(number) for name, number in self.vectors.items()} or None,
            descriptions={name: self.texts.get(name, "") for name in self.known},
        )

    @rule(
        entity=entities,
        surfaces=st.dictionaries(st.sampled_from(SURFACES), priors, max_size=3),
        vector=vectors,
        text=st.sampled_from([None, "", "text"]),
    )
    def add(self, entity: str, surfaces: dict[str, float], vector: int | None, text: str | None) -> None:
        given = None if vector is None else vector_of(vector)
        self.kb.add(entity, surfaces, prior=surfaces, vector=given, description=text)
        self.known.add(entity)
        for surface, prior in surfaces.items():
            row = self.table.setdefault(surface, {})
            row[entity] = max(prior, row.get(entity, 0.0))
        if vector is not None:
            self.vectors[entity] = vector
        if text is not None:
            self.texts[entity] = text

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from(sorted(self.known)))
        self.kb.remove(entity)
        self.known.remove(entity)
        self.vectors.pop(entity, None)
        self.texts.pop(entity, None)
        for row in self.table.values():
            row.pop(entity, None)
        self.table = {surface: row for surface, row in self.table.items() if row}

    @precondition(lambda self: self.table)
    @rule(data=st.data())
    def remove_surface(self, data: st.DataObject) -> None:
        surface = data.draw(st.sampled_from(sorted(self.table)))
        self.kb.remove_surface(surface)
        del self.table[surface]

    @rule()
    def merge(self) -> None:
        self.kb = self.kb.merged()

    @rule()
    def pickle(self) -> None:
        self.kb = pickle.loads(pickle.dumps(self.kb))

    @invariant()
    def equals_a_fresh_one(self) -> None:
        fresh = self.fresh()
        sizes = [(kb.num_entities, kb.num_surfaces, kb.num_candidates) for kb in (fresh, self.kb)]
        assert sizes[0] == sizes[1]
        assert sorted(self.kb.entities()) == sorted(fresh.entities()) == sorted(self.known)
        assert sorted(self.kb.surfaces()) == sorted(fresh.surfaces()) == sorted(self.table)
        for fallback in FALLBACKS:
            for surface in [*SURFACES, "á’s", "unknown"]:
                for limit in (1, 9):
                    ours = self.kb.candidates(surface, limit, fallback=fallback)
                    assert ours == fresh.candidates(surface, limit, fallback=fallback)
        for name in [*ENTITIES, "Other"]:
            ours_id, fresh_id = self.kb.entity_id(name), fresh.entity_id(name)
            assert (ours_id is None) == (fresh_id is None)
            assert self.kb.description(name) == fresh.description(name)
            if ours_id is not None and fresh_id is not None:
                assert self.kb.entity_name(ours_id) == name
                assert self.kb.has_vector([ours_id])[0] == fresh.has_vector([fresh_id])[0] == (name in self.vectors)
                if name in self.vectors:
                    np.testing.assert_array_equal(self.kb.vector_for(name), fresh.vector_for(name))


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)


def test_a_saved_outcome_opens(tmp_path: Path) -> None:
    kb = KnowledgeBase.build([("a", [("E0", 1.0)])], fallback="normalized")
    kb.add("E1", ["b's"])
    kb.remove("E0")
    kb.save_pretrained(tmp_path)
    opened = KnowledgeBase.from_pretrained(tmp_path)
    assert [c.entity for c in opened.candidates("B")] == ["E1"]
    assert opened.num_ids == 1
