"""No file of a model's folder gets code run or a question asked, in whatever way the folder is loaded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forked_python

from .conftest import SOURCE, TEXT, edit, run_python

AUTO_MAP = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model", "AutoProcessor": "evil.Processor"}
TOKENIZER_MAP = {"AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]}
ANSWERS = "y\n" * 40


def edit_encoder(folder: Path, **fields: Any) -> None:
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    edit(folder / "config.json", encoder_config={**content["encoder_config"], **fields})


def add_subfolder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    for file in ("evil.py", "generate.py"):
        shutil.copy(folder / "evil.py", folder / name / file)
    return folder / name


def tokenizer_of_tokenizers(folder: Path) -> None:
    edit(folder / "tokenizer_config.json", tokenizer_class="RagTokenizer")
    inner = add_subfolder(folder, "question_encoder_tokenizer")
    edit(inner / "tokenizer_config.json", auto_map=TOKENIZER_MAP, tokenizer_class="EvilTokenizer")


def other_configuration(folder: Path) -> None:
    edit(folder / "config.json", configuration_files=["config.4.0.0.json"])
    edit(folder / "config.4.0.0.json", model_type="evil", auto_map=AUTO_MAP)


def modules(folder: Path) -> None:
    for name in ("__init__", "hf_corefel", "hf_corefel_stub", "sitecustomize", "transformers"):
        shutil.copy(folder / "evil.py", folder / f"{name}.py")
    stub = {name: f"hf_corefel_stub.CorefEL{name.removeprefix('Auto')}" for name in ("AutoConfig", "AutoModel")}
    edit(folder / "config.json", auto_map=stub)


NESTED = {"model_type": "timm_backbone", "auto_map": {"AutoModel": "evil.Model", "AutoModelForCausalLM": "evil.Model"}}
IMPLEMENTATION = "_attn_implementation"
# What is done to a folder, and what the refusal names; None where the right answer is given.
CASES: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "tokenizer of an unknown class": (
        lambda f: edit(f / "tokenizer_config.json", auto_map=TOKENIZER_MAP, tokenizer_class="EvilTokenizer"),
        "tokenizer_config.json: auto_map",
    ),
    "tokenizer of no class": (
        lambda f: edit(
            f / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, "evil.Tokenizer"]}, tokenizer_class=None
        ),
        "tokenizer_config.json: auto_map",
    ),
    "tokenizer of a known class": (
        lambda f: edit(f / "tokenizer_config.json", auto_map=TOKENIZER_MAP),
        "tokenizer_config.json: auto_map",
    ),
    "tokenizer in the older form": (
        lambda f: edit(f / "tokenizer_config.json", auto_map=["evil.Tokenizer", None], tokenizer_class="EvilTokenizer"),
        "tokenizer_config.json: auto_map",
    ),
    "tokenizer that names a processor": (
        lambda f: edit(f / "tokenizer_config.json", auto_map=AUTO_MAP, processor_class="EvilProcessor"),
        "tokenizer_config.json: auto_map",
    ),
    "tokenizer of tokenizers": (tokenizer_of_tokenizers, "tokenizer_config.json: tokenizer_class"),
    "tokenizer of another repository": (
        lambda f: edit(f / "tokenizer_config.json", auto_map={"AutoTokenizer": ["acme/evil--evil.Tokenizer", None]}),
        "tokenizer_config.json: auto_map",
    ),
    "configuration": (
        lambda f: edit(f / "config.json", auto_map={**AUTO_MAP, **TOKENIZER_MAP}, tokenizer_class="EvilTokenizer"),
        None,
    ),
    "configuration of an unknown kind": (
        lambda f: edit(f / "config.json", auto_map=AUTO_MAP, model_type="evil"),
        "config.json: model_type",
    ),
    "configuration elsewhere": (other_configuration, "config.json: configuration_files"),
    "weights elsewhere": (
        lambda f: edit(f / "config.json", transformers_weights="adapter_model.bin"),
        "config.json: transformers_weights",
    ),
    "task": (
        lambda f: edit(
            f / "config.json", custom_pipelines={"coref-el": {"impl": "evil.Pipeline", "pt": ["AutoModel"]}}
        ),
        None,
    ),
    "implementation": (
        lambda f: edit(f / "config.json", **{IMPLEMENTATION: "acme/kernel"}),
        f": {IMPLEMENTATION} names",
    ),
    "encoder": (lambda f: edit_encoder(f, auto_map=AUTO_MAP), None),
    "encoder of an unknown kind": (
        lambda f: edit_encoder(f, auto_map=AUTO_MAP, model_type="evil"),
        "encoder_config.auto_map names",
    ),
    "encoder without a class": (
        lambda f: edit_encoder(f, **{**NESTED, "model_type": "trocr"}),
        "encoder_config.model_type",
    ),
    "encoder within an encoder": (
        lambda f: edit_encoder(f, model_type="encoder-decoder", encoder=NESTED, decoder=NESTED),
        "encoder_config.model_type",
    ),
    "encoder's implementation": (
        lambda f: edit_encoder(f, attn_implementation="acme/kernel"),
        "encoder_config.attn_implementation names",
    ),
    "processor": (
        lambda f: edit(f / "processor_config.json", auto_map=AUTO_MAP),
        "processor_config.json: auto_map",
    ),
    "processor of no class": (
        lambda f: edit(f / "processor_config.json", auto_map=AUTO_MAP, processor_class=None),
        "processor_config.json: auto_map",
    ),
    "processor of an unknown class": (
        lambda f: edit(f / "processor_config.json", processor_class="EvilProcessor"),
        None,
    ),
    "processors of other kinds": (
        lambda f: [
            edit(
                f / f"{name}preprocessor_config.json",
                processor_class="EvilProcessor",
                auto_map={name: "evil.Processor" for name in ("AutoProcessor", "AutoImageProcessor")}
                | {name: "evil.Processor" for name in ("AutoFeatureExtractor", "AutoVideoProcessor")},
            )
            for name in ("", "video_")
        ],
        None,
    ),
    "generation": (
        lambda f: (
            edit(f / "generation_config.json", auto_map=AUTO_MAP, custom_generate="."),
            add_subfolder(f, "custom_generate"),
        ),
        None,
    ),
    "adapter": (
        lambda f: edit(f / "adapter_config.json", base_model_name_or_path="acme/evil", peft_type="LORA"),
        "adapter_config.json",
    ),
    "modules of known names": (modules, None),
}
# Folders that are no CorefELModel, of which transformers itself may ask before anything of ours is called.
NOT_OURS = ("configuration of an unknown kind", "configuration elsewhere")
LOADING = """
import contextlib, io, json, sys, warnings
from pathlib import Path

