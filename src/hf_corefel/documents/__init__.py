"""The one schema of the package: what goes in (`Document`) and what comes out (`AnnotatedDocument`)."""

from __future__ import annotations

from .schema import (
    MENTION_SCOPES,
    Alternative,
    AnnotatedDocument,
    Candidate,
    Chain,
    Cluster,
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
    "Candidate",
    "Chain",
    "Cluster",
    "Document",
    "DocumentError",
    "Mention",
    "Offsets",
    "Parent",
    "Turn",
    "check_mention_scope",
]
