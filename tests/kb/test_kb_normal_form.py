"""Surfaces are found however a text writes them, in new tables and in those of before normal forms."""

from __future__ import annotations

import json
import pickle
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
from hf_corefel.kb.configuration_file import config_checksum
from hf_corefel.kb.fallback import FALLBACK_DISCOUNT
from hf_corefel.kb.normal_form import SURFACE_FORM, normal_form
from kb_folders import save_with_raw_surfaces

NAMES = [
    "New York",
    "Gerhard Schröder",
    "Côte d'Ivoire",
    "Jean-Claude Juncker",
    "Stratford-upon-Avon",
    "Győr-Moson-Sopron",
    "東京 タワー",
    "Nguyễn Ái Quốc",
    "AT&T",
    "O'Neill",
    "Stuttgart",
    "FC Bayern",
]


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase.build([(name, [(name.replace(" ", "_"), 0.5)]) for name in NAMES])


def found(kb: KnowledgeBase, surface: str) -> list[tuple[str, float]]:
    return [(candidate.entity, candidate.prior) for candidate in kb.candidates(surface)]


def full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


# Ways to write a name, and one of the two that leave a hyphen to be read.
WAYS = {
    "wrapped": lambda name, at: name.replace(" ", "\n"),
    "wrapped for DOS, indented": lambda name, at: name.replace(" ", " \r\n\t"),
    "no-break": lambda name, at: name.replace(" ", "\u00a0"),
    "narrow, ideographic": lambda name, at: name.replace(" ", "\u202f\u3000"),
    "double": lambda name, at: f"  {name.replace(' ', '  ')} ",
    "line separator": lambda name, at: name.replace(" ", "\u2028"),
    "decomposed": lambda name, at: unicodedata.normalize("NFD", name),
    "soft hyphen": lambda name, at: f"{name[:at]}\u00ad{name[at:]}",
    "zero width": lambda name, at: f"\ufeff{name[:at]}\u200b{name[at:]}\u2060",
    "direction": lambda name, at: f"\u200e{name[:at]}\u2066{name[at:]}\u2069",
    "apostrophe": lambda name, at: name.replace("'", "\u2019"),
    "prime": lambda name, at: name.replace("'", "\u2032"),
    "no-break hyphen": lambda name, at: name.replace("-", "\u2011"),
    "en dash": lambda name, at: name.replace("-", "\u2013"),
    "minus": lambda name, at: name.replace("-", "\u2212"),
    "full-width": lambda name, at: full_width(name),
    "cut at its hyphen": lambda name, at: name.replace("-", "-\n"),
    "cut in a word": lambda name, at: cut(name, at, "-\n"),
    "cut in a word for DOS": lambda name, at: cut(name, at, "\u2010 \r\n "),
    "cut softly": lambda name, at: cut(name, at, "\u00ad\n"),
}


def cut(name: str, at: int, sign: str) -> str:
    """The name cut between two letters of a word, at a place or not at all."""
    inside = name[at - 1 : at].isalpha() and name[at : at + 1].islower() and "-" not in name
    return f"{name[:at]}{sign}{name[at:]}" if inside else name


@pytest.mark.parametrize("way", WAYS)
def test_found_in_every_form_with_its_own_prior(kb: KnowledgeBase, way: str) -> None:
    for name in NAMES:
        for at in range(1, len(name)):
            # Not before a combining mark: that would be another letter.
            written = WAYS[way](name, at)
            assert found(kb, written) == [(name.replace(" ", "_"), 0.5)], written


