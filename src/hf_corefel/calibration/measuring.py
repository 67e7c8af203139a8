"""How far probabilities are off: the decisions of a model under a calibration, on documents that were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..candidates.entity_facts import wikidata_id
from ..decoding.annotating import AnnotationOptions, annotate_batch
from ..documents import AnnotatedDocument
from ..heads import Calibration
from ..metrics import DocumentDecisions, EntityMap, document_decisions
from ..modeling_corefel import CorefELModel
from ..pipeline_corefel import CorefELPipeline
from .reading import ReadDocument

__all__ = ["annotate_read", "calibrated", "measure"]


_ALL = 1_000_000


@contextmanager
def calibrated(model: CorefELModel, calibration: Calibration | None) -> Iterator[None]:
    """Give a model another calibration while inside; None is none."""
    before = model.config.calibration
    model.config.calibration = None if calibration is None else calibration.to_dict()
    try:
        yield
    finally:
        model.config.calibration = before


def annotate_read(
    pipeline: CorefELPipeline, read: Sequence[ReadDocument], calibration: Calibration | None, *, samples: int = 0
) -> list[AnnotatedDocument]:
    """Return the results of documents under a calibration, as the pipeline would give them.

    Of documents that are too long for `read_documents` to read whole, the spans that it left out are missing.

    Args:
        pipeline: The model that has read them.
        read: The documents.
        calibration: It takes the place of the model's own; None is none.
        samples: How many clusterings are drawn of each document.
    """
    # Of all alternatives only NIL is read, whatever its place.
    options = AnnotationOptions(samples=samples, seed=0, top_k=_ALL)
    results = []
    with calibrated(pipeline.model, calibration):
        for document in read:
            results += annotate_batch(pipeline.model, document.output, [document.encoded], options=options)
    return results


def measure(
    pipeline: CorefELPipeline,
    read: Sequence[ReadDocument],
    calibration: Calibration | None,
    *,
    entity_map: EntityMap | Mapping[str, str] | None = None,
    samples: int = 0,
) -> DocumentDecisions:
    """Return the decisions of a model under a calibration, and what gold says of them.

    Args:
        pipeline: The model that has read the documents.
        read: The documents.
        calibration: It takes the place of the model's own; None is none.
        entity_map: The one that they were read with.
        samples: How many clusterings are drawn of each document to tell how probable antecedents are; 0 leaves them
            out, which is faster.
    """
    predicted = annotate_read(pipeline, read, calibration, samples=samples)
    knowledge_base = pipeline.processor.knowledge_base
    return document_decisions(
        [document.gold for document in read],
        predicted,
        entity_map=entity_map,
        wikidata=lambda entity: wikidata_id(knowledge_base, entity),
    )
