"""Knowledge bases written by columns are what `build` makes of the same, and wrong columns leave the folder alone."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.kb import COARSE_TYPES, Fallback, KnowledgeBase, KnowledgeBaseError, Projection, column_files, spooling
from hf_corefel.kb.columns import write_columns
from hf_corefel.kb.normal_form import normal_form
from kb_columns import Table, columns_of

TABLE: Table = {
    "Oslo": {"Oslo": 0.5, "Oslo_(band)": 0.5},
    "OSLO": {"Oslo": 0.25},
    "Åse": {"Åse": 1.0, "Oslo": 0.0},
    "Bergen": {"Bergen": 0.75},
}


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5).filter(
    str.strip
)
surfaces = st.one_of(names, st.sampled_from(["a", "A", "Á", "b's", "ß", "'"])).map(normal_form).filter(bool)
priors = st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0])
tables = st.dictionaries(surfaces, st.dictionaries(names, priors, min_size=1, max_size=4), max_size=8)


@settings(max_examples=30, deadline=None)
@given(
    table=tables, draw=st.data(), fallback=st.sampled_from(["none", "casefold", "normalized"]), chunk=st.integers(1, 4)
)
def test_the_same_as_built(
    tmp_path_factory: pytest.TempPathFactory, table: Table, draw: st.DataObject, fallback: Fallback, chunk: int
) -> None:
    entities = sorted({entity for row in table.values() for entity in row})
    number = st.sampled_from(range(len(entities))) if entities else st.nothing()
    texts = draw.draw(st.dictionaries(number, names, max_size=3)) if entities else {}
    types = draw.draw(st.dictionaries(number, st.sampled_from(COARSE_TYPES), max_size=3)) if entities else {}
    redirects = draw.draw(st.dictionaries(names, number, max_size=4)) if entities else {}
    titles = {title: entities[target] for title, target in redirects.items() if title not in entities}
    expected = KnowledgeBase.build(
        [(surface, row.items()) for surface, row in table.items()],
        descriptions={entities[n]: text for n, text in texts.items()},
        types={entities[n]: kind for n, kind in types.items()},
        links={name: n for n, name in enumerate(entities)},
        redirects=titles,
        fallback=fallback,
    )
    folder = tmp_path_factory.mktemp("kb")
    with pytest.MonkeyPatch.context() as patch:
        for module in (spooling, column_files):
            patch.setattr(module, "CHUNK", chunk)
        write_columns(
            folder,
            columns_of(
                table,
                descriptions=sorted(texts.items()) if texts else None,
                types=[types.get(n) for n in range(len(entities))] if types else None,
                links=np.arange(len(entities)) if entities else None,
                redirects=[(target, title) for title, target in redirects.items()] if titles else None,
                fallback=fallback,
            ),
        )
    kb = KnowledgeBase.from_pretrained(folder)
    assert kb.verify()
    assert kb.fingerprint == expected.fingerprint
    for surface in [*table, *(s.upper() for s in table), "unknown"]:
        assert kb.candidates(surface) == expected.candidates(surface)
    assert dict(kb.redirects()) == titles


def test_all_kinds_of_columns(tmp_path: Path) -> None:
    projection = Projection(
        np.zeros(3, np.float32), np.ones((3, 2), np.float32), np.ones(2, np.float32), {"encoder": "e"}
    )
    entities = sorted({"Oslo", "Oslo_(band)", "Åse", "Bergen"})
    assert entities == ["Bergen", "Oslo", "Oslo_(band)", "Åse"]
    write_columns(
        tmp_path,
        columns_of(
            TABLE,
            descriptions=["a city", None, "", "détail"],
            wikidata=[(1, "Q585")],
            urls=[(3, "https://e.org/")],
            types=[(0, "place"), (3, "person")],
            links=[None, 31, None, 0],
            redirects=[(1, "Christiania"), (1, "Bergen"), (0, "Bjørgvin")],
            provenance={"source": "here"},
            url_template=None,
            projection=projection,
        ),
    )
    kb = KnowledgeBase.from_pretrained(tmp_path)
    assert [kb.description(name) for name in entities] == ["a city", None, None, "détail"]
    assert [kb.type(name) for name in entities] == ["place", None, None, "person"]
    assert [kb.links(name) for name in entities] == [None, 31, None, 0]
    assert dict(kb.redirects()) == {"Christiania": "Oslo", "Bjørgvin": "Bergen"}
    assert (kb.wikidata("Oslo"), kb.entity_of("wikidata", "Q585"), kb.url("Åse")) == ("Q585", "Oslo", "https://e.org/")
    assert (kb.vector_size, kb.provenance, kb.url("Bergen")) == (2, {"source": "here"}, None)
    assert [c.entity for c in kb.candidates("Oslo")] == ["Oslo", "Oslo_(band)"]  # of equal priors, by name
    assert not kb.has_vector(np.arange(4)).any()
    # What was written like this is changed like any other.
    with KnowledgeBase.edit(tmp_path) as kb:
        kb.add("Tromsø", ["Tromsø"], type="place")
    assert KnowledgeBase.from_pretrained(tmp_path).type("Tromsø") == "place"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"entities": ["B", "A"]}, r"entities\[1\]: 'A' comes after 'B'"),
    ({"entities": ["A", "A"]}, r"entities\[1\]"),
    ({"entities": ["", "A"]}, r"entities\[0\]: empty entity"),
    ({"entities": ["a\0"]}, "NUL"),
    ({"entities": ["\ud800"]}, "no valid Unicode"),
    ({"surfaces": ["b", "a", "c", "d"]}, r"surfaces\[1\]: 'a' comes after 'b'"),
    ({"surfaces": ["a  b", "b", "c", "d"]}, r"surfaces\[0\]: 'a  b' is not in normal form, which is 'a b'"),
    ({"surfaces": [" a", "b", "c", "d"]}, "not in normal form"),
    ({"surfaces": ["a", "b"]}, "offsets: expected 3 for 2 surfaces, got 5"),
    ({"offsets": np.array([0, 1, 1, 5, 6])}, r"offsets\[1\]: the surface has no candidates"),
    ({"offsets": np.array([0, 2, 1, 5, 6])}, "do not ascend"),
    ({"offsets": np.array([0, 1, 2, 3, 4])}, "do not ascend from 0 to 6"),
    ({"priors": np.array([1, 1, 1, 1, 1, 1.5])}, "1.5 is no number from 0 to 1"),
    ({"priors": np.full(6, np.nan)}, "nan is no number"),
    ({"priors": np.ones(3)}, "as many priors as candidate_numbers"),
    ({"candidate_numbers": np.array([0, 1, 2, 3, 4, 1])}, r"4 is outside 0\.\.3"),
    ({"candidate_numbers": np.array([0, 1, 2, 2, 1, 0])}, r"surfaces\[2\]: entity 2 is its candidate twice"),
    ({"descriptions": ["one"]}, "descriptions: expected 4 values, one for each entity, got 1"),
    ({"descriptions": ["x"] * 5}, r"descriptions\[4\]"),
    ({"descriptions": [(1, "x"), (0, "y")]}, r"descriptions\[1\]: entity 0 comes after entity 1"),
    ({"descriptions": [(0, 5)]}, "expected a string, got 5"),
    ({"wikidata": [(0, "42")]}, "expected an id such as 'Q42'"),
    ({"types": [(0, "city")]}, "type of 'entity 0'"),
    ({"links": [(0, -3)]}, "links of 'entity 0'"),
    ({"redirects": [(9, "x")]}, r"redirects\[0\]: entity 9 is outside 0\.\.3"),
    ({"redirects": [(0, "x"), (1, "x")]}, "redirects: 1 of 2 names come twice"),
    ({"fallback": "other"}, "fallback: expected one of"),
    ({"url_template": "x"}, "url_template"),
    ({"provenance": {"x": {1}}}, "provenance"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_columns_leave_the_folder_as_it_was(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    KnowledgeBase.build([("before", [("Before", 1.0)])]).save_pretrained(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(KnowledgeBaseError, match=message):
        write_columns(tmp_path, dataclasses.replace(columns_of(TABLE), **wrong))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="killed in a fork")
def test_killed_while_it_writes(tmp_path: Path) -> None:
    KnowledgeBase.build([("before", [("Before", 1.0)])]).save_pretrained(tmp_path)
    before = os.listdir(tmp_path)
    for stopped_at in ("entities", "surfaces"):
        child = os.fork()
        if child == 0:

            def keys() -> Any:
                yield "A"
                os._exit(9)

            write_columns(tmp_path, dataclasses.replace(columns_of(TABLE), **{stopped_at: keys()}))
        os.waitpid(child, 0)
        assert [c.entity for c in KnowledgeBase.from_pretrained(tmp_path).candidates("before")] == ["Before"]
    write_columns(tmp_path, columns_of(TABLE))
    assert len(os.listdir(tmp_path)) == len(before)
