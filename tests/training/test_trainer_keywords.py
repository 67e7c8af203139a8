"""What a user of `transformers.Trainer` passes to it works here too, or says why not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from torch import Tensor
from transformers import DataCollatorWithPadding, EvalPrediction, Seq2SeqTrainingArguments, TrainerCallback
from transformers import TrainingArguments as PlainArguments

from hf_corefel import (
    AnnotatedDocument,
    CorefELModel,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
)
from hf_corefel.training import DocumentCollator, DocumentPrediction
from hf_corefel.training.collator import GOLD_FIELDS

MakeTrainer = Callable[..., CorefELTrainer]
FIELDS = {field.name for field in dataclasses.fields(PlainArguments)}
BY_LENGTH: dict[str, Any] = (
    {"group_by_length": True} if "group_by_length" in FIELDS else {"train_sampling_strategy": "group_by_length"}
)


def losses(trainer: CorefELTrainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


# Model, processor, arguments -----------------------------------------------------------------------------


@pytest.fixture
def parts(tiny_model: Callable[..., CorefELModel], tiny_processor: Callable[..., Any]) -> dict[str, Any]:
    model = tiny_model()
    return {"model": model, "processor": tiny_processor(model.config)}


def test_processing_class_is_the_processor(parts: dict[str, Any], make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(keywords={"processor": None, "processing_class": parts["processor"]})
    assert trainer.processor is trainer.processing_class is parts["processor"]
    assert "eval_score" in trainer.evaluate()


def test_what_is_no_processor_is_named(parts: dict[str, Any], make_trainer: MakeTrainer) -> None:
    tokenizer = parts["processor"].tokenizer
    with pytest.raises(TypeError, match=r"^processing_class must be a CorefELProcessor.* not \w*Tokenizer"):
        make_trainer(keywords={"processor": None, "processing_class": tokenizer})
    with pytest.raises(TypeError, match=r"^processor must be a CorefELProcessor.* not NoneType"):
        make_trainer(keywords={"processor": None})
    with pytest.raises(TypeError, match=r"^processing_class: it is another name"):
        make_trainer(keywords={"processing_class": parts["processor"]})
    with pytest.raises(TypeError, match=r"^processor must be a CorefELProcessor"):
        CorefELTrainer(parts["model"], None, DocumentCollator(parts["processor"]))  # the order of transformers


def test_without_arguments_there_are_defaults(
    parts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trainer = CorefELTrainer(**parts)
    assert trainer.args.output_dir == "tmp_trainer"
    assert trainer.args.learning_rates() == (2e-5, 1e-3, 1e-4)


@pytest.mark.parametrize("kind", [PlainArguments, Seq2SeqTrainingArguments])
def test_plain_arguments_are_taken_at_their_word(
    parts: dict[str, Any],
    tmp_path: Path,
    tiny_documents: list[Document],
    kind: type[PlainArguments],
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = kind(
        str(tmp_path / "run"),
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
        save_strategy="no",
        max_steps=2,
        logging_steps=1,
        seed=11,
        lr_scheduler_type="constant",
    )
    trainer = CorefELTrainer(**parts, args=plain, train_dataset=tiny_documents, eval_dataset=tiny_documents)
    assert isinstance(trainer.args, CorefELTrainingArguments)
    assert (trainer.args.seed, trainer.args.max_steps, trainer.args.max_grad_norm) == (11, 2, 1.0)
    assert trainer.args.learning_rates()[:2] == (5e-5, pytest.approx(2.5e-3))
    assert trainer.args.weight_decays() == (0.0, 0.0) and trainer.args.max_document_words == 2000
    trainer.train()
    assert {group["lr"] for group in trainer.optimizer.param_groups} == {5e-5, 50 * 5e-5}
    assert f"args is a plain {kind.__name__}" in caplog.text and "learning_rate=5e-05" in caplog.text


def test_model_init_alone_makes_the_model_of_every_training(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel]
) -> None:
    made: list[CorefELModel] = []

    def model_init() -> CorefELModel:
        made.append(tiny_model())
        return made[-1]

    trainer = make_trainer(keywords={"model_init": model_init}, max_steps=2)
    trainer.train()
    first = losses(trainer)
    trainer.train()
    assert losses(trainer) == first and len(made) == 3 and trainer.model is made[-1]
    with pytest.raises(RuntimeError, match="model_init"):
        make_trainer(keywords={"model": None})


def test_callbacks_are_called(make_trainer: MakeTrainer) -> None:
    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
            control.should_training_stop = True

    trainer = make_trainer(callbacks=[Stop()], max_steps=5)
    trainer.train()
    assert trainer.state.global_step == 1
    with pytest.raises(TypeError, match="no_such_keyword"):
        make_trainer(keywords={"no_such_keyword": 1})


# Metrics -------------------------------------------------------------------------------------------------


def test_compute_metrics_is_given_documents(make_trainer: MakeTrainer, tiny_documents: list[Document]) -> None:
    calls: list[DocumentPrediction] = []

    def compute_metrics(prediction: DocumentPrediction) -> dict[str, float]:
        calls.append(prediction)
        predictions, gold = prediction  # type: ignore[misc]
        assert predictions is prediction.predictions and gold is prediction.label_ids
        return {"documents": len(gold), "score": prediction.scores()["score"]}

    expected = make_trainer().evaluate()
    trainer = make_trainer(keywords={"compute_metrics": compute_metrics})
    scores = trainer.evaluate()
    assert (scores["eval_documents"], scores["eval_score"]) == (3, expected["eval_score"])
    assert "eval_coref_f1" not in scores and "eval_loss" in scores
    assert isinstance(calls[0], EvalPrediction) and calls[0].losses is None
    assert all(isinstance(document, AnnotatedDocument) for document in calls[0].predictions)
    assert [d.text for d in calls[0].predictions] == [d.text for d in calls[0].label_ids]
    assert calls[0].label_ids == tiny_documents
    trainer.predict(tiny_documents[1:])
    assert calls[1].label_ids == tiny_documents[1:]


def test_metric_of_the_user_chooses_the_best_model(make_trainer: MakeTrainer, keeps_the_best: dict[str, Any]) -> None:
    values = iter([1.0, 3.0, 2.0])
    trainer = make_trainer(
        keywords={"compute_metrics": lambda prediction: {"mine": next(values)}},
        max_steps=3,
        **keeps_the_best,
    )
    trainer.train()
    assert trainer.state.best_model_checkpoint.endswith("checkpoint-2")


@pytest.mark.parametrize("arguments", [{"eval_do_concat_batches": False}, {"batch_eval_metrics": True}], ids=str)
def test_batches_of_an_evaluation_may_stay_apart(make_trainer: MakeTrainer, arguments: dict[str, Any]) -> None:
    expected = make_trainer().evaluate()
    for _ in range(2):
        found = make_trainer(**arguments).evaluate()
        scores = {name for name in expected if name.endswith("_f1") or name == "eval_score"}
        assert {name: found[name] for name in scores} == {name: expected[name] for name in scores}


def test_metrics_by_batch_say_when_they_are_done(make_trainer: MakeTrainer) -> None:
    sizes: list[tuple[int, bool]] = []

    def compute_metrics(prediction: DocumentPrediction, compute_result: bool) -> dict[str, float]:
        sizes.append((len(prediction.predictions), compute_result))
        return {"seen": sum(size for size, _ in sizes)}

    trainer = make_trainer(
        keywords={"compute_metrics": compute_metrics}, batch_eval_metrics=True, include_for_metrics=["loss"]
    )
    assert trainer.evaluate()["eval_seen"] == 3
    assert sizes == [(2, False), (1, True)]
    with pytest.raises(ValueError, match="compute_result"):
        make_trainer(keywords={"compute_metrics": lambda prediction: {}}, batch_eval_metrics=True)


def test_an_interrupted_evaluation_leaves_nothing_to_the_next(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(batch_eval_metrics=True, per_device_eval_batch_size=1)
    expected = trainer.evaluate()
    predict, done = trainer.prediction_step, []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(predict(*args, **kwargs))
        trainer._guard.note_evaluated(["a document whose loss was not finite"])
        return done[-1]

    with monkeypatch.context() as patched:
        patched.setattr(trainer, "prediction_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trainer.evaluate()
    found = trainer.evaluate()
    scores = {name for name in expected if name.endswith(("f1", "score"))}
    assert {name: found[name] for name in scores} == {name: expected[name] for name in scores}


def test_scores_of_a_model_are_those_of_the_one_that_was_kept(
    make_trainer: MakeTrainer, tiny_documents: list[Document], keeps_the_best: dict[str, Any], tmp_path: Path
) -> None:
    values = iter([1.0, 3.0, 2.0, 9.0])
    trainer = make_trainer(
        keywords={"compute_metrics": lambda prediction: {"mine": next(values), "coref_f1": 0.25}},
        max_steps=3,
        **keeps_the_best,
    )
    assert trainer.development_scores() == {}
    trainer.train()
    assert trainer.development_scores()["mine"] == 3.0
    trainer.evaluate(tiny_documents[:1])
    assert trainer.development_scores()["mine"] == 3.0, "they are not the scores of other documents"
    trainer.create_model_card()
    assert "0.2500" in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")

    trainer = make_trainer(eval_dataset={"a": tiny_documents[:2], "a_b": tiny_documents[2:]})
    scores = trainer.evaluate()
    trainer.evaluate({"a": tiny_documents[2:]})
    found = trainer.development_scores()
    for name in ("a", "a_b"):
        assert found[name]["coref_f1"] == scores[f"eval_{name}_coref_f1"]
    trainer.create_model_card()
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "\na:\n" in card and "\na_b:\n" in card
    results = {(result.dataset_name, result.metric_type) for result in ModelCard(card).data.eval_results}
    assert {("a", "coref_f1"), ("a_b", "coref_f1")} <= results


def test_losses_are_given_when_asked_for(make_trainer: MakeTrainer) -> None:
    found: list[Any] = []

    def compute_metrics(prediction: DocumentPrediction) -> dict[str, float]:
        found.append(prediction.losses)
        return {}

    trainer = make_trainer(keywords={"compute_metrics": compute_metrics}, include_for_metrics=["loss"])
    loss = trainer.evaluate()["eval_loss"]
    assert found[0].shape == (3,) and found[0].mean() == pytest.approx(loss)


def test_rows_are_preprocessed(make_trainer: MakeTrainer, tiny_trained: Callable[[str], CorefELModel]) -> None:
    def nothing(rows: Tensor, positions: Tensor) -> Tensor:
        assert rows.shape[:1] == positions.shape and rows.shape[2] == 4
        return torch.full_like(rows, -100)

    assert make_trainer(tiny_trained("global")).evaluate()["eval_coref_f1"] > 0.5
    trainer = make_trainer(tiny_trained("global"), keywords={"preprocess_logits_for_metrics": nothing})
    assert trainer.evaluate()["eval_coref_f1"] == 0.0


# Loss and batches ----------------------------------------------------------------------------------------


def test_loss_of_the_user_is_trained_and_evaluated(
    make_trainer: MakeTrainer, tiny_documents: list[Document], tiny_model: Callable[..., CorefELModel]
) -> None:
    """A sum divided by the step's documents is their mean, however the step is divided into batches."""

    def mentions(output: Any, gold: dict[str, Tensor], num_items_in_batch: Any) -> Tensor:
        assert set(gold) == set(GOLD_FIELDS)
        return output.mention_loss * len(gold["gold_clusters"]) / num_items_in_batch

    settings: dict[str, Any] = {"max_steps": 1, "adam_epsilon": 1.0, "group_max_grad_norm": 0.0}
    keywords = {"compute_loss_func": mentions}
    together = make_trainer(keywords=keywords, per_device_train_batch_size=3, **settings)
    apart = make_trainer(keywords=keywords, gradient_accumulation_steps=3, **settings)
    with torch.no_grad():
        batch = together.processor(tiny_documents, gold=True).inputs
        expected = float(together.model(**batch).mention_loss)
    assert together.evaluate()["eval_loss"] == pytest.approx(expected, rel=0.2)
    together.train(), apart.train()
    assert losses(together)[0] == pytest.approx(expected, rel=1e-4) == losses(apart)[0]
    for name, value in together.model.state_dict().items():
        torch.testing.assert_close(apart.model.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    # What the loss does not look at stays.
    before, after = tiny_model().state_dict(), together.model.state_dict()
    same = {name.split(".")[0] for name in before if torch.equal(before[name], after[name])}
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert "pairs" in same - changed and "pruner" in changed


def test_items_of_a_step_are_those_of_all_devices(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    items: list[float] = []

    def mean(output: Any, gold: Any, num_items_in_batch: Any) -> Tensor:
        items.append(float(num_items_in_batch))
        return output.loss

    for average in (True, False):
        trainer = make_trainer(
            keywords={"compute_loss_func": mean},
            max_steps=1,
            per_device_train_batch_size=2,
            average_tokens_across_devices=average,
        )
        monkeypatch.setattr(trainer.accelerator, "gather", lambda tensor: torch.stack([tensor, tensor]))
        trainer.train()
    assert items == [4.0, 2.0]


def test_collator_of_the_user_makes_the_batches(
    make_trainer: MakeTrainer, tiny_processor: Callable[..., CorefELProcessor], tiny_model: Callable[..., CorefELModel]
) -> None:
    seen: list[str] = []

    class Recording(DocumentCollator):
        def __call__(self, items: list[tuple[int, Document]]) -> dict[str, Tensor]:
            seen.extend(document.text for _, document in items)
            return super().__call__(items)

    collator = Recording(tiny_processor(tiny_model().config))
    trainer = make_trainer(keywords={"data_collator": collator}, max_steps=3)
    assert trainer.data_collator is collator
    seen.clear()
    trainer.train()
    assert len(set(seen)) == 3
    trainer.evaluate()
    assert len(seen) == 6


def test_collators_that_know_no_documents_are_named(
    make_trainer: MakeTrainer, tiny_processor: Callable[..., CorefELProcessor], tiny_model: Callable[..., CorefELModel]
) -> None:
    processor = tiny_processor(tiny_model().config)
    with pytest.raises(TypeError, match=r"^data_collator: it cannot take a list of \(position, Document\).*Collator"):
        make_trainer(keywords={"data_collator": DataCollatorWithPadding(processor.tokenizer)})

    def bare(items: list[tuple[int, Document]]) -> Any:
        return processor([document for _, document in items], gold=True).inputs

    with pytest.raises(TypeError, match=r"^data_collator: its batches lack document_index, span_offsets, entity_ids"):
        make_trainer(keywords={"data_collator": bare})


def test_documents_of_one_length_are_batched_together(make_trainer: MakeTrainer) -> None:
    documents = [Document("Oslo " * (1 + 30 * (n % 2)), id=f"d{n}", clusters=[]) for n in range(64)]
    trainer = make_trainer(
        train_dataset=documents, eval_dataset=documents, per_device_train_batch_size=2, max_steps=1, **BY_LENGTH
    )
    for loader in (trainer.get_train_dataloader(), trainer.get_eval_dataloader()):
        batches = [batch["document_index"].tolist() for batch in loader]
        assert sorted(index for batch in batches for index in batch) == list(range(64))
        # About half of them otherwise.
        assert sum(len({index % 2 for index in batch}) == 1 for batch in batches) >= 24
    trainer.train()
    positions = trainer.predict(documents[:20]).label_ids.tolist()
    assert sorted(positions) == list(range(20)) != positions


@pytest.mark.skipif("train_sampling_strategy" not in FIELDS, reason="transformers 4 has group_by_length")
def test_other_orders_of_transformers_5(make_trainer: MakeTrainer) -> None:
    documents = [Document("Oslo " * (1 + n), id=f"d{n}", clusters=[]) for n in range(8)]
    options: dict[str, Any] = {"train_dataset": documents, "per_device_train_batch_size": 2}
    trainer = make_trainer(train_sampling_strategy="sequential", **options)
    assert [b["document_index"].tolist() for b in trainer.get_train_dataloader()] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    trainer = make_trainer(train_sampling_strategy="batch_rebalance", **options)
    batches = [batch["document_index"].tolist() for batch in trainer.get_train_dataloader()]
    assert sorted(index for batch in batches for index in batch) == list(range(8))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_model_trains_and_predicts_the_same(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    # TrainingArguments of transformers 4 sets them for the whole process.
    monkeypatch.setenv("ACCELERATE_DYNAMO_BACKEND", "no")
    compiled = make_trainer(max_steps=3, torch_compile=True, torch_compile_backend=backend)
    compiled.train()
    scores = compiled.evaluate()
    monkeypatch.setenv("ACCELERATE_DYNAMO_BACKEND", "no")
    plain = make_trainer(max_steps=3)
    plain.train()
    assert losses(compiled) == pytest.approx(losses(plain), rel=1e-3)
    assert scores["eval_loss"] == pytest.approx(plain.evaluate()["eval_loss"], rel=1e-3)
