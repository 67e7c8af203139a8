"""Every public class shows in its docstring how it is used, and does what it shows."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import hf_corefel


def public_classes() -> list[type]:
    """The classes that the package and its rooms hand on, each once."""
    rooms = [module.name for module in iter_modules(hf_corefel.__path__) if module.ispkg]
    modules = [hf_corefel, *(import_module(f"hf_corefel.{room}") for room in rooms)]
    found = [getattr(module, name) for module in modules for name in getattr(module, "__all__", ())]
    return list(dict.fromkeys(item for item in found if inspect.isclass(item)))


CLASSES = public_classes()


def test_the_classes_are_those_of_all_rooms() -> None:
    modules = {item.__module__.split(".")[1] for item in CLASSES}
    assert len(CLASSES) > 60 and {"documents", "heads", "kb", "layers", "metrics", "training", "trees"} <= modules


@pytest.mark.parametrize("item", CLASSES, ids=lambda item: item.__qualname__)
def test_examples_run(item: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"{item.__module__}.{item.__qualname__}"
    names = dict(vars(import_module(item.__module__)))
    example = doctest.DocTestParser().get_doctest(item.__doc__ or "", names, name, None, 0)
    assert example.examples, f"{name} shows no example"
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert result.failed == 0, "".join(said)
