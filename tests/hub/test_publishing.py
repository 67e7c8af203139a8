"""What is put on the Hub, by the command, by the methods of transformers, and by the trainer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from safetensors.torch import load

from hf_corefel import CorefELProcessor, Document, bundled_checkpoint
from hf_corefel.pipeline_corefel import load_pipeline
from kb_folders import KB_FILES

PUBLISH = """
from typer.testing import CliRunner
from hf_corefel.cli.app import app

result = CliRunner().invoke(app, ["publish", *given["arguments"]])
return [result.exit_code, result.output]
"""
KNOWLEDGE_BASE = {f"knowledge_base/{name}" for name in KB_FILES}
MODEL = {"config.json", "model.safetensors"}
PROCESSOR = {"processor_config.json", "tokenizer.json", "tokenizer_config.json", *KNOWLEDGE_BASE}
CHECKS = {"fingerprint.json", "hf_corefel_stub.py"}
# transformers 4 keeps them beside the tokenizer.
OLDER = {"special_tokens_map.json", "vocab.txt"}


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A saved model with what training leaves beside it."""
    target = shutil.copytree(tiny_folder, tmp_path / "saved")
    (target / "checkpoint-10").mkdir()
    (target / "checkpoint-10" / "model.safetensors").write_bytes(b"state")
    (target / "training_args.bin").write_bytes(b"pickle")
    (target / ".secret.json").write_text("{}")
    config = json.loads((target / "config.json").read_text())
    config["encoder_config"]["_name_or_path"] = "/home/somebody/encoders/tiny"
    (target / "config.json").write_text(json.dumps(config))
    return target


def test_publishing_a_folder(hub: Any, client: Any, folder: Path) -> None:
    status, output = client(PUBLISH, arguments=["--model", str(folder), "acme/published"])
    assert status == 0, output
    repository = hub.repository("acme/published")
    assert output.strip() == f"{hub.url}/acme/published/commit/{repository.resolve('main')}"
    assert not repository.private
    assert repository.titles == ["initial commit", "Publish model, processor and knowledge base"], "one commit"
    files = repository.files()
    assert set(files) - OLDER == {*MODEL, *PROCESSOR, "README.md", *CHECKS}
    for name in ("model.safetensors", "tokenizer.json", "processor_config.json", *KNOWLEDGE_BASE):
        assert files[name] == (folder / name).read_bytes(), name
    saved = json.loads((folder / "config.json").read_text())
    published = json.loads(files["config.json"])
    assert published.pop("auto_map")["AutoConfig"] == "hf_corefel_stub.CorefELConfig"
    assert published.pop("encoder_config") == {**saved.pop("encoder_config"), "_name_or_path": "tiny"}
    assert published == saved, "custom_pipelines would make everybody trust code"
    card = files["README.md"].decode()
    assert 'pipeline("coref-el", model="acme/published")' in card
    assert ModelCard(card).data.library_name == "hf-corefel"
    assert sorted(path.name for path in folder.iterdir() if path.suffix in {".md", ".py"}) == []
    assert not (folder / "fingerprint.json").exists(), "the folder is as it was"


def test_publishing_the_bundled_checkpoint(hub: Any, client: Any, tmp_path: Path) -> None:
    status, output = client(PUBLISH, arguments=["acme/bundled"])
    assert status == 0, output
    files = hub.repository("acme/bundled").files()
    folder = Path(bundled_checkpoint())
    records = {"test_scores.json", "training_record.json"}
    knowledge_base = {f"knowledge_base/{path.name}" for path in (folder / "knowledge_base").iterdir()}
    assert set(files) >= {*MODEL, *(PROCESSOR - KNOWLEDGE_BASE), *CHECKS, *records, *knowledge_base, "README.md"}
    for name in ("model.safetensors", "test_scores.json", *knowledge_base):
        assert files[name] == (folder / name).read_bytes(), name
    assert b"import hf_corefel" in files["hf_corefel_stub.py"]
    assert json.loads(files["config.json"])["auto_map"]["AutoModel"] == "hf_corefel_stub.CorefELModel"
    card = ModelCard(files["README.md"].decode())
    assert 'pipeline("coref-el", model="acme/bundled")' in card.text
    assert (card.data.license, card.data.model_name) == ("apache-2.0", "bundled")
    scores = json.loads((folder / "test_scores.json").read_text(encoding="utf-8"))
    linking = scores["entity_linking"]
    measured = [scores["coreference"]["average_f1"], linking["el_m"]["f1"], linking["el_h"]["f1"]]
    shown = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert list(shown) == ["coref_f1", "el_mention_f1", "el_hard_f1"]
    assert list(shown.values()) == [round(value, 4) for value in measured]
    assert {(r.dataset_name, r.dataset_split) for r in card.data.eval_results} == {("DWIE", "test")}
    assert fingerprint_warnings(client, "acme/bundled", tmp_path) == []