import hf_corefel
from transformers import AutoConfig, AutoModel, AutoProcessor, pipeline
from typer.testing import CliRunner
from hf_corefel import CorefELModel, CorefELProcessor
from hf_corefel.cli.app import app
from hf_corefel.pipeline_corefel import load_pipeline

warnings.simplefilter("ignore")
root, text, not_ours = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])

def annotate(pipe):
    return [[m["text"] for m in c["mentions"]] for c in pipe(text)["clusters"]]

def command(folder):
    done = CliRunner().invoke(app, ["annotate", "-", "--json", "--model", str(folder)], input=text)
    if done.exit_code:
        assert type(done.exception) is SystemExit and not done.stdout, done
        raise ValueError(done.stderr)
    return [[m["text"] for m in c["mentions"]] for c in json.loads(done.stdout)["clusters"]]

ways = {
    "load_pipeline": lambda folder: annotate(load_pipeline(folder)),
    "parts": lambda folder: [type(each.from_pretrained(folder)) for each in (CorefELModel, CorefELProcessor)] and None,
    "encoder": lambda folder: CorefELModel.from_encoder(str(folder)) and None,
    "command": command,
    "task": lambda folder: annotate(pipeline("coref-el", model=str(folder))),
    "AutoConfig": lambda folder: AutoConfig.from_pretrained(folder) and None,
    "AutoModel": lambda folder: AutoModel.from_pretrained(folder) and None,
    "AutoProcessor": lambda folder: AutoProcessor.from_pretrained(folder) and None,
}
found = {}
for folder in sorted(root.iterdir()):
    for way in list(ways)[: 4 if folder.name in not_ours else None]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                result = {"result": ways[way](folder)}
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        found.setdefault(folder.name, {})[way] = result
print(json.dumps({"found": found, "left": sys.stdin.read()}))
"""


@pytest.fixture(scope="module")
def spoilt(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder a case, each with a module that leaves a mark when it is run, and one that is as it was saved."""
    root = tmp_path_factory.mktemp("folders")
    for name, (spoil, _) in {"as it was": (lambda folder: None, None), **CASES}.items():
        folder = root / name
        shutil.copytree(saved, folder)
        mark = str(root.parent / f"{root.name}.ran")
        (folder / "evil.py").write_text(f"open({mark!r}, 'a').write({name!r})\nraise RuntimeError('evil')\n")
        spoil(folder)
    return root


