"""Small helpers that know nothing of documents, models or knowledge bases."""

from __future__ import annotations
