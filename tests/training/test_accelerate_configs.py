"""The files in examples/accelerate say what they mean to, read by accelerate's own parser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import FullyShardedDataParallelPlugin
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.deepspeed import HfDeepSpeedConfig
from accelerate.utils.launch import prepare_multi_gpu_env, prepare_simple_launcher_cmd_env
from transformers import AutoConfig, AutoModel, Trainer

from hf_corefel import CorefELModel, CorefELTrainer
from hf_corefel.layers import indivisible_modules

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "accelerate"

SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 20}


def _launched(name: str) -> Any:
    """The arguments of ``accelerate launch --config_file``, completed by the file."""
    arguments = launch_command_parser().parse_args(["--config_file", str(FOLDER / name), "train.py"])
    return _validate_launch_command(arguments)[0]


@pytest.mark.parametrize(
    ("name", "kind", "processes"),
    [
        ("cpu.yaml", "NO", 1),
        ("two_gpu.yaml", "MULTI_GPU", 2),
        ("fsdp.yaml", "FSDP", 2),
        ("deepspeed_zero2.yaml", "DEEPSPEED", 2),
    ],
)
def test_every_file_is_valid_for_accelerate(name: str, kind: str, processes: int) -> None:
    config = load_config_from_file(str(FOLDER / name))
    assert config.distributed_type == kind
    assert (config.num_processes, config.num_machines) == (processes, 1)
    assert config.use_cpu is (kind == "NO")
    launched = _launched(name)
    assert launched.num_processes == processes
    assert (launched.multi_gpu, launched.use_fsdp, launched.use_deepspeed) == (
        kind == "MULTI_GPU",
        kind == "FSDP",
        kind == "DEEPSPEED",
    )


def test_no_file_is_without_a_test_or_a_word() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {
        "README.md", "cpu.yaml", "two_gpu.yaml", "fsdp.yaml", "deepspeed_zero2.yaml", "deepspeed_zero2.json"
    }  # fmt: skip
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(name in text for name in names - {"README.md"})


def test_cpu_file_keeps_off_the_gpu() -> None:
    _, environment = prepare_simple_launcher_cmd_env(_launched("cpu.yaml"))
    assert environment["ACCELERATE_USE_CPU"].lower() == "true"


def test_fsdp_file_makes_a_unit_of_every_encoder_layer(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Callable[..., CorefELModel]
) -> None:
    for name, value in prepare_multi_gpu_env(_launched("fsdp.yaml")).items():
        if name.startswith("FSDP_"):
            monkeypatch.setenv(name, value)
    plugin = FullyShardedDataParallelPlugin()
    assert plugin.fsdp_version == 2 and plugin.reshard_after_forward is True
    model = tiny_model()
    plugin.set_auto_wrap_policy(model)
    wrapped = [name for name, module in model.named_modules() if plugin.auto_wrap_policy(module, False, 0)]
    assert {"encoder.model.encoder.layer.0", "encoder.model.encoder.layer.1"} <= set(wrapped)
    # The task layers use parameters of one another outside of forward(): they stay in the outermost unit.
    assert all(name.startswith("encoder.model.") for name in wrapped)


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta-v2", "electra", "xlm-roberta", "modernbert"])
def test_indivisible_modules_exist_and_include_the_layers(kind: str) -> None:
    extra = {"pad_token_id": 0} | ({"global_attn_every_n_layers": 1} if kind == "modernbert" else {})
    encoder = AutoModel.from_config(AutoConfig.for_model(kind, **SMALL, **extra))
    names = indivisible_modules(encoder)
    assert names and set(names) <= {type(module).__name__ for module in encoder.modules()}
    stack = next(module for module in encoder.modules() if isinstance(module, torch.nn.ModuleList))
    assert type(stack[0]).__name__ in names


def test_model_hands_on_the_modules_of_its_encoder(tiny_model: Callable[..., CorefELModel]) -> None:
    model = tiny_model()
    assert sorted(model._no_split_modules) == ["BertEmbeddings", "BertLayer"]


def test_encoder_that_names_no_modules_is_split_at_its_layers(tiny_model: Callable[..., CorefELModel]) -> None:
    encoder = tiny_model().encoder.model
    encoder._no_split_modules = None
    assert indivisible_modules(encoder) == ["BertLayer"]
    encoder._no_split_modules = ["OfAnotherRelease"]
    assert indivisible_modules(encoder) == ["BertLayer"]
    assert indivisible_modules(torch.nn.Linear(2, 2)) == []


def test_deepspeed_file_is_stage_2_and_leaves_the_rest_to_the_trainer() -> None:
    path = _launched("deepspeed_zero2.yaml").deepspeed_config_file
    config = HfDeepSpeedConfig(str(ROOT / path))
    assert config.is_zero2() and not config.is_offload()
    values = json.loads((ROOT / path).read_text(encoding="utf-8"))
    # The trainer brings both: they would otherwise lose the rates of encoder and task layers.
    assert not {"optimizer", "scheduler"} & values.keys()
    assert {key for key, value in values.items() if value == "auto"} == {
        "gradient_accumulation_steps",
        "gradient_clipping",
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
    }


@pytest.mark.parametrize(
    ("deepspeed", "version", "refused"), [(True, None, True), (False, 1, True), (False, 2, False), (False, None, False)]
)
def test_groups_are_not_clipped_where_ranks_hold_parts_of_the_gradient(
    make_trainer: Callable[..., CorefELTrainer],
    monkeypatch: pytest.MonkeyPatch,
    deepspeed: bool,
    version: int | None,
    refused: bool,
) -> None:
    """The norm of a part is not that of the whole, so each rank would scale its part by a factor of its own."""
    trainer, off = make_trainer(), make_trainer(group_max_grad_norm=0.0)
    for each in (trainer, off):
        each.is_deepspeed_enabled, each.is_fsdp_enabled = deepspeed, version is not None
    if version is not None:
        plugin = FullyShardedDataParallelPlugin(fsdp_version=version)
        monkeypatch.setitem(trainer.accelerator.state.__dict__, "fsdp_plugin", plugin)
    assert not off.create_optimizer()._optimizer_step_pre_hooks
    if refused:
        with pytest.raises(ValueError, match="group_max_grad_norm must be 0"):
            trainer.create_optimizer()
    else:
        assert len(trainer.create_optimizer()._optimizer_step_pre_hooks) == 1


@pytest.mark.parametrize("kind", [None, "is_fsdp_enabled", "is_deepspeed_enabled"])
def test_one_rank_alone_takes_no_fingerprint_of_a_model_in_parts(
    make_trainer: Callable[..., CorefELTrainer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str | None
) -> None:
    """It would wait for the others in the model's first layer."""
    trainer = make_trainer()
    saved: list[set[str]] = []

    def push(self: Trainer, **unused: Any) -> None:
        self.save_model(str(tmp_path), _internal_call=True)
        saved.append({path.name for path in tmp_path.iterdir()} & {"fingerprint.json", "hf_corefel_stub.py"})

    # The ways of saving in parts want ranks that hold them.
    monkeypatch.setattr(Trainer, "save_model", lambda self, folder, **unused: self._save(folder))
    monkeypatch.setattr(Trainer, "push_to_hub", push)
    if kind is not None:
        setattr(trainer, kind, True)
    trainer.push_to_hub()
    assert saved == [{"hf_corefel_stub.py"} if kind else {"fingerprint.json", "hf_corefel_stub.py"}]


def test_nothing_is_added_where_no_model_was_saved(
    make_trainer: Callable[..., CorefELTrainer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """FSDP with ``SHARDED_STATE_DICT`` saves none."""
    trainer, folder = make_trainer(), tmp_path / "empty"
    folder.mkdir()
    monkeypatch.setattr(Trainer, "save_model", lambda *unused, **also_unused: None)
    monkeypatch.setattr(Trainer, "push_to_hub", lambda self: self.save_model(str(folder), _internal_call=True))
    trainer.push_to_hub()
    assert list(folder.iterdir()) == []
