"""Every field of `TrainingArguments` is left to transformers, acts here, or is refused by name: none is silent."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from transformers import TrainingArguments

import hf_corefel.training
from hf_corefel import CorefELModel, CorefELTrainer, CorefELTrainingArguments, Document
from hf_corefel.training.arguments import REFUSED

MakeTrainer = Callable[..., CorefELTrainer]
TESTS = Path(__file__).parent
SOURCES = Path(hf_corefel.training.__file__).parent
FIELDS = {field.name for field in dataclasses.fields(TrainingArguments)}

# Fields that this package reads, or whose effect goes through what it overrides, with a test of the effect.
ACTS = {
    "learning_rate": "test_learning_rates.py::test_the_base_decides_what_is_learnt",
    "lr_scheduler_type": "test_learning_rates.py::test_every_schedule_is_that_of_transformers",
    "lr_scheduler_kwargs": "test_learning_rates.py::test_every_schedule_is_that_of_transformers",
    "warmup_steps": "test_learning_rates.py::test_warmup_is_of_all_layers",
    "warmup_ratio": "test_learning_rates.py::test_warmup_is_of_all_layers",
    "weight_decay": "test_learning_rates.py::test_weight_decay_is_of_matrices",
    "optim": "test_learning_rates.py::test_every_optimizer_at_hand_gets_the_groups",
    "optim_args": "test_learning_rates.py::test_optim_args_act_or_are_named",
    "optim_target_modules": "test_learning_rates.py::test_optim_args_act_or_are_named",
    "adam_beta1": "test_learning_rates.py::test_adam_has_its_settings",
    "adam_beta2": "test_learning_rates.py::test_adam_has_its_settings",
    "adam_epsilon": "test_learning_rates.py::test_adam_has_its_settings",
    "adafactor": "test_learning_rates.py::test_adafactor_has_a_field_in_version_4",
    "max_grad_norm": "test_learning_rates.py::test_whole_gradient_is_clipped_when_asked",
    "metric_for_best_model": "test_learning_rates.py::test_plateau_is_of_the_metric",
    "greater_is_better": "test_learning_rates.py::test_plateau_is_of_the_metric",
    "gradient_accumulation_steps": "test_trainer.py::test_accumulated_gradient_is_that_of_the_batch",
    "per_device_train_batch_size": "test_trainer.py::test_logged_loss_is_the_mean_over_documents",
    "per_device_eval_batch_size": "test_trainer.py::test_evaluation_equals_pipeline_and_metrics",
    "prediction_loss_only": "test_trainer.py::test_loss_alone",
    "bf16": "test_training_options.py::test_bf16_autocast_learns",
    "fp16": "test_non_finite.py::test_gradient_that_only_overflows_is_left_to_the_scaler",
    "activation_checkpointing": "test_training_options.py::test_checkpointing_gives_the_same_losses",
    "gradient_checkpointing": "test_training_options.py::test_checkpointing_gives_the_same_losses",
    "trackio_space_id": "test_training_options.py::test_trackio_gets_losses_and_scores_and_stays_local",
    "logging_nan_inf_filter": "test_non_finite.py::test_loss_that_is_not_finite_stops_and_saves_nothing",
    "load_best_model_at_end": "test_checkpoints.py::test_best_checkpoint_that_is_broken_is_not_loaded",
    "save_total_limit": "test_checkpoints.py::test_limit_keeps_the_newest_and_the_best",
    "max_steps": "test_checkpoints.py::test_finished_training_is_not_trained_further",
    "num_train_epochs": "test_checkpoints.py::test_finished_training_is_not_trained_further",
    "average_tokens_across_devices": "test_trainer_keywords.py::test_items_of_a_step_are_those_of_all_devices",
    "batch_eval_metrics": "test_trainer_keywords.py::test_metrics_by_batch_say_when_they_are_done",
    "eval_do_concat_batches": "test_trainer_keywords.py::test_batches_of_an_evaluation_may_stay_apart",
    "include_for_metrics": "test_trainer_keywords.py::test_losses_are_given_when_asked_for",
    "group_by_length": "test_trainer_keywords.py::test_documents_of_one_length_are_batched_together",
    "train_sampling_strategy": "test_trainer_keywords.py::test_other_orders_of_transformers_5",
    "torch_compile": "test_trainer_keywords.py::test_compiled_model_trains_and_predicts_the_same",
    "torch_compile_backend": "test_trainer_keywords.py::test_compiled_model_trains_and_predicts_the_same",
    "output_dir": "test_trainer.py::test_checkpoints_can_be_used_in_the_pipeline",
    "push_to_hub": "../hub/test_publishing.py::test_the_trainer_pushes_with_a_card",
    "debug": "test_argument_fields.py::test_debugging_that_cannot_read_masks_is_refused",
    "auto_find_batch_size": "test_argument_fields.py::test_batch_size_is_found",
    "neftune_noise_alpha": "test_argument_fields.py::test_noise_changes_the_losses",
    "bf16_full_eval": "test_argument_fields.py::test_evaluation_in_half_precision",
    "fp16_full_eval": "test_argument_fields.py::test_evaluation_in_half_precision",
    "full_determinism": "test_argument_fields.py::test_full_determinism_is_possible",
    "include_num_input_tokens_seen": "test_argument_fields.py::test_tokens_are_counted",
    "include_tokens_per_second": "test_argument_fields.py::test_tokens_are_counted",
    "eval_use_gather_object": "test_argument_fields.py::test_ways_of_gathering_and_loading_change_nothing",
    "eval_accumulation_steps": "test_argument_fields.py::test_ways_of_gathering_and_loading_change_nothing",
    "dataloader_num_workers": "test_argument_fields.py::test_ways_of_gathering_and_loading_change_nothing",
    "dataloader_persistent_workers": "test_argument_fields.py::test_ways_of_gathering_and_loading_change_nothing",
    "dataloader_prefetch_factor": "test_argument_fields.py::test_ways_of_gathering_and_loading_change_nothing",
    "dataloader_drop_last": "test_argument_fields.py::test_last_batch_is_dropped_and_the_order_has_a_seed",
    "data_seed": "test_argument_fields.py::test_last_batch_is_dropped_and_the_order_has_a_seed",
}

# Fields that this package never reads, and whose effect passes by what it overrides.
INHERITED = {
    "what the base class does around a training": """
        seed eval_strategy eval_steps eval_delay eval_on_start logging_strategy logging_steps logging_first_step
        log_on_each_node log_level log_level_replica logging_dir disable_tqdm report_to run_name project
        trackio_bucket_id trackio_static_space_id skip_memory_metrics torch_empty_cache_steps save_strategy save_steps
        save_only_model save_on_each_node enable_jit_checkpoint ignore_data_skip
        restore_callback_states_from_checkpoint overwrite_output_dir""",
    "the Hub": """
        hub_token hub_private_repo hub_model_id hub_strategy hub_always_push hub_revision push_to_hub_model_id
        push_to_hub_organization push_to_hub_token""",
    "devices, processes and data loaders": """
        use_cpu no_cuda use_mps_device _n_gpu local_rank accelerator_config parallelism_config
        ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph ddp_backend ddp_timeout
        fsdp fsdp_config fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap deepspeed mp_parameters
        tpu_num_cores tpu_metrics_debug ray_scope dataloader_pin_memory dataloader_multiprocessing_context
        dataloader_in_order per_gpu_train_batch_size per_gpu_eval_batch_size tf32 fp16_backend fp16_opt_level
        half_precision_backend torchdynamo torch_compile_mode activation_checkpointing_kwargs
        gradient_checkpointing_kwargs""",
    "read by scripts, not by a trainer": "do_train do_eval do_predict resume_from_checkpoint",
}


def inherited() -> list[str]:
    return [name for names in INHERITED.values() for name in names.split()]


def test_every_field_is_of_one_kind() -> None:
    kinds = [list(ACTS), list(REFUSED), inherited()]
    listed = [name for kind in kinds for name in kind]
    assert len(listed) == len(set(listed))
    assert FIELDS - set(listed) == set()


def test_fields_that_act_have_a_test_of_it() -> None:
    for name, test in ACTS.items():
        path, function = test.split("::")
        assert f"def {function}(" in (TESTS / path).read_text(encoding="utf-8"), name


def test_nothing_here_reads_what_is_inherited() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in SOURCES.glob("*.py"))
    read = set(re.findall(r"args\.(\w+)", sources))
    assert "group_max_grad_norm" in read
    assert read & set(inherited()) == set()


WRONG = {
    "label_names": ["labels"],
    "length_column_name": "size",
    "liger_kernel_config": {"rope": True},
    "past_index": 0,
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_fields_are_named(tmp_path: Path, name: str, recwarn: pytest.WarningsRecorder) -> None:
    if name not in FIELDS:
        pytest.skip("a field of the other generation")
    usual, _ = REFUSED[name]
    value = WRONG.get(name, not usual)
    with pytest.raises(ValueError, match=f"^{name} must be {re.escape(repr(usual))}, not {re.escape(repr(value))}: "):
        CorefELTrainingArguments(str(tmp_path), use_cpu=True, **{name: value})
    assert getattr(CorefELTrainingArguments(str(tmp_path), use_cpu=True, **{name: usual}), name) == usual


def test_refused_is_the_default_of_transformers(tmp_path: Path) -> None:
    plain = TrainingArguments(str(tmp_path), use_cpu=True, report_to="none")
    for name, (usual, _) in REFUSED.items():
        # Documents make no use of it, so that the default there is not what it must be here.
        assert name == "remove_unused_columns" or getattr(plain, name, usual) == usual, name


def test_debugging_that_cannot_read_masks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^debug must not name 'underflow_overflow'"):
        CorefELTrainingArguments(str(tmp_path), use_cpu=True, debug="underflow_overflow")
    with pytest.raises(ValueError, match=r"^include_for_metrics must not name 'inputs'"):
        CorefELTrainingArguments(str(tmp_path), use_cpu=True, include_for_metrics=["inputs"])


# Effects of what passes through the package's own code -----------------------------------------------------


def losses(trainer: CorefELTrainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_batch_size_is_found(make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    compute_loss = CorefELTrainer.compute_loss

    def limited(self: CorefELTrainer, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        sizes.append(len(inputs["document_index"]))
        if sizes[-1] > 1:
            raise RuntimeError("CUDA out of memory.")
        return compute_loss(self, model, inputs, *args, **kwargs)

    monkeypatch.setattr(CorefELTrainer, "compute_loss", limited)
    trainer = make_trainer(max_steps=2, per_device_train_batch_size=2, auto_find_batch_size=True)
    trainer.train()
    assert sizes == [2, 1, 1] and len(losses(trainer)) == 2


def test_noise_changes_the_losses(make_trainer: MakeTrainer) -> None:
    plain, noisy = make_trainer(max_steps=1), make_trainer(max_steps=1, neftune_noise_alpha=50.0)
    plain.train(), noisy.train()
    assert abs(losses(plain)[0] - losses(noisy)[0]) > 0.1


@pytest.fixture
def _own_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # TrainingArguments of transformers 4 sets it for the whole process, and the state is one for all trainers.
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.usefixtures("_own_state")
@pytest.mark.parametrize(("name", "dtype"), [("bf16_full_eval", torch.bfloat16), ("fp16_full_eval", torch.float16)])
def test_evaluation_in_half_precision(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], name: str, dtype: torch.dtype
) -> None:
    expected = make_trainer(tiny_model()).evaluate()["eval_loss"]
    trainer = make_trainer(tiny_model(), **{name: True})
    assert trainer.evaluate()["eval_loss"] == pytest.approx(expected, rel=0.05)
    assert {parameter.dtype for parameter in trainer.model.parameters()} == {dtype}


def test_full_determinism_is_possible(make_trainer: MakeTrainer) -> None:
    try:
        trainer = make_trainer(max_steps=2, full_determinism=True)
        assert torch.are_deterministic_algorithms_enabled()
        trainer.train()
    finally:
        torch.use_deterministic_algorithms(False)
    assert len(losses(trainer)) == 2


def test_tokens_are_counted(make_trainer: MakeTrainer, tiny_documents: list[Document]) -> None:
    options: dict[str, Any] = {"include_num_input_tokens_seen": "non_padding"}
    if "include_tokens_per_second" in FIELDS:
        options["include_tokens_per_second"] = True
    trainer = make_trainer(max_steps=1, per_device_train_batch_size=3, **options)
    trainer.train()
    mask = trainer.processor(tiny_documents, gold=True).inputs["attention_mask"]
    assert trainer.state.num_input_tokens_seen == int(mask.sum())
    if "include_tokens_per_second" in FIELDS:
        assert trainer.state.log_history[-1]["train_tokens_per_second"] > 0


def test_ways_of_gathering_and_loading_change_nothing(make_trainer: MakeTrainer) -> None:
    plain = make_trainer(max_steps=2)
    other = make_trainer(
        max_steps=2,
        eval_use_gather_object=True,
        eval_accumulation_steps=1,
        dataloader_num_workers=1,
        dataloader_persistent_workers=True,
        dataloader_prefetch_factor=2,
    )
    for trainer in (plain, other):
        trainer.train()
    assert losses(other) == losses(plain)
    (expected, found) = (trainer.evaluate() for trainer in (plain, other))
    assert {n: v for n, v in found.items() if n.endswith(("_f1", "_loss"))} == {
        n: v for n, v in expected.items() if n.endswith(("_f1", "_loss"))
    }


def test_last_batch_is_dropped_and_the_order_has_a_seed(make_trainer: MakeTrainer) -> None:
    documents = [Document("Oslo " * (1 + n), id=f"d{n}", clusters=[]) for n in range(9)]

    def order(**options: Any) -> list[int]:
        trainer = make_trainer(train_dataset=documents, per_device_train_batch_size=2, **options)
        return [index for batch in trainer.get_train_dataloader() for index in batch["document_index"].tolist()]

    assert len(order()) == 9 and len(order(dataloader_drop_last=True)) == 8
    assert order(data_seed=1) == order(data_seed=1) != order(data_seed=2)
