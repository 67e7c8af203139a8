from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from transformers import BertConfig, BertModel, BertTokenizerFast

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError
from script_loading import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/build_knowledge_base.py")


def test_titles_become_surfaces(script: ModuleType) -> None:
    entities = ["Angela_Merkel", "Alien", "Alien_(film)", "Heat_(film)", "Heat_(song)", "Bonn", "(film)"]
    rows = script.title_rows(entities, {"Bonn"}, bare=False)
    assert dict(rows) == {e.replace("_", " "): [(e, 1.0)] for e in entities if e != "Bonn"}
    bare = dict(script.title_rows(entities, {"Bonn"}, bare=True))
    assert bare.pop("Heat") == [("Heat_(film)", 0.5), ("Heat_(song)", 0.5)]
    assert bare == dict(rows)


def test_corpus_counts_leave_a_part_for_something_else(script: ModuleType) -> None:
    rows = [script.AliasRow("Texas", [("Texas", 0.5)])]
    counts = {
        "Texas": {"Texas": 8, "Texas_(band)": 1},
        "Omar": {"Omar_Sharif": 1},
        "Bonn": {"Bonn": 3, "Bonn_(town)": 1},
        "West Bonn": {"Bonn": 3},
    }
    table = {surface: dict(pairs) for surface, pairs in script.with_counts(rows, counts)}
    assert table == {
        "Texas": {"Texas": 0.5, "Texas_(band)": pytest.approx(0.1 / 13)},
        "Omar": {"Omar_Sharif": 0.2},
        "Bonn": {"Bonn": 0.375, "Bonn_(town)": 0.125},
        "West Bonn": {"Bonn": 0.75},
    }


def test_parts_of_names_get_weaker_priors(script: ModuleType) -> None:
    rows = [
        # First names: a tenth, whatever their case and however sure.
        ("Omar", [("Omar_bin_Laden", 0.75), ("Omar", 0.25)]),
        ("SARAH", [("Sarah_Brady_(activist)", 1.0)]),
        # One entity for certain: a fifth, for what is no first name.
        ("Tebartz", [("Tebartz_van_Elst", 0.95)]),
        ("Élysée", [("Palais_de_l'Élysée", 1.0), ("Élysée_Treaty", 1.0)]),
        ("Westerwelle", [("Guido_Westerwelle", 1.0)]),
        ("Weidmann", [("Jens_Weidmann", 0.94)]),
        # Seen often enough, or a whole name, or no word of it.
        ("Draghi", [("Mario_Draghi", 0.99)]),
        ("Virginia", [("Virginia", 1.0), ("Virginia_(film)", 0.5)]),
        ("Paris", [("Paris,_Texas", 1.0)]),
        ("Sarah Brady", [("Sarah_Brady_(activist)", 1.0)]),
        ("Berlusconi", [("Silvio_Berlusconi_cabinet", 1.0)]),
        ("Merkel", [("Angela_Merkel", 0.98), ("Max_Merkel", 0.02)]),
    ]
    weak = script.weak_rows(
        [script.AliasRow(*row) for row in rows], {"omar", "sarah", "virginia", "paris", "merkel"}, {"Draghi"}
    )
    changed = {row.surface: row.candidates for row, before in zip(weak, rows, strict=True) if row != before}
    assert changed == {
        "Omar": [("Omar_bin_Laden", pytest.approx(0.075)), ("Omar", 0.25)],
        "SARAH": [("Sarah_Brady_(activist)", pytest.approx(0.1))],
        "Tebartz": [("Tebartz_van_Elst", pytest.approx(0.19))],
        "Westerwelle": [("Guido_Westerwelle", pytest.approx(0.2))],
    }


def test_first_names_are_those_of_two_persons(script: ModuleType, tmp_path: Path) -> None:
    table = tmp_path / "persons.tsv"
    table.write_text("title\tfirst\tlast\nA\tSarah\tX\nB\tOmar\tY\nC\tSARAH\tZ\nD\t\tV\nE\t\tW\n")
    assert script.read_first_names(table) == {"sarah"}
    table.write_text("title\tlast\nA\tX\n")
    with pytest.raises(KnowledgeBaseError, match=r"persons\.tsv:1: .*column 'first'"):
        script.read_first_names(table)
    table.write_text("title\tfirst\nA\n")
    with pytest.raises(KnowledgeBaseError, match=r"persons\.tsv:2: expected 2 columns"):
        script.read_first_names(table)


def test_script_builds_a_folder(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "angela", "max", "merkel", "texas", "german"]
    (encoder / "vocab.txt").write_text("\n".join(words) + "\n")
    BertTokenizerFast.from_pretrained(str(encoder)).save_pretrained(encoder)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(words), **shape)).save_pretrained(encoder)
    candidates = [["Angela_Merkel", 1.0000001], ["Max_Merkel", 0.25], *([f"M{i}", 0.0] for i in range(30))]
    (tmp_path / "aliases.jsonl").write_text(json.dumps(["Merkel", candidates]) + "\n")
    descriptions = tmp_path / "descriptions.jsonl"
    descriptions.write_text(json.dumps({"entity": "Angela_Merkel", "key": "x", "text": "German"}) + "\n")
    options = ["--aliases", str(tmp_path / "aliases.jsonl"), "--titles", "--descriptions", str(descriptions)]
    options += ["--encoder", str(encoder), "--vector-size", "4", "--out", str(tmp_path / "kb")]
    script.main(options)

    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert [c.entity for c in kb.candidates("Merkel")][:2] == ["Angela_Merkel", "Max_Merkel"]
    assert len(kb.candidates("Merkel", limit=50)) == 16
    assert kb.candidates("Max Merkel")[0].prior == 1.0
    assert (kb.num_entities, kb.vector_size, kb.description("Angela_Merkel")) == (32, 4, None)
    vectors = kb.vectors(np.arange(32))
    assert np.mean(vectors**2) == pytest.approx(1.0, abs=0.02)
    assert kb.has_vector(np.arange(32)).all()
    assert kb.provenance["aliases"] == ["aliases.jsonl"]
    assert str(tmp_path) not in (tmp_path / "kb" / "kb_config.json").read_text().replace(encoder.parent.name, "")
    assert "num_entities=32" in capsys.readouterr().out

    persons = tmp_path / "persons.tsv"
    persons.write_text("first\nMax\nMax\n")
    (tmp_path / "aliases.jsonl").write_text('["Max", [["Max_Merkel", 0.5]]]\n["Max ", [["Angela_Merkel", 1]]]\n')
    script.main([*options, "--first-names", str(persons)])
    kb = KnowledgeBase.from_pretrained(tmp_path / "kb")
    assert [(c.entity, c.prior) for c in kb.candidates("Max")] == [
        ("Angela_Merkel", 1.0),
        ("Max_Merkel", pytest.approx(0.05)),
    ]
    assert kb.provenance["weak_parts_of_names"]

    descriptions.write_text('{"entity": "A"}\n')
    with pytest.raises(KnowledgeBaseError, match=r"descriptions\.jsonl:1"):
        script.main(options)
