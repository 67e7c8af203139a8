"""However a model was made, what is saved says the same in another process, in whatever way it is loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertTokenizerFast

from hf_corefel import (
    CorefELConfig,
    CorefELModel,
    CorefELPipeline,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
)

from .conftest import TEXT, edit, run_python

HEADS = ["spans", "pruner", "pairs", "entities"]
# Where it lies, what it said before it was saved, and whether its code must be trusted.
Saved = tuple[Path, dict[str, Any], bool]


class Workshop:
    """Makes models of the small world, trains them for two steps, and saves them with their processor."""

    def __init__(self, root: Path, base: Path, encoder: Path, documents: list[Document]) -> None:
        self.root, self.base, self.encoder, self.documents = root, base, encoder, documents
        self.processor = CorefELProcessor.from_pretrained(base)

    def loaded(self, **kwargs: Any) -> CorefELModel:
        return CorefELModel.from_pretrained(self.base, **kwargs)

    def fresh(self, encoder: Path | None = None, **kwargs: Any) -> CorefELModel:
        fields = {name: getattr(self.loaded().config, name) for name in ("entity_vector_size", "window_size")}
        sizes = {"max_span_words": 3, "max_candidates": 3, "span_keep_ratio": 0.5, "min_kept_spans": 8}
        torch.manual_seed(1)
        return CorefELModel.from_encoder(str(encoder or self.encoder), **fields, **sizes, **kwargs)

    def trained(self, model: Any) -> Any:
        """The model after two steps that change all that is to be trained."""
        batch = self.processor_of(model)(self.documents, gold=True)
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
        model.train()
        for _ in range(2):
            optimizer.zero_grad()
            model(**batch.inputs).loss.backward()
            optimizer.step()
        return model.eval()

    def processor_of(self, model: Any) -> CorefELProcessor:
        return CorefELProcessor(self.processor.tokenizer, self.processor.knowledge_base, model.config)

    def trainer(self, model: Any, **arguments: Any) -> CorefELTrainer:
        torch.manual_seed(1)
        settings = CorefELTrainingArguments(
            str(self.root / f"run-{len(list(self.root.iterdir()))}"),
            max_steps=2,
            save_steps=1,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
            encoder_learning_rate=1e-2,
            task_learning_rate=1e-2,
            per_device_train_batch_size=3,
            **arguments,
        )
        return CorefELTrainer(model, settings, self.processor_of(model), train_dataset=self.documents)

    def says(self, model: Any, processor: CorefELProcessor | None = None) -> dict[str, Any]:
        return CorefELPipeline(model=model.eval(), processor=processor or self.processor_of(model))(TEXT)

    def saved(self, model: Any, processor: CorefELProcessor | None = None, trust: bool = False, **how: Any) -> Saved:
        folder = self.root / f"saved-{len(list(self.root.iterdir()))}"
        processor = processor or self.processor_of(model)
        expected = self.says(model, processor)
        model.save_pretrained(folder, **how)
        processor.save_pretrained(folder)
        return folder, expected, trust

    def lora(self, model: Any, **fields: Any) -> Any:
        return get_peft_model(model, lora_config(**fields))


def lora_config(**fields: Any) -> LoraConfig:
    return LoraConfig(**{"target_modules": ["query", "value"], "modules_to_save": list(HEADS), "r": 4, **fields})


CODE = """
from transformers import BertConfig, BertModel

from .scaling_ours import SCALE


class OurConfig(BertConfig):
    model_type = "ours"


class OurBert(BertModel):
    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        output.last_hidden_state = SCALE * output.last_hidden_state
        return output


class OurModel(OurBert):
    config_class = OurConfig
