"""Surfaces that the table lacks: case folding, normalisation, the index, and that exact look-ups stay what they are."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
from hf_corefel.kb.fallback import FALLBACK_DISCOUNT, Fallback, fold
from hf_corefel.kb.normal_form import normal_form
from kb_folders import save_as_version

ALIASES = [
    ("Apple", [("Apple_Inc.", 0.75), ("Apple", 0.25)]),
    ("apple", [("Apple", 0.875), ("Apple_Inc.", 0.125)]),
    ("APPLE", [("Apple_(band)", 0.25), ("Apple", 0.125)]),
    ("Beyoncé", [("Beyoncé", 1.0)]),
    ("O\u2019Neill", [("Eugene_O'Neill", 0.5)]),
    ("Jean-Luc  Godard", [("Jean-Luc_Godard", 1.0)]),
    ("Straße", [("Street", 0.5)]),
    ("Greens", [("Greens", 0.5)]),
    ("'s", [("Clitic", 1.0)]),
]


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.build(ALIASES)


def found(kb: KnowledgeBase, surface: str, fallback: Fallback | None = None, limit: int = 16) -> list[str]:
    return [candidate.entity for candidate in kb.candidates(surface, limit, fallback=fallback)]


def test_the_default_is_by_case(kb: KnowledgeBase) -> None:
    assert kb.fallback == "casefold"
    assert found(kb, "BEYONCÉ") == ["Beyoncé"]
    assert found(kb, "Beyonce") == found(kb, "BEYONCÉ", "none") == []


@pytest.mark.parametrize("fallback", ["casefold", "normalized"])
def test_an_exact_surface_never_falls_back(kb: KnowledgeBase, fallback: Fallback) -> None:
    for surface, _ in ALIASES:
        assert kb.candidates(surface, fallback=fallback) == kb.candidates(surface)


def test_merged_with_the_best_prior_of_each(kb: KnowledgeBase) -> None:
    merged = kb.candidates(" aPPLE ", fallback="casefold")
    assert [(c.entity, c.prior / FALLBACK_DISCOUNT) for c in merged] == [
        ("Apple", 0.875),
        ("Apple_Inc.", 0.75),
        ("Apple_(band)", 0.25),
    ]
    assert found(kb, "aPPLE", "casefold", limit=2) == ["Apple", "Apple_Inc."]


def test_ties_come_by_name() -> None:
    kb = KnowledgeBase.build([("x", [("d", 0.5), ("b", 0.5)]), ("X́", [("c", 0.5), ("a", 0.5)]), ("XX", [("e", 1.0)])])
    assert found(kb, "X", "normalized") == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("surface", "entity", "by_case"),
    [
        ("BEYONCÉ", "Beyoncé", True),
        ("Beyonce\u0301's", "Beyoncé", False),
        ("beyonce", "Beyoncé", False),
        ("STRASSE", "Street", True),
        ("o\u2019neill", "Eugene_O'Neill", True),
        ("O'NEILL", "Eugene_O'Neill", True),
        ("O´Neill\u2019s", "Eugene_O'Neill", False),
        ("Jean\u2013luc\u00a0Godard", "Jean-Luc_Godard", True),
        ("ｊｅａｎ‑Luc\tGodard", "Jean-Luc_Godard", True),
        ("Greens\u2019", "Greens", False),
    ],
)
def test_forms(kb: KnowledgeBase, surface: str, entity: str, by_case: bool) -> None:
    assert found(kb, surface, "normalized") == [entity]
    assert found(kb, surface, "casefold") == ([entity] if by_case else [])


@pytest.mark.parametrize("surface", ["", " ", "'", "\u0301", "Pear", "app", "Apple\0", "\ud800", "Beyoncé's band"])
def test_what_stays_unknown(kb: KnowledgeBase, surface: str) -> None:
    for fallback in ("none", "casefold", "normalized"):
        assert found(kb, surface, fallback) == []


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=12))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text, "casefold"), "casefold") == fold(text, "casefold")
    folded = fold(text, "normalized")
    assert folded == folded.strip() == folded.casefold()


@pytest.mark.parametrize("fallback", ["casefold", "normalized"])
def test_saved_with_its_index(kb: KnowledgeBase, tmp_path: Path, fallback: Fallback) -> None:
    kb.with_fallback(fallback).save_pretrained(tmp_path)
    loaded = KnowledgeBase.from_pretrained(tmp_path)
    assert loaded.fallback == fallback
    assert found(loaded, "BEYONCÉ") == ["Beyoncé"]
    array: object = loaded._indexes[fallback].rows
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base.obj if isinstance(array.base, memoryview) else array.base
    assert isinstance(array, np.memmap)
    again = pickle.loads(pickle.dumps(loaded))
    assert (again.fallback, found(again, "BEYONCÉ")) == (fallback, ["Beyoncé"])
    assert found(KnowledgeBase.from_pretrained(tmp_path, fallback="none"), "BEYONCÉ") == []
    assert loaded.with_fallback("none").candidates("BEYONCÉ") == []
    assert found(loaded, "BEYONCÉ", "none") == []


def test_a_folder_without_index_makes_it_in_memory(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.save_pretrained(tmp_path)
    kb.with_fallback("none").save_pretrained(tmp_path)
    assert not list(tmp_path.glob("fallback*"))
    loaded = KnowledgeBase.from_pretrained(tmp_path, fallback="normalized")
    assert found(loaded, "beyonce") == ["Beyoncé"]
    assert pickle.loads(pickle.dumps(loaded)).candidates("beyonce") == loaded.candidates("beyonce")


def test_a_built_one_keeps_its_fallback_when_pickled() -> None:
    built = KnowledgeBase.build(ALIASES, fallback="normalized")
    assert found(pickle.loads(pickle.dumps(built)), "beyonce") == ["Beyoncé"]


def test_unknown_fallback(kb: KnowledgeBase, tmp_path: Path) -> None:
    message = "expected one of none, casefold, normalized, got 'fuzzy'"
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.lookup(["a"], fallback="fuzzy")  # type: ignore[arg-type]
    with pytest.raises(KnowledgeBaseError, match=message):
        kb.with_fallback("fuzzy")  # type: ignore[arg-type]
    kb.save_pretrained(tmp_path)
    path = tmp_path / "kb_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "fallback": "fuzzy"}))
    with pytest.raises(KnowledgeBaseError, match=rf"kb_config\.json: field 'fallback': {message}"):
        KnowledgeBase.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["fallback.marisa", "fallback.safetensors"])
def test_missing_and_damaged_index(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    kb.with_fallback("casefold").save_pretrained(tmp_path)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(KnowledgeBaseError, match=name):
        KnowledgeBase.from_pretrained(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(KnowledgeBaseError, match=f"{name}: file not found"):
        KnowledgeBase.from_pretrained(tmp_path)


surfaces = st.text(st.sampled_from("aAäÄ'’s- "), min_size=1, max_size=4).filter(lambda text: text.strip() != "")
rows = st.lists(st.tuples(surfaces, st.lists(st.tuples(st.sampled_from("XYZ"), st.sampled_from([0.25, 0.5, 1.0])))))


@settings(max_examples=150, deadline=None)
@given(rows, st.lists(surfaces, max_size=6), st.sampled_from(["casefold", "normalized"]), st.integers(1, 3))
def test_equals_a_plain_search(
    table: list[tuple[str, list[tuple[str, float]]]], asked: list[str], fallback: Fallback, limit: int
) -> None:
    kb = KnowledgeBase.build(table, fallback=fallback)
    exact: dict[str, dict[str, float]] = {}
    for surface, pairs in table:
        for entity, prior in pairs:
            row = exact.setdefault(normal_form(surface), {})
            row[entity] = max(prior, row.get(entity, 0.0))
    ids, priors = kb.lookup(asked, limit)
    for surface, found_ids, found_priors in zip(asked, ids, priors, strict=True):
        expected = dict(exact.get(normal_form(surface), {}))
        key = fold(surface, fallback)
        if not expected and key:
            for other, row in exact.items():
                if fold(other, fallback) == key:
                    expected.update({e: max(p, expected.get(e, 0.0)) for e, p in row.items()})
        best = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        assert [kb.entity_name(i) for i in found_ids if i >= 0] == [entity for entity, _ in best]
        weight = 1.0 if exact.get(normal_form(surface)) else FALLBACK_DISCOUNT
        assert found_priors[: len(best)].tolist() == [weight * prior for _, prior in best]


def test_a_folder_of_format_1_is_read(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.save_pretrained(tmp_path)
    save_as_version(tmp_path, 1)
    old = KnowledgeBase.from_pretrained(tmp_path)
    old.verify()
    assert (old.fallback, old.fingerprint) == ("none", kb.fingerprint)
    assert found(old, "BEYONCÉ", "casefold") == ["Beyoncé"]


def test_newer_format_and_damage(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.save_pretrained(tmp_path)
    loaded = KnowledgeBase.from_pretrained(tmp_path)
    loaded.verify()
    assert loaded.fingerprint == kb.fingerprint != KnowledgeBase.build(ALIASES[1:]).fingerprint
    data = bytearray((tmp_path / "tables.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "tables.safetensors").unlink()
    (tmp_path / "tables.safetensors").write_bytes(data)
    with pytest.raises(KnowledgeBaseError, match=r"tables\.safetensors: .* checksum that it was saved with"):
        KnowledgeBase.from_pretrained(tmp_path)
    with pytest.raises(KnowledgeBaseError, match="fingerprint that they were saved with"):
        KnowledgeBase.from_pretrained(tmp_path, check=False).verify()
    path = tmp_path / "kb_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 5}))
    with pytest.raises(KnowledgeBaseError, match=r"format_version 5 is newer than 4.*update hf-corefel"):
        KnowledgeBase.from_pretrained(tmp_path)


def test_wikidata_ids_and_urls_of_entities(tmp_path: Path) -> None:
    built = KnowledgeBase.build(
        [("Adams", [("Douglas_Adams", 1.0), ("wikidata:Q1", 0.5)])],
        wikidata={"Douglas_Adams": "Q42"},
        urls={"House_Adams": "https://example.org/adams"},
        url_template=None,
    )
    built.save_pretrained(tmp_path)
    for kb in (built, KnowledgeBase.from_pretrained(tmp_path)):
        assert [kb.wikidata(name) for name in ("Douglas_Adams", "wikidata:Q1", "House_Adams", "x")] == [
            "Q42",
            "Q1",
            None,
            None,
        ]
        assert kb.url("Douglas_Adams") == "https://www.wikidata.org/wiki/Q42"
        assert kb.url("House_Adams") == "https://example.org/adams"
        assert kb.url("x") is None
    with pytest.raises(KnowledgeBaseError, match="Wikidata id of 'A': expected an id such as 'Q42', got 42"):
        KnowledgeBase.build([], wikidata={"A": 42})  # type: ignore[dict-item]


def test_no_file_names_torch_but_the_one_that_makes_vectors() -> None:
    folder = Path(sys.modules[KnowledgeBase.__module__].__file__ or "").parent
    others = [path for path in folder.glob("*.py") if path.name != "entity_vectors.py"]
    assert len(others) > 20
    for path in others:
        for word in ("import torch", "from torch", "transformers"):
            assert word not in path.read_text(encoding="utf-8"), path
