"""The model: encoder over windows, spans, pruner, scorers, and a head. Wiring only."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers.utils import logging

from .configuration.field_checks import refuse_unknown
from .configuration_corefel import OWN_FIELDS, CorefELConfig, readable_positions
from .heads import (
    ENTITIES,
    ENTITY_ROOT,
    NIL,
    PAIR_ROOT,
    PAIRS,
    Calibration,
    EdgeScores,
    GoldClustering,
    Head,
    RetainedSpans,
    make_head,
)
from .heads.gaps import loss_of_what_is_known, pruner_loss, retain_given
from .heads.parameter_groups import OWN_SCORERS, place_of
from .heads.registry import parameter_groups
from .layers import MentionPruner, SpanRepresentation, WindowEncoder, indivisible_modules
from .layers.entities import expected_entities
from .layers.enumerated import PrunedSpans, SpanTensors, keep_best, log_odds
from .layers.head_modules import add_head_modules
from .layers.matches import match_features
from .layers.model_output import CorefELOutput
from .layers.nesting import either_way, exclusive_offsets, nested_spans
from .layers.relations import relations_of_retained
from .loading.encoders import make_encoder, reads_padding
from .loading.foreign_code import read_encoder_config
from .loading.pretrained_encoders import read_encoder
from .loading.weights import check_size, size_is_expected
from .moved import renamed_argument
from .pretrained_corefel import CorefELPreTrainedModel
from .utils.forking import one_thread_after_fork

__all__ = ["CorefELModel", "CorefELOutput", "CorefELPreTrainedModel"]

logger = logging.get_logger(__name__)

# What transformers asks a model, and the encoder knows: its attention, and what it keeps in single precision.
_OF_ENCODER = (
    "_supports_sdpa",
    "_supports_flash_attn",
    "_supports_flex_attn",
    "_keep_in_fp32_modules",
    "_keep_in_fp32_modules_strict",
)


class CorefELModel(CorefELPreTrainedModel):
    """Coreference resolution and entity linking of whole documents as one structured prediction.

    The head (`CorefELConfig.head`) decides which structure is scored, trained and decoded; heads share the
    parameters they have in common. `set_head` switches a live model, ``from_pretrained(..., head=...)`` a saved one.

    Args:
        config: The model's configuration.

    Raises:
        ValueError: When the configuration has a bad value; the message names the field.

    Example:
        >>> from hf_corefel import CorefELModel, CorefELProcessor, bundled_checkpoint
        >>> model = CorefELModel.from_pretrained(bundled_checkpoint())
        >>> processor = CorefELProcessor.from_pretrained(bundled_checkpoint())
        >>> output = model(**processor("Angela Merkel met Barack Obama."))
        >>> output.pair.shape[0]
        1
    """

    def __init__(self, config: CorefELConfig) -> None:
        super().__init__(config)
        config.encoder_config = read_encoder_config(config.encoder_config)
        config.check_values()
        one_thread_after_fork()
        if size_is_expected() and torch.get_default_device().type != "meta":
            # transformers 4 takes memory for each module before it lets go of it; version 5 takes none.
            with torch.device("meta"):
                self._build(config)
                check_size(self, config.to_dict())
        self._build(config)
        check_size(self, config.to_dict())
        self.post_init()

    def _build(self, config: CorefELConfig) -> None:
        """Creates all modules; their values are uninitialised."""
        encoder: Any = make_encoder(config.encoder_config)
        self._no_split_modules = indivisible_modules(encoder)
        for name in _OF_ENCODER:
            setattr(self, name, getattr(encoder, name, None))
        self.encoder = WindowEncoder(encoder, by_length=reads_padding(encoder, config.get_text_config().model_type))
        self.spans = SpanRepresentation(
            config.get_text_config().hidden_size,
            config.longest_span,
            config.width_embedding_size,
            config.case_embedding_size,
            config.dropout,
            len(config.mention_scopes or ()),
            config.scope_embedding_size,
        )
        self.pruner = MentionPruner(
            self.spans.size,
            config.mention_ffnn_size,
            config.ffnn_depth,
            config.dropout,
            config.longest_span,
            config.width_embedding_size if config.use_width_prior else 0,
        )
        self._modules_of_heads: set[str] = set()
        self._add_modules(set(config.head_modules) | self._active_groups)

    def _add_modules(self, names: set[str]) -> None:
        """Creates the scorers and vectors of `names` that do not exist yet; their values are uninitialised."""
        self._modules_of_heads = add_head_modules(self, names, self._modules_of_heads)
        self.config.head_modules = sorted(self._modules_of_heads)

    @property
    def head(self) -> Head:
        """The active head; it holds no parameters."""
        return make_head(self.config)

    @property
    def reads_long_documents(self) -> bool:
        """Whether it reads documents of any length whole, see `hf_corefel.long_documents`."""
        return self.head.reads_edge_lists

    @property
    def calibration(self) -> Calibration:
        """What is put on the scores before a head sees them; see `CorefELConfig.calibration`."""
        return Calibration.from_dict(self.config.calibration)

    @property
    def _active_groups(self) -> set[str]:
        """Names of the parameter groups that the active head scores with."""
        return parameter_groups(self.head, self.config.head)

    @property
    def _ddp_params_and_buffers_to_ignore(self) -> list[str]:
        """Parameters that only other heads use: they get no gradient, for which DistributedDataParallel would wait."""
        idle = self._modules_of_heads - self._active_groups
        parts: list[Any] = [attrgetter(place_of(name))(self) for name in idle]
        unused = {value for part in parts for value in (part.parameters() if isinstance(part, nn.Module) else [part])}
        return [name for name, value in self.named_parameters() if value in unused]

    def set_head(self, head: str) -> list[str]:
        """Makes `head` the active one, keeping every parameter that exists.

        Args:
            head: One of `hf_corefel.heads.HEADS`.

        Returns:
            Names of the parameters that were newly initialised, because no head before needed them: they
            want training. They are also logged as a warning.

        Raises:
            ValueError: When there is no such head.
        """
        previous, self.config.head = self.config.head, head
        before = set(self.state_dict())
        try:
            self.config.check_values()
            self._add_modules(self._active_groups)
        except BaseException:
            self.config.head = previous  # a guest head may raise anything
            raise
        missing = sorted(set(self.state_dict()) - before)
        if missing:
            self._initialize_missing(missing)
            # New modules are born in training mode, whatever mode the model is in.
            self.train(self.training)
            self.note_untrained(missing)
            logger.warning("Head %r uses parameters that were never trained: %s", head, ", ".join(missing))
        return missing

    @torch.no_grad()
    def _initialize_missing(self, names: list[str]) -> None:
        # Of the scorers alone: the encoder's weights may be quantised, which are neither cast nor copied.
        reference = self.pruner.project.weight
        for part in ("pairs", "entities", OWN_SCORERS):
            module = getattr(self, part, None)
            if module is not None:
                kept = {n: v.clone() for n, v in module.state_dict().items() if f"{part}.{n}" not in names}
                module.apply(self._init_weights)
                module.to(device=reference.device, dtype=reference.dtype)
                module.load_state_dict(kept, strict=False)

    @classmethod
    def from_encoder(
        cls, name_or_path: str, *, encoder_kwargs: dict[str, Any] | None = None, **config_kwargs: Any
    ) -> CorefELModel:
        """A fresh model on a pretrained encoder.

        Args:
            name_or_path: Any `AutoModel` id or folder.
            encoder_kwargs: Passed to ``AutoModel.from_pretrained`` (``revision``, ``token``, ``subfolder`` …). The
                model is in single precision, whatever the encoder was stored in. Its code is not run, and pickles are
                not read, unless ``trust_remote_code=True`` and ``use_safetensors=False`` stand there.
            **config_kwargs: Fields of `CorefELConfig`.

        Raises:
            TypeError: When the configuration has no such field.
        """
        refuse_unknown(config_kwargs, {*OWN_FIELDS, *vars(PretrainedConfig())}, "CorefELModel.from_encoder")
        pretrained = read_encoder(name_or_path, encoder_kwargs or {}, stacklevel=3)
        positions = readable_positions(pretrained.config)
        if positions is not None and positions < CorefELConfig().window_size:
            config_kwargs.setdefault("window_size", positions)
        with pretrained.code:
            model = cls(CorefELConfig(encoder_config=pretrained.config, **config_kwargs))
        model.encoder.model.load_state_dict(pretrained.encoder.state_dict())
        return model

    def prune(
        self,
        windows: tuple[Tensor, Tensor, Tensor],
        spans: SpanTensors,
        limits: Tensor,
        keep_all: Tensor,
        also: Tensor | None = None,
    ) -> PrunedSpans:
        """The first half of `forward`, which names the tensors: encodes documents and keeps their best spans."""
        # While it learns, a model sees what it might take for a mention.
        least = -math.inf if self.training else log_odds(self.config.min_mention_probability)
        subwords = self.encoder(*windows)
        return keep_best(self.spans, self.pruner, subwords, spans, limits, keep_all, also, least)

    @renamed_argument("candidates", "candidate_rows")
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        subword_positions: Tensor,
        span_begin: Tensor,
        span_end: Tensor,
        span_width: Tensor,
        span_mask: Tensor,
        span_limits: Tensor,
        keep_all: Tensor,
        candidate_rows: Tensor,
        log_priors: Tensor,
        entity_vectors: Tensor,
        span_cases: Tensor | None = None,
        span_word: Tensor | None = None,
        word_forms: Tensor | None = None,
        span_definitions: Tensor | None = None,
        span_speakers: Tensor | None = None,
        span_characters: Tensor | None = None,
        span_cores: Tensor | None = None,
        mention_scope: Tensor | None = None,
        gold_clusters: Tensor | None = None,
        gold_entities: Tensor | None = None,
        gold_given: Tensor | None = None,
        also_retain: Tensor | None = None,
        pruned: PrunedSpans | None = None,
        **unused: Any,
    ) -> CorefELOutput:
        """Scores the edges of a batch of documents, and the loss when gold is given.

        All arguments come from `CorefELProcessor`.

        Args:
            input_ids: ``[B, W, L]`` subword ids of the windows.
            attention_mask: ``[B, W, L]``.
            subword_positions: ``[B, T]`` place of each subword in the flattened windows, -1 on padding.
            span_begin: ``[B, S]`` first subword of each enumerated span.
            span_end: ``[B, S]`` one past its last subword.
            span_width: ``[B, S]`` its words.
            span_mask: ``[B, S]``, False on padding.
            span_limits: ``[B]`` most spans to keep.
            keep_all: ``[B]``, True where the spans are given mentions.
            candidate_rows: ``[B, S, K]`` rows of `entity_vectors`, -1 on padding.
            log_priors: ``[B, S, K]``.
            entity_vectors: ``[B, E, D]``.
            span_cases: ``[B, S, 2]`` letter-case classes of the first and last word.
            span_word: ``[B, S]`` first word of each span; like the next, where `CorefELConfig.use_pair_matches`.
            word_forms: ``[B, M]`` number of each word's form in its document, -1 on padding.
            span_definitions: ``[B, S, 6]`` labels, where `CorefELConfig.use_pair_definitions`, see
                `hf_corefel.processing.definitions`.
            span_speakers: ``[B, S, 2]`` labels, where `CorefELConfig.use_speakers`, see
                `hf_corefel.processing.speakers`.
            span_characters: ``[B, S, 2]`` code points of each span; like the next, where
                `CorefELConfig.forbid_nested`.
            span_cores: ``[B, S, 2]`` code points of its core, see `hf_corefel.processing.cores`.
            mention_scope: ``[B]`` number of each document's scope in `CorefELConfig.mention_scopes`.
            gold_clusters: ``[B, S]`` cluster of each span, -1 where it is no gold mention; codes of
                `hf_corefel.utils.gold_codes` where the annotation has gaps.
            gold_entities: ``[B, S]`` entity row of its cluster, -1 for NIL, -2 where it is not annotated.
            gold_given: ``[B]``, True where all spans are mentions, and nothing is known of other spans; none when None.
            also_retain: ``[B, S]``, True for spans that are retained beside those that the pruner chooses.
            pruned: What `prune` gave for these tensors, for candidates that were found by it; computed when None.
            **unused: What PEFT gives to all models of a task type, ``inputs_embeds=None`` and the like.
        """
        self._refuse_arguments(unused)
        config = self.config
        if pruned is None:
            if self.training and gold_clusters is not None:
                keep_all = retain_given(keep_all, gold_clusters, gold_given)
            table = SpanTensors(span_begin, span_end, span_width, span_cases, span_mask, mention_scope)
            windows = input_ids, attention_mask, subword_positions
            pruned = self.prune(windows, table, span_limits, keep_all, also_retain)
        span_scores, retained, spans, order = pruned
        mask, index = retained >= 0, retained.clamp(min=0)
        slots = index.unsqueeze(-1).expand(-1, -1, candidate_rows.shape[-1])
        retained_rows = candidate_rows.gather(1, slots).masked_fill(~mask.unsqueeze(-1), -1)
        head = self.head
        needs = head.needs
        mention, link = span_scores.gather(1, index), spans.new_zeros(retained_rows.shape)
        retained_priors = log_priors.gather(1, slots)
        root_pair = nil = None
        if ENTITIES in needs:
            link = self.entities(spans, retained_rows, retained_priors, entity_vectors, mention)
            inputs = spans, retained_rows, retained_priors, entity_vectors
            nil = self.entities(*inputs, of_vector="nil") if NIL in needs else None
            root_pair = self.entities(*inputs, of_vector="root") if ENTITY_ROOT in needs else None
        pair = spans.new_zeros(*mask.shape, mask.shape[1])
        if PAIRS in needs:
            matches = None
            if config.use_pair_matches:
                if span_word is None or word_forms is None:
                    raise ValueError("span_word, word_forms: needed with use_pair_matches; CorefELProcessor gives them")
                words = span_word.gather(1, index), span_width.gather(1, index)
                matches = match_features(word_forms, *words, retained_rows, retained_priors, mask)
            expected_embeddings = None
            if config.use_pair_entities:
                expected_embeddings = expected_entities(retained_rows, retained_priors, entity_vectors)
            labels = {"definitions": span_definitions, "speakers": span_speakers}
            pair = self.pairs(
                spans,
                antecedents_only=head.antecedents_only,
                matches=matches,
                expected_embeddings=expected_embeddings,
                relations=relations_of_retained(config, labels, index, mask),
                mask=mask,
                order=order,
            )
            root_pair = (
                self.pairs(spans, expected_embeddings=expected_embeddings, of_root=True)
                if PAIR_ROOT in needs
                else root_pair
            )
        contains = twins = None
        if config.forbid_nested:
            contains, twins = nested_spans(span_characters, span_cores, index, mask)
        exclusive = exclusive_offsets(config.exclusive_scopes, mention_scope, span_characters, index, mask)
        own = None
        if head.own_scores:
            read = RetainedSpans(spans, mask, mention, retained_rows, retained_priors, entity_vectors)
            scorers: Any = self.own_scorers[config.head]
            own = {name: scorers[name](read) for name in head.own_scores}
        output = CorefELOutput(
            span_scores=span_scores,
            retained=retained,
            mention=mention,
            link=link,
            pair=pair,
            root_pair=root_pair,
            nil=nil,
            candidate_rows=retained_rows,
            contains=contains,
            twins=twins,
            exclusive=exclusive,
            own_scores=own,
        )
        if gold_clusters is None:
            return output
        if gold_entities is None:
            raise ValueError("gold_entities: needed beside gold_clusters")
        return self._with_loss(output, gold_clusters, gold_entities, span_mask, index)

    def edge_scores(self, output: CorefELOutput) -> EdgeScores:
        """The output as the scores that heads take, calibrated (`CorefELConfig.calibration`), in float32 at least."""
        assert output.retained is not None and output.mention is not None
        assert output.link is not None and output.pair is not None and output.candidate_rows is not None
        scores = EdgeScores(
            mention=output.mention,
            link=output.link,
            candidate_rows=output.candidate_rows,
            pair=output.pair,
            mask=output.retained >= 0,
            root_pair=output.root_pair,
            nil=output.nil,
            root_score=self.config.root_score,
            forbidden=either_way(output.contains, output.twins),
            own=output.own_scores or {},
        )
        return self.calibration(scores.at_least_float32())

    # Trees are numpy's work, of which tracing makes a graph for every size and none that is faster.
    @torch.compiler.disable
    def _with_loss(
        self, output: CorefELOutput, clusters: Tensor, entities: Tensor, span_mask: Tensor, index: Tensor
    ) -> CorefELOutput:
        assert output.span_scores is not None
        logits = self.calibration.of_mentions(output.span_scores.float())
        mention_loss = pruner_loss(logits, clusters, span_mask)
        gold = GoldClustering(clusters.gather(1, index), entities.gather(1, index))
        head_loss = loss_of_what_is_known(self.head, self.edge_scores(output), gold)
        loss = self.config.mention_loss_weight * mention_loss + head_loss
        # A new output: what is set afterwards is an attribute only, lost where outputs are copied as dicts.
        return CorefELOutput(loss=loss, mention_loss=mention_loss, head_loss=head_loss, **output)
