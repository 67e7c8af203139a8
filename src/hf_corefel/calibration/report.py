"""Calibration of a model on corpora: measured, fitted, measured again, and on corpora that were not fitted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..documents import Document
from ..heads import Calibration
from ..loading.agreement import saved_config
from ..metrics import Decisions, DocumentDecisions, EntityMap
from ..metrics.entity_map import entity_map_from
from ..pipeline_corefel import CorefELPipeline
from .fitting import NothingToFitError, check_only, fit_calibration
from .measuring import measure
from .picture import reliability_picture
from .reading import ReadDocument, check_gold, read_documents

__all__ = ["CalibrationReport", "calibrate_corpora"]

Progress = Callable[[int, int], None]


@dataclass
class CalibrationReport:
    """What was measured and fitted.

    Attributes:
        before: Decisions of the model as it was, by corpus.
        calibration: What was fitted to all corpora; None where nothing was.
        after: Decisions under it, by corpus.
        left_out: By corpus what was fitted to all others.
        held_out: Decisions under these, each on the corpus that it has not seen.

    Example:
        >>> from hf_corefel.calibration import CalibrationReport
        >>> from hf_corefel.metrics import Decisions, DocumentDecisions
        >>> report = CalibrationReport({"mine": DocumentDecisions(links=Decisions([0.9, 0.8], [True, False]))})
        >>> report.pooled("links", after=False).accuracy
        0.5
    """

    before: dict[str, DocumentDecisions] = field(default_factory=dict)
    calibration: Calibration | None = None
    after: dict[str, DocumentDecisions] = field(default_factory=dict)
    left_out: dict[str, Calibration] = field(default_factory=dict)
    held_out: dict[str, DocumentDecisions] = field(default_factory=dict)

    def pooled(self, kind: str, *, after: bool) -> Decisions:
        """Return the decisions of one kind on all corpora, under what was fitted where that is wanted and there."""
        chosen = self.after if after and self.after else self.before
        return sum((getattr(each, kind) for each in chosen.values()), Decisions())

    def to_dict(self) -> dict[str, Any]:
        """Plain Python types; what was not asked for is left out."""
        found: dict[str, Any] = {"before": {name: each.to_dict() for name, each in self.before.items()}}
        if self.calibration is not None:
            found["calibration"] = self.calibration.to_dict()
            found["after"] = {name: each.to_dict() for name, each in self.after.items()}
        if self.held_out:
            found["left_out"] = {name: each.to_dict() for name, each in self.left_out.items()}
            found["held_out"] = {name: each.to_dict() for name, each in self.held_out.items()}
        return found

    def to_svg(self) -> str:
        """Reliability diagrams of links, mentions and antecedents of all corpora, before and after."""
        panels: dict[str, dict[str, Decisions]] = {}
        for kind in ("links", "mentions", "antecedents"):
            panels[kind] = {"before": self.pooled(kind, after=False)}
            if self.after:
                panels[kind]["after"] = self.pooled(kind, after=True)
        return reliability_picture(panels)

    def save(self, pipeline: CorefELPipeline, folder: str | Path) -> None:
        """Write the model with what was fitted to a folder, its weights in the type in which they were stored.

        Raises:
            ValueError: When nothing was fitted.
        """
        if self.calibration is None:
            raise ValueError("calibration: nothing was fitted")
        model = pipeline.model
        model.config.calibration = self.calibration.to_dict()
        stored, computed = getattr(saved_config(model), "dtype", None), model.dtype
        if isinstance(stored, torch.dtype):
            model.to(stored)
        pipeline.save_pretrained(folder)
        model.to(computed)


def calibrate_corpora(
    pipeline: CorefELPipeline,
    corpora: Mapping[str, Sequence[Document]],
    *,
    fit: bool = True,
    one_scale: bool = False,
    only: Collection[str] = (),
    leave_one_out: bool = False,
    entity_map: EntityMap | Mapping[str, str] | None = None,
    samples: int = 0,
    progress: Progress | None = None,
) -> CalibrationReport:
    """Measure the probabilities of a model on annotated documents, and fit a calibration to them.

    Args:
        pipeline: The model. It is not changed: ``report.calibration.to_dict()`` goes into its configuration, or
            `CalibrationReport.save` writes a calibrated model.
        corpora: Documents with gold clusters by the name of their corpus, none of which the model was trained on.
        fit: Whether a calibration is fitted; else what there is is measured.
        one_scale: Whether one scale is fitted for all scores, see `fit_calibration`.
        only: The values that are fitted, all when empty; see there.
        leave_one_out: Whether calibrations are fitted to all corpora but one, and measured on that one.
        entity_map: Which names of entities mean one thing; None compares them as they are.
        samples: How many clusterings are drawn of each document to measure antecedents; 0 leaves them out.
        progress: Called with the documents, measurements and fits that are done, and their number.

    Raises:
        ValueError: When there is no document, one has no gold clusters, a corpus would be left out that is the only
            one or without which no mention is left to fit to, or `only` is no choice of values.

    Example:
        >>> from hf_corefel import Cluster, Document, Mention, load_pipeline
        >>> from hf_corefel.calibration import calibrate_corpora
        >>> document = Document("Oslo is old.", clusters=[Cluster((Mention(0, 4),), "Oslo")])
        >>> report = calibrate_corpora(load_pipeline(), {"mine": [document]}, fit=False)
        >>> len(report.before["mine"].links)
        1
    """
    empty = [name for name, documents in corpora.items() if not documents]
    if empty or not corpora:
        raise ValueError(f"{empty[0]}: there is no document" if empty else "corpora: there is none")
    if leave_one_out and len(corpora) == 1:
        raise ValueError("leave_one_out: there is one corpus only; give another one, or leave this out")
    if (
        leave_one_out
        and len(with_gold := [name for name in corpora if any(d.clusters != [] for d in corpora[name])]) == 1
    ):
        raise ValueError(
            f"leave_one_out: without {with_gold[0]} no document has a mention, so nothing could be fitted; give "
            "another corpus, or leave this out"
        )
    check_only(only, one_scale)
    for name, documents in corpora.items():
        check_gold(documents, name)
    same = entity_map_from(entity_map)
    sizes = {name: len(documents) for name, documents in corpora.items()}
    total = sum(sizes.values()) + len(corpora) * (1 + fit + 2 * leave_one_out) + fit
    done = 0

    def advance(steps: int = 1) -> None:
        nonlocal done
        done += steps
        if progress is not None:
            progress(done, total)

    read = {
        name: read_documents(pipeline, documents, entity_map=same, progress=lambda *_: advance())
        for name, documents in corpora.items()
    }
    _warn_of(read)

    def measured(name: str, calibration: Calibration | None) -> DocumentDecisions:
        found = measure(pipeline, read[name], calibration, entity_map=same, samples=samples)
        advance()
        return found

    report = CalibrationReport(before={name: measured(name, pipeline.model.calibration) for name in read})
    if fit:
        report.calibration = fit_calibration(pipeline, read, one_scale=one_scale, only=only)
        advance()
        report.after = {name: measured(name, report.calibration) for name in read}
    if leave_one_out:
        for name in read:
            others = {other: documents for other, documents in read.items() if other != name}
            try:
                report.left_out[name] = fit_calibration(
                    pipeline, others, one_scale=one_scale, only=only, start=report.calibration
                )
            except NothingToFitError as error:
                raise NothingToFitError(f"leave_one_out: without {name}: {error}") from error
            advance()
            report.held_out[name] = measured(name, report.left_out[name])
    return report


def _warn_of(read: Mapping[str, Sequence[ReadDocument]]) -> None:
    """Warn where documents were not read as they are, with what is said of the first."""
    number = sum(map(len, read.values()))
    said = [(name, each) for name, documents in read.items() for each in documents if each.encoded.warnings]
    if said:
        (name, first), text = said[0], f"{len(said)} of {number} documents were read with warnings"
        warnings.warn(f"{text}; the first, {first.gold.name} of {name}: {first.encoded.warnings[0]}", stacklevel=3)
