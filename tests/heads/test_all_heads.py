"""What holds for every head."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from every_head import FLOATS, MakeDocuments
from hf_corefel.heads import (
    HEADS,
    EdgeScores,
    GlobalHead,
    GoldClustering,
    Head,
    LocalHead,
    StandaloneCorefHead,
    StandaloneLinkingHead,
    make_head,
)
from hf_corefel.trees import distribution
from hf_corefel.trees.graph import TreeGraph

every_head = pytest.mark.parametrize(
    "head",
    [
        pytest.param(make_head(SimpleNamespace(head=name, edge_activation=activation)), id=f"{name}-{activation}")
        for name in HEADS
        for activation in (("none", "arsinh") if name == "global" else ("none",))
    ],
)


def alone(scores: EdgeScores, gold: GoldClustering, document: int) -> tuple[EdgeScores, GoldClustering]:
    """One document of a batch without its padded spans."""
    spans = int(scores.mask[document].sum())
    cut = {name: getattr(scores, name)[document : document + 1, :spans] for name in (*FLOATS, "candidate_rows", "mask")}
    cut["pair"] = cut["pair"][:, :, :spans]
    gold = GoldClustering(*(ids[document : document + 1, :spans] for ids in (gold.cluster_ids, gold.entity_rows)))
    return dataclasses.replace(scores, **cut), gold


@every_head
def test_a_batch_is_its_documents(head: Head, make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([3, 8, 1, 5], seed=1)
    parents = head.decode(scores).parents
    edges, entities = head.marginals(scores)
    losses = []
    for document, spans in enumerate([3, 8, 1, 5]):
        own_scores, own_gold = alone(scores, gold, document)
        losses.append(head.loss(own_scores, own_gold))
        own_parents = head.decode(own_scores).parents[0]
        # The root and the candidates are numbered from the padded number of spans.
        own_parents = torch.where(own_parents >= spans, own_parents + 8 - spans, own_parents)
        assert parents[document, :spans].tolist() == own_parents.tolist()
        assert (parents[document, spans:] == -1).all()
        own_edges, own_entities = head.marginals(own_scores)
        torch.testing.assert_close(edges.root[document, :spans], own_edges.root[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(
            edges.candidate_probabilities[document, :spans], own_edges.candidate_probabilities[0], rtol=0, atol=1e-12
        )
        torch.testing.assert_close(
            edges.span_to_span[document, :spans, :spans], own_edges.span_to_span[0], rtol=0, atol=1e-12
        )
        width = own_entities.entity_rows.shape[1]
        assert entities.entity_rows[document, :width].tolist() == own_entities.entity_rows[0].tolist()
        assert (entities.entity_rows[document, width:] == -1).all()
        torch.testing.assert_close(
            entities.probability[document, :spans, :width], own_entities.probability[0], rtol=0, atol=1e-12
        )
        assert (entities.probability[document, :, width:] == 0).all()
        torch.testing.assert_close(entities.nil[document, :spans], own_entities.nil[0], rtol=0, atol=1e-12)
    torch.testing.assert_close(head.loss(scores, gold), torch.stack(losses).mean(), rtol=0, atol=1e-10)


@every_head
def test_masked_values_change_nothing_and_gradients_are_finite(head: Head, make_documents: MakeDocuments) -> None:
    gradients = []
    for garbage in (float("nan"), 0.0, 1e4):
        scores, gold = make_documents([4, 7], seed=2, garbage=garbage)
        for name in FLOATS:
            getattr(scores, name).requires_grad_()
        head.loss(scores, gold).backward()
        gradients.append({name: getattr(scores, name).grad for name in FLOATS})
    used = [name for name, gradient in gradients[0].items() if gradient is not None]
    assert used
    for name in used:
        assert torch.isfinite(gradients[0][name]).all()
        assert (gradients[0][name][0, 4:] == 0).all()
        assert torch.equal(gradients[0][name], gradients[1][name])
        assert torch.equal(gradients[0][name], gradients[2][name])


@every_head
def test_probabilities_sum_to_one(head: Head, make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([9, 6], seed=3)
    edges, entities = head.marginals(scores)
    parents = edges.root + edges.candidate_probabilities.sum(-1) + edges.span_to_span.sum(1)
    torch.testing.assert_close(parents, scores.mask.double(), rtol=0, atol=1e-10)
    links = entities.nil + entities.probability.sum(-1)
    torch.testing.assert_close(links[scores.mask], torch.ones(15, dtype=torch.float64), rtol=0, atol=1e-10)
    assert (entities.probability[~scores.mask] == 0).all()
    for values in (*edges, entities.probability, entities.nil):
        assert values.dtype == torch.float64
        assert (values >= 0).all()


@every_head
def test_documents_without_candidates(head: Head, make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([4, 2], seed=4)
    bare = scores.without_candidates()
    unlinked, _ = gold.restrict_to_reachable(bare.candidate_rows, bare.mask)
    assert torch.isfinite(head.loss(bare, unlinked))
    assert head.decode(bare).parents.max() <= 4
    edges, entities = head.marginals(bare)
    assert edges.candidate_probabilities.shape == (2, 4, 0)
    assert entities.entity_rows.shape == (2, 0)
    torch.testing.assert_close(entities.nil[bare.mask], torch.ones(6, dtype=torch.float64), rtol=0, atol=1e-12)


@every_head
def test_a_few_steps_down_the_gradient_lower_the_loss(head: Head, make_documents: MakeDocuments) -> None:
    scores, gold = make_documents([6, 6], seed=6, garbage=0.0)
    values = {name: getattr(scores, name).float().requires_grad_() for name in FLOATS}
    optimizer = torch.optim.SGD(values.values(), lr=0.1)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = head.loss(dataclasses.replace(scores, **values), gold)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.95 * losses[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("standalone_coref", StandaloneCorefHead),
        ("standalone_linking", StandaloneLinkingHead),
        ("local", LocalHead),
        ("global", GlobalHead),
    ],
)
def test_make_head_builds_what_is_named(name: str, kind: type) -> None:
    assert type(make_head(SimpleNamespace(head=name, edge_activation="none"))) is kind


def test_make_head_passes_the_activation_to_the_global_head() -> None:
    head = make_head(SimpleNamespace(head="global", edge_activation="arsinh"))
    assert isinstance(head, GlobalHead)
    assert head.edge_activation == "arsinh"


def test_unknown_head_is_named() -> None:
    with pytest.raises(ValueError, match=r"^unknown head 'beam'; known are standalone_coref, .*global"):
        make_head(SimpleNamespace(head="beam", edge_activation="none"))


def test_documentation_says_what_each_head_predicts_and_takes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "heads.md").read_text(encoding="utf-8")
    for name, head in HEADS.items():
        assert f"| `{name}` | {head.summary} |" in page
        assert all(f"| `{option}` | " in page for option in head.options)


@pytest.mark.parametrize("name", HEADS)
def test_posterior_is_computed_once_and_gives_what_decode_and_marginals_give(
    name: str, make_documents: MakeDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, _ = make_documents([5, 3], seed=3)
    head = HEADS[name]()
    posterior = head.posterior(scores)
    decoding, (edges, entities) = head.decode(scores), head.marginals(scores)
    assert torch.equal(posterior.decoding.parents, decoding.parents)
    again = posterior.marginals
    for found, expected in zip((*again.edges, *again.entities), (*edges, *entities), strict=True):
        assert torch.equal(found, expected)
    assert posterior.decoding is posterior.decoding and posterior.marginals is posterior.marginals
    if name == "global":
        graphs = []
        monkeypatch.setattr(distribution, "TreeGraph", lambda *given: graphs.append(given) or TreeGraph(*given))
        posterior = head.posterior(scores)
        assert posterior.decoding and posterior.marginals and len(graphs) == len(scores.mask)
