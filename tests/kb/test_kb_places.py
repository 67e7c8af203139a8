"""Where a knowledge base is opened, saved and pushed: folders and repositories, of its own and of a model."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from hf_corefel.candidates import ComposedKnowledgeBase, open_knowledge_base
from hf_corefel.candidates.backends import save_knowledge_base
from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, saving

MODEL = ["config.json", "model.safetensors", "fingerprint.json", "README.md", "tokenizer.json"]
OLD = ["kb_config.json", "tables.1.safetensors", "entities.1.marisa"]


def build() -> KnowledgeBase:
    return KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])])


# A model's folder -------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    build().save_pretrained(tmp_path / "model" / "knowledge_base")
    return tmp_path / "model"


@pytest.mark.parametrize("how", ["save", "edit", "any"])
def test_what_is_opened_by_a_models_folder_is_saved_where_it_was(model: Path, how: str) -> None:
    if how == "edit":
        with KnowledgeBase.edit(model) as kb:
            kb.add("Moss", ["Moss"])
    else:
        kb = KnowledgeBase.from_pretrained(model)
        kb.add("Moss", ["Moss"])
        kb.save_pretrained(model) if how == "save" else save_knowledge_base(kb, model)
    assert sorted(path.name for path in model.iterdir()) == ["config.json", "knowledge_base"]
    for folder in (model, model / "knowledge_base"):
        assert "Moss" in KnowledgeBase.from_pretrained(folder)


def test_several_as_one_take_the_place_of_a_models_own(model: Path) -> None:
    opened = KnowledgeBase.from_pretrained(model)
    for _ in range(2):
        ComposedKnowledgeBase([opened, build()]).save_pretrained(model)
        assert isinstance(open_knowledge_base(model), ComposedKnowledgeBase)
        assert sorted(path.name for path in model.iterdir()) == ["config.json", "knowledge_base"]


# Repositories -----------------------------------------------------------------------------------------------


class Repository:
    """What is there, and what a push does to it."""

    def __init__(self, files: Iterable[str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files = None if files is None else set(files)
        monkeypatch.setattr(HfApi, "repo_exists", lambda api, name: self.files is not None)
        monkeypatch.setattr(HfApi, "list_repo_files", lambda api, name, revision=None: sorted(self.files or ()))
        monkeypatch.setattr("hf_corefel.loading.repositories.upload_folder", self.upload)

    def upload(self, folder: str, name: str, *, delete_patterns: list[str], **given: Any) -> str:
        written = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()}
        left = {file for file in self.files or () if not any(fnmatchcase(file, each) for each in delete_patterns)}
        self.new, self.files = written, left | written
        return "commit"


def test_a_push_replaces_the_files_of_a_knowledge_base_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    others = ["weights/model.safetensors", "model.safetensors", "tries.marisa", "README.md"]
    there = Repository([*OLD, *others], monkeypatch)
    assert build().push_to_hub("acme/kb") == "commit"
    assert there.files == {*others, *there.new} and "README.md" not in there.new
    there = Repository(None, monkeypatch)
    build().push_to_hub("acme/new")
    assert {"README.md", "kb_config.json", "tables.safetensors"} <= there.new


def test_a_push_to_a_models_repository_replaces_the_models_knowledge_base(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Repository([*MODEL, *(f"knowledge_base/{name}" for name in OLD)], monkeypatch)
    build().push_to_hub("acme/model")
    assert {path.split("/")[0] for path in there.new} == {"knowledge_base"}
    # The fingerprint is of the model with the other knowledge base.
    assert there.files == {*MODEL, *there.new} - {"fingerprint.json"}


def test_a_push_to_a_model_without_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Repository(MODEL, monkeypatch)
    with pytest.raises(ValueError, match=r"acme/model is the repository of a model .*with_knowledge_base"):
        build().push_to_hub("acme/model")
    assert there.files == set(MODEL)


# Versions of a folder ---------------------------------------------------------------------------------------


def test_a_pickle_of_a_folder_that_was_saved_anew_is_refused(tmp_path: Path) -> None:
    build().save_pretrained(tmp_path)
    kb = KnowledgeBase.from_pretrained(tmp_path)
    kb.add("Mayor", ["Oslo"], prior=0.5)
    pickled = pickle.dumps(kb)
    assert [found.entity for found in pickle.loads(pickled).candidates("Oslo")] == ["Oslo", "Mayor"]
    with KnowledgeBase.edit(tmp_path) as other:
        other.add("Aal", ["Aal"])
    with pytest.raises(KnowledgeBaseError, match="saved anew since"):
        pickle.loads(pickled)


def test_another_object_of_an_edit_does_not_wait_for_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "WAIT", 5.0)
    build().save_pretrained(tmp_path)
    with KnowledgeBase.edit(tmp_path) as kb:
        kb.add("Moss", ["Moss"])
        begin = time.monotonic()
        with pytest.raises(KnowledgeBaseError, match=r"KnowledgeBase\.edit has it open"):
            kb.with_fallback("normalized").save_pretrained(tmp_path)
        assert time.monotonic() - begin < saving.WAIT
        kb.save_pretrained(tmp_path)
    kb.with_fallback("normalized").save_pretrained(tmp_path)
    assert KnowledgeBase.from_pretrained(tmp_path).fallback == "normalized"