@pytest.fixture(scope="module")
def outcome(spoilt: Path) -> dict[str, Any]:
    """What every way of loading made of every folder, and what was left on standard input."""
    done = run_python(LOADING, str(spoilt), TEXT, json.dumps(NOT_OURS), given=ANSWERS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def mark(spoilt: Path) -> Path:
    return spoilt.parent / f"{spoilt.name}.ran"


def test_nothing_ran_and_nobody_was_asked(outcome: dict[str, Any], mark: Path) -> None:
    assert not mark.exists(), mark.read_text()
    assert outcome["left"] == ANSWERS


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_right_or_the_refusal_names_file_and_field(outcome: dict[str, Any], name: str) -> None:
    right = outcome["found"]["as it was"]["load_pipeline"]["result"]
    assert ["Anna Berg", "Berg"] in right
    named = CASES[name][1]
    for way in ("load_pipeline", "command", "task"):
        result = outcome["found"][name].get(way)
        if named is None:
            assert result == {"result": right}, way
        elif result is not None:
            assert result["error"].startswith(("ValueError", "OSError")), way
            # The pipeline of transformers wraps what the model says in a text of its own.
            assert named in result["error"] or way == "task", (way, result["error"])
    if named is not None:
        assert "Traceback" not in outcome["found"][name]["command"]["error"]


@pytest.mark.parametrize("kind", ["pipe", "knowledge base"])
def test_documents_on_standard_input_are_no_answers(spoilt: Path, mark: Path, tmp_path: Path, kind: str) -> None:
    folder = spoilt / "tokenizer of an unknown class"
    (tmp_path / "aliases.jsonl").write_text('["Unheard", [["Unheard_of", 1.0]]]\n', encoding="utf-8")
    commands = {
        "pipe": ["annotate", "-", "--input-format", "jsonl", "--json", "--model", str(folder)],
        "knowledge base": [
            *("kb", "build", "--aliases", str(tmp_path / "aliases.jsonl"), "--out", str(tmp_path / "kb")),
            *("--model", str(folder)),
        ],
    }
    given = f"{json.dumps({'text': TEXT})}\n{ANSWERS}"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HF_HUB_OFFLINE": "1"}
    done = forked_python.run_python("-m", "hf_corefel.cli", *commands[kind], input=given, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert "tokenizer_config.json: auto_map names code to run ('evil.Tokenizer')" in done.stderr
    assert "[y/N]" not in done.stderr and "Traceback" not in done.stderr
    assert not mark.exists()


TRUSTED = """
import sys, warnings
from transformers import BertConfig, BertModel, BertTokenizerFast

class Config(BertConfig):
    model_type = "ours"

class Model(BertModel):
    config_class = Config

class Tokenizer(BertTokenizerFast):
    pass
"""
TRUSTING = """
import sys, warnings
warnings.simplefilter("ignore")
from hf_corefel import CorefELModel, CorefELProcessor
from hf_corefel.pipeline_corefel import load_pipeline

folder, text = sys.argv[1:]
pipe = load_pipeline(folder, trust_remote_code=True)
for part in (pipe.model.encoder.model, pipe.model.config.encoder_config, pipe.processor.tokenizer):
    assert type(part).__module__.startswith("transformers_modules."), type(part)
print([[m["text"] for m in c["mentions"]] for c in pipe(text)["clusters"]])
CorefELProcessor.from_pretrained(folder, trust_remote_code=True)
for trust in (False, None, "yes"):
    try:
        CorefELModel.from_pretrained(folder, trust_remote_code=trust)
    except ValueError as error:
        assert "encoder_config.auto_map" in str(error), error
    else:
        raise AssertionError(trust)
"""


def test_code_that_the_caller_trusts_is_run_for_every_part(saved: Path, tmp_path: Path, outcome: Any) -> None:
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    (folder / "ours.py").write_text(TRUSTED)
    edit(
        folder / "tokenizer_config.json",
        auto_map={"AutoTokenizer": [None, "ours.Tokenizer"]},
        tokenizer_class="OurTokenizer",
    )
    edit_encoder(folder, auto_map={"AutoConfig": "ours.Config", "AutoModel": "ours.Model"}, model_type="ours")
    done = run_python(TRUSTING, str(folder), TEXT, given=ANSWERS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(outcome["found"]["as it was"]["load_pipeline"]["result"])
