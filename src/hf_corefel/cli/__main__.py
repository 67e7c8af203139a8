"""``python -m hf_corefel.cli`` is the ``hf-corefel`` command."""

from __future__ import annotations

from . import main

if __name__ == "__main__":
    main()
