"""Each field of a configuration is declared once: the table, the signature, the documentation and the code agree."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from pathlib import Path

import pytest

import hf_corefel
from hf_corefel import CorefELConfig
from hf_corefel.configuration.fields import FIELDS, READING_FIELDS, ConfigField
from hf_corefel.configuration.reading_settings import ReadingSettings

PACKAGE = Path(hf_corefel.__file__).parent
PARAMETERS = {
    name: parameter
    for name, parameter in inspect.signature(CorefELConfig.__init__).parameters.items()
    if name not in ("self", "kwargs")
}
# Where each reader's code is.
READERS = {
    "model": [PACKAGE / "modeling_corefel.py", *(PACKAGE / "layers").glob("*.py")],
    "heads": list((PACKAGE / "heads").glob("*.py")),
    "processor": [PACKAGE / "processing_corefel.py", PACKAGE / "processing" / "retention.py"],
}


def test_signature_has_the_fields_with_their_defaults() -> None:
    assert list(PARAMETERS) == list(FIELDS)
    assert {name: parameter.default for name, parameter in PARAMETERS.items()} == {
        name: field.default for name, field in FIELDS.items()
    }
    kinds = {"count": "int", "number": "float", "flag": "bool", "choice": "str"}
    for name, field in FIELDS.items():
        if field.kind != "structure":
            assert PARAMETERS[name].annotation == kinds[field.kind], name


def test_docstring_says_of_each_field_what_the_table_says() -> None:
    text = inspect.cleandoc(CorefELConfig.__doc__ or "").partition("Args:\n")[2].partition("\nRaises:")[0]
    said = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", text, flags=re.DOTALL | re.MULTILINE)
    assert [(name, " ".join(words.split())) for name, words in said] == [
        (name, field.doc) for name, field in FIELDS.items()
    ]


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_read_where_the_table_says(name: str) -> None:
    field = FIELDS[name]
    assert field.read_by
    for reader in field.read_by:
        if reader == "transformers" or (name, reader) == ("max_span_words", "model"):  # by `longest_span`
            continue
        assert any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in READERS[reader]), reader


@pytest.mark.parametrize("name", [name for name, field in FIELDS.items() if field.kind in ("count", "number")])
def test_bounds_are_those_that_are_checked(name: str) -> None:
    field = FIELDS[name]
    step = 1 if field.kind == "count" else 1e-9
    bounds = [(field.least, -step, "least"), (field.most, step, "most")]
    others = {"window_size": 10, "window_overlap": 0, "min_kept_spans": 0, "max_kept_spans": 10_000_000}
    for bound, beyond, end in bounds:
        if math.isinf(bound):
            continue
        inner = bound - beyond if end in field.open_ends else bound
        if name not in ("window_size", "window_overlap"):  # the encoder and each other bound these
            assert getattr(CorefELConfig(**{**others, name: inner}), name) == inner
        with pytest.raises(ValueError, match=rf"^CorefELConfig\.{name} must be "):
            CorefELConfig(**{**others, name: bound if end in field.open_ends else bound + beyond})


def test_a_processor_takes_the_fields_that_it_reads() -> None:
    settings = {field.name: field.default for field in dataclasses.fields(ReadingSettings)}
    assert set(settings) == set(READING_FIELDS)
    assert settings == {name: FIELDS[name].default for name in READING_FIELDS}
    assert ReadingSettings.of(CorefELConfig()) == ReadingSettings()
    said = re.findall(r"^    (\w+): ", inspect.cleandoc(ReadingSettings.__doc__ or ""), flags=re.MULTILINE)
    assert {name for name in said if name != "ValueError"} == set(READING_FIELDS)


def test_a_range_is_said_in_words() -> None:
    assert FIELDS["span_keep_ratio"].expected == "in (0, 5]" and FIELDS["dropout"].expected == "in [0, 1)"
    assert FIELDS["mention_loss_weight"].expected == "of at least 0"
    assert FIELDS["max_candidates"].expected == "1 to 100,000" and FIELDS["use_speakers"].expected == "True or False"
    assert FIELDS["edge_activation"].expected == "none or arsinh" and FIELDS["encoder_config"].expected == ""
    assert not ConfigField("number", 0.0, (), "").holds(math.nan)
