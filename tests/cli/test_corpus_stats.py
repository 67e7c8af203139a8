"""``hf-corefel corpus stats`` on little corpora: the table, JSON, and what is wrong with a corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import hf_corefel
from hf_corefel.cli import app

TEXT = "Oslo and Mira"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["corpus", "stats", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def dwie(tmp_path: Path) -> Path:
    place = {"begin": 0, "end": 4, "text": "Oslo", "concept": 0, "candidates": ["Oslo"], "scores": [0.5]}
    other = {"begin": 20, "end": 24, "text": "town", "concept": 0}
    person = {"begin": 9, "end": 13, "text": "Mira", "concept": 1}
    concepts = [{"concept": 0, "link": "Oslo"}, {"concept": 1}]
    articles = {
        "annos_with_content/DW_1": {"tags": ["all", "train"], "content": TEXT, "mentions": [place, person]},
        "annos_only/DW_2": {"tags": ["all", "test"], "mentions": [place, other, person]},
    }
    for name, article in articles.items():
        path = tmp_path / f"{name}.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"id": path.stem, "concepts": concepts, **article}), encoding="utf-8")
    return tmp_path


def test_the_table(dwie: Path) -> None:
    status, out, err = run(str(dwie))
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines() if "─" not in line]
    assert lines == [
        "dwie, split all: 2 documents, 1 with text: 3 words, 0.667 mentions a word",
        "",
        "Clusters Mentions",
        "linked 2 3",
        "NIL 2 2",
        "all 4 5",
        "",
        "Linked mentions whose entity is Mentions Share",
        "among their own candidates 2 66.7 %",
        "the first of these 2 66.7 %",
        "a candidate of any mention of the cluster 3 100.0 %",
    ]


def test_a_split_without_texts(dwie: Path) -> None:
    out = run(str(dwie), "--split", "test")[1]
    assert out.splitlines()[0] == "dwie, split test: 1 documents, 0 with text"


def test_json(dwie: Path) -> None:
    status, out, _ = run(str(dwie), "--split", "train", "--json")
    assert status == 0
    assert json.loads(out) == {
        "format": "dwie",
        "split": "train",
        "documents": 1,
        "texts": 1,
        "words": 3,
        "text_mentions": 2,
        "linked_clusters": 1,
        "nil_clusters": 1,
        "linked_mentions": 1,
        "nil_mentions": 1,
        "mentions_per_word": 2 / 3,
        "candidates": {
            **{"mentions": 1, "listed": 1, "first": 1, "in_cluster": 1},
            **{"recall": 1.0, "recall_first": 1.0, "recall_in_cluster": 1.0},
        },
    }


def test_aida_says_what_is_not_known_of_nil(tmp_path: Path) -> None:
    path = tmp_path / "AIDA-YAGO2-dataset.tsv"
    path.write_text("-DOCSTART- (1 A)\nMira\tB\tMira\t--NME--\n", encoding="utf-8")
    out = run(str(path))[1]
    assert "NIL 1 1" in " ".join(out.split())
    assert "each is counted as its own cluster" in out
    assert "candidates" not in out
    assert "own cluster" not in run(str(path), "--quiet")[1]


def test_malformed_files_stop_or_are_left_out(dwie: Path) -> None:
    broken = dwie / "annos_only" / "DW_3.json"
    broken.write_text("{", encoding="utf-8")
    status, out, err = run(str(dwie))
    assert (status, out) == (1, "")
    assert err.startswith(f"hf-corefel: cannot read the corpus {dwie}: {broken}: no valid JSON")
    status, out, err = run(str(dwie), "--lenient")
    assert status == 0
    assert "2 documents" in out
    assert err.startswith(f"hf-corefel: warning: skipped: {broken}: no valid JSON")
    assert run(str(dwie), "--lenient", "--quiet")[::2] == (0, "")


def test_what_cannot_be_read(dwie: Path) -> None:
    assert run(str(dwie), "--split", "dev")[2].endswith("split must be one of train, test, all; got 'dev'\n")
    assert run(str(dwie / "nowhere"))[2].endswith("nowhere: no such file or folder\n")
    status, _, err = run(str(dwie), "--format", "gum")
    assert (status, err.partition(": no CoNLL-U files")[1]) == (1, ": no CoNLL-U files")
    status, _, err = run(str(dwie), "--format", "gums")
    assert (status, err.endswith("; did you mean 'gum'?\n")) == (1, True)


def test_every_format_can_be_named() -> None:
    _, out, _ = run("--help")
    assert all(name in out for name in ("dwie", "aida_plus", "gum", "conll2012", "corefud", "docred", "brat"))


def test_the_command_needs_neither_torch_nor_transformers(dwie: Path) -> None:
    # The package's own __init__ may import them; an empty one in its place shows what the command imports.
    (folder,) = hf_corefel.__path__
    program = f"""
import sys, types
package = types.ModuleType("hf_corefel")
package.__path__ = [{folder!r}]
sys.modules["hf_corefel"] = package
from hf_corefel.cli import app
app(["corpus", "stats", {str(dwie)!r}, "--json"], standalone_mode=False)
assert not {{"torch", "transformers", "datasets"}} & set(sys.modules), sorted(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents"] == 2


def test_old_titles_are_counted_as_the_new_ones_by_a_map(dwie: Path) -> None:
    article = dwie / "annos_with_content" / "DW_1.json"
    article.write_text(article.read_text(encoding="utf-8").replace('"link": "Oslo"', '"link": "Christiania"'), "utf-8")
    names = dwie / "names.tsv"
    names.write_text("Christiania\tOslo\n", encoding="utf-8")
    without, mapped = (
        json.loads(run(str(dwie), "--json", "--quiet", *more)[1])["candidates"]["listed"]
        for more in ((), ("--entity-map", str(names)))
    )
    assert (without, mapped) == (1, 2)
    names.write_text("a\tb\nb\ta\n", encoding="utf-8")
    status, out, err = run(str(dwie), "--entity-map", str(names))
    assert (status, out) == (1, "") and f"{names}: names lead in a loop, a → b → a" in err