@settings(max_examples=300, deadline=None)
@given(st.text("abÄéß' -NñÆ東’–", max_size=12), st.lists(st.sampled_from(sorted(WAYS)), max_size=3), st.integers(0, 99))
def test_variants_have_the_same_candidates(name: str, ways: list[str], seed: int) -> None:
    name = normal_form(name)
    # Where a line ends behind a dash, nobody can tell it from the hyphen of a word in two.
    assume("- " not in name)
    variant = name
    for way in ways:
        if not way.startswith("cut"):
            variant = WAYS[way](variant, random.Random(seed).randrange(len(variant) + 1))
    table = [(name, [("A", 0.75), ("B", 0.25)])] if name else [("other", [("B", 1.0)])]
    built = KnowledgeBase.build(table)
    for asked in (variant.upper(), variant.lower(), variant):
        plain = {variant.upper(): name.upper(), variant.lower(): name.lower(), variant: name}[asked]
        for left, right in zip(built.lookup([asked]), built.lookup([plain]), strict=True):
            np.testing.assert_array_equal(left, right)
    by_variant = KnowledgeBase.build([(variant, pairs) for _, pairs in table] if name else table)
    assert sorted(by_variant.surfaces()) == sorted(built.surfaces())


@pytest.mark.parametrize(
    "written",
    ["NEW YORK", "new york", "New\nYORK", "new\u00a0york", "ＮＥＷ ＹＯＲＫ", "NEW\u00ad YORK", "NE-\nW YORK"],
)
def test_case_is_a_weaker_key(kb: KnowledgeBase, written: str) -> None:
    assert found(kb, written) == [("New_York", 0.5 * FALLBACK_DISCOUNT)]
    assert kb.candidates(written, fallback="none") == []


@pytest.mark.parametrize(
    ("written", "entity"),
    [
        ("STUTT-\nGART", "Stuttgart"),
        ("stutt-\ngart", "Stuttgart"),
        ("STRATFORD-\nUPON-\nAVON", "Stratford-upon-Avon"),
        ("stratford-\nupon-avon", "Stratford-upon-Avon"),
        ("JEAN-\r\nCLAUDE JUNCKER", "Jean-Claude_Juncker"),
    ],
)
def test_cut_words_in_other_case(kb: KnowledgeBase, written: str, entity: str) -> None:
    assert found(kb, written) == [(entity, 0.5 * FALLBACK_DISCOUNT)]


def test_the_case_as_it_is_comes_first() -> None:
    kb = KnowledgeBase.build([("US", [("USA", 0.25)]), ("us", [("We", 1.0)]), ("Us", [("Us_(film)", 0.5)])])
    assert found(kb, "US") == [("USA", 0.25)]
    assert found(kb, "u\u00ads") == [("We", 1.0)]
    # Of what is left, all: none is nearer than another.
    assert found(kb, "uS") == [("We", 0.5), ("Us_(film)", 0.25), ("USA", 0.125)]


def test_what_differs_in_more_than_form_is_not_found(kb: KnowledgeBase) -> None:
    for surface in ("NewYork", "New-York", "Schroder", "O Neill", "ONeill", "AT T", "Jean Claude Juncker", "\u200b"):
        assert found(kb, surface) == [], surface


def test_surfaces_that_share_a_form_are_one() -> None:
    rows = [
        ("New York", [("City", 0.25)]),
        ("New\nYork", [("City", 0.75), ("State", 0.5)]),
        ("New  York", [("State", 1)]),
    ]
    kb = KnowledgeBase.build(rows)
    assert list(kb.surfaces()) == ["New York"]
    assert found(kb, "New York") == [("State", 1.0), ("City", 0.75)]


# Changes --------------------------------------------------------------------------------------------


def test_added_surfaces_have_normal_forms(kb: KnowledgeBase, tmp_path: Path) -> None:
    changed = KnowledgeBase.build([("New York", [("City", 0.5)])])
    changed.add("State", ["New\nYork", "the Empire\u00a0State"], prior={"New\tYork": 0.75})
    changed.add("City", ["Big\r\nApple"])
    changed.save_pretrained(tmp_path)
    for one in (
        changed,
        changed.merged(),
        KnowledgeBase.from_pretrained(tmp_path),
        pickle.loads(pickle.dumps(changed)),
    ):
        for written in ("New York", " New \u00a0York", "New\u200b\nYork"):
            assert found(one, written) == [("State", 0.75), ("City", 0.5)]
        assert found(one, "BIG  APPLE") == [("City", FALLBACK_DISCOUNT)]
        assert sorted(one.surfaces()) == ["Big Apple", "New York", "the Empire State"]
    changed.remove_surface("New\r\nYork")
    assert found(changed, "New York") == []
    with pytest.raises(KnowledgeBaseError, match="surface 'New York' is not in the knowledge base"):
        changed.remove_surface("New\u00a0York")


