"""Loading by the repository's name: everything that is needed, nothing more, and every option to every part."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_corefel import KnowledgeBase
from hf_corefel.loading.repositories import HubOptions
from hf_corefel.pipeline_corefel import load_pipeline

TOKEN = "hf_loopback"
PUBLISH = """
from hf_corefel.hub import publish
return publish(given["folder"], given["name"], private=given["private"], revision=given.get("revision"))
"""
LOAD = """
from hf_corefel.pipeline_corefel import load_pipeline
return load_pipeline(given["name"], **given["options"])(given["text"])
"""
TASK = """
import hf_corefel
from transformers import pipeline
return pipeline("coref-el", model=given["name"], **given["options"])(given["text"])
"""
PARTS = """
from hf_corefel import CorefELModel, CorefELPipeline
model = CorefELModel.from_pretrained(given["name"], **given["options"])
return CorefELPipeline(model=model, task="coref-el")(given["text"])
"""
TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."


@pytest.fixture(scope="module")
def private(hub: Any, client: Any, tiny_folder: Path) -> str:
    """A private repository: every request for any of its files must bring the token."""
    client(PUBLISH, folder=tiny_folder, name="acme/private", private=True)
    return "acme/private"


@pytest.fixture(scope="module")
def expected(tiny_folder: Path) -> Any:
    return load_pipeline(tiny_folder)(TEXT)


def cached(cache: Path) -> set[str]:
    """The files that are in a cache, by their names in the repository."""
    folders = list(cache.glob("models--*/snapshots/*"))
    return {path.relative_to(folder).as_posix() for folder in folders for path in folder.rglob("*") if path.is_file()}


def fingerprint_warnings(client: Any) -> list[str]:
    return [message for message in client.warnings if message.startswith("FingerprintWarning")]


def shape(result: Any) -> Any:
    """What was found, without the floats, which another process may round otherwise."""
    return [(c["entity"], [(m["begin"], m["end"]) for m in c["mentions"]]) for c in result["clusters"]]


@pytest.mark.parametrize("code", [LOAD, TASK, PARTS], ids=["load_pipeline", "task", "parts"])
def test_token_and_cache_reach_every_part(
    hub: Any, stranger: Any, private: str, expected: Any, code: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"token": TOKEN, "cache_dir": str(tmp_path)}
    if code is TASK:
        options = {"token": TOKEN, "model_kwargs": {"cache_dir": str(tmp_path)}}
    before = len(hub.requests)
    result = stranger(code, name=private, options=options, text=TEXT)
    assert shape(result) == shape(expected)
    assert fingerprint_warnings(stranger) == []
    wanted = {"config.json", "model.safetensors", "processor_config.json", "tokenizer.json", "tokenizer_config.json"}
    wanted |= {"fingerprint.json", "knowledge_base/kb_config.json", "knowledge_base/tables.safetensors"}
    wanted |= {"knowledge_base/entities.marisa", "knowledge_base/surfaces.marisa", "knowledge_base/vectors.safetensors"}
    wanted |= {"knowledge_base/fallback.marisa", "knowledge_base/fallback.safetensors"}
    assert cached(tmp_path) - {"special_tokens_map.json", "vocab.txt"} == wanted, "everything needed, nothing more"
    fetched = [path for method, path in hub.requests[before:] if method == "GET" and "/resolve/" in path]
    assert not any("README" in path or "stub" in path for path in fetched)
    assert len(fetched) == len(set(fetched)), "nothing twice"
    assert not any(cache_of(stranger)), "the default cache is not used"


def cache_of(client: Any) -> list[str]:
    """Files in the default cache; where PEFT is there, transformers notes in it that the repository is no adapter."""
    return client(
        "import pathlib, huggingface_hub.constants as c\n"
        "return [str(path) for path in pathlib.Path(c.HF_HUB_CACHE).glob('models--acme--private/snapshots/*/*')]"
    )


def test_without_the_token_there_is_nothing(stranger: Any, private: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="OSError: acme/private is not a local folder"):
        stranger(LOAD, name=private, options={"cache_dir": str(tmp_path)}, text=TEXT)


def test_local_files_only_asks_nobody(hub: Any, client: Any, private: str, expected: Any, tmp_path: Path) -> None:
    options = {"cache_dir": str(tmp_path)}
    with pytest.raises(Exception, match="OSError"):
        client(LOAD, name=private, options={**options, "local_files_only": True}, text=TEXT)
    client(LOAD, name=private, options=options, text=TEXT)
    before = len(hub.requests)
    for code in (LOAD, PARTS):
        result = client(code, name=private, options={**options, "local_files_only": True}, text=TEXT)
        assert shape(result) == shape(expected)
    assert hub.requests[before:] == []


def test_a_knowledge_base_of_ones_own_is_not_downloaded_beside(
    hub: Any, client: Any, private: str, tmp_path: Path
) -> None:
    own = KnowledgeBase.build([("Oslo", [("Oslo_(crater)", 1.0)])], vectors={"Oslo_(crater)": np.ones(8)})
    own.save_pretrained(tmp_path / "own")
    before = len(hub.requests)
    entities = client(
        """
        from hf_corefel import CorefELProcessor, KnowledgeBase
        from hf_corefel.pipeline_corefel import load_pipeline
        own = KnowledgeBase.from_pretrained(given["own"])
        options = {"knowledge_base": own, "cache_dir": given["cache"]}
        processor = CorefELProcessor.from_pretrained(given["name"], **options)
        pipeline = load_pipeline(given["name"], **options)
        return [each.encode("Oslo").entities for each in (processor, pipeline.processor)]
        """,
        name=private,
        own=tmp_path / "own",
        cache=tmp_path / "cache",
    )
    assert entities == [["Oslo_(crater)"], ["Oslo_(crater)"]]
    assert not any(path.startswith("knowledge_base/") for path in cached(tmp_path / "cache"))
    assert not any("knowledge_base" in path for _, path in hub.requests[before:])
    assert fingerprint_warnings(client) == []
    # What was left out is missed only when it is wanted, and then by name.
    options = {"cache_dir": str(tmp_path / "cache"), "local_files_only": True}
    with pytest.raises(Exception, match="OSError: acme/private: knowledge_base/ is not in the repository, or was nev"):
        client(LOAD, name=private, options=options, text=TEXT)


def test_every_part_comes_from_the_revision(
    hub: Any,
    client: Any,
    tiny_folder: Path,
    tiny_model: Callable[..., Any],
    tiny_processor: Callable[[Any], Any],
    tmp_path: Path,
) -> None:
    client(PUBLISH, folder=tiny_folder, name="acme/revised", private=False)
    model = tiny_model(seed=5, max_span_words=2)
    model.save_pretrained(tmp_path / "second")
    names = ["Oslo_(crater)"]
    crater = KnowledgeBase.build([("Oslo", [(names[0], 1.0)])], vectors=(names, np.ones((1, 8), dtype=np.float32)))
    tiny_processor(model.config).with_knowledge_base(crater).save_pretrained(tmp_path / "second")
    client(PUBLISH, folder=tmp_path / "second", name="acme/revised", private=False, revision="second")
    repository = hub.repository("acme/revised")
    code = """
        import hf_corefel
        from hf_corefel.pipeline_corefel import load_pipeline
        from transformers import pipeline
        options = {name: given[name] for name in ("revision", "cache_dir") if name in given}
        if given["task"]:
            options["model_kwargs"] = {"cache_dir": options.pop("cache_dir")}
            loaded = pipeline("coref-el", model="acme/revised", **options)
        else:
            loaded = load_pipeline("acme/revised", **options)
        processor = loaded.processor
        weight = loaded.model.pruner.project.weight.sum().item()
        return [processor.encode("Oslo").entities, processor.settings.max_span_words, weight]
    """
    weight = model.pruner.project.weight.sum().item()
    for number, revision in enumerate(["second", repository.branches["second"]]):
        for task in (False, True):
            cache = tmp_path / f"cache-{number}-{task}"
            found = client(code, revision=revision, cache_dir=cache, task=task)
            assert found[:2] == [names, 2]
            assert found[2] == pytest.approx(weight)
            assert fingerprint_warnings(client) == [], "the fingerprint is the revision's too"
            assert {path.name for path in cache.glob("models--*/snapshots/*")} == {repository.branches["second"]}
    first = client(code, cache_dir=tmp_path / "first", task=False)
    assert first[:2] == [["Oslo", "Oslo_(band)"], 3]
    with pytest.raises(Exception, match="OSError"):
        client(code, revision="third", cache_dir=tmp_path / "third", task=False)


def test_saving_a_downloaded_model_saves_no_code(client: Any, private: str, tmp_path: Path) -> None:
    for number, code in enumerate(["load_pipeline(given['name'])", "pipeline('coref-el', model=given['name'])"]):
        target = tmp_path / str(number)
        client(
            "from hf_corefel.pipeline_corefel import load_pipeline\n"
            "from transformers import pipeline\n"
            f"{code}.save_pretrained(given['target'])",
            name=private,
            target=target,
        )
        assert "auto_map" not in json.loads((target / "config.json").read_text())
        assert not list(target.glob("*.py"))
        assert load_pipeline(target)(TEXT)["clusters"]


def test_a_difference_is_noticed_by_name(hub: Any, client: Any, tiny_folder: Path, tmp_path: Path) -> None:
    client(PUBLISH, folder=tiny_folder, name="acme/changed", private=False)
    client(
        """
        import torch
        from hf_corefel import CorefELModel
        model = CorefELModel.from_pretrained("acme/changed")
        torch.nn.init.ones_(model.pruner.project.weight)
        model.push_to_hub("acme/changed")
        """
    )
    client(LOAD, name="acme/changed", options={"cache_dir": str(tmp_path)}, text=TEXT)
    (message,) = fingerprint_warnings(client)
    assert message.startswith("FingerprintWarning: acme/changed does not do what it did")


def test_options_keep_no_token_when_they_are_copied() -> None:
    import copy
    import pickle

    options = HubOptions.pick({"token": "secret", "revision": "dev", "other": 1, "cache_dir": None})
    assert options.to_kwargs() == {"token": "secret", "revision": "dev"}
    assert HubOptions(token=False).to_kwargs() == {"token": False}, "send none, even if one is stored"
    assert "secret" not in repr(options)
    for same in (copy.deepcopy(options), pickle.loads(pickle.dumps(options))):
        assert same == HubOptions(revision="dev")
