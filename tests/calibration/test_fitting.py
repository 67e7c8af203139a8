"""Calibrations are found again from outcomes that were drawn by them, and reports hold what was measured."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from hf_corefel import Candidate, Cluster, CorefELConfig, CorefELModel, Document, Mention, load_pipeline
from hf_corefel.calibration import CalibrationReport, calibrate_corpora, calibrated, read_documents
from hf_corefel.calibration.fitting import Evidence, _costs, _evidence, _loss, _rounded, fit_to_evidence
from hf_corefel.decoding import clusters_from_parents
from hf_corefel.heads import Calibration, EdgeScores, GlobalHead, GoldClustering
from hf_corefel.metrics import EntityMap
from hf_corefel.pipeline_corefel import CorefELPipeline
from hf_corefel.utils.gold_codes import NOT_KNOWN

SOME = Calibration(pair_scale=0.5, link_scale=0.7, nil_offset=0.3)


def true_scores(seed: int, spans: int = 6, candidates: int = 3) -> EdgeScores:
    """Scores of one document, none of which is padding."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    rows = torch.rand(1, spans, 5, generator=generator).argsort(dim=-1)[..., :candidates]
    return EdgeScores(
        mention=2 * normal(1, spans),
        link=2 * normal(1, spans, candidates),
        candidate_rows=rows,
        pair=2 * normal(1, spans, spans) - 2,
        mask=torch.ones(1, spans, dtype=torch.bool),
        root_pair=normal(1, spans),
    )


def drawn(scores: EdgeScores, truth: Calibration, seed: int, *, links: bool = True) -> Evidence:
    """Gold of a document that was drawn from the scores under the true calibration."""
    generator = torch.Generator().manual_seed(seed)
    right = truth(scores)
    tree = GlobalHead().distribution(right).sample(1, generator=generator)[0, 0].tolist()
    rows = scores.candidate_rows[0].tolist()
    spans = scores.num_spans
    cluster_ids, entities = torch.full((1, spans), -1), torch.full((1, spans), -1)
    found = clusters_from_parents(tree, rows, [1.0] * spans, [True] * spans)
    for c, cluster in enumerate(found):
        cluster_ids[0, list(cluster.spans)] = c
        entities[0, list(cluster.spans)] = -1 if cluster.entity_row is None else cluster.entity_row
    linked = torch.arange(spans if links else 0)
    gold = GoldClustering(cluster_ids, entities if links else torch.full_like(entities, -1))
    are_mentions = torch.bernoulli(torch.sigmoid(right.mention[0]), generator=generator)
    return Evidence(scores.mention[0], are_mentions, scores, gold, linked, entities[0, linked], False, links)


@pytest.mark.slow
def test_parameters_are_found_again() -> None:
    truth = Calibration(mention_scale=0.5, pair_scale=0.4, link_scale=0.6, nil_offset=0.5)
    evidence = {"drawn": [drawn(true_scores(seed), truth, seed) for seed in range(120)]}
    found = fit_to_evidence(GlobalHead(), evidence)
    for name, value in truth.to_dict().items():
        other = found.to_dict()[name]
        if name.endswith("_scale"):
            assert abs(math.log(other / value)) < 0.5, name
        else:
            assert abs(other - value) < 0.4, name


def test_one_scale_is_found_and_is_one() -> None:
    truth = Calibration(mention_scale=0.5, pair_scale=0.5, link_scale=0.5)
    evidence = {"drawn": [drawn(true_scores(seed), truth, seed) for seed in range(20)]}
    found = fit_to_evidence(GlobalHead(), evidence, one_scale=True)
    assert found.mention_scale == found.pair_scale == found.link_scale == pytest.approx(0.5, rel=0.4)
    assert found.nil_offset == 0.0


def test_only_what_is_asked_for_is_fitted() -> None:
    truth = Calibration(mention_scale=0.5, nil_offset=1.0)
    evidence = {"drawn": [drawn(true_scores(seed), truth, seed) for seed in range(8)]}
    found = fit_to_evidence(GlobalHead(), evidence, only=["mention_scale", "nil_offset"])
    assert found.pair_scale == found.link_scale == 1.0
    assert found.mention_scale < 0.8 and found.nil_offset > 0.3
    alone = fit_to_evidence(GlobalHead(), evidence, only=["mention_scale"])
    assert alone == Calibration(mention_scale=found.mention_scale)
    assert fit_to_evidence(GlobalHead(), evidence, only=["nil_offset"]).mention_scale == 1.0


