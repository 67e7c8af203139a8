"""Publishing models: the card, the fingerprint, and the upload of both with everything that a model needs."""

from __future__ import annotations

from .card import BUNDLED, CardFacts, model_card, model_card_of_folder, point_card_to
from .fingerprint import FingerprintWarning, check_fingerprint, fingerprint, save_fingerprint
from .publishing import publish, save_stub
from .space import publish_space, write_space

__all__ = [
    "BUNDLED",
    "CardFacts",
    "FingerprintWarning",
    "check_fingerprint",
    "fingerprint",
    "model_card",
    "model_card_of_folder",
    "point_card_to",
    "publish",
    "publish_space",
    "save_fingerprint",
    "save_stub",
    "write_space",
]
