from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

from hf_corefel.kb import KnowledgeBase, KnowledgeBaseError, Projection
from hf_corefel.kb.entity_vectors import (
    encode_texts,
    entity_text,
    fit_projection,
    reduce_dimensions,
    title_vectorizer,
    vectors_from_titles,
)

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "angela", "merkel", "berlin", "a", "city", "in", "germany", ":"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("tokenizer") / "vocab.txt"
    path.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return BertTokenizerFast.from_pretrained(str(path.parent))


@pytest.fixture(scope="module")
def encoder() -> Any:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    return BertModel(config)


TEXTS = ["Berlin", "Angela Merkel", "a city in Germany : a city in Germany", "Berlin a city", "Germany"]


def test_encoding_is_the_normalised_mean_over_pieces(encoder: Any, tokenizer: Any) -> None:
    found = encode_texts(TEXTS, encoder, tokenizer, batch_size=2, show_progress=False)
    assert (found.shape, found.dtype) == ((5, 16), np.float32)
    encoder.eval()
    for text, vector in zip(TEXTS, found, strict=True):
        with torch.no_grad():
            mean = encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0)
        np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


def test_long_texts_are_cut(encoder: Any, tokenizer: Any) -> None:
    long, short = encode_texts(["Berlin " * 100, "Berlin " * 8], encoder, tokenizer, max_length=10, show_progress=False)
    np.testing.assert_allclose(long, short, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_off_and_the_mode_is_kept(encoder: Any, tokenizer: Any, training: bool) -> None:
    encoder.train(training)
    left, right = (encode_texts(TEXTS, encoder, tokenizer, device="cpu", show_progress=False) for _ in range(2))
    np.testing.assert_array_equal(left, right)
    assert encoder.training is training


def test_no_texts(encoder: Any, tokenizer: Any) -> None:
    assert encode_texts([], encoder, tokenizer, show_progress=False).shape == (0, 16)


def test_progress_is_shown_when_asked_for(encoder: Any, tokenizer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    encode_texts(TEXTS, encoder, tokenizer, show_progress=False)
    assert "Encoding" not in capsys.readouterr().err
    encode_texts(TEXTS, encoder, tokenizer)
    assert "Encoding" in capsys.readouterr().err


def test_reduction_keeps_what_varies() -> None:
    random = np.random.RandomState(1)
    basis = np.linalg.qr(random.normal(size=(10, 10)))[0][:3]
    vectors = (random.normal(size=(200, 3)) * [3, 2, 1] @ basis + 5).astype(np.float32)
    reduced = reduce_dimensions(vectors, 3)
    assert (reduced.shape, reduced.dtype) == ((200, 3), np.float32)
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(reduced[:, None] - reduced, axis=-1), distances, atol=1e-3)
    np.testing.assert_allclose(reduced.mean(axis=0), 0, atol=1e-3)
    covariance = np.cov(reduced.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-3)
    assert np.all(np.diff(np.diag(covariance)) < 0)
    np.testing.assert_allclose(reduce_dimensions(vectors, 2), reduced[:, :2], atol=1e-4)


def test_reduction_has_one_sign() -> None:
    vectors = np.random.RandomState(2).normal(size=(300, 6)).astype(np.float32) * [6, 5, 4, 3, 2, 1]
    mirrored = reduce_dimensions(-vectors, 6)
    np.testing.assert_allclose(mirrored, -reduce_dimensions(vectors, 6), atol=1e-4)


def test_reduction_from_a_sample_is_repeatable() -> None:
    vectors = np.random.RandomState(2).normal(size=(300, 6)).astype(np.float32) * [6, 5, 4, 3, 2, 1]
    sampled = reduce_dimensions(vectors, 2, sample_size=100)
    np.testing.assert_array_equal(sampled, reduce_dimensions(vectors, 2, sample_size=100))
    assert not np.allclose(sampled, reduce_dimensions(vectors, 2))
    correlation = np.corrcoef(sampled[:, 0], reduce_dimensions(vectors, 2)[:, 0])[0, 1]
    assert correlation > 0.9


@pytest.mark.parametrize(("shape", "size"), [((5, 4), 0), ((5, 4), 5), ((0, 4), 2), ((4,), 1)])
def test_reduction_refuses(shape: tuple[int, ...], size: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        reduce_dimensions(np.zeros(shape, dtype=np.float32), size)


@pytest.mark.parametrize(
    ("description", "text"),
    [
        (None, "Angela Merkel"),
        ("", "Angela Merkel"),
        ("a German", "Angela Merkel : a German"),
        ("a German politician", "Angela Merkel : a German"),
        ("chancellorship", "Angela Merkel : chancello"),
        ("a chancel of", "Angela Merkel : a chancel"),
    ],
)
def test_entity_text(description: str | None, text: str) -> None:
    assert entity_text("Angela_Merkel", description, max_description_length=9) == text


def test_vectors_of_titles_fill_a_knowledge_base(encoder: Any, tokenizer: Any, tmp_path: Path) -> None:
    entities = ["Angela_Merkel", "Berlin", "Germany", "City"]
    descriptions = {"Berlin": "a city in Germany"}
    names, vectors = vectors_from_titles(entities, encoder, tokenizer, descriptions=descriptions, show_progress=False)
    texts = ["Angela Merkel", "Berlin : a city in Germany", "Germany", "City"]
    np.testing.assert_allclose(vectors, encode_texts(texts, encoder, tokenizer, show_progress=False), atol=1e-5)
    reduced = vectors_from_titles(entities, encoder, tokenizer, descriptions=descriptions, size=3, show_progress=False)
    np.testing.assert_allclose(reduced[1], reduce_dimensions(vectors, 3), atol=1e-5)
    kb = KnowledgeBase.build([("Merkel", [("Angela_Merkel", 1.0)])], vectors=reduced)
    assert names == entities
    assert (kb.vector_size, kb.num_entities) == (3, 4)
    np.testing.assert_allclose(kb.vectors([kb.entity_id("City")])[0], reduced[1][3], atol=0.01)


ENTITIES = ["Angela_Merkel", "Berlin", "Germany", "City", "A_City_in_Germany", "Merkel_in_Berlin"]


@pytest.mark.parametrize("size", [None, 3])
def test_an_entity_added_later_gets_a_vector_of_the_same_kind(
    encoder: Any, tokenizer: Any, tmp_path: Path, size: int | None
) -> None:
    descriptions = {"Berlin": "a city in Germany"}
    names, vectors, projection = vectors_from_titles(
        ENTITIES,
        encoder,
        tokenizer,
        descriptions=descriptions,
        size=size,
        mean_square=1.0,
        return_projection=True,
        max_description_length=6,
        show_progress=False,
    )
    assert np.mean(vectors**2) == pytest.approx(1.0, abs=1e-4)
    built = KnowledgeBase.build([], vectors=(names, vectors), projection=projection, vector_format="float32")
    built.save_pretrained(tmp_path)
    kb = KnowledgeBase.from_pretrained(tmp_path)
    kb.verify()
    assert kb.projection is not None
    assert kb.projection.info["max_description_length"] == 6
    assert kb.projection.info["method"] == ("none" if size is None else "principal components")
    kb.vectorizer = title_vectorizer(encoder, tokenizer, kb.projection)
    # The same title and description again, under another name, give the same vector.
    kb.remove("Berlin")
    kb.add("Berlin", ["Berlin"], description="a city in Germany")
    np.testing.assert_allclose(kb.vector_for("Berlin"), vectors[1], atol=1e-4)
    again = vectors_from_titles(["City"], encoder, tokenizer, projection=kb.projection, show_progress=False)
    np.testing.assert_allclose(again[1][0], vectors[3], atol=1e-4)
    assert kb.merged().projection is not None
    assert built.fingerprint != KnowledgeBase.build([], vectors=(names, vectors), vector_format="float32").fingerprint


def test_a_vectorizer_leaves_the_tokenizer_as_it_is(encoder: Any, tokenizer: Any) -> None:
    """Cutting is a state of a fast tokenizer, which another thread may be reading a document with."""
    given = copy.deepcopy(tokenizer)
    given.backend_tokenizer.no_truncation()
    given.backend_tokenizer.no_padding()
    vectorizer = title_vectorizer(encoder, given, Projection(np.zeros(16), np.zeros((16, 2)), np.zeros(2)))
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda name: vectorizer([name], ["a city"]), ENTITIES * 8))
    assert {vectors.shape for vectors in made} == {(1, 2)}
    assert given.backend_tokenizer.truncation is None and given.backend_tokenizer.padding is None
    # What a thread reads that set its options before the vectorization.
    assert len(given.backend_tokenizer.encode("berlin " * 200).ids) == 202


