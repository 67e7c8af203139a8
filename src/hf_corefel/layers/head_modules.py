"""The scorers and vectors that heads score with, made when a head first needs them."""

from __future__ import annotations

from typing import Any

from torch import nn

from ..heads import ENTITIES, ENTITY_ROOT, NIL, PAIR_ROOT, PAIRS, ScorerSizes, make_head
from ..heads.parameter_groups import OWN_SCORERS, OWNERS
from .entities import EntityScorer
from .pairs import PairScorer
from .relations import relations_of

__all__ = ["add_head_modules"]


def add_head_modules(model: Any, names: set[str], has: set[str]) -> set[str]:
    """Give a model the parameter groups that it lacks; their values are uninitialised.

    Args:
        model: A `CorefELModel` with its ``config`` and ``spans``.
        names: The groups that are wanted, see `hf_corefel.heads.parameter_groups`.
        has: Those that it has.

    Returns:
        Those that it has now.
    """
    # A vector needs the scorer that it belongs to.
    names = names | {OWNERS[name] for name in names if name in OWNERS}
    new = names - has
    if PAIRS in new:
        model.pairs = _pair_scorer(model, with_root=PAIR_ROOT in names)
    elif PAIR_ROOT in new:
        model.pairs.add_root()
    if ENTITIES in new:
        model.entities = _entity_scorer(model, with_nil=NIL in names, with_root=ENTITY_ROOT in names)
    else:
        if NIL in new:
            model.entities.add_nil()
        if ENTITY_ROOT in new:
            model.entities.add_root()
    for name in sorted(new):
        head, _, score = name.partition(".")
        if score:
            _add_own_scorer(model, head, score)
    return has | names


def _pair_scorer(model: Any, with_root: bool) -> PairScorer:
    config = model.config
    return PairScorer(
        model.spans.size,
        config.pair_ffnn_size,
        config.ffnn_depth,
        config.dropout,
        config.distance_embedding_size,
        config.pair_product_dim,
        with_root=with_root,
        use_matches=config.use_pair_matches,
        entity_size=config.entity_vector_size if config.use_pair_entities else 0,
        relations={name: size for name, (size, _) in relations_of(config).items()},
    )


def _entity_scorer(model: Any, with_nil: bool, with_root: bool) -> EntityScorer:
    config = model.config
    return EntityScorer(
        model.spans.size,
        config.entity_vector_size,
        config.entity_ffnn_size,
        config.ffnn_depth,
        config.dropout,
        config.use_candidate_prior,
        with_nil=with_nil,
        with_root=with_root,
        use_product=config.use_entity_product,
        use_context=config.use_entity_context,
        use_support=config.use_entity_support,
        use_coverage=config.use_candidate_coverage,
    )


def _add_own_scorer(model: Any, head: str, score: str) -> None:
    """Add the scorer that a head brings for a score of its own."""
    config = model.config
    sizes = ScorerSizes(
        model.spans.size, config.entity_vector_size, config.pair_ffnn_size, config.ffnn_depth, config.dropout
    )
    # Made where there is something to hold, so that models of other heads are as they were.
    if not hasattr(model, OWN_SCORERS):
        setattr(model, OWN_SCORERS, nn.ModuleDict())
    scorers = getattr(model, OWN_SCORERS)
    if head not in scorers:
        scorers[head] = nn.ModuleDict()
    scorers[head][score] = make_head(config, head).make_scorer(score, sizes)
