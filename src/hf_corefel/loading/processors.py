"""The processor that a pipeline reads with: given, loaded from where the model came from, or with another KB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from ..candidates import ComposedKnowledgeBase, KnowledgeBackend, open_knowledge_base
from ..candidates.backends import open_source
from ..candidates.hub import KNOWLEDGE_BASE_FOLDER
from ..configuration.processor_settings import SETTINGS_FILE
from ..kb import KnowledgeBase
from ..kb.entity_vectors import projects_from, title_vectorizer
from ..modeling_corefel import CorefELModel
from ..processing_corefel import CorefELProcessor
from ..utils.compat import commit_of
from .adapters import place_of, plain_module
from .repositories import HubOptions, download_folder

__all__ = ["give_vectorizer", "options_beside", "processor_beside", "with_own_vectors"]


def options_beside(model: CorefELModel, given: Mapping[str, Any]) -> HubOptions:
    """How to load what belongs to a model: as it was loaded itself, from the very commit, unless told otherwise."""
    options = model.origin.options if model.origin is not None else HubOptions()
    commit = commit_of(model.config)
    if commit is not None:
        options = replace(options, revision=commit)
    return replace(options, **{name: value for name, value in given.items() if value is not None})


def processor_beside(
    model: CorefELModel,
    processor: CorefELProcessor | str | Path | None,
    knowledge_base: KnowledgeBackend | str | Path | None,
    options: HubOptions,
    trust_remote_code: bool | None,
) -> CorefELProcessor:
    """Return the processor for a model.

    Args:
        model: The model.
        processor: A processor, or the folder or Hub id of one; loaded from where the model came from when None.
        knowledge_base: Takes the place of the processor's own, which is not downloaded then; an object, or its folder
            or Hub id.
        options: How to load what belongs to the model, see `options_beside`. Other repositories are read with the
            same cache and token, but at a revision of their own.
        trust_remote_code: Whether code may run that the tokenizer's files name; as for the model when None.

    Raises:
        OSError: When a file is missing.
        ValueError: When there is no processor and the model does not say where it came from, the vectors of the
            knowledge base have another width than the model's, or a file is damaged.
    """
    if trust_remote_code is None:
        trust_remote_code = model.origin is not None and model.origin.trust_remote_code
    elsewhere = replace(options, revision=None, subfolder=None).to_kwargs()
    if isinstance(knowledge_base, str | Path):
        knowledge_base = open_knowledge_base(knowledge_base, **elsewhere)
    if knowledge_base is not None:
        knowledge_base = with_own_vectors(knowledge_base, model, processor, options)
    if knowledge_base is not None and knowledge_base.vector_size != model.config.entity_vector_size:
        raise ValueError(
            f"knowledge_base: its entity vectors are {knowledge_base.vector_size} wide, the model expects "
            f"{model.config.entity_vector_size}; build it with vectors of the model's own knowledge base "
            "(`hf-corefel kb build --vectors-of MODEL`, or `vectors=` and `vector_for`)"
        )
    if processor is not None and not isinstance(processor, str | Path):
        return processor if knowledge_base is None else processor.with_knowledge_base(knowledge_base)
    if processor is None and not model.name_or_path:
        raise ValueError("processor: give the model's CorefELProcessor; the model comes from no folder")
    name, access = (model.name_or_path, options.to_kwargs()) if processor is None else (processor, elsewhere)
    return CorefELProcessor.from_pretrained(
        name, knowledge_base=knowledge_base, trust_remote_code=trust_remote_code, **access
    )


@overload
def with_own_vectors(
    knowledge_base: KnowledgeBase,
    model: CorefELModel,
    processor: CorefELProcessor | str | Path | None,
    options: HubOptions,
) -> KnowledgeBase: ...


@overload
def with_own_vectors(
    knowledge_base: KnowledgeBackend,
    model: CorefELModel,
    processor: CorefELProcessor | str | Path | None,
    options: HubOptions,
) -> KnowledgeBackend: ...


def with_own_vectors(
    knowledge_base: KnowledgeBackend,
    model: CorefELModel,
    processor: CorefELProcessor | str | Path | None,
    options: HubOptions,
) -> KnowledgeBackend:
    """Return a knowledge base whose lazy vectors are of the kind of those that came with the model.

    That is so for one without a projection of its own. It stays as it is where nothing is lazy, and where vectors that
    it has are of another width than the model's. Of a composed one, each part is looked at.

    Raises:
        ValueError: When the model's own knowledge base does not say how its encoder makes them.
    """
    if isinstance(knowledge_base, ComposedKnowledgeBase):
        given: list[Any] = [part.source for part in knowledge_base.parts]
        sources = [with_own_vectors(source, model, processor, options) for source in given]
        if all(new is old for new, old in zip(sources, given, strict=True)):
            return knowledge_base
        parts = [replace(part, source=new) for part, new in zip(knowledge_base.parts, sources, strict=True)]
        return type(knowledge_base)(parts)
    if not isinstance(knowledge_base, KnowledgeBase) or not knowledge_base.lazy_vectors:
        return knowledge_base
    widths = (0, model.config.entity_vector_size)
    if knowledge_base.projection is not None or knowledge_base.vector_size not in widths:
        return knowledge_base
    if isinstance(processor, CorefELProcessor):
        own: object = processor.knowledge_base
    else:
        place, where = place_of(SETTINGS_FILE, str(processor or model.name_or_path), options)
        own = open_source(download_folder(place, KNOWLEDGE_BASE_FOLDER, where))
    for kb in getattr(own, "stores", [own]):
        if isinstance(kb, KnowledgeBase) and kb.projection is not None and projects_from(kb, model):
            return knowledge_base.with_vectors_of(kb.projection, *kb.vector_distribution)
    raise ValueError(
        "knowledge_base: its vectors are made by the model's encoder when they are needed, but the model's own "
        "knowledge base has no projection from that; make one (hf_corefel.kb.entity_vectors.fit_projection) and build "
        "with it, or build with vectors"
    )


def give_vectorizer(
    knowledge_base: KnowledgeBackend, model: CorefELModel, tokenizer: Any, *, came_with_model: bool = True
) -> None:
    """Have entities get vectors of the kind that the model was trained on, where it knows how.

    Args:
        knowledge_base: Whose entities.
        model: The model.
        tokenizer: That of its encoder.
        came_with_model: Whether both were saved together. Otherwise only vectors that are lazy are made.

    Raises:
        ValueError: When vectors are lazy and the encoder's are not as wide as their projection expects.
    """
    for kb in getattr(knowledge_base, "stores", [knowledge_base]):
        if not isinstance(kb, KnowledgeBase) or kb.vectorizer is not None:
            continue
        if kb.lazy_vectors or (came_with_model and projects_from(kb, model)):
            kb.vectorizer = title_vectorizer(plain_module(model.encoder).model, tokenizer, kb.projection)
