"""Training: schedules and clipping of the groups, resuming, the best checkpoint, evaluation end to end."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from datasets import Dataset
from torch import Tensor
from transformers import TrainerCallback, pipeline

from hf_corefel import (
    AnnotatedDocument,
    Candidate,
    CorefELModel,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
    DocumentError,
    Mention,
)
from hf_corefel.metrics import evaluate
from hf_corefel.training import DocumentCollator, DocumentDataset
from hf_corefel.training.checkpoints import MANIFEST_FILE
from hf_corefel.training.predictions import documents_from_rows

MakeTrainer = Callable[..., CorefELTrainer]


def _copy(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _same(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def _expected(trainer: CorefELTrainer, documents: list[Document]) -> dict[str, float]:
    """The scores by way of the pipeline and the metrics."""
    pipe = pipeline("coref-el", model=trainer.model, processor=trainer.processor)
    kb = trainer.processor.knowledge_base

    def candidates(document: Document, mention: Mention) -> set[str]:
        return {c.entity for c in kb.candidates(document.text[mention.begin : mention.end], 3)}

    predicted = [AnnotatedDocument.from_dict(pipe(document.text)) for document in documents]
    return evaluate(documents, predicted, candidates=candidates)


# Learning ----------------------------------------------------------------------------------------------


def test_learns_its_documents_by_heart(make_trainer: MakeTrainer, tiny_documents: list[Document]) -> None:
    trainer = make_trainer(max_steps=120, per_device_train_batch_size=3)
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < 0.1 * losses[0]
    assert after["eval_loss"] < 0.1 * before["eval_loss"]
    assert after["eval_score"] > 0.9 > 0.5 > before["eval_score"]
    score = (after["eval_coref_f1"] + after["eval_el_mention_f1"] + after["eval_el_hard_f1"]) / 3
    assert after["eval_score"] == pytest.approx(score)
    for name, value in _expected(trainer, tiny_documents).items():
        assert after[f"eval_{name}"] == pytest.approx(value), name


def test_logged_loss_is_the_mean_over_documents(make_trainer: MakeTrainer, tiny_documents: list[Document]) -> None:
    trainer = make_trainer(max_steps=1, per_device_train_batch_size=3, encoder_warmup=0.5)
    with torch.no_grad():
        expected = trainer.model(**trainer.processor(tiny_documents, gold=True).inputs).loss
    trainer.train()
    assert trainer.state.log_history[0]["loss"] == pytest.approx(float(expected), rel=1e-3)


def test_accumulated_gradient_is_that_of_the_batch(make_trainer: MakeTrainer) -> None:
    together = make_trainer(max_steps=1, per_device_train_batch_size=3, group_max_grad_norm=0.0, adam_epsilon=1.0)
    apart = make_trainer(max_steps=1, gradient_accumulation_steps=3, group_max_grad_norm=0.0, adam_epsilon=1.0)
    together.train(), apart.train()
    for name, value in together.model.state_dict().items():
        torch.testing.assert_close(apart.model.state_dict()[name], value, rtol=1e-4, atol=1e-5)


def test_half_precision_training(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    # TrainingArguments of transformers 4 sets it for the whole process.
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    trainer = make_trainer(max_steps=2, bf16=True)
    trainer.train()
    AcceleratorState._reset_state(reset_partial_state=True)
    assert all(math.isfinite(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry)
    assert {parameter.dtype for parameter in trainer.model.parameters()} == {torch.float32}


# Optimisation ------------------------------------------------------------------------------------------


def test_groups_hold_every_parameter_once(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(encoder_weight_decay=0.05)
    trainer.model.encoder.model.embeddings.requires_grad_(False)
    groups = {group["name"]: group for group in trainer.create_optimizer().param_groups}
    ids = [id(parameter) for group in groups.values() for parameter in group["params"]]
    assert len(set(ids)) == len(ids)
    assert set(ids) == {id(parameter) for parameter in trainer.model.parameters() if parameter.requires_grad}
    assert {name: (group["lr"], group["weight_decay"]) for name, group in groups.items()} == {
        "matrices": (1e-2, 0.05),
        "vectors": (1e-2, 0.0),
        "task": (1e-2, 0.0),
    }
    encoder = {id(parameter) for parameter in trainer.model.encoder.parameters()}
    assert all(parameter.ndim > 1 and id(parameter) in encoder for parameter in groups["matrices"]["params"])
    assert all(parameter.ndim == 1 and id(parameter) in encoder for parameter in groups["vectors"]["params"])
    assert not encoder & {id(parameter) for parameter in groups["task"]["params"]}
    assert trainer.create_optimizer() is trainer.optimizer


def test_groups_have_schedules_of_their_own(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(
        encoder_learning_rate=4e-5, encoder_warmup=0.1, task_learning_rate=1e-3, task_learning_rate_end=2e-4
    )
    trainer.create_optimizer_and_scheduler(100)
    rates: dict[int, dict[str, float]] = {}
    for step in range(101):
        rates[step] = {group["name"]: group["lr"] for group in trainer.optimizer.param_groups}
        trainer.optimizer.step()
        trainer.lr_scheduler.step()
    for name in ("matrices", "vectors"):
        expected = {0: 0.0, 5: 2e-5, 10: 4e-5, 55: 2e-5, 100: 0.0}
        assert {step: rates[step][name] for step in expected} == pytest.approx(expected, abs=1e-12)
    expected = {0: 1e-3, 25: 8e-4, 50: 6e-4, 100: 2e-4}
    assert {step: rates[step]["task"] for step in expected} == pytest.approx(expected, abs=1e-12)


def test_second_training_starts_a_schedule_of_its_own(make_trainer: MakeTrainer) -> None:
    rates: list[float] = []

    class Watch(TrainerCallback):
        def on_step_begin(self, *unused: Any, optimizer: Any, **also_unused: Any) -> None:
            rates.append({group["name"]: group["lr"] for group in optimizer.param_groups}["task"])

    trainer = make_trainer(max_steps=3, callbacks=[Watch()])
    trainer.train()
    first, rates[:] = list(rates), []
    trainer.train()
    assert rates == pytest.approx(first)
    assert first[0] == pytest.approx(1e-2) and first[2] < first[1] < first[0]


def _norm(parameters: list[Tensor]) -> float:
    return float(torch.stack([p.grad.norm() for p in parameters if p.grad is not None]).norm())


@pytest.mark.parametrize(("limit", "encoder_norm", "task_norm"), [(2.0, 2.0, 0.5), (0.0, 9.0, 0.5)])
def test_groups_are_clipped_each_for_itself(
    make_trainer: MakeTrainer, limit: float, encoder_norm: float, task_norm: float
) -> None:
    trainer = make_trainer(group_max_grad_norm=limit)
    optimizer = trainer.create_optimizer()
    encoder = list(trainer.model.encoder.parameters())
    task = [p for name, p in trainer.model.named_parameters() if not name.startswith("encoder.")]
    for parameters, norm in ((encoder, 9.0), (task, 0.5)):
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        scale = norm / _norm(parameters)
        for parameter in parameters:
            parameter.grad.mul_(scale)
    optimizer.step()
    assert _norm(encoder) == pytest.approx(encoder_norm, rel=1e-4)
    assert _norm(task) == pytest.approx(task_norm, rel=1e-4)


def test_whole_gradient_is_not_clipped_unless_asked(make_trainer: MakeTrainer) -> None:
    assert make_trainer().args.max_grad_norm == 0.0
    assert make_trainer(max_grad_norm=1.0).args.max_grad_norm == 1.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, -1e-9) for name in ("encoder_learning_rate", "task_learning_rate", "task_learning_rate_end")],
        ("group_max_grad_norm", -1.0),
        ("encoder_weight_decay", -0.1),
        ("task_learning_rate", math.nan),
        ("encoder_warmup", 1.0),
        ("encoder_warmup", -0.1),
        ("encoder_warmup", math.nan),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} "):
        CorefELTrainingArguments(output_dir=str(tmp_path), use_cpu=True, **{name: value})


# Checkpoints -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_resuming_equals_never_stopping(
    tmp_path: Path, make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], dropout: float
) -> None:
    """With dropout only if the state of the random numbers is taken up again too."""
    saving = {"save_strategy": "steps", "save_steps": 2, "output_dir": str(tmp_path / "through")}
    through = make_trainer(tiny_model(dropout=dropout), max_steps=6, **saving)
    through.train()
    expected = _copy(through.model)
    checkpoint = tmp_path / "through" / "checkpoint-4"
    assert not _same(_copy(CorefELModel.from_pretrained(checkpoint)), expected)
    resumed = make_trainer(tiny_model(dropout=dropout), max_steps=6, output_dir=str(tmp_path / "resumed"))
    resumed.train(resume_from_checkpoint=str(checkpoint))
    assert resumed.state.global_step == 6
    assert _same(_copy(resumed.model), expected)
    state, again = (trainer.optimizer.state_dict() for trainer in (through, resumed))
    assert again["param_groups"] == state["param_groups"]
    assert state["state"] and again["state"].keys() == state["state"].keys()
    for parameter, moments in state["state"].items():
        assert set(moments) == {"step", "exp_avg", "exp_avg_sq"}
        assert _same(again["state"][parameter], moments)
    assert resumed.lr_scheduler.state_dict() == through.lr_scheduler.state_dict()
    assert resumed.lr_scheduler.last_epoch == 6
    # With the state of another place the test can tell.
    (checkpoint / MANIFEST_FILE).unlink()
    shutil.copy(checkpoint.with_name("checkpoint-6") / "rng_state.pth", checkpoint / "rng_state.pth")
    forgetful = make_trainer(tiny_model(dropout=dropout), max_steps=6, output_dir=str(tmp_path / "forgetful"))
    forgetful.train(resume_from_checkpoint=str(checkpoint))
    assert _same(_copy(forgetful.model), expected) is (dropout == 0.0)


def rounded(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The clusters; the same weights at another place of the memory may round a sum in another order."""
    clusters: list[dict[str, Any]] = json.loads(
        json.dumps(document["clusters"]), parse_float=lambda x: round(float(x), 5)
    )
    return clusters


