"""A source from outside the package works in the processor, the pipeline, its workers, and through saving."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hf_corefel import Candidate, CorefELPipeline, CorefELProcessor, Document, KnowledgeBase, Mention, load_pipeline
from hf_corefel.candidates import (
    BACKENDS,
    CandidateSource,
    ComposedKnowledgeBase,
    EntityStore,
    Part,
    Proposals,
    QuerySpans,
    SurfaceSource,
    open_knowledge_base,
    write_backend_config,
)
from hf_corefel.candidates.document_candidates import ask
from hf_corefel.documents import DocumentError
from hf_corefel.kb import KnowledgeBaseError

TEXT = "Anna Berg met the team in Oslo. Then she left AB-12."
SPAN = (46, 51)

Processor = Callable[[Any], CorefELProcessor]


def links(result: Any) -> dict[str, str | None]:
    return {mention["text"]: cluster["entity"] for cluster in result["clusters"] for mention in cluster["mentions"]}


@pytest.fixture
def composed(tickets: Any, tiny_knowledge_base: KnowledgeBase) -> ComposedKnowledgeBase:
    return ComposedKnowledgeBase([tiny_knowledge_base, Part(tickets(), offset=-0.5)])


@pytest.fixture
def annotate(linking_model: Any, tiny_processor: Processor, composed: ComposedKnowledgeBase) -> CorefELPipeline:
    processor = tiny_processor(linking_model.config).with_knowledge_base(composed)
    return CorefELPipeline(model=linking_model, processor=processor)


def test_the_alias_table_and_the_guest_are_what_the_protocols_say(
    tickets: Any, tiny_knowledge_base: KnowledgeBase, composed: ComposedKnowledgeBase
) -> None:
    for source in (tickets(), tiny_knowledge_base, composed):
        assert isinstance(source, CandidateSource) and isinstance(source, EntityStore)
        assert isinstance(source, SurfaceSource)


def test_a_guest_alone_in_the_processor(letter_processor: Callable[..., CorefELProcessor], tickets: Any) -> None:
    encoded = letter_processor().with_knowledge_base(tickets()).encode(TEXT)
    row = encoded.spans.offsets.tolist().index(list(SPAN))
    assert encoded.entities == ["ticket:AB-12"] and encoded.entity_ids.tolist() == [-1]
    assert encoded.candidate_rows[row].tolist() == [0, -1, -1]
    assert encoded.log_priors[row, 0] == np.log(np.float32(0.9))
    assert encoded.entity_vectors.tolist() == [[0.5] * 8]
    assert (np.delete(encoded.candidate_rows, row, axis=0) == -1).all()


def test_what_a_document_lists_stands_before_what_a_guest_proposes(
    letter_processor: Callable[..., CorefELProcessor], tickets: Any
) -> None:
    document = Document(TEXT, candidates={SPAN: [Candidate("Mine", 0.4), Candidate("ticket:AB-12", 0.2)]})
    encoded = letter_processor().with_knowledge_base(tickets()).encode(document)
    row = encoded.spans.offsets.tolist().index(list(SPAN))
    assert [encoded.entities[e] for e in encoded.candidate_rows[row] if e >= 0] == ["Mine", "ticket:AB-12"]
    assert np.allclose(np.exp(encoded.log_priors[row, :2]), [0.4, 0.2])
    assert encoded.entity_vectors[encoded.entities.index("ticket:AB-12")].tolist() == [0.5] * 8


def test_the_alias_table_gives_the_same_tensors_composed_and_alone(
    letter_processor: Callable[..., CorefELProcessor], tiny_knowledge_base: KnowledgeBase
) -> None:
    alone = letter_processor()
    document = Document(TEXT, candidates={(0, 9): [Candidate("Unheard", 0.5)]})
    for text in (TEXT, document):
        found = alone.with_knowledge_base(ComposedKnowledgeBase([tiny_knowledge_base]))(text)
        for name, tensor in alone(text).inputs.items():
            assert (found.inputs[name] == tensor).all(), name


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_guest_in_the_pipeline_and_its_workers(annotate: CorefELPipeline, num_workers: int) -> None:
    # The untrained pruner does not know which spans matter.
    texts = [Document(TEXT, mentions=[Mention(0, 9), Mention(*SPAN)]), Document("XY-7 met.", mentions=[Mention(0, 4)])]
    results = annotate(texts, num_workers=num_workers)
    assert links(results[0])["AB-12"] == "ticket:AB-12" and links(results[0])["Anna Berg"] == "Anna_Berg"
    cluster = next(c for c in results[1]["clusters"] if c["entity"] == "ticket:XY-7")
    assert cluster["url"] == "https://tickets.example/XY-7"


def test_a_guest_comes_back_with_the_model(annotate: CorefELPipeline, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    annotate.save_pretrained(folder)
    assert json.loads((folder / "knowledge_base" / "kb_config.json").read_text())["parts"] == [
        {"folder": "0", "offset": 0.0, "below": None},
        {"folder": "1", "offset": -0.5, "below": None},
    ]
    loaded = load_pipeline(folder)
    assert type(loaded.processor.knowledge_base) is ComposedKnowledgeBase
    assert loaded(TEXT) == annotate(TEXT)
    given = load_pipeline(folder, knowledge_base=folder / "knowledge_base" / "0")
    assert "ticket:AB-12" not in given.processor.encode(TEXT).entities
    assert "ticket:AB-12" in loaded.processor.encode(TEXT).entities


def test_a_guest_is_found_by_its_entry_point(tmp_path: Path, tickets: Any) -> None:
    tickets().save_pretrained(tmp_path / "kb")
    info = tmp_path / "guest_tickets-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest-tickets\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hf_corefel.candidates]\nguest-tickets = guest_tickets:TicketSource\n")
    code = "from hf_corefel.candidates import open_knowledge_base as o; import sys; print(o(sys.argv[1]).pattern)"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "kb")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.strip() == "[A-Z]+-[0-9]+"


def test_nothing_is_imported_from_a_folder(tmp_path: Path) -> None:
    write_backend_config(tmp_path, "evil", module="evil")
    for name in ("evil.py", "__init__.py"):
        (tmp_path / name).write_text("raise SystemExit('imported')")
    with pytest.raises(
        KnowledgeBaseError, match=r"kb_config\.json: field 'backend': unknown knowledge base backend 'evil'"
    ):
        open_knowledge_base(tmp_path)


@pytest.mark.parametrize("backend", [None, 3, ["alias_table"]])
def test_a_backend_that_is_no_name_is_refused(backend: object, tmp_path: Path) -> None:
    (tmp_path / "kb_config.json").write_text(json.dumps({"backend": backend}))
    with pytest.raises(KnowledgeBaseError, match="field 'backend': expected a name"):
        open_knowledge_base(tmp_path)


def test_another_backend_is_no_alias_table(tmp_path: Path, tickets: Any) -> None:
    tickets().save_pretrained(tmp_path)
    with pytest.raises(KnowledgeBaseError, match="'guest-tickets', and no alias table"):
        KnowledgeBase.from_pretrained(tmp_path)


def test_the_default_backend_is_not_written(tmp_path: Path, tiny_knowledge_base: KnowledgeBase) -> None:
    tiny_knowledge_base.save_pretrained(tmp_path)
    assert "backend" not in json.loads((tmp_path / "kb_config.json").read_text())
    assert type(open_knowledge_base(tmp_path)) is KnowledgeBase


def test_what_nobody_could_load_is_not_saved(
    letter_processor: Callable[..., CorefELProcessor], tickets: Any, tmp_path: Path
) -> None:
    BACKENDS.unregister("guest-tickets")
    processor = letter_processor().with_knowledge_base(tickets())
    with pytest.raises(ValueError, match=r"BACKENDS.register\(NAME, TicketSource\)"):
        processor.save_pretrained(tmp_path)


def test_a_backend_needs_a_class_with_all_methods() -> None:
    with pytest.raises(ValueError, match="it has no propose, save_pretrained, from_pretrained"):
        BACKENDS.register("nothing", int)
    assert "nothing" not in BACKENDS


def test_a_source_may_name_what_the_store_has_ids_for(
    letter_processor: Callable[..., CorefELProcessor], tiny_knowledge_base: KnowledgeBase, tickets: Any
) -> None:
    class Named(tickets):  # type: ignore[misc]
        def propose(self, document: Document, spans: QuerySpans, limit: int) -> Proposals:
            return Proposals.of([[Candidate("Oslo", 0.5), Candidate("Unheard", 0.25)]] * len(spans), limit)

        def entity_id(self, name: str) -> int | None:
            return tiny_knowledge_base.entity_id(name)

        def entity_name(self, entity_id: int) -> str:
            return tiny_knowledge_base.entity_name(entity_id)

        def vectors(self, ids: Any) -> np.ndarray:
            return tiny_knowledge_base.vectors(ids)

    encoded = letter_processor().with_knowledge_base(Named()).encode("Oslo")
    oslo = tiny_knowledge_base.entity_id("Oslo")
    assert dict(zip(encoded.entities, encoded.entity_ids.tolist(), strict=True)) == {"Unheard": -1, "Oslo": oslo}
    assert np.array_equal(
        encoded.entity_vectors[encoded.entities.index("Oslo")], tiny_knowledge_base.vector_for("Oslo")
    )


def test_vectors_that_are_no_numbers_name_their_store(
    letter_processor: Callable[..., CorefELProcessor], tickets: Any
) -> None:
    class Odd(tickets):  # type: ignore[misc]
        def vector_for(self, name: str) -> np.ndarray:
            return np.full(self.vector_size, np.nan)

    with pytest.raises(ValueError, match="Odd: the vector of 'ticket:AB-12' is not finite"):
        letter_processor().with_knowledge_base(Odd()).encode(TEXT)


def test_constraints_take_entities_that_have_a_name_only(
    annotate: CorefELPipeline,
) -> None:
    result = annotate(TEXT, constraints={"entities": {(26, 30): "ticket:AB-7"}})
    assert links(result)["Oslo"] == "ticket:AB-7"
    with pytest.raises(DocumentError, match="which is not in the knowledge base"):
        annotate(TEXT, constraints={"entities": {(26, 30): "nothing of the kind"}})


def test_what_is_no_answer_names_the_source(tickets: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "propose", lambda *given: None)
    spans = QuerySpans(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    with pytest.raises(TypeError, match=r"TicketSource.propose: expected .*Proposals, got NoneType"):
        ask(tickets(), Document("Oslo"), spans, 4)