def test_publishing_again_on_a_branch(hub: Any, client: Any, folder: Path) -> None:
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# By hand\n", encoding="utf-8")
    arguments = ["--model", str(folder), "acme/branches", "--private"]
    assert client(PUBLISH, arguments=arguments)[0] == 0
    repository = hub.repository("acme/branches")
    assert repository.private
    first = repository.files()
    assert first["README.md"] == (folder / "README.md").read_bytes()
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    index = {"metadata": {}, "weight_map": {}}
    index["weight_map"] = dict.fromkeys(
        load((folder / "model-00001-of-00001.safetensors").read_bytes()), "model-00001-of-00001.safetensors"
    )
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    status, output = client(PUBLISH, arguments=[*arguments, "--revision", "sharded"])
    assert status == 0, output
    assert repository.files() == first
    second = repository.files("sharded")
    assert set(second) == set(first) - {"model.safetensors"} | {
        "model-00001-of-00001.safetensors",
        "model.safetensors.index.json",
    }, "weights of before would be loaded instead"


def test_a_knowledge_base_of_several_is_published_with_all_of_them(hub: Any, client: Any, folder: Path) -> None:
    code = """
        import shutil
        from hf_corefel import CorefELProcessor, KnowledgeBase
        from hf_corefel.candidates import ComposedKnowledgeBase
        processor = CorefELProcessor.from_pretrained(given["folder"])
        kb = processor.knowledge_base
        names = [kb.entity_name(i) for i in range(8)]
        more = KnowledgeBase.build([("Trondheim", [("Trondheim", 1.0)])], vectors=(names, kb.vectors(range(8))))
        shutil.rmtree(given["folder"] + "/knowledge_base")
        processor.with_knowledge_base(ComposedKnowledgeBase([kb, more])).save_pretrained(given["folder"])
    """
    client(code, folder=folder)
    status, output = client(PUBLISH, arguments=["--model", str(folder), "acme/several"])
    assert status == 0, output
    files = hub.repository("acme/several").files()
    parts = {str(path.relative_to(folder)) for path in (folder / "knowledge_base").glob("[01]/[!.]*")}
    assert parts <= set(files)
    loading = """
        from hf_corefel import CorefELProcessor
        return "Trondheim" in CorefELProcessor.from_pretrained("acme/several").knowledge_base
    """
    assert client(loading)


def test_a_public_repository_is_not_taken_for_a_private_one(hub: Any, client: Any, folder: Path) -> None:
    client("import huggingface_hub; huggingface_hub.create_repo('acme/public')")
    status, output = client(PUBLISH, arguments=["--model", str(folder), "acme/public", "--private"])
    assert status == 1
    assert "exists and is public" in output
    assert hub.repository("acme/public").files() == {}


def test_what_cannot_be_loaded_is_not_published(hub: Any, client: Any, folder: Path) -> None:
    (folder / "processor_config.json").unlink()
    status, output = client(PUBLISH, arguments=["--model", str(folder), "acme/broken"])
    assert (status, "processor_config.json" in output) == (1, True), output
    (folder / "model.safetensors").unlink()
    status, output = client(PUBLISH, arguments=["--model", str(folder), "acme/broken"])
    assert (status, "no *.safetensors" in output) == (1, True), output
    assert ("models", "acme/broken") not in hub.repositories


def test_strangers_cannot_publish(hub: Any, stranger: Any, folder: Path) -> None:
    status, output = stranger(PUBLISH, arguments=["--model", str(folder), "acme/theirs"])
    assert status == 1
    assert output.startswith(f"hf-corefel: cannot publish {folder} as acme/theirs: ")
    assert ("models", "acme/theirs") not in hub.repositories


def test_pushing_the_parts(hub: Any, client: Any, tiny_folder: Path) -> None:
    client(
        """
        from hf_corefel import CorefELModel, CorefELProcessor
        CorefELModel.from_pretrained(given["folder"]).push_to_hub("acme/parts")
        commit = CorefELProcessor.from_pretrained(given["folder"]).push_to_hub("acme/parts", commit_message="Words")
        """,
        folder=tiny_folder,
    )
    repository = hub.repository("acme/parts")
    files = repository.files()
    assert set(files) - OLDER == {*MODEL, *PROCESSOR, "README.md"}
    assert repository.titles[-1] == "Words"
    assert "auto_map" not in json.loads(files["config.json"])


