"""Scales and offsets that make probabilities what they say, put on the scores before anything is made of them.

Every head makes one distribution of the edge scores; what is calibrated there stays one distribution, so that links,
edges and draws agree with one another, and what is decoded is the best under it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from torch import Tensor

from .edge_scores import EdgeScores
from .sparse_scores import SparseEdgeScores

__all__ = ["Calibration"]

Scores = TypeVar("Scores", EdgeScores, SparseEdgeScores)

# What no fit comes near: such a number is a mistake.
_MOST_SCALE, _MOST_OFFSET = 1e3, 1e3


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the scores of a model are scaled and shifted, a scale for each kind; below 1 makes the model less certain.

    The temperatures of the literature are one over the scales. The scores of the root come from the scorer of pairs, or
    of links where ``root_score`` is "original", and NIL's from that of links; they are scaled with these. Scores that
    a head has of its own (`Head.own_scores`) are left as they are.

    The edge from antecedent i to j has Φp(i) + Φp(j) + Φc(i, j). Of these Φp(j) says whether j is a mention, and all
    other edges to j have it too; the rest says whether i is its antecedent, and is scaled as one. So the scale of
    mentions leaves trees as they are where the root's edges have Φp(j) as well: in the global head with ``root_score``
    "paper" and no ``edge_activation``. In the local head a span that chooses itself has no Φp(j).

    Attributes:
        mention_scale: Factor of a span's own mention score Φp(j), above 0. What is more likely a mention than not stays
            so.
        pair_scale: Factor of the pair scores Φc(i, j) and of the antecedent's Φp(i), above 0.
        link_scale: Factor of the entity scores Φℓ, above 0.
        nil_offset: Taken off the scores of all candidates then: above 0, more is not in the knowledge base.

    Raises:
        ValueError: When a value is no finite number, or a scale is not above 0.

    Example:
        >>> from hf_corefel.heads import Calibration
        >>> Calibration(link_scale=0.5).is_identity, Calibration().is_identity
        (False, True)
    """

    mention_scale: float = 1.0
    pair_scale: float = 1.0
    link_scale: float = 1.0
    nil_offset: float = 0.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            _check(value, name.endswith("_scale"), name)

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return self == Calibration()

    def to_dict(self) -> dict[str, float]:
        """The values by name, as `CorefELConfig.calibration` takes them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, where: str = "calibration") -> Calibration:
        """Read what `to_dict` gives; what is not named changes nothing.

        Args:
            values: A mapping, or None for none.
            where: What messages call it.

        Raises:
            ValueError: When it is something else, or has an unknown name or a bad value; the message names the field.
        """
        if values is None:
            return cls()
        names = [field.name for field in fields(cls)]
        if not isinstance(values, Mapping):
            raise ValueError(f"{where} must be a dict with any of {', '.join(names)}, or None; got {values!r:.200}")
        for name, value in values.items():
            if name not in names:
                near = get_close_matches(str(name), names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}"
                raise ValueError(f"{where} has no field {name!r:.200}; {hint}")
            _check(value, name.endswith("_scale"), f"{where}.{name}")
        return cls(**{name: float(value) for name, value in values.items()})

    def of_mentions(self, scores: Tensor) -> Tensor:
        """Return mention scores Φp of any shape, calibrated."""
        return _line(scores, self.mention_scale)

    def __call__(self, scores: Scores) -> Scores:
        """Return the scores, calibrated; the very same where this changes nothing."""
        if self.is_identity:
            return scores
        root_scale = self.link_scale if scores.root_score == "original" else self.pair_scale
        pair = _line(scores.pair, self.pair_scale)
        if self.mention_scale != self.pair_scale:
            # Heads add the mention scores of both ends, scaled as that of the child is.
            antecedents = (
                scores.mention[scores.source] if isinstance(scores, SparseEdgeScores) else scores.mention[..., None]
            )
            pair = pair + (self.pair_scale - self.mention_scale) * antecedents
        return replace(
            scores,
            mention=self.of_mentions(scores.mention),
            pair=pair,
            link=_line(scores.link, self.link_scale, -self.nil_offset),
            root_pair=None if scores.root_pair is None else _line(scores.root_pair, root_scale),
            nil=None if scores.nil is None else _line(scores.nil, self.link_scale),
        )


def _line(scores: Tensor, scale: float, offset: float = 0.0) -> Tensor:
    """The scores times a factor, plus an offset; the same tensor where neither changes a bit of it."""
    scaled = scores if scale == 1.0 else scores * scale
    return scaled if offset == 0.0 else scaled + offset


def _check(value: Any, is_scale: bool, where: str) -> None:
    """Raises `ValueError` unless it is a number that a calibration may have."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_scale and not (number and 0.0 < value <= _MOST_SCALE):
        raise ValueError(f"{where} must be a number in (0, {_MOST_SCALE:g}]; got {value!r:.200}")
    if not (number and abs(value) <= _MOST_OFFSET):
        raise ValueError(f"{where} must be a number in [-{_MOST_OFFSET:g}, {_MOST_OFFSET:g}]; got {value!r:.200}")