"""


def own_code(workshop: Workshop, **fields: Any) -> Path:
    """An encoder whose class is code beside its weights, in two files."""
    folder = workshop.root / f"encoder-{len(list(workshop.root.iterdir()))}"
    shutil.copytree(workshop.encoder, folder)
    (folder / "modeling_ours.py").write_text(CODE)
    (folder / "scaling_ours.py").write_text("SCALE = 1.5\n")
    edit(folder / "config.json", **fields)
    return folder


def of_own_code(workshop: Workshop, **fields: Any) -> Saved:
    encoder = own_code(workshop, **fields)
    model = workshop.trained(workshop.fresh(encoder, encoder_kwargs={"trust_remote_code": True}))
    shutil.rmtree(encoder)
    return workshop.saved(model, trust=True)


def from_configuration(workshop: Workshop) -> Saved:
    known = workshop.loaded().config
    encoder = BertConfig(**{**known.encoder_config.to_dict(), "num_hidden_layers": 1})
    fields = {name: value for name, value in known.to_diff_dict().items() if name in ("entity_vector_size", "head")}
    torch.manual_seed(1)
    return workshop.saved(workshop.trained(CorefELModel(CorefELConfig(encoder, window_size=16, **fields))))


def with_another_head(workshop: Workshop) -> Saved:
    model = workshop.loaded()
    model.set_head("standalone_linking")
    return workshop.saved(workshop.trained(model))


def with_added_entity(workshop: Workshop) -> Saved:
    model = workshop.trained(workshop.loaded())
    processor = CorefELProcessor.from_pretrained(workshop.base)
    processor.knowledge_base.add("Berg_Hall", ["Anna Berg"], prior=0.95)
    return workshop.saved(model, processor)


def with_new_subwords(workshop: Workshop) -> Saved:
    tokenizer = BertTokenizerFast.from_pretrained(str(workshop.base))
    tokenizer.add_tokens(["praised"])
    model = workshop.loaded()
    model.resize_token_embeddings(len(tokenizer) + 3)
    processor = CorefELProcessor(tokenizer, workshop.processor.knowledge_base, model.config)
    return workshop.saved(workshop.trained(model), processor)


def compiled(workshop: Workshop) -> Saved:
    model = workshop.loaded()
    inner: Any = model.encoder
    inner.model = torch.compile(inner.model, backend="eager")
    return workshop.saved(workshop.trained(model))


def pushed_from_pipeline(workshop: Workshop) -> Saved:
    model = workshop.trained(workshop.loaded())
    folder = workshop.root / "pipeline"
    pipe = CorefELPipeline(model=model, processor=workshop.processor)
    pipe.save_pretrained(folder)
    return folder, pipe(TEXT), False


def by_trainer(workshop: Workshop, model: Any) -> Saved:
    trainer = workshop.trainer(model)
    trainer.train()
    folder = Path(trainer.args.output_dir) / "final"
    trainer.save_model(str(folder))
    return folder, workshop.says(trainer.model), False


def in_checkpoint(workshop: Workshop, model: Any) -> Saved:
    trainer = workshop.trainer(model)
    trainer.train()
    return Path(trainer.args.output_dir) / "checkpoint-2", workshop.says(trainer.model), False


def adapter_without_processor(workshop: Workshop) -> Saved:
    model = workshop.trained(workshop.lora(workshop.loaded()))
    folder = workshop.root / "adapter-alone"
    model.save_pretrained(folder)
    return folder, workshop.says(model), False


def adapter_of_adapter(workshop: Workshop) -> Saved:
    first, *_ = adapter_without_processor(workshop)
    return workshop.saved(workshop.trained(workshop.lora(CorefELModel.from_pretrained(first))))


def adapter_moved_with_its_base(workshop: Workshop) -> Saved:
    folder, expected, trust = by_trainer(workshop, workshop.lora(workshop.fresh()))
    moved = workshop.root / "moved"
    shutil.move(folder, moved)
    return moved, expected, trust


def loaded_into(workshop: Workshop) -> Saved:
    first, expected, _ = adapter_without_processor(workshop)
    model = workshop.loaded()
    model.load_adapter(str(first))
    assert flat(workshop.says(model))[0] == flat(expected)[0]
    return workshop.saved(model)


def on_the_encoder(workshop: Workshop, place: str) -> Saved:
    model: Any = workshop.loaded()
    if place == "windows":
        model.encoder = get_peft_model(model.encoder, lora_config(modules_to_save=None))
    elif place == "encoder":
        model.encoder.model = get_peft_model(
            model.encoder.model, lora_config(modules_to_save=None, task_type="FEATURE_EXTRACTION")
        )
    else:
        peft.inject_adapter_in_model(lora_config(modules_to_save=None), model.encoder.model)
    for module in HEADS:
        getattr(model, module).requires_grad_(True)
    return workshop.saved(workshop.trained(model))


Way = Callable[[Workshop], Saved]
WAYS: dict[str, Way] = {
    "from an encoder": lambda w: w.saved(w.trained(w.fresh())),
    "from a configuration": from_configuration,
    "another head when loaded": lambda w: w.saved(w.trained(w.loaded(head="local"))),
    "another head when alive": with_another_head,
    "added entities": with_added_entity,
    "new subwords": with_new_subwords,
    "half precision": lambda w: w.saved(w.trained(w.loaded()).half()),
    "bfloat16": lambda w: w.saved(w.trained(w.loaded()).bfloat16()),
    "in shards": lambda w: w.saved(w.trained(w.loaded()), max_shard_size="10KB"),
    "compiled": compiled,
    "by the pipeline": pushed_from_pipeline,
    "by the trainer": lambda w: by_trainer(w, w.loaded()),
    "in a checkpoint": lambda w: in_checkpoint(w, w.loaded()),
    "code of its own": lambda w: of_own_code(
        w,
        model_type="ours",
        auto_map={"AutoConfig": "modeling_ours.OurConfig", "AutoModel": "modeling_ours.OurModel"},
    ),
    "code of its own, of a known kind": lambda w: of_own_code(w, auto_map={"AutoModel": "modeling_ours.OurBert"}),
    "LoRA": lambda w: w.saved(w.trained(w.lora(w.loaded()))),
    "LoRA of a task": lambda w: w.saved(w.trained(w.lora(w.loaded(), task_type="TOKEN_CLS"))),
    "LoRA, merged": lambda w: w.saved(w.trained(w.lora(w.loaded())).merge_and_unload()),
    "LoRA by the trainer": lambda w: by_trainer(w, w.lora(w.loaded())),
    "LoRA in a checkpoint": lambda w: in_checkpoint(w, w.lora(w.loaded(), task_type="FEATURE_EXTRACTION")),
    "LoRA on a fresh model": lambda w: by_trainer(w, w.lora(w.fresh())),
    "LoRA on another head": lambda w: by_trainer(w, w.lora(w.loaded(head="local"))),
    "LoRA without a processor": adapter_without_processor,
    "LoRA on LoRA": adapter_of_adapter,
    "LoRA by load_adapter": loaded_into,
    "LoRA around the windows": lambda w: on_the_encoder(w, "windows"),
    "LoRA around the encoder": lambda w: on_the_encoder(w, "encoder"),
    "LoRA within the encoder": lambda w: on_the_encoder(w, "layers"),
    "LoRA moved with its base": adapter_moved_with_its_base,
}
# Ways that transformers does not follow: a base that is an adapter too, or is not where the adapter says.
NOT_BY_TRANSFORMERS = ("LoRA moved with its base", "LoRA on LoRA")
# One of each kind; the rest is slow.
FEW = (
    "another head when loaded",
    "compiled",
    "code of its own",
    "code of its own, of a known kind",
    "LoRA of a task",
    "LoRA on a fresh model",
    "LoRA without a processor",
    "LoRA around the encoder",
    "LoRA moved with its base",
)

LOADING = """
import json, sys, warnings

