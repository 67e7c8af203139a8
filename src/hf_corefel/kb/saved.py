"""The part of a knowledge base that opens, saves and compares folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from ..candidates.hub import saved_place
from .configuration_file import read_config
from .content import content_fingerprint
from .errors import KnowledgeBaseError
from .fallback import Fallback, FallbackIndex
from .folder import open_folder
from .hub import HubAccess, find_folder
from .lazy_vectors import LazyVectors
from .merging import merge_changes
from .overlay import Overlay
from .projection import Projection
from .saving import current_identity, save_folder, writers_lock
from .tables import Tables, check_metadata, index_fingerprint
from .vector_table import VectorTable
from .view import Changes, KnowledgeBaseView

__all__ = ["SavedKnowledgeBase"]


class SavedKnowledgeBase(KnowledgeBaseView):
    """Opens, saves and compares folders. Use `KnowledgeBase`."""

    def __init__(
        self,
        tables: Tables,
        *,
        changes: Changes | None = None,
        fallback: Fallback = "none",
        indexes: dict[Fallback, FallbackIndex] | None = None,
    ) -> None:
        """Takes finished tables; use `build`, `from_jsonl` or `from_pretrained`."""
        super().__init__(tables, changes or Changes(), fallback, indexes if indexes is not None else {})
        self._folder: Path | None = None
        # The tables as they were opened, and what lazy vectors come from where that is not in the folder.
        self._opened: Tables | None = None
        self._adopted: tuple[Projection, np.ndarray, np.ndarray] | None = None
        self._saved_fingerprint: str | None = None
        self._saved_indexes: dict[Fallback, str] = {}
        self._fingerprint: str | None = None
        self._content_fingerprint: str | None = None
        # By folder, what this object read or wrote there last: anything else there is the work of others.
        self._identities: dict[str, str] = {}
        # By folder, which object saves it when an edit ends; objects that come from that one share this.
        self._edited: dict[str, SavedKnowledgeBase] = {}

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        *,
        fallback: Fallback | None = None,
        check: bool | None = None,
        **options: Unpack[HubAccess],
    ) -> Self:
        """Opens what `save_pretrained` wrote, memory-mapped.

        Args:
            folder: The folder, or ``organisation/name`` of a repository on the Hub; also those of a model that has a
                knowledge base.
            fallback: Takes the place of the one that was saved. Its index is made in memory when it is needed;
                save the knowledge base again to have it mapped.
            check: Read all files once and compare their checksums, which takes as long as reading them takes.
                Otherwise this is done with the tries only, which a damaged one would make crash the process, and the
                sizes of the others; what a look-up takes from these is still refused when it cannot be right, such
                as a prior above 1. None, the default, reads all of a folder of up to 256 MiB, and of a larger one the
                tries; `verify` reads all of it at any time.
            **options: ``revision``, ``token``, ``cache_dir``, ``local_files_only``, ``subfolder``.

        Raises:
            KnowledgeBaseError: When a file is missing or damaged, of an unknown format version, or cannot be fetched.
            OSError: When a file cannot be read.
        """
        folder = find_folder(folder, **options).absolute()
        opened = open_folder(folder, check=check)
        kb = cls(
            opened.tables,
            fallback=opened.fallback if fallback is None else fallback,
            indexes={opened.fallback: opened.index} if opened.index is not None else {},
        )
        kb._opened = opened.tables
        kb._folder, kb._lazy = folder, LazyVectors(folder)
        kb._saved_fingerprint = kb._fingerprint = opened.fingerprint
        kb._content_fingerprint = opened.content_fingerprint
        if opened.index_fingerprint is not None:
            kb._saved_indexes = {opened.fallback: opened.index_fingerprint}
        kb._identities[_key(folder)] = opened.identity
        return kb

    @classmethod
    @contextmanager
    def edit(cls, folder: str | Path, *, fallback: Fallback | None = None) -> Iterator[Self]:
        """Opens a saved knowledge base to change it, and saves it when the block ends without an error.

        Other processes and threads that want to save to the folder wait meanwhile, so that no change is lost.

        Args:
            folder: The folder; that of a model stands for the model's knowledge base.
            fallback: Takes the place of the one that was saved.

        Yields:
            The knowledge base.

        Raises:
            KnowledgeBaseError: As `from_pretrained` does.
            OSError: When it cannot be saved. The folder is as before then.
        """
        folder = saved_place(folder)
        # Says what is wrong with a folder that is none before a lock is put there.
        read_config(folder)
        with writers_lock(folder):
            kb = cls.from_pretrained(folder, fallback=fallback)
            kb._edited[_key(folder)] = kb
            try:
                yield kb
                kb._write(folder)
            finally:
                kb._edited.clear()

    @property
    def saved_folder(self) -> Path | None:
        """The folder that it was opened from; None for one that was built."""
        return self._folder

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes the folder that `from_pretrained` opens, with what was added and without what was removed.

        The folder changes in one step once all is written and read back: before it holds what it held, also when the
        writing ends half-way. Processes that have an older one open keep theirs, and so does this object.

        Args:
            folder: The folder; that of a model stands for the model's knowledge base, as in `from_pretrained`.

        Raises:
            KnowledgeBaseError: When this object was opened from the folder or saved there, and another process has
                changed it since, whose work would be lost; when another object has the folder open in an `edit` that
                this one comes from; or when a file that this object was opened from is damaged.
            OSError: When a file cannot be written, or another process is writing the folder for long.
        """
        folder = saved_place(folder)
        editing = self._edited.get(_key(folder))
        if editing is not None and editing is not self:
            raise KnowledgeBaseError(
                f"{folder}: KnowledgeBase.edit has it open and saves the object that it gave when the block ends, "
                "which would undo this; save after the block (edit takes a fallback itself)"
            )
        # Before others have to wait.
        whole = self.merged()
        whole._index(whole._fallback)
        # Whoever edits the folder holds its lock.
        with nullcontext() if editing is self else writers_lock(folder):
            self._write(folder, whole)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        commit_message: str = "Upload knowledge base",
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Uploads what `save_pretrained` writes to a repository, with a card where there is none yet.

        In a model's repository it takes the place of the model's knowledge base, which is what `from_pretrained` opens
        by the name of that repository; all else there stays.

        Args:
            repo_id: ``organisation/name``; a model repository, made when it does not exist.
            commit_message: Summary of the commit.
            private: Whether a new repository is private; None leaves it to the organisation.
            token: The user's token; the stored one when None.
            revision: A branch, made when it does not exist; ``main`` when None.
            **kwargs: Passed to `HfApi.upload_folder`, such as ``create_pr``.

        Returns:
            The `huggingface_hub.CommitInfo`.

        Raises:
            ValueError: When it must be private and the repository is there already, in public, or when the repository
                is that of a model without a knowledge base.
        """
        from .pushing import push_knowledge_base

        return push_knowledge_base(
            self, repo_id, commit_message=commit_message, private=private, token=token, revision=revision, **kwargs
        )

    def _write(self, folder: Path, whole: Self | None = None) -> None:
        """Save to a folder whose lock is held; `whole` is this knowledge base with its changes written in."""
        known, now = self._identities.get(_key(folder)), current_identity(folder)
        if known is not None and now is not None and now != known:
            raise KnowledgeBaseError(
                f"{folder}: another process has changed it since it was opened here, and saving would undo that; open "
                "it again with KnowledgeBase.edit and repeat your changes, or save to another folder"
            )
        whole = self.merged() if whole is None else whole
        index = whole._index(whole._fallback)
        self._identities[_key(folder)] = save_folder(folder, whole._tables, whole._fallback, index)

    def merged(self) -> Self:
        """A knowledge base whose tables hold the changes, with ids of its own; this one when nothing was changed.

        Where something was changed, surfaces of before normal forms get theirs.

        Raises:
            KnowledgeBaseError: When a file that it was opened from is damaged.
        """
        state = self._changes.state
        if state.empty:
            return self
        self._tables.check()
        other = type(self)(merge_changes(self._tables, state), fallback=self._fallback)
        self._share_folders(other)
        return other

    def with_vectors_of(
        self, projection: Projection, mean: np.ndarray | None = None, std: np.ndarray | None = None
    ) -> Self:
        """The same knowledge base with lazy vectors from a projection: changes show in both.

        Args:
            projection: From an encoder's vectors to those of the entities.
            mean: float32 [D], of such vectors, for `vectors` of what is no entity here; the projection's offset when
                None. Where some entities have vectors already, it is the mean of those.
            std: float32 [D], their standard deviation; when None, that of vectors that point anywhere.

        Raises:
            KnowledgeBaseError: When vectors are not lazy, there is a projection already, or some vectors are there and
                have another width.
        """
        if not self.lazy_vectors or self.projection is not None:
            raise KnowledgeBaseError(
                "with_vectors_of: expected a knowledge base with lazy vectors and no projection; use with_projection"
            )
        if self.vector_size not in (0, projection.vector_size):
            raise KnowledgeBaseError(
                f"with_vectors_of: the projection gives vectors of {projection.vector_size} numbers, those here have "
                f"{self.vector_size}"
            )
        check_metadata(None, projection.info)
        table = self._tables.vectors
        distribution = projection.distribution(mean, std)
        if self.vector_size == 0:
            table = VectorTable.without_vectors(self._tables.num_entities, *distribution)
        tables = replace(self._tables, projection=projection, vectors=table)
        other = type(self)(tables, changes=self._changes, fallback=self._fallback, indexes=self._indexes)
        self._share(other)
        other._adopted = (projection, *distribution)
        return other

    def _share(self, other: SavedKnowledgeBase) -> None:
        """Have another object for the same folder know what this one does."""
        for name in ("_folder", "_opened", "_adopted", "_saved_fingerprint", "_saved_indexes", "_fingerprint"):
            setattr(other, name, getattr(self, name))
        other._content_fingerprint, other.vectorizer = self._content_fingerprint, self.vectorizer
        self._share_folders(other)

    def _share_folders(self, other: SavedKnowledgeBase) -> None:
        """Have another object, also one with other content, know what this one knows of folders."""
        other._identities, other._edited, other._lazy = self._identities, self._edited, self._lazy

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what the tables hold, without changes that were not saved. See `verify`."""
        if self._fingerprint is None:
            self._fingerprint = self._tables.fingerprint()
        return self._fingerprint

    @property
    def content_fingerprint(self) -> str:
        """A digest of what it says of entities and surfaces, changes included, whatever came first and where it lies.

        It is the same for two knowledge bases that say the same, however they were made: it depends neither on files
        and their format nor on the order in which things were added, nor on vectors that were computed when they were
        needed, nor on where the data come from (`provenance`). See `hf_corefel.kb.content` for how it is made. It is
        saved, and otherwise takes a few seconds for a million surfaces.

        Raises:
            KnowledgeBaseError: When a file that has to be read for it is damaged.
        """
        state = self._changes.state
        if not state.empty:
            return content_fingerprint(self.merged()._tables)
        if self._content_fingerprint is None:
            self._tables.check()
            self._content_fingerprint = content_fingerprint(self._tables)
        return self._content_fingerprint

    def verify(self) -> bool:
        """Reads all tables and the index of the fallback, and compares them with the fingerprints of their saving.

        Returns:
            Whether there were any; without one only values are checked.

        Raises:
            KnowledgeBaseError: When they differ, or a value cannot be right: the folder is damaged or was changed by
                hand.
        """
        for fallback, saved in self._saved_indexes.items():
            if index_fingerprint(self._indexes[fallback]) != saved:
                self._refuse("the index of the fallback does")
        opened = self._opened or self._tables
        if self._saved_fingerprint is not None and opened.fingerprint() != self._saved_fingerprint:
            self._refuse("the tables do")
        # Also what was saved may be wrong, or there is no fingerprint.
        self._tables.check()
        for fallback in self._saved_indexes:
            self._indexes[fallback].check()
        return self._saved_fingerprint is not None

    def _refuse(self, what: str) -> None:
        raise KnowledgeBaseError(
            f"{self._folder}: {what} not have the fingerprint that they were saved with; the folder is damaged, or one "
            "of its files was replaced; build or fetch it again"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        state = None if self._changes.state.empty else self._changes.state
        if self._folder is not None and _read_fingerprint(self._folder) == self._saved_fingerprint:
            known = self._saved_fingerprint
            return _reopen, (type(self), str(self._folder), self._fallback, state, self._adopted, known)
        # Built here, or the folder is another knowledge base by now.
        return _rebuild, (type(self), self._tables, self._fallback, state)


def _key(folder: Path) -> str:
    """One name for a folder, however it is written."""
    return os.path.realpath(folder)


def _read_fingerprint(folder: Path) -> str | None:
    """The fingerprint of a folder as it is now; None when it has none or is no knowledge base any more."""
    try:
        fingerprint = read_config(folder).get("fingerprint")
    except KnowledgeBaseError:
        return None
    return fingerprint if isinstance(fingerprint, str) else None


def _reopen(
    cls: type[SavedKnowledgeBase],
    folder: str,
    fallback: Fallback,
    state: Overlay | None,
    adopted: tuple[Projection, np.ndarray, np.ndarray] | None,
    fingerprint: str | None = None,
) -> SavedKnowledgeBase:
    kb = cls.from_pretrained(folder, fallback=fallback)
    if fingerprint is not None and kb._saved_fingerprint != fingerprint:
        raise KnowledgeBaseError(
            f"{folder}: it was saved anew since the knowledge base that is unpickled here was opened from it, and ids "
            "and changes of that one mean nothing now; open the folder again and pickle what that gives"
        )
    kb._changes.state = state or Overlay()
    return kb if adopted is None else kb.with_vectors_of(*adopted)


def _rebuild(
    cls: type[SavedKnowledgeBase], tables: Tables, fallback: Fallback, state: Overlay | None
) -> SavedKnowledgeBase:
    return cls(tables, changes=Changes(state), fallback=fallback)
