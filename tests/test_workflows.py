"""GitHub's workflows call what there is: targets of the Makefile, files, and the Python versions of the package."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from hf_corefel import __version__

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps_of(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(workflow.read_text())["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_targets_of_the_makefile_are_there(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    called = [name for step in steps_of(workflow) for name in re.findall(r"make ([a-z]+)", step.get("run", ""))]
    assert called and set(called) <= targets


def test_every_python_and_both_generations_are_tested() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["tests"]["strategy"]["matrix"]
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    classifiers = setup["metadata"]["classifiers"]
    assert matrix["python"] == re.findall(r"Python :: (3\.\d+)", classifiers)
    files = {*matrix["constraints"], *(case["constraints"] for case in matrix["include"])}
    assert files == {path.name for path in ROOT.glob("constraints*.txt")}
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}


@pytest.mark.skipif(sys.platform == "win32", reason="the step is a shell's")
@pytest.mark.parametrize(("tag", "status"), [(f"v{__version__}", 0), ("v99.0", 1), (__version__, 1)])
def test_a_release_is_of_the_version_that_its_tag_names(tag: str, status: int) -> None:
    release = steps_of(ROOT / ".github" / "workflows" / "release.yml")
    (step,) = (step["run"] for step in release if "GITHUB_REF_NAME" in step.get("run", ""))
    done = subprocess.run(["sh", "-c", step], cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False)
    assert done.returncode == status
