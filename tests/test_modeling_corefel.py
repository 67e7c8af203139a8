"""The model's scores and losses: finite, with gradients for all that is used, and independent of the batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hf_corefel import CorefELConfig, CorefELModel, CorefELOutput, CorefELProcessor, Document
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.decoding.annotating import decode_batch
from hf_corefel.heads import GoldClustering

Make = Callable[..., CorefELModel]
MakeProcessor = Callable[[CorefELConfig], CorefELProcessor]

# Everything that a configuration can switch on.
EVERYTHING = {
    "case_embedding_size": 3,
    "use_width_prior": True,
    "use_candidate_prior": True,
    "pair_product_dim": 5,
    "edge_activation": "arsinh",
}
ROOTS = [("global", "paper"), ("global", "original"), *[(head, "paper") for head in HEADS if head != "global"]]


@pytest.mark.parametrize("fields", [{}, EVERYTHING], ids=["plain", "everything"])
@pytest.mark.parametrize(("head", "root_score"), ROOTS)
def test_loss_is_finite_and_reaches_every_parameter(
    tiny_model: Make,
    tiny_processor: MakeProcessor,
    tiny_documents: list[Document],
    head: str,
    root_score: str,
    fields: dict[str, Any],
) -> None:
    model = tiny_model(head=head, root_score=root_score, **fields).train()
    output = model(**tiny_processor(model.config)(tiny_documents, gold=True).inputs)
    assert torch.isfinite(output.loss) and output.loss > 0
    output.loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        # A constant under a softmax changes nothing.
        if not name.startswith("encoder.") and name != "spans.attention.bias":
            assert parameter.grad.abs().sum() > 0, name


def test_other_heads_parameters_get_no_gradient(
    tiny_model: Make, tiny_processor: MakeProcessor, tiny_documents: list[Document]
) -> None:
    model = tiny_model(head="global")
    model.set_head("standalone_coref")
    model(**tiny_processor(model.config)(tiny_documents, gold=True).inputs).loss.backward()
    idle = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    assert idle == {
        name for name, _ in model.named_parameters() if name.startswith("entities.") or name == "pairs.root"
    }


def test_loss_is_the_weighted_sum_of_its_parts(
    tiny_model: Make, tiny_processor: MakeProcessor, tiny_documents: list[Document]
) -> None:
    model = tiny_model(mention_loss_weight=0.5)
    inputs = tiny_processor(model.config)(tiny_documents, gold=True).inputs
    output = model(**inputs)
    total = 0.0
    for b in range(3):
        mask = inputs["span_mask"][b]
        target = (inputs["gold_clusters"][b][mask] >= 0).float()
        score = output.span_scores[b][mask]
        total += -(target * score.sigmoid().log() + (1 - target) * (-score).sigmoid().log()).sum()
    torch.testing.assert_close(output.mention_loss, total / 3)
    gold = GoldClustering(
        inputs["gold_clusters"].gather(1, output.retained.clamp(min=0)),
        inputs["gold_entities"].gather(1, output.retained.clamp(min=0)),
    ).within(output.retained >= 0)
    scores = model.edge_scores(output)
    gold, _ = gold.restrict_to_reachable(scores.candidate_rows, scores.mask)
    torch.testing.assert_close(output.head_loss, model.head.loss(scores, gold).float())
    torch.testing.assert_close(output.loss, 0.5 * output.mention_loss + output.head_loss)
    assert output["loss"] is output[0] is output.to_tuple()[0] is output.loss
    assert list(output)[:3] == ["loss", "mention_loss", "head_loss"]


def test_gold_clusters_need_gold_entities(
    tiny_model: Make, tiny_processor: MakeProcessor, tiny_documents: list[Document]
) -> None:
    model = tiny_model()
    inputs = tiny_processor(model.config)(tiny_documents, gold=True).inputs
    inputs.pop("gold_entities")
    with pytest.raises(ValueError, match="gold_entities"):
        model(**inputs)


def test_half_precision_scores_reach_the_head_in_single(
    tiny_model: Make, tiny_processor: MakeProcessor, tiny_documents: list[Document]
) -> None:
    model = tiny_model()
    inputs = tiny_processor(model.config)(tiny_documents, gold=True).inputs
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(**inputs)
    assert output.span_scores.dtype == torch.float32
    assert model.edge_scores(output).pair.dtype == torch.float32
    assert output.loss.dtype == torch.float32
    torch.testing.assert_close(output.loss, model(**inputs).loss, rtol=0.1, atol=0)


def _fields_of(output: CorefELOutput, b: int, spans: int, retained: int) -> dict[str, Tensor]:
    fields = {"span_scores": output.span_scores[b, :spans], "retained": output.retained[b, :retained]}
    for name in ("mention", "link", "root_pair", "nil"):
        value = getattr(output, name)
        if value is not None:
            fields[name] = value[b, :retained]
    return fields | {"pair": output.pair[b, :retained, :retained]}


@pytest.mark.parametrize("head", HEADS)
def test_scores_do_not_depend_on_the_batch(
    tiny_trained: Callable[[str], CorefELModel],
    tiny_processor: MakeProcessor,
    tiny_documents: list[Document],
    head: str,
) -> None:
    model = tiny_trained(head)
    processor = tiny_processor(model.config)
    texts = [
        tiny_documents[0].text,
        "Oslo",
        "",
        " ".join(document.text for document in tiny_documents),
        tiny_documents[1].text,
    ]
    alone = [processor(text) for text in texts]
    with torch.no_grad():
        single = [model(**batch.inputs) for batch in alone]
        decoded = [decode_batch(model, output)[1][0] for output in single]
        assert sum(map(len, decoded)) > 3
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 0]):
            output = model(**processor([texts[i] for i in order]).inputs)
            assert [decoded[i] for i in order] == decode_batch(model, output)[1]
            for b, i in enumerate(order):
                spans, retained = len(alone[i].documents[0].spans), single[i].retained.shape[1]
                assert (output.retained[b, retained:] == -1).all()
                left, right = _fields_of(output, b, spans, retained), _fields_of(single[i], 0, spans, retained)
                for name in right:
                    k = min(left[name].shape[-1], right[name].shape[-1]) if name == "link" else None
                    torch.testing.assert_close(
                        left[name][..., :k],
                        right[name][..., :k],
                        rtol=5e-5,
                        atol=5e-5,
                        msg=lambda m, n=name: f"{n}: {m}",
                    )


def test_loss_of_a_batch_is_the_mean_of_its_documents(
    tiny_model: Make, tiny_processor: MakeProcessor, tiny_documents: list[Document]
) -> None:
    for head in HEADS:
        model = tiny_model(head=head)
        processor = tiny_processor(model.config)
        with torch.no_grad():
            losses = [model(**processor([d], gold=True).inputs).loss for d in tiny_documents]
            together = model(**processor(tiny_documents, gold=True).inputs).loss
        torch.testing.assert_close(together, torch.stack(losses).mean(), rtol=1e-5, atol=0)


def test_documents_without_words_have_no_loss(tiny_model: Make, tiny_processor: MakeProcessor) -> None:
    for head in HEADS:
        model = tiny_model(head=head)
        batch = tiny_processor(model.config)([Document("", clusters=[]), Document(" ", clusters=[])], gold=True)
        assert model(**batch.inputs).loss == 0


def test_gradient_checkpointing_changes_nothing_but_memory(
    tiny_model: Make, tiny_processor: MakeProcessor, tiny_documents: list[Document]
) -> None:
    model = tiny_model().train()
    inputs = tiny_processor(model.config)(tiny_documents, gold=True).inputs

    def step() -> tuple[Tensor, list[Tensor]]:
        model.zero_grad()
        loss = model(**inputs).loss
        loss.backward()
        return loss.detach(), [parameter.grad.clone() for parameter in model.parameters()]

    loss, gradients = step()
    assert not model.is_gradient_checkpointing
    model.gradient_checkpointing_enable()
    assert model.is_gradient_checkpointing
    checkpointed_loss, checkpointed = step()
    model.gradient_checkpointing_disable()
    assert not model.is_gradient_checkpointing
    again, _ = step()
    torch.testing.assert_close(checkpointed_loss, loss)
    torch.testing.assert_close(again, loss)
    torch.testing.assert_close(checkpointed, gradients, rtol=1e-4, atol=1e-6)


def test_attention_implementation_reaches_the_encoder(tmp_path: Path, tiny_model: Make) -> None:
    tiny_model().save_pretrained(tmp_path)
    for name in ("eager", "sdpa"):
        loaded = CorefELModel.from_pretrained(tmp_path, attn_implementation=name)
        assert loaded.encoder.model.config._attn_implementation == name
