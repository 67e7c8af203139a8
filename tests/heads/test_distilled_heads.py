"""What heads tell a pupil, and what it makes of that: against lists of all trees, and row by row."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from every_head import EVERY, FLOATS, MakeDocuments, every_head
from hf_corefel.heads import (
    EdgeScores,
    GlobalHead,
    GoldClustering,
    Head,
    LocalHead,
    StandaloneCorefHead,
    StandaloneLinkingHead,
)
from hf_corefel.trees import EdgeMarginals

temperatures = pytest.mark.parametrize("temperature", [1.0, 2.5])


def trained(scores: EdgeScores) -> tuple[EdgeScores, list[Tensor]]:
    """The scores as leaves that get gradients."""
    leaves = {name: getattr(scores, name).clone().requires_grad_() for name in FLOATS}
    return replace(scores, **leaves), list(leaves.values())


def another(scores: EdgeScores, make_documents: MakeDocuments, lengths: list[int]) -> EdgeScores:
    """Other scores of the same spans and candidates."""
    other, _ = make_documents(lengths, seed=99)
    floats = {name: getattr(other, name).nan_to_num() for name in FLOATS}
    return replace(scores, **floats)


def parents_of(scores: EdgeScores, head: GlobalHead, temperature: float) -> dict[tuple[int, ...], float]:
    """Log-probability of each tree of the first document, by listing them."""
    columns = head.parent_scores(scores)[0].detach().double() / temperature
    spans = scores.num_spans
    found = {}
    for parents in itertools.product(*(torch.nonzero(row > -math.inf).flatten().tolist() for row in columns)):
        above = list(parents)
        for _ in range(spans):
            above = [above[parent] if parent < spans else parent for parent in above]
        if all(parent >= spans for parent in above):
            found[parents] = sum(float(columns[span, parent]) for span, parent in enumerate(parents))
    total = math.log(math.fsum(math.exp(score) for score in found.values()))
    return {parents: score - total for parents, score in found.items()}


@pytest.mark.parametrize("activation", ["none", "arsinh"])
@pytest.mark.parametrize("root_score", ["paper", "original"])
@temperatures
@pytest.mark.parametrize("seed", range(4))
def test_trees_are_those_of_the_list(
    make_documents: MakeDocuments, seed: int, temperature: float, root_score: str, activation: str
) -> None:
    head = GlobalHead(activation, root_score)
    teacher, _ = make_documents([3], candidates=2, seed=seed, root_score=root_score)
    pupil = another(teacher, lambda *_, **__: make_documents([3], candidates=2, seed=seed + 50), [3])
    first, second = (parents_of(scores, head, temperature) for scores in (teacher, pupil))
    expected = -math.fsum(math.exp(log) * second[parents] for parents, log in first.items())
    said = head.parent_probabilities(teacher, temperature)
    assert head.distillation_loss(pupil, said, temperature).tolist() == pytest.approx([expected], abs=1e-10)


@every_head
@temperatures
def test_nothing_is_to_be_learnt_where_both_agree(
    head: Head, make_documents: MakeDocuments, temperature: float
) -> None:
    scores, leaves = trained(make_documents([4, 7, 1], seed=3)[0])
    said = head.parent_probabilities(scores, temperature)
    said = EdgeMarginals(*(edge.detach() for edge in said))
    head.distillation_loss(scores, said, temperature).sum().backward()
    for leaf in leaves:
        assert leaf.grad is None or float(leaf.grad.abs().max()) < 1e-12


@every_head
def test_elsewhere_there_is(head: Head, make_documents: MakeDocuments) -> None:
    """The gradient leads to the teacher: a few steps along it bring the loss to the teacher's own entropy."""
    teacher, _ = make_documents([4, 3], seed=3)
    pupil, leaves = trained(another(teacher, make_documents, [4, 3]))
    said = head.parent_probabilities(teacher)
    least = float(head.distillation_loss(teacher, said).sum())
    optimizer = torch.optim.LBFGS(leaves, max_iter=400, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

    def step() -> Tensor:
        optimizer.zero_grad()
        loss = head.distillation_loss(pupil, said).sum()
        loss.backward()
        return loss

    before = step().item()
    optimizer.step(step)  # type: ignore[arg-type]
    assert before > least + 1.0
    assert step().item() == pytest.approx(least, abs=1e-3)


@every_head
@temperatures
def test_a_batch_is_its_documents(head: Head, make_documents: MakeDocuments, temperature: float) -> None:
    lengths = [4, 7, 1]
    teacher, _ = make_documents(lengths, seed=3)
    pupil = another(teacher, make_documents, lengths)
    said = head.parent_probabilities(teacher, temperature)
    together = head.distillation_loss(pupil, said, temperature)
    assert together.shape == (3,)
    for b, spans in enumerate(lengths):
        cut = {name: getattr(pupil, name)[b : b + 1, :spans] for name in (*FLOATS, "candidate_rows", "mask")}
        cut["pair"] = cut["pair"][:, :, :spans]
        own = EdgeMarginals(*(edge[b : b + 1, :spans] for edge in said))
        own = own._replace(span_to_span=own.span_to_span[:, :, :spans])
        alone = head.distillation_loss(replace(pupil, **cut), own, temperature)
        assert alone.item() == pytest.approx(together[b].item(), abs=1e-9)


@every_head
def test_edges_that_the_pupil_lacks_are_the_roots(head: Head, make_documents: MakeDocuments) -> None:
    """The teacher's trees with these edges turned to the root: finite, and the least where the pupil is those."""
    teacher, _ = make_documents([5], seed=8)
    forbidden = torch.zeros(1, 5, 5, dtype=torch.bool)
    forbidden[0, 0, 1] = forbidden[0, 1, 0] = forbidden[0, 2, 4] = forbidden[0, 4, 2] = True
    rows = teacher.candidate_rows.clone()
    rows[0, 3] = -1
    pupil = replace(another(teacher, make_documents, [5]), forbidden=forbidden, candidate_rows=rows)
    said = head.parent_probabilities(teacher)
    moved = said.root.clone()
    moved += said.span_to_span.masked_fill(~forbidden, 0.0).sum(dim=1)
    moved += said.candidate_probabilities.masked_fill((rows >= 0) | (teacher.candidate_rows < 0), 0.0).sum(dim=2)
    by_hand = EdgeMarginals(
        moved,
        said.candidate_probabilities.masked_fill(rows < 0, 0.0),
        said.span_to_span.masked_fill(forbidden, 0.0),
    )
    loss = head.distillation_loss(pupil, said)
    assert bool(loss.isfinite().all())
    torch.testing.assert_close(loss, head.distillation_loss(pupil, by_hand))


@pytest.mark.parametrize("head", [LocalHead(), StandaloneCorefHead()], ids=lambda head: type(head).__name__)
@temperatures
def test_rows_are_distributions_of_their_own(head: Head, make_documents: MakeDocuments, temperature: float) -> None:
    teacher, _ = make_documents([6], seed=5)
    pupil = another(teacher, make_documents, [6])
    first, second = (
        torch.softmax(head.parent_scores(scores)[0].double() / temperature, dim=-1) for scores in (teacher, pupil)
    )
    expected = -(first * second.clamp(min=1e-300).log()).sum()
    loss = head.distillation_loss(pupil, head.parent_probabilities(teacher, temperature), temperature)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-9)


