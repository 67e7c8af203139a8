"""Adapters of PEFT: put on in every usual way, trained, resumed, saved and loaded, or refused by name."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModel

from hf_corefel import (
    CorefELModel,
    CorefELPipeline,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
)
from hf_corefel.training.optimisation import encoder_parameters, make_groups

HEADS = ["spans", "pruner", "pairs", "entities"]
TARGETS = ["query", "value"]


@pytest.fixture(autouse=True)
def same_numbers() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def model(tiny_folder: Path) -> CorefELModel:
    return CorefELModel.from_pretrained(tiny_folder)


@pytest.fixture
def scores(tiny_folder: Path, tiny_documents: list[Document]) -> Callable[[Any], dict[str, Tensor]]:
    """What a model says of the tiny documents, in numbers."""
    batch = CorefELProcessor.from_pretrained(tiny_folder)(tiny_documents)

    def run(model: Any) -> dict[str, Tensor]:
        with torch.no_grad():
            output = model.eval()(**batch.inputs)
        return {name: output[name] for name in ("span_scores", "link", "pair")}

    return run


def close(left: dict[str, Tensor], right: dict[str, Tensor], tolerance: float = 1e-4) -> bool:
    return all(torch.allclose(left[name], right[name], atol=tolerance, rtol=1e-4) for name in left)


def lora(model: Any, **fields: Any) -> Any:
    return get_peft_model(model, LoraConfig(**{"target_modules": TARGETS, "modules_to_save": list(HEADS), **fields}))


def shaken(model: Any) -> Any:
    """The model with all that may be trained changed, as training would."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@pytest.fixture
def adapter(model: CorefELModel, tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    shaken(lora(model)).save_pretrained(folder)
    return folder


def edit(folder: Path, **fields: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}), encoding="utf-8")


# Loading -----------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[], peft.PeftConfig]] = {
    "LoRA": lambda: LoraConfig(target_modules=TARGETS),
    "DoRA": lambda: LoraConfig(target_modules=TARGETS, use_dora=True),
    "PiSSA": lambda: LoraConfig(target_modules=TARGETS, init_lora_weights="pissa"),
    "all layers": lambda: LoraConfig(target_modules="all-linear"),
    "subwords": lambda: LoraConfig(target_modules=TARGETS, trainable_token_indices=[5, 6]),
    "AdaLoRA": lambda: peft.AdaLoraConfig(target_modules=TARGETS, total_step=10),
    "IA3": lambda: peft.IA3Config(target_modules=TARGETS, feedforward_modules=[]),
    "LoHa": lambda: peft.LoHaConfig(target_modules=TARGETS),
    "LoKr": lambda: peft.LoKrConfig(target_modules=TARGETS),
    "OFT": lambda: peft.OFTConfig(target_modules=TARGETS, r=0, oft_block_size=4),
    "HRA": lambda: peft.HRAConfig(target_modules=TARGETS),
    "VeRA": lambda: peft.VeraConfig(target_modules=TARGETS, r=4),
    "LN tuning": lambda: peft.LNTuningConfig(target_modules=["LayerNorm"]),
}
_BY_DEFAULT = ("LoRA", "DoRA", "subwords", "IA3", "OFT")


