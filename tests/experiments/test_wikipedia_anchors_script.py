"""Training documents of a dump's links."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dump_files import dump_xml, page_xml
from hf_corefel.documents import AnnotatedLayers
from script_loading import load_script

PAGE = """'''Anna Berg''' was born in [[Oslo]] in '''[[Norway]]'''.

She met [[Carl Moss|Moss]] in [[Bergen]], read [[philosophy]] and [[Oslo|there]] lost a [[Painter|Bergen painter]].

* [[Oslo]], [[Bergen]], [[Norway]]
"""


def test_links_that_show_names_are_mentions(tmp_path: Path, tiny_encyclopaedia: Callable[..., Any]) -> None:
    script = load_script("experiments/wikipedia_anchors.py")
    few = page_xml("Few", "[[Oslo]] and [[Bergen]] alone.", page_id=2)
    (tmp_path / "dump.xml").write_bytes(dump_xml([page_xml("Anna Berg", PAGE, page_id=1), few]))
    (document,) = script.anchored_documents([tmp_path / "dump.xml"], tiny_encyclopaedia())
    assert document.text == (
        "Anna Berg was born in Oslo in Norway.\n\n"
        "She met Moss in Bergen, read philosophy and there lost a Bergen painter."
    )
    found = [(document.text[m.begin : m.end], c.entity) for c in document.clusters for m in c.mentions]
    assert found == [
        ("Anna Berg", "Anna_Berg"), ("Oslo", "Oslo"), ("Norway", "Norway"), ("Moss", "Carl_Moss"), ("Bergen", "Bergen"),
    ]  # fmt: skip
    assert document.mention_scope == "entities"
    assert document.annotated == AnnotatedLayers(mentions="given", clusters=False, links=True)


def test_long_articles_are_cut_between_paragraphs(
    tmp_path: Path, tiny_encyclopaedia: Callable[..., Any], monkeypatch: Any
) -> None:
    script = load_script("experiments/wikipedia_anchors.py")
    monkeypatch.setattr(script, "MOST_WORDS", 12)
    paragraph = "[[Oslo]] and [[Bergen]] lie in [[Norway]], as [[Anna Berg]] knows well."
    (tmp_path / "dump.xml").write_bytes(dump_xml([page_xml("Towns", "\n\n".join([paragraph] * 3))]))
    documents = list(script.anchored_documents([tmp_path / "dump.xml"], tiny_encyclopaedia()))
    assert [d.id for d in documents] == ["Towns-0", "Towns-1", "Towns-2"]
    assert {d.text for d in documents} == {"Oslo and Bergen lie in Norway, as Anna Berg knows well."}
