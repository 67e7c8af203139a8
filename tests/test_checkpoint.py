"""Tests of the checkpoint that comes with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from hf_corefel import CorefELModel, CorefELProcessor, Document, bundled_checkpoint
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

FOLDER = Path(bundled_checkpoint())
DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def pipeline() -> CorefELPipeline:
    return load_pipeline()


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def test_no_test_article_was_trained_on() -> None:
    test_ids = set(json.loads((DATA / "dwie_test_ids.json").read_text(encoding="utf-8")))
    train_ids = read("training_record.json")["train_ids"]
    assert len(test_ids) == 100
    # A part of an article has the article's id and a number; a mixture names the corpus before it.
    articles = {name.rpartition(":")[2].split(".")[0] for name in train_ids}
    assert sum(name.startswith("DW_") for name in articles) > 400
    assert not test_ids & articles


def test_the_record_says_how_to_train_it_again() -> None:
    record = read("training_record.json")
    assert isinstance(record["seed"], int)
    assert len(record["commit"]) == 40
    assert record["command"][:2] == ["python", "examples/03_fine_tune.py"]
    assert {"torch", "transformers", "hf-corefel"} <= set(record["versions"])


def test_the_card_names_activation_and_scores() -> None:
    card, scores, config = (
        (FOLDER / "README.md").read_text(encoding="utf-8"),
        read("test_scores.json"),
        read("config.json"),
    )
    assert f'`edge_activation="{config["edge_activation"]}"`' in card
    for value in (
        scores["coreference"]["average_f1"],
        scores["entity_linking"]["el_m"]["f1"],
        scores["entity_linking"]["el_h"]["f1"],
    ):
        assert f"{value:.4f}" in card


def test_the_alias_table_gives_few_mentions_away() -> None:
    assert read("test_scores.json")["alias_table"]["gold_share_of_spans_with_candidates"] <= 0.30
    provenance = read("knowledge_base/kb_config.json")["provenance"]
    assert provenance["first_letter_lower_cased"]
    assert not provenance["without_surfaces_of_test_articles_only"]


def test_scores_of_other_corpora_scopes_and_tables_stand_beside_it() -> None:
    runs = {
        (run["corpus"], run["mention_scope"], run["given_mentions"], run.get("table")): run
        for run in read("more_scores.json")
    }
    hidden = "without surfaces of test articles only"
    assert set(runs) == {
        ("DWIE", "named", False, hidden),
        ("DWIE", "named", True, None),
        *(("AIDA", "named", given, None) for given in (False, True)),
        *(("GUM", scope, given, None) for scope in ("named", "all") for given in (False, True)),
    }
    main = read("test_scores.json")
    given = runs["DWIE", "named", True, None]
    for part, name in (("coreference", "average_f1"), ("entity_linking", "el_m"), ("entity_linking", "el_h")):
        with_mentions, without = given[part][name], main[part][name]
        if isinstance(without, dict):
            with_mentions, without = with_mentions["f1"], without["f1"]
        assert with_mentions > without
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    for run in runs.values():
        assert f"{run['coreference']['average_f1']:.1%}" in card
    assert runs["GUM", "all", False, None]["pronouns"]["pronouns"] > 100


def test_pronouns_inherit_their_entity_under_the_scope_of_all_mentions(pipeline: CorefELPipeline) -> None:
    text = "Barack Obama's presidency ends today, but he will be remembered."
    named, every = (pipeline(text, mention_scope=scope) for scope in ("named", "all"))
    assert "he" not in {m["text"] for c in named["clusters"] for m in c["mentions"]}  # type: ignore[call-overload]
    found = {
        mention["text"]: cluster["entity"]
        for cluster in every["clusters"]  # type: ignore[call-overload]
        for mention in cluster["mentions"]
    }
    assert found["he"] == found["Barack Obama"] == "Barack_Obama"
    result = pipeline("Emmanuel Macron spoke in Paris. He said that France would help its people.", mention_scope="all")
    clusters = [{m["text"] for m in cluster["mentions"]} for cluster in result["clusters"]]  # type: ignore[call-overload]
    assert {"Emmanuel Macron", "He"} in clusters and {"France", "its"} in clusters


@pytest.mark.parametrize(
    ("text", "words", "entity"),
    [
        (
            "Angela Merkel met Emmanuel Macron in Berlin. The chancellor said she was content.",
            ("Angela Merkel", "The chancellor", "she"),
            "Angela_Merkel",
        ),
        (
            "Merkel spoke in the Bundestag on Monday. The chancellor said that she would not run again.",
            ("Merkel", "The chancellor", "she"),
            "Angela_Merkel",
        ),
        (
            "Theresa May defended her plan in London. The prime minister said it was the best deal.",
            ("Theresa May", "her", "The prime minister"),
            "Theresa_May",
        ),
        (
            "NATO opened its summit in Brussels. The alliance will discuss Afghanistan.",
            ("NATO", "its", "The alliance"),
            "NATO",
        ),
        (
            "Volkswagen will cut jobs in Wolfsburg. The company said it had no choice.",
            ("Volkswagen", "The company", "it"),
            "Volkswagen",
        ),
        (
            "Greece needs more money. The country has promised its creditors new reforms.",
            ("Greece", "The country", "its"),
            "Greece",
        ),
    ],
)
def test_descriptions_and_pronouns_find_the_name(
    pipeline: CorefELPipeline, text: str, words: tuple[str, ...], entity: str
) -> None:
    result = pipeline(text, mention_scope="all")
    (cluster,) = (c for c in result["clusters"] if c["entity"] == entity)  # type: ignore[call-overload]
    assert {mention["text"] for mention in cluster["mentions"]} >= set(words)


def test_it_is_small_and_holds_no_pickle() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 110e6
    assert {path.suffix for path in files} <= {".json", ".safetensors", ".marisa", ".txt", ".md"}


def test_weights_are_stored_in_half_and_computed_in_single_precision(pipeline: CorefELPipeline) -> None:
    with safe_open(FOLDER / "model.safetensors", framework="pt") as file:
        assert {file.get_slice(name).get_dtype() for name in file.keys()} == {"F16"}  # noqa: SIM118
    assert {parameter.dtype for parameter in pipeline.model.parameters()} == {torch.float32}


def test_entity_vectors_are_narrow(pipeline: CorefELPipeline) -> None:
    kb = pipeline.processor.knowledge_base
    assert kb.vector_size <= 128
    assert read("knowledge_base/kb_config.json")["vector_format"] == "int8"
    assert kb.num_entities > 10_000


def test_names_of_entities_are_looked_for_unless_asked_otherwise(pipeline: CorefELPipeline) -> None:
    text = "Emmanuel Macron, the French president, spoke in Paris on Monday. He said that France would help."
    found = {
        scope: {m.text for c in pipeline.annotate([text], mention_scope=scope)[0].clusters for m in c.mentions}
        for scope in (None, "entities", "named", "all")
    }
    assert found[None] == found["entities"] == {"Emmanuel Macron", "Paris", "France"}
    assert found["named"] >= {"French", "Monday"} and "He" in found["all"]


def test_from_pretrained_and_the_task_name_give_it() -> None:
    import transformers

    model = CorefELModel.from_pretrained(bundled_checkpoint())
    assert isinstance(CorefELProcessor.from_pretrained(bundled_checkpoint()), CorefELProcessor)
    task = transformers.pipeline("coref-el", device="cpu")
    assert isinstance(task, CorefELPipeline)
    loaded = dict(task.model.named_parameters())
    assert all(torch.equal(loaded[name], parameter) for name, parameter in model.named_parameters())


def test_a_plain_sentence_is_linked(pipeline: CorefELPipeline) -> None:
    text = "German Chancellor Angela Merkel flew from Berlin to Washington. Merkel met Barack Obama at the White House."
    result = pipeline(text)
    assert isinstance(result, dict)
    found = {cluster["entity"]: {mention["text"] for mention in cluster["mentions"]} for cluster in result["clusters"]}
    assert found["Angela_Merkel"] == {"Angela Merkel", "Merkel"}
    assert found["Barack_Obama"] == {"Barack Obama"}
    assert "Berlin" in found
    for cluster in result["clusters"]:
        assert 0.0 <= cluster["probability"] <= 1.0
        for mention in cluster["mentions"]:
            assert text[mention["begin"] : mention["end"]] == mention["text"]


def test_the_result_does_not_depend_on_the_company(pipeline: CorefELPipeline) -> None:
    news = (Path(__file__).parent.parent / "examples" / "data" / "news.txt").read_text(encoding="utf-8")
    texts = [news, "Nothing here.", "", "Angela Merkel met Emmanuel Macron in Paris. Macron thanked Merkel. " * 12]
    alone = [pipeline(text) for text in texts]
    together = pipeline(list(reversed(texts)), batch_size=4)
    assert isinstance(together, list)
    assert sum(len(cluster["mentions"]) > 1 for cluster in alone[0]["clusters"]) >= 2  # type: ignore[call-overload]
    for left, right in zip(alone, reversed(together), strict=True):
        assert _structure(left) == _structure(right)
        assert _probabilities(left) == pytest.approx(_probabilities(right), abs=1e-4)


def _structure(document: Any) -> list[tuple[str | None, list[tuple[int, int]]]]:
    clusters = document["clusters"]
    return [(c["entity"], [(m["begin"], m["end"]) for m in c["mentions"]]) for c in clusters]


def _probabilities(document: Any) -> list[float]:
    names = ("probability", "edge_probability", "link_probability")
    return [mention[name] for cluster in document["clusters"] for mention in cluster["mentions"] for name in names]


def test_texts_without_words_are_read_too(pipeline: CorefELPipeline) -> None:
    for text in ("", " \n"):
        batch = pipeline.processor([Document(text, clusters=[])], gold=True)
        output = pipeline.model(**batch.inputs)
        assert output.retained.shape == (1, 0)
        assert output.loss.item() == 0.0
    assert pipeline(["", "Berlin is here."])[0]["clusters"] == []  # type: ignore[index]
