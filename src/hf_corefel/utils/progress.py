"""Progress bars, which whoever silences those of the Hugging Face libraries does not see either."""

from __future__ import annotations

import sys
from typing import Any

from tqdm.auto import tqdm

__all__ = ["bars_are_shown", "progress_bar"]


def bars_are_shown() -> bool:
    """Whether neither transformers nor datasets was told to show no bars; what was not imported was told nothing."""
    transformers, datasets = sys.modules.get("transformers.utils.logging"), sys.modules.get("datasets")
    if transformers is not None and not transformers.is_progress_bar_enabled():
        return False
    return datasets is None or not datasets.are_progress_bars_disabled()


def progress_bar(total: int, description: str, *, shown: bool = True) -> Any:
    """Return a bar of so many steps, a context manager with `update`; nothing is drawn unless `shown` and wanted."""
    return tqdm(total=total, desc=description, disable=not (shown and bars_are_shown()))
