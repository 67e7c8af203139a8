"""Writes the versions installed beside this interpreter to constraints.txt: `make constraints`."""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
HEADER = "# Exact versions that are tested together: pip install -c constraints.txt ... (written by `make constraints`)"
# The package itself, and what every virtual environment brings along.
LEFT_OUT = {"hf-corefel", "pip", "wheel"}


def installed_versions() -> dict[str, str]:
    """Canonical name -> version, without local parts such as ``+cpu``, which name one platform's build."""
    versions = {canonicalize_name(item.metadata["Name"]): Version(item.version).public for item in distributions()}
    return {name: version for name, version in sorted(versions.items()) if name not in LEFT_OUT}


def main() -> int:
    """Writes the file; returns the exit status."""
    lines = [HEADER, *(f"{name}=={version}" for name, version in installed_versions().items())]
    CONSTRAINTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
