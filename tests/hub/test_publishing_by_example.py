"""The example and the tutorial that publish, on the loopback Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorials" / "own_data.md"

PUBLISH = """
import contextlib, io, runpy, sys

sys.argv = ["06_publish.py", *given["arguments"]]
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    runpy.run_path(given["script"], run_name="__main__")
return printed.getvalue()
"""

RUN_PAGE = """
import importlib.util, sys

spec = importlib.util.spec_from_file_location("docs_pages", given["runner"])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
shown = [block.output for block in module.blocks(given["page"])]
return [shown, list(module.run(given["page"], "own_data.md"))]
"""


def test_the_example_publishes_a_folder(hub: Any, client: Any, tiny_folder: Path) -> None:
    arguments = ["acme/example", "--model", str(tiny_folder), "--private", "--license", "mit", "--title", "Tiny"]
    url = client(PUBLISH, script=ROOT / "examples" / "06_publish.py", arguments=arguments)
    repository = hub.repository("acme/example")
    assert url.strip() == f"{hub.url}/acme/example/commit/{repository.resolve('main')}"
    assert repository.private
    files = repository.files()
    assert {"model.safetensors", "processor_config.json", "knowledge_base/kb_config.json"} <= set(files)
    card = files["README.md"].decode()
    assert "license: mit" in card
    assert "# Tiny" in card


def test_the_tutorial_runs_from_annotation_to_a_published_model(hub: Any, client: Any, tiny_encoder: Path) -> None:
    page = TUTORIAL.read_text(encoding="utf-8")
    for name, value in (("ENCODER", str(tiny_encoder)), ("REPOSITORY", "acme/tutorial")):
        (line,) = (line for line in page.splitlines() if line.startswith(f"{name} = "))
        page = page.replace(line, f"{name} = {value!r}")
    shown, printed = client(RUN_PAGE, runner=ROOT / "scripts" / "docs_pages.py", page=page)
    assert len(printed) > 10
    # Training prints lines of its own, with times in them.
    missing = [output for output, actual in zip(shown, printed, strict=True) if output and output not in actual]
    assert missing == [], printed
    assert [warning for warning in client.warnings if "Fingerprint" in warning] == []
    repository = hub.repository("acme/tutorial")
    assert repository.private
    card = repository.files()["README.md"].decode()
    assert "Notes from Norway" in card
    assert "license: cc-by-4.0" in card
