"""Trains in processes that are killed, or whose disk fills, while they save; and again from what they left.

    python run_kills.py FOLDER

The folder has ``model``, a saved tiny model, ``documents.json``, and ``ways.json``: names of ways to end, each with
``kill_at``, the number of a file operation, or ``bytes``, the largest file that the disk takes. Imports take seconds,
so every training is a fork of one process. Prints a JSON object: for each way how the training ended and what it left,
how resuming ended, and whether the weights are then those of a training that nothing stopped.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from hf_corefel import CorefELModel, CorefELProcessor, CorefELTrainer, CorefELTrainingArguments, Document

WRITES = set("wax+")


class AfterFirstSave(TrainerCallback):
    """Begins to disturb when the first checkpoint is whole."""

    def __init__(self, disturb: Callable[[], None]) -> None:
        self.disturb = disturb

    def on_save(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        if state.global_step == 2:
            self.disturb()


def train(folder: Path, output: Path, model: CorefELModel, processor: Any, disturb: Callable[[], None] | None) -> None:
    """Trains to step 4 with a checkpoint every second one, from the start if it is to be disturbed."""
    documents = [Document.from_dict(d) for d in json.loads((folder / "documents.json").read_text(encoding="utf-8"))]
    arguments = CorefELTrainingArguments(
        str(output), max_steps=4, save_steps=2, save_total_limit=1, per_device_train_batch_size=1, use_cpu=True,
        encoder_learning_rate=1e-2, report_to="none", disable_tqdm=True, logging_strategy="no", seed=7,
    )  # fmt: skip
    callbacks = [] if disturb is None else [AfterFirstSave(disturb)]
    trainer = CorefELTrainer(model, arguments, processor, train_dataset=documents, callbacks=callbacks)
    error = None
    try:
        trainer.train(resume_from_checkpoint=None if disturb else True)
        torch.save(model.state_dict(), output / "weights.pt")
    except Exception as caught:  # noqa: BLE001
        error = "\n".join([str(caught), *getattr(caught, "__notes__", [])])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    (output / "result.json").write_text(json.dumps({"error": error}), encoding="utf-8")


def forked(work: Callable[[], None]) -> int:
    """Does the work in a fork; its exit status, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        # What libraries print is no part of the answer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            work()
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(number: int) -> None:
    """Ends this process at the number-th time that it opens, renames or removes a file of a checkpoint, or saves one.

    Python does not hear of what native code does to files, so those that it writes are cut in the middle.
    """
    left = [number]

    def count(path: Any = None, write: Callable[[], Any] = lambda: None) -> None:
        left[0] -= 1
        if left[0] == 0:
            if path is not None:
                write()
                os.truncate(path, os.path.getsize(path) // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    def hear(event: str, values: tuple[Any, ...]) -> None:
        opened = event == "open" and isinstance(values[1], str) and WRITES & set(values[1])
        changed = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir")
        if (opened or changed) and any("checkpoint-" in str(value) for value in values[:2]):
            count()

    sys.addaudithook(hear)
    save, save_model = torch.save, CorefELModel.save_pretrained

    def counted_save(value: Any, path: Any, *args: Any, **kwargs: Any) -> None:
        count(path, lambda: save(value, path))
        save(value, path, *args, **kwargs)

    def counted_save_model(self: CorefELModel, path: Any, **kwargs: Any) -> None:
        save_model(self, path, **kwargs)
        count(Path(path) / "model.safetensors")

    torch.save = counted_save
    CorefELModel.save_pretrained = counted_save_model  # type: ignore[method-assign]


def fill_disk(size: int) -> None:
    """Lets no file grow beyond a size in bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main() -> None:
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    parts = [kind.from_pretrained(folder / "model") for kind in (CorefELModel, CorefELProcessor)]
    gc.freeze()  # else each training has it go through all that was imported

    def run(name: str, disturb: Callable[[], None] | None) -> dict[str, Any]:
        output = folder / name
        (output / "result.json").unlink(missing_ok=True)
        status = forked(lambda: train(folder, output, *parts, disturb))
        path = output / "result.json"
        error = json.loads(path.read_text(encoding="utf-8"))["error"] if path.is_file() else None
        return {"status": status, "error": error, "left": sorted(place.name for place in output.glob("checkpoint-*"))}

    calm = run("calm", lambda: None)
    expected = torch.load(folder / "calm" / "weights.pt")
    results: dict[str, Any] = {"calm": calm}
    for name, way in json.loads((folder / "ways.json").read_text(encoding="utf-8")).items():
        if "kill_at" in way:
            ended = run(name, lambda way=way: kill_at(way["kill_at"]))  # type: ignore[misc]
        else:
            ended = run(name, lambda way=way: fill_disk(way["bytes"]))  # type: ignore[misc]
        resumed = run(name, None)
        weights = folder / name / "weights.pt"
        same = weights.is_file() and all(torch.equal(v, expected[k]) for k, v in torch.load(weights).items())
        results[name] = {"ended": ended, "resumed": resumed, "same": same}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
