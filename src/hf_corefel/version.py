"""The version of the package: read by setup.cfg without an import, shown by ``hf-corefel --version``."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
