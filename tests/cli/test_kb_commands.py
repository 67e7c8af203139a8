"""``hf-corefel kb``: build from each kind of file, look up, say what there is, add; and what is wrong with each."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from typer.testing import CliRunner

import hf_corefel
from hf_corefel import kb
from hf_corefel.cli import app, kb_common
from hf_corefel.cli import kb as kb_commands
from hf_corefel.cli.kb import FallbackName
from hf_corefel.kb import Fallback, KnowledgeBase, Vectorizer
from hf_corefel.kb.fallback import FALLBACK_DISCOUNT
from hf_corefel.loading.repositories import FINGERPRINT_FILE
from kb_folders import save_as_version

ALIASES = '["Alliance", [["NATO", 0.75], ["Greens", 0.25]]]\n["NATO", [["NATO", 1.0]]]\n'


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["kb", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def aliases(tmp_path: Path) -> Path:
    return write(tmp_path / "aliases.jsonl", ALIASES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kb = KnowledgeBase.build(
        [("Alliance", [("NATO", 0.75), ("Greens", 0.25)]), ("NATO", [("NATO", 1.0)])],
        vectors={"NATO": np.ones(8), "Greens": np.arange(8)},
        descriptions={"NATO": "an alliance of states"},
        wikidata={"NATO": "Q7184"},
        provenance={"source": "test"},
    )
    kb.save_pretrained(tmp_path / "kb")
    return tmp_path / "kb"


def test_build_from_aliases_and_counts(tmp_path: Path, aliases: Path) -> None:
    counts = write(tmp_path / "counts.tsv", "Greens\tGreens\t3\nGreens\tGreenland\t1\n")
    entities = write(
        tmp_path / "entities.jsonl",
        '{"entity": "NATO", "description": "an alliance", "wikidata": "Q7184"}\n'
        '{"entity": "Greens", "url": "https://example.org/greens", "description": null}\n',
    )
    out = tmp_path / "out"
    options = ["--aliases", aliases, "--counts", counts, "--entities", entities, "--fallback", "normalized"]
    status, text, err = run("build", *options, "--max-candidates", 1, "--out", out)
    assert (status, err) == (0, "")
    assert text == f"{out}: 3 entities, 3 surfaces, 3 candidates, no vectors\n"
    kb = KnowledgeBase.from_pretrained(out)
    assert [(c.entity, c.prior) for c in kb.candidates("Greens")] == [("Greens", pytest.approx(3 / 5))]
    assert kb.candidates("GREENS")[0].prior == pytest.approx(3 / 5 * FALLBACK_DISCOUNT)
    assert (kb.description("NATO"), kb.wikidata("NATO"), kb.description("Greens")) == ("an alliance", "Q7184", None)
    assert kb.url("Greens") == "https://example.org/greens"
    assert kb.provenance == {"files": ["aliases.jsonl", "counts.tsv", "entities.jsonl"]}


def test_build_with_the_vectors_of_another(tmp_path: Path, folder: Path) -> None:
    table = write(tmp_path / "a.jsonl", '["x", [["NATO", 0.5], ["New", 0.5]]]\n')
    status, _, err = run("build", "--aliases", table, "--vectors-of", folder, "--out", tmp_path / "out")
    assert (status, err) == (0, "")
    kb = KnowledgeBase.from_pretrained(tmp_path / "out")
    np.testing.assert_allclose(kb.vector_for("NATO"), 1.0, rtol=1e-6)
    # Its draw, as a model with that knowledge base would draw it.
    known = KnowledgeBase.from_pretrained(folder)
    np.testing.assert_allclose(kb.vector_for("New"), known.vector_for("New"), atol=0.03)  # half a step of int8
    status, _, err = run(
        "build", "--aliases", write(table, '["x", [["New", 0.5]]]'), "--vectors-of", folder, "--out", "o"
    )
    assert (status, err.count("\n")) == (1, 1)
    assert "cannot build o: the knowledge base of --vectors-of has none of these entities" in err


def test_entities_that_no_surface_names_are_said(tmp_path: Path) -> None:
    table = write(tmp_path / "a.jsonl", '["NY", [["New_York", 0.9]]]\n["Paris", [["Paris", 0.9]]]\n')
    facts = '{"entity": "New York", "description": "a city"}\n{"entity": "Paris", "description": "a city"}\n'
    build = ("build", "--aliases", table, "--entities", write(tmp_path / "e.jsonl", facts), "--out", tmp_path / "out")
    said = "1 of 2 entities with facts have no surface, such as 'New York', which the tables write 'New_York'"
    assert run(*build)[2] == f"hf-corefel: warning: {said}\n"


def test_vectors_of_names_with_blanks(tmp_path: Path) -> None:
    known = kb.KnowledgeBase.build([("NY", [("New_York", 1.0)])], vectors={"New_York": np.ones(3)})
    known.save_pretrained(tmp_path / "known")
    table = write(tmp_path / "a.jsonl", '["NY", [["New York", 0.9]]]\n')
    assert run("build", "--aliases", table, "--vectors-of", tmp_path / "known", "--out", tmp_path / "out")[0] == 0
    np.testing.assert_allclose(KnowledgeBase.from_pretrained(tmp_path / "out").vector_for("New York"), 1.0, rtol=1e-6)


def test_build_from_wikipedia2vec(tmp_path: Path, aliases: Path) -> None:
    vectors = write(tmp_path / "w2v.txt", "2 3\nENTITY/NATO 1 2 3\nENTITY/Oslo 4 5 6\n")
    assert run("build", "--wikipedia2vec", vectors, "--out", tmp_path / "titles")[0] == 0
    assert KnowledgeBase.from_pretrained(tmp_path / "titles").candidates("Oslo")[0].entity == "Oslo"
    assert run("build", "--wikipedia2vec", vectors, "--aliases", aliases, "--out", tmp_path / "both")[0] == 0
    kb = KnowledgeBase.from_pretrained(tmp_path / "both")
    assert (sorted(kb.entities()), kb.vector_size) == (["Greens", "NATO"], 3)


def test_build_from_end2end_neural_el(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write(data / "prob_yago_crosswikis_wikipedia_p_e_m.txt", "Oslo\t5\t7,0.5,Oslo\nbad\n")
    write(data / "wiki_name_id_map.txt", "Oslo\t7\n")
    write(data / "nnid2wikiid.txt", "1\t7\n")
    np.save(data / "ent_vecs.npy", np.ones((1, 3), dtype=np.float32))
    status, _, err = run("build", "--end2end-neural-el", data, "--out", tmp_path / "out")
    assert (status, err.count("\n")) == (1, 1)
    assert "p_e_m.txt:2: expected mention, total and candidates" in err
    write(data / "prob_yago_crosswikis_wikipedia_p_e_m.txt", "Oslo\t5\t7,0.5,Oslo\n")
    status, text, err = run("build", "--end2end-neural-el", data, "--out", tmp_path / "out")
    assert (status, err) == (0, "")
    assert text.endswith("out: 1 entities, 1 surfaces, 1 candidates, vectors of 3\n")


def test_build_says_its_warnings_unless_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = write(tmp_path / "counts.tsv", "Greens\tGreens\t3\n")

    def read_counts(path: Path) -> Any:
        warnings.warn(f"{path.name}: one line was passed over", stacklevel=2)
        return kb.read_counts(path)

    monkeypatch.setattr(kb_commands, "read_counts", read_counts)
    build = ("build", "--counts", counts, "--out", tmp_path / "out")
    assert run(*build)[2] == "hf-corefel: warning: counts.tsv: one line was passed over\n"
    assert run(*build, "--quiet")[2] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "cannot build: give --aliases, --counts"),
        (["--vectors-of", "kb"], "cannot build: give --aliases, --counts"),
        (["--aliases", "a", "--wikipedia2vec", "w", "--vectors-of", "v"], "give only one of --wikipedia2vec"),
        (["--end2end-neural-el", "d", "--aliases", "a"], "has a table of its own"),
        (["--aliases", "none.jsonl"], "cannot build out: none.jsonl: file not found"),
        (["--aliases", "bad.jsonl"], "cannot build out: bad.jsonl:1: "),
        (["--counts", "bad.jsonl"], "cannot build out: bad.jsonl:1: expected surface, entity and count"),
        (["--counts", "c.tsv", "--entities", "bad.jsonl"], "bad.jsonl:1: expected an object with the string 'entity'"),
        (["--counts", "c.tsv", "--entities", "field.jsonl"], "field.jsonl:1: unknown field 'text'; the known fields"),
        (["--counts", "c.tsv", "--entities", "type.jsonl"], "type.jsonl:1: field 'url': expected a string, got 5"),
        (
            ["--counts", "c.tsv", "--entities", "twice.jsonl"],
            "twice.jsonl:3: field 'description': an earlier line says 'a town' of 'A', this one 'a band'; leave one",
        ),
        (["--counts", "c.tsv", "--vectors-of", "."], "kb_config.json: file not found"),
    ],
)
def test_what_build_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bad.jsonl", "[5]\n")
    write(tmp_path / "c.tsv", "a\tA\t1\n")
    write(tmp_path / "field.jsonl", '{"entity": "A", "text": "x"}\n')
    write(tmp_path / "type.jsonl", '{"entity": "A", "url": 5}\n')
    # Two lines may share what is said of one entity, and say the same.
    town = '{"entity": "A", "description": "a town"}\n'
    write(tmp_path / "twice.jsonl", f'{town}{{"entity": "A", "url": "x"}}\n{town.replace("town", "band")}')
    status, out, err = run("build", *options, "--out", "out")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("hf-corefel: ")
    assert message in err
    assert not (tmp_path / "out").exists()


def test_lookup(folder: Path) -> None:
    status, out, err = run("lookup", folder, "Alliance", "nato", "ＮＡＴＯ")
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines() if "─" not in line]
    assert lines == [
        "Surface Entity Prior Description",
        "Alliance NATO 0.7500 an alliance of states",
        "Greens 0.2500",
        "nato NATO 0.5000 an alliance of states",
        "ＮＡＴＯ NATO 1.0000 an alliance of states",
    ]
    status, out, _ = run("lookup", folder, "nato", "--limit", 1, "--json")
    assert status == 0
    assert json.loads(out) == {
        "surface": "nato",
        "candidates": [
            {
                "entity": "NATO",
                "prior": 0.5,
                "description": "an alliance of states",
                "wikidata": "Q7184",
                "url": "https://en.wikipedia.org/wiki/NATO",
            }
        ],
    }


def test_info(folder: Path) -> None:
    status, out, err = run("info", folder, "--json", "--verify")
    assert (status, err) == (0, "")
    facts = json.loads(out)
    kb = KnowledgeBase.from_pretrained(folder)
    assert facts.pop("bytes") == sum(path.stat().st_size for path in folder.iterdir())
    assert facts == {
        "entities": 2,
        "surfaces": 2,
        "candidates": 3,
        "vectors": 2,
        "vector_size": 8,
        "fallback": "casefold",
        "projection": None,
        "fingerprint": kb.fingerprint,
        "content_fingerprint": kb.content_fingerprint,
        "provenance": {"source": "test"},
        "verified": True,
    }
    status, out, _ = run("info", folder)
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (status, rows["entities"], rows["provenance"]) == (0, "2", '{"source": "test"}')
    assert "verified" not in out
    assert run("info", folder, "--verify")[1].splitlines()[-1].split() == ["verified", "true"]


def test_help_shows_the_form_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    # How wide the table is was settled when typer was imported first.
    shown = " ".join(run("build", "--help")[1].replace("│", " ").split())
    assert "JSON lines [surface, [[entity, prior], ...]], also .gz." in shown


def test_verify_says_when_there_is_nothing_to_compare_with(folder: Path) -> None:
    save_as_version(folder, 1)
    status, out, err = run("info", folder, "--verify", "--json")
    assert (status, json.loads(out)["verified"]) == (0, False)
    assert "saved without a fingerprint" in err


def test_info_of_a_damaged_folder(folder: Path) -> None:
    data = bytearray((folder / "tables.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "tables.safetensors").write_bytes(data)
    status, _, err = run("info", folder)
    assert (status, err.count("\n"), "tables.safetensors: the file does not have the checksum" in err) == (1, 1, True)
    status, _, err = run("info", folder / "none")
    assert (status, err.count("\n")) == (1, 1)
    assert "cannot read" in err


def test_add(folder: Path, tmp_path: Path) -> None:
    status, out, err = run(
        *("add", folder, "--entity", "Lantern", "--surface", "Lantern", "--surface", "Alliance"),
        *("--description", "a charity", "--wikidata", "Q1", "--url", "https://e.org/", "--prior", 0.5),
    )
    assert (status, err) == (0, "")
    assert out == f"added Lantern\n{folder}: 3 entities, 3 surfaces, 5 candidates, vectors of 8\n"
    kb = KnowledgeBase.from_pretrained(folder)
    assert [c.entity for c in kb.candidates("Alliance")] == ["NATO", "Lantern", "Greens"]
    assert (kb.description("Lantern"), kb.wikidata("Lantern"), kb.url("Lantern")) == (
        "a charity",
        "Q1",
        "https://e.org/",
    )
    status, out, _ = run("add", folder, "--entity", "NATO", "--surface", "Otan", "--out", tmp_path / "other")
    assert (status, out.splitlines()[0]) == (0, "changed NATO")
    assert kb.candidates("Otan") == KnowledgeBase.from_pretrained(folder).candidates("Otan") == []
    assert KnowledgeBase.from_pretrained(tmp_path / "other").candidates("Otan")[0].entity == "NATO"
    status, _, err = run("add", folder, "--entity", "X", "--surface", "x", "--prior", 2)
    assert (status, err.count("\n")) == (1, 1)
    assert f"cannot add X to {folder}: add, surface 'x', entity 'X': expected a prior between 0 and 1" in err


def test_add_leaves_the_installed_package_alone(tmp_path: Path) -> None:
    status, out, err = run("add", "bundled", "--entity", "X", "--surface", "x")
    assert (status, out) == (1, "")
    assert err == (
        "hf-corefel: cannot add X to bundled: that would change the installed package; say with --out where to save\n"
    )
    assert run("add", "bundled", "--entity", "X", "--surface", "x", "--out", tmp_path / "kb")[0] == 0
    assert KnowledgeBase.from_pretrained(tmp_path / "kb").candidates("x")[0].entity == "X"


def test_add_to_a_model_removes_the_fingerprint_of_before(folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "knowledge_base")
    fingerprint = write(tmp_path / FINGERPRINT_FILE, "{}")
    assert run("add", tmp_path, "--entity", "X", "--surface", "x", "--out", tmp_path / "other")[0] == 0
    assert fingerprint.exists()
    assert run("add", tmp_path, "--entity", "X", "--surface", "x")[0] == 0
    assert not fingerprint.exists()
    assert KnowledgeBase.from_pretrained(tmp_path / "knowledge_base").candidates("x")[0].entity == "X"


def test_the_names_of_a_models_files() -> None:
    assert kb_common.FINGERPRINT_FILE == FINGERPRINT_FILE


@pytest.fixture
def projecting(tmp_path: Path, tiny_folder: Path) -> tuple[Path, Vectorizer]:
    """A model whose knowledge base has a projection, and the vectorizer that they make."""
    from transformers import AutoTokenizer

    from hf_corefel import CorefELModel
    from hf_corefel.kb.entity_vectors import fit_projection, title_vectorizer

    model: Any = CorefELModel.from_pretrained(str(tiny_folder))
    tokenizer = AutoTokenizer.from_pretrained(str(tiny_folder))
    plain = KnowledgeBase.from_pretrained(tiny_folder / "knowledge_base")
    projection = fit_projection(model.encoder.model, tokenizer, plain, show_progress=False)
    folder = tmp_path / "projecting"
    shutil.copytree(tiny_folder, folder)
    shutil.rmtree(folder / "knowledge_base")
    plain.with_projection(projection).save_pretrained(folder / "knowledge_base")
    return folder, title_vectorizer(model.encoder.model, tokenizer, projection)


def test_add_with_a_vector_of_the_model(tmp_path: Path, tiny_folder: Path, projecting: tuple[Path, Vectorizer]) -> None:
    model, vectorizer = projecting
    arguments = ["--entity", "New_Hall", "--surface", "new hall", "--description", "a hall", "--model", model]
    status, _, err = run("add", model / "knowledge_base", *arguments, "--out", tmp_path / "kb")
    assert (status, err) == (0, "")
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    made = vectorizer(["New_Hall"], ["a hall"])[0]
    np.testing.assert_allclose(kb.vector_for("New_Hall"), made, atol=np.abs(made).max() / 127)
    status, _, err = run("add", tiny_folder, *arguments, "--out", tmp_path / "other")
    assert (status, err.count("\n")) == (1, 1)
    assert "the knowledge base has none" in err


def test_build_with_the_vectors_of_a_model(tmp_path: Path, projecting: tuple[Path, Vectorizer]) -> None:
    model, vectorizer = projecting
    known = KnowledgeBase.from_pretrained(model / "knowledge_base")
    name = next(iter(known.entities()))
    table = write(tmp_path / "a.jsonl", json.dumps(["x", [[name, 0.5], ["New_Hall", 0.3], ["Old", 0.2]]]))
    entities = write(tmp_path / "e.jsonl", '{"entity": "New_Hall", "description": "a hall"}\n')
    out = tmp_path / "out"
    status, _, err = run("build", "--aliases", table, "--entities", entities, "--model", model, "--out", out)
    assert (status, err) == (0, "")
    kb = KnowledgeBase.from_pretrained(out)
    made = vectorizer(["New_Hall", "Old"], ["a hall", None])
    for entity, vector in ((name, known.vector_for(name)), ("New_Hall", made[0]), ("Old", made[1])):
        np.testing.assert_allclose(kb.vector_for(entity), vector, atol=np.abs(vector).max() / 127)
    # What no file can hold is named, and so is a table without entities.
    write(entities, '{"entity": "New_Hall", "description": "a \\ud800 hall"}\n')
    refused = run("build", "--aliases", table, "--entities", entities, "--model", model, "--out", tmp_path / "s")
    assert refused[0] == 1 and "description of 'New_Hall': no valid Unicode" in refused[2]
    empty = write(tmp_path / "empty.jsonl", "")
    assert (
        "empty.jsonl: the file holds no rows"
        in run("build", "--aliases", empty, "--model", model, "--out", tmp_path / "n")[2]
    )
    # It goes on making them, and the model takes it in place of its own.
    assert kb.projection is not None
    result = CliRunner().invoke(
        app, ["annotate", "-", "--model", str(model), "--knowledge-base", str(out), "--json"], input="x met Anna Berg."
    )
    assert (result.exit_code, json.loads(result.stdout)["text"]) == (0, "x met Anna Berg."), result.stderr


def test_the_names_of_fallbacks() -> None:
    assert [name.value for name in FallbackName] == list(get_args(Fallback))


def test_a_model_and_the_bundled_one(tmp_path: Path, folder: Path) -> None:
    folder.rename(tmp_path / "knowledge_base")
    assert run("lookup", tmp_path, "NATO")[0] == 0
    status, out, _ = run("info", "bundled", "--json")
    assert (status, json.loads(out)["vector_size"] > 0) == (0, True)


def test_looking_up_imports_no_torch(folder: Path) -> None:
    code = (
        "import sys; from hf_corefel.cli import app; app(sys.argv[1:], standalone_mode=False); "
        "sys.exit('torch' in sys.modules)"
    )
    environment = {"PYTHONPATH": str(Path(hf_corefel.__file__).parents[1])}
    command = [sys.executable, "-c", code, "kb", "lookup", str(folder), "NATO"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, "NATO" in result.stdout) == (0, True), result.stderr
