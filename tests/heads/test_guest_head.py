"""A head of another package, with a score of its own: the one that ``docs/extend/head.md`` writes, outside this one."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from forked_python import run_python
from hf_corefel import CorefELConfig, CorefELModel
from hf_corefel.heads import HEADS, EdgeScores, GoldClustering, HeadOption, LocalHead
from hf_corefel.hub import model_card
from hf_corefel.pipeline_corefel import CorefELPipeline, load_pipeline

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extend" / "head.md").read_text(encoding="utf-8")
CODE, USE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
SCORER = "own_scorers.mention_ranking.likeness.project"
NEW = [f"{SCORER}.bias", f"{SCORER}.weight"]
MARGIN = {"mention_ranking": {"margin": 0.5}}


@pytest.fixture(scope="module")
def guest_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the file that the page says to write."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "ranking_head.py").write_text(CODE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module", autouse=True)
def guest(guest_folder: Path) -> Iterator[ModuleType]:
    """The imported module, whose head is forgotten in the end."""
    sys.path.insert(0, str(guest_folder))
    yield importlib.import_module("ranking_head")
    sys.path.remove(str(guest_folder))
    del sys.modules["ranking_head"]
    HEADS.unregister("mention_ranking")


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory,
    tiny_model: Callable[..., Any],
    tiny_processor: Callable[..., Any],
    tiny_documents: list[Any],
) -> Path:
    """Folder of a model of the guest's head that knows the tiny documents."""
    model = tiny_model(head="mention_ranking", head_options=MARGIN)
    processor = tiny_processor(model.config)
    batch = processor(tiny_documents, gold=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    start = model.state_dict()[NEW[1]].clone()
    for _ in range(1000):
        optimizer.zero_grad()
        loss = model(**batch.inputs).loss
        if loss.item() < 0.1:
            break
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1, "it does not learn its documents"
    assert (model.state_dict()[NEW[1]] != start).any(), "its own scorer is not trained"
    folder = tmp_path_factory.mktemp("ranking-model")
    CorefELPipeline(model=model, processor=processor).save_pretrained(folder)
    return folder


def new_process(path: list[Path], *lines: str) -> subprocess.CompletedProcess[str]:
    """A fresh process that finds packages in the folders too."""
    code = "\n".join(["import warnings; warnings.simplefilter('error', UserWarning)", *lines])
    return run_python("-c", code, env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT / "src", *path]))})


def in_new_process(path: list[Path], *lines: str) -> str:
    """What it prints, or how it fails."""
    done = new_process(path, *lines)
    return done.stdout if done.returncode == 0 else done.stderr


def install(folder: Path, *heads: str) -> None:
    """Writes what an installed package says of its heads."""
    facts = folder / "ranking-0.3.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: ranking\nVersion: 0.3\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text("\n".join(["[hf_corefel.heads]", *heads, ""]), encoding="utf-8")


def test_configuration_takes_the_head_and_its_options(tmp_path: Path) -> None:
    config = CorefELConfig(head="mention_ranking", head_options=MARGIN)
    config.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["head_options"] == MARGIN
    loaded = CorefELConfig.from_pretrained(tmp_path)
    assert loaded.head == "mention_ranking" and loaded.head_options == MARGIN
    assert CorefELConfig().head_options == {} and "head_options" not in CorefELConfig().to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mention_ranking": {"margin": -1.0}}, r"\['mention_ranking'\]\['margin'\] must be a number of at least 0\.0"),
        ({"mention_ranking": {"margin": "1"}}, r"\['mention_ranking'\]\['margin'\] must be a number"),
        ({"mention_ranking": {"margin": float("nan")}}, r"\['mention_ranking'\]\['margin'\] must be a number"),
        ({"mention_ranking": {"margn": 1.0}}, r"\['mention_ranking'\]\['margn'\]: the head has no .*it has margin"),
        ({"ranking": {}}, r" may name .*mention_ranking; got 'ranking'"),
        ({"global": {"root_score": "paper"}}, r": root_score is a field of the configuration itself"),
        ({"global": {"margin": 1.0}}, r": the head has no such option; it has no options of its own"),
        ({"margin": 1.0}, r" must be a dict of the options of each head"),
        ([], r" must be a dict of the options of each head"),
    ],
)
def test_bad_options_are_named(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^CorefELConfig\.head_options.*{message}"):
        CorefELConfig(head="local", head_options=options)


def test_a_new_process_annotates_as_this_one(
    trained: Path, guest_folder: Path, tmp_path: Path, tiny_documents: list[Any]
) -> None:
    """There its package is installed, and nobody imports it."""
    annotate = load_pipeline(str(trained))
    texts = [document.text for document in tiny_documents]
    found = annotate(texts)
    assert annotate.model.head.margin == 0.5
    gold = [{(m.begin, m.end) for c in document.clusters for m in c.mentions} for document in tiny_documents]
    assert [{(m["begin"], m["end"]) for c in d["clusters"] for m in c["mentions"]} for d in found] == gold
    install(tmp_path, "mention_ranking = ranking_head:MentionRankingHead")
    code = [
        "import json",
        "from hf_corefel.pipeline_corefel import load_pipeline",
        f"annotate = load_pipeline({str(trained)!r})",
        f"print(json.dumps(annotate({texts!r})))",
    ]
    assert json.loads(in_new_process([guest_folder, tmp_path], *code)) == found


def test_command_lists_heads_of_installed_packages(guest_folder: Path, tmp_path: Path) -> None:
    install(tmp_path, "mention_ranking = ranking_head:MentionRankingHead", "broken = nowhere:Head")
    code = "import sys; from hf_corefel.cli import main; sys.argv = ['hf-corefel', 'heads']; main()"
    done = new_process([guest_folder, tmp_path], code)
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        [
            line
            for name, head in HEADS.items()
            for line in (
                f"{name}: {head.summary}",
                *(f"    {o} ({d.expected}; {d.default}): {d.doc}" for o, d in head.options.items()),
            )
        ],
    )
    assert done.stderr.startswith("hf-corefel: head 'broken': ranking 0.3 offers it as nowhere:Head, which cannot be")


