"""What the tests of invariance share, in a module of its own so that spawned processes can import it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from hf_corefel import AnnotatedDocument, CorefELOutput, CorefELPipeline, CorefELProcessor, Document
from hf_corefel.pipeline_corefel import load_pipeline
from hf_corefel.processing_corefel import CorefELBatch, EncodedDocument

TOLERANCE = 1e-4

# Everything that a configuration can give the scorers to see.
EVERY_INPUT: dict[str, Any] = {
    "case_embedding_size": 3,
    "use_width_prior": True,
    "use_candidate_prior": True,
    "use_entity_product": True,
    "use_entity_context": True,
    "use_entity_support": True,
    "use_candidate_coverage": True,
    "use_pair_entities": True,
    "use_pair_matches": True,
    "use_pair_definitions": True,
    "use_speakers": True,
}

# The pipeline that forked processes find in their memory.
inherited: CorefELPipeline | None = None

Text = str | Document


def structure(result: AnnotatedDocument) -> list[tuple[str | None, list[tuple[int, int, str | None]]]]:
    """Clusters, mentions and links, without the numbers."""
    return [(c.entity, [(m.begin, m.end, m.text) for m in c.mentions]) for c in result.clusters]


def numbers(result: AnnotatedDocument) -> list[float]:
    """All probabilities, in a fixed order."""
    found = [cluster.probability for cluster in result.clusters]
    for cluster in result.clusters:
        for mention in cluster.mentions:
            found += [mention.probability, mention.edge_probability, mention.link_probability]
    return [-1.0 if number is None else number for number in found]


def assert_same(left: Sequence[AnnotatedDocument], right: Sequence[AnnotatedDocument]) -> None:
    """Texts, mentions, clusters, links and warnings equal, probabilities as close as they must be."""
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        assert (one.text, one.id, one.warnings) == (other.text, other.id, other.warnings)
        assert structure(one) == structure(other)
        far = [abs(a - b) for a, b in zip(numbers(one), numbers(other), strict=True)]
        assert max(far, default=0.0) <= TOLERANCE


def assert_rich(results: Sequence[AnnotatedDocument]) -> None:
    """Enough is compared for the comparison to mean something."""
    clusters = [cluster for result in results for cluster in result.clusters]
    assert sum(len(cluster.mentions) for cluster in clusters) >= 5
    assert sum(len(cluster.mentions) > 1 for cluster in clusters) >= 2
    assert all(0.0 <= number <= 1.0 for result in results for number in numbers(result))


def scores_of(output: CorefELOutput, b: int, spans: int, retained: int) -> dict[str, torch.Tensor]:
    """The scores of document b of a batch, which has so many spans and so many retained ones."""
    assert output.span_scores is not None and output.retained is not None and output.pair is not None
    fields = {"span_scores": output.span_scores[b, :spans], "pair": output.pair[b, :retained, :retained]}
    for name in ("retained", "mention", "link", "root_pair", "nil"):
        value = getattr(output, name)
        if value is not None:
            fields[name] = value[b, :retained]
    assert (output.retained[b, retained:] == -1).all()
    return fields


def assert_scores_close(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        torch.testing.assert_close(value, right[name], rtol=0, atol=TOLERANCE, msg=lambda text, n=name: f"{n}: {text}")


def annotate_in_fork(documents: list[Text]) -> tuple[int, list[AnnotatedDocument]]:
    """Runs in a forked process, with the pipeline that its parent had."""
    # Threads do not survive a fork; torch's own data-loading workers do the same.
    torch.set_num_threads(1)
    assert inherited is not None
    return os.getpid(), inherited.annotate(documents, batch_size=2)


def annotate_in_spawn(folder: str, documents: list[Text]) -> tuple[int, list[AnnotatedDocument]]:
    """Runs in a new process, which must load the pipeline."""
    torch.set_num_threads(1)
    return os.getpid(), load_pipeline(folder).annotate(documents, batch_size=2)


class EncodeInWorker(Dataset):
    """Documents that are encoded where they are asked for; a batch brings the number of its process."""

    def __init__(self, processor: CorefELProcessor, documents: Sequence[Text]) -> None:
        self.processor = processor
        self.documents = documents

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: int) -> EncodedDocument:
        return self.processor.encode(self.documents[index])

    def collate(self, encoded: list[EncodedDocument]) -> tuple[int, CorefELBatch]:
        return os.getpid(), CorefELBatch(self.processor.collate(encoded), encoded)
