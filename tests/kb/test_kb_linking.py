"""A pipeline links to what was added a moment ago, and no more to what was removed."""

from __future__ import annotations

from pathlib import Path

from hf_corefel.hub.fingerprint import check_fingerprint, save_fingerprint
from hf_corefel.pipeline_corefel import load_pipeline

TEXT = "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city."


def test_a_pipeline_follows_changes(tiny_folder: Path) -> None:
    annotate = load_pipeline(tiny_folder)
    kb = annotate.processor.knowledge_base

    def linked() -> set[str]:
        return {cluster["entity"] for cluster in annotate(TEXT)["clusters"] if cluster["entity"] is not None}

    before = linked()
    assert "Carl_Moss" in before
    vector = kb.vector_for("Carl_Moss")
    surfaces = {surface: {c.entity: c.prior for c in kb.candidates(surface)} for surface in ("Carl Moss", "Moss")}
    kb.remove("Carl_Moss")
    assert "Carl_Moss" not in linked()
    kb.add("C._Moss", surfaces, prior={s: row["Carl_Moss"] for s, row in surfaces.items()}, vector=vector)
    assert linked() == before - {"Carl_Moss"} | {"C._Moss"}


def test_a_changed_knowledge_base_is_saved_with_its_model(tiny_folder: Path, tmp_path: Path) -> None:
    annotate = load_pipeline(tiny_folder)
    annotate.processor.knowledge_base.remove("Carl_Moss")
    annotate.processor.knowledge_base.add("Mira_Hall", ["Mira Hall"], description="a mayor")
    annotate.model.save_pretrained(tmp_path)
    annotate.processor.save_pretrained(tmp_path)
    save_fingerprint(annotate.model, annotate.processor, tmp_path)
    again = load_pipeline(tmp_path)
    assert check_fingerprint(again.model, again.processor, str(tmp_path)) == []
    assert again.processor.knowledge_base.candidates("Mira Hall")[0].entity == "Mira_Hall"
    assert again.processor.knowledge_base.entity_id("Carl_Moss") is None
