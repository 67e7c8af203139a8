"""Whether a model and a processor, which are saved together, fit, and whose reading settings count."""

from __future__ import annotations

import warnings
from typing import Any

from ..configuration.fields import READING_FIELDS
from ..configuration.reading_settings import ReadingSettings
from ..configuration_corefel import CorefELConfig, readable_positions
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor
from .adapters import adapters_of
from .foreign_code import loading_from

__all__ = ["SettingsWarning", "check_agreement", "saved_config", "settled_settings"]


class SettingsWarning(UserWarning):
    """A model's configuration and its processor do not say the same of how texts are read."""


def settled_settings(model: CorefELModel, processor: CorefELProcessor, *, given: bool) -> ReadingSettings:
    """Return the settings that texts are to be read with, and say which of the model and the processor differ.

    The processor reads, so its settings count. What the caller changed in the model (``from_pretrained(...,
    max_candidates=4)``, or in its configuration afterwards) acts where the caller did not make the processor too.

    Args:
        model: The model.
        processor: Its processor.
        given: Whether the caller made the processor; False where it was just loaded from where the model came from.

    Returns:
        Those of the processor, but for what was changed in the model. A `SettingsWarning` names what else differs.

    Raises:
        ValueError: When a setting was changed in the model, and the processor that was given has another value.
    """
    config, settings = model.config, processor.settings
    differing = [name for name in READING_FIELDS if getattr(config, name) != getattr(settings, name)]
    if not differing:
        return settings
    saved = saved_config(model)
    changed = [name for name in differing if saved is not None and getattr(saved, name) != getattr(config, name)]
    if changed and given:
        name = changed[0]
        wanted = getattr(config, name)
        raise ValueError(
            f"{name} was set to {wanted!r} in the model, but the processor that was given has "
            f"{getattr(settings, name)!r}, and it reads the texts; load the processor with {name}={wanted!r}, or leave "
            "it out"
        )
    rest = [name for name in differing if name not in changed and name not in processor.chosen_settings]
    if rest:
        listed = ", ".join(f"{name} ({getattr(settings, name)!r} and {getattr(config, name)!r})" for name in rest)
        warnings.warn(
            f"{model.name_or_path or 'the model'}: its processor and its configuration differ in {listed}; texts are "
            "read as the processor says. Save model and processor together",
            SettingsWarning,
            stacklevel=4,
        )
    return settings.replace(**{name: getattr(config, name) for name in changed})


def check_agreement(model: CorefELModel, processor: CorefELProcessor, settings: ReadingSettings) -> None:
    """Check that a processor gives its model what that can read.

    They are saved together, and each says for itself what it needs of the other.

    Args:
        model: The model.
        processor: Its processor.
        settings: What texts are to be read with, see `settled_settings`.

    Raises:
        ValueError: Naming what does not fit, and the files that say so.
    """
    config = model.config
    here = f"{model.name_or_path or 'the model'}: processor_config.json and config.json do not fit: "
    scopes, known = sorted(settings.mention_scopes or ()), sorted(config.mention_scopes or ())
    if scopes != known:
        raise ValueError(
            f"{here}mention_scopes are {', '.join(scopes) or 'none'} there and {', '.join(known) or 'none'}"
        )
    if settings.longest_span > config.longest_span:
        raise ValueError(
            f"{here}max_span_words is {settings.longest_span} there, and {config.longest_span} words are the model's "
            "most"
        )
    positions = readable_positions(config.encoder_config)
    if positions is not None and settings.window_size > positions:
        raise ValueError(
            f"{here}window_size is {settings.window_size} there, and the encoder reads {positions} subwords"
        )
    width = processor.knowledge_base.vector_size
    if width != config.entity_vector_size:
        raise ValueError(
            f"{model.name_or_path or 'the model'}: the vectors of its knowledge base are {width} wide, and "
            f"entity_vector_size of config.json is {config.entity_vector_size}"
        )
    embeddings: Any = model.get_input_embeddings()
    subwords, rows = len(processor.tokenizer), embeddings.weight.shape[0]
    if subwords > rows:
        raise ValueError(
            f"{model.name_or_path or 'the model'}: its tokenizer has {subwords} subwords, and the encoder knows {rows} "
            "(vocab_size of encoder_config in config.json); take the tokenizer that it was trained with"
        )


def saved_config(model: CorefELModel) -> CorefELConfig | None:
    """Return the configuration as it was saved, an adapter's base's; None where there is none, or the model is new."""
    if model.origin is None or not model.name_or_path:
        return None
    try:
        name, options, _ = adapters_of(str(model.name_or_path), model.origin.options)
        with loading_from(name, options, trust_remote_code=model.origin.trust_remote_code):
            saved: CorefELConfig = CorefELConfig.from_pretrained(name, **options.to_kwargs())
    except (OSError, ValueError):
        return None
    return saved
