"""The one function behind all engines: documents in, for each its result or what went wrong."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..documents import AnnotatedDocument, Document, DocumentError

__all__ = ["MAX_DOCUMENT_WORDS", "Annotator", "BulkError", "Failure"]

# Words of a document unless told otherwise.
MAX_DOCUMENT_WORDS = 100_000
_TASK = "coref-el"


class BulkError(ValueError):
    """A job cannot begin or go on; the message says why and what to do.

    Example:
        >>> from hf_corefel.bulk import BulkError
        >>> issubclass(BulkError, ValueError)
        True
    """


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be read or annotated.

    Attributes:
        id: That of the document, or the place of what could not be read.
        error: Why.

    Example:
        >>> from hf_corefel.bulk import Failure
        >>> Failure("a.txt", "no UTF-8 text").to_dict()
        {'id': 'a.txt', 'error': 'no UTF-8 text'}
    """

    id: str | int
    error: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain types."""
        return {"id": self.id, "error": self.error}


@dataclass
class Annotator:
    """Annotates lists of documents, with a pipeline that is loaded when the first one comes.

    It can be pickled, without what it has loaded, for worker processes and the actors and executors of other engines.

    Args:
        model: Folder or Hub id; the bundled checkpoint when None.
        loading: Further arguments of `load_pipeline`: ``device``, ``knowledge_base``, ``revision`` …
        parameters: `AnnotationParameters` of every call.
        max_document_words: A longer document is a failure.
        pack: Whether the model reads the documents of a list at once; otherwise each is read by itself, which makes
            its result the same to the byte whatever comes with it. By default on an accelerator only: a CPU gains
            nothing.
        pipeline: A pipeline that is there already.
        say: Told what is to be known of the loading.

    Raises:
        BulkError: When the pipeline takes no such parameter, or no such value of it.

    Example:
        >>> from hf_corefel.bulk import Annotator
        >>> Annotator(parameters={"top_k": 2}).pipeline is None
        True
    """

    model: str | None = None
    loading: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    max_document_words: int | None = MAX_DOCUMENT_WORDS
    pack: bool | None = None
    pipeline: Callable[..., Any] | None = None
    say: Callable[[str], None] | None = None
    has_process: bool = False
    """Whether the process is there for it alone, and may be told how to compute and what not to say."""

    _loaded: Callable[..., Any] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # One of another kind may take others.
        if self.pipeline is None or getattr(self.pipeline, "task", None) == _TASK:
            self.parameters = _checked(self.parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loaded": None, "say": None}

    def load(self) -> Callable[..., Any]:
        """Return the pipeline, loaded if it is not yet.

        Raises:
            BulkError: When it cannot be loaded.
        """
        if self.pipeline is not None:
            return self.pipeline
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> Callable[..., Any]:
        if self.has_process:
            # Sums depend on how many threads share them, by rounding; and workers share the cores anyway.
            os.environ.setdefault("OMP_NUM_THREADS", "1")
        from ..pipeline_corefel import load_pipeline

        if self.has_process:
            _settle_process()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                loaded: Callable[..., Any] = load_pipeline(self.model, **self._opened())
        # Libraries say in many ways that a file is damaged or that there is no such device.
        except Exception as error:
            where = "" if self.loading.get("device") is None else f" on the device {self.loading['device']}"
            name = "of the package" if self.model is None else self.model
            raise BulkError(f"cannot load the model {name}{where}: {str(error) or type(error).__name__}") from error
        for warning in caught:
            if self.say is not None and issubclass(warning.category, UserWarning | RuntimeWarning):
                self.say(str(warning.message))
        return loaded

    def _opened(self) -> dict[str, Any]:
        options = dict(self.loading)
        if isinstance(options.get("knowledge_base"), str):
            from ..candidates import open_knowledge_base

            options["knowledge_base"] = open_knowledge_base(options["knowledge_base"])
        return options

    @property
    def packs(self) -> bool:
        """Whether documents are read together; loads the pipeline to find out where that runs."""
        if self.pack is None:
            device = getattr(self.load(), "device", None)
            return getattr(device, "type", "cpu") != "cpu"
        return self.pack

    def __call__(self, documents: Sequence[Document]) -> list[AnnotatedDocument | Failure]:
        """Return the result of each document, or why there is none, in their order."""
        found: list[AnnotatedDocument | Failure | None] = [self._too_long(document) for document in documents]
        left = [place for place, failure in enumerate(found) if failure is None]
        if left and self.packs:
            results = self._together([documents[place] for place in left])
        else:
            results = [self._alone(documents[place]) for place in left]
        for place, result in zip(left, results, strict=True):
            found[place] = result
        return [item for item in found if item is not None]

    def _too_long(self, document: Document) -> Failure | None:
        # Brings along more than a process that only hands out work needs.
        from ..processing import check_length

        try:
            if self.max_document_words is not None:
                check_length(document, self.max_document_words)
        except DocumentError as error:
            return Failure(_name(document), str(error))
        return None

    def _together(self, documents: list[Document]) -> list[AnnotatedDocument | Failure]:
        try:
            return self._read(documents)
        except Exception:  # noqa: BLE001 - one of them is bad, or all are too much at once: each alone
            return [self._alone(document) for document in documents]

    def _alone(self, document: Document) -> AnnotatedDocument | Failure:
        self.load()
        try:
            return self._read([document])[0]
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs this document only
            # RuntimeError is also how torch says that memory ran out: the next one may be smaller.
            foreseen = isinstance(error, ValueError | RuntimeError | MemoryError | OSError) and str(error)
            reason = str(error) if foreseen else f"{type(error).__name__} {error}".rstrip()
            return Failure(_name(document), reason)

    def _read(self, documents: list[Document]) -> list[AnnotatedDocument | Failure]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # results have their own
            found = self.load()(documents, batch_size=len(documents), **self.parameters)
        results: list[AnnotatedDocument | Failure] = []
        for source, data in zip(documents, found, strict=True):
            result = AnnotatedDocument.from_dict(data)
            results.append(replace(result, extra=source.extra) if source.extra else result)
        return results


def _checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the pipeline is to be told, in plain form; a slip would cost every document, one by one."""
    said = {name: value for name, value in parameters.items() if value is not None}
    if not said:
        return {}
    for name in ("batch_size", "constraints"):
        if name in said:
            raise BulkError(f"parameters: {name} is said of single calls of the pipeline, not of all; leave it out")
    # Brings along more than a process that has nothing to check needs.
    from ..pipelines.parameters import check_batching, split_parameters

    batching = {name: said.pop(name) for name in ("num_workers",) if name in said}
    try:
        check_batching(batching)
        before, after = split_parameters(said, _TASK)
    except (TypeError, ValueError) as error:
        raise BulkError(f"parameters: {error}") from error
    return {**batching, **before, **after}


def _settle_process() -> None:
    """Have this process compute with as many threads as are asked for, and its libraries say nothing by themselves."""
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"].partition(",")[0]))
    if "transformers" in sys.modules:
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()


def _name(document: Document) -> str | int:
    return "" if document.id is None else document.id
