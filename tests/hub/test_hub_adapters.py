"""Adapters of PEFT on the Hub, alone and with their base, and encoders of custom code."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import Document

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss."
# What was trained is known by what it says; the adapter is alone in its repository.
PUSH = """
import torch
from peft import LoraConfig, get_peft_model
from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor

torch.manual_seed(0)
model = CorefELModel.from_pretrained(given["base"])
lora = LoraConfig(target_modules=["query", "value"], modules_to_save=["pairs"])
adapted = get_peft_model(model, lora).eval()
with torch.no_grad():
    for parameter in adapted.parameters():
        if parameter.requires_grad:
            parameter.add_(0.05 * torch.randn_like(parameter))
if given["name"]:
    adapted.push_to_hub(given["name"])
else:
    adapted.save_pretrained(given["folder"])
return CorefELPipeline(model=adapted, processor=CorefELProcessor.from_pretrained(given["base"]))(given["text"])
"""
LOAD = """
from transformers import AutoModel, pipeline
from hf_corefel import CorefELPipeline, load_pipeline

results = [load_pipeline(given["name"])(given["text"]), pipeline("coref-el", model=given["name"])(given["text"])]
model = AutoModel.from_pretrained(given["name"])
return [*results, CorefELPipeline(model=model)(given["text"])]
"""
PUBLISH = """
from typer.testing import CliRunner
from hf_corefel.cli.app import app

result = CliRunner().invoke(app, ["publish", *given["arguments"]])
return [result.exit_code, result.output]
"""


def flat(result: Any) -> list[Any]:
    return [(c["entity"], [(m["begin"], m["end"]) for m in c["mentions"]]) for c in result["clusters"]]


def test_an_adapter_refers_to_its_base(hub: Any, client: Any, stranger: Any, tiny_folder: Path) -> None:
    status, output = client(PUBLISH, arguments=["--model", str(tiny_folder), "acme/lora-base"])
    assert status == 0, output
    expected = client(PUSH, base="acme/lora-base", name="acme/lora", text=TEXT)
    assert {"adapter_config.json", "adapter_model.safetensors"} <= set(hub.repository("acme/lora").files())
    assert "model.safetensors" not in hub.repository("acme/lora").files()
    for who in (client, stranger):
        assert [flat(result) for result in who(LOAD, name="acme/lora", text=TEXT)] == [flat(expected)] * 3


def test_publishing_an_adapter_publishes_a_whole_model(
    hub: Any, client: Any, stranger: Any, tiny_folder: Path, tmp_path: Path
) -> None:
    expected = client(PUSH, base=str(tiny_folder), name="", folder=tmp_path / "adapter", text=TEXT)
    status, output = client(PUBLISH, arguments=["--model", str(tmp_path / "adapter"), "acme/lora-merged"])
    assert status == 0, output
    files = hub.repository("acme/lora-merged").files()
    assert {"model.safetensors", "processor_config.json", "fingerprint.json", "README.md"} <= set(files)
    assert not any(name.startswith("adapter") for name in files)
    assert b"library_name: peft" not in files["README.md"]
    assert [flat(result) for result in stranger(LOAD, name="acme/lora-merged", text=TEXT)] == [flat(expected)] * 3
    assert stranger.warnings == []


TRAIN = """
from peft import LoraConfig, get_peft_model
from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor, CorefELTrainer, CorefELTrainingArguments

