"""Reliability diagrams as a picture (SVG) that needs no other package to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from ..metrics import Decisions

__all__ = ["reliability_picture"]

_SIZE, _GAP, _TOP, _LEFT = 220, 60, 60, 50
_COLOURS = ("#7a7a7a", "#d1480f", "#1f6fb2", "#2e7d32")
# The radius of a bin with all decisions; its area is its share of them.
_RADIUS = 16.0


def reliability_picture(panels: Mapping[str, Mapping[str, Decisions]], bins: int = 10) -> str:
    """Return an SVG with a reliability diagram a panel: how often decisions are right, against their probability.

    A point is a bin, its area the share of the decisions in it. A model that is calibrated has its points on the
    diagonal; below it, it is too certain.

    Args:
        panels: By the title of a panel the decisions by the name of a series ("before", "after"). Series without a
            decision are left out, and so are panels without a series.
        bins: Bins from 0 to 1.
    """
    shown = {
        title: filled for title, series in panels.items() if (filled := {k: v for k, v in series.items() if len(v)})
    }
    names = list(dict.fromkeys(name for series in shown.values() for name in series))
    colours = {name: _COLOURS[n % len(_COLOURS)] for n, name in enumerate(names)}
    width = _LEFT + max(1, len(shown)) * (_SIZE + _GAP)
    height = _TOP + _SIZE + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        "<title>Reliability diagrams</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for n, name in enumerate(names):
        x = _LEFT + 110 * n
        parts.append(f'<circle cx="{x}" cy="16" r="5" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 10}" y="20">{escape(name)}</text>')
    for number, (title, series) in enumerate(shown.items()):
        left = _LEFT + number * (_SIZE + _GAP)
        parts += _panel(left, title, {colours[name]: decisions for name, decisions in series.items()}, bins)
    return "\n".join([*parts, "</svg>", ""])


def _panel(left: float, title: str, series: Mapping[str, Decisions], bins: int) -> list[str]:
    """The lines of one diagram; series are by their colour."""
    bottom = _TOP + _SIZE
    parts = [
        f'<text x="{left}" y="{_TOP - 14}" font-weight="bold">{escape(title)}</text>',
        f'<rect x="{left}" y="{_TOP}" width="{_SIZE}" height="{_SIZE}" fill="none" stroke="#999999"/>',
        f'<line x1="{left}" y1="{bottom}" x2="{left + _SIZE}" y2="{_TOP}" stroke="#999999" stroke-dasharray="4 3"/>',
        f'<text x="{left + _SIZE / 2}" y="{bottom + 34}" text-anchor="middle">probability</text>',
    ]
    for tick in (0.0, 0.5, 1.0):
        x, y = left + tick * _SIZE, bottom - tick * _SIZE
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    for colour, decisions in series.items():
        filled = [each for each in decisions.bins(bins) if each.count]
        points = [(left + each.confidence * _SIZE, bottom - each.accuracy * _SIZE) for each in filled]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for (x, y), each in zip(points, filled, strict=True):
            radius = max(2.0, _RADIUS * (each.count / len(decisions)) ** 0.5)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.5"/>')
    return parts
