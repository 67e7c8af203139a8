"""The card: metadata that the Hub can read, and every number and setting that a reader needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard, metadata_load

from hf_corefel import CorefELConfig, CorefELTrainer, CorefELTrainingArguments, Document, bundled_checkpoint
from hf_corefel.heads import Calibration
from hf_corefel.hub import BUNDLED, CardFacts, model_card, model_card_of_folder, point_card_to

SCORES = {
    "documents": 100,
    "coreference": {"average_f1": 0.91234567},
    "entity_linking": {"el_m": {"f1": 0.81}, "el_h": {"f1": 0.7}},
    "hard_cases": {"accuracy": 0.25, "mentions": 12},
    "alias_table": {"gold_share_of_spans_with_candidates": 0.42, "candidate_recall_of_linked_mentions": 0.9},
    "interval_95": {"coref_f1": "0.9000 – 0.9200", "el_mention_f1": "0.8 – 0.82", "el_hard_f1": "0.6 – 0.8"},
}
COMMAND = ["python", "train.py", "--data_dir", "there", "--task_learning_rate", "1e-3", "--half_precision", "--config"]
RECORD = {
    "train_ids": ["a", "b", "c"],
    "command": [*COMMAND, '{"head": "global"}'],
    "seed": 13,
    "commit": "f" * 40,
    "versions": {"torch": "2.6.0"},
}
KNOWLEDGE_BASE = {"num_surfaces": 38731, "num_entities": 35961, "vector_size": 128}


def sections(card: str) -> dict[str, str]:
    _, *parts = card.split("\n## ")
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


@pytest.fixture(scope="module")
def bundled() -> str:
    config = CorefELConfig(edge_activation="arsinh", max_span_words=8)
    return model_card(config, facts=BUNDLED, knowledge_base=KNOWLEDGE_BASE, record=RECORD, scores=SCORES)


def test_metadata_is_what_the_hub_reads(bundled: str) -> None:
    data = ModelCard(bundled).data
    assert (data.license, data.language, data.library_name) == ("apache-2.0", "en", "hf-corefel")
    assert data.base_model == "sentence-transformers/all-MiniLM-L6-v2"
    assert {"coref-el", "entity-linking", "coreference-resolution"} <= set(data.tags)
    results = {result.metric_type: result for result in data.eval_results}
    assert {name: result.metric_value for name, result in results.items()} == {
        "coref_f1": 0.9123,
        "el_mention_f1": 0.81,
        "el_hard_f1": 0.7,
    }
    assert {(result.dataset_name, result.dataset_split) for result in results.values()} == {("DWIE", "test")}
    assert data.model_name == "MiniLM on news, Wikipedia, novels and twelve other kinds of text"


def test_the_widget_offers_texts_to_try(bundled: str, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(bundled, encoding="utf-8")
    read = metadata_load(path)
    assert read is not None and read["widget"] == ModelCard(bundled, ignore_metadata_errors=False).data.widget
    assert len(read["widget"]) == 3
    for example in read["widget"]:
        assert set(example) == {"text", "example_title"}
        assert example["text"].startswith(example["example_title"].rstrip("…"))
    assert read["pipeline_tag"] == "token-classification"
    shown = (Path(bundled_checkpoint()) / "README.md").read_text(encoding="utf-8")
    assert ModelCard(shown).data.widget == read["widget"]


def test_examples_are_in_the_models_language() -> None:
    assert ModelCard(model_card(CorefELConfig(), facts=CardFacts(language="de"))).data.to_dict().get("widget") is None
    assert ModelCard(model_card(CorefELConfig(), facts=CardFacts(examples=[]))).data.to_dict().get("widget") is None
    german = CardFacts(language="de", examples=["Angela Merkel sprach in Berlin."])
    assert ModelCard(model_card(CorefELConfig(), facts=german)).data.widget == [
        {"text": "Angela Merkel sprach in Berlin.", "example_title": "Angela Merkel sprach in Berlin."}
    ]


@pytest.mark.parametrize(
    ("text", "shown", "title"),
    [
        ("x\n---\nlicense: mit\n---", "x --- license: mit ---", "x --- license: mit ---"),
        ("- !!python/object:os.system [x] # {{y}}'", *["- !!python/object:os.system [x] # {{y}}'"] * 2),
        ("東" * 50, "東" * 50, "東" * 40 + "…"),
        ("yes", "yes", "yes"),
        ("12", "12", "12"),
        ("one two\u202e\x1b[31m", "one two��[31m", "one two��[31m"),
    ],
)
def test_examples_are_texts_and_nothing_else(text: str, shown: str, title: str) -> None:
    data = ModelCard(model_card(CorefELConfig(), facts=CardFacts(examples=[text, " \n"]))).data
    assert data.widget == [{"text": shown, "example_title": title}]
    assert (data.license, data.library_name) == (None, "hf-corefel")


def test_text_says_what_a_reader_needs(bundled: str) -> None:
    found = sections(bundled)
    assert list(found) == [
        "How to use",
        "Intended use",
        "What it is made of",
        "Training",
        "Scores on DWIE test, end to end",
        "Limitations",
        "Citation",
    ]
    assert 'pipeline("coref-el")  # this checkpoint is the default' in found["How to use"]
    assert '`edge_activation="arsinh"`' in found["What it is made of"]
    assert "38,731 surfaces, 35,961 entities, vectors of 128 dimensions" in found["What it is made of"]
    assert "3 documents or parts of documents, whose ids stand in `training_record.json`" in found["Training"]
    assert """--config '{"head": "global"}'""" in found["Training"], "a command that can be copied"
    rows = [line.strip("| ").split(" | ") for line in found["Training"].splitlines() if line.startswith("| ")]
    assert dict(row for row in rows if len(row) == 2) == {
        "task_learning_rate": "1e-3",
        "config": '{"head": "global"}',
        "seed": "13",
        "commit": "f" * 40,
        "version of torch": "2.6.0",
    }
    scores = found["Scores on DWIE test, end to end"]
    for text in ("0.9123 | 0.9000 – 0.9200", "0.8100", "0.7000", "0.2500 of 12 right", "42%", "90.0%"):
        assert text in scores, text
    assert "more than 8 words" in found["Limitations"] and "mention scope `all` only" in found["Limitations"]
    assert "10.18653/v1/2022.acl-short.88" in found["Citation"]


def test_a_bare_folder_has_a_card_too(tiny_folder: Path) -> None:
    card = model_card_of_folder(tiny_folder, repo_id="acme/tiny")
    data = ModelCard(card).data
    assert data.eval_results is None and data.license is None and data.base_model is None
    assert data.model_name == "tiny"
    assert 'pipeline("coref-el", model="acme/tiny")' in card
    assert "Scores" not in card and "not recorded" in sections(card)["Training"]
    assert "7 surfaces" in card


def test_records_beside_the_model_are_read(tiny_folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "knowledge_base"):
        (tmp_path / name).symlink_to(tiny_folder / name)
    (tmp_path / "test_scores.json").write_text(json.dumps({**SCORES, "interval_95": {}}))
    record = {**RECORD, "development_scores": {"eval_coref_f1": 0.5, "eval_el_mention_f1": 0.4, "eval_loss": 3.0}}
    (tmp_path / "training_record.json").write_text(json.dumps(record))
    found = sections(model_card_of_folder(tmp_path, facts=CardFacts(datasets=["acme/news"])))
    assert "0.9123" in found["Scores on DWIE test, end to end"]
    assert "0.5000" in found["Scores on development documents"]
    assert "acme/news" in found["Training"]


@pytest.mark.parametrize("head", ["local", "standalone_coref", "standalone_linking"])
def test_other_heads_have_no_edge_activation(head: str) -> None:
    card = model_card(CorefELConfig(head=head))
    assert f"`{head}` head" in card
    assert "edge_activation" not in card


def test_pointing_a_card_changes_its_use_only(bundled: str) -> None:
    pointed = point_card_to(bundled, "acme/mine")
    assert 'pipeline("coref-el", model="acme/mine")' in pointed
    assert pointed.split("<!-- use:begin -->")[0] == bundled.split("<!-- use:begin -->")[0]
    assert pointed.split("<!-- use:end -->")[1] == bundled.split("<!-- use:end -->")[1]
    assert point_card_to("# By hand\n", "acme/mine") == "# By hand\n"


def test_trainer_writes_the_card(
    tiny_model: Callable[..., Any],
    tiny_processor: Callable[[Any], Any],
    tiny_documents: list[Document],
    tmp_path: Path,
) -> None:
    model = tiny_model()
    arguments = CorefELTrainingArguments(
        output_dir=str(tmp_path), max_steps=1, report_to="none", use_cpu=True, seed=7, save_strategy="no"
    )
    trainer = CorefELTrainer(
        model, arguments, tiny_processor(model.config), train_dataset=tiny_documents, eval_dataset=tiny_documents
    )
    trainer.train()
    scores = trainer.evaluate()
    trainer.create_model_card(license="mit", model_name="Tiny", dataset="acme/news", finetuned_from="acme/encoder")
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    data = ModelCard(card).data
    assert (data.license, data.base_model, data.datasets) == ("mit", "acme/encoder", ["acme/news"])
    assert {r.metric_type: r.metric_value for r in data.eval_results} == {
        name: round(scores[f"eval_{name}"], 4) for name in ("coref_f1", "el_mention_f1", "el_hard_f1")
    }
    assert "# Tiny\n" in card
    assert "3 documents of acme/news." in card
    assert "| seed | 7 |" in card and "| task_learning_rate | 0.001 |" in card


def test_other_corpora_and_scopes_have_their_rows() -> None:
    scopes = {"named": {}, "all": {"max_span_words": 12, "span_keep_ratio": 0.45}}
    more = [
        {**SCORES, "corpus": "AIDA", "split": "test"},
        {**SCORES, "corpus": "GUM", "mention_scope": "all", "given_mentions": True},
        {**SCORES, "table": "without surfaces of test articles only"},
    ]
    found = sections(model_card(CorefELConfig(max_span_words=8, mention_scopes=scopes), more_scores=more))
    rows = found["Scores on other corpora and in other ways"]
    assert "| AIDA test | named |  | 91.2% | 81.0% | 70.0% | 25.0% of 12 | 90.0% | 42% |" in rows
    assert "| GUM test | all | yes | 91.2% | 81.0% | 70.0% | 25.0% of 12 | 90.0% |  |" in rows
    assert "| DWIE test, without surfaces of test articles only | named |" in rows
    assert "`all`: spans of up to 12 words, 0.45 a word kept" in found["What it is made of"]
    assert "Mention scope `named` (the default): spans of up to 8" in found["What it is made of"]
    assert "- Mentions of more than 8 words (12 under the scope `all`) are missed." in found["Limitations"]
    found = sections(model_card(CorefELConfig(max_span_words=7)))
    assert "- Mentions of more than 7 words are missed." in found["Limitations"]


def test_a_calibration_is_told() -> None:
    config = CorefELConfig(calibration={"mention_scale": 0.72, "nil_offset": 0.4})
    found = sections(model_card(config))
    line = "Calibration of the scores: `mention_scale=0.72`, `nil_offset=0.4`."
    assert line in found["What it is made of"] and "A calibration was fitted" in found["Limitations"]
    found = sections(model_card(CorefELConfig(calibration=Calibration().to_dict())))
    assert "Calibration of" not in found["What it is made of"] and "not been calibrated" in found["Limitations"]


def test_an_earlier_training_is_named() -> None:
    first = {"command": ["python", "first.py", "--seed", "7"], "weights_averaged_over": ["step-1", "step-2"]}
    second = {"command": ["python", "second.py"], "started_from": first}
    record = {
        **RECORD,
        "started_from": second,
        "weights_averaged_over": ["step-8", "step-9"],
        "share_of_the_start": 0.25,
    }
    training = sections(model_card(CorefELConfig(), record=record))["Training"]
    places = [
        training.index(part)
        for part in (
            *(
                "First command:",
                "python first.py --seed 7",
                "The next command started from the mean of those after step-1, ",
            ),
            *(
                "Then:",
                "python second.py",
                "Command:",
                "python train.py",
                "These weights are the mean of those after step-8",
                "25% of those that it started",
            ),
        )
    ]
    assert places == sorted(places)
