"""The short examples run from end to end on a tiny model."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_corefel import AnnotatedDocument, CorefELModel, CorefELPipeline, Document, KnowledgeBase
from hf_corefel.configuration_corefel import HEADS
from hf_corefel.formats import read_jsonl, write_jsonl
from hf_corefel.metrics import evaluate

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs an example as a script; gives what it printed."""

    def main(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        capsys.readouterr()
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return main


@pytest.fixture
def gold(tmp_path: Path, tiny_documents: list[Document]) -> Path:
    path = tmp_path / "gold.jsonl"
    write_jsonl(path, tiny_documents)
    return path


def test_every_example_is_listed() -> None:
    scripts = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert [name[:2] for name in scripts] == [f"{number:02}" for number in range(1, len(scripts) + 1)]
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in scripts if f"[{name}]({name})" not in readme] == []


def test_annotating(run: Callable[..., str], tmp_path: Path, tiny_folder: Path, tiny_documents: list[Document]) -> None:
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for file, document in zip(files, tiny_documents, strict=False):
        file.write_text(document.text, encoding="utf-8")
    printed = run("01_annotate.py", *files, "--model", tiny_folder, "--out", tmp_path / "out.jsonl")
    first, second = read_jsonl(tmp_path / "out.jsonl", AnnotatedDocument)
    assert [first.id, second.id] == [str(file) for file in files]
    # The tiny model knows these texts by heart.
    found = {cluster.entity: [m.text for m in cluster.mentions] for cluster in first.clusters}
    assert found["Anna_Berg"] == ["Anna Berg", "Berg", "she"]
    assert f"{files[0]}: {len(first.clusters)} clusters" in printed
    assert "Anna Berg 0–9, Berg 33–37" in printed
    assert "  NIL (" in printed


def test_own_knowledge_base(
    run: Callable[..., str], tmp_path: Path, tiny_folder: Path, tiny_encoder: Path, tiny_documents: list[Document]
) -> None:
    aliases, text = tmp_path / "aliases.jsonl", tmp_path / "text.txt"
    aliases.write_text('["Oslo", [["Oslo", 0.9], ["Oslo_(mine)", 0.1]]]\n["Norway", [["Norway", 1.0]]]\n')
    text.write_text(tiny_documents[0].text, encoding="utf-8")
    common = ("--aliases", aliases, "--model", tiny_folder)
    printed = run("02_own_knowledge_base.py", *common, "--text", text, "--out", tmp_path / "kb")
    assert "2 of 3 entities have a vector in the model's knowledge base" in printed
    built = KnowledgeBase.from_pretrained(tmp_path / "kb")
    known = KnowledgeBase.from_pretrained(tiny_folder / "knowledge_base")
    assert built.vector_for("Oslo") == pytest.approx(known.vector_for("Oslo"), abs=0.02)
    assert [candidate.entity for candidate in built.candidates("Oslo")] == ["Oslo", "Oslo_(mine)"]
    links = [line.split(" (")[0] for line in printed.splitlines() if "): " in line]
    assert "Oslo" in links
    assert set(links) <= {"Oslo", "Oslo_(mine)", "Norway"}

    # Vectors from an encoder, with descriptions.
    descriptions = tmp_path / "descriptions.json"
    descriptions.write_text(json.dumps({"Norway": "a team"}))
    options = ("--encoder", tiny_encoder, "--descriptions", descriptions, "--out", tmp_path / "other")
    run("02_own_knowledge_base.py", *common, *options)
    # The model would read vectors that it was not trained on.
    with pytest.raises(SystemExit):
        run("02_own_knowledge_base.py", *common, *options, "--text", text)
    other = KnowledgeBase.from_pretrained(tmp_path / "other")
    assert other.vector_size == 16
    assert other.description("Norway") == "a team"


def test_the_alias_table_of_the_examples_can_be_built() -> None:
    knowledge_base = KnowledgeBase.from_jsonl(EXAMPLES / "data" / "aliases.jsonl")
    assert next(candidate.entity for candidate in knowledge_base.candidates("Alliance")) == "NATO"