def test_pushing_a_processor_replaces_the_whole_of_it(hub: Any, client: Any, folder: Path) -> None:
    code = """
        from hf_corefel import CorefELProcessor, KnowledgeBase
        processor = CorefELProcessor.from_pretrained(given["folder"])
        names = [processor.knowledge_base.entity_name(i) for i in range(8)]
        described = KnowledgeBase.build(
            [("Oslo", [("Oslo", 1.0)])],
            vectors=(names, processor.knowledge_base.vectors(range(8))),
            descriptions={"Oslo": "A city."},
        )
        processor.with_knowledge_base(described).push_to_hub("acme/replaced", private=True, revision="dev")
        first = processor.push_to_hub("acme/replaced", revision="dev")
        return first.oid
    """
    assert client(PUBLISH, arguments=["--model", str(folder), "acme/replaced", "--private"])[0] == 0
    repository = hub.repository("acme/replaced")
    oid = client(code, folder=folder)
    before, described = list(repository.snapshots.values())[-2:-1][0], repository.branches["dev"]
    assert described == oid
    assert "knowledge_base/descriptions.safetensors" in before
    files = repository.files("dev")
    assert "knowledge_base/descriptions.safetensors" not in files
    assert "fingerprint.json" not in files, "it was of another knowledge base"
    assert "fingerprint.json" in repository.files()
    assert files["model.safetensors"] == (folder / "model.safetensors").read_bytes()


def test_pushing_a_pipeline(hub: Any, client: Any, tiny_folder: Path) -> None:
    client(
        """
        from hf_corefel.pipeline_corefel import load_pipeline
        load_pipeline(given["folder"]).push_to_hub("acme/whole")
        """,
        folder=tiny_folder,
    )
    files = hub.repository("acme/whole").files()
    assert set(files) - OLDER == {*MODEL, *PROCESSOR, "README.md", *CHECKS}
    assert json.loads(files["config.json"])["auto_map"]["AutoModel"] == "hf_corefel_stub.CorefELModel"


def fingerprint_warnings(client: Any, name: str, folder: Path) -> list[str]:
    """What is said of the fingerprint when a repository is loaded by its name, into a cache of its own."""
    loading = """
        from hf_corefel.pipeline_corefel import load_pipeline
        return load_pipeline(given["name"], cache_dir=given["cache"])("Angela Merkel met Barack Obama.")["clusters"]
    """
    client(loading, name=name, cache=folder / "cache")
    assert list((folder / "cache").rglob("fingerprint.json")), "it was there to be compared"
    return [message for message in client.warnings if "Fingerprint" in message]


def test_the_trainer_pushes_with_a_card(
    hub: Any, client: Any, tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path
) -> None:
    client(
        """
        from hf_corefel import CorefELModel, CorefELProcessor, CorefELTrainer, CorefELTrainingArguments
        arguments = CorefELTrainingArguments(
            given["output"], max_steps=1, report_to="none", use_cpu=True, hub_model_id="acme/trained"
        )
        trainer = CorefELTrainer(
            CorefELModel.from_pretrained(given["folder"]),
            arguments,
            CorefELProcessor.from_pretrained(given["folder"]),
            train_dataset=given["documents"],
        )
        trainer.train()
        trainer.push_to_hub(dataset="acme/news")
        trainer.save_model(given["output"] + "/own")
        """,
        folder=tiny_folder,
        documents=[document.to_dict() for document in tiny_documents],
        output=tmp_path,
    )
    files = hub.repository("acme/trained").files()
    assert {*MODEL, *PROCESSOR, "README.md", *CHECKS} <= set(files)
    assert json.loads(files["config.json"])["auto_map"]["AutoModel"] == "hf_corefel_stub.CorefELModel"
    assert fingerprint_warnings(client, "acme/trained", tmp_path) == []
    own = {path.name for path in (tmp_path / "own").iterdir()}
    assert own >= MODEL and not CHECKS & own, "only what is pushed has them"
    assert not any(name.startswith("checkpoint-") for name in files)
    card = files["README.md"].decode()
    assert 'pipeline("coref-el", model="acme/trained")' in card
    assert ModelCard(card).data.datasets == ["acme/news"]


def test_a_trained_model_is_saved_and_loads(
    tiny_model: Callable[..., Any], tiny_processor: Callable[[Any], Any], tmp_path: Path
) -> None:
    model = tiny_model()
    model.save_pretrained(tmp_path)
    tiny_processor(model.config).save_pretrained(tmp_path)
    assert isinstance(load_pipeline(tmp_path).processor, CorefELProcessor)