def test_checkpoints_can_be_used_in_the_pipeline(
    tmp_path: Path, make_trainer: MakeTrainer, tiny_documents: list[Document]
) -> None:
    trainer = make_trainer(max_steps=2, save_strategy="steps", save_steps=2)
    trainer.train()
    checkpoint = tmp_path / "run" / "checkpoint-2"
    names = {path.name for path in checkpoint.iterdir()}
    assert {"config.json", "model.safetensors", "processor_config.json", "knowledge_base"} <= names
    assert {"tokenizer_config.json"} <= names
    loaded = pipeline("coref-el", model=str(checkpoint))
    live = pipeline("coref-el", model=trainer.model, processor=trainer.processor)
    texts = [document.text for document in tiny_documents]
    for found, expected in zip(loaded(texts), live(texts), strict=True):
        assert [c["mentions"] for c in rounded(found)] == [c["mentions"] for c in rounded(expected)]
        assert [c["entity"] for c in found["clusters"]] == [c["entity"] for c in expected["clusters"]]


def test_best_checkpoint_is_loaded_at_the_end(make_trainer: MakeTrainer) -> None:
    class Spoil(TrainerCallback):
        """Ruins the model in the last step, so that the best one is an earlier one."""

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **unused: Any) -> None:
            if state.global_step == 60:
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.zero_()

    trainer = make_trainer(
        max_steps=60,
        per_device_train_batch_size=3,
        eval_strategy="steps",
        eval_steps=30,
        save_strategy="steps",
        save_steps=30,
        load_best_model_at_end=True,
        metric_for_best_model="score",
        callbacks=[Spoil()],
    )
    trainer.train()
    scores = {entry["step"]: entry["eval_score"] for entry in trainer.state.log_history if "eval_score" in entry}
    assert scores[30] > scores[60]
    assert trainer.state.best_metric == scores[30]
    assert trainer.state.best_model_checkpoint.endswith("checkpoint-30")
    assert _same(_copy(trainer.model), _copy(CorefELModel.from_pretrained(trainer.state.best_model_checkpoint)))
    assert trainer.evaluate()["eval_score"] == pytest.approx(scores[30])


