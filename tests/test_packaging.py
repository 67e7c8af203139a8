"""What a user installs: the wheel's content, its metadata, and the main job run from it alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "hf_corefel"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input")
TEXT = "Angela Merkel spoke in Berlin on Monday. Merkel will meet Vladimir Putin in Moscow.\n"


def run(command: tuple[str, ...], *, cwd: Path, **environment: str) -> str:
    """Standard output of a command that must succeed."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**inherited, **environment, "HF_HUB_OFFLINE": "1"},
        input=TEXT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def package_files() -> set[str]:
    """Every file of the package's source, relative to ``src``."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT / "src").as_posix() for path in files}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy so that nothing left over from an earlier build gets in."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(PACKAGE, source / "src" / "hf_corefel", ignore=shutil.ignore_patterns("__pycache__"))
    run((*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(target), "."), cwd=source)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed wheel and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    run((*PIP, "install", "--no-deps", "--no-index", "--target", str(target), str(wheel)), cwd=target)
    return target


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (item for item in archive.namelist() if item.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name for name in names if name.startswith("hf_corefel/")} == package_files()
    assert any(re.fullmatch(r"hf_corefel/checkpoints/.*/?config\.json", name) for name in names)
    for licence in ("LICENSE", "NOTICE"):
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names), licence


def test_wheel_does_the_main_job_from_elsewhere(installed: Path, tmp_path: Path) -> None:
    where = "import importlib.util; print(importlib.util.find_spec('hf_corefel').origin)"
    origin = Path(run((sys.executable, "-c", where), cwd=tmp_path, PYTHONPATH=str(installed)).strip())
    assert origin.is_relative_to(installed)
    job = (sys.executable, "-m", "hf_corefel.cli", "annotate", "-", "--json")
    (line,) = run(job, cwd=tmp_path, PYTHONPATH=str(installed)).splitlines()
    record = json.loads(line)
    assert record["text"] == TEXT
    linked = {cluster["entity"]: {mention["text"] for mention in cluster["mentions"]} for cluster in record["clusters"]}
    assert {"Angela Merkel", "Merkel"} <= linked["Angela_Merkel"]


def test_console_script_of_the_wheel_runs(installed: Path, metadata: Message, tmp_path: Path) -> None:
    script = (sys.executable, str(installed / "bin" / "hf-corefel"), "--version")
    assert run(script, cwd=tmp_path, PYTHONPATH=str(installed)) == f"hf-corefel {metadata['Version']}\n"


def test_metadata_is_what_the_readme_says(metadata: Message) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert metadata["Name"] == "hf-corefel"
    assert metadata["License"] == "Apache-2.0"
    assert "licence is Apache-2.0" in readme
    (line,) = re.findall(r"^Needs (.*)$", readme, re.M)
    named = {canonicalize_name(item.name): item.specifier for item in map(Requirement, re.findall(r"`([^`]+)`", line))}
    assert named.pop("python") == SpecifierSet(str(metadata["Requires-Python"]))
    required = {canonicalize_name(item.name): item.specifier for item in requirements(metadata)}
    assert {"torch", "transformers", "datasets"} <= set(named)
    assert named == {name: required[name] for name in named}


def requirements(metadata: Message) -> list[Requirement]:
    """What every installation needs, extras left out."""
    listed = [Requirement(str(line)) for line in metadata.get_all("Requires-Dist", [])]
    return [item for item in listed if item.marker is None]


def test_the_package_asks_for_ranges_and_constraints_pin_one_version_of_each(metadata: Message) -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = config["options.extras_require"]
    lines = "\n".join([config["options"]["install_requires"], *(extras[name] for name in extras)]).split("\n")
    asked = [Requirement(line) for line in lines if line.strip()]
    own = [item for item in asked if canonicalize_name(item.name) == "hf-corefel"]
    others = [item for item in asked if item not in own]
    assert {str(item) for item in requirements(metadata)} <= {str(item) for item in others}
    loose = {str(item) for item in others if not any(spec.operator == ">=" for spec in item.specifier)}
    assert loose == set(), "every requirement has a lower bound"
    exact = {str(item) for item in others if any(spec.operator in {"==", "===", "~="} for spec in item.specifier)}
    assert exact == set(), "exact versions belong in constraints.txt"
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)$", text, re.M))
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    for item in others:
        assert item.specifier.contains(pins[canonicalize_name(item.name)]), item
