"""Whether a model and a processor, which are saved together, fit."""

from __future__ import annotations

from typing import Any

from ..configuration_corefel import longest_span, readable_positions
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor

__all__ = ["check_agreement"]


def check_agreement(model: CorefELModel, processor: CorefELProcessor) -> None:
    """Check that a processor gives its model what that can read.

    They are saved together, and each says for itself what it needs of the other.

    Raises:
        ValueError: Naming what does not fit, and the files that say so.
    """
    config, settings = model.config, processor.settings
    here = f"{model.name_or_path or 'the model'}: processor_config.json and config.json do not fit: "
    scopes, known = sorted(settings["mention_scopes"] or ()), sorted(config.mention_scopes or ())
    if scopes != known:
        raise ValueError(
            f"{here}mention_scopes are {', '.join(scopes) or 'none'} there and {', '.join(known) or 'none'}"
        )
    longest = longest_span(settings)
    if longest > config.longest_span:
        raise ValueError(
            f"{here}max_span_words is {longest} there, and {config.longest_span} words are the model's most"
        )
    positions = readable_positions(config.encoder_config)
    if positions is not None and settings["window_size"] > positions:
        raise ValueError(
            f"{here}window_size is {settings['window_size']} there, and the encoder reads {positions} pieces"
        )
    width = processor.knowledge_base.vector_size
    if width != config.entity_vector_size:
        raise ValueError(
            f"{model.name_or_path or 'the model'}: the vectors of its knowledge base are {width} wide, and "
            f"entity_vector_size of config.json is {config.entity_vector_size}"
        )
    embeddings: Any = model.get_input_embeddings()
    pieces, rows = len(processor.tokenizer), embeddings.weight.shape[0]
    if pieces > rows:
        raise ValueError(
            f"{model.name_or_path or 'the model'}: its tokenizer has {pieces} pieces, and the encoder knows {rows} "
            "(vocab_size of encoder_config in config.json); take the tokenizer that it was trained with"
        )
