"""The scripts in ``dataset_scripts`` push corpora to the loopback Hub, and `load_dataset` takes them from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import DatasetCard

from hf_corefel import Document
from hf_corefel.corpora import development_split, read_dwie, read_gum

SCRIPTS = Path(__file__).parents[2] / "dataset_scripts"
TEXT = "Anna Berg lives in Oslo."
ROW = "1\tOslo\t_\tPROPN\t_\t_\t_\t_\t_\tEntity=(1-place-new-nnnnn-cf1-1-coref-Oslo)"

RUN = """
import contextlib, importlib.util, io, os, sys
from unittest.mock import patch

spec = importlib.util.spec_from_file_location(f"pushing_{given['script']}", f"{given['folder']}/{given['script']}.py")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
printed = io.StringIO()
builder = [module.Gum] if given["script"] == "gum" else []
with patch.dict(os.environ, given["environment"]), contextlib.redirect_stdout(printed):
    with contextlib.redirect_stderr(printed):
        status = module.main(*builder, given["arguments"])
return [status, printed.getvalue()]
"""
LOAD = """
from datasets import load_dataset
from hf_corefel import Document

loaded = load_dataset(given["name"], given["config"])
return {split: [Document.from_dict(row).to_dict() for row in rows] for split, rows in loaded.items()}
"""


@pytest.fixture
def dwie(tmp_path: Path) -> Path:
    folder = tmp_path / "dwie"
    folder.mkdir()
    listed = {"candidates": ["Oslo"], "scores": [0.5]}
    for number in range(4):
        article = {
            "id": f"DW_{number}",
            "content": TEXT,
            "tags": ["all", "test" if number == 3 else "train"],
            "mentions": [
                {"begin": 0, "end": 9, "text": "Anna Berg", "concept": 0},
                {"begin": 19, "end": 23, "text": "Oslo", "concept": 1, **listed},
            ],
            "concepts": [{"concept": 0, "link": None}, {"concept": 1, "link": "Oslo"}],
        }
        (folder / f"DW_{number}.json").write_text(json.dumps(article), encoding="utf-8")
    return folder


@pytest.fixture
def gum(tmp_path: Path) -> Path:
    folder = tmp_path / "gum"
    (folder / "dep").mkdir(parents=True)
    for name in "abc":
        text = f"# newdoc id = GUM_{name}\n# text = Oslo\n{ROW}\n\n"
        (folder / "dep" / f"GUM_{name}.conllu").write_text(text, encoding="utf-8")
    (folder / "splits.md").write_text("## dev\n\n* GUM_a\n\n## test\n\n* GUM_b\n\n## train\n\n* GUM_c\n")
    return folder


def push(client: Any, script: str, data: Path, name: str, *options: str, **environment: str) -> tuple[int, str]:
    """The script's exit status and what it printed."""
    arguments = ["--data-dir", str(data), "--push-to-hub", name, *options]
    status, printed = client(RUN, folder=SCRIPTS, script=script, arguments=arguments, environment=environment)
    return status, printed


def dicts(documents: Any) -> list[dict[str, Any]]:
    """As `load_dataset` gives them."""
    return [Document.to_dict(document) for document in documents]


def test_dwie_is_pushed_and_loaded(hub: Any, client: Any, dwie: Path) -> None:
    status, printed = push(client, "dwie", dwie, "acme/dwie", "--candidates")
    assert (status, printed.splitlines()[-1]) == (0, "pushed to acme/dwie"), printed
    repository = hub.repository("acme/dwie", "datasets")
    assert repository.private, "the texts are not everybody's to give"
    files = repository.files()
    assert {name.split("/")[0] for name in files} == {"README.md", "official", "development"}
    card = DatasetCard(files["README.md"].decode())
    assert [each["config_name"] for each in card.data.configs] == ["official", "development"]
    train, test = (list(read_dwie(dwie, split, candidates=True)) for split in ("train", "test"))
    assert len(train) == 3 and train[0].candidates
    default = client(LOAD, name="acme/dwie", config=None)
    assert default == {"train": dicts(train), "test": dicts(test)}
    rest, held_out = development_split(train)
    development = client(LOAD, name="acme/dwie", config="development")
    assert development == {"train": dicts(rest), "validation": dicts(held_out), "test": dicts(test)}


def test_gum_is_pushed_again_and_loaded(hub: Any, client: Any, gum: Path) -> None:
    for _ in range(2):  # into a repository that is there and private
        assert push(client, "gum", gum, "acme/gum")[0] == 0
    repository = hub.repository("acme/gum", "datasets")
    assert repository.private
    named = client(LOAD, name="acme/gum", config="named")
    splits = {"train": "train", "validation": "dev", "test": "test"}
    assert named == {name: dicts(read_gum(gum, split, mention_scope="named")) for name, split in splits.items()}
    assert named["test"][0]["clusters"][0]["entity"] == "Oslo"


def test_a_public_dataset_is_not_taken_for_a_private_one(hub: Any, client: Any, gum: Path) -> None:
    client("import huggingface_hub; huggingface_hub.create_repo('acme/open', repo_type='dataset')")
    repository = hub.repository("acme/open", "datasets")
    status, printed = push(client, "gum", gum, "acme/open")
    assert status == 1
    assert "cannot push to acme/open: the dataset exists and is public; nothing was uploaded" in printed
    assert repository.files() == {} and repository.titles == ["initial commit"]
    assert push(client, "gum", gum, "acme/open", "--public")[0] == 0
    assert "README.md" in repository.files()
    assert not repository.private


def test_a_wrong_token_ends_with_a_message(hub: Any, client: Any, gum: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, printed = push(client, "gum", gum, "acme/refused", "--out", str(out), HF_TOKEN="hf_wrong")
    assert status == 1
    assert "cannot push to acme/refused: " in printed and "401" in printed
    assert "pushed" not in printed and "--lenient" not in printed
    assert (out / "README.md").is_file(), "the export is there all the same"
    assert ("datasets", "acme/refused") not in hub.repositories


def test_a_name_that_no_repository_can_have(client: Any, gum: Path) -> None:
    status, printed = push(client, "gum", gum, "too/many/parts")
    assert status == 1
    assert "cannot push to too/many/parts: " in printed
