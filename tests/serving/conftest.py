"""Services that run on this machine, of a tiny model or of stand-ins that can be held up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from hf_corefel.serving import ServingLimits, create_app
from running_services import StandIn, answering
from script_loading import load_script


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    made = StandIn()
    yield made
    made.release()


@pytest.fixture
def serve() -> Iterator[Callable[..., httpx.Client]]:
    """Serves a pipeline within limits, which are keyword arguments, until the test ends; gives a client."""
    with ExitStack() as stack:

        def start(pipeline: Any, **limits: Any) -> httpx.Client:
            return stack.enter_context(answering(create_app(pipeline, ServingLimits(**limits))))

        yield start


@pytest.fixture(scope="module")
def pipeline(tiny_folder: Path) -> Any:
    from hf_corefel import load_pipeline

    return load_pipeline(tiny_folder, evidence=False)


@pytest.fixture(scope="module")
def tiny_service(pipeline: Any) -> Iterator[httpx.Client]:
    """A client of a service of the tiny model."""
    with answering(create_app(pipeline)) as client:
        yield client


@pytest.fixture(scope="session")
def loading() -> ModuleType:
    """The benchmark that puts a service under load."""
    return load_script("benchmarks/serving_load.py")