@pytest.mark.parametrize(
    "kind", [kind if kind in _BY_DEFAULT else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_every_kind_is_loaded_as_it_was(kind: str, model: CorefELModel, scores: Any, tmp_path: Path) -> None:
    before = scores(model)
    adapted = shaken(get_peft_model(model, KINDS[kind]()))
    expected = scores(adapted)
    assert not close(before, expected)
    adapted.save_pretrained(tmp_path)
    for load in (CorefELModel.from_pretrained, AutoModel.from_pretrained):
        loaded = load(tmp_path)
        assert type(loaded) is CorefELModel
        assert close(scores(loaded), expected)
        assert set(loaded.state_dict()) == set(CorefELModel(loaded.config).state_dict()), "nothing of PEFT is left"
        assert loaded.name_or_path == str(tmp_path)
        assert not loaded.training and all(value.requires_grad for value in loaded.parameters())


@pytest.mark.parametrize("task", [None, *(each for each in peft.TaskType if each not in ("CAUSAL_LM", "SEQ_2_SEQ_LM"))])
def test_every_task_type_gives_the_loss_of_the_model(
    task: str | None, model: CorefELModel, tiny_folder: Path, tiny_documents: list[Document]
) -> None:
    batch = CorefELProcessor.from_pretrained(tiny_folder)(tiny_documents, gold=True)
    expected = model(**batch.inputs).loss
    adapted = lora(model, task_type=task)
    assert adapted(**batch.inputs).loss.item() == pytest.approx(expected.item(), abs=1e-5)


def test_arguments_that_mean_something_are_refused(model: CorefELModel, tiny_folder: Path) -> None:
    batch = CorefELProcessor.from_pretrained(tiny_folder)("Anna Berg met Carl Moss.")
    model(**batch.inputs, inputs_embeds=None, return_dict=True)
    with pytest.raises(TypeError, match="inputs_embeds"):
        model(**batch.inputs, inputs_embeds=torch.zeros(1))


def test_an_adapter_that_is_whole_loads_without_a_warning(adapter: Path, recwarn: pytest.WarningsRecorder) -> None:
    model = CorefELModel.from_pretrained(adapter)
    assert not [str(each.message) for each in recwarn if "weights" in str(each.message)]
    assert model.untrained_weights() == []


def _take_out(folder: Path) -> None:
    weights = load_file(folder / "adapter_model.safetensors")
    del weights[min(weights)]
    save_file(weights, folder / "adapter_model.safetensors")


def _add(folder: Path) -> None:
    weights = load_file(folder / "adapter_model.safetensors")
    save_file({**weights, "base_model.model.entities.nil": torch.zeros(3)}, folder / "adapter_model.safetensors")


def _cut(folder: Path) -> None:
    path = folder / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def _as_pickle(folder: Path) -> None:
    torch.save(load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
    (folder / "adapter_model.safetensors").unlink()


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "no base": (lambda f: edit(f, base_model_name_or_path=None), r"adapter_config\.json: base_model_name_or_path"),
    "base that is gone": (lambda f: edit(f, base_model_name_or_path="/nowhere/model"), "no folder /nowhere/model"),
    "base that leads back": (lambda f: edit(f, base_model_name_or_path=str(f)), "leads back to"),
    "base of another size": (lambda f: _other_base(f), "cannot be merged into"),
    "prompts": (lambda f: edit(f, peft_type="PROMPT_TUNING"), r"adapter_config\.json: peft_type"),
    "kind that nobody knows": (lambda f: edit(f, peft_type="EVIL"), r"adapter_config\.json: peft_type"),
    "code of a package": (lambda f: edit(f, megatron_config={"a": 1}), r"adapter_config\.json: megatron_config"),
    "files of its own": (lambda f: edit(f, init_lora_weights="corda"), r"adapter_config\.json: init_lora_weights"),
    "huge rank": (lambda f: edit(f, r=10**9), r"r is 1000000000"),
    "another rank": (lambda f: edit(f, r=3), r"adapter_model\.safetensors"),
    "no JSON": (lambda f: (f / "adapter_config.json").write_text("{"), r"adapter_config\.json"),
    "weights that are missing": (_take_out, r"1 weights are missing"),
    "weights that are beyond": (_add, r"1 weights are not the model's"),
    "weights that are cut": (_cut, r"adapter_model\.safetensors: damaged"),
    "pickles": (_as_pickle, r"there is no adapter_model\.safetensors"),
    "beside a model": (lambda f: (f / "config.json").write_text("{}"), "in the folder of a whole model"),
}


# What transformers itself meets with when it looks for the base.
FOUND_BY_TRANSFORMERS = ("no base", "base that is gone", "base that leads back", "no JSON", "beside a model")


def _other_base(folder: Path) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    base = CorefELModel.from_pretrained(config["base_model_name_or_path"], head="standalone_coref")
    other = folder.parent / "other"
    del base.entities
    base.config.head_modules = ["pairs", "pair_root"]
    base._modules_of_heads = {"pairs", "pair_root"}
    base.save_pretrained(other)
    edit(folder, base_model_name_or_path=str(other))


@pytest.mark.parametrize("name", SPOILT)
@pytest.mark.parametrize("load", [CorefELModel.from_pretrained, AutoModel.from_pretrained], ids=["ours", "auto"])
def test_what_cannot_be_loaded_is_refused_by_name(name: str, load: Any, adapter: Path) -> None:
    spoil, message = SPOILT[name]
    spoil(adapter)
    if load == AutoModel.from_pretrained and name in FOUND_BY_TRANSFORMERS:
        pytest.skip("transformers looks for the base before it asks us")
    with pytest.raises(ValueError, match=message):
        load(adapter)


def test_the_bundled_checkpoint_is_found_on_another_machine(adapter: Path) -> None:
    from hf_corefel import bundled_checkpoint
    from hf_corefel.loading.adapters import adapters_of
    from hf_corefel.loading.repositories import HubOptions

    edit(adapter, base_model_name_or_path="/opt/python/site-packages/hf_corefel/checkpoints/minilm-l6")
    assert adapters_of(str(adapter), HubOptions())[0] == bundled_checkpoint()


# Saving ------------------------------------------------------------------------------------------------


def test_saving_a_model_with_adapters_leaves_them_in_it(model: CorefELModel, scores: Any, tmp_path: Path) -> None:
    encoder: Any = model.encoder
    encoder.model = shaken(get_peft_model(encoder.model, LoraConfig(target_modules=TARGETS)))
    expected, names = scores(model), set(model.state_dict())
    model.save_pretrained(tmp_path)
    assert set(model.state_dict()) == names
    assert all(torch.equal(scores(model)[name], expected[name]) for name in expected)
    assert close(scores(CorefELModel.from_pretrained(tmp_path)), expected)


def test_an_adapter_that_was_loaded_into_a_model_is_saved_with_it(
    adapter: Path, tiny_folder: Path, scores: Any, tmp_path: Path
) -> None:
    expected = scores(CorefELModel.from_pretrained(adapter))
    live = CorefELModel.from_pretrained(tiny_folder)
    live.load_adapter(str(adapter))
    assert close(scores(live), expected)
    live.save_pretrained(tmp_path / "model")
    assert close(scores(CorefELModel.from_pretrained(tmp_path / "model")), expected)


def test_adapters_that_are_switched_off_are_not_saved(model: CorefELModel, scores: Any, tmp_path: Path) -> None:
    before, encoder = scores(model), model.encoder
    encoder.model = shaken(get_peft_model(encoder.model, LoraConfig(target_modules=TARGETS)))  # type: ignore[arg-type]
    with encoder.model.disable_adapter():
        assert close(scores(model), before)
        model.save_pretrained(tmp_path)
    assert close(scores(CorefELModel.from_pretrained(tmp_path)), before)


def test_an_adapter_that_cannot_be_merged_is_not_saved(model: CorefELModel, tmp_path: Path) -> None:
    encoder: Any = model.encoder
    encoder.model = get_peft_model(
        encoder.model, peft.PrefixTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=2)
    )
    with pytest.raises(ValueError, match="PREFIX_TUNING"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_merged_model_takes_the_place_of_its_adapter(adapter: Path, scores: Any) -> None:
    model = CorefELModel.from_pretrained(adapter)
    model.save_pretrained(adapter)
    assert not (adapter / "adapter_config.json").exists()
    assert close(scores(CorefELModel.from_pretrained(adapter)), scores(model))


REPLACED: dict[str, Callable[[Any], object]] = {
    "parametrised": lambda model: nn.utils.parametrizations.weight_norm(model.pairs.child),
    "replaced": lambda model: setattr(model.pairs, "child", nn.Linear(3, 3)),
    "taken out": lambda model: setattr(model.pairs, "distance", nn.Identity()),
    "quantised": lambda model: torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, inplace=True),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", REPLACED)
def test_a_model_that_would_load_as_another_is_not_saved(name: str, model: CorefELModel, tmp_path: Path) -> None:
    REPLACED[name](model)
    with pytest.raises(ValueError, match=r"save_pretrained: (the model|weights of torch's quantize_dynamic)"):
        model.save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_pickles_are_not_written(model: CorefELModel, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="safe_serialization"):
        model.save_pretrained(tmp_path, safe_serialization=False)


# Training ----------------------------------------------------------------------------------------------

WRAPPED: dict[str, Callable[[CorefELModel], nn.Module]] = {
    "as it is": lambda model: model,
    "PEFT": lambda model: lora(model),
    "PEFT of a task": lambda model: lora(model, task_type="TOKEN_CLS"),
    "compiled": lambda model: torch.compile(model, backend="eager"),  # type: ignore[return-value]
    "in a wrapper": lambda model: nn.ModuleDict({"module": model}),
    "prompts": lambda model: _with_prompts(model),
}


def _with_prompts(model: CorefELModel) -> nn.Module:
    encoder: Any = model.encoder
    encoder.model = get_peft_model(
        encoder.model, peft.PromptTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=2)
    )
    return model


@pytest.mark.parametrize("name", WRAPPED)
def test_rates_go_by_what_a_parameter_belongs_to(name: str, model: CorefELModel, tmp_path: Path) -> None:
    wrapped = WRAPPED[name](model)
    args = CorefELTrainingArguments(str(tmp_path), use_cpu=True, report_to="none")
    groups = {group["name"]: group["params"] for group in make_groups(wrapped, args)}
    known = encoder_parameters(wrapped)
    assert all(each in known for side in ("matrices", "vectors") for each in groups.get(side, []))
    for parameter in [each for each in wrapped.parameters() if each.requires_grad]:
        names = [n for n, value in wrapped.named_parameters() if value is parameter]
        in_task = any(parameter is each for each in groups.get("task", []))
        assert in_task != any("encoder." in n or "prompt_encoder" in n for n in names), names
    trainable = sum(each.requires_grad for each in wrapped.parameters())
    assert sum(map(len, groups.values())) == trainable > 0


PUT_ON: dict[str, Callable[[CorefELModel], Any]] = {
    "around the model": lambda model: lora(model),
    "around the model, heads by hand": lambda model: _heads_by_hand(lora(model, modules_to_save=None)),
    "in the encoder": lambda model: _in_the_encoder(model),
}


def _heads_by_hand(model: Any) -> Any:
    for name in HEADS:
        getattr(model.get_base_model(), name).requires_grad_(True)
    return model


def _in_the_encoder(model: CorefELModel) -> CorefELModel:
    peft.inject_adapter_in_model(LoraConfig(target_modules=TARGETS), model.encoder.model)  # type: ignore[arg-type]
    return model


@pytest.mark.parametrize("name", PUT_ON)
def test_resuming_goes_on_bit_by_bit(
    name: str, tiny_folder: Path, tiny_documents: list[Document], scores: Any, tmp_path: Path
) -> None:
    def trainer(**arguments: Any) -> CorefELTrainer:
        torch.manual_seed(3)
        model = PUT_ON[name](CorefELModel.from_pretrained(tiny_folder))
        settings = {"max_steps": 4, "save_steps": 2, "use_cpu": True, "report_to": "none", "disable_tqdm": True}
        settings |= {"encoder_learning_rate": 1e-2, "task_learning_rate": 1e-2, **arguments}
        args = CorefELTrainingArguments(str(tmp_path / "run"), **settings)
        processor = CorefELProcessor.from_pretrained(tiny_folder)
        return CorefELTrainer(model, args, processor, train_dataset=tiny_documents, eval_dataset=tiny_documents)

    whole = trainer()
    whole.train()
    expected = scores(whole.model)
    resumed = trainer()
    resumed.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-2"))
    found = scores(resumed.model)
    assert all(torch.equal(found[each], expected[each]) for each in expected)
    assert close(scores(CorefELModel.from_pretrained(tmp_path / "run" / "checkpoint-4")), expected)
    best = trainer(load_best_model_at_end=True, eval_strategy="steps", eval_steps=2, metric_for_best_model="eval_loss")
    best.train()
    kept = scores(CorefELModel.from_pretrained(str(best.state.best_model_checkpoint)))
    assert close(scores(best.model), kept)


def test_resuming_takes_the_base_that_the_checkpoint_has(
    tiny_model: Any, tiny_folder: Path, tiny_documents: list[Document], scores: Any, tmp_path: Path
) -> None:
    """One that was never saved elsewhere is drawn anew by the script that is started again."""
    settings = {"max_steps": 4, "save_steps": 2, "use_cpu": True, "report_to": "none", "disable_tqdm": True}
    args = CorefELTrainingArguments(str(tmp_path / "run"), **settings, encoder_learning_rate=1e-2)
    processor = CorefELProcessor.from_pretrained(tiny_folder)

    def trainer(**fields: Any) -> CorefELTrainer:
        torch.manual_seed(3)
        adapted = lora(tiny_model(**fields), modules_to_save=None)
        return CorefELTrainer(adapted, args, processor, train_dataset=tiny_documents)

    whole, resumed = trainer(seed=1), trainer(seed=2)
    whole.train()
    resumed.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-2"))
    found, expected = scores(resumed.model), scores(whole.model)
    assert all(torch.equal(found[each], expected[each]) for each in expected)
    with pytest.raises(ValueError, match=r"base_model: the weight \S+ is not that of the model"):
        trainer(mention_ffnn_size=16).train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-2"))


def test_a_saved_base_is_not_saved_again(
    model: CorefELModel, tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path
) -> None:
    processor = CorefELProcessor.from_pretrained(tiny_folder)
    args = CorefELTrainingArguments(str(tmp_path / "run"), use_cpu=True, report_to="none")
    CorefELTrainer(lora(model), args, processor, train_dataset=tiny_documents).save_model(str(tmp_path / "final"))
    assert not (tmp_path / "final" / "base_model").exists()
    changed = CorefELModel.from_pretrained(tiny_folder, head="local")
    CorefELTrainer(lora(changed), args, processor, train_dataset=tiny_documents).save_model(str(tmp_path / "final"))
    assert CorefELModel.from_pretrained(tmp_path / "final").config.head == "local"
    # A whole model takes the place of both.
    CorefELTrainer(changed, args, processor, train_dataset=tiny_documents)
    plain = CorefELModel.from_pretrained(tiny_folder)
    CorefELTrainer(plain, args, processor, train_dataset=tiny_documents).save_model(str(tmp_path / "final"))
    assert not list((tmp_path / "final").glob("adapter*")) and not (tmp_path / "final" / "base_model").exists()
    assert CorefELModel.from_pretrained(tmp_path / "final").config.head == "global"


Save = Callable[..., None]


@pytest.fixture
def save(tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path) -> Save:
    """Saves a model as a trainer of it does."""
    processor = CorefELProcessor.from_pretrained(tiny_folder)
    args = CorefELTrainingArguments(str(tmp_path / "run"), use_cpu=True, report_to="none")

    def run(model: Any, folder: Path) -> None:
        CorefELTrainer(model, args, processor, train_dataset=tiny_documents).save_model(str(folder))

    return run


@pytest.mark.parametrize("start", ["base_model", "."])
def test_an_adapter_that_is_trained_further_keeps_its_base(
    start: str, tiny_folder: Path, scores: Any, save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put on the base beside it, or on what it was merged into, and takes the earlier one's place."""
    monkeypatch.chdir(tmp_path)
    folder = Path("adapter")
    save(shaken(lora(CorefELModel.from_pretrained(tiny_folder, head="local"))), folder)
    for _ in range(2):
        adapted = shaken(lora(CorefELModel.from_pretrained(folder / start)))
        save(adapted, folder)
        assert close(scores(CorefELModel.from_pretrained(folder)), scores(adapted))
    moved = folder.rename("moved").absolute()
    monkeypatch.chdir("/")
    assert close(scores(CorefELModel.from_pretrained(moved)), scores(adapted))
    # A whole model has no use for it, unless it is still made of it.
    plain = CorefELModel.from_pretrained(moved / "base_model")
    edit(moved, base_model_name_or_path=str(moved / "base_model"))
    save(plain, moved)
    assert (moved / "base_model" / "model.safetensors").exists()


@pytest.mark.parametrize("whole", [True, False])
def test_the_base_of_an_adapter_takes_the_place_of_no_other_model(
    tiny_folder: Path, save: Save, tmp_path: Path, whole: bool
) -> None:
    """Neither of one that the user has put there, nor of one that the adapter is put on."""
    folder = tmp_path / "mine"
    start = shutil.copytree(tiny_folder, folder / "base_model")
    if whole:
        save(lora(CorefELModel.from_pretrained(start)), folder)
        save(CorefELModel.from_pretrained(tiny_folder), folder)
    else:
        (start / "processor_config.json").unlink()
        save(lora(CorefELModel.from_pretrained(start)), folder)
    before = {path: path.read_bytes() for path in start.rglob("*") if path.is_file()}
    for _ in range(2):
        save(lora(CorefELModel.from_pretrained(start, head="local")), folder)
        assert {path: path.read_bytes() for path in start.rglob("*") if path.is_file()} == before
        assert CorefELModel.from_pretrained(folder).config.head == "local"
        assert [path.name for path in sorted(folder.glob("base*"))] == ["base_model", "base_model_2"]
    moved = folder.rename(tmp_path / "moved")
    assert CorefELModel.from_pretrained(moved).config.head == "local"
    save(CorefELModel.from_pretrained(tiny_folder), moved)
    save(lora(CorefELModel.from_pretrained(moved)), moved)
    assert CorefELModel.from_pretrained(moved).config.head == "global"


def test_a_pipeline_takes_a_model_with_an_adapter(
    model: CorefELModel, tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path
) -> None:
    processor = CorefELProcessor.from_pretrained(tiny_folder)
    adapted = shaken(lora(model))
    found = CorefELPipeline(model=adapted, processor=processor)(tiny_documents[0].text)
    merged = copy.deepcopy(adapted).merge_and_unload()
    assert CorefELPipeline(model=merged, processor=processor)(tiny_documents[0].text)["clusters"]
    assert [c["entity"] for c in found["clusters"]] == [
        c["entity"] for c in CorefELPipeline(model=merged, processor=processor)(tiny_documents[0].text)["clusters"]
    ]
    further = PeftModel.from_pretrained(CorefELModel.from_pretrained(tiny_folder), _saved(adapted, tmp_path))
    again = CorefELPipeline(model=further, processor=processor)(tiny_documents[0].text)
    assert [c["mentions"] for c in again["clusters"]] == [c["mentions"] for c in found["clusters"]]


def _saved(adapted: Any, folder: Path) -> str:
    shutil.rmtree(folder / "again", ignore_errors=True)
    adapted.save_pretrained(folder / "again")
    return str(folder / "again")