def test_without_its_package_a_model_is_refused_by_name(trained: Path) -> None:
    code = f"from hf_corefel import CorefELModel; CorefELModel.from_pretrained({str(trained)!r})"
    error = in_new_process([], code).strip().splitlines()[-1]
    assert error.startswith("ValueError: ") and "got 'mention_ranking'; a head of another package must be" in error


def test_set_head_adds_its_scorer_and_goes_back(
    tmp_path: Path, tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any]
) -> None:
    model = tiny_model(head="local")
    text = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."
    inputs = tiny_processor(model.config)(text).inputs
    before = model(**inputs)
    assert model.set_head("mention_ranking") == NEW
    assert model.untrained_weights() == NEW
    output = model(**inputs)
    assert torch.equal(output.pair, before.pair) and set(output.own_scores) == {"likeness"}
    likeness = output.own_scores["likeness"]
    assert likeness.shape == output.pair.shape and torch.isfinite(likeness).all()
    assert model.set_head("local") == []
    assert model(**inputs).own_scores is None
    # What is idle is saved all the same, and DistributedDataParallel does not wait for it.
    assert model._ddp_params_and_buffers_to_ignore == NEW[::-1]
    model.save_pretrained(tmp_path)
    loaded, info = CorefELModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert loaded.config.head == "local" and loaded.set_head("mention_ranking") == []
    assert all(torch.equal(loaded.state_dict()[name], model.state_dict()[name]) for name in NEW)


def test_a_saved_local_model_becomes_one_of_it(tmp_path: Path, tiny_model: Callable[..., Any]) -> None:
    tiny_model(head="local").save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="2 weights are missing from it and were drawn at random"):
        model = CorefELModel.from_pretrained(tmp_path, head="mention_ranking", head_options=MARGIN)
    assert model.untrained_weights() == NEW and model.head.margin == 0.5
    assert 0.0 < model.state_dict()[NEW[1]].abs().max() < 10.0


def test_card_says_what_it_predicts_and_with_which_options() -> None:
    card = model_card(CorefELConfig(head="mention_ranking", head_options=MARGIN))
    assert "with the `mention_ranking` head: for each span its best antecedent or candidate" in card
    assert "- `margin=0.5`: how far the right choice of a span stands above." in card


def test_loss_is_the_hinge_of_the_best_choices() -> None:
    # Two spans and no candidate: the second's antecedent has the score 1 + 2 + 0.25 + 0.5, itself has 0.
    scores = EdgeScores(
        mention=torch.tensor([[1.0, 2.0]]),
        link=torch.zeros(1, 2, 0),
        candidate_rows=torch.zeros(1, 2, 0, dtype=torch.int64),
        pair=torch.full((1, 2, 2), 0.25),
        mask=torch.ones(1, 2, dtype=torch.bool),
        own={"likeness": torch.full((1, 2, 2), 0.5)},
    )
    head: Any = HEADS["mention_ranking"](margin=0.5)
    apart = GoldClustering(torch.tensor([[0, 1]]), torch.full((1, 2), -1))
    together = GoldClustering(torch.tensor([[0, 0]]), torch.full((1, 2), -1))
    assert head.loss(scores, apart).item() == pytest.approx(3.75 + 0.5)
    assert head.loss(scores, together).item() == 0.0
    assert head.decode(scores).parents.tolist() == [[2, 0]]
    alone = head.marginals(scores).edges.root[0, 1].item()
    assert alone == pytest.approx(1.0 / (1.0 + math.exp(3.75)))


def test_the_page_shows_what_its_use_prints(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(USE, "docs/extend/head.md", "exec"), {})
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert capsys.readouterr().out == shown


class _Head(LocalHead):
    summary = "anything"


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("mine", {"summary": " "}, "its summary must say"),
        ("mine", {"needs": frozenset({"pair"})}, "needs may name pairs, .*got 'pair'"),
        ("mine", {"options": {"margin": 1.0}}, r"options\['margin'\] must be a HeadOption"),
        ("mine", {"options": {"root_score": HeadOption(default="paper", doc="")}}, "is_field is for root_score"),
        ("mine", {"options": {"size": HeadOption(default=0, doc="", least=1)}}, "the default of size must be an int"),
        ("mine", {"own_scores": ("a.b",)}, "'a.b' cannot name a module"),
        ("keys", {}, "'keys' cannot name a module"),
        ("my head", {}, "'my head' cannot name a module"),
        ("mine", {"__init__": lambda self, size: None}, "cannot be made with its options alone"),
    ],
)
def test_what_cannot_be_a_head_is_refused_when_it_is_registered(name: str, changes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^head '{name}'.*{message}"):
        HEADS.register(name, type("Mine", (_Head,), changes))
    assert name not in HEADS


def test_what_is_no_head_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^head 'mine': expected a subclass of hf_corefel\.heads\.Head, got "):
        HEADS.register("mine", LocalHead())  # type: ignore[arg-type]
