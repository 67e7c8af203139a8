"""Results of long documents: as those of others where both can be, and the same however they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import CorefELPipeline, Document
from hf_corefel.heads import HEADS
from hf_corefel.long_documents import reading
from hf_corefel.pipeline_corefel import load_pipeline

SAID = "was scored with 128 others"


def _mentions(result: Any) -> dict[tuple[int, int], tuple[Any, frozenset[tuple[int, int]]]]:
    """For each mention its entity and the mentions of its cluster."""
    found = {}
    for cluster in result["clusters"]:
        together = frozenset((mention["begin"], mention["end"]) for mention in cluster["mentions"])
        found.update(dict.fromkeys(together, (cluster["entity"], together)))
    return found


def _assert_same(one: Any, other: Any) -> None:
    """Equal but for warnings and the rounding of probabilities."""
    assert _mentions(one) == _mentions(other)
    for left, right in zip(one["clusters"], other["clusters"], strict=True):
        assert left["probability"] == pytest.approx(right["probability"], abs=1e-4)
        for mention, same in zip(left["mentions"], right["mentions"], strict=True):
            for field in ("probability", "edge_probability", "link_probability"):
                assert mention.get(field) == pytest.approx(same.get(field), abs=1e-4)
            assert mention.get("parent") == same.get("parent")


def test_results_are_those_of_all_pairs(
    dense: CorefELPipeline, sparse: CorefELPipeline, tiny_documents: list[Document], story: str
) -> None:
    for text in [*(document.text for document in tiny_documents), story]:
        wanted, found = dense(text, evidence=True), sparse(text, evidence=True)
        assert len(wanted["clusters"]) > 1
        _assert_same(found, wanted)
        assert wanted["warnings"] == [] and SAID in found["warnings"][0]


@pytest.mark.parametrize("head", ["local", "standalone_coref", "standalone_linking"])
def test_results_of_other_heads(head: str, tmp_path: Path, tiny_trained: Any, tiny_processor: Any, story: str) -> None:
    model = tiny_trained(head)
    processor = tiny_processor(model.config)
    annotate = CorefELPipeline(model=model, processor=processor)
    wanted = annotate(story)
    processor.settings = processor.settings.replace(max_kept_spans=1)
    found = annotate(story)
    assert SAID in found["warnings"][0] and wanted["clusters"]
    _assert_same(found, wanted)


def test_given_mentions_stay(dense: CorefELPipeline, sparse: CorefELPipeline) -> None:
    text = "Anna Berg met Carl Moss in Oslo. Then she left the city."
    given = Document(text, mentions=[(0, 9), (14, 23), (27, 31), (38, 41)])
    found = sparse(given)
    assert SAID in found["warnings"][0]
    assert set(_mentions(found)) == set(given.mentions or ())
    _assert_same(found, dense(given))


def test_the_same_alone_in_a_batch_in_any_order_and_in_workers(
    sparse: CorefELPipeline, tiny_documents: list[Document], story: str
) -> None:
    texts = [*(document.text for document in tiny_documents), story, "Oslo.", ""]
    alone = [json.dumps(sparse(text)) for text in texts]
    together = sparse(texts, batch_size=4)
    assert [json.dumps(result) for result in together] == alone
    assert [json.dumps(result) for result in sparse(texts[::-1], batch_size=3)] == alone[::-1]
    assert [json.dumps(result) for result in sparse(texts, batch_size=2, num_workers=1)] == alone


def test_results_of_many_stretches(
    sparse: CorefELPipeline, dense: CorefELPipeline, story: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few spans are chosen otherwise where each stretch has its share; what is found of the rest stays."""
    monkeypatch.setattr(reading, "_STRETCH", 2)
    wanted, found = _mentions(dense(story)), _mentions(sparse(story))
    assert len(set(wanted) & set(found)) > 0.7 * len(wanted)


def test_what_needs_all_pairs_keeps_the_best_spans(sparse: CorefELPipeline, story: str) -> None:
    said = "only the best 1 spans of this long document were kept"
    for options in ({"samples": 1}, {"clusterings": 1}, {"constraints": {"must_link": [[[0, 9], [33, 37]]]}}):
        result = sparse(story, **options)  # type: ignore[call-overload]
        assert said in " ".join(result["warnings"]), options
        assert SAID not in " ".join(result["warnings"])


def test_a_bound_in_a_call_stays_one(dense: CorefELPipeline, story: str) -> None:
    result = dense(story, max_kept_spans=5)
    assert "only the best 5 spans" in result["warnings"][0]
    assert sum(len(cluster["mentions"]) for cluster in result["clusters"]) <= 5


def test_no_partners_means_the_best_spans(tiny_folder: Path, story: str) -> None:
    annotate = load_pipeline(tiny_folder)
    annotate.processor.settings = annotate.processor.settings.replace(max_kept_spans=3, max_partners=0)
    assert "only the best 3 spans" in annotate(story)["warnings"][0]


def test_heads_that_read_no_lists_keep_the_best_spans(tiny_folder: Path, story: str) -> None:
    class Mine(HEADS["global"]):  # type: ignore[misc]
        def posterior(self, scores: Any) -> Any:
            return super().posterior(scores)

    HEADS.register("mine", Mine)
    annotate = load_pipeline(tiny_folder, model_kwargs={"head": "mine"})
    annotate.processor.settings = annotate.processor.settings.replace(max_kept_spans=3)
    assert "only the best 3 spans" in annotate(story)["warnings"][0]


def test_options_of_results(sparse: CorefELPipeline, dense: CorefELPipeline, story: str) -> None:
    options: dict[str, Any] = {"resolved_text": True, "top_k": 3, "min_probability": 0.4, "evidence": True}
    wanted, found = dense(story, **options), sparse(story, **options)
    _assert_same(found, wanted)
    assert found["resolved_text"] == wanted["resolved_text"]
    for left, right in zip(found["clusters"], wanted["clusters"], strict=True):
        assert left["alternatives"][0]["entity"] == right["alternatives"][0]["entity"]


def test_texts_that_are_hard_to_read(sparse: CorefELPipeline) -> None:
    for text in ("", " ", "...", "Oslo", "Oslo " * 50, "\n\n".join(["Anna"] * 40), "x" * 500):
        result = sparse(text)
        for cluster in result["clusters"]:
            for mention in cluster["mentions"]:
                assert text[mention["begin"] : mention["end"]] == mention["text"]
