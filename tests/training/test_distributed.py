"""Two real ranks (torchrun, gloo, CPU) train and evaluate as one rank with twice the accumulation does."""

from __future__ import annotations

import dataclasses
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import hf_corefel
from hf_corefel import Cluster, CorefELModel, CorefELProcessor, CorefELTrainingArguments, Document, Mention
from hf_corefel.configuration_corefel import HEADS

# Renamed in transformers 5.
_FIELDS = {field.name for field in dataclasses.fields(CorefELTrainingArguments)}
CHECKPOINTING = next(n for n in ("activation_checkpointing", "gradient_checkpointing") if n in _FIELDS)

SCRIPT = Path(__file__).with_name("run_scenarios.py")

Results = dict[str, dict[str, Any]]


def _awkward_documents(documents: list[Document]) -> list[Document]:
    """One of each kind: usual, without a candidate, without a pair, without a span, with an entity out of reach."""
    nobody = "She spoke to the coach. She left."
    return [
        documents[0],
        Document(nobody, id="nobody", clusters=[Cluster((Mention(0, 3), Mention(24, 27)))]),
        Document("Oslo", id="alone", clusters=[Cluster((Mention(0, 4),), "Oslo")]),
        Document("", id="empty", clusters=[]),
        Document("Bergen won.", id="elsewhere", clusters=[Cluster((Mention(0, 6),), "Oslo")]),
        documents[1],
    ]


@pytest.fixture(scope="module")
def scenarios(
    tmp_path_factory: pytest.TempPathFactory,
    tiny_model: Callable[..., CorefELModel],
    tiny_trained: Callable[[str], CorefELModel],
    tiny_processor: Callable[[Any], CorefELProcessor],
    tiny_documents: list[Document],
) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("scenarios")
    fresh, able = folder / "fresh", folder / "able"
    # It has the parameters of all heads, of which each head leaves some without use.
    every = tiny_model(head_modules=["pairs", "entities", "pair_root", "entity_root", "nil"])
    for path, model in ((fresh, every), (able, tiny_trained("global"))):
        model.save_pretrained(path)
        tiny_processor(model.config).save_pretrained(path)
    arguments = {
        "output_dir": str(folder / "run"),
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "encoder_learning_rate": 1e-2,
        "encoder_warmup": 0.5,
        "task_learning_rate": 1e-2,
        "per_device_train_batch_size": 1,
        "per_device_eval_batch_size": 2,
        "max_steps": 3,
        "seed": 7,
        # Adam moves a parameter by the rate however small its gradient is, rounding errors included.
        "adam_epsilon": 1e-3,
    }
    dicts = [document.to_dict() for document in tiny_documents]
    awkward = [document.to_dict() for document in _awkward_documents(tiny_documents)]
    base = {"model": str(fresh), "head": "global", "train": [*dicts, dicts[0]], "eval": dicts, "arguments": arguments}
    made = {"training": base}
    for head in HEADS:
        strict = {**arguments, "ddp_find_unused_parameters": False}
        made[head] = {**base, "head": head, "train": awkward, "eval": awkward[:5], "arguments": strict}
    made["checkpointing"] = {**base, "train": awkward, "arguments": {**arguments, CHECKPOINTING: True}}
    # It is not trained: only its gradient is wanted, of a usual document and an empty one.
    settings = {**arguments, "max_steps": 0}
    made["sharding"] = {**base, "model": str(able), "train": [dicts[0], awkward[3]], "arguments": settings}
    # Of two ranks one has the document with the team, in the second of three steps.
    poisoned = {**base, "poison": "team", "arguments": {**arguments, "max_steps": 2, "num_train_epochs": 1}}
    made["poisoned"] = {**poisoned, "eval": dicts[:2]}
    skipping = {**poisoned["arguments"], "skip_non_finite_batches": True}
    made["skipping"] = {**poisoned, "arguments": skipping}
    made["poisoned-evaluation"] = {**poisoned, "arguments": {**skipping, "max_steps": 0}}
    made["poisoned-evaluation"]["arguments"]["skip_non_finite_batches"] = False
    for size, number in ((1, 3), (2, 3), (2, 1)):
        settings = {**arguments, "max_steps": 0, "per_device_eval_batch_size": size}
        made[f"evaluation-{size}-{number}"] = {
            **base,
            "model": str(able),
            "eval": dicts[:number],
            "arguments": settings,
        }
    return made


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory, scenarios: dict[str, Any]) -> tuple[Results, Results]:
    """What either of two ranks says of every scenario."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "scenarios.json").write_text(json.dumps(scenarios), encoding="utf-8")
    source = str(Path(hf_corefel.__file__).parents[1])
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*launch, str(SCRIPT), str(folder)],
        env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (torch.load(folder / f"rank-{rank}.pt") for rank in (0, 1))
    return first, second


@pytest.fixture(scope="module")
def one_rank(scenarios: dict[str, Any]) -> Results:
    """What one rank with an accumulation of 2 says."""
    run = runpy.run_path(str(SCRIPT))["run"]
    results = {}
    for name, scenario in scenarios.items():
        settings = {**scenario["arguments"], "gradient_accumulation_steps": 2}
        results[name] = run({**scenario, "arguments": settings})
    return results


TRAININGS = ["training", *HEADS, "checkpointing"]
EVALUATIONS = ["evaluation-1-3", "evaluation-2-3", "evaluation-2-1"]


@pytest.mark.parametrize("name", TRAININGS)
def test_two_ranks_train_as_one_does_with_accumulation(
    scenarios: dict[str, Any], two_ranks: tuple[Results, Results], one_rank: Results, name: str
) -> None:
    (first, second), alone = (rank[name] for rank in two_ranks), one_rank[name]
    assert (first["world_size"], second["world_size"], alone["world_size"]) == (2, 2, 1)
    # Each rank has a document of its own. A loss of one rank is divided by the accumulation already.
    assert first["losses"] != second["losses"]
    assert len(first["losses"]) == len(second["losses"]) == 3 and len(alone["losses"]) == 6
    documents = [loss for pair in zip(first["losses"], second["losses"], strict=True) for loss in pair]
    assert documents == pytest.approx([2 * loss for loss in alone["losses"]], abs=1e-5, rel=0)
    assert sum(documents) > 0
    before = CorefELModel.from_pretrained(scenarios[name]["model"]).state_dict()
    for key, value in alone["state"].items():
        assert torch.equal(first["state"][key], second["state"][key]), key
        torch.testing.assert_close(first["state"][key], value, rtol=1e-4, atol=1e-5, msg=key)
    for part in ("encoder.model.encoder.layer.0", "spans", "pruner", "entities" if "linking" in name else "pairs"):
        keys = [key for key in before if key.startswith(part) and before[key].is_floating_point()]
        assert any(not torch.equal(first["state"][key], before[key]) for key in keys), part


@pytest.mark.parametrize("name", [*TRAININGS, *EVALUATIONS])
def test_two_ranks_evaluate_as_one_does(
    scenarios: dict[str, Any], two_ranks: tuple[Results, Results], one_rank: Results, name: str
) -> None:
    """Every document is predicted once, though two ranks share an odd number of them, of unlike sizes."""
    alone = one_rank[name]
    number = len(scenarios[name]["eval"])
    assert number % 2 == 1
    for rank in two_ranks:
        assert rank[name]["positions"].tolist() == list(range(number)) == alone["positions"].tolist()
        scores, expected_scores = dict(rank[name]["metrics"]), dict(alone["metrics"])
        assert scores.pop("eval_loss") == pytest.approx(expected_scores.pop("eval_loss"), rel=1e-5, abs=1e-5)
        assert scores == expected_scores
        for found, expected in zip(rank[name]["predictions"], alone["predictions"], strict=True):
            assert found[found[:, 0] >= 0].tolist() == expected[expected[:, 0] >= 0].tolist()


def test_evaluated_documents_have_mentions_to_lose(one_rank: Results) -> None:
    sizes = (one_rank["evaluation-1-3"]["predictions"][:, :, 0] >= 0).sum(1).tolist()
    assert len(set(sizes)) == 3 and min(sizes) > 0
    assert one_rank["evaluation-1-3"]["metrics"]["eval_score"] > 0.8


def test_model_in_parts_has_the_gradient_of_the_whole(
    scenarios: dict[str, Any], two_ranks: tuple[Results, Results]
) -> None:
    """FSDP's units are the modules that the model names; one rank has an empty document."""
    scenario = scenarios["sharding"]
    model = CorefELModel.from_pretrained(scenario["model"]).train()
    processor = CorefELProcessor.from_pretrained(scenario["model"])
    for document in scenario["train"]:
        inputs = processor([Document.from_dict(document)], gold=True).inputs
        (model(**inputs).loss / 2).backward()
    for name, parameter in model.named_parameters():
        for rank in two_ranks:
            torch.testing.assert_close(rank["sharded"][name], parameter.grad, rtol=1e-4, atol=1e-6, msg=name)


