"""The fields of a configuration, each declared once: its type, its default, its range, what it does, and who reads it.

The signature and the documentation of `CorefELConfig` are compared with this table by the tests; values are checked by
it, those of the model's configuration and those of a processor's settings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..heads import EDGE_ACTIVATIONS, ROOT_SCORES

__all__ = ["FIELDS", "READING_FIELDS", "ConfigField"]


@dataclass(frozen=True, slots=True)
class ConfigField:
    """A field of `CorefELConfig`.

    Attributes:
        kind: "count" (a whole number), "number", "flag", "choice", or "structure", which has a check of its own.
        default: Its value where nothing is said.
        read_by: Who reads it: "model", "heads", "processor" (then it is one of `ReadingSettings` too), "transformers".
        doc: What it does, as the documentation of `CorefELConfig` says it.
        least: The least that it may be.
        most: The most that it may be. Of counts it is far beyond any use: it tells a damaged or hostile file from a
            large model before memory is asked for.
        open_ends: "least", "most" or both where the bound itself is out of range.
        choices: What a choice may be.
    """

    kind: str
    default: Any
    read_by: tuple[str, ...]
    doc: str
    least: float = -math.inf
    most: float = math.inf
    open_ends: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """The range in words; empty of a structure."""
        match self.kind:
            case "count":
                return f"{self.least} to {self.most:,}"
            case "flag":
                return "True or False"
            case "choice":
                return " or ".join(self.choices)
            case "number" if self.most == math.inf:
                return f"of at least {self.least:g}"
            case "number":
                left, right = "(" if "least" in self.open_ends else "[", ")" if "most" in self.open_ends else "]"
                return f"in {left}{self.least:g}, {self.most:g}{right}"
        return ""

    def holds(self, value: float) -> bool:
        """Whether a number is in range; NaN is not."""
        above = value > self.least if "least" in self.open_ends else value >= self.least
        return above and (value < self.most if "most" in self.open_ends else value <= self.most)


FIELDS: dict[str, ConfigField] = {
    "encoder_config": ConfigField(
        "structure",
        None,
        ("model",),
        "Configuration of the text encoder (any `AutoModel` kind), as an object or a dict.",
    ),
    "head": ConfigField(
        "structure",
        "global",
        ("heads",),
        "Which structure is predicted: ``standalone_coref``, ``standalone_linking``, ``local`` (softmax "
        "over antecedents and candidates), ``global`` (spanning trees, matrix-tree theorem), or another one "
        "of `hf_corefel.heads.HEADS`.",
    ),
    "root_score": ConfigField(
        "choice",
        "paper",
        ("heads", "model"),
        "Score of root → span in the global head: ``paper`` is eq. (3) with a learned root vector and "
        "Φp(root) = 0; ``original`` is the research code's linker score of a root vector, without Φp.",
        choices=ROOT_SCORES,
    ),
    "edge_activation": ConfigField(
        "choice",
        "none",
        ("heads",),
        "``none`` weighs an edge exp(score) as in the paper, ``arsinh`` exp(asinh(score)) as in the "
        "research code. Global head only.",
        choices=EDGE_ACTIVATIONS,
    ),
    "max_span_words": ConfigField(
        "count",
        5,
        ("processor", "model"),
        "Longest span in words.",
        least=1,
        most=10_000,
    ),
    "max_span_pieces": ConfigField(
        "count",
        15,
        ("processor",),
        "Longest span in subwords.",
        least=1,
        most=100_000,
    ),
    "span_keep_ratio": ConfigField(
        "number",
        0.2,
        ("processor",),
        "The pruner keeps ⌊ratio · words⌋ + 1 spans a document.",
        least=0.0,
        most=5.0,
        open_ends=("least",),
    ),
    "min_kept_spans": ConfigField(
        "count",
        0,
        ("processor",),
        "Lower bound on that number: at the paper's ratio a sentence of ten words keeps three spans, fewer "
        "than it may have mentions.",
        least=0,
        most=10_000_000,
    ),
    "max_kept_spans": ConfigField(
        "count",
        1000,
        ("processor",),
        "Most spans that are scored each with each, which takes memory and time in the square of their number. A "
        "longer document keeps as many as the ratio says, and scores each with ``max_partners`` of them. At the "
        "paper's ratio the default is enough for 5,000 words.",
        least=1,
        most=10_000_000,
    ),
    "max_partners": ConfigField(
        "count",
        128,
        ("processor",),
        "Other spans that each one is scored with by its choice, at most, in documents that want more than "
        "``max_kept_spans`` spans; see `hf_corefel.long_documents.partners`. 0 keeps ``max_kept_spans`` of such a "
        "document, the best ones, and scores each with each.",
        least=0,
        most=100_000,
    ),
    "min_mention_probability": ConfigField(
        "number",
        0.0,
        ("model",),
        "Spans that are mentions with a lower probability, by Φp alone and before calibration, are not kept once "
        "the model is trained, though there is room: pairs are scored in a time that grows with the square of what is "
        "kept.",
        least=0.0,
        most=1.0,
        open_ends=("most",),
    ),
    "width_embedding_size": ConfigField(
        "count",
        20,
        ("model",),
        "Size of the span-width embedding φ in g.",
        least=1,
        most=100_000,
    ),
    "distance_embedding_size": ConfigField(
        "count",
        20,
        ("model",),
        "Size of the pair's span-order distance embedding.",
        least=1,
        most=100_000,
    ),
    "case_embedding_size": ConfigField(
        "count",
        0,
        ("model",),
        "Size of the letter-case embeddings of a span's first and last word, for uncased encoders; 0 leaves them out.",
        least=0,
        most=100_000,
    ),
    "mention_scopes": ConfigField(
        "structure",
        None,
        ("processor", "model"),
        "Which mentions are wanted, by name (``named``: names, with demonyms, dates and roles, ``all``: with pronouns "
        "and descriptions, ``entities``: names without demonyms, dates and roles), each with its own "
        "`SCOPE_FIELDS` where they differ from the fields above. The scope of a document is an input of the "
        "model. None: there is one scope.",
    ),
    "default_mention_scope": ConfigField(
        "structure",
        None,
        ("processor",),
        "The scope of documents that name none, one of ``mention_scopes``. None: the first of ``named``, ``all`` and "
        "``entities`` that is there.",
    ),
    "scope_embedding_size": ConfigField(
        "count",
        20,
        ("model",),
        "Size of the embedding of the scope in g, where there are scopes.",
        least=0,
        most=100_000,
    ),
    "use_width_prior": ConfigField(
        "flag",
        False,
        ("model",),
        "Adds a learned score of the span's width to Φp, as the research code does.",
    ),
    "mention_ffnn_size": ConfigField(
        "count",
        300,
        ("model",),
        "Hidden size of FFNN_P.",
        least=1,
        most=100_000,
    ),
    "pair_ffnn_size": ConfigField(
        "count",
        300,
        ("model",),
        "Hidden size of FFNN_C.",
        least=1,
        most=100_000,
    ),
    "entity_ffnn_size": ConfigField(
        "count",
        300,
        ("model",),
        "Hidden size of FFNN_L.",
        least=1,
        most=100_000,
    ),
    "ffnn_depth": ConfigField(
        "count",
        2,
        ("model",),
        "Hidden layers of each of them.",
        least=0,
        most=100,
    ),
    "pair_product_dim": ConfigField(
        "count",
        0,
        ("model",),
        "Width of the low-rank product g_i ⊙ g_j of the pair scorer; 0 takes the full product.",
        least=0,
        most=100_000,
    ),
    "use_pair_matches": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_C what words and candidates two spans share (not in the paper).",
    ),
    "use_pair_definitions": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_C which names a text defines in brackets, and which are initials of others (not in the paper).",
    ),
    "use_speakers": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_C who says two spans, and which of the speakers they mean (not in the paper); see "
        "`Document.speakers`.",
    ),
    "use_pair_entities": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_C what entities either span may stand for (not in the paper).",
    ),
    "entity_vector_size": ConfigField(
        "count",
        200,
        ("model",),
        "Width D of the knowledge base's entity vectors.",
        least=1,
        most=100_000,
    ),
    "max_candidates": ConfigField(
        "count",
        16,
        ("processor",),
        "Candidates looked up for a span (K), best priors first.",
        least=1,
        most=100_000,
    ),
    "use_candidate_prior": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds the candidate's log prior to FFNN_L (not in the paper).",
    ),
    "use_entity_product": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_L the product of a projection of g and the entity vector, as the pair scorer has one "
        "(not in the paper).",
    ),
    "use_entity_context": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_L the product of the entity vector and the document's mean one, over the retained spans' "
        "candidates by mention probability and prior (not in the paper).",
    ),
    "use_entity_support": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_L how probable an entity is at its best span of the document, and how often it is "
        "expected at others (not in the paper).",
    ),
    "use_candidate_coverage": ConfigField(
        "flag",
        False,
        ("model",),
        "Feeds FFNN_L how well the knowledge base covers the span's text: the sum of its candidates' priors, their "
        "number, and how far each is behind the likeliest (not in the paper).",
    ),
    "forbid_nested": ConfigField(
        "flag",
        True,
        ("model",),
        'No cluster holds a phrase and its own part ("their" and "their house"), and of two spellings of a '
        'mention, one within the other ("the Bundestag" and "Bundestag"), only one is found; see '
        "`hf_corefel.decoding.nesting`. The paper has no such rule.",
    ),
    "forbid_overlaps": ConfigField(
        "flag",
        False,
        ("model",),
        "Of mentions that share characters one is found, as corpora of names have it; see "
        "`hf_corefel.decoding.nesting`. A scope may set it for itself. The paper has no such rule.",
    ),
    "calibration": ConfigField(
        "structure",
        None,
        ("model",),
        "Scales and offsets of the scores that make probabilities what they say, as "
        "`hf_corefel.heads.Calibration.to_dict` gives them; ``hf-corefel calibrate`` fits them. None changes nothing.",
    ),
    "dropout": ConfigField(
        "number",
        0.3,
        ("model",),
        "Dropout of span representations and FFNNs.",
        least=0.0,
        most=1.0,
        open_ends=("most",),
    ),
    "mention_loss_weight": ConfigField(
        "number",
        1.0,
        ("model",),
        "Weight of the pruner's loss beside the head's.",
        least=0.0,
        open_ends=("most",),
    ),
    "window_size": ConfigField(
        "count",
        384,
        ("processor",),
        "Subwords a window, special tokens included.",
        least=1,
        most=1_000_000,
    ),
    "window_overlap": ConfigField(
        "count",
        0,
        ("processor",),
        "Subwords that neighbouring windows share; 0 as in the paper.",
        least=0,
        most=1_000_000,
    ),
    "head_modules": ConfigField(
        "structure",
        None,
        ("model",),
        "Parameter groups that the model carries beyond the active head's own; kept up to date by "
        "`CorefELModel.set_head` so that switching heads loses nothing on saving.",
    ),
    "head_options": ConfigField(
        "structure",
        None,
        ("heads",),
        'Options of heads, by the name of the head: ``{"mine": {"margin": 0.5}}``. Those of the global head '
        "are the fields ``root_score`` and ``edge_activation``.",
    ),
    "initializer_range": ConfigField(
        "structure",
        0.02,
        ("transformers",),
        "As in every configuration of transformers; parameters of this package do not depend on it.",
    ),
}

# What a processor must know of its model's configuration.
READING_FIELDS = tuple(name for name, field in FIELDS.items() if "processor" in field.read_by)
