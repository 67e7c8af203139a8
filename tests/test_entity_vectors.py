from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

from hf_corefel.entity_vectors import encode_texts, entity_text, reduce_dimensions, vectors_from_titles
from hf_corefel.kb import KnowledgeBase

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
