"""The configuration: bad values are named, and the encoder's configuration survives saving."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig, BertConfig, RobertaConfig

import hf_corefel
from hf_corefel import CorefELConfig
from hf_corefel.configuration_corefel import HEADS

SIZES = [
    "max_span_words",
    "max_span_pieces",
    "max_kept_spans",
    "width_embedding_size",
    "distance_embedding_size",
    "mention_ffnn_size",
    "pair_ffnn_size",
    "entity_ffnn_size",
    "entity_vector_size",
    "max_candidates",
    "window_size",
]
COUNTS = [
    "min_kept_spans",
    "case_embedding_size",
    "scope_embedding_size",
    "pair_product_dim",
    "ffnn_depth",
    "window_overlap",
]

BAD = [
    *[(name, value) for name in SIZES for value in (0, -1, 2.0, True, "3", None)],
    *[(name, value) for name in COUNTS for value in (-1, 1.5, False, "0", None)],
    *[("head", value) for value in ("xx", "", None, 1, ["global"])],
    *[("root_score", value) for value in ("Paper", None)],
    *[("edge_activation", value) for value in ("asinh", None)],
    *[("span_keep_ratio", value) for value in (0.0, -0.1, 5.1, math.nan, "0.2", None, True)],
    *[("dropout", value) for value in (-0.1, 1.0, math.nan, "0.3", None, True)],
    *[("mention_loss_weight", value) for value in (-1.0, math.nan, math.inf, "1", None, True)],
    *[("use_width_prior", value) for value in ("yes", None, 1)],
    *[("use_candidate_prior", value) for value in ("no", None, 0)],
    *[("use_entity_product", value) for value in ("no", None, 0)],
    *[("use_entity_context", value) for value in ("no", None, 0)],
    *[("use_entity_support", value) for value in ("no", None, 1)],
    *[("use_candidate_coverage", value) for value in ("no", None, 1)],
    *[("use_pair_entities", value) for value in ("no", None, 1)],
    *[("use_pair_matches", value) for value in ("no", None, 1)],
    *[("use_pair_definitions", value) for value in ("no", None, 1)],
    *[("use_speakers", value) for value in ("no", None, 1)],
    *[("forbid_nested", value) for value in ("no", None, 1)],
    *[("forbid_overlaps", value) for value in ("no", None, 1)],
    *[("mention_scopes", value) for value in ({}, [], "all", {"every": {}})],
    *[
        ("head_modules", value)
        for value in (["pair"], ["pairs", "nill"], [["pairs"]], "pairs", "", 0, False, {}, {"nil": 1})
    ],
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_bad_value_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^CorefELConfig\.{name} "):
        CorefELConfig(**{name: value})


@pytest.mark.parametrize("names", [["pairs", "nil"], ("pairs", "nil"), {"pairs", "nil"}, None, []])
def test_names_of_groups_become_a_list(names: Any) -> None:
    assert sorted(CorefELConfig(head_modules=names).head_modules) == sorted(names or [])
    assert type(CorefELConfig(head_modules=names).head_modules) is list


@pytest.mark.parametrize(("size", "overlap"), [(16, 14), (16, 20), (2, 0)])
def test_overlap_must_leave_room(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="window_overlap"):
        CorefELConfig(window_size=size, window_overlap=overlap)


def test_window_must_fit_the_encoder() -> None:
    encoder = BertConfig(max_position_embeddings=64)
    assert CorefELConfig(encoder, window_size=64).window_size == 64
    with pytest.raises(ValueError, match="window_size"):
        CorefELConfig(encoder, window_size=65)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "fields",
    [
        {"case_embedding_size": 0, "pair_product_dim": 0, "ffnn_depth": 0, "window_overlap": 0},
        {"span_keep_ratio": 5, "dropout": 0, "mention_loss_weight": 0},
        {"window_size": 16, "window_overlap": 13},
    ],
)
def test_extreme_values_are_taken(head: str, fields: dict[str, Any]) -> None:
    config = CorefELConfig(head=head, **fields)
    assert {name: getattr(config, name) for name in fields} == fields


def test_round_trip_keeps_every_field(tmp_path: Path) -> None:
    config = CorefELConfig(
        BertConfig(hidden_size=24, num_attention_heads=3, vocab_size=61),
        head="local",
        root_score="original",
        edge_activation="arsinh",
        span_keep_ratio=0.4,
        use_width_prior=True,
        head_modules=["nil", "entities"],
        id2label={0: "x"},
    )
    config.save_pretrained(tmp_path)
    loaded = CorefELConfig.from_pretrained(tmp_path)
    ours = [name for name in vars(CorefELConfig()) if hasattr(config, name)]
    assert {"head", "span_keep_ratio", "head_modules", "use_width_prior"} <= set(ours)
    for name in ours:
        if name not in ("encoder_config", "_name_or_path", "transformers_version"):
            assert getattr(loaded, name) == getattr(config, name), name
    assert isinstance(loaded.encoder_config, BertConfig)
    left, right = (c.encoder_config.to_dict() for c in (config, loaded))
    assert {k: v for k, v in left.items() if k != "transformers_version"} == {
        k: v for k, v in right.items() if k != "transformers_version"
    }


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_numbers_of_the_encoder_survive_saving(tmp_path: Path, value: float) -> None:
    """Which transformers 5 writes in a form of its own, where JSON has none."""
    CorefELConfig(BertConfig(limit=value, limits=[0.0, value])).save_pretrained(tmp_path)
    for loaded in (CorefELConfig.from_pretrained(tmp_path), AutoConfig.from_pretrained(tmp_path)):
        assert loaded.encoder_config.limit == value
        assert loaded.encoder_config.limits == [0.0, value]


def test_auto_config_knows_it(tmp_path: Path) -> None:
    CorefELConfig(head="standalone_coref").save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert type(loaded) is hf_corefel.CorefELConfig
    assert loaded.head == "standalone_coref"


def test_encoder_config_as_object_dict_or_none() -> None:
    encoder = RobertaConfig(hidden_size=32, num_attention_heads=4)
    by_object = CorefELConfig(encoder)
    assert isinstance(by_object.encoder_config, RobertaConfig)
    given = encoder.to_dict()
    by_dict = CorefELConfig(given)
    assert isinstance(by_dict.encoder_config, RobertaConfig)
    assert by_dict.encoder_config.hidden_size == by_object.encoder_config.hidden_size == 32
    assert given["model_type"] == "roberta", "the caller's dict was changed"
    assert isinstance(CorefELConfig({"hidden_size": 36}).encoder_config, BertConfig)
    assert CorefELConfig().encoder_config.hidden_size == BertConfig().hidden_size


def test_encoder_config_is_not_shared() -> None:
    encoder = BertConfig(hidden_size=32, num_attention_heads=4)
    CorefELConfig(encoder).encoder_config.hidden_size = 8
    assert encoder.hidden_size == 32


def test_bad_field_at_loading_is_named(tmp_path: Path) -> None:
    CorefELConfig().save_pretrained(tmp_path)
    assert CorefELConfig.from_pretrained(tmp_path, head="local").head == "local"
    with pytest.raises(ValueError, match=r"CorefELConfig\.head "):
        CorefELConfig.from_pretrained(tmp_path, head="xx")
    with pytest.raises(ValueError, match=r"CorefELConfig\.dropout "):
        CorefELConfig.from_pretrained(tmp_path, dropout=2.0, return_unused_kwargs=True)
    with pytest.raises(ValueError, match=r"CorefELConfig\.head_modules "):
        CorefELConfig.from_pretrained(tmp_path, head_modules="pairs")


def test_unused_arguments_are_given_back(tmp_path: Path) -> None:
    CorefELConfig().save_pretrained(tmp_path)
    config, unused = CorefELConfig.from_pretrained(tmp_path, head="local", nonsense=1, return_unused_kwargs=True)
    assert config.head == "local"
    assert unused == {"nonsense": 1}


def test_text_config_is_the_encoders() -> None:
    config = CorefELConfig({"vocab_size": 77})
    assert config.get_text_config() is config.encoder_config
    assert config.get_text_config(decoder=True).vocab_size == 77


def test_a_window_must_fit_the_encoder() -> None:
    encoder = {"model_type": "bert", "max_position_embeddings": 128}
    with pytest.raises(ValueError, match=r"window_size \(384\).*max_position_embeddings=128"):
        CorefELConfig(encoder_config=encoder)
    assert CorefELConfig(encoder_config=encoder, window_size=128).window_size == 128


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        (None, "all"),
        ({"min_kept_spans": 3}, "min_kept_spans"),
        ({"max_span_words": 0}, "max_span_words"),
        ({"max_span_words": 2.5}, "max_span_words"),
        ({"max_span_words": 8.0}, "max_span_words"),
        ({"max_span_words": float("inf")}, "max_span_words"),
        ({"max_span_pieces": float("nan")}, "max_span_pieces"),
        ({"max_span_pieces": True}, "max_span_pieces"),
        ({"span_keep_ratio": 0.0}, "span_keep_ratio"),
        ({"span_keep_ratio": 9.0}, r"span_keep_ratio'\] must be a number in \(0, 5\]; got 9"),
        ({"span_keep_ratio": float("nan")}, "span_keep_ratio"),
        ({"span_keep_ratio": True}, "span_keep_ratio"),
        ({"span_keep_ratio": "0.4"}, "span_keep_ratio"),
    ],
)
def test_a_bad_value_of_a_scope_is_named(fields: Any, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^CorefELConfig\.mention_scopes\['all'\].*{named if fields else 'dict'}"):
        CorefELConfig(mention_scopes={"named": {}, "all": fields})


def test_scopes_survive_saving_and_widen_the_longest_span(tmp_path: Path) -> None:
    scopes = {"named": {}, "all": {"max_span_words": 12, "max_span_pieces": 24, "span_keep_ratio": 0.45}}
    config = CorefELConfig(max_span_words=8, mention_scopes=scopes)
    assert (config.longest_span, CorefELConfig(max_span_words=8).longest_span) == (12, 8)
    config.save_pretrained(tmp_path)
    loaded = CorefELConfig.from_pretrained(tmp_path)
    assert loaded.mention_scopes == scopes
    scopes["all"]["max_span_words"] = 99
    assert config.longest_span == 12
