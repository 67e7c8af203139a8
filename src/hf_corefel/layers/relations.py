"""What two retained spans are to each other, from labels that the processor gives every span."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..configuration_corefel import CorefELConfig
from .labels import (
    NUM_DEFINITIONS,
    NUM_SPEAKERS,
    definition_features,
    definitions_between,
    speaker_features,
    speakers_between,
)

__all__ = ["relations_between", "relations_of", "relations_of_retained", "rows_of_retained"]

# Features of pairs: how many there are, and what makes them.
_RELATIONS: dict[str, tuple[int, Callable[[Tensor, Tensor], Tensor]]] = {
    "definitions": (NUM_DEFINITIONS, definition_features),
    "speakers": (NUM_SPEAKERS, speaker_features),
}
_BETWEEN = {"definitions": definitions_between, "speakers": speakers_between}
_FLAGS = {"definitions": "use_pair_definitions", "speakers": "use_speakers"}


def relations_of(config: CorefELConfig) -> dict[str, tuple[int, Callable[[Tensor, Tensor], Tensor]]]:
    """Return the relations that a model looks at: by name, how many features one has and what makes them."""
    return {name: item for name, item in _RELATIONS.items() if getattr(config, _FLAGS[name])}


def relations_of_retained(
    config: CorefELConfig, labels: dict[str, Tensor | None], index: Tensor, mask: Tensor
) -> dict[str, Tensor]:
    """Return the features of the pairs of retained spans, by the name of their relation.

    Args:
        config: The model's configuration.
        labels: Labels ``[B, S, F]`` of all spans, by the name of the relation.
        index: ``[B, N]`` the retained ones.
        mask: ``[B, N]``, False on padding.

    Raises:
        ValueError: When labels are missing.
    """
    relations = {}
    for name, (_, features) in relations_of(config).items():
        given = labels[name]
        if given is None:
            raise ValueError(f"span_{name}: needed with {_FLAGS[name]}; CorefELProcessor gives them")
        relations[name] = features(rows_of_retained(given, index), mask)
    return relations


def relations_between(
    config: CorefELConfig, labels: dict[str, Tensor], one: Tensor, other: Tensor
) -> dict[str, Tensor]:
    """Return the features ``[M, F]`` of M pairs of spans, by the name of their relation; see `relations_of_retained`.

    Args:
        config: The model's configuration.
        labels: Labels ``[N, F]`` of the retained spans, by the name of the relation.
        one: ``[M]`` one span of each pair.
        other: ``[M]`` the other.
    """
    return {name: _BETWEEN[name](labels[name][one], labels[name][other]).float() for name in relations_of(config)}


def rows_of_retained(values: Tensor, index: Tensor) -> Tensor:
    """Return the rows ``[B, N, F]`` of the retained spans from those of all spans ``[B, S, F]``."""
    return values.gather(1, index.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
