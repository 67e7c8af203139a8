"""A `transformers.Trainer` whose checkpoints and saved models are whole or not there."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from safetensors.torch import load_model, save_model
from torch import nn
from transformers import Trainer, TrainerState
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, TrainOutput
from transformers.utils import logging

from ..loading.adapters import (
    ADAPTER_FILES,
    BASE_FOLDER,
    base_tensors,
    bundled_place,
    holds_adapters,
    is_base_folder,
    is_peft_model,
    load_base,
)
from ..loading.saved_names import untrained_in
from ..pretrained_corefel import CorefELPreTrainedModel
from ..utils.json_files import read_json_object
from .checkpoints import (
    STATE_FILE,
    BrokenCheckpointError,
    begin_checkpoint,
    check_checkpoint,
    complete_checkpoint,
    lacks_optimizer,
    newest_whole_checkpoint,
    rotate_checkpoints,
)
from .whole_folder import UNMERGED_FILE, lies_within, place_for_base, replaced_model

__all__ = ["WholeSavingTrainer"]

logger = logging.get_logger(__name__)


class WholeSavingTrainer(Trainer):
    """Resumes from whole checkpoints only, and never gives up a whole one or a saved model for half of another."""

    # What ``args.save_total_limit`` is, while it is hidden from the base class.
    _hidden_limit: int | None = None
    _is_checkpoint = False
    # Whether what is saved is for the Hub.
    _pushing = False

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        if resume_from_checkpoint:
            resume_from_checkpoint = self._whole_checkpoint(resume_from_checkpoint)
            state = TrainerState.load_from_json(str(Path(resume_from_checkpoint) / STATE_FILE))
            if self._is_finished(state):
                return self._take_up_finished(resume_from_checkpoint, state)
            if lacks_optimizer(resume_from_checkpoint) and self.is_world_process_zero():
                logger.warning(
                    "%s has the model alone (save_only_model=True): training goes on at step %d with a new optimizer, "
                    "and the schedule of the learning rates begins anew and does not come to its end",
                    resume_from_checkpoint,
                    state.global_step,
                )
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def _is_finished(self, state: TrainerState) -> bool:
        """Whether nothing is left to train; the base class would train one step more."""
        if state.global_step < state.max_steps or self.is_deepspeed_enabled or self.is_fsdp_enabled:
            return False
        steps = self.args.max_steps
        if steps <= 0:
            # A longer training than the saved one may be asked for.
            in_epoch = -(-len(self.get_train_dataloader()) // self.args.gradient_accumulation_steps)
            steps = math.ceil(self.args.num_train_epochs * in_epoch)
        return state.global_step >= steps

    def _take_up_finished(self, checkpoint: str, state: TrainerState) -> TrainOutput:
        if self.is_world_process_zero():
            logger.warning("%s is the end of its training; nothing is left to train", checkpoint)
        self._load_from_checkpoint(checkpoint)
        self.state = state
        if self.args.load_best_model_at_end and state.best_model_checkpoint is not None:
            self._load_best_model()
        losses = [entry["loss"] for entry in state.log_history if "loss" in entry]
        return TrainOutput(state.global_step, losses[-1] if losses else math.nan, {})

    def _whole_checkpoint(self, asked: str | bool) -> str:
        """The checkpoint to load, the same on all ranks; raises `BrokenCheckpointError`."""
        found: list[Any] = [None]
        if self.is_world_process_zero():
            try:
                if asked is True:
                    found = [str(newest_whole_checkpoint(self.args.output_dir))]
                else:
                    check_checkpoint(str(asked))
                    found = [str(asked)]
            except BrokenCheckpointError as error:
                found = [error]
        if self.accelerator.num_processes > 1:
            broadcast_object_list(found)
        if isinstance(found[0], BrokenCheckpointError):
            raise found[0]
        return str(found[0])

    def _load_best_model(self) -> None:
        try:
            self._whole_checkpoint(str(self.state.best_model_checkpoint))
        except BrokenCheckpointError as error:
            error.add_note("the best model could not be loaded; the trainer has the last one")
            raise
        unmerged = Path(self.state.best_model_checkpoint or "") / UNMERGED_FILE
        if unmerged.is_file():
            load_model(self.model, str(unmerged))
        else:
            super()._load_best_model()

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        run = Path(self._get_output_dir(trial=trial))
        folder = run / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        limit = self.args.save_total_limit
        try:
            if self.args.should_save:
                begin_checkpoint(folder)
            # Other ranks put files there too.
            self.accelerator.wait_for_everyone()
            # The base class would delete earlier checkpoints before this one is known to be whole.
            with self._limit(None):
                self._hidden_limit, self._is_checkpoint = limit, True
                super()._save_checkpoint(model, trial)
            if not self.args.push_to_hub:
                self._complete(folder)
        except Exception as error:
            if self.args.should_save:
                shutil.rmtree(folder, ignore_errors=True)
            error.add_note(f"{folder} could not be saved and was removed; earlier checkpoints are as they were")
            raise
        finally:
            self._hidden_limit, self._is_checkpoint = None, False
        if self.args.should_save:
            best = self.state.best_model_checkpoint
            rotate_checkpoints(run, limit, {folder} | ({Path(best)} if best else set()))

    def _push_from_checkpoint(self, checkpoint_folder: str) -> None:
        # It comes after the last file, and what is on the Hub should be known for whole too.
        self._complete(Path(checkpoint_folder))
        super()._push_from_checkpoint(checkpoint_folder)

    def _complete(self, folder: Path) -> None:
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            complete_checkpoint(folder)

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        if not self.args.should_save:
            super()._save(output_dir, state_dict=state_dict)
            return
        folder = Path(output_dir or self.args.output_dir)
        # The saved arguments have the limit.
        limit = self._limit(self._hidden_limit or self.args.save_total_limit)
        with replaced_model(folder, origin=self._origin()) as staging, limit:
            super()._save(str(staging), state_dict=state_dict)
            is_whole = state_dict is None  # else parts of it are elsewhere
            if is_whole and is_peft_model(self.model):
                self._keep_base(staging, folder.absolute())
            if self._is_checkpoint and self._saves_less_than_it_trains():
                save_model(self.model, str(staging / UNMERGED_FILE))

    def _origin(self) -> str | None:
        """What the model, or the base of its adapter, was loaded from."""
        model = self.accelerator.unwrap_model(self.model)
        model = model.get_base_model() if is_peft_model(model) else model
        return getattr(model, "name_or_path", None)

    def _keep_base(self, staging: Path, folder: Path) -> None:
        """Has an adapter name a base that is there, which is saved beside it where that is the only place."""
        base, place = self.model.get_base_model(), Path(self._origin() or "").absolute()
        within = lies_within(self._origin(), folder)
        # What was loaded from the folder itself is about to be replaced by the adapter.
        if not base.is_as_saved() or (within and place.resolve() == folder.resolve()) or self._must_push(place, folder):
            place = place_for_base(folder, self._origin())
            base.save_without_adapters(staging / place.name)
        elif not within:
            return
        # Adapters that have names of their own lie in folders.
        for path in (*staging.glob(ADAPTER_FILES[0]), *staging.glob(f"*/{ADAPTER_FILES[0]}")):
            content = {**read_json_object(path), "base_model_name_or_path": str(place), "revision": None}
            path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def _must_push(self, base: Path, folder: Path) -> bool:
        """Whether others need a base that is on this machine only, and not among what is pushed."""
        is_there = base.parent.resolve() == folder.resolve() and is_base_folder(base)
        return self._pushing and base.is_dir() and bundled_place(base) is None and not is_there

    def _saves_less_than_it_trains(self) -> bool:
        """Whether the saved model is not all that resuming takes: it has adapters merged, or the adapter alone."""
        if self.is_fsdp_enabled or self.is_deepspeed_enabled or not holds_adapters(self.model):
            return False
        return not is_peft_model(self.model) or any(
            value.requires_grad for _, value in base_tensors(self.model.get_base_model())
        )

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        unmerged = Path(resume_from_checkpoint) / UNMERGED_FILE
        if unmerged.is_file():
            load_model(model or self.model, str(unmerged))
            self._take_note(resume_from_checkpoint)
            return
        base = Path(resume_from_checkpoint) / BASE_FOLDER
        if base.is_dir() and is_peft_model(self.model):
            load_base(self.model.get_base_model(), base)
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        self._take_note(resume_from_checkpoint)

    def _take_note(self, checkpoint: str) -> None:
        """Tells the model which weights of a checkpoint are untrained: its own may have been drawn otherwise."""
        plain = self.model.get_base_model() if is_peft_model(self.model) else self.model
        if isinstance(plain, CorefELPreTrainedModel):
            plain.note_untrained(untrained_in(checkpoint) + untrained_in(Path(checkpoint) / BASE_FOLDER))

    @contextmanager
    def _limit(self, value: int | None) -> Iterator[None]:
        before, self.args.save_total_limit = self.args.save_total_limit, value
        try:
            yield
        finally:
            self.args.save_total_limit = before
