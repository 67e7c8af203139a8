"""A saved model takes an earlier one's place as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hf_corefel import CorefELModel, CorefELProcessor, CorefELTrainer
from hf_corefel.training.whole_folder import replaced_model
from hf_corefel.utils.files import FileBusyError

MakeTrainer = Callable[..., CorefELTrainer]


def _content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_full_disk_leaves_the_earlier_model(
    make_trainer: MakeTrainer,
    tiny_model: Callable[..., CorefELModel],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Half saved it would be the new configuration on the old weights."""
    folder = tmp_path / "model"
    make_trainer(tiny_model(head="global")).save_model(str(folder))
    before = _content(folder)

    def full(*unused: object, **also_unused: object) -> None:
        raise OSError(28, "No space left on device")

    for owner in (CorefELModel, CorefELProcessor):
        trainer = make_trainer(tiny_model(head="local"))
        with monkeypatch.context() as patched:
            patched.setattr(owner, "save_pretrained", full)
            with pytest.raises(OSError, match="No space left"):
                trainer.save_model(str(folder))
        assert _content(folder) == before
    assert CorefELModel.from_pretrained(folder).config.head == "global"


def test_new_model_takes_the_place_of_all_of_the_earlier_one(
    make_trainer: MakeTrainer, tiny_model: Callable[..., CorefELModel], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    first = make_trainer(tiny_model(seed=1))
    first.save_model(str(folder))
    names = set(_content(folder))
    (folder / "README.md").write_text("A card.")
    (folder / "fingerprint.json").write_text("{}")
    # Weights in parts would otherwise be overlooked for the earlier whole, or the other way round.
    first.model.save_pretrained(folder, max_shard_size="30KB")
    (folder / ".saving").mkdir()
    second = make_trainer(tiny_model(seed=2, head="local"))
    second.save_model(str(folder))
    assert set(_content(folder)) == names | {"README.md"}
    loaded = CorefELModel.from_pretrained(folder)
    assert loaded.config.head == "local"
    assert loaded.state_dict()["pruner.project.weight"].equal(second.model.state_dict()["pruner.project.weight"])
    assert CorefELProcessor.from_pretrained(folder).settings == second.processor.settings


def test_what_is_not_of_the_earlier_model_stays(
    make_trainer: MakeTrainer,
    tiny_model: Callable[..., CorefELModel],
    tiny_processor: Callable[..., CorefELProcessor],
    tmp_path: Path,
) -> None:
    """A starting model of the user's may lie in the run's folder, and vectors of their own beside it."""
    folder, model = tmp_path / "mine", tiny_model()
    for part in (model, tiny_processor(model.config)):
        part.save_pretrained(folder / "base_model")
    (folder / "vectors.safetensors").write_bytes(b"mine")
    own = _content(folder)
    for start in (CorefELModel.from_pretrained(folder / "base_model"), model):
        trainer = make_trainer(start)
        for _ in range(2):
            trainer.save_model(str(folder))
            assert own.items() <= _content(folder).items()
    for stale in ("model-00001-of-00002.safetensors", "adapter_model.safetensors", "unmerged.safetensors"):
        (folder / stale).write_bytes(b"of before")
    trainer.save_model(str(folder))
    assert {path.name for path in folder.glob("*.safetensors")} == {"model.safetensors", "vectors.safetensors"}


def test_folder_is_saved_by_one_at_a_time(tmp_path: Path) -> None:
    with replaced_model(tmp_path / "model"), pytest.raises(FileBusyError), replaced_model(tmp_path / "model"):
        pass
    assert list((tmp_path / "model").iterdir()) == []
