"""What `pipeline("coref-el")` gives and does on request, in a call or for all calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import pipeline

from hf_corefel import AnnotatedDocument, CorefELModel, CorefELProcessor, Document, DocumentError
from hf_corefel.documents.extra_fields import ExtraFieldWarning
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline


@pytest.fixture(scope="module")
def annotate(tiny_folder: Path) -> CorefELPipeline:
    return load_pipeline(tiny_folder)


@pytest.fixture(scope="module")
def texts(tiny_documents: list[Document]) -> list[str]:
    return [document.text for document in tiny_documents]


def test_what_was_not_asked_for_is_not_there(annotate: CorefELPipeline, texts: list[str]) -> None:
    for result in annotate(texts):
        assert set(result) == {"text", "clusters", "warnings"}
        assert all("alternatives" not in cluster for cluster in result["clusters"])
        assert all("parent" not in mention for cluster in result["clusters"] for mention in cluster["mentions"])


def test_everything_at_once_is_plain_and_adds_only_itself(annotate: CorefELPipeline, texts: list[str]) -> None:
    for plain, result in zip(
        annotate(texts), annotate(texts, resolved_text=True, evidence=True, top_k=2, batch_size=1), strict=True
    ):
        assert json.loads(json.dumps(result, allow_nan=False)) == result
        read = AnnotatedDocument.from_dict(result)
        assert read.to_dict() == result
        assert result.pop("resolved_text")
        for cluster in result["clusters"]:
            assert 1 <= len(cluster.pop("alternatives")) <= 2
            assert all(mention.pop("parent") for mention in cluster["mentions"])
        assert _rounded(result) == _rounded(plain)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return pytest.approx(value, abs=1e-5) if isinstance(value, float) else value


def test_pronouns_are_resolved_to_the_entity_of_their_cluster(annotate: CorefELPipeline, texts: list[str]) -> None:
    resolved = annotate(texts[0], resolved_text=True)["resolved_text"]
    assert resolved == "Anna Berg met Carl Moss in Oslo. Anna Berg praised Carl Moss. Then Anna Berg left Oslo."
    assert annotate(["", " "], resolved_text=True)[1]["resolved_text"] == " "


def test_chains_lead_to_the_entity_or_the_root(annotate: CorefELPipeline, texts: list[str]) -> None:
    kinds = set()
    for document in annotate.annotate(texts, evidence=True):
        for cluster in document.clusters:
            own = {mention.offsets for mention in cluster.mentions}
            for mention in cluster.mentions:
                *between, top = document.chain(mention)
                assert all(link.kind == "mention" and link.offsets in own for link in between)
                assert (top.kind, top.entity) == (
                    ("root", None) if cluster.entity is None else ("entity", cluster.entity)
                )
                kinds |= {link.kind for link in (*between, top)}
    assert kinds == {"root", "mention", "entity"}


def test_alternatives_are_the_probabilities_of_the_cluster(annotate: CorefELPipeline, texts: list[str]) -> None:
    several = 0
    for document in annotate.annotate(texts, top_k=100):
        for cluster in document.clusters:
            assert cluster.alternatives is not None
            listed = [(item.probability, item.entity) for item in cluster.alternatives]
            assert [p for p, _ in listed] == sorted((p for p, _ in listed), reverse=True)
            assert len({entity for _, entity in listed}) == len(listed)
            assert sum(p for p, _ in listed) == pytest.approx(1.0, abs=1e-6)
            assert dict((entity, p) for p, entity in listed)[cluster.entity] == pytest.approx(cluster.probability)
            several += len(listed) > 1
    assert several >= 3
    for few, many in zip(annotate.annotate(texts, top_k=1), annotate.annotate(texts, top_k=100), strict=True):
        assert [c.alternatives for c in few.clusters] == [(c.alternatives or ())[:1] for c in many.clusters]


def test_improbable_links_become_nil_and_improbable_mentions_go(annotate: CorefELPipeline, texts: list[str]) -> None:
    """And the warnings name each of them; the rest is as it was."""
    text = " ".join(texts)
    (before,) = annotate.annotate([text])
    links = [c.probability or 0.0 for c in before.clusters if c.entity is not None]
    mentions = [m.probability or 0.0 for c in before.clusters for m in c.mentions]
    # High enough for the least probable of each, whatever the model learned on this machine.
    level = max(min(links), min(mentions)) + 1e-9
    (after,) = annotate.annotate([text], min_probability=level)
    assert before.warnings == []
    demoted = [c for c in before.clusters if c.entity is not None and (c.probability or 0.0) < level]
    dropped = [m for c in before.clusters for m in c.mentions if (m.probability or 0.0) < level]
    kept = {m.offsets: c for c in after.clusters for m in c.mentions}
    assert demoted and dropped and kept, "something of each"
    for cluster in before.clusters:
        for mention in cluster.mentions:
            if mention in dropped:
                assert mention.offsets not in kept
            elif cluster in demoted:
                held = kept[mention.offsets]
                assert (held.entity, held.url) == (None, None)
                assert held.probability != cluster.probability
            else:
                assert mention in kept[mention.offsets].mentions
                held = kept[mention.offsets]
                assert (held.entity, held.probability) == (cluster.entity, cluster.probability)
    links_lost = [warning for warning in after.warnings if warning.startswith("the link of")]
    lost = [warning for warning in after.warnings if warning.startswith("the mention")]
    assert len(links_lost) == len(demoted) and len(links_lost) + len(lost) == len(after.warnings)
    for warning, cluster in zip(links_lost, demoted, strict=True):
        said = float(warning.split("has probability ")[1].split(",")[0])
        assert repr(cluster.entity) in warning and said == pytest.approx(cluster.probability, abs=1e-4)
    for mention in dropped:
        assert any(f"{mention.text!r} {mention.begin}..{mention.end} has" in warning for warning in lost)


def test_given_mentions_are_never_dropped(annotate: CorefELPipeline, texts: list[str]) -> None:
    given = Document(texts[0], mentions=[(0, 9), (10, 13), (27, 31)])
    (result,) = annotate.annotate([given], min_probability=1.0)
    assert sorted(m.offsets for c in result.clusters for m in c.mentions) == given.mentions
    assert all(cluster.entity is None for cluster in result.clusters)
    assert result.warnings and all("it became NIL" in warning for warning in result.warnings)


def test_parameters_hold_for_all_calls_unless_a_call_says_otherwise(tiny_folder: Path, texts: list[str]) -> None:
    annotate = pipeline("coref-el", model=str(tiny_folder), top_k=2, evidence=True, resolved_text=True)
    plain = pipeline("coref-el", model=str(tiny_folder))
    everything = {"top_k": 2, "evidence": True, "resolved_text": True}
    assert annotate(texts[0]) == plain(texts[0], **everything)
    assert annotate(texts[0], top_k=None) == annotate(texts[0])
    assert annotate(texts[0], top_k=0, evidence=False, resolved_text=False) == plain(texts[0])
    assert [len(c["alternatives"]) for c in annotate(texts[0], top_k=1)["clusters"]] == [
        1 for _ in plain(texts[0])["clusters"]
    ]
    assert annotate(texts[0]) == plain(texts[0], **everything), "a call's parameters are its own"


BAD: list[tuple[str, Any, str]] = [
    ("resolved_text", 1, "expected True or False, got 1"),
    ("evidence", "yes", "expected True or False, got 'yes'"),
    ("top_k", -1, "expected a whole number from 0, got -1"),
    ("top_k", 2.0, "expected a whole number from 0, got 2.0"),
    ("top_k", True, "expected a whole number from 0, got True"),
    ("min_probability", 1.5, "expected a number between 0 and 1, got 1.5"),
    ("min_probability", float("nan"), "expected a number between 0 and 1, got nan"),
    ("min_probability", "0.5", "expected a number between 0 and 1, got '0.5'"),
    ("min_probability", True, "expected a number between 0 and 1, got True"),
    ("mention_scope", "names", "expected 'named' or 'all' or 'entities', or None for the model's default; got 'names'"),
    ("mention_scope", ["all"], "expected 'named' or 'all' or 'entities', or None for the model's default; got ['all']"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_bad_values_are_named_with_the_fix(
    annotate: CorefELPipeline, tiny_folder: Path, name: str, value: Any, message: str
) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: annotate("Oslo", **{name: value}),
        lambda: annotate.annotate(["Oslo"], **{name: value}),
        lambda: pipeline("coref-el", model=annotate.model, processor=annotate.processor, **{name: value}),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert str(caught.value) == f"{name}: {message}"


@pytest.mark.parametrize("value", [0, -2, 1.5, True])
def test_bad_batch_sizes_are_named(annotate: CorefELPipeline, texts: list[str], value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="batch_size: expected a whole number from 1, got"):
        annotate(texts, batch_size=value)
    with pytest.raises((TypeError, ValueError), match="batch_size: expected a whole number from 1, got"):
        annotate(texts[0], batch_size=value)


def test_mention_scope_holds_for_documents_that_do_not_say_it(
    annotate: CorefELPipeline, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    seen: list[str | None] = []
    encode = annotate.processor.encode

    def spy(document: Document, **options: Any) -> Any:
        seen.append(document.mention_scope)
        # The tiny model was trained with one scope.
        return encode(Document(document.text), **options)

    monkeypatch.setattr(annotate.processor, "encode", spy)
    mine = Document(texts[1], mention_scope="named")
    annotate([texts[0], mine, mine.to_dict()], mention_scope="all")
    annotate([texts[0], mine])
    assert seen == ["all", "named", "named", None, "named"]
    assert mine.mention_scope == "named"


def test_a_model_with_one_scope_says_so(annotate: CorefELPipeline) -> None:
    with pytest.raises(DocumentError, match=r"mention_scope: 'all', but this model"):
        annotate("Oslo", mention_scope="all")


@pytest.mark.parametrize("device", ["cpu", -1, torch.device("cpu")])
def test_device_is_passed_on(tiny_folder: Path, annotate: CorefELPipeline, texts: list[str], device: Any) -> None:
    placed = pipeline("coref-el", model=str(tiny_folder), device=device)
    assert placed.device == torch.device("cpu")
    assert next(placed.model.parameters()).device == torch.device("cpu")
    assert placed(texts[0]) == annotate(texts[0])


def test_threads_share_a_model_in_training_mode(tiny_folder: Path, annotate: CorefELPipeline, texts: list[str]) -> None:
    """None of them drops units out, and the mode is the caller's again in the end."""
    model = CorefELModel.from_pretrained(tiny_folder, dropout=0.9).train()
    shared = CorefELPipeline(model=model, processor=CorefELProcessor.from_pretrained(tiny_folder), task="coref-el")
    expected = [annotate(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(shared, texts * 12))
    assert results == expected * 12
    assert all(module.training for module in model.modules())


def test_long_documents_are_refused_when_asked(annotate: CorefELPipeline, texts: list[str], tiny_folder: Path) -> None:
    long = Document("Anna Berg met Carl Moss. " * 20, id="long")
    message = r"document 'long': more than 100 words \(max_document_words\); split it"
    with pytest.raises(DocumentError, match=message):
        annotate([texts[0], long], max_document_words=100)
    assert annotate(long, max_document_words=120) == annotate(long)
    for_all = load_pipeline(tiny_folder, max_document_words=100)
    with pytest.raises(DocumentError, match=message):
        for_all(long)
    with pytest.raises(ValueError, match="max_document_words: expected a whole number from 1, got 0"):
        annotate(long, max_document_words=0)
    with pytest.raises(TypeError, match="max_document_words: expected a whole number from 1, got '9'"):
        annotate(long, max_document_words="9")


def test_numbers_of_numpy_and_iterators_are_taken(annotate: CorefELPipeline, texts: list[str]) -> None:
    expected = annotate(texts, batch_size=2, top_k=2, min_probability=0.5, types=["person"])
    numbers: Any = {"batch_size": np.int64(2), "top_k": np.int32(2), "min_probability": np.float64(0.5)}
    assert annotate(texts, **numbers, types=iter(["person"])) == expected


def test_a_warning_shows_that_a_probability_is_below_the_least(annotate: CorefELPipeline, texts: list[str]) -> None:
    said = [warning for result in annotate(texts, min_probability=1.0) for warning in result["warnings"]]
    numbers = [float(number) for warning in said for number in re.findall(r"has probability ([0-9.]+), below", warning)]
    assert numbers
    assert max(numbers) < 1.0


def test_fields_that_results_have_themselves_are_named(annotate: CorefELPipeline, texts: list[str]) -> None:
    for text in (texts[0], "..."):
        row = {"text": text, "samples": 5, "warnings": ["w"], "other": 1}
        with pytest.warns(ExtraFieldWarning):
            (result,) = annotate.annotate([row])
        assert result.extra == {"other": 1}
        assert "fields that are called as those of results were left out: samples" in result.warnings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window_size": 5000}, "window_size is 5000 there, and the encoder reads"),
        ({"max_span_words": 99}, "max_span_words is 99 there"),
    ],
)
def test_settings_that_are_replaced_are_checked(tiny_folder: Path, changes: dict[str, Any], message: str) -> None:
    annotate = load_pipeline(tiny_folder)
    before = annotate("Oslo")
    good = annotate.processor.settings
    annotate.processor.settings = good.replace(**changes)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            annotate("Oslo")
    annotate.processor.settings = good
    assert annotate("Oslo") == before


def test_a_head_that_nobody_trained_does_not_annotate(tiny_folder: Path) -> None:
    annotate = load_pipeline(tiny_folder)
    before = annotate("Oslo")
    annotate.model.set_head("standalone_linking")
    for _ in range(2):
        with pytest.raises(ValueError, match="drawn at random"):
            annotate("Oslo")
    annotate.model.set_head("global")
    assert annotate("Oslo") == before
