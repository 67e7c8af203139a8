"""`CorefELProcessor`: documents to tensors, saved and loaded with the model."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.utils import cached_file

from .candidates import KnowledgeBackend, QuerySpans, open_knowledge_base
from .candidates.backends import open_source, save_knowledge_base
from .candidates.document_candidates import complete_vectors, known_names, missing_vectors, read_candidates
from .candidates.hub import KNOWLEDGE_BASE_FOLDER
from .configuration.field_checks import refuse_unknown
from .configuration.fields import READING_FIELDS
from .configuration.processor_settings import SETTINGS_FILE, read_settings, write_settings
from .configuration.reading_settings import ReadingSettings
from .configuration_corefel import CorefELConfig
from .documents import Document, DocumentError
from .documents.annotated_layers import NAME_SCOPES
from .documents.plain_values import plain
from .loading.adapters import place_of
from .loading.foreign_code import loading_from
from .loading.repositories import FINGERPRINT_FILE, HubOptions, checked_name, download_folder, upload_folder
from .loading.tokenizers import load_tokenizer
from .pipelines.handed_over import as_document, is_single, items_of
from .processing import (
    SubwordTokenizer,
    choose_spans,
    label_definitions,
    label_speakers,
    lay_out_windows,
    read,
    read_inner_names,
    read_speakers,
    span_cores,
    split_words,
)
from .processing.alignment import AlignmentReport
from .processing.encoded_document import CorefELBatch, EncodedDocument
from .processing.padding import pad_gold, pad_spans, pad_windows
from .processing.retention import choose_retention

__all__ = ["CorefELBatch", "CorefELProcessor", "EncodedDocument"]


class CorefELProcessor:
    """Turns texts or `Document`s into the tensors of `CorefELModel`.

    A document may bring its own words, mentions (none is pruned), candidate spans (still pruned) and candidates
    (they replace the knowledge base's for that span). Given mentions and spans stay where they are, also where they cut
    a word or a subword, cross, or nest: each is read by all the subwords that it touches. The result's `warnings` say
    where that is so, which have the same subwords, and which hold no word at all and had to be dropped.

    Args:
        tokenizer: The encoder's tokenizer.
        knowledge_base: Where candidates, priors and entity vectors come from.
        config: The model's configuration; its defaults when None.

    Raises:
        ValueError: When the knowledge base's vectors have another width than the configuration's.

    Example:
        >>> from hf_corefel import CorefELProcessor, bundled_checkpoint
        >>> processor = CorefELProcessor.from_pretrained(bundled_checkpoint())
        >>> encoded = processor.encode("Angela Merkel met Barack Obama.")
        >>> encoded.spans.offsets[0].tolist()
        [0, 6]
    """

    # As the processors of transformers have it: the first is what an input's length is read from.
    model_input_names = ("input_ids",)

    chosen_settings: frozenset[str] = frozenset()
    """Which settings the caller chose after they were saved, here or in `from_pretrained`."""

    def __init__(self, tokenizer: Any, knowledge_base: KnowledgeBackend, config: CorefELConfig | None = None) -> None:
        config = config or CorefELConfig(entity_vector_size=knowledge_base.vector_size)
        if knowledge_base.vector_size != config.entity_vector_size:
            raise ValueError(
                f"knowledge_base: its entity vectors are {knowledge_base.vector_size} wide, but "
                f"config.entity_vector_size is {config.entity_vector_size}; build it with that width"
            )
        self._setup(tokenizer, knowledge_base, ReadingSettings.of(config))

    def _setup(self, tokenizer: Any, knowledge_base: KnowledgeBackend, settings: ReadingSettings) -> None:
        self.tokenizer = tokenizer
        self.knowledge_base = knowledge_base
        self._split_subwords = SubwordTokenizer(tokenizer)
        self._settings, self._capacity = settings, self._room(settings)

    def _room(self, settings: ReadingSettings) -> int:
        """Subwords of the text in a window.

        Raises:
            ValueError: When there is no room for any.
        """
        capacity = settings.window_size - len(self._split_subwords.prefix) - len(self._split_subwords.suffix)
        if capacity <= settings.window_overlap:
            raise ValueError(f"config.window_size ({settings.window_size}) leaves no room beside special tokens")
        return capacity

    @property
    def settings(self) -> ReadingSettings:
        """How texts are read. They are replaced as a whole: ``p.settings = p.settings.replace(max_candidates=4)``."""
        return self._settings

    @settings.setter
    def settings(self, settings: ReadingSettings) -> None:
        if not isinstance(settings, ReadingSettings):
            raise TypeError(f"settings: expected ReadingSettings, got {type(settings).__name__}; see settings.replace")
        self._capacity = self._room(settings)
        before, self._settings = self._settings, settings
        changed = [name for name in READING_FIELDS if getattr(before, name) != getattr(settings, name)]
        self.chosen_settings = self.chosen_settings | frozenset(changed)

    # Loading and saving -------------------------------------------------------------------------------

    def save_pretrained(self, save_directory: str | Path, *, push_to_hub: bool = False, **kwargs: Any) -> None:
        """Writes tokenizer, settings and knowledge base beside the model.

        Args:
            save_directory: The folder.
            push_to_hub: Upload it too, see `push_to_hub`.
            **kwargs: Arguments of `push_to_hub`; ``repo_id`` is the folder's name when it is left out.

        Raises:
            TypeError: When there is another argument.
            ValueError: When the knowledge base's class is not registered, so that nobody could load it.
        """
        folder = Path(save_directory)
        if kwargs and not push_to_hub:
            raise TypeError(f"CorefELProcessor.save_pretrained takes no argument {next(iter(kwargs))!r} by itself")
        folder.mkdir(parents=True, exist_ok=True)
        self.tokenizer.save_pretrained(str(folder))
        save_knowledge_base(self.knowledge_base, folder / KNOWLEDGE_BASE_FOLDER)
        write_settings(self.settings, folder / SETTINGS_FILE)
        (folder / FINGERPRINT_FILE).unlink(missing_ok=True)  # it was of another processor
        if push_to_hub:
            self.push_to_hub(kwargs.pop("repo_id", folder.name), **kwargs)

    def push_to_hub(self, repo_id: str, *, commit_message: str = "Upload processor", **kwargs: Any) -> Any:
        """Uploads what `save_pretrained` writes, the knowledge base included.

        Args:
            repo_id: The model's repository on the Hub, made when it does not exist.
            commit_message: Summary of the commit.
            **kwargs: ``private``, ``token``, ``revision`` (a branch, made when it does not exist), ``create_pr``.

        Returns:
            The `huggingface_hub.CommitInfo`.
        """
        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            stale = [FINGERPRINT_FILE, f"{KNOWLEDGE_BASE_FOLDER}/*"]
            return upload_folder(folder, repo_id, commit_message=commit_message, delete_patterns=stale, **kwargs)

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        knowledge_base: KnowledgeBackend | str | Path | None = None,
        **kwargs: Any,
    ) -> CorefELProcessor:
        """Loads what `save_pretrained` wrote.

        Args:
            pretrained_model_name_or_path: Folder, or Hub id; where an adapter of PEFT has no processor, that of its
                base is loaded.
            knowledge_base: Takes the place of the saved one, which is not downloaded then; an object, or its folder or
                Hub id.
            **kwargs: Settings to change (``max_candidates``, ``window_size`` …); ``revision``, ``token``,
                ``cache_dir``, ``local_files_only`` and ``subfolder``; ``trust_remote_code`` lets code run that the
                tokenizer's files name, which is refused without a question by default.

        Raises:
            OSError: When there is no processor; the message names the missing file.
            TypeError: When there is no such argument.
            ValueError: When a file is damaged, names code, or has a bad value; the message names it and the field.
        """
        name = checked_name(pretrained_model_name_or_path, "processor")
        options, trust = HubOptions.pick(kwargs), kwargs.pop("trust_remote_code", None) is True
        changed = {field: kwargs.pop(field) for field in READING_FIELDS if field in kwargs}
        known = {*HubOptions.names(), "trust_remote_code", *READING_FIELDS}
        # Names that begin with an underscore are what the Auto classes tell each other.
        refuse_unknown((key for key in kwargs if not key.startswith("_")), known, "CorefELProcessor.from_pretrained")
        name, options = place_of(SETTINGS_FILE, name, options)
        with loading_from(name, options, trust_remote_code=trust):
            path = cached_file(name, SETTINGS_FILE, **options.to_kwargs())
            settings = read_settings(path)
            if changed:
                chosen = {**settings.to_dict(), **changed}
                settings = ReadingSettings.checked(chosen, "CorefELProcessor.from_pretrained: ")
            if knowledge_base is None:
                opened = open_source(download_folder(name, KNOWLEDGE_BASE_FOLDER, options))
            elif isinstance(knowledge_base, str | Path):
                opened = open_knowledge_base(knowledge_base)
            else:
                opened = knowledge_base
            processor = cls.__new__(cls)
            tokenizer = load_tokenizer(name, options, trust_remote_code=trust)
            try:
                processor._setup(tokenizer, opened, settings)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
            processor.chosen_settings = frozenset(changed)
        return processor

    def with_knowledge_base(self, knowledge_base: KnowledgeBackend) -> CorefELProcessor:
        """The same processor with another knowledge base, whose vectors must be as wide."""
        if knowledge_base.vector_size != self.knowledge_base.vector_size:
            raise ValueError(
                f"knowledge_base: its entity vectors are {knowledge_base.vector_size} wide, "
                f"the model expects {self.knowledge_base.vector_size}"
            )
        processor = type(self).__new__(type(self))
        processor._setup(self.tokenizer, knowledge_base, self.settings)
        processor.chosen_settings = self.chosen_settings
        return processor

    # Encoding -----------------------------------------------------------------------------------------

    def __call__(
        self,
        text: str | Document | Mapping[str, Any] | Iterable[str | Document | Mapping[str, Any]],
        *,
        gold: bool = False,
        return_tensors: str | None = "pt",
        **unknown: Any,
    ) -> CorefELBatch:
        """Encodes documents as one batch: ``model(**processor(text))``.

        Args:
            text: A text, a `Document` or its dict, or many of these.
            gold: Adds the gold tensors, for the loss. Each document needs gold clusters then, be it none at all
                (``clusters=[]``).
            return_tensors: "pt" for tensors, "np" for arrays of numpy.
            **unknown: Nothing: documents are padded to the longest, and read in windows where they are long, never cut.

        Raises:
            DocumentError: When something is no document, an invalid one, or lacks gold that is asked for.
            TypeError: When there is another argument, or no text.
            ValueError: When there is no document, or no such kind of tensors.
        """
        if unknown:
            raise TypeError(
                f"CorefELProcessor takes no argument {next(iter(unknown))!r}: documents are padded to the longest, and "
                "read in windows where they are long, never cut"
            )
        if return_tensors not in (None, "pt", "np"):
            raise ValueError(f'return_tensors: expected "pt" or "np", got {return_tensors!r}')
        single = plain(text)
        several = [single] if is_single(single) else items_of(text, "text", "a text, a Document, its dict, or many")
        documents = [as_document(item, f"text[{number}]") for number, item in enumerate(several)]
        encoded = self.complete([self.encode(document, later_vectors=True) for document in documents])
        tensors: dict[str, Any] = self.collate(encoded, gold=gold)
        if return_tensors == "np":
            tensors = {name: value.numpy() for name, value in tensors.items()}
        return CorefELBatch(tensors, encoded)

    def encode(
        self,
        document: str | Document,
        *,
        max_kept_spans: int | None = None,
        later_vectors: bool = False,
        whole: bool = False,
    ) -> EncodedDocument:
        """Encodes one document.

        Args:
            document: A text or a document.
            max_kept_spans: Takes the place of the setting of this name.
            later_vectors: Leave vectors of entities that a knowledge base makes when they are needed for `complete`.
            whole: Keep all spans of a document that wants more than the setting ``max_kept_spans``, for
                `hf_corefel.long_documents`, see `EncodedDocument.is_long`. A bound that is given here stays one.

        Raises:
            DocumentError: When a document is invalid.
        """
        if isinstance(document, str):
            document = Document(document)
        text = document.text
        scope, settings = self._scope(document)
        reading = read(text)
        words = split_words(reading, document.words)
        subwords = self._split_subwords(reading, words)
        ends = subwords.last[subwords.last >= 0] + 1
        sentences = subwords.last[words.ends_sentence & (subwords.last >= 0)] + 1
        windows = lay_out_windows(len(subwords), ends, sentences, self._capacity, settings.window_overlap)
        known = partial(known_names, self.knowledge_base)
        spans, warnings = choose_spans(
            text,
            words,
            subwords,
            settings.max_span_words,
            settings.max_span_pieces,
            mentions=document.mentions,
            spans=document.spans,
            candidates=document.candidates,
            known=known,
        )
        if document.mentions is not None:
            spans = read_inner_names(text, spans, words, subwords, known)
        is_given = document.mentions is not None
        retention = choose_retention(
            settings, len(words), len(spans), given=is_given, bound=max_kept_spans, whole=whole
        )
        queries = QuerySpans(spans.offsets, spans.named)
        limits = settings.max_candidates
        found = read_candidates(self.knowledge_base, document, queries, limits, later_vectors=later_vectors)
        turns = read_speakers(text) if document.speakers is None else document.speakers
        return EncodedDocument(
            document=document,
            subword_ids=subwords.ids,
            windows=windows,
            word_forms=words.form,
            spans=spans,
            definitions=label_definitions(text, words, spans),
            speakers=label_speakers(text, words, spans, turns),
            cores=span_cores(text, words, spans),
            limit=retention.limit,
            scope=scope,
            keep_all=is_given,
            candidate_rows=found.entities.rows,
            log_priors=found.log_priors,
            entities=found.entities.names,
            entity_ids=found.entities.ids,
            entity_vectors=found.entities.vectors,
            warnings=warnings + retention.warnings + found.warnings,
            max_partners=retention.max_partners,
            names_only=bool(settings.scope_names) and settings.scope_names[scope] in NAME_SCOPES,
        )

    @property
    def special_tokens(self) -> tuple[list[int], list[int]]:
        """Ids of the special tokens before and behind the subwords of a window."""
        return self._split_subwords.prefix, self._split_subwords.suffix

    def complete(self, documents: Sequence[EncodedDocument]) -> list[EncodedDocument]:
        """Return encoded documents with the vectors of entities that were left for later, made for all at once.

        Raises:
            KnowledgeBaseError: When the knowledge base has nothing to make them with.
        """
        lacking = [n for n, document in enumerate(documents) if missing_vectors(document.entity_vectors).any()]
        completed = list(documents)
        if lacking:
            ids, known = zip(*((documents[n].entity_ids, documents[n].entity_vectors) for n in lacking), strict=True)
            for number, vectors in zip(lacking, complete_vectors(self.knowledge_base, ids, known), strict=True):
                completed[number] = replace(documents[number], entity_vectors=vectors)
        return completed

    def _scope(self, document: Document) -> tuple[int, ReadingSettings]:
        """Number of a document's mention scope (`default_mention_scope` if it has none), and the settings under it."""
        scopes, name = self.settings.scope_names, document.mention_scope
        if name is not None and name not in scopes:
            listed = ", ".join(self.settings.mention_scopes or ())
            known = f"takes {listed}" if scopes else "was trained with one scope only; leave it out"
            raise DocumentError(f"{document.name}.mention_scope: {name!r}, but this model {known}")
        if not scopes:
            return 0, self.settings
        scope = name or self.settings.default_scope or scopes[0]
        return scopes.index(scope), self.settings.of_scope(scope)

    # Batching -----------------------------------------------------------------------------------------

    def collate(self, documents: Sequence[EncodedDocument], *, gold: bool = False) -> dict[str, Tensor]:
        """Pads encoded documents to the tensors of `CorefELModel.forward`, which names their shapes.

        Raises:
            DocumentError: When gold is asked for, and a document has no gold clusters.
            ValueError: When there is no document.
        """
        if not documents:
            raise ValueError("documents: a batch needs at least one")
        windows = pad_windows(documents, *self.special_tokens, self.tokenizer.pad_token_id or 0)
        arrays = {**windows, **pad_spans(documents), **(pad_gold(documents) if gold else {})}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def alignment_report(self, documents: Sequence[Document]) -> AlignmentReport:
        """What gold the candidate spans and the knowledge base can reach, over many documents.

        Raises:
            DocumentError: When a document is invalid, or has no gold clusters.
        """
        return sum((self.encode(document).align().report for document in documents), AlignmentReport())