@pytest.mark.parametrize("fallback", ["none", "casefold", "normalized"])
def test_what_was_removed_hides_no_other_reading_of_a_cut_word(fallback: str) -> None:
    rows = [("Stratfordupon-Avon", [("Typo", 0.5)]), ("Stratford-upon-Avon", [("Stratford", 0.9)])]
    cut = "Stratford-\nupon-Avon"
    for remove in (lambda kb: kb.remove_surface("Stratfordupon-Avon"), lambda kb: kb.remove("Typo")):
        kb = KnowledgeBase.build(rows, fallback=fallback)
        assert [c.entity for c in kb.candidates(cut)] == ["Typo"]
        remove(kb)
        assert (
            [c.entity for c in kb.candidates(cut)] == ["Stratford"] == [c.entity for c in kb.merged().candidates(cut)]
        )
        kb.add("Typo", ["Stratfordupon-Avon"])
        assert [c.entity for c in kb.candidates(cut)] == ["Typo"] == [c.entity for c in kb.merged().candidates(cut)]


@pytest.mark.parametrize("surface", ["\u200b", "\u00ad\ufeff", " \u2060\n"])
def test_a_surface_without_anything_to_see_is_refused(kb: KnowledgeBase, surface: str) -> None:
    message = "empty surface: .* holds nothing that can be seen"
    with pytest.raises(KnowledgeBaseError, match=rf"aliases\[0\]: {message}"):
        KnowledgeBase.build([(surface, [("A", 1.0)])])
    with pytest.raises(KnowledgeBaseError, match=f"add: {message}"):
        kb.add("A", [surface])


# Folders of before normal forms ---------------------------------------------------------------------

RAW = [
    ("New  York", [("City", 0.5)]),
    ("Côte d’Ivoire", [("Ivory_Coast", 1.0)]),
    ("Schro\u0308der", [("Gerhard_Schröder", 0.75)]),
    ("Schröder", [("Gerhard_Schröder", 0.25), ("Band", 0.5)]),
    ("\u200b", [("Nothing", 1.0)]),
    ("Berlin", [("Berlin", 1.0)]),
]


@pytest.fixture(params=[1, 2, 3])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    save_with_raw_surfaces(tmp_path / "kb", RAW, request.param)
    return tmp_path / "kb"


def test_older_folders_find_raw_surfaces_and_their_forms(older: Path) -> None:
    kb = KnowledgeBase.from_pretrained(older)
    assert (kb.fallback, kb.num_surfaces, sorted(kb.surfaces())) == ("none", 6, sorted(name for name, _ in RAW))
    for one in (kb, pickle.loads(pickle.dumps(kb)), kb.with_fallback("casefold")):
        for surface, pairs in RAW:
            assert dict(found(one, surface)) == dict(pairs)
        for surface in ("New York", "New\nYork", "New\u00a0York"):
            assert found(one, surface) == [("City", 0.5)]
        assert found(one, "Côte  d'Ivoire") == [("Ivory_Coast", 1.0)]
        assert found(one, "Ber\u00adlin") == [("Berlin", 1.0)]
    assert found(kb, "NEW YORK") == []
    assert found(kb.with_fallback("casefold"), "NEW YORK") == [("City", 0.5 * FALLBACK_DISCOUNT)]
    kb.verify()


def test_saving_what_was_not_changed_keeps_its_surfaces(older: Path, tmp_path: Path) -> None:
    kb = KnowledgeBase.from_pretrained(older, fallback="normalized")
    kb.save_pretrained(tmp_path / "new")
    saved = KnowledgeBase.from_pretrained(tmp_path / "new")
    assert json.loads((tmp_path / "new" / "kb_config.json").read_text())["surface_form"] == 0
    # A model's fingerprint compares what a knowledge base holds.
    assert (repr(saved), saved.fingerprint, sorted(saved.surfaces())) == (
        repr(kb),
        kb.fingerprint,
        sorted(kb.surfaces()),
    )
    assert list(saved._indexes) == ["normalized"]
    assert found(saved, "New\nYork") == [("City", 0.5)]
    assert found(saved, "cote d'ivoire") == [("Ivory_Coast", FALLBACK_DISCOUNT)]


