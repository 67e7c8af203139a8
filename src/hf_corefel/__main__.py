"""``python -m hf_corefel`` is the ``hf-corefel`` command."""

from __future__ import annotations

from .cli import main

if __name__ == "__main__":
    main()
