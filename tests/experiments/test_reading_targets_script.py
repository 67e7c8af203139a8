"""The measuring sentences, and what the script counts of annotations that are made up here."""

from __future__ import annotations

import json
import re
from collections import Counter
from types import ModuleType

import pytest

from hf_corefel import AnnotatedDocument, Cluster, KnowledgeBase, Mention
from hf_corefel.pipeline_corefel import bundled_checkpoint
from script_loading import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/reading_targets.py")


def document(text: str, *clusters: tuple[str | None, list[str]]) -> AnnotatedDocument:
    """The text with clusters of the surfaces, each at its next place."""
    taken: set[tuple[int, int]] = set()

    def mention(surface: str) -> Mention:
        places = (m.span() for m in re.finditer(re.escape(surface), text))
        begin, end = next(place for place in places if place not in taken)
        taken.add((begin, end))
        return Mention(begin, end)

    return AnnotatedDocument(text, [Cluster(tuple(map(mention, names)), entity) for entity, names in clusters])


def test_rows_are_sound(script: ModuleType) -> None:
    texts: Counter[str] = Counter()
    for split in ("dev", "test"):
        for row in script.read("first_names", split):
            texts[row["text"]] += 1
            assert row["names"] and all(script.places(name, row["text"]) for name in row["names"]), row
        for row in script.read("honorifics", split):
            texts[row["text"]] += 1
            assert len(row["forms"]) == 2 and all(script.places(form, row["text"]) for form in row["forms"]), row
        for row in script.read("ambiguous", split):
            texts[row["text"]] += 1
            assert row["entities"] and script.places(row["name"], row["text"]), row
        for row in script.read("controls", split):
            texts[row["plain"]] += 1
            plain = re.sub(r"\W", "", row["plain"]).upper()
            assert row["capitals"].isupper() and re.sub(r"\W", "", row["capitals"]) == plain, row
        for row in script.read("acronyms", split):
            texts[row["text"]] += 1
            assert row["name"].isupper() and len(script.places(row["name"], row["text"])) == 1, row
        for row in script.read("namesakes", split):
            texts[row["text"]] += 1
            text, places = script.unmarked(row["text"])
            assert set(places) == {"a", "b"} and "[" not in text, row
            heads = [{text[b:e].split()[-1] for b, e in found} for found in places.values()]
            words = [{word for b, e in found for word in text[b:e].split()} for found in places.values()]
            assert set.intersection(*words) and all(heads), row
    assert max(texts.values()) == 1 and sum(texts.values()) == 92 + 56 + 86 + 124 + 32 + 24
    dev, test = ({row["name"] for row in script.read("acronyms", split) if row["is_name"]} for split in ("dev", "test"))
    assert dev & test == set()
    dev, test = ({n for row in script.read("first_names", split) for n in row["names"]} for split in ("dev", "test"))
    assert dev & test == set()


def test_the_right_entities_are_candidates_of_the_bundled_table(script: ModuleType) -> None:
    kb = KnowledgeBase.from_pretrained(f"{bundled_checkpoint()}/knowledge_base")
    for split in ("dev", "test"):
        for row in script.read("ambiguous", split):
            known = {candidate.entity for candidate in kb.candidates(row["name"])} | {None}
            assert known & set(row["entities"]), row


def rows_in_files(script: ModuleType, monkeypatch: pytest.MonkeyPatch, *rows: dict[str, object]) -> None:
    monkeypatch.setattr(script, "read", lambda name, split: json.loads(json.dumps(rows)))