# Losses that are not finite on one rank -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["poisoned", "poisoned-evaluation"])
def test_both_ranks_stop_where_one_has_no_finite_loss(two_ranks: tuple[Results, Results], name: str) -> None:
    """Both say the same: neither waits for the other."""
    first, second = (rank[name] for rank in two_ranks)
    assert first == second
    assert "document 'tiny-2'" in first["error"]
    if name == "poisoned":
        assert f"step {first['step']} " in first["error"] and first["step"] in (1, 2)
        # The step's other document, of the other rank, is named too.
        assert len(first["documents"]) == 2 and "document 'tiny-2'" in first["documents"]
    else:
        assert first["documents"] == ["document 'tiny-2'"]


def test_both_ranks_leave_a_step_out_where_one_has_no_finite_loss(
    two_ranks: tuple[Results, Results], one_rank: Results
) -> None:
    (first, second), alone = (rank["skipping"] for rank in two_ranks), one_rank["skipping"]
    assert first["skipped"] == second["skipped"] and len(first["skipped"]) == 1
    assert "document 'tiny-2'" in first["skipped"][0]["skipped_documents"]
    assert alone["skipped"][0]["step"] == first["skipped"][0]["step"]
    for key, value in alone["state"].items():
        assert bool(value.isfinite().all())
        assert torch.equal(first["state"][key], second["state"][key]), key
        torch.testing.assert_close(first["state"][key], value, rtol=1e-4, atol=1e-5, msg=key)
    for rank in (first, second, alone):
        assert rank["metrics"]["eval_non_finite_documents"] == 1
    assert first["metrics"]["eval_loss"] == pytest.approx(second["metrics"]["eval_loss"])
