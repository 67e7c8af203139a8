"""Configuration of the joint coreference and entity-linking model."""

from __future__ import annotations

import copy
import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from transformers import AutoConfig, PretrainedConfig

from .configuration.field_checks import (
    SCOPE_FIELDS,
    check_calibration,
    check_default_scope,
    check_encoder_sizes,
    check_field,
    check_kept_spans,
    check_scopes,
    check_spelling,
)
from .configuration.fields import FIELDS
from .configuration.reading_settings import longest_span
from .documents import MENTION_SCOPES
from .heads import HEAD_MODULES, HEADS
from .heads.registry import check_groups, check_head, check_head_options
from .loading.foreign_code import encoder_config_of, refuse_code, without_code
from .utils.compat import decoded_floats
from .utils.json_files import read_json_object

__all__ = ["HEADS", "HEAD_MODULES", "OWN_FIELDS", "SCOPE_FIELDS", "CorefELConfig", "readable_positions"]

# Encoders that count positions from the padding's id on, and so never use the first ones.
_COUNT_FROM_PADDING = {
    "camembert",
    "data2vec-text",
    "ibert",
    "lilt",
    "longformer",
    "luke",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
}


def readable_positions(encoder_config: PretrainedConfig) -> int | None:
    """Most subwords that an encoder reads at once, special tokens included; None where nothing bounds them."""
    positions = getattr(encoder_config, "max_position_embeddings", None)
    distances_only = getattr(encoder_config, "relative_attention", False) and not encoder_config.position_biased_input
    if not isinstance(positions, int) or positions <= 0 or distances_only:
        # DeBERTa sees distances alone, of which it takes all long ones for the same.
        return None
    if encoder_config.model_type in _COUNT_FROM_PADDING:
        return positions - 1 - (encoder_config.pad_token_id or 0)
    return positions


def _as_list(names: Any) -> Any:
    """Return names in a list where they are some; anything else as it is, to be refused by its name."""
    if isinstance(names, set | frozenset):
        # A set has another order in every process.
        return sorted(names, key=str)
    return [] if names is None else list(names) if isinstance(names, tuple | list) else names


# Written only where they say something.
_WHERE_SET = (
    "head_options",
    "calibration",
    "forbid_overlaps",
    "use_candidate_coverage",
    "min_mention_probability",
    "default_mention_scope",
)


