"""Random encoders of every kind of tokenizer, with vocabularies that are made here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import AutoConfig

from hf_corefel import CorefELModel, CorefELPipeline, CorefELProcessor, KnowledgeBase

sys.path.insert(0, str(Path(__file__).parent))  # for what the tests here share

FAMILIES = ("bert", "roberta", "deberta", "deberta-v2", "xlm-roberta")

# Whole words of the vocabularies; of all others they have the characters only.
WORDS = ["Anna", "Berg", "Oslo", "Carl", "Moss", "met", "the", "of", "left", "praised", "mayor", "team", "and", "in"]
CHARACTERS = sorted(
    set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?'\"()[]<>-/ÉéïäåАБВОаберголнус"
        "安娜在見了他知事はスにっ行た東京都の。שלוםקראנהב مرحبا\u0301\u0308\u0591"
    )
)
ALIASES = [
    ("Anna Berg", [("Anna_Berg", 0.9), ("Berg_(painter)", 0.1)]),
    ("Anna", [("Anna_Berg", 0.6), ("Anna_(river)", 0.4)]),
    ("Berg", [("Anna_Berg", 0.5), ("Berg_(painter)", 0.3), ("Bergen", 0.2)]),
    ("Moss", [("Moss_(town)", 0.7), ("Carl_Moss", 0.3)]),
    ("Oslo", [("Oslo", 0.8), ("Oslo_(band)", 0.2)]),
    ("Bergen", [("Bergen", 1.0)]),
    ("東京", [("Tokyo", 0.9), ("Tokyo_(film)", 0.1)]),
    ("👩🏽", [("Woman", 1.0)]),
]


@pytest.fixture(scope="session")
def inputs_knowledge_base() -> KnowledgeBase:
    names = sorted({entity for _, listed in ALIASES for entity, _ in listed})
    vectors = np.random.default_rng(1).normal(size=(len(names), 8)).astype(np.float32)
    return KnowledgeBase.build(ALIASES, vectors=(names, vectors))


def make_tokenizer(family: str) -> PreTrainedTokenizerFast:
    """A tokenizer with the normaliser, splitter, model and special tokens of its family."""
    if family in ("bert", "deberta", "deberta-v2"):
        special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    else:
        special = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
        special |= {"cls": "<s>", "sep": "</s>"}
    vocabulary = list(dict.fromkeys(special.values()))
    if family == "bert":
        lower = [word.lower() for word in WORDS]
        characters = sorted(set("".join(CHARACTERS).lower()))
        vocabulary += [*characters, *(f"##{character}" for character in characters), *lower, "##en", "##s"]
        vocabulary = list(dict.fromkeys(vocabulary))
        tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(vocabulary)}, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
    elif family in ("roberta", "deberta"):
        merges = [("'", "s")]
        for word in (*(f"Ġ{word}" for word in WORDS), *WORDS):
            merges += [(word[:i], word[i]) for i in range(1, len(word)) if (word[:i], word[i]) not in merges]
        vocabulary += sorted(pre_tokenizers.ByteLevel.alphabet())
        vocabulary += list(dict.fromkeys(left + right for left, right in merges))
        tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(vocabulary)}, merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    else:
        subwords = [(token, 0.0) for token in vocabulary] + [(character, -8.0) for character in ["▁", *CHARACTERS]]
        subwords += [(f"▁{word}", -4.0) for word in WORDS] + [("東京都", -4.0), ("東京", -5.0), ("'s", -5.0)]
        tokenizer = Tokenizer(models.Unigram(subwords, unk_id=vocabulary.index(special["unk"])))
        # Like SentencePiece's rules: compatibility forms, and one blank for many.
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" {2,}", " ")])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
    first, last = special["cls"], special["sep"]
    ids = [(token, tokenizer.token_to_id(token)) for token in (first, last)]
    if family == "roberta":
        tokenizer.post_processor = processors.RobertaProcessing(ids[1], ids[0], trim_offsets=True)
    else:
        # DeBERTa's leaves the blank before a subword in its offsets.
        tokenizer.post_processor = processors.TemplateProcessing(f"{first} $A {last}", None, ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in special.items()}
    )


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes the folder of a random encoder and its tokenizer; keyword arguments are fields of its config."""
    made: dict[str, Path] = {}

    def make(family: str, **fields: Any) -> Path:
        key = f"{family} {fields}"
        if key not in made:
            tokenizer = make_tokenizer(family)
            sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
            settings: dict[str, Any] = {"max_position_embeddings": 64, "initializer_range": 0.5, **sizes}
            settings |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
            settings |= {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "type_vocab_size": 1}
            if family.startswith("deberta"):
                settings |= {"relative_attention": True, "position_biased_input": False, "type_vocab_size": 0}
                settings |= {"pos_att_type": ["c2p", "p2c"]}
            if family == "deberta-v2":
                settings |= {"position_buckets": 16, "share_att_key": True, "norm_rel_ebd": "layer_norm"}
            made[key] = folder = tmp_path_factory.mktemp(family)
            with torch.random.fork_rng():
                torch.manual_seed(0)
                model = AutoModel.from_config(AutoConfig.for_model(family, **{**settings, **fields}))
            model.eval().save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        return made[key]

    return make


@pytest.fixture(scope="session")
def make_pipeline(
    encoder_folder: Callable[..., Path], inputs_knowledge_base: KnowledgeBase
) -> Callable[..., CorefELPipeline]:
    """Makes a pipeline of a random model that takes most spans for mentions; keyword arguments are of its config."""
    sizes = {"entity_vector_size": 8, "mention_ffnn_size": 12, "pair_ffnn_size": 12, "entity_ffnn_size": 12}
    sizes |= {"width_embedding_size": 4, "distance_embedding_size": 4, "max_span_words": 3, "max_candidates": 3}

    def make(family: str, seed: int = 0, **fields: Any) -> CorefELPipeline:
        folder = encoder_folder(family)
        settings = {**sizes, "window_size": 24, "span_keep_ratio": 0.8, "dropout": 0.0, **fields}
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = CorefELModel.from_encoder(str(folder), **settings).eval()
        with torch.no_grad():
            model.pruner.ffnn.layers[-1].bias += 1.0
            # What tells pairs apart must outweigh that, or all mentions hang from each other.
            model.pairs.ffnn.layers[-1].weight *= 6.0
            model.entities.ffnn.layers[-1].bias += 20.0
        tokenizer = PreTrainedTokenizerFast.from_pretrained(str(folder))
        return CorefELPipeline(model, CorefELProcessor(tokenizer, inputs_knowledge_base, model.config))

    return make


@pytest.fixture(scope="session", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def annotate(family: str, make_pipeline: Callable[..., CorefELPipeline]) -> CorefELPipeline:
    """A random pipeline of each family of tokenizers."""
    return make_pipeline(family)
