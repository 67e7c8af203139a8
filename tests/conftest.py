"""Settings that must stand before anything of Hugging Face is imported."""

from __future__ import annotations

import functools
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# An id that is not in the cache would otherwise be looked for on the Hub, for half a minute.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
# The last bits of a sum depend on the number of threads, and forked workers have one. It is faster, too: the tests run
# in several processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """Keeps the garbage collector from going through all that was imported, which Accelerate asks of it in each
    training: of the objects of torch and transformers that takes longer than two steps of a tiny model.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def environ_stays_the_same_object() -> Iterator[None]:
    """Puts back `os.environ`, for which datasets puts a copy where it maps in several processes.

    Whatever holds the object from before, as rich does, would not see what a later test sets.
    """
    environ = os.environ
    yield
    os.environ = environ  # noqa: B003


@pytest.fixture(autouse=True)
def trainings_forget_their_precision() -> Iterator[None]:
    """Takes back the precision that training arguments of transformers 4 write into the environment, for good."""
    before = os.environ.get("ACCELERATE_MIXED_PRECISION")
    yield
    if before is None:
        os.environ.pop("ACCELERATE_MIXED_PRECISION", None)
    else:
        os.environ["ACCELERATE_MIXED_PRECISION"] = before


REGISTRIES = {
    "hf_corefel.candidates.backends": "BACKENDS",
    "hf_corefel.corpora.registry": "CORPORA",
    "hf_corefel.formats.registry": "FORMATS",
    "hf_corefel.heads.registry": "HEADS",
}


def _registered() -> dict[str, dict[str, Any]]:
    found = {module: getattr(sys.modules[module], REGISTRIES[module]) for module in REGISTRIES if module in sys.modules}
    return {module: dict(registry._items) for module, registry in found.items()}


@pytest.fixture(autouse=True)
def registries_forget_guests() -> Iterator[None]:
    """Takes out of the registries what a test, or a page of the documentation, has registered there."""
    before = _registered()
    yield
    for module, items in _registered().items():
        registry = getattr(sys.modules[module], REGISTRIES[module])
        for name in items:
            if name not in before.get(module, {}) and name not in registry._own:
                registry.unregister(name)


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Log records of this package too, which go where those of transformers go: not to the root logger by itself."""
    from transformers.utils import logging

    root = logging.get_logger()
    propagates, root.propagate = root.propagate, True
    yield caplog
    root.propagate = propagates


# A small world for the tests of model, pipeline and training: names, places, and what they stand for.
TINY_WORDS = """
[PAD] [UNK] [CLS] [SEP] [MASK] anna berg carl moss oslo bergen norway the a minister of city mayor met in praised she
he and said then left river fjord team coach won lost again yesterday . , ' - hall harbour bridge old new king queen
visited spoke to with about many people ##s ##es
"""
TINY_ALIASES = [
    ("Anna Berg", [("Anna_Berg", 0.9), ("Berg_(painter)", 0.1)]),
    ("Berg", [("Anna_Berg", 0.5), ("Berg_(painter)", 0.3), ("Bergen", 0.2)]),
    ("Carl Moss", [("Carl_Moss", 1.0)]),
    ("Moss", [("Moss_(town)", 0.7), ("Carl_Moss", 0.3)]),
    ("Oslo", [("Oslo", 0.8), ("Oslo_(band)", 0.2)]),
    ("Bergen", [("Bergen", 1.0)]),
    ("Norway", [("Norway", 1.0)]),
]
TINY_GOLD = [
    (
        "Anna Berg met Carl Moss in Oslo. Berg praised Moss. Then she left the city.",
        {"Anna_Berg": ["Anna Berg", "Berg", "she"], "Carl_Moss": ["Carl Moss", "Moss"], "Oslo": ["Oslo", "the city"]},
        [],
    ),
    (
        "The mayor of Bergen met the coach. The coach said many people visited Bergen.",
        {"Bergen": ["Bergen", "Bergen"]},
        [["the coach", "The coach"]],
    ),
    (
        "Norway won again. Moss, the minister, spoke to the team about Norway. He left yesterday.",
        {"Norway": ["Norway", "Norway"], "Carl_Moss": ["Moss", "He"]},
        [["the team"]],
    ),
]


def _gold_document(number: int) -> Any:
    """The document with each surface at its first place after those that stand before it in its cluster."""
    from hf_corefel import Cluster, Document, Mention

    text, linked, unlinked = TINY_GOLD[number]
    taken: set[tuple[int, int]] = set()

    def mention(surface: str) -> Mention:
        pattern = re.compile(rf"\b{re.escape(surface)}\b")
        begin, end = next(m.span() for m in pattern.finditer(text) if not any(b <= m.start() < e for b, e in taken))
        taken.add((begin, end))
        return Mention(begin, end)

    clusters = [Cluster(tuple(map(mention, surfaces)), entity) for entity, surfaces in linked.items()]
    clusters += [Cluster(tuple(map(mention, surfaces))) for surfaces in unlinked]
    return Document(text, id=f"tiny-{number}", clusters=clusters)


@pytest.fixture(scope="session")
def tiny_documents() -> list[Any]:
    """Three gold documents of the small world."""
    return [_gold_document(number) for number in range(len(TINY_GOLD))]


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random BERT with its tokenizer."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-encoder")
    (folder / "vocab.txt").write_text("\n".join(TINY_WORDS.split()) + "\n", encoding="utf-8")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(TINY_WORDS.split()),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            # Hardly any word would have a vector of its own at the usual 0.02.
            initializer_range=0.5,
        )
        BertModel(config).eval().save_pretrained(folder)
    BertTokenizerFast.from_pretrained(str(folder)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_knowledge_base() -> Any:
    """The small world's entities with vectors of width 8."""
    from hf_corefel import KnowledgeBase

    names = sorted({entity for _, listed in TINY_ALIASES for entity, _ in listed})
    vectors = np.random.default_rng(0).normal(size=(len(names), 8)).astype(np.float32)
    return KnowledgeBase.build(TINY_ALIASES, vectors=(names, vectors))


