"""Average the weights of several training checkpoints into a trained model's folder.

    python experiments/average_checkpoints.py --model runs/mine/final --out runs/mine/averaged \
        --checkpoints runs/mine/checkpoint-*/model.safetensors

Documents come one a step, so the last steps leave noise in the weights; their mean has less (Izmailov et al., 2018,
"Averaging Weights Leads to Wider Optima and Better Generalization"). With ``--start`` the weights that the run started
from are mixed in, which keeps more of what it was not trained on (Wortsman et al., 2022, "Robust fine-tuning of
zero-shot models").
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file


def average(paths: Sequence[Path]) -> dict[str, torch.Tensor]:
    """The mean of every tensor over files that have the same ones.

    Raises:
        SystemExit: When a file lacks a tensor that the first one has, or has one more.
    """
    total: dict[str, torch.Tensor] = {}
    for path in paths:
        state = load_file(path)
        if total and set(state) != set(total):
            raise SystemExit(f"{path}: {sorted(set(state) ^ set(total))[0]!r} is not in all of the files")
        for name, value in state.items():
            total[name] = total.get(name, torch.zeros((), dtype=torch.float64)) + value.double()
    return {name: value / len(paths) for name, value in total.items()}


def mixed(mean: dict[str, torch.Tensor], start: Path, share: float) -> dict[str, torch.Tensor]:
    """The mean with a share of the weights in the file `start`.

    What that file lacks counts as 0: a model gets only such inputs later that begin there (`LateInput`).

    Raises:
        SystemExit: When the file has a tensor that the mean lacks, or one of another shape.
    """
    before = load_file(start)
    for name, value in before.items():
        if name not in mean or mean[name].shape != value.shape:
            raise SystemExit(f"{start}: {name!r} does not fit the other weights")
    return {
        name: (1.0 - share) * value + (share * before[name].double() if name in before else 0.0)
        for name, value in mean.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Copies the folder, with the mean in place of its weights and a note in its record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    parser.add_argument("--checkpoints", type=Path, nargs="+", required=True, help="model.safetensors files of its run")
    parser.add_argument("--names", nargs="+", help="what the record calls them; their folders when left out")
    parser.add_argument("--start", type=Path, help="model.safetensors that the run started from, to mix in")
    parser.add_argument("--start-share", type=float, default=0.3, help="its share")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    weights = options.model / "model.safetensors"
    with safe_open(weights, framework="pt") as file:
        kinds = {name: file.get_tensor(name).dtype for name in file.keys()}  # noqa: SIM118
    mean = average(options.checkpoints)
    if set(mean) != set(kinds):
        raise SystemExit(f"{weights}: {sorted(set(mean) ^ set(kinds))[0]!r} is not in all of the files")
    if options.start is not None:
        mean = mixed(mean, options.start, options.start_share)
    shutil.copytree(options.model, options.out)
    state = {name: value.to(kinds[name]).contiguous() for name, value in mean.items()}
    save_file(state, options.out / "model.safetensors", metadata={"format": "pt"})
    record = options.out / "training_record.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    content["weights_averaged_over"] = options.names or [path.parent.name for path in options.checkpoints]
    if options.start is not None:
        content["share_of_the_start"] = options.start_share
    # They were of the last step alone.
    content.pop("development_scores", None)
    record.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
