"""What the files of a model say of it: checked when they are read, with the file and the field in the message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import pipeline
from typer.testing import CliRunner

from hf_corefel import CorefELModel, CorefELProcessor, KnowledgeBase
from hf_corefel.cli.app import app
from hf_corefel.configuration.processor_settings import write_settings
from hf_corefel.evaluation import evaluate_corpus
from hf_corefel.hub import FingerprintWarning, model_card_of_folder, publish
from hf_corefel.pipeline_corefel import load_pipeline

from .conftest import TEXT, edit

SETTINGS = "processor_config.json"


@pytest.fixture
def folder(copied: Callable[[str], Path]) -> Path:
    return copied("model")


# One table for both files -----------------------------------------------------------------------------

BAD = [
    *[("max_kept_spans", value) for value in (0, -1, 2.0, True, "3", None, 10**12, [3], {})],
    *[("max_candidates", value) for value in (0, 10**9)],
    *[("max_span_words", value) for value in (0, 10**9)],
    *[("max_span_pieces", value) for value in (0, "")],
    *[("min_kept_spans", value) for value in (-1, 0.5, 10**5)],
    *[("window_size", value) for value in (0, 10**9, "16")],
    *[("window_overlap", value) for value in (-1, 10**9)],
    *[("span_keep_ratio", value) for value in (0, -0.5, 5.5, "0.2", True, [0.2])],
    *[("mention_scopes", value) for value in ([], {}, "all", {"every": {}}, {"all": {"max_span_words": 0}})],
    *[("default_mention_scope", value) for value in ("all", 3, ["named"])],
    *[("mention_scopes", value) for value in ({"all": {"dropout": 0.1}}, {"all": 3}, {"all": {"span_keep_ratio": 9}})],
]


@pytest.mark.parametrize("file", [SETTINGS, "config.json"])
@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_bad_value_is_named_with_its_file(folder: Path, file: str, field: str, value: Any) -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    (folder / file).write_text(json.dumps({**content, field: value}), encoding="utf-8")
    kind = CorefELProcessor if file == SETTINGS else CorefELModel
    with pytest.raises(ValueError, match=rf"{folder}/{file}: (CorefELConfig\.)?{field}"):
        kind.from_pretrained(folder)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"max_span_words": 4}, "max_span_words is 4 there, and 3 words are the model's most"),
        ({"mention_scopes": {"all": {"max_span_words": 3}}}, "mention_scopes are all there and none"),
        ({"window_size": 65}, "window_size is 65 there, and the encoder reads 64 subwords"),
    ],
)
def test_processor_and_model_must_fit(folder: Path, fields: dict[str, Any], named: str) -> None:
    edit(folder / SETTINGS, **fields)
    for load in (load_pipeline, lambda name: pipeline("coref-el", model=str(name))):
        with pytest.raises(ValueError, match=rf"{folder}: {SETTINGS} and config\.json do not fit: {named}"):
            load(folder)


def test_the_knowledge_base_must_fit(folder: Path, tmp_path: Path) -> None:
    (folder / "knowledge_base").unlink()
    KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])], vectors={"Oslo": [1.0, 2.0]}).save_pretrained(
        folder / "knowledge_base"
    )
    with pytest.raises(
        ValueError, match=rf"{folder}: the vectors of its knowledge base are 2 wide.*entity_vector_size"
    ):
        load_pipeline(folder)


def test_the_tokenizer_must_fit(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    vocabulary["zebra"] = len(vocabulary)
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{folder}: its tokenizer has \d+ subwords, and the encoder knows \d+"):
        load_pipeline(folder)


def test_smaller_settings_of_ones_own_are_taken(folder: Path) -> None:
    edit(folder / SETTINGS, max_kept_spans=2, max_candidates=1, span_keep_ratio=0.1)
    with pytest.warns(FingerprintWarning, match=r"These files changed: processor_config\.json"):
        assert load_pipeline(folder)(TEXT)["clusters"]  # type: ignore[call-overload]


# Files that are no such JSON --------------------------------------------------------------------------

DAMAGED = {
    "cut": b'{"max_kept_spans": ',
    "empty": b"",
    "no object": b"[]",
    "a number": b"3",
    "twice": b'{"model_type": "corefel", "model_type": "corefel", "tokenizer_class": "a", "tokenizer_class": "a"}',
    "no UTF-8": b'{"model_type": "\xff\xfe"}',
    "UTF-16": '{"model_type": "corefel"}'.encode("utf-16"),
    "deep": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "many digits": b'{"max_kept_spans": 1' + b"0" * 5000 + b"}",
    "NaN": b'{"span_keep_ratio": NaN}',
    "zeros": b"\0" * 100,
}


@pytest.mark.parametrize("file", ["config.json", SETTINGS, "tokenizer_config.json", "tokenizer.json"])
@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_json_is_named(folder: Path, file: str, kind: str) -> None:
    (folder / file).write_bytes(DAMAGED[kind])
    with pytest.raises((OSError, ValueError), match=rf"{folder}(/|: .*){file}"):
        load_pipeline(folder)


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_records_are_named(folder: Path, kind: str) -> None:
    (folder / "fingerprint.json").write_bytes(DAMAGED[kind])
    with pytest.warns(FingerprintWarning, match=rf"fingerprint {folder}/fingerprint\.json cannot be read"):
        load_pipeline(folder)
    for file in ("test_scores.json", "training_record.json", "more_scores.json", "fairness.json", "config.json"):
        (folder / file).write_bytes(DAMAGED[kind])
        if file == "more_scores.json" and kind == "no object":
            continue
        with pytest.raises((OSError, ValueError), match=rf"{folder}/{file}"):
            publish(folder, "acme/damaged") if file == "config.json" else model_card_of_folder(folder)
        (folder / file).unlink()


@pytest.mark.parametrize(
    "content", [3, "x", [1], {"documents": "3"}, {"coreference": 3}, {"train_ids": 3}, {"command": 3}]
)
@pytest.mark.parametrize("file", ["test_scores.json", "training_record.json", "more_scores.json", "fairness.json"])
def test_records_of_another_form_are_named(folder: Path, file: str, content: Any) -> None:
    (folder / file).write_text(json.dumps(content), encoding="utf-8")
    if file == "training_record.json" and content in ({"documents": "3"}, {"coreference": 3}):
        assert "Limitations" in model_card_of_folder(folder)
        return
    with pytest.raises(ValueError, match=rf"{folder}/{file}: not what this package writes there"):
        model_card_of_folder(folder)


@pytest.mark.parametrize("file", ["config.json", SETTINGS])
@pytest.mark.parametrize("misspelt", ["max_kept_span", "max_kept_spanz", "Max_kept_spans"])
def test_a_misspelt_field_is_no_default(folder: Path, file: str, misspelt: str) -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    content[misspelt] = content.pop("max_kept_spans")
    (folder / file).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{file}: unknown field '{misspelt}'; did you mean 'max_kept_spans'"):
        load_pipeline(folder)


def test_an_unknown_setting(folder: Path) -> None:
    edit(folder / SETTINGS, colour="red")
    with pytest.raises(ValueError, match=rf"{SETTINGS}: unknown field 'colour'; the known fields are max_span_words"):
        CorefELProcessor.from_pretrained(folder)


# No name ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
def test_an_empty_name_is_not_the_bundled_model(name: str, tmp_path: Path) -> None:
    (tmp_path / "annos").mkdir()
    for load in (
        load_pipeline,
        lambda name: publish(name, "acme/empty"),
        lambda name: evaluate_corpus(tmp_path, model=name),
        CorefELModel.from_pretrained,
        CorefELModel.from_encoder,
        CorefELProcessor.from_pretrained,
    ):
        with pytest.raises(ValueError, match="expected a folder or a Hub id, got an empty name"):
            load(name)
    for command in (["annotate", "-"], ["publish", "acme/empty"], ["evaluate", str(tmp_path)]):
        done = CliRunner().invoke(app, [*command, "--model", name], input=TEXT)
        assert (done.exit_code, done.stdout) == (1, ""), command
        assert "got an empty name" in done.stderr and "of the package" not in done.stderr


def test_a_crash_while_saving_leaves_the_earlier_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, before = CorefELProcessor.from_pretrained(folder), (folder / SETTINGS).read_bytes()
    monkeypatch.setattr("json.dumps", lambda *args, **kwargs: (_ for _ in ()).throw(OSError("No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write_settings(loaded.settings, folder / SETTINGS)
    assert (folder / SETTINGS).read_bytes() == before
    assert sorted(path.name for path in folder.glob("*.part")) == []
