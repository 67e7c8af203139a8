"""What an import brings along, and that the Auto classes and the task are known whatever is imported first.

What a process has imported it cannot take back, so every order runs in a process of its own.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forked_python import TORCH, run_python

SOURCE = Path(__file__).resolve().parents[1] / "src"


def run(*code: str, imported: tuple[str, ...] = TORCH) -> None:
    """Runs the code in a process that has imported nothing that knows of this package; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HF_HUB_OFFLINE": "1"}
    done = run_python("-c", "\n".join(code), imported=imported, env=environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


LIGHT = """
import importlib, sys

import hf_corefel.candidates.dense, hf_corefel.corpora, hf_corefel.documents, hf_corefel.formats, hf_corefel.kb
import hf_corefel.serving
import hf_corefel.metrics, hf_corefel.wikipedia.facts, hf_corefel.wikipedia.page_props, hf_corefel.wikipedia.wikidata
from hf_corefel import Alternative, AnnotatedDocument, Document, KnowledgeBase, Parent, __version__, metric_path
from hf_corefel.cli import main

def heavy():
    return sorted({"torch", "transformers", "datasets", "fastapi", "uvicorn"} & set(sys.modules))

assert hf_corefel.__version__ == __version__ and metric_path().endswith("coref_el")
assert KnowledgeBase.build([("Oslo", [("Oslo", 1.0)])]).candidates("Oslo")[0].entity == "Oslo"
rooms = {"corpora", "decoding", "documents", "evaluation", "formats", "heads", "hub", "kb", "layers", "metrics"}
rooms |= {"candidates", "loading", "pipelines", "processing", "resolving", "serving", "training", "trees", "wikipedia"}
assert {*hf_corefel.__all__, *rooms} <= set(dir(hf_corefel)) and dir(hf_corefel) == sorted(dir(hf_corefel))
assert not hasattr(hf_corefel, "nothing_of_this_name") and not hasattr(hf_corefel, "_nothing")
assert not heavy(), heavy()
for arguments in (["--version"], ["--help"], ["corpus", "stats", "--help"], ["serve", "--help"]):
    sys.argv = ["hf-corefel", *arguments]
    try:
        main()
    except SystemExit as left:
        assert not left.code, left.code
    assert not heavy(), (arguments, heavy())
importlib.reload(hf_corefel)
assert not heavy(), heavy()
finders = [finder for finder in sys.meta_path if type(finder).__module__ == "hf_corefel.registration"]
assert len(finders) == 1, finders
# The loader that we put before the real one passes on what it is asked before the module is run.
spec = importlib.util.find_spec("hf_corefel.cli.__main__")
assert spec.loader.get_code("hf_corefel.cli.__main__") is not None
assert hf_corefel.trees.SpanningTreeDistribution
assert heavy() == ["torch"], heavy()
"""


def test_documents_knowledge_bases_scores_and_commands_import_neither_torch_nor_transformers() -> None:
    run(LIGHT, imported=())


ORDERS = {
    "package_first": "import hf_corefel\nfrom transformers import AutoConfig, AutoModel, AutoProcessor, pipeline",
    "package_then_a_model": "import hf_corefel.kb\nfrom transformers.models.bert.modeling_bert import BertModel",
    "transformers_first": "from transformers import AutoModel, AutoProcessor, pipeline\nimport hf_corefel",
    "lazy_transformers_first": "import transformers\nimport hf_corefel",
    "name_only": "from hf_corefel import CorefELModel",
    # Transformers is first imported within a module of ours that registering needs complete.
    "own_module_first": "from hf_corefel.layers import WindowEncoder",
    # As in a spawned process that is sent a class.
    "unpickled": r"import pickle; pickle.loads(b'chf_corefel.modeling_corefel\nCorefELModel\n.')",
    # Each thread needs what the other one imports.
    "threads": """
import hf_corefel, threading
def name():
    from hf_corefel import CorefELModel
def package():
    import transformers
threads = [threading.Thread(target=target) for target in (name, package)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(60)
    assert not thread.is_alive()
""",
}
KNOWN = """
import sys

# Imported as a side effect, so that nothing below is what makes the task known.
assert {"torch", "transformers", "hf_corefel.pipeline_corefel"} <= set(sys.modules)

import transformers

annotate = transformers.pipeline("coref-el")
folder = annotate.model.name_or_path
config = transformers.AutoConfig.from_pretrained(folder)
processor = transformers.AutoProcessor.from_pretrained(folder)
model = transformers.AutoModel.from_pretrained(folder)

import hf_corefel

assert folder == hf_corefel.bundled_checkpoint()
assert type(annotate) is hf_corefel.CorefELPipeline
assert type(config) is hf_corefel.CorefELConfig
assert type(processor) is hf_corefel.CorefELProcessor
assert type(model) is type(annotate.model) is hf_corefel.CorefELModel
for module in (transformers, hf_corefel.layers.encoder, hf_corefel.modeling_corefel):
    assert type(module.__spec__.loader).__module__ != "hf_corefel.registration", "the loader left no trace"
"""


QUICK = ("package_first", "transformers_first", "threads", "unpickled")


@pytest.mark.parametrize(
    "order", [order if order in QUICK else pytest.param(order, marks=pytest.mark.slow) for order in ORDERS]
)
def test_auto_classes_and_task_are_known(order: str) -> None:
    run("import warnings; warnings.simplefilter('error', RuntimeWarning)", ORDERS[order], KNOWN)


def test_every_public_name_is_there() -> None:
    import hf_corefel

    assert all(getattr(hf_corefel, name) is not None for name in hf_corefel.__all__)
    assert {"Alternative", "Parent", "load_pipeline"} <= set(hf_corefel.__all__)


LISTED = """
import inspect, rlcompleter

import hf_corefel

shown = dir(hf_corefel)
assert not any(name.startswith("_") and name != "__version__" for name in shown), shown
for name in shown:
    found = getattr(hf_corefel, name)
    assert inspect.ismodule(found) == (name not in hf_corefel.__all__), name
# What was reached since, and nothing else, is no more than was shown before.
assert dir(hf_corefel) == shown
complete = rlcompleter.Completer({"hf_corefel": hf_corefel}).complete
assert complete("hf_corefel.load_pipel", 0).startswith("hf_corefel.load_pipeline")
assert complete("hf_corefel.tre", 0) == "hf_corefel.trees"
names = {}
exec("from hf_corefel import *", names)
assert {*hf_corefel.__all__} == set(names) - {"__builtins__"}
assert names["CorefELPipeline"] is hf_corefel.pipeline_corefel.CorefELPipeline
"""


def test_all_that_dir_shows_can_be_reached_and_completed() -> None:
    run(LISTED)


BROKEN = """
import sys, warnings

sys.modules["torch"] = None  # as if it were not installed
import hf_corefel.kb

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import transformers
messages = [str(warning.message) for warning in caught if warning.category is RuntimeWarning]
assert len(messages) == 1 and messages[0].startswith("hf_corefel is not registered with transformers: "), messages
assert "torch" in messages[0], messages
try:
    hf_corefel.CorefELModel
except ImportError as error:
    assert "torch" in str(error)
else:
    raise AssertionError("the model cannot be there without torch")
"""


def test_a_broken_torch_breaks_nobody_elses_import() -> None:
    run(BROKEN, imported=())


MENDED = """
import sys, warnings

sys.modules["hf_corefel.decoding.annotating"] = None  # as if the import failed
import hf_corefel
with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)
    import transformers
    from transformers.pipelines import PIPELINE_REGISTRY
assert "coref-el" not in PIPELINE_REGISTRY.get_supported_tasks()
del sys.modules["hf_corefel.decoding.annotating"]
import hf_corefel.layers, hf_corefel.hub
assert "coref-el" in PIPELINE_REGISTRY.get_supported_tasks()
"""


def test_registering_that_failed_is_tried_again() -> None:
    run(MENDED)


OLD_NAMES = """
import sys, warnings

warnings.simplefilter("error")
import hf_corefel
from hf_corefel.moved import MOVED

for old, new in MOVED.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = __import__(f"hf_corefel.{old}", fromlist=["x"])
    said = [str(w.message) for w in caught if w.category is DeprecationWarning and "hf_corefel" in str(w.message)]
    assert said == [f"hf_corefel.{old} is now hf_corefel.{new}"], (old, said)
    assert module is sys.modules[f"hf_corefel.{new}"] and module.__spec__.name == f"hf_corefel.{new}", old

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from hf_corefel.mentions import Mention
    assert Mention is hf_corefel.Mention
from hf_corefel.documents.mentions import Mention  # the new names say nothing
"""


def test_modules_are_found_under_their_names_of_old() -> None:
    run(OLD_NAMES)
