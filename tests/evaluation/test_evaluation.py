"""Tests of end-to-end evaluation on DWIE-form files written here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import AnnotatedDocument, Cluster, Document, Mention
from hf_corefel.evaluation import candidate_share, evaluate_corpus, read_predictions, recall_of_spans
from hf_corefel.evaluation import end_to_end as evaluation
from hf_corefel.metrics import evaluate
from hf_corefel.pipeline_corefel import load_pipeline


def article(document: Document) -> dict[str, Any]:
    """A gold document in DWIE's form, in the test split."""
    mentions, concepts = [], []
    for number, cluster in enumerate(document.clusters or []):
        concepts.append({"concept": number, "text": cluster.mentions[0].text, "link": cluster.entity})
        for mention in cluster.mentions:
            mentions.append({"begin": mention.begin, "end": mention.end, "text": mention.text, "concept": number})
    return {
        "id": document.id,
        "content": document.text,
        "tags": ["all", "test"],
        "mentions": mentions,
        "concepts": concepts,
    }


@pytest.fixture
def corpus(tmp_path: Path, tiny_documents: list[Document]) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for document in tiny_documents:
        content = json.dumps(article(document) | {"id": f"DW_{document.id}"})
        (folder / f"DW_{document.id}.json").write_text(content, encoding="utf-8")
    return folder


def test_scores_are_those_of_the_pipeline_on_the_texts(
    corpus: Path, tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path
) -> None:
    out, predictions = tmp_path / "scores.json", tmp_path / "predictions.jsonl"
    seen: list[tuple[int, int]] = []
    scores = evaluate_corpus(
        corpus,
        model=tiny_folder,
        out=out,
        predictions=predictions,
        progress=lambda done, total: seen.append((done, total)),
    )
    expected = evaluate(tiny_documents, load_pipeline(tiny_folder).annotate(d.text for d in tiny_documents))
    assert scores["documents"] == 3
    assert scores["coreference"]["average_f1"] == expected["coref_f1"] > 0.5
    assert scores["entity_linking"]["el_m"]["f1"] == expected["el_mention_f1"] > 0.5
    assert scores["entity_linking"]["el_h"]["f1"] == expected["el_hard_f1"] > 0.3
    assert scores["entity_linking"]["el_s"]["f1"] == expected["el_soft_f1"]
    assert scores["coreference"]["lea"]["f1"] == expected["lea_f1"]
    assert json.loads(out.read_text()) == scores
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [document.id for document in read_predictions(predictions)] == ["DW_tiny-0", "DW_tiny-1", "DW_tiny-2"]


