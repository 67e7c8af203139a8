"""What a model and its processor make of one sentence: written when they are saved, compared when they are loaded.

A saved model can be read with another tokenizer, other weights, another release of a library or another knowledge base
than it was saved with, and would go on working, only worse. The fingerprint has a part for each of these, so that the
difference names its cause, and checksums of the files, which see the lowest bit of a weight. It costs one pass over one
sentence, and reading the files: about a second for 1.5 GB.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers
from transformers.utils import cached_file

from ..candidates import KnowledgeBackend
from ..documents import Candidate, Document
from ..kb import KnowledgeBase
from ..loading.repositories import FINGERPRINT_FILE, HubOptions
from ..modeling_corefel import CorefELModel
from ..processing.encoded_document import CorefELBatch
from ..processing_corefel import CorefELProcessor
from ..utils.files import whole_file
from ..utils.json_files import read_json_object
from ..version import __version__
from .checksums import checksums

__all__ = ["FingerprintWarning", "check_fingerprint", "compare_fingerprints", "fingerprint", "save_fingerprint"]

_FORMAT_VERSION = 2
_TEXT = "Angela Merkel met Barack Obama in Berlin. Merkel praised the city, and he thanked the people of Europe."
# Nothing that a name may be inside of: whether it is read so depends on the knowledge base.
_SURFACES = ("Angela Merkel", "Barack Obama", "Berlin", "people", "Europe")
# No knowledge base has these: their vectors are set below, so that scores do not depend on it.
_CANDIDATES = (Candidate("fingerprint probe 1", 0.6), Candidate("fingerprint probe 2", 0.4))
_SAMPLED_ENTITIES = 8
_DIGITS = 4
# Parts of a score's size: devices and releases round differently, half precision much more so.
_TOLERANCE = {"float32": 0.01, "float64": 0.01}
_HALF_TOLERANCE = 0.1


class FingerprintWarning(UserWarning):
    """A loaded model does not do what it did when it was saved.

    Example:
        >>> import warnings
        >>> from hf_corefel.hub import FingerprintWarning
        >>> warnings.simplefilter("error", FingerprintWarning)  # a model that gives other results is then an error
        >>> issubclass(FingerprintWarning, UserWarning)
        True
    """


def fingerprint(model: CorefELModel, processor: CorefELProcessor, folder: str | Path | None = None) -> dict[str, Any]:
    """Token ids, scores and knowledge base of the probe, and checksums of the files, in plain types.

    Args:
        model: The model, on any device.
        processor: Its processor.
        folder: Where their files are; where the model came from when None.

    Returns:
        ``token_ids``; ``scores`` of the N given mentions (``mention`` [N], ``link`` [N, K], ``pair`` [N, N]), which do
        not depend on the knowledge base; ``knowledge_base``: sizes, and candidates and vectors of some entities;
        ``files``: see `checksums`.
    """
    place = folder or model.name_or_path
    offsets = [(_TEXT.index(surface), _TEXT.index(surface) + len(surface)) for surface in _SURFACES]
    document = Document(_TEXT, mentions=offsets, candidates={each: list(_CANDIDATES) for each in offsets})
    # Vectors of the knowledge base play no part.
    encoded = [processor.encode(document, later_vectors=True)]
    tensors: dict[str, Any] = processor.collate(encoded)
    batch = CorefELBatch(tensors, encoded).to(model.device)
    vectors = batch.inputs["entity_vectors"]
    batch.inputs["entity_vectors"] = torch.cos(torch.arange(vectors.numel(), device=model.device)).reshape(
        vectors.shape
    )
    inputs = {
        name: value.to(model.dtype) if value.is_floating_point() else value for name, value in batch.inputs.items()
    }
    training = model.training
    model.eval()
    with torch.no_grad():
        output = model(**inputs)
    model.train(training)
    scores = {"mention": output.mention[0], "link": output.link[0, :, : len(_CANDIDATES)], "pair": output.pair[0]}
    scores.update({f"own.{name}": values[0] for name, values in (output.own_scores or {}).items()})
    return {
        "format_version": _FORMAT_VERSION,
        "text": _TEXT,
        "token_ids": batch.inputs["input_ids"].flatten().tolist(),
        "scores": {name: _plain(values) for name, values in scores.items()},
        "head": _head(model),
        "dtype": str(model.dtype).removeprefix("torch."),
        "knowledge_base": _describe(processor.knowledge_base),
        "files": checksums(place) if place and Path(place).is_dir() else {},
        "versions": {
            "hf-corefel": __version__,
            "tokenizers": tokenizers.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
    }


def save_fingerprint(model: CorefELModel, processor: CorefELProcessor, folder: str | Path) -> Path:
    """Writes the fingerprint beside a saved model and processor, last: saving either of them again removes it.

    Its checksums are those of the files in the folder.
    """
    path = Path(folder) / FINGERPRINT_FILE
    with whole_file(path) as partial:
        partial.write_text(json.dumps(fingerprint(model, processor, folder)) + "\n", encoding="utf-8")
    return path


def check_fingerprint(
    model: CorefELModel,
    processor: CorefELProcessor,
    name: str,
    options: HubOptions | None = None,
    *,
    own_knowledge_base: bool = True,
    own_weights: bool = True,
) -> list[str]:
    """Compares a loaded model and processor with the fingerprint that they were saved with, and warns.

    Args:
        model: The model.
        processor: The processor.
        name: Where both came from, a folder or Hub id. Without a fingerprint there, nothing is compared.
        options: How to find the repository.
        own_knowledge_base: Whether the knowledge base came from there too.
        own_weights: Whether the weights are those that are there; not once they were quantised.

    Returns:
        What differs, with its likely cause, a sentence each.
    """
    options = options or HubOptions()
    path = cached_file(
        name,
        FINGERPRINT_FILE,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
        **options.to_kwargs(),
    )
    if path is None:
        return []
    now = fingerprint(model, processor, Path(path).parent)
    try:
        saved = read_json_object(path)
        differences = compare_fingerprints(saved, now, knowledge_base=own_knowledge_base, weights=own_weights)
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        differences = [f"the fingerprint {path} cannot be read ({type(error).__name__}: {error}); save the model again"]
    if differences:
        text = f"{name} does not do what it did when it was saved: {' '.join(differences)}"
        warnings.warn(text, FingerprintWarning, stacklevel=3)
    return differences


def compare_fingerprints(
    saved: dict[str, Any], now: dict[str, Any], *, knowledge_base: bool = True, weights: bool = True
) -> list[str]:
    """What differs between two fingerprints, with its likely cause, a sentence each.

    Args:
        saved: The one that was saved.
        now: That of what was loaded.
        knowledge_base: Whether the knowledge bases should be the same.
        weights: Whether the weights should.

    Raises:
        KeyError: When `saved` lacks a field.
    """
    if saved["format_version"] != now["format_version"] or saved["text"] != now["text"]:
        return []  # of another release, whose probe was another one
    differences = []
    # One that is not there is no difference: of a Hub repository, not all files are downloaded.
    files = [name for name, values in now["files"].items() if saved.get("files", {}).get(name, values) != values]
    if files:
        differences.append(
            f"These files changed: {', '.join(files)}. Copy the model again, or if they were changed on purpose, save "
            "or publish model and processor together."
        )
    if saved["token_ids"] != now["token_ids"]:
        differences.append(
            "The tokenizer differs: it splits the probe into other pieces. Use the one that the model was saved with"
            f"{_releases(saved, now, 'tokenizers', 'transformers')}."
        )
    elif weights:
        names = list(saved["scores"]) if saved["head"] == now["head"] else ["mention"]
        largest = max(_TOLERANCE.get(each["dtype"], _HALF_TOLERANCE) for each in (saved, now))
        excess = {name: _distance(saved["scores"][name], now["scores"][name]) for name in names}
        worst = max(excess, key=lambda name: excess[name])
        if excess[worst] > largest:
            differences.append(
                f"The {worst} scores differ (by {excess[worst]:.0%} of their size): the weights are not those that the "
                "fingerprint was made of, or a library computes something else"
                f"{_releases(saved, now, 'transformers', 'torch', 'hf-corefel')}. If the weights were replaced on "
                "purpose, save or publish model and processor together."
            )
    if knowledge_base:
        changed = [
            name for name, value in saved["knowledge_base"].items() if not _same(value, now["knowledge_base"].get(name))
        ]
        if changed:
            differences.append(
                f"The knowledge base changed: {', '.join(changed)} differ. Use the one that was saved with the model, "
                "or pass your own as knowledge_base."
            )
    return differences


def _head(model: CorefELModel) -> list[Any]:
    """The head, and what it was told of the scores; its own options only where it was told any."""
    config = model.config
    options = config.head_options.get(config.head)
    return [config.head, config.root_score, *([options] if options else [])]


def _plain(values: torch.Tensor) -> Any:
    """Rounded numbers in lists; None for what is not finite, which JSON does not have."""

    def clean(item: Any) -> Any:
        if isinstance(item, list):
            return [clean(part) for part in item]
        return round(item, _DIGITS) if math.isfinite(item) else None

    return clean(values.float().tolist())


def _describe(kb: KnowledgeBackend) -> dict[str, Any]:
    """Sizes, and names, candidates and vectors of entities at even distances: what is cheap at any size."""
    if not isinstance(kb, KnowledgeBase):
        return {"backend": getattr(kb, "backend", None), "vector_size": kb.vector_size}
    kb = kb.merged()  # saving gives other ids once something was changed, and those are the ones that are compared
    ids = np.unique(np.linspace(0, kb.num_entities - 1, min(_SAMPLED_ENTITIES, kb.num_entities)).astype(np.int64))
    names = [kb.entity_name(i) for i in ids.tolist()]
    found = {name: kb.candidates(name.replace("_", " "), limit=4) for name in names}
    # Those that are made when they are needed depend on the model, whose weights are compared.
    vectors: Any = [] if kb.lazy_vectors else kb.vectors(ids)[:, :_SAMPLED_ENTITIES]
    return {
        "num_entities": kb.num_entities,
        "num_surfaces": kb.num_surfaces,
        "num_candidates": kb.num_candidates,
        "vector_size": kb.vector_size,
        "entities": names,
        "candidates": [[[c.entity, round(c.prior, _DIGITS)] for c in found[name]] for name in names],
        "vectors": [[round(float(value), _DIGITS) for value in row] for row in vectors],
    }


def _distance(saved: Any, now: Any) -> float:
    """Largest difference as a part of the largest size; infinite where one has a number and the other has none."""
    left, right = (np.asarray(values, dtype=np.float64) for values in (saved, now))
    if left.shape != right.shape or not np.array_equal(np.isnan(left), np.isnan(right)):
        return math.inf
    if not np.isfinite(left).any():
        return 0.0
    return float(np.nanmax(np.abs(left - right)) / (1.0 + np.nanmax(np.abs(left))))


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float) and isinstance(right, int | float):
        return abs(left - right) <= 1e-3
    return bool(left == right)


def _releases(saved: dict[str, Any], now: dict[str, Any], *names: str) -> str:
    """`` (saved with torch 2.6, here 2.8)`` for the libraries whose releases differ."""
    pairs = [(name, saved["versions"].get(name), now["versions"][name]) for name in names]
    changed = [f"{name} {before}, here {after}" for name, before, after in pairs if before != after]
    return f" (saved with {'; '.join(changed)})" if changed else ""