# Evaluation --------------------------------------------------------------------------------------------


@pytest.fixture
def trained(make_trainer: MakeTrainer, tiny_trained: Callable[[str], CorefELModel]) -> CorefELTrainer:
    return make_trainer(tiny_trained("global"))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_evaluation_equals_pipeline_and_metrics(
    make_trainer: MakeTrainer, tiny_trained: Callable[[str], CorefELModel], tiny_documents: list[Document], size: int
) -> None:
    text = " ".join(document.text for document in tiny_documents)
    documents = [*tiny_documents, Document("", id="empty", clusters=[]), Document(text, id="long", clusters=[])]
    trainer = make_trainer(tiny_trained("local"), eval_dataset=documents, per_device_eval_batch_size=size)
    scores = trainer.evaluate()
    expected = _expected(trainer, documents)
    assert 0.5 < expected["coref_f1"] < 1.0
    assert {name: scores[f"eval_{name}"] for name in expected} == pytest.approx(expected)


def test_datasets_of_every_kind(trained: CorefELTrainer, tiny_documents: list[Document]) -> None:
    expected = trained.evaluate()["eval_score"]
    dicts = [document.to_dict() for document in tiny_documents]
    for documents in (dicts, DocumentDataset(tiny_documents), Dataset.from_list(dicts), iter(dicts)):
        assert trained.evaluate(documents)["eval_score"] == expected
    both = trained.evaluate({"one": tiny_documents[:1], "all": dicts})
    assert both["eval_all_score"] == expected
    assert both["eval_one_score"] == trained.evaluate(tiny_documents[:1])["eval_score"]