def test_evaluating(
    run: Callable[..., str], tmp_path: Path, gold: Path, tiny_folder: Path, tiny_documents: list[Document]
) -> None:
    printed = run("04_evaluate.py", gold, "--model", tiny_folder, "--out", tmp_path / "predictions.jsonl")
    predicted = list(read_jsonl(tmp_path / "predictions.jsonl", AnnotatedDocument))
    assert [document.id for document in predicted] == ["tiny-0", "tiny-1", "tiny-2"]
    heading, *lines = printed.splitlines()
    assert heading == "3 documents (95 % intervals by bootstrap over documents)"
    assert len(lines) == 4
    # The tiny model knows these texts by heart.
    score = evaluate(tiny_documents, predicted)["coref_f1"]
    assert score > 0.7
    assert lines[0].startswith(f"{score:.3f} [")
    assert lines[0].endswith("]  coreference: mean F1 of MUC, B³, CEAFₑ")


def test_evaluating_asks_for_the_scope_of_the_documents(
    run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def spy(pipeline: CorefELPipeline, texts: list[Document], **options: Any) -> list[AnnotatedDocument]:
        told.extend((text.mention_scope, text.clusters) for text in texts)
        return [AnnotatedDocument(text.text, clusters=[]) for text in texts]

    monkeypatch.setattr(CorefELPipeline, "annotate", spy)
    documents = [Document("Oslo is old.", clusters=[], mention_scope=scope) for scope in ("named", "all", None)]
    write_jsonl(tmp_path / "gold.jsonl", documents)
    run("04_evaluate.py", tmp_path / "gold.jsonl")
    assert told == [("named", None), ("all", None), (None, None)]


def test_comparing_heads(run: Callable[..., str], tmp_path: Path, gold: Path, tiny_folder: Path) -> None:
    options = ("--train", gold, "--dev", gold, "--model", tiny_folder, "--output_dir", tmp_path / "heads")
    options = (*options, "--max_steps", 1, "--use_cpu", "true", "--disable_tqdm", "true")
    options = (*options, "--report_to", "tensorboard", "--logging_steps", 1)
    printed = run("05_compare_heads.py", *options, "--per_device_train_batch_size", 1, "--save_strategy", "no")
    rows = [line.split() for line in printed.splitlines()[-5:]]
    assert rows[0] == ["head", "coref_f1", "el_mention_f1", "el_hard_f1"]
    assert [row[0] for row in rows[1:]] == list(HEADS)
    assert all(0.0 <= float(value) <= 1.0 for row in rows[1:] for value in row[1:])
    for head in HEADS:
        assert CorefELModel.from_pretrained(tmp_path / "heads" / head).config.head == head
    reported = {path.parent for path in (tmp_path / "heads").rglob("events.out.*")}
    assert len(reported) == len(HEADS), "each in a folder of its own"


@pytest.mark.slow
def test_lora(run: Callable[..., str], tmp_path: Path) -> None:
    options = ("--output_dir", tmp_path, "--max_steps", 8, "--per_device_train_batch_size", 4, "--use_cpu", "true")
    options = (*options, "--encoder_learning_rate", 5e-4, "--save_strategy", "no", "--report_to", "none")
    printed = run("07_lora.py", *options)
    assert "trainable params: 1,625,878" in printed
    before, after = re.search(r"documents: (\S+) before, (\S+) with the adapter", printed).groups()  # type: ignore[union-attr]
    assert float(after) > float(before)
    weights = (tmp_path / "final" / "adapter_model.safetensors").stat().st_size
    assert weights < 8e6 and not (tmp_path / "final" / "base_model").exists()


@pytest.mark.parametrize("name", ["01_annotate.py", "04_evaluate.py"])
def test_a_missing_file_is_named(run: Callable[..., Any], name: str, tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jsonl"):
        run(name, tmp_path / "nowhere.jsonl", "--model", tiny_folder)
