"""Settings that must stand before anything of Hugging Face is imported."""

from __future__ import annotations

import os

# An id that is not in the cache would otherwise be looked for on the Hub, for half a minute.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