class CorefELConfig(PretrainedConfig):
    """Everything that shapes a `CorefELModel`. Sizes default to the paper's (Zaporojets et al., 2022).

    Args:
        encoder_config: Configuration of the text encoder (any `AutoModel` kind), as an object or a dict.
        head: Which structure is predicted: ``standalone_coref``, ``standalone_linking``, ``local``
            (softmax over antecedents and candidates), ``global`` (spanning trees, matrix-tree theorem), or another one
            of `hf_corefel.heads.HEADS`.
        root_score: Score of root → span in the global head: ``paper`` is eq. (3) with a learned root vector
            and Φp(root) = 0; ``original`` is the research code's linker score of a root vector, without Φp.
        edge_activation: ``none`` weighs an edge exp(score) as in the paper, ``arsinh`` exp(asinh(score)) as in
            the research code. Global head only.
        max_span_words: Longest span in words.
        max_span_pieces: Longest span in subwords.
        span_keep_ratio: The pruner keeps ⌊ratio · words⌋ + 1 spans a document.
        min_kept_spans: Lower bound on that number: at the paper's ratio a sentence of ten words keeps three spans,
            fewer than it may have mentions.
        max_kept_spans: Most spans that are scored each with each, which takes memory and time in the square of their
            number. A longer document keeps as many as the ratio says, and scores each with ``max_partners`` of them. At
            the paper's ratio the default is enough for 5,000 words.
        max_partners: Other spans that each one is scored with by its choice, at most, in documents that want more than
            ``max_kept_spans`` spans; see `hf_corefel.long_documents.partners`. 0 keeps ``max_kept_spans`` of such a
            document, the best ones, and scores each with each.
        min_mention_probability: Spans that are mentions with a lower probability, by Φp alone and before calibration,
            are not kept once the model is trained, though there is room: pairs are scored in a time that grows with the
            square of what is kept.
        width_embedding_size: Size of the span-width embedding φ in g.
        distance_embedding_size: Size of the pair's span-order distance embedding.
        case_embedding_size: Size of the letter-case embeddings of a span's first and last word, for uncased
            encoders; 0 leaves them out.
        mention_scopes: Which mentions are wanted, by name (``named``: names, with demonyms, dates and roles, ``all``:
            with pronouns and descriptions, ``entities``: names without demonyms, dates and roles), each with its own
            `SCOPE_FIELDS` where they differ from the fields above. The scope of a document is an input of the model.
            None: there is one scope.
        default_mention_scope: The scope of documents that name none, one of ``mention_scopes``. None: the first of
            ``named``, ``all`` and ``entities`` that is there.
        scope_embedding_size: Size of the embedding of the scope in g, where there are scopes.
        use_width_prior: Adds a learned score of the span's width to Φp, as the research code does.
        mention_ffnn_size: Hidden size of FFNN_P.
        pair_ffnn_size: Hidden size of FFNN_C.
        entity_ffnn_size: Hidden size of FFNN_L.
        ffnn_depth: Hidden layers of each of them.
        pair_product_dim: Width of the low-rank product g_i ⊙ g_j of the pair scorer; 0 takes the full product.
        use_pair_matches: Feeds FFNN_C what words and candidates two spans share (not in the paper).
        use_pair_definitions: Feeds FFNN_C which names a text defines in brackets, and which are initials of others (not
            in the paper).
        use_speakers: Feeds FFNN_C who says two spans, and which of the speakers they mean (not in the paper); see
            `Document.speakers`.
        use_pair_entities: Feeds FFNN_C what entities either span may stand for (not in the paper).
        entity_vector_size: Width D of the knowledge base's entity vectors.
        max_candidates: Candidates looked up for a span (K), best priors first.
        use_candidate_prior: Feeds the candidate's log prior to FFNN_L (not in the paper).
        use_entity_product: Feeds FFNN_L the product of a projection of g and the entity vector, as the pair scorer
            has one (not in the paper).
        use_entity_context: Feeds FFNN_L the product of the entity vector and the document's mean one, over the
            retained spans' candidates by mention probability and prior (not in the paper).
        use_entity_support: Feeds FFNN_L how probable an entity is at its best span of the document, and how often it is
            expected at others (not in the paper).
        use_candidate_coverage: Feeds FFNN_L how well the knowledge base covers the span's text: the sum of its
            candidates' priors, their number, and how far each is behind the likeliest (not in the paper).
        forbid_nested: No cluster holds a phrase and its own part ("their" and "their house"), and of two spellings of
            a mention, one within the other ("the Bundestag" and "Bundestag"), only one is found; see
            `hf_corefel.decoding.nesting`. The paper has no such rule.
        forbid_overlaps: Of mentions that share characters one is found, as corpora of names have it; see
            `hf_corefel.decoding.nesting`. A scope may set it for itself. The paper has no such rule.
        calibration: Scales and offsets of the scores that make probabilities what they say, as
            `hf_corefel.heads.Calibration.to_dict` gives them; ``hf-corefel calibrate`` fits them. None changes nothing.
        dropout: Dropout of span representations and FFNNs.
        mention_loss_weight: Weight of the pruner's loss beside the head's.
        window_size: Subwords a window, special tokens included.
        window_overlap: Subwords that neighbouring windows share; 0 as in the paper.
        head_modules: Parameter groups that the model carries beyond the active head's own; kept up to date by
            `CorefELModel.set_head` so that switching heads loses nothing on saving.
        head_options: Options of heads, by the name of the head: ``{"mine": {"margin": 0.5}}``. Those of the global head
            are the fields ``root_score`` and ``edge_activation``.
        initializer_range: As in every configuration of transformers; parameters of this package do not depend on it.

    Raises:
        ValueError: When a value is out of range; the message names the field and what it may be.

    Example:
        >>> from hf_corefel import CorefELConfig
        >>> CorefELConfig(head="local", max_candidates=8).max_candidates
        8
        >>> CorefELConfig(head="tree")
        Traceback (most recent call last):
            ...
        ValueError: CorefELConfig.head must be one of ...
    """

    model_type = "corefel"
    sub_configs = {"encoder_config": AutoConfig}

    def __init__(
        self,
        encoder_config: PretrainedConfig | dict[str, Any] | None = None,
        head: str = "global",
        root_score: str = "paper",
        edge_activation: str = "none",
        max_span_words: int = 5,
        max_span_pieces: int = 15,
        span_keep_ratio: float = 0.2,
        min_kept_spans: int = 0,
        max_kept_spans: int = 1000,
        max_partners: int = 128,
        min_mention_probability: float = 0.0,
        width_embedding_size: int = 20,
        distance_embedding_size: int = 20,
        case_embedding_size: int = 0,
        mention_scopes: dict[str, dict[str, Any]] | None = None,
        default_mention_scope: str | None = None,
        scope_embedding_size: int = 20,
        use_width_prior: bool = False,
        mention_ffnn_size: int = 300,
        pair_ffnn_size: int = 300,
        entity_ffnn_size: int = 300,
        ffnn_depth: int = 2,
        pair_product_dim: int = 0,
        use_pair_matches: bool = False,
        use_pair_definitions: bool = False,
        use_speakers: bool = False,
        use_pair_entities: bool = False,
        entity_vector_size: int = 200,
        max_candidates: int = 16,
        use_candidate_prior: bool = False,
        use_entity_product: bool = False,
        use_entity_context: bool = False,
        use_entity_support: bool = False,
        use_candidate_coverage: bool = False,
        forbid_nested: bool = True,
        forbid_overlaps: bool = False,
        calibration: dict[str, float] | None = None,
        dropout: float = 0.3,
        mention_loss_weight: float = 1.0,
        window_size: int = 384,
        window_overlap: int = 0,
        head_modules: list[str] | None = None,
        head_options: dict[str, dict[str, Any]] | None = None,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        if encoder_config is None:
            encoder_config = AutoConfig.for_model("bert")
        elif isinstance(encoder_config, dict):
            encoder_config = encoder_config_of(encoder_config)
        elif not isinstance(encoder_config, PretrainedConfig):
            raise ValueError(
                f"CorefELConfig.encoder_config must be a configuration or its dict; got {encoder_config!r}"
            )
        else:
            # Never shared: transformers writes attention settings into sub-configs.
            encoder_config = copy.deepcopy(encoder_config)
        self.encoder_config = encoder_config
        self.head = head
        self.root_score = root_score
        self.edge_activation = edge_activation
        self.max_span_words = max_span_words
        self.max_span_pieces = max_span_pieces
        self.span_keep_ratio = span_keep_ratio
        self.min_kept_spans = min_kept_spans
        self.max_kept_spans = max_kept_spans
        self.max_partners = max_partners
        self.min_mention_probability = min_mention_probability
        self.width_embedding_size = width_embedding_size
        self.distance_embedding_size = distance_embedding_size
        self.case_embedding_size = case_embedding_size
        self.mention_scopes = copy.deepcopy(mention_scopes)
        self.default_mention_scope = default_mention_scope
        self.scope_embedding_size = scope_embedding_size
        self.use_width_prior = use_width_prior
        self.mention_ffnn_size = mention_ffnn_size
        self.pair_ffnn_size = pair_ffnn_size
        self.entity_ffnn_size = entity_ffnn_size
        self.ffnn_depth = ffnn_depth
        self.pair_product_dim = pair_product_dim
        self.use_pair_matches = use_pair_matches
        self.use_pair_definitions = use_pair_definitions
        self.use_speakers = use_speakers
        self.use_pair_entities = use_pair_entities
        self.entity_vector_size = entity_vector_size
        self.max_candidates = max_candidates
        self.use_candidate_prior = use_candidate_prior
        self.use_entity_product = use_entity_product
        self.use_entity_context = use_entity_context
        self.use_entity_support = use_entity_support
        self.use_candidate_coverage = use_candidate_coverage
        self.forbid_nested = forbid_nested
        self.forbid_overlaps = forbid_overlaps
        self.calibration = copy.deepcopy(calibration)
        self.dropout = dropout
        self.mention_loss_weight = mention_loss_weight
        self.window_size = window_size
        self.window_overlap = window_overlap
        self.head_modules = _as_list(head_modules)
        self.head_options = {} if head_options is None else copy.deepcopy(head_options)
        self.initializer_range = initializer_range
        for name in kwargs:
            # A later version's field is kept, as transformers does; a misspelt one would be, too.
            near = get_close_matches(name, OWN_FIELDS, n=1, cutoff=0.8)
            if near:
                warnings.warn(
                    f"CorefELConfig: unknown field {name!r}; did you mean {near[0]!r}?", UserWarning, stacklevel=2
                )
        # Published repositories name a stub for those who lack this package; a saved model needs no such code.
        super().__init__(**without_code(kwargs))
        self.check_values()

    def check_values(self) -> None:
        """Raises `ValueError` naming the first field with a bad value.

        Called here and again by the model, because ``from_pretrained(folder, head=...)`` sets fields afterwards.
        """
        check_head(self.head, "CorefELConfig.head")
        for name in FIELDS:
            check_field(name, getattr(self, name), f"CorefELConfig.{name}")
        check_scopes(self.mention_scopes, "CorefELConfig.mention_scopes")
        check_default_scope(self.default_mention_scope, self.mention_scopes, "CorefELConfig.default_mention_scope")
        check_calibration(self.calibration, "CorefELConfig.calibration")
        check_head_options(self.head_options, "CorefELConfig.head_options")
        check_groups(self.head_modules, "CorefELConfig.head_modules")
        check_kept_spans(vars(self), "CorefELConfig.")
        if self.window_overlap >= self.window_size - 2:
            raise ValueError(
                f"CorefELConfig.window_overlap ({self.window_overlap}) must leave room in "
                f"window_size ({self.window_size})"
            )
        check_encoder_sizes(self.encoder_config, "CorefELConfig.encoder_config")
        encoder: Any = self.encoder_config
        positions = readable_positions(encoder)
        if positions is not None and positions < self.window_size:
            raise ValueError(
                f"CorefELConfig.window_size ({self.window_size}) is more than the {positions} subwords that the "
                f"encoder reads (max_position_embeddings={encoder.max_position_embeddings}); set window_size to at "
                "most that"
            )

    def own_fields(self) -> dict[str, Any]:
        """Everything that shapes the model, by name; of the encoder, what `resize_token_embeddings` changes."""
        fields = {name: getattr(self, name) for name in OWN_FIELDS if name != "encoder_config"}
        return {**fields, "vocab_size": getattr(self.encoder_config, "vocab_size", None)}

    def to_dict(self) -> dict[str, Any]:
        """As `PretrainedConfig.to_dict`; what 0.1.0 did not have is written only where it says something."""
        fields: dict[str, Any] = super().to_dict()
        for name in _WHERE_SET:
            if not fields.get(name):
                fields.pop(name, None)
        if fields.get("max_partners") == FIELDS["max_partners"].default:
            del fields["max_partners"]
        return fields

    @property
    def longest_span(self) -> int:
        """Words of the longest span of any scope."""
        return longest_span(self.max_span_words, self.mention_scopes)

    @property
    def exclusive_scopes(self) -> list[bool]:
        """Whether each scope forbids overlapping mentions, by its number; of one scope where there are none."""
        scopes = self.mention_scopes or {}
        names = [name for name in MENTION_SCOPES if name in scopes]
        return [scopes[name].get("forbid_overlaps", self.forbid_overlaps) for name in names] or [self.forbid_overlaps]

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As `PretrainedConfig.from_dict`, which sets fields of `kwargs` after checking; so it is done again."""
        if "name_or_path" in kwargs:  # AutoConfig has read the file, and not with the method below
            cls._check_content(config_dict, f"{kwargs['name_or_path']}: config.json")
        result = super().from_dict(config_dict, **kwargs)
        (result[0] if isinstance(result, tuple) else result).check_values()
        return result

    @classmethod
    def _dict_from_json_file(cls, json_file: str | Path) -> dict[str, Any]:
        """As `PretrainedConfig` reads a ``config.json``, refused with its name where it holds no such configuration."""
        content = decoded_floats(cls, read_json_object(json_file))
        cls._check_content(content, str(json_file))
        return content

    @classmethod
    def _check_content(cls, content: dict[str, Any], where: str) -> None:
        """Raises `ValueError` naming the file and the field when a ``config.json`` is not one of a `CorefELModel`."""
        if content.get("model_type") != cls.model_type:
            raise ValueError(
                f"{where}: model_type is {content.get('model_type')!r}, which is no CorefELModel; make one on that "
                "encoder with CorefELModel.from_encoder"
            )
        for field in ("configuration_files", "transformers_weights"):
            if content.get(field):
                raise ValueError(f"{where}: {field} names other files to read, which no CorefELModel has; remove it")
        if not isinstance(content.get("encoder_config"), dict):
            raise ValueError(f"{where}: encoder_config must be an object; got {content.get('encoder_config')!r}")
        check_spelling(content, OWN_FIELDS, where)
        refuse_code(content, where, fields=())
        try:
            cls(**copy.deepcopy(content))
        except OSError:
            raise
        # What the classes of transformers make of values that they do not expect is of many kinds.
        except Exception as error:
            raise ValueError(f"{where}: {error}") from error

    @classmethod
    def register_for_auto_class(cls, auto_class: str = "AutoConfig") -> None:
        """Nothing: the class comes with this package, so its code is never copied beside saved weights."""

    def get_text_config(self, *args: Any, **kwargs: Any) -> PretrainedConfig:
        """The encoder's configuration, so that `resize_token_embeddings` updates the right vocabulary size."""
        return self.encoder_config


OWN_FIELDS = tuple(FIELDS)
