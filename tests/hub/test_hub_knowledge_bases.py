"""Knowledge bases by the name of a repository: their own, and a model's, of which nothing else is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_corefel import KnowledgeBase
from hf_corefel.kb import KnowledgeBaseError
from hf_corefel.kb.hub import knowledge_base_card

PUSH = """
from hf_corefel import KnowledgeBase
kb = KnowledgeBase.from_pretrained(given["folder"])
return str(kb.push_to_hub(given["name"], **given.get("options", {})).commit_url)
"""
OPEN = """
from hf_corefel import KnowledgeBase
kb = KnowledgeBase.from_pretrained(given["name"], **given.get("options", {}))
return [kb.fingerprint, sorted(kb.entities())]
"""


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    vectors = {name: np.full(8, i + 1.0) for i, name in enumerate(["Oslo_(crater)", "Moss_(moon)"])}
    rows = [("Oslo", [("Oslo_(crater)", 0.9)]), ("Moss", [("Moss_(moon)", 0.5)])]
    built = KnowledgeBase.build(rows, vectors=vectors, provenance={"source": "a *list* of\ncraters"})
    built.save_pretrained(tmp_path / "kb")
    return built


def test_pushed_and_opened_by_its_name(hub: Any, client: Any, kb: KnowledgeBase, tmp_path: Path) -> None:
    client(PUSH, folder=tmp_path / "kb", name="acme/craters")
    files = hub.repository("acme/craters").files()
    assert {"kb_config.json", "tables.safetensors", "README.md"} <= set(files)
    assert not any((name.startswith(".") and name != ".gitattributes") or name.endswith(".lock") for name in files)
    cache = tmp_path / "cache"
    expected = [kb.fingerprint, ["Moss_(moon)", "Oslo_(crater)"]]
    assert client(OPEN, name="acme/craters", options={"cache_dir": str(cache)}) == expected
    before = len(hub.requests)
    local = {"cache_dir": str(cache), "local_files_only": True}
    assert client(OPEN, name="acme/craters", options=local) == expected
    assert hub.requests[before:] == []


def test_another_push_keeps_the_card_and_leaves_no_old_file(
    hub: Any, client: Any, kb: KnowledgeBase, tmp_path: Path
) -> None:
    client(PUSH, folder=tmp_path / "kb", name="acme/changing")
    repository = hub.repository("acme/changing")
    client(
        """
        from huggingface_hub import HfApi
        HfApi().upload_file(path_or_fileobj=b"my own words", path_in_repo="README.md", repo_id=given["name"])
        """,
        name="acme/changing",
    )
    with KnowledgeBase.edit(tmp_path / "kb") as changed:
        changed.add("Bergen_(crater)", ["Bergen"])
    client(PUSH, folder=tmp_path / "kb", name="acme/changing")
    files = repository.files()
    assert files["README.md"] == b"my own words"
    assert "Bergen_(crater)" in client(OPEN, name="acme/changing", options={"cache_dir": str(tmp_path / "c")})[1]
    assert len([name for name in files if name.startswith("tables")]) == 1
    client(PUSH, folder=tmp_path / "kb", name="acme/changing", options={"revision": "v2", "commit_message": "Second"})
    assert "kb_config.json" in repository.files("v2")
    options = {"revision": "v2", "cache_dir": str(tmp_path / "c2")}
    assert "Bergen_(crater)" in client(OPEN, name="acme/changing", options=options)[1]


def test_the_one_of_a_model_without_the_model(hub: Any, client: Any, tiny_folder: Path, tmp_path: Path) -> None:
    client(
        """
        from hf_corefel.hub import publish
        publish(given["folder"], "acme/whole")
        """,
        folder=tiny_folder,
    )
    before = len(hub.requests)
    found = client(OPEN, name="acme/whole", options={"cache_dir": str(tmp_path)})
    assert found[0] == KnowledgeBase.from_pretrained(tiny_folder).fingerprint
    assert not any(
        "model.safetensors" in path or "tokenizer" in path for method, path in hub.requests[before:] if method == "GET"
    )


def test_a_pipeline_takes_one_by_its_name(client: Any, kb: KnowledgeBase, tiny_folder: Path, tmp_path: Path) -> None:
    client(PUSH, folder=tmp_path / "kb", name="acme/craters-too")
    for code in (
        """
        from hf_corefel import load_pipeline
        made = load_pipeline(given["folder"], knowledge_base="acme/craters-too", cache_dir=given["cache"])
        """,
        """
        import hf_corefel
        from transformers import pipeline
        made = pipeline("coref-el", model=given["folder"], knowledge_base="acme/craters-too", cache_dir=given["cache"])
        """,
    ):
        entities = client(
            code + "\n        return sorted(made.processor.knowledge_base.entities())",
            folder=tiny_folder,
            cache=tmp_path / "cache",
        )
        assert entities == ["Moss_(moon)", "Oslo_(crater)"]


def test_from_the_command_line(run_script: Any, client: Any, kb: KnowledgeBase, tmp_path: Path) -> None:
    client(PUSH, folder=tmp_path / "kb", name="acme/hidden", options={"private": True})
    command = "import sys; from hf_corefel.cli import main; sys.argv[0] = 'hf-corefel'; main()"
    stranger = {"HF_TOKEN": "", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "HF_HOME": str(tmp_path / "home")}
    refused = run_script(command, "kb", "lookup", "acme/hidden", "Oslo", **stranger)
    assert refused.returncode == 1 and "cannot read acme/hidden" in refused.stderr
    found = run_script(command, "kb", "lookup", "acme/hidden", "Oslo", "--token", "hf_loopback", **stranger)
    assert found.returncode == 0 and "Oslo_(crater)" in found.stdout


@pytest.mark.parametrize("name", ["nowhere", "./no/where", "no/where/at_all", "/no/where"])
def test_what_is_no_repository_asks_nobody(hub: Any, client: Any, name: str) -> None:
    before = len(hub.requests)
    with pytest.raises(Exception, match=r"kb_config\.json"):
        client(OPEN, name=name)
    assert hub.requests[before:] == []


def test_what_is_on_no_hub(client: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="KnowledgeBaseError: acme/nothing-here: no such folder"):
        client(OPEN, name="acme/nothing-here", options={"cache_dir": str(tmp_path)})
    with pytest.raises(KnowledgeBaseError, match="acme/nothing: no such folder"):
        KnowledgeBase.from_pretrained("acme/nothing", cache_dir=tmp_path, local_files_only=True)


def test_the_card_shows_texts_of_others_as_text(kb: KnowledgeBase) -> None:
    card = knowledge_base_card(kb, "acme/craters")
    assert "- source: a \\*list\\* of" in card and "\ncraters" not in card
    assert 'KnowledgeBase.from_pretrained("acme/craters")' in card and "| entities | 2 |" in card
