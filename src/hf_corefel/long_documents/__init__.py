"""Documents with too many spans to score each with each: encoded in stretches, and a graph with few edges a span."""

from __future__ import annotations
