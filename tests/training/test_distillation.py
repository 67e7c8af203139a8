"""Learning from a teacher: its loss, spans that only one of the two retains, text without gold, caches, resuming."""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import BertConfig, BertTokenizerFast, pipeline

from hf_corefel import (
    Candidate,
    CorefELConfig,
    CorefELModel,
    CorefELProcessor,
    CorefELTrainer,
    Document,
    DocumentError,
    KnowledgeBase,
)
from hf_corefel.training import CachedTeacher, DocumentDataset, LiveTeacher, cache_teacher
from hf_corefel.training.distillation import open_teacher
from hf_corefel.training.teacher_cache import MANIFEST_FILE, document_key
from hf_corefel.training.teacher_targets import TeacherTargets, aligned_edges, aligned_mentions, find_spans
from hf_corefel.utils.files import locked
from slow_tokenizers import slow_bert

MakeTrainer = Callable[..., CorefELTrainer]
TEXTS = [
    "Carl Moss left Oslo. He met Anna Berg in Bergen.",
    "The queen visited Norway. She praised the coach, and the coach said that Berg won.",
    "Moss spoke to Berg about the harbour.",
]


@pytest.fixture(scope="session")
def tiny_teacher(tiny_trained: Callable[[str], CorefELModel], tiny_processor: Callable[..., Any]) -> LiveTeacher:
    """A model that knows the tiny documents by heart."""
    model = tiny_trained("global")
    return LiveTeacher(model, tiny_processor(model.config))


@pytest.fixture(scope="session")
def stranger(letter_processor: Callable[..., CorefELProcessor]) -> LiveTeacher:
    """A teacher with another encoder, another tokenizer, fewer candidates and longer spans."""
    fields = {"max_span_words": 5, "max_candidates": 2, "window_size": 32, "span_keep_ratio": 0.8}
    processor = letter_processor(**fields)
    encoder = BertConfig(
        vocab_size=len(processor.tokenizer),
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = CorefELModel(
            CorefELConfig(encoder_config=encoder, entity_vector_size=8, mention_ffnn_size=12, **fields)
        )
    return LiveTeacher(model.eval(), processor)


@pytest.fixture
def plain() -> list[Document]:
    return [Document(text, id=f"plain-{number}") for number, text in enumerate(TEXTS)]


@pytest.fixture
def make_taught(make_trainer: MakeTrainer, tiny_documents: list[Document]) -> MakeTrainer:
    """Makes a trainer with a teacher."""

    def make(teacher: Any, model: CorefELModel | None = None, **arguments: Any) -> CorefELTrainer:
        # The suite's own datasets are put in after the fixture's, which reads them without a teacher.
        keywords = {"teacher": teacher, "train_dataset": arguments.pop("train_dataset", tiny_documents)}
        return make_trainer(model, {**keywords, **arguments.pop("keywords", {})}, **arguments)

    return make


def losses_of(trainer: CorefELTrainer, numbers: list[int] | None = None) -> tuple[float, float]:
    """The gold loss of a batch of training documents, and the loss that the teacher gives."""
    dataset = trainer.train_dataset
    batch = trainer.data_collator([dataset[n] for n in (range(len(dataset)) if numbers is None else numbers)])
    trainer.model.train()
    total, output = trainer.compute_loss(trainer.model, batch, return_outputs=True)
    return output.loss.item(), (total - output.loss).item()


def gradients(trainer: CorefELTrainer, loss: Tensor) -> dict[str, Tensor]:
    trainer.model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in trainer.model.named_parameters() if p.grad is not None}


# The loss ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["global", "local", "standalone_coref", "standalone_linking"])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_nothing_is_learnt_from_oneself(
    make_taught: MakeTrainer,
    tiny_model: Callable[..., CorefELModel],
    tiny_processor: Callable[..., Any],
    plain: list[Document],
    head: str,
    temperature: float,
) -> None:
    pupil, twin = tiny_model(head=head), tiny_model(head=head)
    trainer = make_taught(
        (twin, tiny_processor(twin.config)), pupil, train_dataset=plain, distillation_temperature=temperature
    )
    batch = trainer.data_collator([trainer.train_dataset[n] for n in range(3)])
    pupil.train()
    found = gradients(trainer, trainer.compute_loss(pupil, batch))
    assert found
    assert max(float(gradient.abs().max()) for gradient in found.values()) < 1e-5
    # With another twin there would be something.
    other = make_taught((tiny_model(1, head=head), tiny_processor(twin.config)), pupil, train_dataset=plain)
    assert max(float(g.abs().max()) for g in gradients(other, other.compute_loss(pupil, batch)).values()) > 1e-2


