"""Scales and offsets of scores: nothing changes without any, and whatever they are, probabilities stay consistent."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_corefel import AnnotatedDocument, CorefELConfig
from hf_corefel.decoding.annotating import annotate_batch
from hf_corefel.heads import HEADS, Calibration, EdgeScores, GlobalHead, LocalHead, StandaloneLinkingHead
from hf_corefel.pipeline_corefel import CorefELPipeline

from .conftest import MakeDocuments, build_documents, listed_edges

SOME = Calibration(mention_scale=0.7, pair_scale=0.6, link_scale=0.5, nil_offset=0.4)
scales = st.floats(0.05, 20.0)
offsets = st.floats(-5.0, 5.0)


def test_identity_returns_the_very_scores(make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([3, 2])
    assert Calibration()(scores) is scores
    assert Calibration(link_scale=0.5)(scores).pair is scores.pair


def test_scores_are_scaled_and_shifted_by_kind(make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([3])
    found = SOME(scores)
    assert scores.root_pair is not None and scores.nil is not None
    torch.testing.assert_close(found.mention, scores.mention * 0.7)
    child, edges = found.mention[:, None, :], found.mention[:, :, None] + found.mention[:, None, :] + found.pair
    antecedent = (scores.pair + scores.mention[:, :, None]) * 0.6
    torch.testing.assert_close(edges, child + antecedent, equal_nan=True)
    torch.testing.assert_close(found.link, scores.link * 0.5 - 0.4, equal_nan=True)
    torch.testing.assert_close(found.root_pair, scores.root_pair * 0.6)
    torch.testing.assert_close(found.nil, scores.nil * 0.5)


def test_root_of_the_linker_has_the_scale_of_links() -> None:
    scores, _ = build_documents([3], root_score="original")
    assert scores.root_pair is not None
    torch.testing.assert_close(SOME(scores).root_pair, scores.root_pair * 0.5)


@pytest.mark.parametrize("head", ["global", "local", "standalone_coref", "standalone_linking"])
@given(st.tuples(scales, scales, scales, offsets), st.integers(0, 50))
@settings(max_examples=25, deadline=None)
def test_probabilities_sum_to_one(head: str, values: tuple[float, ...], seed: int) -> None:
    scores, _ = build_documents([4, 2], seed=seed)
    edges, entities = HEADS[head]().marginals(Calibration(*values)(scores))
    parents = edges.root + edges.candidate_probabilities.sum(-1) + edges.span_to_span.sum(1)
    torch.testing.assert_close(parents, scores.mask.double())
    torch.testing.assert_close(entities.probability.sum(-1) + entities.nil, scores.mask.double())


@given(scales, st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_one_scale_for_all_keeps_the_best_tree(scale: float, seed: int) -> None:
    scores, _ = build_documents([5, 3], seed=seed)
    calibration = Calibration(mention_scale=scale, pair_scale=scale, link_scale=scale)
    assert GlobalHead().decode(calibration(scores)).parents.equal(GlobalHead().decode(scores).parents)


@given(scales, st.integers(0, 50))
@settings(max_examples=25, deadline=None)
def test_the_scale_of_mentions_leaves_the_tree_as_it_is(scale: float, seed: int) -> None:
    scores, _ = build_documents([5, 3], seed=seed)
    before, after = (GlobalHead().marginals(each) for each in (scores, Calibration(mention_scale=scale)(scores)))
    torch.testing.assert_close(after.edges.span_to_span, before.edges.span_to_span)
    torch.testing.assert_close(after.entities.probability, before.entities.probability)


def test_the_scale_of_mentions_changes_choices_of_the_local_head() -> None:
    """A span that chooses itself has no mention score there, so a calibration belongs to the head it was fitted for."""
    scores, _ = build_documents([5, 3], seed=0)
    before, after = (LocalHead().marginals(each) for each in (scores, Calibration(mention_scale=0.5)(scores)))
    assert not torch.allclose(after.edges.span_to_span, before.edges.span_to_span)


def test_edges_of_long_documents_are_calibrated_alike() -> None:
    scores, _ = build_documents([6], seed=3)
    sparse = listed_edges(scores)
    torch.testing.assert_close(SOME(sparse).pair, SOME(scores).pair[0, sparse.source, sparse.target])


@pytest.mark.parametrize("head", [GlobalHead(), LocalHead(), StandaloneLinkingHead()])
def test_nil_grows_with_its_offset(head: Any, make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([5])
    nil = [head.marginals(Calibration(nil_offset=offset)(scores)).entities.nil for offset in (-2.0, 0.0, 2.0)]
    assert (nil[0] <= nil[1] + 1e-12).all() and (nil[1] <= nil[2] + 1e-12).all()
    assert nil[0].sum() < nil[2].sum()


def test_dict_is_read_back() -> None:
    assert Calibration.from_dict(SOME.to_dict()) == SOME
    assert Calibration.from_dict(None) == Calibration.from_dict({}) == Calibration()
    assert Calibration.from_dict({"link_scale": 2}).link_scale == 2.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"link_scal": 1.0}, r"calibration has no field 'link_scal'; did you mean 'link_scale'\?"),
        ({"link_scale": 0.0}, r"calibration\.link_scale must be a number in \(0, 1000\]; got 0\.0"),
        ({"pair_scale": math.nan}, r"calibration\.pair_scale must be a number"),
        ({"nil_offset": "1"}, r"calibration\.nil_offset must be a number in \[-1000, 1000\]; got '1'"),
        ({"nil_offset": True}, r"calibration\.nil_offset must be a number"),
        ({"nil_offset": 1e9}, r"calibration\.nil_offset must be a number"),
        ([1.0], r"calibration must be a dict with any of mention_scale, .* or None; got \[1\.0\]"),
    ],
)
def test_bad_values_are_refused_by_name(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Calibration.from_dict(values)
    with pytest.raises(ValueError, match=r"CorefELConfig\.calibration"):
        CorefELConfig(calibration=values)


def test_configuration_keeps_it_and_old_files_load(tmp_path: Path) -> None:
    CorefELConfig(calibration=SOME.to_dict()).save_pretrained(tmp_path / "new")
    assert CorefELConfig.from_pretrained(tmp_path / "new").calibration == SOME.to_dict()
    CorefELConfig().save_pretrained(tmp_path / "old")
    assert "calibration" not in (tmp_path / "old" / "config.json").read_text(encoding="utf-8")
    assert CorefELConfig.from_pretrained(tmp_path / "old").calibration is None


@pytest.mark.parametrize("head", ["global", "local", "standalone_coref", "standalone_linking"])
def test_results_and_losses_are_of_calibrated_scores(
    head: str, tiny_model: Any, tiny_processor: Any, tiny_documents: list[Any]
) -> None:
    plain, same = tiny_model(head=head), tiny_model(head=head, calibration=Calibration().to_dict())
    other = tiny_model(head=head, calibration=SOME.to_dict())
    batch = tiny_processor(plain.config)(tiny_documents, gold=True)
    outputs = [model(**batch.inputs) for model in (plain, same, other)]
    assert outputs[0].loss.equal(outputs[1].loss) and not outputs[0].loss.equal(outputs[2].loss)
    assert not outputs[0].mention_loss.equal(outputs[2].mention_loss)

    def results(model: Any, output: Any) -> list[AnnotatedDocument]:
        return annotate_batch(model, output, batch.documents)

    assert results(plain, outputs[0]) == results(same, outputs[1])
    expected = SOME(plain.edge_scores(outputs[0]))
    found = other.edge_scores(outputs[2])
    for field in fields(EdgeScores):
        if isinstance(value := getattr(found, field.name), torch.Tensor):
            assert value.equal(getattr(expected, field.name)), field.name
    for b, document in enumerate(results(other, outputs[2])):
        of_span = dict(
            zip(
                (tuple(batch.documents[b].spans.offsets[s].tolist()) for s in outputs[2].retained[b].tolist()),
                torch.sigmoid(expected.mention[b]).tolist(),
                strict=True,
            )
        )
        for cluster in document.clusters:
            for mention in cluster.mentions:
                assert mention.probability == pytest.approx(of_span[mention.offsets])


def test_pipeline_saves_and_loads_it(tmp_path: Path, tiny_model: Any, tiny_processor: Any) -> None:
    model = tiny_model(calibration=SOME.to_dict())
    pipe = CorefELPipeline(model=model, processor=tiny_processor(model.config), task="coref-el")
    pipe.save_pretrained(tmp_path / "model")
    from hf_corefel import load_pipeline

    loaded = load_pipeline(tmp_path / "model")
    assert loaded.model.calibration == SOME
    assert loaded("Anna Berg met Carl Moss.") == pipe("Anna Berg met Carl Moss.")