def test_values_that_there_are_not_cannot_be_asked_for(tiny_pipeline: Any, tiny_documents: list[Document]) -> None:
    with pytest.raises(ValueError, match="a calibration has no 'scale'; it has mention_scale, pair_scale, link_scale"):
        calibrate_corpora(tiny_pipeline(), {"a": tiny_documents}, only=["scale"])
    with pytest.raises(ValueError, match="one_scale and only are two ways"):
        calibrate_corpora(tiny_pipeline(), {"a": tiny_documents}, one_scale=True, only=["nil_offset"])


def test_corpora_count_the_same_whatever_their_size() -> None:
    few = [drawn(true_scores(seed), Calibration(link_scale=0.2), seed) for seed in range(3)]
    many = [drawn(true_scores(seed), Calibration(), seed) for seed in range(100, 104)]
    one, other = (_loss(GlobalHead(), SOME, {"few": few, "many": many * times}) for times in (1, 3))
    assert one == pytest.approx(other, rel=1e-12)
    assert one != pytest.approx(_loss(GlobalHead(), SOME, {"all": [*few, *many]}), rel=1e-6)


def test_a_corpus_without_links_has_no_link_costs() -> None:
    scores = true_scores(0)
    evidence = drawn(scores, Calibration(), 0, links=False)
    link_cost, links, cluster_cost, mentions = _costs(GlobalHead(), scores, evidence)
    assert (link_cost, links, mentions) == (0.0, 0, 6) and cluster_cost > 0.0
    known = drawn(scores, Calibration(), 0)
    assert _costs(GlobalHead(), scores, known)[1] == 6


@pytest.fixture
def tiny_pipeline(tiny_trained: Any, tiny_processor: Any) -> Any:
    """Makes the pipeline of a head that knows the tiny documents."""

    def make(head: str = "global") -> CorefELPipeline:
        model = tiny_trained(head)
        return CorefELPipeline(model=model, processor=tiny_processor(model.config), task="coref-el")

    return make


def layered(documents: Sequence[Document], **annotated: Any) -> list[Document]:
    return [Document(d.text, d.id, clusters=d.clusters, annotated=annotated) for d in documents]


def evidence_of(pipeline: CorefELPipeline, documents: Sequence[Document]) -> list[Evidence]:
    return [_evidence(pipeline, pipeline.model.head, each) for each in read_documents(pipeline, documents)]


def test_a_nested_mention_in_its_cluster_costs_what_the_others_do(tiny_model: Any, tiny_processor: Any) -> None:
    """Without links an entity that both may have holds them together no more."""
    model = tiny_model(span_keep_ratio=3.0, forbid_nested=True, max_span_words=5)
    pipeline = CorefELPipeline(model, tiny_processor(model.config), task="coref-el")
    text = "The city of Oslo won. Anna Berg met Carl Moss. Berg praised Moss."
    groups = [[(0, 16), (12, 16)], [(22, 31), (47, 51)], [(36, 45), (60, 64)]]
    clusters = [Cluster(tuple(Mention(*place) for place in group)) for group in groups]
    shared = {place: [Candidate("Oslo", 0.9)] for place in groups[0]}
    for links in (False, "some"):
        apart, together = (
            Document(text, clusters=clusters, annotated={"links": links}, candidates=candidates)
            for candidates in ({}, shared)
        )
        costs = [_costs(pipeline.model.head, e.scores, e) for e in evidence_of(pipeline, [apart, together])]
        assert costs[0][2:] == pytest.approx(costs[1][2:]) and costs[0][2] > 1.0


@pytest.mark.parametrize("head", ["global", "local", "standalone_coref"])
def test_a_mention_of_which_nothing_is_known_is_not_said_to_be_apart(
    head: str, tiny_model: Any, tiny_processor: Any
) -> None:
    model = tiny_model(head=head, span_keep_ratio=3.0)
    pipeline = CorefELPipeline(model, tiny_processor(model.config), task="coref-el")
    berg, moss = Mention(0, 4), Mention(9, 13)
    document = Document(
        "Berg met Moss in Oslo.",
        clusters=[Cluster((berg,), "Anna_Berg"), Cluster((moss,))],
        annotated={"clusters": False, "links": "some"},
    )
    (evidence,) = evidence_of(pipeline, [document])
    of_moss = evidence.gold.cluster_ids == NOT_KNOWN
    assert of_moss.sum() == 1 and (evidence.gold.entity_rows[of_moss] == NOT_KNOWN).all()
    known = _costs(pipeline.model.head, evidence.scores, evidence)[2]
    apart = replace(evidence, gold=replace(evidence.gold, entity_rows=torch.full_like(evidence.gold.entity_rows, -1)))
    assert known < _costs(pipeline.model.head, evidence.scores, apart)[2]
    assert known == 0.0 or head == "global"  # an upper bound of what nothing is known of


