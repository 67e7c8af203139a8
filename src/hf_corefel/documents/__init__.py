"""The one schema of the package: what goes in (`Document`) and what comes out (`AnnotatedDocument`)."""

from __future__ import annotations

from .constraints import LinkGroup
from .schema import (
    MENTION_SCOPES,
    Alternative,
    AnnotatedDocument,
    AnnotatedLayers,
    Candidate,
    Chain,
    Cluster,
    Clustering,
    Constraints,
    Document,
    DocumentError,
    Mention,
    Offsets,
    Parent,
    Turn,
    check_mention_scope,
)

__all__ = [
    "MENTION_SCOPES",
    "Alternative",
    "AnnotatedDocument",
    "AnnotatedLayers",
    "Candidate",
    "Chain",
    "Cluster",
    "Clustering",
    "Constraints",
    "Document",
    "DocumentError",
    "LinkGroup",
    "Mention",
    "Offsets",
    "Parent",
    "Turn",
    "check_mention_scope",
]
