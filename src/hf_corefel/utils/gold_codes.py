"""Numbers that stand in gold arrays where a cluster or an entity is not known.

A gold array of clusters has a number from 0 on for each span of a cluster, and one of entities a row of the document's
entities. What stands there instead is -1, no mention and no entity, or one of these, for documents whose annotation has
gaps (`hf_corefel.documents.AnnotatedLayers`).
"""

from __future__ import annotations

__all__ = ["FREE", "LEFT_OUT", "NOT_KNOWN"]

NOT_KNOWN = -2
"""In place of an entity: the link is not annotated. In place of a cluster: a mention, its cluster is not annotated.

Beside -1 for a cluster: a span that is no mention of a document in which no link is annotated."""

FREE = -3
"""In place of a cluster: the span may be a mention of a kind that is not annotated, of any cluster and entity."""

LEFT_OUT = -4
"""In place of a cluster: the span takes no part in the loss."""