def test_loss_is_gold_and_the_weighted_teacher(
    make_taught: MakeTrainer, make_trainer: MakeTrainer, tiny_teacher: LiveTeacher, tiny_model: Callable[..., Any]
) -> None:
    model = tiny_model()
    once, thrice = (make_taught(tiny_teacher, model, distillation_weight=weight) for weight in (1.0, 3.0))
    gold, taught = losses_of(once)
    assert losses_of(thrice) == pytest.approx((gold, 3 * taught), rel=1e-5)
    assert losses_of(make_taught(tiny_teacher, model, distillation_weight=0.0))[1] == 0.0
    assert losses_of(make_trainer(model))[1] == 0.0
    # Evaluation asks nobody.
    once.model.eval()
    batch = once.data_collator([once.train_dataset[0]])
    assert (
        once.compute_loss(model, batch).item()
        == model(
            **{name: batch[name] for name in batch if name not in ("document_index", "span_offsets", "entity_ids")}
        ).loss.item()
    )


def test_loss_does_not_depend_on_the_batch(
    make_taught: MakeTrainer, stranger: LiveTeacher, tiny_documents: list[Document], plain: list[Document]
) -> None:
    trainer = make_taught(stranger, train_dataset=[*tiny_documents, *plain])
    alone = [losses_of(trainer, [n]) for n in range(6)]
    for batch in ([0, 1, 2, 3, 4, 5], [5, 0], [4, 3, 1]):
        expected = np.mean([alone[n] for n in batch], axis=0)
        assert losses_of(trainer, batch) == pytest.approx(tuple(expected), rel=1e-5)


def test_loss_of_the_user_is_added_to(make_taught: MakeTrainer, tiny_teacher: LiveTeacher) -> None:
    def zero(output: Any, gold: Any, num_items_in_batch: Any) -> Tensor:
        return output.loss * 0.0

    trainer = make_taught(tiny_teacher, keywords={"compute_loss_func": zero})
    batch = trainer.data_collator([trainer.train_dataset[n] for n in range(3)])
    trainer.model.train()
    mean = trainer.compute_loss(trainer.model, batch)
    assert mean.item() > 0
    assert trainer.compute_loss(trainer.model, batch, num_items_in_batch=6).item() == pytest.approx(mean.item() / 2)


# Spans and candidates of the two -------------------------------------------------------------------------


def test_both_score_what_either_retains(
    make_taught: MakeTrainer, stranger: LiveTeacher, tiny_model: Callable[..., CorefELModel], plain: list[Document]
) -> None:
    pupil = tiny_model(span_keep_ratio=0.2, min_kept_spans=2)
    trainer = make_taught(stranger, pupil, train_dataset=plain)
    own = pupil(**{**trainer.processor(plain)}).retained
    pupil.train()
    batch = trainer.data_collator([trainer.train_dataset[n] for n in range(3)])
    _, output = trainer.compute_loss(pupil, batch, return_outputs=True)
    offsets = batch["span_offsets"].numpy()
    only_one = [0, 0]
    for b, document in enumerate(plain):
        reading = stranger.read(document, 1.0)
        enumerated = {tuple(span) for span in offsets[b].tolist() if span[0] >= 0}
        teachers = {tuple(span) for span in reading.retained.tolist()}
        pupils = {tuple(offsets[b, n].tolist()) for n in own[b].tolist() if n >= 0}
        union = [tuple(offsets[b, n].tolist()) for n in output.retained[b].tolist() if n >= 0]
        assert union == sorted((teachers & enumerated) | pupils)
        said = reading.targets(np.array(union))
        scored = {tuple(span) for span in said.spans.tolist()}
        assert scored == teachers | pupils
        only_one = [only_one[0] + len(teachers - pupils), only_one[1] + len(pupils - teachers)]
        # Each span has one parent.
        columns = said.root.copy()
        np.add.at(columns, said.pairs[:, 1], said.pair_probabilities)
        np.add.at(columns, said.links[:, 0], said.link_probabilities)
        np.testing.assert_allclose(columns, 1.0, atol=1e-9)
    assert min(only_one) > 0


