"""Training entity vectors and measuring what they add, on the tiny model and its documents."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hf_corefel import Document
from hf_corefel.formats import write_jsonl
from script_loading import load_script


def test_a_context_keeps_its_mention() -> None:
    script = load_script("experiments/train_entity_vectors.py")
    text = "one two " * 100 + "Anna Berg, three " + "four five " * 100
    begin = text.index("Anna Berg")
    context = script.context_of(text, begin, begin + 9)
    assert context.text[context.begin : context.end] == "Anna Berg"
    assert script.WORDS_AROUND < len(context.text.split()) <= 2 * script.WORDS_AROUND + 2


def test_what_cosines_add_is_told_by_other_documents() -> None:
    script = load_script("experiments/train_entity_vectors.py")
    # The model prefers the wrong entity, and the vectors know better; of NIL nothing has to be known.
    made = [
        script.Decision(
            number, ["A"], ["B", "A", None], np.log([0.6, 0.35, 0.05]), {"known": np.array([0.1, 0.9, np.nan])}
        )
        for number in range(10)
    ]
    found = script.gain(made, "known")
    assert (found["mentions"], found["right one among them"], found["model"], found["with cosines"]) == (10, 1, 0, 1)
    for each in made:
        each.cosines["constant"] = np.array([0.5, 0.5, np.nan])
    assert script.gain(made, "constant")["with cosines"] == 0


def test_training_and_evaluating(
    tiny_folder: Path,
    tiny_encoder: Path,
    tiny_documents: list[Document],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = load_script("experiments/train_entity_vectors.py")
    write_jsonl(tmp_path / "train.jsonl", [replace(d, id=f"dwie:{n}") for n, d in enumerate(tiny_documents)])
    options = argparse.Namespace(
        documents=[tmp_path / "train.jsonl"], knowledge_base=tiny_folder / "knowledge_base", encoder=tiny_encoder,
        descriptions=None, links=None, out=tmp_path / "vectors", vectors=[tiny_encoder, tmp_path / "vectors"],
        model=tiny_folder, limit=None, steps=50, batch_size=4, learning_rate=1e-2, seed=0,
    )  # fmt: skip
    script.train(options)
    assert "step 50" in capsys.readouterr().out
    script.evaluate(options)
    lines = [line.split(" {") for line in capsys.readouterr().out.splitlines() if " {" in line]
    assert [name for name, _ in lines] == [
        f"train {name}" for name in (script.CONSTANT, tiny_encoder, tmp_path / "vectors")
    ]
    mentions = sum(len(cluster.mentions) for document in tiny_documents for cluster in document.clusters or [])
    assert {json.loads("{" + found)["mentions"] for _, found in lines} == {mentions}
