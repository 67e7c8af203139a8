"""A component of spaCy: ``nlp.add_pipe("coref_el")`` annotates documents with clusters and links; extra ``[spacy]``.

After ``pip install hf-corefel[spacy]`` spaCy knows its name. Each document then has

- ``doc.spans["coref_clusters_1"]`` and so on: the mentions of each cluster, with the entity in ``span.kb_id_``;
- ``doc.ents``: the outermost mentions, labelled ``MENTION``, with ``ent.kb_id_`` (unless ``set_ents`` is off);
- ``doc._.coref_clusters``: the clusters as lists of spans;
- ``doc._.coref_warnings``: whatever was dropped or changed on the way, in words, as a result's ``warnings``.

The model reads ``doc.text`` in words of its own. Where a mention begins or ends within a token of spaCy,
``alignment_mode`` says what becomes of it: ``"expand"`` takes the whole tokens, ``"contract"`` those within, and
``"strict"`` leaves the mention out. A warning counts what was changed or left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .documents import AnnotatedDocument
from .formats.docbin import CLUSTERS, import_spacy, put_clusters

import_spacy()
from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc, Span  # noqa: E402

if TYPE_CHECKING:
    from .pipeline_corefel import CorefELPipeline

__all__ = ["CorefELComponent", "make_coref_el"]

_MODES = ("expand", "contract", "strict")
_WARNINGS = "coref_warnings"
# Parameters of a call that the component has as fields of its own, or that documents of spaCy cannot take.
_NOT_PARAMETERS = {"batch_size": "it is a field of its own beside parameters", "is_split_into_words": "texts are whole"}


def coref_clusters(doc: Doc) -> list[list[Span]]:
    """Return the clusters of a document as lists of spans: the extension ``doc._.coref_clusters``."""
    keys = sorted((key for key in doc.spans if key.startswith(CLUSTERS)), key=lambda key: (len(key), key))
    return [list(doc.spans[key]) for key in keys]


def coref_warnings(doc: Doc) -> list[str]:
    """Return what was dropped or changed in annotating a document: the extension ``doc._.coref_warnings``."""
    return list(doc.user_data.get(_WARNINGS, ()))


for _name, _getter in (("coref_clusters", coref_clusters), ("coref_warnings", coref_warnings)):
    if not Doc.has_extension(_name):
        Doc.set_extension(_name, getter=_getter)


class CorefELComponent:
    """Annotates documents of spaCy; see the module.

    Args:
        model: A saved model or its id on the Hub; the bundled checkpoint when None. It is loaded when the first
            document comes.
        device: Where it runs, as for `load_pipeline`.
        batch_size: Documents that it reads at once, or fewer where ``nlp.pipe(…, batch_size=…)`` says so.
        alignment_mode: What becomes of mentions that cut a token.
        set_ents: Whether ``doc.ents`` are set; the ones of components before are replaced then.
        parameters: Parameters of the pipeline's call, such as ``{"min_probability": 0.5}``.
        options: Further arguments of `load_pipeline`, such as ``{"knowledge_base": "my_kb", "dtype": "bfloat16"}``.

    Raises:
        ValueError: When a value is none of those that it may be; the message names the field. What is wrong with
            ``model`` or ``options`` is said when the first document comes.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        device: str | None = None,
        batch_size: int = 8,
        alignment_mode: str = "expand",
        set_ents: bool = True,
        parameters: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        if alignment_mode not in _MODES:
            raise ValueError(f"alignment_mode: expected one of {', '.join(_MODES)}, got {alignment_mode!r}")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size: expected a whole number from 1, got {batch_size!r}")
        self.model, self.device, self.batch_size = model, device, batch_size
        self.alignment_mode, self.set_ents = alignment_mode, set_ents
        self.parameters, self.options = dict(parameters or {}), dict(options or {})
        for name in ("model", "device"):
            if name in self.options:
                raise ValueError(f"options: {name} is a field of its own beside options; say it there")
        for name, reason in _NOT_PARAMETERS.items():
            if name in self.parameters:
                raise ValueError(f"parameters: {name} cannot be given here, for {reason}")
        self._pipeline: CorefELPipeline | None = None

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one document, in place."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int | None = None) -> Iterator[Doc]:
        """Annotate documents in batches, in place."""
        docs, size = iter(stream), batch_size or self.batch_size
        while batch := list(islice(docs, size)):
            # A text without a word has no mention.
            texts = [doc.text for doc in batch]
            found = self._annotator()(texts, batch_size=min(size, self.batch_size), **self.parameters)
            for doc, result in zip(batch, found, strict=True):
                self._annotate(doc, AnnotatedDocument.from_dict(result))
                yield doc

    def _annotate(self, doc: Doc, result: AnnotatedDocument) -> None:
        doc.user_data.pop(_WARNINGS, None)
        if result.warnings:
            doc.user_data[_WARNINGS] = result.warnings
        left_out, changed = put_clusters(doc, result.clusters, self.alignment_mode, set_ents=self.set_ents)
        if left_out or changed:
            warnings.warn(
                f"coref_el: of a document of {len(doc)} tokens, {changed} mentions that cut a token were changed and "
                f"{left_out} left out (alignment_mode={self.alignment_mode!r})",
                stacklevel=3,
            )

    def _annotator(self) -> CorefELPipeline:
        if self._pipeline is None:
            from .pipeline_corefel import load_pipeline

            placed: dict[str, Any] = {} if self.device is None else {"device": self.device}
            self._pipeline = load_pipeline(self.model, **placed, **self.options)
        return self._pipeline

    # Configuration says all there is: a saved pipeline names its model, as its config.cfg does, and has no weights.
    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save nothing beside the configuration, which spaCy saves."""

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> CorefELComponent:
        """Return the component as the configuration has made it."""
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return nothing beside the configuration, which spaCy saves."""
        return b""

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> CorefELComponent:
        """Return the component as the configuration has made it."""
        return self


@Language.factory(
    "coref_el",
    assigns=["doc.spans", "doc.ents", "doc._.coref_clusters", "doc._.coref_warnings"],
    default_config={
        "model": None,
        "device": None,
        "batch_size": 8,
        "alignment_mode": "expand",
        "set_ents": True,
        "parameters": {},
        "options": {},
    },
)
def make_coref_el(
    nlp: Language,
    name: str,
    model: str | None,
    device: str | None,
    batch_size: int,
    alignment_mode: str,
    set_ents: bool,
    parameters: dict[str, Any],
    options: dict[str, Any],
) -> CorefELComponent:
    """Return the component of the name ``coref_el``; the arguments are those of `CorefELComponent`."""
    return CorefELComponent(
        model,
        device=device,
        batch_size=batch_size,
        alignment_mode=alignment_mode,
        set_ents=set_ents,
        parameters=parameters,
        options=options,
    )