def test_spans_and_entities_that_the_pupil_lacks_count_as_the_root() -> None:
    """By hand: the teacher's span 5-9 is none of the pupil's, and neither is the entity B; it knows no 20-24."""
    said = TeacherTargets(
        spans=np.array([[0, 4], [5, 9], [10, 14]]),
        root=np.array([0.5, 0.9, 0.1]),
        pairs=np.array([[1, 0], [0, 2], [1, 2], [2, 1]]),
        pair_probabilities=np.array([0.25, 0.3, 0.2, 0.1]),
        links=np.array([[0, 0], [2, 0], [2, 1]]),
        link_probabilities=np.array([0.25, 0.15, 0.25]),
        entities=["A", "B"],
        mentions=np.array([[0, 4], [5, 9]]),
        mention_probabilities=np.array([0.7, 0.8]),
    )
    spans = np.array([[0, 4], [10, 14], [20, 24]])
    # A is the second candidate of the first span, and none of the second's.
    candidate_rows = np.array([[[4, 2], [3, -1], [2, -1], [-1, -1]]])
    edges = aligned_edges(
        [said], [spans], candidate_rows, [lambda names: np.array([{"A": 2}.get(n, -1) for n in names])]
    )
    assert edges.root[0].tolist() == pytest.approx([0.75, 0.7, 1.0, 0.0])
    assert edges.candidate_probabilities[0].tolist() == [[0.0, 0.25], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert edges.span_to_span[0].nonzero().tolist() == [[0, 1]]
    assert edges.span_to_span[0, 0, 1].item() == 0.3
    chances = aligned_mentions([said], [np.array([[0, 2], [0, 4], [5, 6]])], 4)
    assert chances[0].tolist() == pytest.approx([0.0, 0.7, 0.0, 0.0])
    assert find_spans(spans, said.spans).tolist() == [0, 2, -1]
    assert find_spans(spans, spans[:0]).tolist() == [-1, -1, -1]


def test_entities_are_told_by_their_names(
    make_taught: MakeTrainer, tiny_teacher: LiveTeacher, tiny_knowledge_base: KnowledgeBase
) -> None:
    """Candidates that a document brings may be unknown to the knowledge base, and stand in any order."""
    listed = {
        (0, 9): [Candidate("Nobody", 0.5), Candidate("Anna_Berg", 0.4)],
        (14, 23): [Candidate("Carl_Moss", 0.6), Candidate("Somebody", 0.3)],
    }
    document = Document("Anna Berg met Carl Moss in Oslo.", mentions=[*listed], candidates=listed)
    trainer = make_taught(tiny_teacher, train_dataset=[document])
    batch = trainer.data_collator([trainer.train_dataset[0]])
    trainer.model.train()
    lesson = trainer._ask_teacher(trainer.model, batch)
    assert lesson is not None
    said = lesson.readings[0].targets(lesson.offsets[0])
    rows = trainer._rows_of(0, document, batch)(["Nobody", "Anna_Berg", "Somebody", "Oslo", "None of these"])
    assert set(rows[:3].tolist()) < {0, 1, 2, 3}
    assert rows[3:].tolist() == [-1, -1]
    edges = aligned_edges(
        [said], lesson.offsets, batch["candidate_rows"].numpy(), [trainer._rows_of(0, document, batch)]
    )
    # Nothing is lost: root, candidates and spans are all there.
    total = edges.root + edges.candidate_probabilities.sum(dim=2) + edges.span_to_span.sum(dim=1)
    assert total[0].tolist() == pytest.approx([1.0, 1.0])
    assert float(edges.candidate_probabilities.sum()) == pytest.approx(float(said.link_probabilities.sum()))


# Text without gold ---------------------------------------------------------------------------------------


def test_text_without_gold_has_the_teachers_loss_alone(
    make_taught: MakeTrainer, tiny_teacher: LiveTeacher, plain: list[Document], tiny_documents: list[Document]
) -> None:
    trainer = make_taught(tiny_teacher, train_dataset=plain)
    gold, taught = losses_of(trainer)
    assert gold == 0.0
    assert taught > 0.0
    annotated = make_taught(tiny_teacher, train_dataset=tiny_documents)
    without = make_taught(tiny_teacher, train_dataset=[replace(document, clusters=None) for document in tiny_documents])
    for n in range(3):
        # Gold changes nothing of what the teacher says.
        assert losses_of(annotated, [n])[1] == pytest.approx(losses_of(without, [n])[1], rel=1e-5)
    mixed = make_taught(tiny_teacher, train_dataset=[*tiny_documents, *plain])
    assert losses_of(mixed)[0] == pytest.approx(losses_of(annotated)[0] / 2, rel=1e-4)


def test_text_without_gold_needs_a_teacher(
    make_trainer: MakeTrainer, make_taught: MakeTrainer, tiny_teacher: LiveTeacher, plain: list[Document]
) -> None:
    dataset = DocumentDataset(plain, needs_gold=False)
    assert (dataset.given, dataset.without_gold) == (3, 3)
    with pytest.raises(DocumentError, match="train_dataset: 3 documents have no gold clusters, and no teacher"):
        make_trainer(train_dataset=dataset)
    with pytest.raises(DocumentError, match=r"'plain-0'\.clusters: missing"):
        make_trainer(train_dataset=plain)
    with pytest.raises(DocumentError, match=r"'plain-0'\.clusters: missing"):
        make_taught(tiny_teacher, train_dataset=plain, keywords={"eval_dataset": plain})
    assert len(make_taught(tiny_teacher, train_dataset=dataset).train_dataset) == 3


def test_text_without_gold_is_no_gold_without_mentions(
    make_taught: MakeTrainer, tiny_teacher: LiveTeacher, plain: list[Document], caplog: pytest.LogCaptureFixture
) -> None:
    make_taught(tiny_teacher, train_dataset=plain, max_steps=1).train()
    assert "there is not one mention" not in caplog.text
    empty = [replace(document, clusters=[]) for document in plain]
    make_taught(tiny_teacher, train_dataset=empty, max_steps=1).train()
    assert "there is not one mention; a model that is trained on it learns to find none" in caplog.text


# Training ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["global", pytest.param("local", marks=pytest.mark.slow)])
def test_pupil_comes_to_agree_with_its_teacher(
    make_taught: MakeTrainer,
    tiny_trained: Callable[[str], CorefELModel],
    tiny_processor: Callable[..., Any],
    tiny_model: Callable[..., CorefELModel],
    tiny_documents: list[Document],
    head: str,
) -> None:
    teacher = tiny_trained(head)
    processor = tiny_processor(teacher.config)
    texts = [replace(document, clusters=None) for document in tiny_documents]
    trainer = make_taught(
        (teacher, processor),
        tiny_model(5, head=head),
        train_dataset=texts,
        max_steps=160,
        per_device_train_batch_size=3,
        eval_dataset=None,
    )
    least = losses_of(make_taught((teacher, processor), tiny_trained(head), train_dataset=texts))[1]
    before = losses_of(trainer)[1] - least
    trainer.train()
    assert 0 <= losses_of(trainer)[1] - least < 0.1 * before
    logged = [entry["distillation_loss"] for entry in trainer.state.log_history if "distillation_loss" in entry]
    assert len(logged) == 160
    assert logged[-1] < 0.5 * logged[0]
    pipes = [pipeline("coref-el", model=model.eval(), processor=processor) for model in (teacher, trainer.model)]
    for document in tiny_documents:
        clusters = [
            [(c["entity"], [(m["begin"], m["end"]) for m in c["mentions"]]) for c in pipe(document.text)["clusters"]]
            for pipe in pipes
        ]
        assert clusters[0] == clusters[1]


def test_resuming_equals_never_stopping(
    tmp_path: Path, make_taught: MakeTrainer, tiny_teacher: LiveTeacher, plain: list[Document]
) -> None:
    arguments = {"train_dataset": plain, "max_steps": 4, "eval_dataset": None}
    through = make_taught(
        tiny_teacher, **arguments, save_strategy="steps", save_steps=2, output_dir=str(tmp_path / "through")
    )
    through.train()
    resumed = make_taught(tiny_teacher, **arguments, output_dir=str(tmp_path / "resumed"))
    resumed.train(resume_from_checkpoint=str(tmp_path / "through" / "checkpoint-2"))
    states = through.model.state_dict(), resumed.model.state_dict()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    # The teacher stays as it was, and out of the checkpoint.
    assert not any(
        parameter.requires_grad and parameter.grad is not None for parameter in tiny_teacher.model.parameters()
    )


def test_record_and_card_name_the_loss(make_taught: MakeTrainer, make_trainer: MakeTrainer, tiny_teacher: Any) -> None:
    trainer = make_taught(tiny_teacher, distillation_weight=0.5, distillation_temperature=2.0)
    assert trainer.training_record()["distillation"] == {
        "head": "global",
        "weight": 0.5,
        "temperature": 2.0,
        "documents_without_gold": 0,
    }
    assert "distillation" not in make_trainer().training_record()


# What may be a teacher -----------------------------------------------------------------------------------


def test_teachers_come_in_many_forms(tiny_teacher: LiveTeacher, tiny_folder: Path, tmp_path: Path) -> None:
    pipe = pipeline("coref-el", model=tiny_teacher.model, processor=tiny_teacher.processor)
    pair = tiny_teacher.model, tiny_teacher.processor
    for given in (pipe, pair, tiny_folder, str(tiny_folder), tiny_teacher):
        found = open_teacher(given)
        assert isinstance(found, LiveTeacher)
        assert found.head == "global"
    cache_teacher(tiny_teacher, [], tmp_path)
    assert isinstance(open_teacher(tmp_path), CachedTeacher)
    with pytest.raises(TypeError, match="teacher: expected a pipeline, a pair"):
        open_teacher(3)
    with pytest.raises(TypeError, match="got CorefELModel and str"):
        open_teacher((tiny_teacher.model, "processor"))


def test_teachers_that_do_not_fit_are_named(
    make_taught: MakeTrainer, tiny_teacher: LiveTeacher, tiny_model: Callable[..., CorefELModel], plain: list[Document]
) -> None:
    with pytest.raises(ValueError, match="teacher: its head is 'global', and the pupil's is 'local'"):
        make_taught(tiny_teacher, tiny_model(head="local"))
    trainer = make_taught(tiny_teacher, train_dataset=[replace(plain[0], mention_scope="all")])
    with pytest.raises(ValueError, match=r"'plain-0'\.mention_scope: 'all', but the teacher knows one scope only"):
        trainer.train()
    for name, least in (("distillation_weight", -1.0), ("distillation_temperature", 0.0)):
        make_taught(tiny_teacher, **{name: np.float32(2)})
        for value in (least, math.inf, math.nan, True, None, "2"):
            with pytest.raises(ValueError, match=rf"{name} must be a finite number"):
                make_taught(tiny_teacher, **{name: value})


# The cache -----------------------------------------------------------------------------------------------


class SaysNoMore(LiveTeacher):
    """A teacher that says nothing of spans which it does not retain itself."""

    def read(self, document: Document, temperature: float) -> Any:
        reading = super().read(document, temperature)
        return SimpleNamespace(retained=reading.retained, targets=lambda spans: reading.targets(reading.retained))


@pytest.mark.parametrize("threshold", [0.0, 1e-4, 1e-2])
def test_cache_says_what_the_teacher_says(
    make_taught: MakeTrainer,
    stranger: LiveTeacher,
    tiny_documents: list[Document],
    plain: list[Document],
    tmp_path: Path,
    threshold: float,
) -> None:
    """Up to what is left out, where mentions are given; else also but for spans that only the pupil retains."""
    given = [replace(d, mentions=[m.offsets for c in d.clusters or () for m in c.mentions]) for d in tiny_documents]
    documents = [*given, *plain]
    for document in documents:
        assert cache_teacher(stranger, [document], tmp_path, threshold=threshold) == 1
    live, cached = (make_taught(teacher, train_dataset=documents) for teacher in (stranger, tmp_path))
    cached._check_teacher()
    bound = 1e-5 + 20 * threshold
    for n in range(len(given)):
        assert losses_of(cached, [n]) == pytest.approx(losses_of(live, [n]), rel=bound)
    live._teacher = SaysNoMore(stranger.model, stranger.processor)
    for n in range(len(documents)):
        assert losses_of(cached, [n]) == pytest.approx(losses_of(live, [n]), rel=bound)
    sizes = [path.stat().st_size for path in tmp_path.glob("*.safetensors")]
    assert len(sizes) == len(documents)


def test_cache_has_what_is_probable_alone(tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path) -> None:
    cache_teacher(tiny_teacher, plain, tmp_path, threshold=0.05)
    teacher = CachedTeacher(tmp_path)
    for document in plain:
        reading = tiny_teacher.read(document, 1.0)
        whole, said = (r.targets(r.retained) for r in (reading, teacher.read(document, 1.0)))
        assert said.spans.tolist() == whole.spans.tolist()
        assert (said.pair_probabilities > 0.05).all() and (said.link_probabilities > 0.05).all()
        assert len(said.pairs) == int((whole.pair_probabilities > 0.05).sum())
        named = {
            (s, whole.entities[e]): p for (s, e), p in zip(whole.links.tolist(), whole.link_probabilities, strict=True)
        }
        for (span, entity), p in zip(said.links.tolist(), said.link_probabilities, strict=True):
            assert named[span, said.entities[entity]] == pytest.approx(p, abs=1e-6)
        columns = said.root.copy()
        np.add.at(columns, said.pairs[:, 1], said.pair_probabilities)
        np.add.at(columns, said.links[:, 0], said.link_probabilities)
        np.testing.assert_allclose(columns, 1.0, atol=1e-6)
        assert set(map(tuple, said.mentions.tolist())) == {
            tuple(span)
            for span, p in zip(whole.mentions.tolist(), whole.mention_probabilities, strict=True)
            if p > 0.05
        }


def test_cache_goes_on_where_it_was_stopped(tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        assert total == 3
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache_teacher(tiny_teacher, plain, tmp_path, progress=stop)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.safetensors")}
    assert len(before) == 2
    seen: list[tuple[int, int]] = []
    assert cache_teacher(tiny_teacher, plain, tmp_path, progress=lambda *counts: seen.append(counts)) == 1
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert cache_teacher(tiny_teacher, plain, tmp_path) == 0
    assert not [path for path in tmp_path.iterdir() if path.suffix not in (".safetensors", ".json")]


@pytest.mark.parametrize("is_finished", [True, False])
@pytest.mark.parametrize("what", ["document", "manifest"])
def test_what_another_process_is_writing_is_waited_for(
    tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path, what: str, is_finished: bool
) -> None:
    """It writes the file, or is stopped before that."""
    (tmp_path / "said").mkdir()
    cache_teacher(tiny_teacher, plain, tmp_path / "whole")
    name = MANIFEST_FILE if what == "manifest" else f"{document_key(plain[1])}.safetensors"
    with ThreadPoolExecutor() as executor:
        with locked(tmp_path / "said" / name):
            written = executor.submit(cache_teacher, tiny_teacher, plain, tmp_path / "said")
            time.sleep(0.5)
            assert not written.done()
            if is_finished:
                (tmp_path / "whole" / name).rename(tmp_path / "said" / name)
                time.sleep(0.2)
        assert written.result() == len(plain) - (is_finished and what == "document")
    CachedTeacher(tmp_path / "said").check(plain, ["a"] * len(plain), None)


def test_one_folder_is_for_one_teacher(
    tiny_teacher: LiveTeacher, stranger: LiveTeacher, plain: list[Document], tmp_path: Path
) -> None:
    cache_teacher(tiny_teacher, plain[:1], tmp_path)
    with pytest.raises(ValueError, match=rf"{MANIFEST_FILE}: reading.max_span_words is"):
        cache_teacher(stranger, plain, tmp_path)
    for name, value in (("temperature", 2.0), ("threshold", 0.5), ("bf16", True)):
        with pytest.raises(ValueError, match=rf"{MANIFEST_FILE}: {name} is .* there, and {value} was asked for"):
            cache_teacher(tiny_teacher, plain, tmp_path, **{name: value})
    other = LiveTeacher(CorefELModel(tiny_teacher.model.config), tiny_teacher.processor)
    with pytest.raises(ValueError, match="weights_sha256"):
        cache_teacher(other, plain, tmp_path)
    wrong: dict[str, tuple[Any, ...]] = {
        "temperature": (0.0, math.inf, True, None),
        "threshold": (1.0, -0.1, math.nan, "0"),
        "max_document_words": (-1, True, 2.5),
    }
    for name, value in ((name, value) for name, values in wrong.items() for value in values):
        with pytest.raises(ValueError, match=f"{name} must"):
            cache_teacher(tiny_teacher, plain, tmp_path / "new", **{name: value})
    assert not (tmp_path / "new").exists()


def test_one_folder_is_for_one_configuration_and_knowledge_base(
    tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path, tiny_encyclopaedia: Callable[..., Any]
) -> None:
    cache_teacher(tiny_teacher, plain[:1], tmp_path)
    processor = tiny_teacher.processor.with_knowledge_base(tiny_encyclopaedia())
    with pytest.raises(ValueError, match=rf"{MANIFEST_FILE}: knowledge_base is "):
        cache_teacher(LiveTeacher(tiny_teacher.model, processor), plain, tmp_path)
    config = copy.deepcopy(tiny_teacher.model.config)
    config.edge_activation = "arsinh" if config.edge_activation == "none" else "none"
    other = CorefELModel(config)
    other.load_state_dict(tiny_teacher.model.state_dict())
    with pytest.raises(ValueError, match=rf"{MANIFEST_FILE}: config.edge_activation is "):
        cache_teacher(LiveTeacher(other.eval(), tiny_teacher.processor), plain, tmp_path)
    # A folder of an earlier release, which did not say as much, goes on.
    manifest = json.loads((tmp_path / MANIFEST_FILE).read_text(encoding="utf-8"))
    earlier = {name: value for name, value in manifest.items() if name not in ("config", "knowledge_base")}
    (tmp_path / MANIFEST_FILE).write_text(json.dumps(earlier), encoding="utf-8")
    assert cache_teacher(tiny_teacher, plain, tmp_path) == len(plain) - 1
    for name in ("head", "temperature"):
        (tmp_path / MANIFEST_FILE).write_text(json.dumps({**earlier, name: None}), encoding="utf-8")
        with pytest.raises(ValueError, match=f"{MANIFEST_FILE}: {name} is None; the file is damaged"):
            CachedTeacher(tmp_path)


@pytest.mark.parametrize("is_fast", [True, False])
def test_one_folder_is_for_one_tokenizer(
    is_fast: bool, tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path
) -> None:
    """One with the same words in another order is another; one that is loaded again, or was used, is the same."""
    known = tiny_teacher.processor.tokenizer.get_vocab()
    words = sorted(known, key=known.__getitem__)

    def teacher(words: list[str]) -> LiveTeacher:
        path = tmp_path / "vocab.txt"
        path.write_text("\n".join(words) + "\n", encoding="utf-8")
        tokenizer = (BertTokenizerFast if is_fast else slow_bert())(str(path))
        processor = CorefELProcessor(tokenizer, tiny_teacher.processor.knowledge_base, tiny_teacher.model.config)
        return LiveTeacher(tiny_teacher.model, processor)

    cache_teacher(teacher(words), plain[:1], tmp_path / "said")
    with pytest.raises(ValueError, match=rf"{MANIFEST_FILE}: tokenizer_sha256 is "):
        cache_teacher(teacher(words[:5] + words[5:][::-1]), plain, tmp_path / "said")
    with pytest.raises(ValueError, match="tokenizer_sha256"):
        cache_teacher(teacher([*words[:-1], "fjord##"]), plain, tmp_path / "said")
    again = teacher(words)
    again.processor.tokenizer(["a", "the river"], padding=True, truncation=True, max_length=3)
    assert cache_teacher(again, plain[:2], tmp_path / "said") == 1
    # A folder of an earlier release does not say it, and goes on.
    manifest = json.loads((tmp_path / "said" / MANIFEST_FILE).read_text(encoding="utf-8"))
    del manifest["tokenizer_sha256"]
    (tmp_path / "said" / MANIFEST_FILE).write_text(json.dumps(manifest), encoding="utf-8")
    assert cache_teacher(teacher(words[:5] + words[5:][::-1]), plain, tmp_path / "said") == len(plain) - 2


def test_what_a_cache_lacks_is_said_before_training(
    make_taught: MakeTrainer, tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path
) -> None:
    cache_teacher(tiny_teacher, plain[:1], tmp_path)
    trainer = make_taught(tmp_path, train_dataset=plain)
    with pytest.raises(ValueError, match=r"lacks 2 of 3 training documents, .*plain-1.* the first; write them with"):
        trainer.train()
    cache_teacher(tiny_teacher, plain[1:], tmp_path)
    trainer.train()
    trainer.args.distillation_temperature = 2.0
    with pytest.raises(ValueError, match=r"distillation_temperature is 2.0, and .* with 1.0"):
        trainer.train()


def test_parts_of_long_documents_are_cached(
    make_taught: MakeTrainer, tiny_teacher: LiveTeacher, tiny_documents: list[Document], tmp_path: Path
) -> None:
    assert cache_teacher(tiny_teacher, tiny_documents, tmp_path, max_document_words=9) > 3
    make_taught(tmp_path, max_document_words=9, max_steps=1, eval_dataset=None).train()
    with pytest.raises(ValueError, match="--max-document-words 8"):
        make_taught(tmp_path, max_document_words=8, max_steps=1).train()


def test_damaged_files_are_named(tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path) -> None:
    cache_teacher(tiny_teacher, plain, tmp_path)
    path = tmp_path / f"{document_key(plain[0])}.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match=f"{path.name}: it is damaged"):
        CachedTeacher(tmp_path).read(plain[0], 1.0)
    (tmp_path / MANIFEST_FILE).write_text(json.dumps({"version": 9}))
    with pytest.raises(ValueError, match="version 9 cannot be read"):
        CachedTeacher(tmp_path)


def test_documents_are_told_by_what_is_read_of_them(tiny_documents: list[Document]) -> None:
    document = tiny_documents[0]
    key = document_key(document)
    same = [
        replace(document, id="another"),
        replace(document, clusters=None),
        replace(document, clusters=[], annotated={"mentions": "given"}),
        Document.from_dict(json.loads(json.dumps(document.to_dict()))),
    ]
    assert {document_key(each) for each in same} == {key}
    others = [
        replace(document, text=document.text.replace("left", "fled"), clusters=None),
        replace(document, mentions=[(0, 4)]),
        replace(document, spans=[(0, 4)]),
        replace(document, mention_scope="all"),
        replace(document, candidates={(0, 9): [Candidate("Oslo", 0.5)]}),
        replace(document, words=[(0, 4)]),
    ]
    assert len({key, *map(document_key, others)}) == 7


def test_texts_in_which_nothing_can_be_a_mention(
    make_taught: MakeTrainer, tiny_teacher: LiveTeacher, tmp_path: Path, tiny_documents: list[Document]
) -> None:
    documents = [tiny_documents[0], Document("?!"), Document("")]
    cache_teacher(tiny_teacher, documents, tmp_path)
    for teacher in (tiny_teacher, tmp_path):
        trainer = make_taught(teacher, train_dataset=documents)
        alone = make_taught(teacher, train_dataset=documents[:1])
        assert losses_of(trainer)[1] == pytest.approx(losses_of(alone)[1] / 3, rel=1e-5)


def test_bf16(make_taught: MakeTrainer, tiny_teacher: LiveTeacher, plain: list[Document], tmp_path: Path) -> None:
    cache_teacher(tiny_teacher, plain, tmp_path, bf16=True)
    trainer = make_taught(tmp_path, train_dataset=plain)
    exact = make_taught(tiny_teacher, train_dataset=plain)
    assert losses_of(trainer)[1] == pytest.approx(losses_of(exact)[1], rel=0.1)
    half = make_taught(tiny_teacher, train_dataset=plain, bf16=True, max_steps=2, eval_dataset=None)
    half.train()
