"""Knowledge bases by the name of their backend, which ``kb_config.json`` gives.

A folder without that field, or with "alias_table" there, is a `hf_corefel.kb.KnowledgeBase`. All other names are looked
up in `BACKENDS`, which installed packages fill by entry points of the group ``hf_corefel.candidates``, and programs by
``BACKENDS.register``. Nothing in the folder is imported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Unpack

from ..utils.files import whole_file
from ..utils.json_files import read_json_object
from ..utils.registry import Registry
from .errors import KnowledgeBaseError
from .hub import CONFIG_FILE, DEFAULT_BACKEND, HubAccess, find_folder, saved_place
from .protocols import EntityStore, KnowledgeBackend

__all__ = [
    "BACKENDS",
    "DEFAULT_BACKEND",
    "backend_of",
    "check_backend",
    "open_knowledge_base",
    "open_source",
    "read_backend_config",
    "save_knowledge_base",
    "write_backend_config",
]


def _check_class(name: str, item: Any) -> None:
    missing = [method for method in ("propose", "save_pretrained", "from_pretrained") if not hasattr(item, method)]
    if missing or not isinstance(item, type):
        lacks = f"it has no {', '.join(missing)}" if missing else "it is no class"
        raise ValueError(f"knowledge base backend {name!r}: {item!r} is none: {lacks}")


BACKENDS: Registry[Any] = Registry(
    "knowledge base backend",
    "hf_corefel.candidates",
    {
        DEFAULT_BACKEND: "hf_corefel.kb:KnowledgeBase",
        "composed": "hf_corefel.candidates.composed:ComposedKnowledgeBase",
        "dense": "hf_corefel.candidates.dense:DenseRetriever",
    },
    _check_class,
)


def write_backend_config(folder: str | Path, backend: str, **fields: Any) -> None:
    """Write the file that says of which backend a folder is, and what else that backend wants to know.

    Args:
        folder: The folder; it is made when it does not exist.
        backend: A name of `BACKENDS`.
        **fields: Anything that JSON takes.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"backend": backend, **fields}, indent=2, sort_keys=True, ensure_ascii=False)
    with whole_file(folder / CONFIG_FILE) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_backend_config(folder: str | Path) -> dict[str, Any]:
    """Return what ``kb_config.json`` says, with ``backend`` always among it.

    Raises:
        KnowledgeBaseError: When there is no such file, it is no JSON object, or the backend is no name.
    """
    path = Path(folder) / CONFIG_FILE
    try:
        config = {"backend": DEFAULT_BACKEND, **read_json_object(path)}
    except OSError as error:
        raise KnowledgeBaseError(
            f"{path}: {error.strerror or error}; a knowledge base is a folder written by save_pretrained"
        ) from error
    except ValueError as error:
        raise KnowledgeBaseError(str(error)) from error
    if not isinstance(config["backend"], str):
        raise KnowledgeBaseError(f"{path}: field 'backend': expected a name, got {config['backend']!r}")
    return config


def open_source(folder: str | Path, store: EntityStore | None = None) -> Any:
    """Open a folder with the class of its backend: a knowledge base, or a source that is a part of one.

    Args:
        folder: The folder.
        store: Whose entities a source proposes that has none of its own; given to classes with ``needs_store = True``.

    Raises:
        KnowledgeBaseError: When no installed package offers the backend, or the folder is damaged.
        OSError: When a file cannot be read.
    """
    name = read_backend_config(folder)["backend"]
    try:
        found = BACKENDS[name]
    except ValueError as error:
        raise KnowledgeBaseError(
            f"{Path(folder) / CONFIG_FILE}: field 'backend': {error}; install the package that offers it, or register "
            "it with hf_corefel.candidates.BACKENDS.register"
        ) from error
    return found.from_pretrained(folder, **({"store": store} if getattr(found, "needs_store", False) else {}))


def open_knowledge_base(name: str | Path, **options: Unpack[HubAccess]) -> KnowledgeBackend:
    """Open a knowledge base of any backend.

    Args:
        name: A folder, or ``organisation/name`` on the Hub: of a knowledge base, or of a model that has one.
        **options: ``revision``, ``token``, ``cache_dir``, ``local_files_only``, ``subfolder``.

    Raises:
        KnowledgeBaseError: When there is none, it cannot be fetched, it is damaged, or no installed package offers its
            backend; the message says which.
        OSError: When a file cannot be read.
    """
    opened: KnowledgeBackend = open_source(find_folder(name, **options))
    return opened


def check_backend(source: Any) -> str:
    """Return the name of a source's backend.

    Raises:
        ValueError: When what was saved of it could not be loaded: its class has no ``backend``, or `BACKENDS` knows
            another class, or none, by that name.
    """
    kind, name = type(source), getattr(source, "backend", None)
    if not isinstance(name, str) or name not in BACKENDS or BACKENDS[name] is not kind:
        raise ValueError(
            f"{kind.__name__} cannot be saved: no loader would find it. Give it a class attribute backend = NAME and "
            f"register it: hf_corefel.candidates.BACKENDS.register(NAME, {kind.__name__}), or an entry point of the "
            "group hf_corefel.candidates"
        )
    return name


def backend_of(source: Any) -> str:
    """Return the name of the backend that a saved source is opened by; see `check_backend` for what is refused."""
    # What inherits from the alias table and says nothing else is one.
    default = isinstance(source, BACKENDS[DEFAULT_BACKEND]) and source.backend == DEFAULT_BACKEND
    return DEFAULT_BACKEND if default else check_backend(source)


def save_knowledge_base(source: Any, folder: str | Path) -> None:
    """Save a knowledge base, or a part of one, so that `open_knowledge_base` finds its class.

    Args:
        source: The knowledge base.
        folder: Where; that of a model stands for its knowledge base, as in `open_knowledge_base`.

    Raises:
        ValueError: When that would find none, or another one.
    """
    folder, name = saved_place(folder), backend_of(source)
    source.save_pretrained(folder)
    written = read_backend_config(folder)["backend"]
    if written != name:
        raise ValueError(
            f"{type(source).__name__}.save_pretrained: {Path(folder) / CONFIG_FILE} names the backend {written!r}, "
            f"not {name!r}; write it with hf_corefel.candidates.write_backend_config"
        )