def test_links_are_decisions_of_their_own(make_documents: MakeDocuments) -> None:
    head = StandaloneLinkingHead()
    teacher, _ = make_documents([6], seed=5)
    pupil = another(teacher, make_documents, [6])
    choices = [torch.sigmoid(head.parent_scores(scores)[0][:, 6:]) for scores in (teacher, pupil)]
    p, q = (chance[head.parent_scores(teacher)[0][:, 6:] > -math.inf] for chance in choices)
    expected = -(p * q.log() + (1 - p) * (1 - q).log()).sum()
    assert head.distillation_loss(pupil, head.parent_probabilities(teacher)).item() == pytest.approx(expected.item())


@every_head
def test_documents_without_spans(head: Head, make_documents: MakeDocuments) -> None:
    scores, _ = make_documents([2, 1], seed=5)
    scores = replace(scores, mask=torch.zeros_like(scores.mask))
    assert head.distillation_loss(scores, head.parent_probabilities(scores)).tolist() == [0.0, 0.0]


class Margin(LocalHead):
    """A loss of its own, of which that of the base class says nothing."""

    def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
        return scores.mention.sum()


class Shifted(GlobalHead):
    """Scores of its own, and what a teacher says with them."""

    def posterior(self, scores: EdgeScores) -> object:  # type: ignore[override]
        return super().posterior(scores)

    distillation_loss = GlobalHead.distillation_loss


def test_heads_that_cannot_are_named() -> None:
    assert all(head.can_distil for head in (*EVERY, Shifted()))
    assert not Margin().can_distil

    class Bare(Head):
        summary = "nothing"

        def loss(self, scores: EdgeScores, gold: GoldClustering) -> Tensor:
            raise AssertionError("a head that is refused by its name is asked for nothing")

        posterior = parent_scores = loss  # type: ignore[assignment]

    bare = Bare()
    assert not bare.can_distil
    with pytest.raises(TypeError, match="Bare: it has no parent_probabilities"):
        bare.parent_probabilities(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Bare: it has no distillation_loss"):
        bare.distillation_loss(None, None)  # type: ignore[arg-type]