def test_documents_are_judged_under_the_scope_that_they_are_read_under(
    tiny_model: Any, tiny_processor: Any, tiny_documents: list[Document]
) -> None:
    model = tiny_model(span_keep_ratio=3.0, mention_scopes={"named": {}, "all": {}})
    pipeline = CorefELPipeline(model, tiny_processor(model.config), task="coref-el")
    gold = layered(tiny_documents, mentions="named")
    said = [replace(document, mention_scope="named") for document in gold]
    found = [
        calibrate_corpora(pipeline, {"a": documents}, fit=False).before["a"].mentions.right.tolist()
        for documents in (gold, said)
    ]
    assert found[0] == found[1] != []


def test_layers_say_what_is_known(tiny_pipeline: Any, tiny_documents: list[Document]) -> None:
    pipeline = tiny_pipeline()
    full = evidence_of(pipeline, tiny_documents)
    assert any(len(each.linked) for each in full) and all(len(each.spans) for each in full)
    assert not any(len(each.linked) for each in evidence_of(pipeline, layered(tiny_documents, links=False)))
    some = evidence_of(pipeline, layered(tiny_documents, links="some"))
    assert all((each.rows >= 0).all() and each.all_have_entity for each in some)
    assert any((each.rows < 0).any() for each in full)
    given = evidence_of(pipeline, layered(tiny_documents, mentions="given"))
    assert all(each.are_mentions.all() for each in given)


