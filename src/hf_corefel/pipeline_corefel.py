"""``pipeline("coref-el")``: texts in, linked clusters out, as plain Python types."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Unpack, overload

import torch
from torch.utils.data import Dataset
from transformers import Pipeline

from .candidates import KnowledgeBackend
from .configuration.fields import FIELDS, READING_FIELDS
from .decoding.annotating import AnnotationOptions, annotate_batch, unread_document
from .documents import AnnotatedDocument, Document
from .documents.extra_fields import ExtraFields
from .documents.plain_values import plain
from .documents.types import DocumentResult
from .hub.fingerprint import check_fingerprint, save_fingerprint
from .hub.publishing import save_stub
from .loading.agreement import check_agreement, settled_settings
from .loading.processors import give_vectorizer, options_beside, processor_beside
from .loading.repositories import HubOptions, checked_name
from .loading.silence import DefaultCheckpoint, without_note_of_device
from .long_documents.annotating import annotate_long_document
from .long_documents.scoring import LongOutput
from .modeling_corefel import CorefELModel, CorefELOutput
from .pipelines.constraining import ConstrainedDocument, constrained
from .pipelines.describing import EntityDescriber
from .pipelines.handed_over import (
    LazyResults,
    SizedIterable,
    as_document,
    is_single,
    is_stream,
    is_words,
    items_of,
    joined,
    located,
    read_batches,
)
from .pipelines.loading import BACKENDS, load_model
from .pipelines.parameters import AnnotationParameters, CallParameters, check_batching, split_parameters
from .pipelines.preparing import complete_batch, prepare_batch, readable_batches
from .pipelines.reading import read_groups
from .pipelines.registering import register_task
from .pipelines.workers import preprocessed
from .processing.encoded_document import MOST_IN_CACHE
from .processing_corefel import CorefELProcessor
from .utils.evaluation_mode import evaluation_mode

__all__ = [
    "BACKENDS",
    "AnnotationParameters",
    "CallParameters",
    "CorefELPipeline",
    "bundled_checkpoint",
    "load_pipeline",
    "register_pipeline",
]

TASK = "coref-el"

_Input = str | Document | Mapping[str, Any]


def bundled_checkpoint() -> str:
    """Folder of the checkpoint that comes with the package, for ``from_pretrained``."""
    return str(Path(__file__).parent / "checkpoints" / "minilm-l6")


def _default_checkpoint() -> DefaultCheckpoint:
    return DefaultCheckpoint(bundled_checkpoint())


class CorefELPipeline(Pipeline):
    """Finds the mentions of a text, clusters them, and links every cluster to an entity or NIL.

    Args:
        model: A `CorefELModel`.
        processor: Its processor, or the folder or Hub id of one; loaded from where the model came from, in the same
            way, when None.
        knowledge_base: Takes the place of the processor's own, which is not downloaded then; an object, or its folder
            or Hub id.
        verify: Whether a processor that is loaded here is run with the model on one sentence, and the result
            compared with the fingerprint that was saved with them; a `FingerprintWarning` says what differs.
        **kwargs: ``revision``, ``cache_dir``, ``token``, ``local_files_only``, ``subfolder`` and ``trust_remote_code``
            replace the model's when the processor is loaded; the fields of `AnnotationParameters` hold for every call
            that does not say otherwise; the rest is passed to `Pipeline` (``device``, ``batch_size`` …).

    Raises:
        TypeError: When there is no such parameter, or it is of another type.
        ValueError: When there is no processor and the model does not say where it came from, when the model has weights
            that nobody trained, when model and processor do not fit, or a parameter is out of range.

    Example:
        >>> from hf_corefel import load_pipeline
        >>> annotate = load_pipeline()
        >>> [cluster["entity"] for cluster in annotate("Angela Merkel met Barack Obama.")["clusters"]]
        ['Angela_Merkel', 'Barack_Obama']
    """

    # The processor holds the tokenizer.
    _load_tokenizer = False
    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False
    # Left open, transformers looks for one, and asks to run its code.
    _load_video_processor = False

    _pushing = False

    def __init__(
        self,
        model: CorefELModel,
        processor: CorefELProcessor | str | Path | None = None,
        knowledge_base: KnowledgeBackend | str | Path | None = None,
        *,
        verify: bool = True,
        **kwargs: Any,
    ) -> None:
        check_batching(kwargs)
        options = options_beside(model, {name: kwargs.pop(name, None) for name in HubOptions.names()})
        model.check_weights()
        verify, given = verify and processor is None, isinstance(processor, CorefELProcessor)
        own_knowledge_base = knowledge_base is None
        processor = processor_beside(model, processor, knowledge_base, options, kwargs.pop("trust_remote_code", None))
        settings = settled_settings(model, processor, given=given)
        check_agreement(model, processor, settings)
        kwargs.pop("tokenizer", None)
        if model.only_device is not None and kwargs.get("device") is None:
            kwargs["device"] = model.only_device  # rather than the accelerator that transformers would take
        with without_note_of_device() if model.origin is not None and model.origin.default else nullcontext():
            super().__init__(model=model, **kwargs)
        chosen = model.origin is not None and model.origin.chose_dtype
        if not chosen and self.model.dtype == torch.float16 and self.device.type == "cpu":
            # Weights are stored in half precision and computed in single precision where half is slow and coarse.
            self.model.float()
        self.processor = processor
        give_vectorizer(processor.knowledge_base, model, processor.tokenizer, came_with_model=own_knowledge_base)
        # A model that was trained since it was loaded differs from its fingerprint, as it should.
        if verify and model.origin is not None and model.has_weights_as_loaded():
            check_fingerprint(
                model,
                processor,
                model.name_or_path,
                options,
                own_knowledge_base=own_knowledge_base,
                own_weights=not model.origin.quantized,
            )
        if settings != processor.settings:
            processor.settings = settings  # after the fingerprint, which is of those that were saved
        self._checked = processor.settings, self.model.config.head

    def _sanitize_parameters(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        before, after = split_parameters(kwargs, TASK)
        return before, {}, after

    # A text is an iterable, too, and the order of the others is that of the questions asked at run time.
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, inputs: _Input, **parameters: Unpack[CallParameters]
    ) -> DocumentResult: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, inputs: SizedIterable[_Input], **parameters: Unpack[CallParameters]
    ) -> list[DocumentResult]: ...

    @overload
    def __call__(self, inputs: Iterable[_Input], **parameters: Unpack[CallParameters]) -> Iterator[DocumentResult]: ...

    @overload
    def __call__(self, inputs: Dataset[Any], **parameters: Unpack[CallParameters]) -> LazyResults[DocumentResult]: ...

    def __call__(self, inputs: Any, **parameters: Unpack[CallParameters]) -> DocumentResult | Iterable[DocumentResult]:
        """Annotates texts.

        Args:
            inputs: A text, a `Document` or its dict (such as a row of a dataset), or many of these: a list, an array or
                a column, a generator or other iterator, a dataset of ``datasets`` or of torch (``KeyDataset``).
            **parameters: Documents that the model reads at once (``batch_size``), processes that prepare the next ones
                (``num_workers``), what else the results hold, and which mentions are wanted; see `CallParameters`.

        Returns:
            ``AnnotatedDocument.to_dict()`` of the document, without its ``extra``, or many of these in the order of the
            inputs. A generator, an iterator or a stream gives a generator, which reads a batch when its first result is
            asked for; a dataset of torch gives `LazyResults`, which do so and have its length; all else gives a list.

        Raises:
            DocumentError: When a document is invalid, or too long, or its constraints contradict one another or cannot
                be fulfilled; the message says what and where. Of a list nothing is annotated then; a generator gives
                the results of all documents before it first.
            TypeError: When there is no such parameter, or it or the inputs are of another type, such as a DataFrame.
            ValueError: When a parameter is out of range.
        """
        single = plain(inputs)
        in_words = self._takes_words(parameters)
        if not (is_words(single) if in_words else is_single(single)):
            many: Iterable[DocumentResult] = self._annotated(inputs, _to_dict, parameters)
            return many
        extra = ExtraFields()
        given = single if in_words else as_document(single, "inputs", extra)
        extra.say()
        if parameters.get("constraints") is not None:
            parameters["constraints"] = [parameters["constraints"]]
        results: list[DocumentResult] = self._annotated([given], _to_dict, parameters)
        return results[0]

    @overload
    def annotate(  # type: ignore[overload-overlap]
        self, inputs: SizedIterable[_Input], **parameters: Unpack[CallParameters]
    ) -> list[AnnotatedDocument]: ...

    @overload
    def annotate(
        self, inputs: Iterable[_Input], **parameters: Unpack[CallParameters]
    ) -> Iterator[AnnotatedDocument]: ...

    @overload
    def annotate(
        self, inputs: Dataset[Any], **parameters: Unpack[CallParameters]
    ) -> LazyResults[AnnotatedDocument]: ...

    def annotate(self, inputs: Any, **parameters: Unpack[CallParameters]) -> Iterable[AnnotatedDocument]:
        """As calling the pipeline on many documents, with `AnnotatedDocument`s, which keep ``extra``, as results.

        Raises:
            TypeError: Also when one text, `Document` or dict is given in place of many.
        """
        if is_single(plain(inputs)):
            raise TypeError("inputs: expected many texts or documents; put a single one into a list")
        results: Iterable[AnnotatedDocument] = self._annotated(inputs, lambda document: document, parameters)
        return results

    def _annotated(self, inputs: Any, finish: Callable[[AnnotatedDocument], Any], parameters: Mapping[str, Any]) -> Any:
        """A list, a generator or `LazyResults` of what `finish` makes of each result; arguments are checked at once."""
        check_batching(parameters)
        settings, head = self.processor.settings, self.model.config.head
        if (settings, head) != self._checked:
            # Both may be replaced at any time.
            check_agreement(self.model, self.processor, settings)
            self.model.check_weights()
            self._checked = settings, head
        given = dict(parameters)
        size, workers = given.pop("batch_size", None), given.pop("num_workers", None)
        constraints = given.pop("constraints", None)
        size = (self._batch_size or 1) if size is None else size
        workers = (self._num_workers or 0) if workers is None else workers
        before, _, after = self._sanitize_parameters(**given)
        before, after = {**self._preprocess_params, **before}, {**self._postprocess_params, **after}
        # Whole clusterings are made of scores of all pairs.
        several = after.get("samples", 0) or after.get("clusterings", 0)
        before["whole"] = self.model.reads_long_documents and not several
        in_words = before.get("is_split_into_words", False)
        read = joined if in_words else as_document
        wanted = "many lists of words" if in_words else "a text, a Document, its dict, or many of these"

        def results(
            batches: Iterable[Sequence[Document | ConstrainedDocument]], workers: int = workers, several: bool = True
        ) -> Iterator[Any]:
            prepare = self._preparation(before, workers)
            for prepared in preprocessed(batches, prepare, workers, located if several else None):
                found = self.postprocess(self.forward(prepared), **after)
                if in_words:
                    for source, document in zip(prepared["encoded"], found, strict=True):
                        document.word_offsets = source.document.words
                yield from map(finish, found)

        if not is_stream(inputs):
            read_at_once = read_batches(items_of(inputs, "inputs", wanted), read=read)
            read_documents = [document for batch in read_at_once for document in batch]
            documents: Sequence[Document | ConstrainedDocument] = read_documents
            if constraints is not None:
                documents = constrained(self.processor, read_documents, constraints)
            batches = [documents[i : i + size] for i in range(0, len(documents), size)]
            # While a single batch is prepared the model has nothing to do.
            return list(results(batches, workers if len(batches) > 1 else 0, several=len(documents) > 1))
        if constraints is not None:
            raise TypeError("constraints: a stream takes none; give a list of documents, and one of their constraints")

        def stream() -> Iterator[Any]:
            return results(read_batches(items_of(inputs, "inputs", wanted), size, read))

        return LazyResults(stream, len(inputs)) if hasattr(inputs, "__len__") else stream()

    def _takes_words(self, parameters: Mapping[str, Any]) -> bool:
        """Whether texts are lists of words in a call, or in all that do not say otherwise."""
        said = parameters.get("is_split_into_words")
        return bool(self._preprocess_params.get("is_split_into_words", False) if said is None else said)

    def _preparation(self, parameters: Mapping[str, Any], workers: int) -> Callable[[Sequence[Any]], dict[str, Any]]:
        """The step before the model, as workers take it: of a pipeline that has no model to pickle."""
        reader = self
        if workers:
            reader = copy.copy(self)
            reader.model = None
        return partial(reader.preprocess, **parameters)

    def preprocess(
        self,
        input_: Sequence[Document | ConstrainedDocument],
        mention_scope: str | None = None,
        max_document_words: int | None = None,
        max_kept_spans: int | None = None,
        whole: bool = False,
        **unused: Any,
    ) -> dict[str, Any]:
        at_once = MOST_IN_CACHE if self.device.type == "cpu" else None
        return prepare_batch(self.processor, input_, mention_scope, max_document_words, max_kept_spans, whole, at_once)

    def _forward(self, input_tensors: dict[str, Any], **unused: Any) -> dict[str, Any]:
        # A model that comes straight from training would drop units out.
        with evaluation_mode(self.model):
            input_tensors = complete_batch(self.processor, input_tensors)
            encoded, plans = input_tensors["encoded"], input_tensors["plans"]
            at_once = input_tensors["most_subwords"]
            groups = [group for group, _ in readable_batches(encoded, plans, at_once)]
            outputs, encoded = read_groups(self.model, self.processor, input_tensors["tensors"], groups, encoded)
        return {"outputs": outputs, "encoded": encoded, "plans": plans, "most_subwords": at_once}

    def postprocess(self, model_outputs: dict[str, Any], **options: Any) -> list[AnnotatedDocument]:
        encoded, outputs, asked = model_outputs["encoded"], model_outputs["outputs"], AnnotationOptions(**options)
        known = EntityDescriber(self.processor.knowledge_base, asked)
        groups = readable_batches(encoded, model_outputs["plans"], model_outputs["most_subwords"])
        annotated = itertools.chain.from_iterable(
            [annotate_long_document(self.model, output, known.url, asked, known.name)]
            if isinstance(output, LongOutput)
            else annotate_batch(self.model, CorefELOutput(**output), group, known.url, asked, plans, known.name)
            for output, (group, plans) in zip(outputs, groups, strict=True)
        )
        # A document without a word has nothing to read; it keeps its place, and its warnings.
        read = (next(annotated) if len(document.spans) else unread_document(document, asked) for document in encoded)
        return list(map(known.describe, read))

    def save_pretrained(self, save_directory: str | Path, **kwargs: Any) -> None:
        """Writes model, processor and their fingerprint to one folder, in which both say how texts were read here."""
        for name in READING_FIELDS:
            if "model" not in FIELDS[name].read_by:
                setattr(self.model.config, name, getattr(self.processor.settings, name))
        self.model.save_pretrained(save_directory, **kwargs)
        self.processor.save_pretrained(save_directory)
        if self._pushing:
            save_stub(save_directory)
        save_fingerprint(self.model, self.processor, save_directory)

    def push_to_hub(self, *args: Any, **kwargs: Any) -> Any:
        """As `PreTrainedModel.push_to_hub`: what `save_pretrained` writes, and the stub that names this package."""
        self._pushing = True
        try:
            return super().push_to_hub(*args, **kwargs)
        finally:
            self._pushing = False


def _to_dict(document: AnnotatedDocument) -> DocumentResult:
    """The result with its own fields only: results have one schema, and a dataset keeps its columns by itself."""
    document.extra = {}
    return document.to_dict()


def load_pipeline(
    model: str | Path | None = None,
    *,
    backend: str | None = None,
    dtype: torch.dtype | str | None = None,
    attn_implementation: str | None = None,
    device_map: Any = None,
    model_kwargs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> CorefELPipeline:
    """The pipeline of a saved model, the bundled checkpoint by default, without asking the Hub for anything else.

    Args:
        model: Folder or Hub id.
        backend: What computes the model: "torch", which is as good as None, or "onnx" for a folder of
            `hf_corefel.onnx_graphs.export_onnx` (extra ``[onnx]``), on the CPU.
        dtype: Precision of the model's weights (``torch.bfloat16``, ``"bfloat16"``); "int8" makes the encoder's whole
            numbers of eight bits, for a CPU; "auto" is what they were stored in. Single precision when None; of an
            exported model, what was exported.
        attn_implementation: The encoder's attention: "eager", "sdpa", "flash_attention_2" …; transformers chooses when
            None.
        device_map: Where parts of the model go ("auto" …), in place of ``device``; needs accelerate.
        model_kwargs: Further arguments of `CorefELModel.from_pretrained`, such as ``variant``, ``head`` or
            ``quantization_config``.
        **kwargs: ``revision``, ``cache_dir``, ``token``, ``local_files_only``, ``subfolder`` and ``trust_remote_code``
            hold for every part; the rest is passed to `CorefELPipeline`.

    Raises:
        ImportError: When onnxruntime is asked for and missing.
        OSError: When a file is missing.
        TypeError: When the backend takes no such argument.
        ValueError: When the name is empty, there is no such backend, or a file is damaged, names code or does not fit
            the others.
    """
    name = _default_checkpoint() if model is None else checked_name(model)
    asked = {"dtype": dtype, "attn_implementation": attn_implementation, "device_map": device_map}
    loaded = load_model(name, backend, asked, model_kwargs, kwargs)
    return CorefELPipeline(model=loaded, task=TASK, **kwargs)


def register_pipeline() -> None:
    """Makes ``transformers.pipeline("coref-el")`` known; called on import of the package."""
    register_task(TASK, CorefELPipeline, _default_checkpoint())
