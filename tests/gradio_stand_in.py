"""A stand-in for gradio, which the package does not need: components that keep what they were made with."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["Component", "ShownError", "pretend_gradio"]


class Component:
    """Any component, layout or interface; what it is called to do it keeps in `calls`, by the method's name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs
        self.calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}

    def __enter__(self) -> Component:
        return self

    def __exit__(self, *raised: object) -> None:
        """An error goes on."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> None:
            self.calls[name] = args, kwargs

        return call


class ShownError(Exception):
    """gradio.Error: its message is what a visitor reads."""


def pretend_gradio(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Component]]:
    """Takes gradio's place; gives the components that are made, by the names of their classes."""
    made: dict[str, list[Component]] = {}

    def maker(name: str) -> Callable[..., Component]:
        def make(*args: Any, **kwargs: Any) -> Component:
            component = Component(*args, **kwargs)
            made.setdefault(name, []).append(component)
            return component

        return make

    names = ("Accordion", "Blocks", "Button", "Code", "Column", "Examples", "HTML", "Interface", "JSON", "Radio")
    stand_in = types.ModuleType("gradio")
    vars(stand_in).update({name: maker(name) for name in (*names, "Row", "Slider", "Textbox")}, Error=ShownError)
    monkeypatch.setitem(sys.modules, "gradio", stand_in)
    return made