processor = CorefELProcessor.from_pretrained(given["base"])
model = CorefELModel.from_pretrained(given["base"])
adapted = get_peft_model(model, LoraConfig(target_modules=["query", "value"], modules_to_save=["pairs"]))
arguments = CorefELTrainingArguments(
    given["output"], max_steps=1, report_to="none", use_cpu=True, hub_model_id=given["name"], save_strategy="no"
)
trainer = CorefELTrainer(adapted, arguments, processor, train_dataset=given["documents"])
trainer.train()
trainer.push_to_hub()
trainer.save_model(given["output"] + "/own")
return CorefELPipeline(model=adapted.eval(), processor=processor)(given["text"])
"""


def test_what_the_trainer_pushes_loads_where_its_base_is_not(
    hub: Any, client: Any, stranger: Any, tiny_folder: Path, tiny_documents: list[Document], tmp_path: Path
) -> None:
    """A folder of one machine is the base; publishing it as a whole model then leaves nothing of the adapter."""
    base = shutil.copytree(tiny_folder, tmp_path / "base")
    output, name = tmp_path / "run", "acme/lora-trained"
    documents = [document.to_dict() for document in tiny_documents]
    expected = client(TRAIN, base=base, output=output, name=name, documents=documents, text=TEXT)
    assert not (output / "own" / "base_model").exists(), "only what is pushed has it"
    base.rename(tmp_path / "elsewhere")
    (output / "base_model").rename(tmp_path / "gone")
    files = hub.repository(name).files()
    assert {"adapter_config.json", "base_model/model.safetensors", "processor_config.json"} <= set(files)
    call = f'annotate = load_pipeline("{name}")'
    assert call in files["README.md"].decode() and "from transformers" not in files["README.md"].decode()
    load = "from hf_corefel import load_pipeline\n"
    load += "return load_pipeline(given['name'])(given['text'])"
    assert flat(stranger(load, name=name, text=TEXT)) == flat(expected)

    (tmp_path / "gone").rename(output / "base_model")
    status, text = client(PUBLISH, arguments=["--model", str(output), name])
    assert status == 0, text
    files = hub.repository(name).files()
    assert "model.safetensors" in files
    assert not [file for file in files if file.startswith(("adapter", "base_model"))]
    assert [flat(result) for result in stranger(LOAD, name=name, text=TEXT)] == [flat(expected)] * 3


CODE = """
from transformers import BertConfig, BertModel

class OurConfig(BertConfig):
    model_type = "ours"

class OurModel(BertModel):
    config_class = OurConfig
"""
SAVE_CODED = """
import json, pathlib
from hf_corefel import CorefELModel, CorefELProcessor

encoder = pathlib.Path(given["encoder"])
config = json.loads((encoder / "config.json").read_text())
names = {"AutoConfig": "modeling_ours.OurConfig", "AutoModel": "modeling_ours.OurModel"}
(encoder / "config.json").write_text(json.dumps({**config, "model_type": "ours", "auto_map": names}))
fields = CorefELModel.from_pretrained(given["base"]).config
fields = {name: getattr(fields, name) for name in ("entity_vector_size", "window_size", "max_span_words")}
trusting = {"trust_remote_code": True}
CorefELModel.from_encoder(str(encoder), encoder_kwargs=trusting, **fields).save_pretrained(given["folder"])
CorefELProcessor.from_pretrained(given["base"]).save_pretrained(given["folder"])
"""


def test_code_is_published_where_it_is_trusted(
    hub: Any, client: Any, stranger: Any, tiny_folder: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    encoder, folder = shutil.copytree(tiny_encoder, tmp_path / "encoder"), tmp_path / "coded"
    (encoder / "modeling_ours.py").write_text(CODE)
    client(SAVE_CODED, encoder=encoder, base=tiny_folder, folder=folder)
    status, output = client(PUBLISH, arguments=["--model", str(folder), "acme/coded"])
    assert status == 1 and "--trust-remote-code" in output
    status, output = client(PUBLISH, arguments=["--model", str(folder), "acme/coded", "--trust-remote-code"])
    assert status == 0, output
    assert "modeling_ours.py" in hub.repository("acme/coded").files()
    load = "from hf_corefel import load_pipeline\n"
    load += "return load_pipeline(given['name'], trust_remote_code=given['trust'])(given['text'])['text']"
    assert stranger(load, name="acme/coded", trust=True, text=TEXT) == TEXT
    with pytest.raises(Exception, match=r"encoder_config\.auto_map names code to run"):
        stranger(load, name="acme/coded", trust=False, text=TEXT)
