"""Damage to any file of a checkpoint: an error that says where, a warning that names the file, or the right answer."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from forked_python import PACKAGE, run_python

from .conftest import SOURCE, TEXT

FILES = ["model.safetensors", "config.json", "processor_config.json", "tokenizer.json", "tokenizer_config.json"]
FILES.append("fingerprint.json")

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="a process a case is forked")

# Imports once and forks for each case, so that a crash costs one case; a case that takes too long is killed.
TAMPERING = '''
import json, os, random, signal, sys, time, traceback, warnings
from pathlib import Path

import torch

torch.set_num_threads(1)
from hf_corefel.hub import FingerprintWarning
from hf_corefel.pipeline_corefel import load_pipeline
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()
folder, text, limit = Path(sys.argv[1]), sys.argv[3], 60
names, counts = json.loads(sys.argv[2]), json.loads(sys.argv[4])


def flipped(whole, draw):
    place = draw.randrange(len(whole))
    return whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :]


def zeroed(whole, draw):
    size = min(len(whole), draw.choice((1, 8, 64, 512)))
    place = draw.randrange(len(whole) - size + 1)
    return whole[:place] + bytes(size) + whole[place + size :]


def cut(whole, draw):
    return whole[: draw.randrange(len(whole))]


def annotate():
    return load_pipeline(folder)(text)["clusters"]


def case(name, content, right):
    """What comes of the file with that content, in words."""
    # Beside and renamed: what is mapped into memory may not be cut.
    (folder / "new").write_bytes(content)
    os.replace(folder / "new", folder / name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = annotate()
        except (OSError, ValueError) as error:
            found = error
        except BaseException:
            return traceback.format_exc()
    said = " ".join(str(item.message) for item in caught if issubclass(item.category, FingerprintWarning))
    if name in said:
        return "warned"
    if isinstance(found, Exception):
        return "error" if str(folder) in str(found) else f"an error that names no file: {found!r}"
    return "right" if found == right else f"another answer in silence, {content[:300]!r}"


def forked(name, content, right):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(limit)
        os.write(writing, case(name, content, right).encode()[:8000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        outcome = answer.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return outcome if status == 0 else f"signal {-status}, {content[:300]!r}"


right = annotate()
assert right
outcomes = {}
for name in names:
    whole, draw = (folder / name).read_bytes(), random.Random(name)
    found = outcomes[name] = {}
    for kind, make in (("flipped", flipped), ("zeroed", zeroed), ("cut", cut)):
        for number in range(counts[kind]):
            outcome = forked(name, make(whole, draw), right)
            found.setdefault(kind, {}).setdefault(outcome, 0)
            found[kind][outcome] += 1
    found["whole"] = {forked(name, whole, right): 1}
print(json.dumps(outcomes))
'''


Outcomes = dict[str, dict[str, int]]


def tamper(saved: Path, folder: Path, names: list[str], **counts: int) -> dict[str, Outcomes]:
    """How often what came of flipped bits, zeroed blocks and cuts of each file."""
    shutil.copytree(saved, folder)
    arguments = [str(folder), json.dumps(names), TEXT, json.dumps(counts)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "HF_HUB_OFFLINE": "1"}
    done = run_python("-c", TAMPERING, *arguments, imported=PACKAGE, env=environment, timeout=1200)
    assert done.returncode == 0, done.stderr
    result: dict[str, Outcomes] = json.loads(done.stdout.splitlines()[-1])
    return result


def check(outcomes: Outcomes) -> None:
    assert outcomes["whole"] == {"right": 1}
    for kind, found in outcomes.items():
        assert set(found) <= {"error", "warned", "right"}, (kind, found)


@pytest.fixture(scope="module")
def some_damage(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcomes]:
    return tamper(saved, tmp_path_factory.mktemp("damaged") / "model", FILES, flipped=5, zeroed=3, cut=2)


@needs_fork
@pytest.mark.parametrize("name", FILES)
def test_some_damage_is_an_error_a_warning_or_harmless(some_damage: dict[str, Outcomes], name: str) -> None:
    check(some_damage[name])


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_damage_is_an_error_a_warning_or_harmless(saved: Path, tmp_path: Path, name: str) -> None:
    outcomes = tamper(saved, tmp_path / "model", [name], flipped=200, zeroed=50, cut=25)[name]
    print(name, outcomes)
    check(outcomes)