def test_scores_are_those_of_the_predictions_on_disk(
    corpus: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = evaluation.read_predictions

    def without_links(path: Path) -> list[AnnotatedDocument]:
        return [AnnotatedDocument(d.text, [Cluster(c.mentions) for c in d.clusters], d.id) for d in read(path)]

    monkeypatch.setattr(evaluation, "read_predictions", without_links)
    scores = evaluate_corpus(corpus, model=tiny_folder)
    assert scores["coreference"]["average_f1"] > 0.5
    assert scores["entity_linking"]["el_m"]["f1"] == 0.0


def test_gold_is_read_after_the_predictions_are_written(
    corpus: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictions = tmp_path / "predictions.jsonl"
    lines_before_gold: list[int] = []
    read = evaluation.read_gold

    def read_gold(*args: Any, **kwargs: Any) -> Any:
        lines_before_gold.append(len(predictions.read_text().splitlines()))
        return read(*args, **kwargs)

    monkeypatch.setattr(evaluation, "read_gold", read_gold)
    evaluate_corpus(corpus, model=tiny_folder, predictions=predictions)
    assert lines_before_gold == [3]


def test_the_limit_takes_the_first_documents(corpus: Path, tiny_folder: Path) -> None:
    scores = evaluate_corpus(corpus, model=tiny_folder, limit=1)
    assert scores["documents"] == 1
    assert "interval_95" not in scores


@pytest.mark.parametrize("option", ["out", "predictions"])
def test_a_missing_folder_is_named_before_the_model_is_loaded(corpus: Path, tmp_path: Path, option: str) -> None:
    target: Any = tmp_path / "missing" / "file.json"
    with pytest.raises(ValueError, match=rf"^{option}: .*file\.json: there is no folder .*missing; make it first"):
        evaluate_corpus(corpus, model=tmp_path / "no model", **{option: target})


@pytest.mark.parametrize("given_mentions", [False, True])
@pytest.mark.parametrize(("limit", "scored"), [(None, ["DW_tiny-0", "DW_tiny-2"]), (2, ["DW_tiny-0"])])
def test_a_malformed_article_is_left_out_and_shifts_no_other(
    corpus: Path,
    tiny_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: int | None,
    scored: list[str],
    given_mentions: bool,
) -> None:
    malformed = corpus / "DW_tiny-1.json"
    malformed.write_text(json.dumps(json.loads(malformed.read_text()) | {"concepts": 3}), encoding="utf-8")
    pairs: list[tuple[str | None, str | None, str | None]] = []
    score = evaluation.score

    def spy(gold: Any, predicted: Any, processor: Any, texts: Any) -> Any:
        pairs.extend((g.id, p.id, t.id) for g, p, t in zip(gold, predicted, texts, strict=True))
        return score(gold, predicted, processor, texts)

    monkeypatch.setattr(evaluation, "score", spy)
    with pytest.warns(UserWarning, match=r"DW_tiny-1\.json: field 'concepts': expected list, got 3"):
        scores = evaluate_corpus(corpus, model=tiny_folder, given_mentions=given_mentions, limit=limit)
    assert pairs == [(name, name, name) for name in scored]
    assert scores["documents"] == len(scored)
    assert scores["coreference"]["average_f1"] > 0.5


def test_span_recall_counts_what_is_enumerated_and_what_is_kept(tiny_folder: Path) -> None:
    pipeline = load_pipeline(tiny_folder)
    text = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."
    gold = [Cluster((Mention(0, 9), Mention(33, 37))), Cluster((Mention(14, 31),)), Cluster((Mention(27, 29),))]
    recall = recall_of_spans(pipeline, [Document(text, clusters=gold), Document(" ", clusters=[])])
    # "Carl Moss in Oslo" is a word too long, "Os" is part of a word.
    assert (recall.gold, recall.enumerated) == (4, 2)
    assert 1 <= recall.retained <= 2
    none = load_pipeline(tiny_folder)
    none.processor.settings = none.processor.settings.replace(max_kept_spans=1)
    # What the pipeline keeps: of a document that is long for it as much as of others, unless a bound is set.
    assert recall_of_spans(none, [Document(text, clusters=gold)]).retained == recall.retained
    assert recall_of_spans(none, [Document(text, clusters=gold)], max_kept_spans=1).retained <= 1


def test_candidate_share_counts_spans_and_recall(tiny_folder: Path) -> None:
    processor = load_pipeline(tiny_folder).processor
    #       "Oslo" has candidates and is gold, "Bergen" has candidates and is not; "Moss" lacks Anna_Berg.
    text = "Oslo praised Bergen and Moss"
    gold = [Cluster((Mention(0, 4),), "Oslo"), Cluster((Mention(24, 28),), "Anna_Berg")]
    share = candidate_share([Document(text, clusters=gold)], processor)
    assert (share.spans_with_candidates, share.gold_mentions_among_them) == (3, 2)
    assert (share.linked_mentions, share.with_gold_candidate) == (2, 1)
    assert share.to_dict() == {
        "gold_share_of_spans_with_candidates": 2 / 3,
        "candidate_recall_of_linked_mentions": 0.5,
    }


def test_no_file_of_the_corpus_or_the_model_is_written_over(corpus: Path, tiny_folder: Path, tmp_path: Path) -> None:
    article = next(corpus.iterdir())
    (tmp_path / "hard.json").hardlink_to(article)
    (tmp_path / "soft.json").symlink_to(tiny_folder / "config.json")
    before = {
        path: path.read_bytes() for folder in (corpus, tiny_folder) for path in folder.rglob("*") if path.is_file()
    }
    message = "that is a file of the corpus or the model; choose another name"
    for place in (article, tmp_path / "hard.json", tmp_path / "soft.json", tiny_folder / "model.safetensors"):
        for name in ("out", "predictions"):
            with pytest.raises(ValueError, match=f"{name}: {place}: {message}"):
                evaluate_corpus(corpus, model=tiny_folder, **{name: place})
    with pytest.raises(ValueError, match="that is where out and predictions both go"):
        evaluate_corpus(corpus, model=tiny_folder, out=tmp_path / "same", predictions=tmp_path / "." / "same")
    assert all(path.read_bytes() == content for path, content in before.items())


def test_earlier_scores_and_predictions_stay_until_there_are_new_ones(
    corpus: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, predictions = tmp_path / "scores.json", tmp_path / "predictions.jsonl"
    for file in (out, predictions):
        file.write_text("earlier")

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        evaluate_corpus(corpus, model=tiny_folder, out=out, predictions=predictions, progress=stop)
    assert out.read_text() == predictions.read_text() == "earlier"
    assert [document.id for document in read_predictions(f"{predictions}.part")] == ["DW_tiny-0", "DW_tiny-1"]
    assert "predictions.jsonl.part" in caught.value.__notes__[0]
    evaluate_corpus(corpus, model=tiny_folder, out=out, predictions=predictions, limit=1)
    assert json.loads(out.read_text())["documents"] == len(read_predictions(predictions)) == 1