import hf_corefel
from transformers import AutoModel, pipeline
from typer.testing import CliRunner
from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor
from hf_corefel.cli.app import app
from hf_corefel.pipeline_corefel import load_pipeline

text, jobs = sys.argv[1], json.loads(sys.argv[2])
warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", category=FutureWarning)

def command(folder, **trust):
    options = ["annotate", "-", "--json", "--model", folder, *(["--trust-remote-code"] if trust else [])]
    done = CliRunner().invoke(app, options, input=text)
    assert not done.exit_code, done.stderr
    return json.loads(done.stdout)

def parts(cls, folder, **trust):
    model = cls.from_pretrained(folder, **trust)
    return CorefELPipeline(model=model, processor=CorefELProcessor.from_pretrained(folder, **trust))(text)

ways = {
    "from_pretrained": lambda folder, **trust: parts(CorefELModel, folder, **trust),
    "AutoModel": lambda folder, **trust: parts(AutoModel, folder, **trust),
    "load_pipeline": lambda folder, **trust: load_pipeline(folder, **trust)(text),
    "pipeline": lambda folder, **trust: pipeline("coref-el", model=folder, **trust)(text),
    "command": command,
}
found = {}
for name, (folder, trust, by_transformers) in jobs.items():
    found[name] = {}
    for way, load in ways.items():
        if by_transformers or way not in ("AutoModel", "pipeline"):
            found[name][way] = load(folder, **({"trust_remote_code": True} if trust else {}))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def workshop(
    tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path, tiny_encoder: Path, tiny_documents: list[Document]
) -> Iterator[Workshop]:
    with torch.random.fork_rng():
        yield Workshop(tmp_path_factory.mktemp("ways"), tiny_folder, tiny_encoder, tiny_documents)


def flat(result: dict[str, Any]) -> tuple[list[Any], list[float]]:
    """What was found, and the probabilities, which are rounded otherwise where adapters were merged."""
    clusters = result["clusters"]
    found = [(c["entity"], [(m["begin"], m["end"]) for m in c["mentions"]]) for c in clusters]
    return found, [p for c in clusters for p in (c["probability"], *(m["probability"] for m in c["mentions"]))]


def check(workshop: Workshop, names: tuple[str, ...]) -> None:
    """Makes and saves models in this process, and loads all of them in another one."""
    saved = {name: WAYS[name](workshop) for name in names}
    jobs = {name: (str(folder), trust, name not in NOT_BY_TRANSFORMERS) for name, (folder, _, trust) in saved.items()}
    done = run_python(LOADING, TEXT, json.dumps(jobs))
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.splitlines()[-1])
    for name, (_, expected, _) in saved.items():
        found, probabilities = flat(expected)
        assert found, name
        for way, result in loaded[name].items():
            assert flat(result)[0] == found, (name, way)
            tolerance = 0.02 if name in ("half precision", "bfloat16") else 1e-4
            assert flat(result)[1] == pytest.approx(probabilities, abs=tolerance), (name, way)


def test_what_is_saved_says_the_same_in_another_process(workshop: Workshop) -> None:
    check(workshop, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_every_way_of_making_a_model(workshop: Workshop, name: str) -> None:
    check(workshop, (name,))
