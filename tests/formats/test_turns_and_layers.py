"""Speakers and annotated layers in columns and brat: they come back, or are counted as lost."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from format_documents import round_trip
from hf_corefel import Cluster, Document, Mention
from hf_corefel.documents import AnnotatedLayers, Turn
from hf_corefel.formats import read_documents, write_documents
from hf_corefel.formats.columns import CHANGED_TURNS


def test_speakers_of_sentences_come_back(tmp_path: Path) -> None:
    text = "I came. You left. We met."
    turns = [Turn(0, 7, "Ada"), Turn(8, 17, "Bo")]
    for kind in ("conll2012", "corefud"):
        (found,), losses = round_trip(kind, [Document(text, id="d", speakers=turns)], tmp_path / "file")
        assert [(found.text[t.begin : t.end].replace(" .", "."), t.speaker) for t in found.speakers] == [
            ("I came.", "Ada"),
            ("You left.", "Bo"),
        ]
        assert not [kind for kind in ("turns", "speakers") if kind in losses.message("")]


@pytest.mark.parametrize("kind", ["conll2012", "corefud"])
@pytest.mark.parametrize(
    "turns",
    [
        [Turn(0, 17, "Ada"), Turn(8, 17, "Bo")],
        [Turn(0, 25, "Ada"), Turn(8, 17, "Bo")],
        [Turn(0, 7, "Ada"), Turn(8, 17, "Ada")],
        [Turn(2, 7, "Ada")],
    ],
    ids=["nested at the end", "nested", "in a row", "from the middle"],
)
def test_turns_that_become_others_are_counted(kind: str, turns: list[Turn], tmp_path: Path) -> None:
    source = Document("I came. You left. We met.", id="d", speakers=turns)
    (found,), losses = round_trip(kind, [source], tmp_path / "file")
    words, read = source.word_map(), found.word_map()
    before = {(*words.chars_to_words(t.begin, t.end), t.speaker) for t in turns}
    after = {(*read.chars_to_words(t.begin, t.end), t.speaker) for t in found.speakers or ()}
    assert losses[CHANGED_TURNS] == len(before - after)
    assert (before == after) is (not losses[CHANGED_TURNS]) or kind == "conll2012"


@pytest.mark.parametrize("name", ["-", "_", "*"])
def test_speakers_whose_name_means_nobody_are_counted(name: str, tmp_path: Path) -> None:
    (found,), losses = round_trip("conll2012", [Document("I came.", speakers=[Turn(0, 7, name)])], tmp_path / "file")
    assert found.speakers is None and losses[CHANGED_TURNS] == 1


def test_a_turn_behind_white_space_comes_back(tmp_path: Path) -> None:
    source = Document("  Oslo.  \n Bo.", id="d", speakers=[Turn(2, 7, "Ada"), Turn(11, 14, "Bo")])
    (found,), losses = round_trip("corefud", [source], tmp_path / "file")
    assert found.text == source.text and found.speakers == source.speakers and not losses[CHANGED_TURNS]


@pytest.mark.parametrize("mentions", ["all", "named", "given"])
@pytest.mark.parametrize("clusters", [True, False])
@pytest.mark.parametrize("links", [True, False, "some"])
@pytest.mark.parametrize("kind", ["conll2012", "corefud", "brat"])
def test_annotated_layers_come_back_or_are_counted(
    kind: str, mentions: Any, clusters: bool, links: Any, tmp_path: Path
) -> None:
    layers = AnnotatedLayers(mentions, clusters, links)
    for entity in {None, "Oslo" if links else None}:
        source = Document("Oslo is", "d", clusters=[Cluster((Mention(0, 4),), entity)], annotated=layers)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            write_documents(tmp_path / f"{entity}", [source], kind)
        said = any("statements of which layers" in str(item.message) for item in caught)
        (found,) = read_documents(tmp_path / f"{entity}", kind)
        # Links have no place in these columns at all, which is counted by itself.
        back = replace(found.layers, links=links) if kind == "conll2012" else found.layers
        assert (back == layers) is not said


@pytest.mark.parametrize("name", ["McDonald", "Ronald McDonald", "iPhone", "LeBron"])
def test_a_speakers_name_comes_back_as_it_is(name: str, tmp_path: Path) -> None:
    source = Document("I came. You left.", id="d", speakers=[Turn(0, 7, name), Turn(8, 17, "Bo")])
    (found,), _ = round_trip("corefud", [source], tmp_path / "file")
    assert [turn.speaker for turn in found.speakers] == [name, "Bo"]
