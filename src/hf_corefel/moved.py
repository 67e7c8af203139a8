"""Modules, arguments and fields under their names of version 0.1.0: still taken, with a `DeprecationWarning`."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, TypeVar, cast

__all__ = [
    "MOVED",
    "find_moved_modules",
    "module_that_moved",
    "name_of_now",
    "renamed_argument",
    "renamed_attribute",
    "renamed_field",
]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

# Libraries that call our functions for those who called theirs: modules, decorators and data classes.
_PASS_CALLS_ON = ("contextlib", "torch", "transformers")

MOVED = {
    "annotating": "decoding.annotating",
    "alignment": "processing.alignment",
    "document_checks": "documents.checks",
    "encoded_document": "processing.encoded_document",
    "encoders": "loading.encoders",
    "entity_vectors": "kb.entity_vectors",
    "evaluation_mode": "utils.evaluation_mode",
    "evidence": "documents.evidence",
    "mentions": "documents.mentions",
    "nesting": "decoding.nesting",
    "weights": "loading.weights",
}


def module_that_moved(name: str) -> ModuleType:
    """Import a module by its last name of old, one of `MOVED`, and warn of the new one."""
    new = f"{__package__}.{MOVED[name]}"
    warnings.warn(f"{__package__}.{name} is now {new}", DeprecationWarning, stacklevel=3)
    return import_module(new)


class _Loader(Loader):
    """Gives the module of the new name, which is complete and keeps its own spec."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = module_that_moved(spec.name.rpartition(".")[2])
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Finder(MetaPathFinder):
    """Finds the modules of `MOVED` where nothing else does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, _Loader()) if package == __package__ and name in MOVED else None


def find_moved_modules() -> None:
    """Let ``import`` find the old names, once however often it is asked."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def renamed_argument(old: str, new: str) -> Callable[[F], F]:
    """Return a decorator of functions that take a keyword argument under its name of old, too."""

    def decorate(function: F) -> F:
        name = function.__qualname__.removesuffix(".__init__").removesuffix(".__new__")

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{name}: {old} is now {new}; give one of them")
                _warn(f"{name}: the argument {old} is now {new}")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return cast(F, call)

    return decorate


def renamed_attribute(old: str, new: str) -> property:
    """Return the property that reads an attribute under its name of old."""

    def read(self: Any) -> Any:
        _warn(f"{type(self).__name__}.{old} is now {new}")
        return getattr(self, new)

    return property(read, doc=f"`{new}` under its name of version 0.1.0.")


def renamed_field(old: str, new: str) -> Callable[[C], C]:
    """Return a decorator of dataclasses and named tuples that had a field under another name.

    It may be given to the constructor, and read, under that name still.
    """

    def decorate(cls: C) -> C:
        renamed, made = renamed_argument(old, new), cast(Any, cls)
        if issubclass(cls, tuple):
            made.__new__ = staticmethod(renamed(made.__new__))
            made._replace = renamed(made._replace)
        else:
            made.__init__ = renamed(made.__init__)
        setattr(cls, old, renamed_attribute(old, new))
        return cls

    return decorate


def name_of_now(key: Any, renamed: Mapping[str, str], where: str) -> Any:
    """Return the name that a key of a mapping has now, with a warning for one of old."""
    if not (isinstance(key, str) and key in renamed):
        return key
    _warn(f"{where}[{key!r}] is now {where}[{renamed[key]!r}]", skipped=1)
    return renamed[key]


def _warn(text: str, skipped: int = 0) -> None:
    """Warn of the line that uses a name of old: Python shows the warning only to whom that line belongs.

    Args:
        text: What to say.
        skipped: Frames between this module and that line, beside those of libraries that pass calls on.
    """
    level = 2 + skipped
    frame: FrameType | None = sys._getframe(level)
    while frame is not None and _passes_calls_on(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, DeprecationWarning, stacklevel=level + 1)


def _passes_calls_on(module: str) -> bool:
    return module == __name__ or module.partition(".")[0] in _PASS_CALLS_ON
