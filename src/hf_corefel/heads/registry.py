"""Which heads there are, and the head that a configuration names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from torch import nn

from ..utils.registry import Registry
from .base import Head
from .options import HeadOption
from .parameter_groups import HEAD_MODULES

__all__ = [
    "HEADS",
    "HEAD_FIELDS",
    "HeadConfig",
    "check_groups",
    "check_head",
    "check_head_options",
    "make_head",
    "parameter_groups",
]

# Options of heads that are fields of the configuration, because they were before heads had options.
HEAD_FIELDS = ("root_score", "edge_activation")


class HeadConfig(Protocol):
    """The fields of a configuration that choose a head; `HEAD_FIELDS` are read too.

    Example:
        >>> from hf_corefel import CorefELConfig
        >>> from hf_corefel.heads import HeadConfig
        >>> config: HeadConfig = CorefELConfig(head="local")
        >>> config.head
        'local'
    """

    @property
    def head(self) -> str:
        """One of `HEADS`."""
        ...

    @property
    def head_options(self) -> Mapping[str, Mapping[str, Any]]:
        """Options of heads, by the name of the head."""
        ...


def _check(name: str, item: Any) -> None:
    """Raises `ValueError` unless an item can be a head."""

    def refuse(reason: str) -> None:
        raise ValueError(f"head {name!r}: {reason}")

    if not (isinstance(item, type) and issubclass(item, Head)):
        refuse(f"expected a subclass of hf_corefel.heads.Head, got {item!r}")
    # A head's own scorers are modules of these names.
    for part in (name, *item.own_scores):
        if not part.isidentifier() or hasattr(nn.ModuleDict, part):
            refuse(f"{part!r} cannot name a module of parameters; take another name")
    if not isinstance(getattr(item, "summary", None), str) or not item.summary.strip():
        refuse("its summary must say in a sentence what it predicts")
    for option, declared in item.options.items():
        if not isinstance(declared, HeadOption):
            refuse(f"options[{option!r}] must be a HeadOption, got {declared!r}")
        if declared.is_field != (option in HEAD_FIELDS):
            refuse(f"options[{option!r}]: is_field is for {' and '.join(HEAD_FIELDS)}, and these need it")
        declared.check(declared.default, f"head {name!r}: the default of {option}")
    try:
        needs = item().needs
    except TypeError as error:
        raise ValueError(f"head {name!r}: cannot be made with its options alone ({error})") from error
    unknown = sorted(set(needs) - set(HEAD_MODULES))
    if unknown:
        refuse(f"needs may name {', '.join(HEAD_MODULES)}, got {unknown[0]!r}; scores of its own are own_scores")


HEADS: Registry[type[Head]] = Registry(
    "head",
    "hf_corefel.heads",
    {
        "standalone_coref": "hf_corefel.heads.standalone_coref:StandaloneCorefHead",
        "standalone_linking": "hf_corefel.heads.standalone_linking:StandaloneLinkingHead",
        "local": "hf_corefel.heads.local:LocalHead",
        "global": "hf_corefel.heads.global_tree:GlobalHead",
    },
    check=_check,
)


def make_head(config: HeadConfig, name: str | None = None) -> Head:
    """Return a head with its options, none of which holds parameters.

    Args:
        config: The configuration.
        name: One of `HEADS`; the one that the configuration names when None.

    Raises:
        ValueError: When there is no such head, or an option has a bad value; the message names it.
    """
    name = config.head if name is None else name
    kind = HEADS[name]
    given = dict((getattr(config, "head_options", None) or {}).get(name, {}))
    fields = {option: getattr(config, option, kind.options[option].default) for option in _fields_of(kind)}
    return kind(**fields, **given)


def check_head_options(given: Any, where: str) -> None:
    """Check options of heads, by the name of the head.

    Raises:
        ValueError: When it is no dict of dicts, names no head or option, or has a bad value; the message calls it
            `where`.
    """
    if not isinstance(given, dict) or not all(isinstance(options, dict) for options in given.values()):
        raise ValueError(f"{where} must be a dict of the options of each head, by its name; got {given!r}")
    for name, options in given.items():
        if not isinstance(name, str) or name not in HEADS:
            raise ValueError(f"{where} may name {', '.join(HEADS)}; got {name!r}{_hint()}")
        for option, value in options.items():
            place, declared = f"{where}[{name!r}][{option!r}]", HEADS[name].options.get(option)
            if declared is None:
                known = ", ".join(set(HEADS[name].options) - set(HEAD_FIELDS)) or "no options of its own"
                raise ValueError(f"{place}: the head has no such option; it has {known}")
            if declared.is_field:
                raise ValueError(f"{place}: {option} is a field of the configuration itself; set it there")
            declared.check(value, place)


def check_head(name: Any, where: str) -> None:
    """Check the name of a head.

    Raises:
        ValueError: When there is none of the name.
    """
    if not isinstance(name, str) or name not in HEADS:
        raise ValueError(f"{where} must be one of {', '.join(HEADS)}; got {name!r}{_hint()}")


def check_groups(names: Any, where: str) -> None:
    """Check names of parameter groups: of `HEAD_MODULES`, or ``head.score`` of a head's own.

    Raises:
        ValueError: When it is no list of these.
    """
    if not isinstance(names, list | tuple):
        raise ValueError(f"{where} must be a list of names; got {names!r}")
    for name in names:
        head, _, score = name.partition(".") if isinstance(name, str) else ("", "", "")
        if name not in HEAD_MODULES and not (score and head in HEADS and score in HEADS[head].own_scores):
            raise ValueError(f"{where} may name {', '.join(HEAD_MODULES)}; got {name!r}{_hint()}")


def parameter_groups(head: Head, name: str) -> set[str]:
    """Return the names of the parameter groups that a head of this name scores with."""
    return {*head.needs, *(f"{name}.{score}" for score in head.own_scores)}


def _fields_of(kind: type[Head]) -> list[str]:
    return [option for option, declared in kind.options.items() if declared.is_field]


def _hint() -> str:
    return "; a head of another package must be installed or imported first"
