"""The ``hf-corefel`` command."""

from __future__ import annotations

from hf_corefel.cli.app import app, main

__all__ = ["app", "main"]
