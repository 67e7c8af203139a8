"""The first lines of the README print what they should and nothing else, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LINES = """
from transformers import pipeline
import hf_corefel
annotate = pipeline("coref-el")
print(annotate("Angela Merkel spoke in Berlin.")["clusters"][0]["entity"])
"""
OTHERS = """
import logging
from transformers import AutoModel, pipeline
from transformers.utils import logging as switches
import hf_corefel
from hf_corefel import bundled_checkpoint, load_pipeline

before = switches.get_verbosity(), switches.is_progress_bar_enabled(), logging.getLogger("transformers").handlers[:]
pipeline("coref-el")
load_pipeline()
assert before == (
    switches.get_verbosity(), switches.is_progress_bar_enabled(), logging.getLogger("transformers").handlers
)
logger = logging.getLogger("transformers.pipelines")
logger.warning("No model was supplied, defaulted to somebody/else and revision 1.")
logging.getLogger("transformers.pipelines.base").warning("Device set to use of others")
print("named", flush=True)
pipeline("coref-el", model=bundled_checkpoint())
"""


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "100", **environment},
    )


def test_the_first_lines_say_nothing_else() -> None:
    done = run("-c", LINES)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Angela_Merkel\n", "")


def test_the_first_command_says_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("Angela Merkel spoke in Berlin.", encoding="utf-8")
    done = run("-m", "hf_corefel", "annotate", str(tmp_path / "report.txt"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Angela_Merkel" in done.stdout


def test_what_others_cause_is_said_as_ever() -> None:
    import transformers

    done = run("-c", OTHERS)
    assert (done.returncode, done.stdout) == (0, "named\n"), done.stderr
    assert "defaulted to somebody/else" in done.stderr
    assert "Device set to use of others" in done.stderr
    # What is said of a model that the user names depends on the generation.
    own = "Loading weights" if transformers.__version__.startswith("5") else "Device set to use cpu"
    assert done.stderr.count("Device set to use cpu") <= 1
    assert own in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], [], ["annotate"], ["nope"], ["annotate", "missing.txt"]], ids=str)
def test_modules_are_the_command(arguments: list[str]) -> None:
    package, module = (
        run("-W", "error::RuntimeWarning", "-m", name, *arguments) for name in ("hf_corefel", "hf_corefel.cli")
    )
    assert package.returncode == (0 if "--help" in arguments else 1 if "missing.txt" in arguments else 2)
    assert (package.returncode, package.stdout, package.stderr) == (module.returncode, module.stdout, module.stderr)
    printed = package.stdout + package.stderr
    assert "hf-corefel" in printed and "python -m" not in printed and "runpy" not in printed
