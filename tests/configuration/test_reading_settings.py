"""The settings of a processor: typed, checked, and the same for ever."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import CorefELConfig, CorefELProcessor
from hf_corefel.configuration import reading_settings
from hf_corefel.configuration.fields import READING_FIELDS
from hf_corefel.configuration.processor_settings import read_settings, write_settings
from hf_corefel.configuration.reading_settings import ReadingSettings
from hf_corefel.heads import options

SCOPES = {"named": {"max_span_words": 4}, "all": {"max_span_words": 12, "span_keep_ratio": 0.5}}


def test_settings_are_those_of_a_configuration() -> None:
    config = CorefELConfig(max_candidates=7, mention_scopes=SCOPES)
    settings = ReadingSettings.of(config)
    assert settings.to_dict() == {name: getattr(config, name) for name in READING_FIELDS}
    assert (settings.longest_span, config.longest_span) == (12, 12)
    assert settings.of_scope("all").span_keep_ratio == 0.5 and settings.of_scope("named").max_span_words == 4
    assert settings.of_scope(None) is settings
    assert settings.scope_names == [name for name in ("named", "all") if name in SCOPES]
    assert (settings.default_scope, ReadingSettings().default_scope) == ("named", None)
    assert settings.replace(default_mention_scope="all").default_scope == "all"


def test_settings_do_not_change() -> None:
    given = copy.deepcopy(SCOPES)
    settings = ReadingSettings(mention_scopes=given)
    given["all"]["max_span_words"] = 1
    assert settings.mention_scopes == SCOPES
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.max_candidates = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"processor\.settings\.replace\(max_candidates=3\)"):
        settings["max_candidates"] = 3
    assert settings.replace(max_candidates=3).max_candidates == 3 and settings.max_candidates == 16
    for again in (copy.deepcopy(settings), pickle.loads(pickle.dumps(settings))):
        assert again == settings


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"max_candidates": 0}, r"ReadingSettings\.max_candidates must be an integer of at least 1; got 0"),
        ({"window_overlap": True}, r"ReadingSettings\.window_overlap must be an integer"),
        ({"span_keep_ratio": 6.0}, r"ReadingSettings\.span_keep_ratio must be a number in \(0, 5\]"),
        ({"min_kept_spans": 5, "max_kept_spans": 4}, r"ReadingSettings\.min_kept_spans \(5\) must not exceed"),
        ({"mention_scopes": {"every": {}}}, r"ReadingSettings\.mention_scopes may name"),
        (
            {"default_mention_scope": "all"},
            r"ReadingSettings\.default_mention_scope is 'all', but mention_scopes names no",
        ),
        (
            {"mention_scopes": {"named": {}}, "default_mention_scope": "all"},
            r"ReadingSettings\.default_mention_scope must be one of mention_scopes, named, or None; got 'all'",
        ),
        (
            {"min_kept_spans": 5, "mention_scopes": {"named": {}, "all": {"max_kept_spans": 4}}},
            r"min_kept_spans \(5\) must not exceed mention_scopes\['all'\]\['max_kept_spans'\] \(4\)",
        ),
    ],
)
def test_bad_values_are_named(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ReadingSettings(**changed)
    with pytest.raises(ValueError, match=message):
        ReadingSettings().replace(**changed)


def test_the_dict_of_before_is_read_with_a_warning() -> None:
    settings = ReadingSettings(max_candidates=5)
    with pytest.warns(DeprecationWarning, match=r"settings\['max_candidates'\] .* is now settings\.max_candidates"):
        assert settings["max_candidates"] == 5
    with pytest.warns(DeprecationWarning, match=r"all of them settings\.to_dict\(\)"):
        assert dict(settings) == settings.to_dict()
    with pytest.raises(KeyError):
        settings["colour"]
    assert list(settings) == list(READING_FIELDS) and "max_candidates" in settings and "colour" not in settings


def test_a_processor_reads_with_the_settings_that_it_is_given(letter_processor: Callable[..., Any]) -> None:
    processor: CorefELProcessor = letter_processor(max_candidates=3)
    text = "Anna Berg met Carl Moss in Oslo. " * 3
    windows = processor(text).inputs["input_ids"].shape
    assert processor.encode("Berg").candidate_rows.shape[1] == 3 and processor.chosen_settings == frozenset()
    before = processor.settings
    processor.settings = before.replace(max_candidates=1, window_size=12)
    assert processor.encode("Berg").candidate_rows.shape[1] == 1
    assert processor(text).inputs["input_ids"].shape[2] <= 12 < windows[2]
    assert processor.chosen_settings == {"max_candidates", "window_size"}
    with pytest.raises(ValueError, match=r"window_size \(2\) leaves no room"):
        processor.settings = before.replace(window_size=2)
    with pytest.raises(TypeError, match="settings: expected ReadingSettings, got dict"):
        processor.settings = before.to_dict()  # type: ignore[assignment]
    assert processor.settings.window_size == 12, "what is refused changes nothing"


def test_examples_in_docstrings_are_right() -> None:
    assert [doctest.testmod(module).failed for module in (reading_settings, options)] == [0, 0]


def test_what_is_new_is_written_only_where_it_says_something(tmp_path: Path) -> None:
    path = tmp_path / "processor_config.json"
    for settings, is_written in ((ReadingSettings(), False), (ReadingSettings(max_partners=7), True)):
        write_settings(settings, path)
        assert ("max_partners" in json.loads(path.read_text(encoding="utf-8"))) == is_written
        assert read_settings(path) == settings
    assert "max_partners" not in CorefELConfig().to_dict()
    assert CorefELConfig(max_partners=7).to_dict()["max_partners"] == 7