def test_predictions_can_be_asked_for(trained: CorefELTrainer, tiny_documents: list[Document]) -> None:
    documents = tiny_documents[::-1]
    prediction = trained.predict(documents)
    assert prediction.label_ids.tolist() == [0, 1, 2]
    found = documents_from_rows(documents, prediction.predictions, trained.processor)
    pipe = pipeline("coref-el", model=trained.model, processor=trained.processor)
    for document, result in zip(documents, found, strict=True):
        assert result.id == document.id
        expected = AnnotatedDocument.from_dict(pipe(document))
        assert [(c.entity, [m.offsets for m in c.mentions]) for c in result.clusters] == [
            (c.entity, [m.offsets for m in c.mentions]) for c in expected.clusters
        ]


def test_loss_alone(make_trainer: MakeTrainer, tiny_trained: Callable[[str], CorefELModel]) -> None:
    full = make_trainer(tiny_trained("global")).evaluate()
    alone = make_trainer(tiny_trained("global"), prediction_loss_only=True).evaluate()
    assert alone["eval_loss"] == pytest.approx(full["eval_loss"])
    assert "eval_score" in full and "eval_score" not in alone


def test_entities_that_the_knowledge_base_lacks_are_predicted_too(trained: CorefELTrainer) -> None:
    """A document may bring candidates of its own."""
    text = "Oslo. Oslo."
    spans = [(0, 4), (6, 10)]
    ship = {span: [Candidate("Oslo_(ship)", 1.0)] for span in spans}
    gold = Document(text, candidates=ship, mentions=spans, clusters=[])
    rows = trained.predict([gold]).predictions
    (found,) = documents_from_rows([gold], rows, trained.processor)
    pipe = pipeline("coref-el", model=trained.model, processor=trained.processor)
    expected = AnnotatedDocument.from_dict(pipe(gold))
    assert "Oslo_(ship)" in [c.entity for c in expected.clusters]
    assert [c.entity for c in found.clusters] == [c.entity for c in expected.clusters]
    assert sorted(m.offsets for c in found.clusters for m in c.mentions) == spans


@pytest.mark.parametrize("name", ["train_dataset", "eval_dataset"])
def test_documents_without_gold_are_refused(
    make_trainer: MakeTrainer, tiny_documents: list[Document], name: str
) -> None:
    with pytest.raises(DocumentError, match=r"bare.*clusters"):
        make_trainer(**{name: [tiny_documents[0], Document("Oslo", id="bare")]})


def test_alignment_is_reported(trained: CorefELTrainer, tiny_documents: list[Document]) -> None:
    report = trained.report_alignment(trained.train_dataset).to_dict()
    assert report["documents"] == 3
    assert report["mentions"] == sum(len(c.mentions) for d in tiny_documents for c in d.clusters or [])
    assert report["mentions_not_enumerated"] == report["linked_clusters_unreachable"] == 0


def test_training_documents_are_aligned_once(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a large corpus takes minutes, and a script that prints the report trains on it next."""
    trainer = make_trainer(max_steps=1)
    asked = []
    count = trainer.processor.alignment_report
    monkeypatch.setattr(trainer.processor, "alignment_report", lambda d: asked.append(len(d)) or count(d))
    report = trainer.report_alignment(trainer.train_dataset)
    trainer.train()
    assert asked == [3]
    assert trainer.training_record()["gold"] == report.to_dict()
    trainer.train_dataset = DocumentDataset(trainer.train_dataset.documents[:1])
    trainer.train()
    assert asked == [3, 1]
    assert trainer.training_record()["gold"]["documents"] == 1


def test_batches_hold_what_leads_predictions_back(trained: CorefELTrainer, tiny_documents: list[Document]) -> None:
    dataset = DocumentDataset(tiny_documents)
    assert len(dataset) == 3
    batch = DocumentCollator(trained.processor)([dataset[2], dataset[0]])
    assert batch["document_index"].tolist() == [2, 0]
    encoded = [trained.processor.encode(tiny_documents[i]) for i in (2, 0)]
    for b, document in enumerate(encoded):
        size = len(document.spans)
        assert batch["span_offsets"][b, :size].tolist() == document.spans.offsets.tolist()
        assert (batch["span_offsets"][b, size:] == -1).all()
        assert batch["entity_ids"][b, : len(document.entities)].tolist() == document.entity_ids.tolist()
    assert {"gold_clusters", "gold_entities", "input_ids"} <= batch.keys()
