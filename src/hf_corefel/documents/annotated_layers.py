"""Which layers of a document are annotated: its mentions, clusters and links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .checks import DocumentError, reject_unknown
from .plain_values import is_missing, plain
from .types import AnnotatedData

__all__ = ["MENTION_LAYERS", "AnnotatedLayers", "check_layers"]

MENTION_LAYERS = ("all", "named", "given")
# Mention scopes under which names are all that is wanted.
NAME_SCOPES = frozenset({"named", "entities"})

_FIELDS = ("mentions", "clusters", "links")
# A column of a table has one type, so these stand there as text.
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class AnnotatedLayers:
    """What of a gold annotation is there. Training sums over the rest; evaluation does not read it.

    Attributes:
        mentions: ``"all"``: what is in no cluster is no mention. ``"named"``: names are all annotated, other mentions
            are not; where names are all that is wanted (`Document.mention_scope`) this is the same as ``"all"``.
            ``"given"``: of other spans nothing is known.
        clusters: Whether mentions of one cluster are coreferent, and those of two are not. Where not, a cluster only
            says what each of its mentions is linked to.
        links: Whether each cluster has its entity, and those without one have none; ``"some"`` where one without may
            have one.

    Raises:
        DocumentError: When a value is none of these.

    Example:
        >>> from hf_corefel import Document
        >>> from hf_corefel.documents import AnnotatedLayers
        >>> document = Document("Moss left.", clusters=[], annotated={"links": "some"})
        >>> document.annotated
        AnnotatedLayers(mentions='all', clusters=True, links='some')
    """

    mentions: Literal["all", "named", "given"] = "all"
    clusters: bool = True
    links: bool | Literal["some"] = True

    def __post_init__(self) -> None:
        checked = {
            "mentions": _choice(self.mentions, MENTION_LAYERS, "annotated.mentions"),
            "clusters": _choice(self.clusters, (True, False), "annotated.clusters"),
            "links": _choice(self.links, (True, False, "some"), "annotated.links"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> AnnotatedData:
        """Plain Python types, as `from_dict` takes them."""
        return {"mentions": self.mentions, "clusters": self.clusters, "links": self.links}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str = "annotated") -> AnnotatedLayers:
        """Reads what `to_dict` writes; a field that is missing is as in a document that is annotated in full.

        Raises:
            DocumentError: When there is an unknown field, or a bad value.
        """
        reject_unknown(data, _FIELDS, where)
        values = {name: value for name in _FIELDS if not is_missing(value := plain(data.get(name)))}
        try:
            return cls(**values)
        except DocumentError as error:
            raise DocumentError(f"{where.removesuffix('annotated')}{error}") from None


def _choice(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    """The value in plain form; raises unless it is one of the choices."""
    value = plain(value)
    if isinstance(value, str):
        value = _BOOLEANS.get(value.lower(), value)
    for choice in choices:
        if type(value) is type(choice) and value == choice:
            return choice
    listed = " or ".join(map(repr, choices))
    raise DocumentError(f"{where}: expected {listed}, got {value!r}")


def check_layers(value: Any, where: str) -> AnnotatedLayers | None:
    """Return `AnnotatedLayers` of a document, or of their dict; None for None, and for a row of a table without any.

    Args:
        value: What was given.
        where: What it is called in messages, for example ``"document.annotated"``.

    Raises:
        DocumentError: When it is something else, or has a bad value.
    """
    value = plain(value)
    if value is None or isinstance(value, AnnotatedLayers):
        return value
    if not isinstance(value, Mapping):
        expected = "expected an object with mentions, clusters and links"
        raise DocumentError(f"{where}: {expected}, got {type(value).__name__}")
    # A column of objects has one in each row, with nothing in it where there was none.
    if value and all(is_missing(plain(item)) for item in value.values()):
        return None
    return AnnotatedLayers.from_dict(value, where)