@pytest.mark.parametrize("head", ["global", "local", "standalone_coref", "standalone_linking"])
def test_every_head_is_measured_and_fitted(head: str, tiny_pipeline: Any, tiny_documents: list[Document]) -> None:
    pipeline = tiny_pipeline(head)
    steps: list[tuple[int, int]] = []
    report = calibrate_corpora(
        pipeline,
        {"a": tiny_documents, "b": layered(tiny_documents, links=False)},
        one_scale=True,
        leave_one_out=head == "global",
        samples=4,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert report.calibration is not None and pipeline.model.config.calibration is None
    assert steps[-1][0] == steps[-1][1]
    assert set(report.after) == {"a", "b"}
    assert set(report.left_out) == set(report.held_out) == ({"a", "b"} if head == "global" else set())
    assert len(report.before["a"].mentions) and not len(report.before["b"].links)
    assert (len(report.before["a"].links) > 0) == (head != "standalone_coref")
    ElementTree.fromstring(report.to_svg())
    assert report.to_dict()["calibration"] == report.calibration.to_dict()


def test_calibration_of_the_model_plays_no_part_in_the_fit(tiny_pipeline: Any, tiny_documents: list[Document]) -> None:
    pipeline = tiny_pipeline()
    corpora = {"a": tiny_documents}
    with calibrated(pipeline.model, Calibration(link_scale=0.3, nil_offset=1.0)):
        other = calibrate_corpora(pipeline, corpora)
    one = calibrate_corpora(pipeline, corpora)
    assert one.calibration == other.calibration
    assert one.before["a"].to_dict() != other.before["a"].to_dict()


def untouched(done: int, total: int) -> None:
    raise AssertionError("something was read")


def test_what_cannot_be_calibrated_is_refused(tiny_pipeline: Any, tiny_documents: list[Document]) -> None:
    pipeline = tiny_pipeline()
    with pytest.raises(ValueError, match="mine: there is no document"):
        calibrate_corpora(pipeline, {"mine": []})
    with pytest.raises(ValueError, match="one corpus only"):
        calibrate_corpora(pipeline, {"mine": tiny_documents}, leave_one_out=True)
    corpora = {"mine": tiny_documents, "bare": [Document("Oslo is old.", clusters=[])]}
    with pytest.raises(ValueError, match="leave_one_out: without mine no document has a mention"):
        calibrate_corpora(pipeline, corpora, leave_one_out=True)
    corpora["bare"] = [Document("Oslo is old.", clusters=[Cluster((Mention(0, 11),))])]  # longer than any span
    with pytest.raises(ValueError, match="leave_one_out: without mine: no annotated mention is among the spans"):
        calibrate_corpora(pipeline, corpora, leave_one_out=True, only=["mention_scale"])
    # Before the first one is read.
    with pytest.raises(ValueError, match=r"mine: number 4, document 'bare'.clusters: missing"):
        calibrate_corpora(pipeline, {"mine": [*tiny_documents, Document("Oslo is old.", "bare")]}, progress=untouched)
    unknown = Document("Oslo is old.", clusters=[Cluster((Mention(0, 4),), "Oslo")], mention_scope="entities")
    assert not len(calibrate_corpora(pipeline, {"mine": [unknown]}, fit=False).before["mine"].mentions)


def test_names_that_are_ids_are_fitted_and_measured_as_known(tiny_trained: Any, tiny_processor: Any) -> None:
    """A knowledge base that calls entities by their ids need not know them once more."""
    from hf_corefel import CorefELProcessor, KnowledgeBase

    model = tiny_trained("global")
    vectors = np.zeros((2, 8), dtype=np.float32)
    by_id = KnowledgeBase.build([("Berg", [("Q1", 1.0)]), ("Moss", [("Q2", 1.0)])], vectors=(["Q1", "Q2"], vectors))
    processor = CorefELProcessor(tiny_processor(model.config).tokenizer, by_id, model.config)
    pipeline = CorefELPipeline(model=model, processor=processor, task="coref-el")
    # Of Berg gold has an entity that the knowledge base lacks.
    text = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."
    berg, moss = text.rindex("Berg"), text.rindex("Moss")
    clusters = [Cluster((Mention(berg, berg + 4),), "Q3"), Cluster((Mention(moss, moss + 4),), "Q2")]
    (evidence,) = evidence_of(pipeline, [Document(text, clusters=clusters)])
    assert (evidence.gold.entity_rows != NOT_KNOWN).all() and evidence.knows_all_links
    # Of an entity without an id it is not known whether it is the one that gold means.
    named = tiny_processor(model.config)
    clusters[0] = Cluster(clusters[0].mentions, "Q3")
    pipeline = CorefELPipeline(model=model, processor=named, task="coref-el")
    (evidence,) = evidence_of(pipeline, [Document(text, clusters=[clusters[0]])])
    assert not evidence.knows_all_links and not len(evidence.linked)
    # By the map it may have one.
    same = {name: "Q4" for name in named.knowledge_base.entities()}
    (read,) = read_documents(pipeline, [Document(text, clusters=[clusters[0]])], entity_map=same)
    assert _evidence(pipeline, pipeline.model.head, read).knows_all_links


def test_a_document_that_is_not_read_whole_is_told_of(tiny_pipeline: Any, tiny_documents: list[Document]) -> None:
    pipeline = tiny_pipeline()
    settings = pipeline.processor.settings
    pipeline.processor.settings = settings.replace(max_kept_spans=2, min_kept_spans=1)
    said = r"1 of 2 documents were read with warnings; the first, document '.*' of long: only the best 2 spans"
    long = Document(" ".join([tiny_documents[0].text] * 3), "long", clusters=[])
    short = Document("Oslo.", "short", clusters=[])
    with pytest.warns(UserWarning, match=said):
        calibrate_corpora(pipeline, {"short": [short], "long": [long]}, fit=False)


def test_a_dict_of_names_is_an_entity_map(tiny_pipeline: Any, tiny_documents: list[Document]) -> None:
    pipeline, names = tiny_pipeline(), {"Anna_Berg": "Somebody"}
    found = [
        calibrate_corpora(pipeline, {"a": tiny_documents}, fit=False, entity_map=each)
        for each in (names, EntityMap(names))
    ]
    assert found[0].to_dict() == found[1].to_dict()
    with pytest.raises(TypeError, match="entity_map: expected an EntityMap or a dict"):
        calibrate_corpora(pipeline, {"a": tiny_documents}, fit=False, entity_map="names.tsv")  # type: ignore[arg-type]


def test_no_value_is_written_as_a_negative_nothing() -> None:
    assert str(_rounded(Calibration(nil_offset=-1e-9)).nil_offset) == "0.0"


def test_a_model_of_the_hub_keeps_the_type_of_its_weights(tiny_folder: Path, tmp_path: Path) -> None:
    """Weights that are stored in half precision are computed in single precision, and stored in half again."""
    snapshot = tmp_path / "cache" / "models--me--half" / "snapshots" / "0"
    shutil.copytree(tiny_folder, snapshot)
    CorefELModel.from_pretrained(tiny_folder).half().save_pretrained(snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0", encoding="utf-8")
    pipeline = load_pipeline("me/half", cache_dir=tmp_path / "cache", local_files_only=True)
    assert pipeline.model.dtype == torch.float32
    CalibrationReport(calibration=SOME).save(pipeline, tmp_path / "calibrated")
    assert CorefELConfig.from_pretrained(tmp_path / "calibrated").dtype == torch.float16
    assert pipeline.model.dtype == torch.float32