def test_a_linked_stranger_counts_and_a_real_place_does_not(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Sue went to Rome.", "Sue went to Rome.", "Sue is in Suez."]
    rows_in_files(script, monkeypatch, *({"text": text, "names": ["Sue"]} for text in texts))
    found = [
        document(texts[0], ("Rome", ["Rome"]), (None, ["Sue"])),
        document(texts[1], ("A_Boy_Named_Sue", ["Sue"])),
        document(texts[2], ("Suez", ["Suez"])),
    ]
    (figure,) = script.first_names(lambda texts: found, "dev")
    assert (figure.count, figure.total, figure.met) == (1, 3, False)
    assert figure.failures == ["[Sue went to Rome.]  ['Sue'] = A_Boy_Named_Sue"]


def test_titled_forms(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Ann Lee ran. Mr. Lee sat."
    rows_in_files(script, monkeypatch, *[{"text": text, "forms": ["Ann Lee", "Mr. Lee"]}] * 4)
    found = [
        document(text, (None, ["Ann Lee", "Mr. Lee"])),
        AnnotatedDocument(text, [Cluster((Mention(0, 7), Mention(17, 20)))]),
        AnnotatedDocument(text, [Cluster((Mention(0, 7),)), Cluster((Mention(13, 16),)), Cluster((Mention(17, 20),))]),
        AnnotatedDocument(text, [Cluster((Mention(0, 3), Mention(17, 20)))]),
    ]
    joined, alone = script.honorifics(lambda texts: found, "dev")
    assert (joined.count, joined.total, joined.met) == (2, 4, False)
    assert (alone.count, alone.met) == (1, False)


def test_ambiguous_names(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = KnowledgeBase.build([("Lyon", [("Lyon", 0.7), ("Lyon_F.C.", 0.3)])])
    text = "Lyon won. They love Lyon."
    row = {"text": text, "name": "Lyon", "entities": ["Lyon_F.C."]}
    rows_in_files(script, monkeypatch, row, row, row, {**row, "entities": [None, "Lyon"]})
    found = [
        document(text, ("Lyon_F.C.", ["Lyon"])),
        document(text, ("Lyon", ["Lyon", "Lyon"])),
        AnnotatedDocument(text, [Cluster((Mention(20, 24),), "Lyon_F.C.")]),
        AnnotatedDocument(text, []),
    ]
    right, hard, known = script.ambiguous(lambda texts: found, "dev", kb)
    assert (right.count, right.total, hard.count, hard.total, known.count) == (2, 4, 1, 3, 4)
    assert right.failures[0].startswith("Lyon = Lyon, wanted Lyon_F.C.")


def test_acronyms_and_stressed_words(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The WHO met.", "The WHO met.", "See WHO met.", "See WHO met."]
    rows_in_files(script, monkeypatch, *({"text": t, "name": "WHO", "is_name": t[0] == "T"} for t in texts))
    found = [
        document(texts[0], ("WHO", ["The WHO"])),
        document(texts[1], (None, ["WHO met"])),
        document(texts[2]),
        document(texts[3], (None, ["See WHO"])),
    ]
    names, stressed = script.acronyms(lambda texts: found, "dev")
    assert (names.count, names.total, names.met) == (1, 2, False)
    assert (stressed.count, stressed.total, stressed.met) == (1, 2, False)


def test_two_of_one_name(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = "[a Al Bush] met [b Jo Bush]. Mrs. [b Bush] sat."
    text, places = script.unmarked(marked)
    assert (text, places) == ("Al Bush met Jo Bush. Mrs. Bush sat.", {"a": [(0, 7)], "b": [(12, 19), (26, 30)]})
    rows_in_files(script, monkeypatch, *[{"text": marked}] * 5)
    al, jo, bush = Cluster((Mention(0, 7),)), Mention(12, 19), Mention(26, 30)
    found = [
        AnnotatedDocument(text, [al, Cluster((jo, bush))]),
        AnnotatedDocument(text, [al, Cluster((jo, Mention(21, 30)))]),
        AnnotatedDocument(text, [Cluster((Mention(0, 7), bush)), Cluster((jo,))]),
        AnnotatedDocument(text, [al, Cluster((jo,))]),
        AnnotatedDocument(text, [Cluster((Mention(0, 7), jo, bush))]),
    ]
    right, apart = script.namesakes(lambda texts: found, "dev")
    assert (right.count, right.total, right.met) == (2, 5, False)
    assert (apart.count, apart.total) == (3, 5)


def test_new_links_of_common_words(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"plain": "Tell us.", "capitals": "TELL US"}, {"plain": "Rome.", "capitals": "ROME"}]
    rows_in_files(script, monkeypatch, *rows)
    links = {"TELL US": "US", "Rome.": "Rome", "ROME": "ROME"}

    def annotate(texts: list[str]) -> list[AnnotatedDocument]:
        return [document(text, *([("X", [links[text]])] if text in links else [])) for text in texts]

    figures = script.controls(annotate, "dev")
    assert [figure.count for figure in figures] == [1, 2, 0, 1]


def test_variants_have_the_same_letters_and_links_are_found_again(script: ModuleType) -> None:
    text = (
        'Anna Müller of the International Organization left São Paulo. "That\'s it," she said.\n\nShe flew to Berlin.'
    )
    versions = script.variants(text)

    def letters(words: str) -> str:
        return "".join(filter(str.isalnum, words)).lower()

    flat = document(text, ("Anna", ["Anna Müller"]), ("SP", ["São Paulo"]))
    for name, version in versions.items():
        if name != "decomposed accents":
            assert letters(version) == letters(text), name
        assert version != text or name == "soft hyphens", name
    assert max(map(len, versions["lines of 40, words broken"].splitlines())) <= 41
    assert "-\n" in versions["lines of 40, words broken"]
    decomposed = document(versions["decomposed accents"], ("Anna", ["Anna Mu\u0308ller"]), ("SP", ["Sa\u0303o Paulo"]))
    assert script.links_by_letters(decomposed) == script.links_by_letters(flat)

    def annotate(texts: list[str]) -> list[AnnotatedDocument]:
        return [flat if text.startswith("Anna M") else AnnotatedDocument(text, []) for text in texts]

    figures = {figure.name: figure for figure in script.forms(annotate, {"x": text})}
    assert figures["x, lines of 72"].met and figures["x, tabs"].met is False
    assert figures["x, capitals"].count == 0 and figures["x, capitals"].failures == [
        "lost AnnaMüller = Anna",
        "lost SãoPaulo = SP",
    ]


def test_the_table_says_what_is_met(script: ModuleType) -> None:
    line = str(script.Figure("names", 1, 8, "at most 5 %", False))
    assert line.split() == ["names", "1", "of", "8", "12.5", "%", "at", "most", "5", "%", "missed"]
