"""A saved folder needs no network, and who lacks the package is told its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel.pipeline_corefel import load_pipeline

# Notes every attempt to reach anybody, and lets none through.
GUARD = """
import json, socket, sys
attempts = []

def refuse(*args, **kwargs):
    attempts.append(str(args))
    raise OSError("no network here")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = socket.create_connection = refuse
"""
USE = """
import hf_corefel
from hf_corefel.pipeline_corefel import load_pipeline
from transformers import AutoModel, AutoProcessor, pipeline

folder, text = sys.argv[1:3]
AutoModel.from_pretrained(folder)
AutoProcessor.from_pretrained(folder)
model = hf_corefel.CorefELModel.from_pretrained(folder)
results = [
    pipeline("coref-el", model=folder)(text),
    pipeline("coref-el", model=model)(text),
    load_pipeline(folder)(text),
]
print(json.dumps([results, attempts]))
"""
TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."
# Makes the package as good as not installed, wherever it is.
HIDE = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "hf_corefel":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide())
"""
REMOTE = """
import sys
from transformers import pipeline
annotate = pipeline("coref-el", model=sys.argv[1], trust_remote_code=True)
"""
SAVED = """
import json
annotate.save_pretrained(sys.argv[2])
print(json.dumps(annotate(sys.argv[3])))
"""


@pytest.fixture(scope="module")
def saved(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    load_pipeline(tiny_folder).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("offline", ["1", ""])
def test_a_saved_folder_makes_no_request(
    hub: Any, run_script: Callable[..., Any], saved: Path, tmp_path: Path, offline: str
) -> None:
    before = len(hub.requests)
    done = run_script(GUARD + USE, saved, TEXT, HF_HUB_OFFLINE=offline)
    assert done.returncode == 0, done.stderr
    results, attempts = json.loads(done.stdout.splitlines()[-1])
    assert attempts == []
    assert hub.requests[before:] == []
    assert all(result["clusters"] for result in results)
    assert "FingerprintWarning" not in done.stderr


def test_the_guard_notices_requests(run_script: Callable[..., Any]) -> None:
    code = "import huggingface_hub as h\ntry:\n    h.HfApi().model_info('acme/any')\nexcept Exception:\n    pass\n"
    done = run_script(GUARD + code + "print(len(attempts))")
    assert int(done.stdout) > 0, done.stderr


@pytest.fixture(scope="module")
def published(client: Any, tiny_folder: Path) -> str:
    code = 'from hf_corefel.hub import publish\npublish(given["folder"], "acme/stub")'
    client(code, folder=tiny_folder)
    return "acme/stub"


def test_without_the_package_its_name_is_told(run_script: Callable[..., Any], published: str) -> None:
    done = run_script(HIDE + REMOTE, published)
    assert done.returncode != 0
    assert "pip install hf_corefel" in done.stderr.splitlines()[-1]


def test_with_the_package_the_stub_imports_it(run_script: Callable[..., Any], published: str, tmp_path: Path) -> None:
    done = run_script(REMOTE + SAVED, published, tmp_path / "saved", TEXT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["clusters"]
    assert not list((tmp_path / "saved").glob("*.py")), "no code is copied into local saves"
    assert "auto_map" not in json.loads((tmp_path / "saved" / "config.json").read_text())
