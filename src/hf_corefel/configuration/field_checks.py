"""Checks of the fields of a configuration, of the model's and of the processor's settings, by the table in `fields`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from ..documents import MENTION_SCOPES
from ..heads import Calibration
from .fields import FIELDS

__all__ = [
    "SCOPE_FIELDS",
    "check_calibration",
    "check_default_scope",
    "check_encoder_sizes",
    "check_field",
    "check_kept_spans",
    "check_scopes",
    "check_spelling",
    "numbers_within",
    "refuse_unknown",
]

# What a mention scope may set for itself; the rest it takes from the configuration's own fields.
SCOPE_FIELDS = (
    "max_span_words",
    "max_span_pieces",
    "span_keep_ratio",
    "max_kept_spans",
    "max_partners",
    "forbid_overlaps",
)

# The most that an encoder's sizes may be, by the names that transformers gives them in every architecture.
_ENCODER_SIZES = {
    "hidden_size": 1_000_000,
    "num_hidden_layers": 1_000,
    "num_attention_heads": 100_000,
    "vocab_size": 100_000_000,
}
# Other integers of an encoder: what is repeated as modules, and everything else.
_REPEATED = re.compile(r"(^|_)(layers?|groups?|experts?|blocks?|stages?|group_num|depth)$")
_MOST_REPEATED, _MOST = 10_000, 1_000_000_000


def check_field(name: str, value: Any, where: str) -> None:
    """Check the value of a field of `FIELDS` that is no structure.

    Args:
        name: The field.
        value: Its value.
        where: What the message calls it.

    Raises:
        ValueError: When it is of another type or out of range.
    """
    field = FIELDS[name]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match field.kind:
        case "count" if not (number and isinstance(value, int) and value >= field.least):
            raise ValueError(f"{where} must be an integer of at least {field.least}; got {_shown(value)}")
        case "count" if value > field.most:
            raise ValueError(f"{where} must be at most {field.most}; got {_shown(value)}")
        case "number" if not (number and field.holds(value)):
            raise ValueError(f"{where} must be a number {field.expected}; got {_shown(value)}")
        case "flag" if not isinstance(value, bool):
            raise ValueError(f"{where} must be True or False; got {_shown(value)}")
        case "choice" if value not in field.choices:
            raise ValueError(f"{where} must be one of {', '.join(field.choices)}; got {_shown(value)}")


def check_scopes(scopes: Any, where: str) -> None:
    """Check ``mention_scopes``: None, or by name the fields of `SCOPE_FIELDS` that a scope sets for itself.

    Raises:
        ValueError: When it is anything else.
    """
    if scopes is None:
        return
    if not isinstance(scopes, dict) or not scopes:
        raise ValueError(f"{where} must be a dict of scopes, or None; got {_shown(scopes)}")
    for name, fields in scopes.items():
        of_scope = f"{where}[{name!r}]"
        if name not in MENTION_SCOPES:
            raise ValueError(f"{where} may name {', '.join(MENTION_SCOPES)}; got {name!r}")
        if not isinstance(fields, dict) or not set(fields) <= set(SCOPE_FIELDS):
            raise ValueError(f"{of_scope} must be a dict with any of {', '.join(SCOPE_FIELDS)}; got {_shown(fields)}")
        for field, value in fields.items():
            check_field(field, value, f"{of_scope}[{field!r}]")


def check_default_scope(name: Any, scopes: Mapping[str, Any] | None, where: str) -> None:
    """Check ``default_mention_scope``: None, or one of the scopes that there are.

    Raises:
        ValueError: When it is anything else.
    """
    if name is None:
        return
    if not scopes:
        raise ValueError(f"{where} is {_shown(name)}, but mention_scopes names no scopes; set both, or neither (None)")
    if not isinstance(name, str) or name not in scopes:
        raise ValueError(
            f"{where} must be one of mention_scopes, {', '.join(scopes)}, or None; got {_shown(name)} (other "
            "mention_scopes may need another default_mention_scope)"
        )


def check_calibration(values: Any, where: str) -> None:
    """Check ``calibration``: None, or fields of `Calibration`.

    Raises:
        ValueError: When it is anything else; the message names the field.
    """
    Calibration.from_dict(values, where)


def check_kept_spans(fields: Mapping[str, Any], prefix: str) -> None:
    """Check that ``min_kept_spans`` does not exceed ``max_kept_spans``, nor that of any scope.

    Raises:
        ValueError: When it does; `prefix` stands before their names.
    """
    least = fields["min_kept_spans"]
    bounds = {"max_kept_spans": fields["max_kept_spans"]}
    for name, own in (fields["mention_scopes"] or {}).items():
        if "max_kept_spans" in own:
            bounds[f"mention_scopes[{name!r}]['max_kept_spans']"] = own["max_kept_spans"]
    for name, most in bounds.items():
        if least > most:
            raise ValueError(f"{prefix}min_kept_spans ({least}) must not exceed {name} ({most})")


def check_encoder_sizes(encoder_config: Any, where: str) -> None:
    """Check the sizes of an encoder before anything of them is built.

    Args:
        encoder_config: Its configuration.
        where: What the message calls it.

    Raises:
        ValueError: When a size is no positive integer, or beyond any encoder's; the message names the field.
    """
    for name, most in _ENCODER_SIZES.items():
        value = getattr(encoder_config, name, None)
        if value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            if value < 1:
                raise ValueError(f"{where}.{name} must be a positive integer; got {_shown(value)}")
            if value > most:
                raise ValueError(f"{where}.{name} must be at most {most}; got {_shown(value)}")
        elif not isinstance(value, list | tuple):  # some encoders have a size a layer
            raise ValueError(f"{where}.{name} must be a positive integer; got {_shown(value)}")
    for name, value in numbers_within(encoder_config.to_dict()):
        if isinstance(value, int) and value > (_MOST_REPEATED if _REPEATED.search(name) else _MOST):
            raise ValueError(f"{where}.{name} is beyond any encoder; got {_shown(value)}")


def numbers_within(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Give the numbers in nested dicts and lists with their dotted names."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers_within(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from numbers_within(item, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


def check_spelling(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Check that no field of a file is a missing one misspelt, whose default would be taken in silence.

    Raises:
        ValueError: Naming both.
    """
    missing = [name for name in known if name not in given]
    for name in given:
        near = get_close_matches(name, missing, n=1, cutoff=0.8) if name not in known else []
        if near:
            raise ValueError(f"{where}: unknown field {name!r}; did you mean {near[0]!r}")


def refuse_unknown(given: Iterable[str], known: Iterable[str], caller: str) -> None:
    """Check that a function knows the names of all its arguments, which it would leave out in silence.

    Raises:
        TypeError: Naming the function, the first unknown argument, and what may have been meant.
    """
    names = sorted(known)
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(names)}"
            raise TypeError(f"{caller} takes no argument {name!r}; {hint}")


def _shown(value: Any) -> str:
    """The value as messages show it, none longer than a line."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        text = f"an integer of {value.bit_length()} bits"
    return text if len(text) <= 200 else f"{text[:200]}…"