def test_saving_a_change_brings_normal_forms(older: Path) -> None:
    with KnowledgeBase.edit(older, fallback="casefold") as kb:
        kb.add("Bonn", description="a city")
    saved = KnowledgeBase.from_pretrained(older)
    assert json.loads((older / "kb_config.json").read_text())["surface_form"] == SURFACE_FORM
    assert sorted(saved.surfaces()) == ["Berlin", "Côte d'Ivoire", "New York", "Schröder"]
    assert (saved.num_surfaces, saved.num_candidates) == (4, 5)
    # The highest prior stands, by prior and then by name.
    assert found(saved, "Schröder") == [("Gerhard_Schröder", 0.75), ("Band", 0.5)]
    assert found(saved, "new\nyork") == [("City", 0.5 * FALLBACK_DISCOUNT)]
    assert sorted(saved.entities()) == sorted(kb.entities())
    saved.verify()
    assert saved.merged() is saved


def test_changes_of_an_older_folder(older: Path, tmp_path: Path) -> None:
    kb = KnowledgeBase.from_pretrained(older)
    kb.add("State", ["New\nYork"])
    kb.add("Band", ["Schröder"], prior=0.875)
    kb.remove_surface("Côte d'Ivoire")
    kb.add("Ivory_Coast", ["Côte d´Ivoire"], prior=0.5)
    kb.remove("Berlin")
    kb.save_pretrained(tmp_path / "new")
    for one in (kb, KnowledgeBase.from_pretrained(tmp_path / "new"), pickle.loads(pickle.dumps(kb))):
        for surface in ("New  York", "New York"):
            assert found(one, surface) == [("City", 0.5), ("State", 0.5)]
        assert found(one, "Côte d’Ivoire") == [("Ivory_Coast", 0.5)]
        assert found(one, "Schröder")[0] == ("Band", 0.875)
        assert found(one, "Berlin") == []
        assert one.entity_id("Berlin") is None
    with pytest.raises(KnowledgeBaseError, match="surface 'Berlin' is not in the knowledge base"):
        kb.remove_surface("Ber\u200blin")


@pytest.mark.parametrize("fallback", ["casefold", "normalized"])
def test_the_index_of_another_form_is_made_again(tmp_path: Path, fallback: str) -> None:
    save_with_raw_surfaces(tmp_path, RAW, 3, fallback)  # type: ignore[arg-type]
    assert (tmp_path / "fallback.marisa").exists()
    kb = KnowledgeBase.from_pretrained(tmp_path)
    assert not kb._indexes
    assert found(kb, "côte d'ivoire") == [("Ivory_Coast", FALLBACK_DISCOUNT)]
    assert kb.fallback == fallback
    kb.save_pretrained(tmp_path)
    assert list(KnowledgeBase.from_pretrained(tmp_path)._indexes) == [fallback]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (SURFACE_FORM + 1, rf"surface_form {SURFACE_FORM + 1} is newer than {SURFACE_FORM}.*update hf-corefel"),
        ("1", "field 'surface_form': expected a number from 0 on, got '1'"),
        (True, "field 'surface_form': expected a number from 0 on, got True"),
        (-1, "field 'surface_form': expected a number from 0 on, got -1"),
    ],
)
def test_forms_that_are_not_known_here(kb: KnowledgeBase, tmp_path: Path, form: object, message: str) -> None:
    kb.save_pretrained(tmp_path)
    path = tmp_path / "kb_config.json"
    config = {**json.loads(path.read_text()), "surface_form": form}
    path.write_text(json.dumps({**config, "checksum": config_checksum(config)}))
    with pytest.raises(KnowledgeBaseError, match=rf"kb_config\.json: {message}"):
        KnowledgeBase.from_pretrained(tmp_path)