def test_size_and_projection_exclude_each_other(encoder: Any, tokenizer: Any) -> None:
    projection = Projection(np.zeros(16), np.zeros((16, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="give one of both"):
        vectors_from_titles(ENTITIES, encoder, tokenizer, size=2, projection=projection, show_progress=False)


def test_a_fitted_projection_recovers_vectors_of_another_encoder(encoder: Any, tokenizer: Any) -> None:
    """The other encoder is this one behind a linear map, so that a linear map can recover all of it."""
    words = [word for word in WORDS[5:] if word.isalpha()]
    names = [f"{left}_{right}" for left in words for right in words]
    inputs = encode_texts([entity_text(name) for name in names], encoder, tokenizer, show_progress=False)
    mixed = inputs @ np.random.RandomState(5).normal(size=(16, 6)).astype(np.float32) + 2.0
    kb = KnowledgeBase.build([], vectors=(names, mixed), vector_format="float32")
    projection = fit_projection(encoder, tokenizer, kb, ridge=1e-7, show_progress=False)
    assert projection.info["cosine"] > 0.99
    assert (projection.info["entities"], projection.info["held_out"]) == (len(names), round(len(names) / 10))
    kb = kb.with_projection(projection)
    kb.vectorizer = title_vectorizer(encoder, tokenizer, kb.projection)
    kb.remove(names[7])
    kb.add(names[7], ["new"])
    np.testing.assert_allclose(kb.vector_for(names[7]), mixed[7], atol=0.05)


def test_vectors_that_say_nothing_of_the_titles_are_not_recovered(encoder: Any, tokenizer: Any) -> None:
    words = [word for word in WORDS[5:] if word.isalpha()]
    names = [f"{left}_{right}" for left in words for right in words]
    kb = KnowledgeBase.build([], vectors=(names, np.random.RandomState(6).normal(size=(len(names), 64))))
    assert abs(fit_projection(encoder, tokenizer, kb, show_progress=False).info["cosine"]) < 0.3


def test_what_a_projection_refuses(encoder: Any, tokenizer: Any, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseError, match=r"expected mean \[H\], components \[H, D\]"):
        Projection(np.zeros(4), np.zeros((3, 2)), np.zeros(2))
    narrow = Projection(np.zeros(4), np.zeros((4, 2)), np.zeros(2), {"encoder": "some/encoder"})
    with pytest.raises(ValueError, match="its vectors are 16 wide, the projection expects 4, those of some/encoder"):
        title_vectorizer(encoder, tokenizer, narrow)
    with pytest.raises(KnowledgeBaseError, match=r"expected vectors \[M, 4\], got shape \(1, 3\).*some/encoder"):
        narrow(np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"the knowledge base has none.*fit_projection"):
        title_vectorizer(encoder, tokenizer, None)
    kb = KnowledgeBase.build([], vectors={"A": np.ones(3), "B": np.ones(3)})
    with pytest.raises(KnowledgeBaseError, match="it gives vectors of 2 numbers, those here have 3"):
        kb.with_projection(narrow)
    for share in (0.0, 1.0):
        with pytest.raises(ValueError, match="held_out"):
            fit_projection(encoder, tokenizer, kb, held_out=share)
    with pytest.raises(ValueError, match="at least two entities with vectors of their own, got 0"):
        fit_projection(encoder, tokenizer, KnowledgeBase.build([("a", [("A", 1.0)])]))
    wide = Projection(np.zeros(4, np.float32), np.zeros((4, 3), np.float32), np.zeros(3, np.float32))
    kb.with_projection(wide).save_pretrained(tmp_path)
    (tmp_path / "projection.safetensors").unlink()
    with pytest.raises(KnowledgeBaseError, match=r"projection\.safetensors: file not found"):
        KnowledgeBase.from_pretrained(tmp_path)
