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

    descriptions.write_text('{"entity": "A"}\n')
    with pytest.raises(KnowledgeBaseError, match=r"descriptions\.jsonl:1"):
        script.main(options)
