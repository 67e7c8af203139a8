"""Registries: what a name in a configuration, a file or a command stands for, open to packages of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, overload

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Things of one kind by their names, imported when they are first asked for.

    A name is looked for among what was registered in this process, then among the package's own, then among the entry
    points of installed packages. Nothing else is imported: a name that a file mentions never runs code of that file's
    folder.

    Args:
        kind: What an item is called in messages, such as "head".
        group: The group of entry points in which other packages name theirs, such as "hf_corefel.heads".
        own: The package's own, by name: ``"module:attribute"``.
        check: Called with name and item when it is registered or loaded; raises where the item is none of the kind.
    """

    def __init__(
        self, kind: str, group: str, own: Mapping[str, str], check: Callable[[str, Any], None] | None = None
    ) -> None:
        self.kind = kind
        self.group = group
        self._own = dict(own)
        self._check = check
        self._items: dict[str, T] = {}
        self._others: dict[str, EntryPoint] | None = None

    @overload
    def register(self, name: str, item: T, *, replace: bool = False) -> T: ...

    @overload
    def register(self, name: str, *, replace: bool = False) -> Callable[[T], T]: ...

    def register(self, name: str, item: T | None = None, *, replace: bool = False) -> T | Callable[[T], T]:
        """Add an item for this process; without the item, return a decorator that adds what it decorates.

        Args:
            name: The name it will be asked for by.
            item: The item.
            replace: Whether it may take the place of another one.

        Raises:
            ValueError: When the name is taken, or no name.
        """
        if not isinstance(name, str) or not name or name != name.strip():
            raise ValueError(f"{self.kind}: a name is a string without blanks at its ends, got {name!r}")
        if item is None:
            return lambda given: self.register(name, given, replace=replace)
        known = self._items.get(name)
        if known is not item and name in self and not replace and not (known is None and self._is_offered(name, item)):
            raise ValueError(f"{self.kind} {name!r}: the name is taken; choose another one, or say replace=True")
        if self._check is not None:
            self._check(name, item)
        self._items[name] = item
        return item

    def unregister(self, name: str) -> None:
        """Forget what `register` added under a name, if anything."""
        self._items.pop(name, None)

    def __getitem__(self, name: str) -> T:
        """Return the item of a name.

        Raises:
            ValueError: When there is none of that name, or the package that offers it cannot be imported; the message
                names it. (No `KeyError`: the name usually comes from a user.)
        """
        if name in self._items:
            return self._items[name]
        if name in self._own:
            module, _, attribute = self._own[name].partition(":")
            item = getattr(import_module(module), attribute)
        elif name in self._entry_points():
            point = self._entry_points()[name]
            try:
                item = point.load()
            except Exception as error:
                where = f"{_package(point)} offers it as {point.value}"
                raise ValueError(f"{self.kind} {name!r}: {where}, which cannot be imported: {error}") from error
        else:
            near = get_close_matches(str(name), list(self), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown {self.kind} {name!r}; known are {', '.join(self)}{hint}")
        if self._check is not None:
            self._check(name, item)
        self._items[name] = item
        return item

    def __iter__(self) -> Iterator[str]:
        """The names: the package's own, those registered here, those of other packages."""
        return iter(dict.fromkeys([*self._own, *self._items, *self._entry_points()]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in self._own or name in self._entry_points()

    def items(self) -> Iterator[tuple[str, T]]:
        """The names with their items, all of which are imported.

        Raises:
            ValueError: When one cannot be imported.
        """
        return ((name, self[name]) for name in self)

    def _is_offered(self, name: str, item: T) -> bool:
        """Whether an item is what an entry point of its name says: a package may do both, name it and register it."""
        point = None if name in self._own else self._entry_points().get(name)
        module = None if point is None else sys.modules.get(point.module)
        if point is None or module is None:
            return False
        # While its module is imported, what a decorator registers has no place there yet.
        itself = (getattr(item, "__module__", None), getattr(item, "__qualname__", None)) == (point.module, point.attr)
        return itself or getattr(module, point.attr, None) is item

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._others is None:
            self._others = {}
            for point in sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value)):
                self._others.setdefault(point.name, point)
        return self._others


def _package(point: EntryPoint) -> str:
    return "a package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
