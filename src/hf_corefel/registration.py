"""Makes the Auto classes and the pipeline's task known to transformers, at the latest when it has been imported.

Registering takes the classes, and they take torch and transformers: seconds that whoever only reads documents, asks a
knowledge base or scores should not wait for. So it is put off until transformers itself has been imported, by a finder
on ``sys.meta_path`` that runs `register` after one of two kinds of import:

- ``transformers``, the top package only. At its end none of its submodules is half imported, which is not so later:
  ``transformers.modeling_layers`` imports the Auto classes, and our layers import it.
- A module of ours that imported transformers in its turn. Registering then waits until the outermost of ours is
  complete, because it needs the modules that are on their way.

The second kind is why this is no hook of a library such as wrapt: those are told that a module is complete, not that
it has begun. The rest of what they do is little, and is done here as `importlib.util.LazyLoader` does it.

Threads: where one imports transformers for the first time while another one imports a torch-side module of ours or of
transformers, Python does not let them wait for each other for ever, but may show one of them a half imported module.
When that is the one that registers, it warns, and the other one registers at the end of its import of ours; until then
the task is unknown. Names that are taken from the package (``from hf_corefel import CorefELModel``) wait for
transformers before they take the lock of any module of ours, so that two such threads never get there.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import dropwhile, islice
from types import ModuleType
from typing import Any

__all__ = ["ensure_registered", "register_with_transformers"]

_OURS = f"{__package__}."


class _Progress(threading.local):
    """How many imports that may register are under way in a thread, one within the other."""

    depth = 0


_progress = _Progress()
_registered = threading.Event()


@contextmanager
def _under_way() -> Iterator[None]:
    _progress.depth += 1
    try:
        yield
    finally:
        _progress.depth -= 1


def _register() -> None:
    # What is imported here would otherwise register in its turn, before it is complete.
    with _under_way():
        # The first, so that no thread waits for transformers while it holds the lock of a module of ours.
        from transformers import AutoConfig, AutoModel, AutoProcessor, AutoTokenizer, PreTrainedTokenizerFast
        from transformers.utils import logging as transformers_logging

        from .configuration_corefel import CorefELConfig
        from .modeling_corefel import CorefELModel
        from .pipeline_corefel import register_pipeline
        from .processing_corefel import CorefELProcessor

        AutoConfig.register(CorefELConfig.model_type, CorefELConfig, exist_ok=True)
        AutoModel.register(CorefELConfig, CorefELModel, exist_ok=True)
        AutoProcessor.register(CorefELConfig, CorefELProcessor, exist_ok=True)
        # For tokenizers whose class is unknown: AutoTokenizer would otherwise ask to run code that they name.
        AutoTokenizer.register(CorefELConfig, fast_tokenizer_class=PreTrainedTokenizerFast, exist_ok=True)
        register_pipeline()
        # So that transformers' verbosity, its handlers and TRANSFORMERS_VERBOSITY hold for this package, too.
        logging.getLogger(__package__).parent = transformers_logging.get_logger()
    _registered.set()


def ensure_registered() -> None:
    """Imports torch and transformers and registers, unless that is done or a surrounding import will do it.

    Raises:
        ImportError: When transformers, torch or another requirement cannot be imported.
    """
    if not _registered.is_set() and not _progress.depth:
        _register()


def _after_import() -> None:
    if sys.modules.get("transformers") is None:
        return
    try:
        ensure_registered()
    except (ImportError, OSError) as error:
        # Nobody asked for our classes here: a broken torch must not keep others from importing transformers.
        # OSError is how torch says that a shared library is missing. Asking for a class raises the error itself.
        warnings.warn(f"hf_corefel is not registered with transformers: {error}", RuntimeWarning, stacklevel=3)


class _Loader(Loader):
    """The loader of a module, with registering after it; gone from the module once its code runs."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        with _under_way():
            self._loader.exec_module(module)
        _after_import()

    def __getattr__(self, name: str) -> Any:
        # What runpy, inspect and importlib.resources ask of a loader whose module has not been run.
        return getattr(self._loader, name)


class _Finder(MetaPathFinder):
    """Finds what the finders after it find, for transformers and our own modules, until all is registered."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if _registered.is_set() or not (fullname == "transformers" or fullname.startswith(_OURS)):
            return None
        for finder in islice(dropwhile(lambda finder: finder is not self, tuple(sys.meta_path)), 1, None):
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def register_with_transformers() -> None:
    """Registers at once where transformers has been imported, else as soon as it is; called on import of the package.

    Imports nothing itself. The finder stays where it is afterwards and finds nothing any more: to take it out while
    another thread goes through ``sys.meta_path`` would make that thread skip a finder.
    """
    _after_import()
    if not _registered.is_set() and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