# What the small world's encyclopaedia says of it. The painter and the town have no item of their own.
TINY_IDS = {"Anna_Berg": "Q1", "Bergen": "Q26793", "Carl_Moss": "Q2", "Norway": "Q20", "Oslo": "Q585"}
TINY_TYPES = {"Anna_Berg": "person", "Carl_Moss": "person", "Bergen": "place", "Norway": "place", "Oslo": "place"}


@pytest.fixture
def tiny_encyclopaedia(tiny_knowledge_base: Any) -> Callable[..., Any]:
    """Makes the small world's knowledge base with Wikidata ids and types of entities, which may be given."""

    def make(wikidata: Any = TINY_IDS, types: Any = TINY_TYPES, **facts: Any) -> Any:
        from hf_corefel import KnowledgeBase

        names = list(tiny_knowledge_base.entities())
        vectors = names, tiny_knowledge_base.vectors(range(len(names)))
        return KnowledgeBase.build(TINY_ALIASES, vectors=vectors, wikidata=wikidata, types=types, **facts)

    return make


@pytest.fixture(scope="session")
def tiny_model(tiny_encoder: Path) -> Callable[..., Any]:
    """Makes a seeded model on the tiny encoder, in evaluation mode; keyword arguments are fields of its config."""
    import torch

    from hf_corefel import CorefELModel

    sizes = {
        "entity_vector_size": 8,
        "mention_ffnn_size": 12,
        "pair_ffnn_size": 12,
        "entity_ffnn_size": 12,
        "width_embedding_size": 4,
        "distance_embedding_size": 4,
        "max_span_words": 3,
        "max_candidates": 3,
        "window_size": 16,
        "span_keep_ratio": 0.5,
        "dropout": 0.0,
    }

    def make(seed: int = 0, **fields: Any) -> Any:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return CorefELModel.from_encoder(str(tiny_encoder), **{**sizes, **fields}).eval()

    return make


@pytest.fixture(scope="session")
def tiny_processor(tiny_encoder: Path, tiny_knowledge_base: Any) -> Callable[[Any], Any]:
    """Makes the processor of a model's config."""
    from transformers import AutoTokenizer

    from hf_corefel import CorefELProcessor

    tokenizer = AutoTokenizer.from_pretrained(str(tiny_encoder))
    return lambda config: CorefELProcessor(tokenizer, tiny_knowledge_base, config)


@pytest.fixture(scope="session")
def tiny_trained(
    tiny_model: Callable[..., Any], tiny_processor: Callable[..., Any], tiny_documents: list[Any]
) -> Callable[[str], Any]:
    """Gives a model of a head that knows the tiny documents by heart, one and the same every time: do not change it."""
    import torch

    @functools.cache
    def train(head: str) -> Any:
        model = tiny_model(head=head)
        batch = tiny_processor(model.config)(tiny_documents, gold=True)
        optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
        # As far as it takes, since the way there differs between processors and numbers of threads.
        for _ in range(1000):
            optimizer.zero_grad()
            loss = model(**batch.inputs).loss
            if loss.item() < 0.1:
                return model
            loss.backward()
            optimizer.step()
        raise AssertionError(f"the tiny {head} model does not learn its documents; loss {loss.item():.2f}")

    return train


@pytest.fixture(scope="session")
def tiny_folder(
    tmp_path_factory: pytest.TempPathFactory, tiny_trained: Callable[[str], Any], tiny_processor: Callable[[Any], Any]
) -> Path:
    """Folder of a saved global model that knows the tiny documents, with its processor."""
    folder = tmp_path_factory.mktemp("tiny-model")
    model = tiny_trained("global")
    model.save_pretrained(folder)
    tiny_processor(model.config).save_pretrained(folder)
    return folder


# Tokenizers that know every ASCII letter, for tests of offsets; the small world's own knows whole words only.
@pytest.fixture(scope="session")
def subwords_tokenizer() -> Any:
    """A lower-casing WordPiece tokenizer like BERT's, with letters for subwords and a few whole words."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    tokens += ["anna", "berg", "oslo", "the", "##en", "-", "'", ",", ".", "!", "?", "(", ")"]
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in special.items()}
    )


@pytest.fixture(scope="session")
def byte_level_tokenizer() -> Any:
    """A byte-level BPE tokenizer like RoBERTa's, with bytes for subwords and a few merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    merges = [("e", "r"), ("Ġ", "B"), ("a", "n"), ("Ġ", "t"), ("'", "s")]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokens += [left + right for left, right in merges]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    special = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "bos": "<s>", "eos": "</s>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in special.items()}
    )


@pytest.fixture(scope="session")
def letter_processor(subwords_tokenizer: Any, tiny_knowledge_base: Any) -> Callable[..., Any]:
    """Makes a processor that reads any text; keyword arguments are fields of its config."""
    from hf_corefel import CorefELConfig, CorefELProcessor

    sizes = {"entity_vector_size": 8, "max_span_words": 3, "max_candidates": 3, "window_size": 16}

    def make(tokenizer: Any = None, **fields: Any) -> Any:
        config = CorefELConfig(**{**sizes, "span_keep_ratio": 0.5, **fields})
        return CorefELProcessor(tokenizer or subwords_tokenizer, tiny_knowledge_base, config)

    return make
